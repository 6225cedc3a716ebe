//! Recovery in a real node: what is on disk, how a run begins, and how a node that was declared gone begins anew.

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use meshlock_core::NodeId;
use meshlock_core::recovery::Census;
use meshlock_core::recovery::voters::{self, List, Span, Start, StartId, VoterRecord, Voting};
use ring::rand::{SecureRandom, SystemRandom};
use tokio::sync::watch;

use crate::hub::Hub;
use crate::links::Gate;
use crate::machine::{Disk, Machine, RecoverySetup, Settings};
use crate::mesh::keep::first_census;
use crate::mesh::promises::{LastRun, Promises};
use crate::mesh::state::Run;
use crate::mesh::{self, Charter, Identity, Keep, Member, MeshError, Recovery};
use crate::record::Recorder;

/// What cannot be written is tried again after this.
const TRY_AGAIN: Duration = Duration::from_secs(1);

/// How often it is looked whether the catalogue is to be written.
const LOOK: Duration = Duration::from_millis(100);

/// What a node of a mesh that recovers begins with, beside its machine.
#[derive(Debug)]
pub(crate) struct Begun {
    pub(crate) keep: Keep,
    pub(crate) promises: Promises,
    /// How long clients of the former run may still hold on.
    pub(crate) wait: Duration,
}

/// The machine of a node whose mesh recovers as its charter says. `resumed` is what a clean stop saved.
pub(crate) fn begin(
    identity: &Arc<Identity>,
    charter: &Charter,
    run: &Run,
    settings: Settings,
    resumed: Option<&[u8]>,
    record: Option<&Recorder>,
) -> Result<(Machine, Begun), MeshError> {
    let keep = Keep::of(run);
    let on_disk = keep.census()?;
    let last = match (&on_disk, resumed) {
        (None, _) => LastRun::Never,
        (Some(_), Some(_)) => LastRun::Clean,
        (Some(_), None) => LastRun::Crashed,
    };
    let default_lease = Duration::from_millis(meshlock_api::resource::DEFAULT_LEASE_MS);
    let dir = run.dir();
    let promises =
        Promises::open(dir, last, charter.standing() / 6, default_lease.min(longest_lease(charter, default_lease)))?;
    let wait = if last == LastRun::Crashed { promises.wait_needed() } else { Duration::ZERO };
    let never_ran = on_disk.is_none();
    let mut disk = OnDisk { keep: Keep::of(run), identity: Arc::clone(identity) };
    let (census, voting) = if charter.recovery() == Recovery::Voters {
        let census = on_disk.unwrap_or_default();
        let voting = voting(identity, charter, &mut disk, &census, settings.id, never_ran, resumed)?;
        (census, Some(voting))
    } else {
        let first = || first_census(identity, Some(charter), run.incarnation);
        (on_disk.unwrap_or_else(first).merged(&Census::living_fact(settings.id)), None)
    };
    disk.keep.save_census(&census)?;
    let catalogue = keep.catalogue()?;
    // The registry's token begins with the mesh. Later it is made anew like any other.
    let founds_registry = settings.founds_registry && never_ran;
    let settings = Settings { founds_registry, first_fence: 0, ..settings };
    let observer = record.map(|recorder| recorder.observer(&settings));
    let setup = RecoverySetup { census, voting, catalogue, disk: Box::new(disk), wait, observer };
    let machine = match resumed {
        Some(saved) => Machine::resume_recovering(settings, saved, setup)
            .map_err(|error| MeshError::OtherVersion { path: dir.join("state/saved"), why: error.to_string() })?,
        None => Machine::recovering(settings, setup),
    };
    Ok((machine, Begun { keep, promises, wait }))
}

/// With voters no lease ends after the standing.
fn longest_lease(charter: &Charter, default: Duration) -> Duration {
    if charter.recovery() == Recovery::Voters { charter.standing() } else { default }
}

fn voting(
    identity: &Identity,
    charter: &Charter,
    disk: &mut OnDisk,
    census: &Census,
    me: NodeId,
    never_ran: bool,
    resumed: Option<&[u8]>,
) -> Result<Voting, MeshError> {
    let (id, record) = match disk.keep.voter()? {
        Some(kept) => kept,
        None => (disk.keep.save_voter(&[])?, Vec::new()),
    };
    let record = match record.as_slice() {
        [] => {
            let first = disk.keep.first_list()?.filter(|_| never_ran);
            first.map_or_else(|| VoterRecord::new(id), |list| VoterRecord::founding(id, list))
        }
        bytes => postcard::from_bytes(bytes)
            .map_err(|error| MeshError::Charter(format!("the voter's record cannot be read: {error}")))?,
    };
    let times = voters::Settings {
        grows: charter.voters().is_empty() || charter.voters().len() == 3,
        ..voters::Settings::of_standing(Span(u64::try_from(charter.standing().as_millis()).unwrap_or(u64::MAX)))
    };
    let resumes = resumed.map(crate::machine::saved_counter);
    let start = Start { id: new_start()?, knew: census.count(identity.member.0), resumes };
    Ok(Voting::new(me, start, times, record.list.clone(), Some(record)))
}

fn new_start() -> Result<StartId, MeshError> {
    let mut id = [0; 8];
    SystemRandom::new().fill(&mut id).map_err(|_| MeshError::Keys("no random numbers".to_owned()))?;
    Ok(StartId(u64::from_be_bytes(id)))
}

/// The files of this member, as the machine uses them.
#[derive(Debug)]
struct OnDisk {
    keep: Keep,
    identity: Arc<Identity>,
}

impl Disk for OnDisk {
    fn keep_census(&mut self, census: &Census) -> Result<(), String> {
        self.keep.save_census(census).map_err(|error| error.to_string())
    }

    fn keep_voter(&mut self, record: &VoterRecord) -> Result<(), String> {
        let bytes = postcard::to_stdvec(record).map_err(|error| error.to_string())?;
        self.keep.save_voter(&bytes).map(drop).map_err(|error| error.to_string())
    }

    fn permits(&self, list: &List) -> bool {
        mesh::voters::is_permitted(list, &self.identity)
    }
}

/// Writes the catalogue when it has changed, and begins anew when others hold this incarnation for gone.
pub(crate) struct Keeper {
    pub(crate) hub: Arc<Hub>,
    pub(crate) keep: Arc<Mutex<Keep>>,
    pub(crate) identity: Arc<Identity>,
    /// This node in the protocols, as its links say it.
    pub(crate) node: watch::Sender<NodeId>,
}

impl Keeper {
    pub(crate) async fn watch(self) {
        loop {
            tokio::select! {
                () = self.hub.expelled() => self.begin_anew().await,
                () = tokio::time::sleep(LOOK) => self.keep_catalogue().await,
            }
        }
    }

    async fn keep_catalogue(&self) {
        let Some(entries) = self.hub.with(|machine, _| machine.take_catalogue()) else { return };
        let keep = Arc::clone(&self.keep);
        let written = tokio::task::spawn_blocking(move || lock(&keep).save_catalogue(&entries)).await;
        if let Ok(Err(error)) = written {
            tracing::error!("the resources of the mesh could not be stored: {error}; it is tried again");
            self.hub.with(|machine, now| machine.keep_catalogue_again(now));
        }
    }

    /// Goes on as the next incarnation. Until that is durable the node does nothing.
    async fn begin_anew(&self) {
        loop {
            let (keep, identity) = (Arc::clone(&self.keep), Arc::clone(&self.identity));
            let above = self.hub.with(|machine, _| machine.greatest_count(identity.member.0));
            let next = tokio::task::spawn_blocking(move || {
                let mut keep = lock(&keep);
                loop {
                    let id = identity.member.node(keep.next_incarnation()?);
                    if 2 * u32::from(id.incarnation()) + 1 > above {
                        return Ok::<_, MeshError>((id, new_start()?));
                    }
                }
            });
            let begun = match next.await {
                Ok(Ok((id, start))) => self.hub.with(|machine, now| machine.begin_anew(now, id, start).map(|()| id)),
                Ok(Err(error)) => Err(error.to_string()),
                Err(error) => Err(error.to_string()),
            };
            match begun {
                Ok(id) => {
                    self.node.send_replace(id);
                    return;
                }
                Err(error) => {
                    tracing::error!("this node cannot begin anew: {error}; it serves nobody and tries again");
                    tokio::time::sleep(TRY_AGAIN).await;
                }
            }
        }
    }
}

fn lock(keep: &Mutex<Keep>) -> MutexGuard<'_, Keep> {
    keep.lock().unwrap_or_else(PoisonError::into_inner)
}

/// A gate that is closed for this long, and then what `outer` says: a node whose clients of a former run may still hold
/// on speaks to nobody.
pub(crate) fn closed_for(
    wait: Duration,
    outer: watch::Receiver<Gate>,
) -> (watch::Receiver<Gate>, impl Future<Output = ()>) {
    let (inner, gate) = watch::channel(Gate::Only(Default::default()));
    let mut outer = outer;
    let open = async move {
        tokio::time::sleep(wait).await;
        loop {
            inner.send_replace(outer.borrow_and_update().clone());
            if outer.changed().await.is_err() {
                std::future::pending::<()>().await;
            }
        }
    };
    (gate, open)
}

/// Tells the machine of members that were removed.
pub(crate) async fn remove(
    hub: Arc<Hub>,
    mut facts: watch::Receiver<Census>,
    mut removed: watch::Receiver<BTreeSet<Member>>,
) {
    loop {
        let gone = facts.borrow_and_update().clone();
        let members: BTreeSet<Member> = removed.borrow_and_update().clone();
        let told = hub.with(|machine, now| machine.remove_members(now, &members, &gone));
        if let Err(error) = told {
            tracing::error!("a removal is not obeyed yet: {error}; it is tried again");
            tokio::time::sleep(TRY_AGAIN).await;
            continue;
        }
        tokio::select! {
            changed = facts.changed() => if changed.is_err() { return },
            changed = removed.changed() => if changed.is_err() { return },
        }
    }
}
