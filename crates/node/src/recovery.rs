//! Recovery in a real node: what is on disk, how a run begins, and how a node that was declared gone begins anew.

use std::collections::BTreeSet;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use meshlock_core::NodeId;
use meshlock_core::recovery::Census;
use meshlock_core::recovery::voters::{self, List, Span, Start, StartId, VoterRecord, Voting};
use ring::rand::{SecureRandom, SystemRandom};
use tokio::sync::watch;

use crate::hub::Hub;
use crate::links::Gate;
use crate::machine::{Disk, Machine, RecoverySetup, Settings, ToKeep};
use crate::mesh::keep::first_census;
use crate::mesh::promises::{LastRun, Promises};
use crate::mesh::state::Run;
use crate::mesh::voters::Known;
use crate::mesh::{self, Authority, Charter, Identity, Keep, Member, MeshError, Recovery};
use crate::record::Recorder;

/// What cannot be written is tried again after this.
const TRY_AGAIN: Duration = Duration::from_secs(1);

/// How often it is looked whether the voters have changed, or others are proposed.
const LOOK_AT_VOTERS: Duration = Duration::from_secs(1);

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
    // With voters no lease ends after the standing.
    let votes = charter.recovery() == Recovery::Voters;
    let lease = Duration::from_millis(meshlock_api::resource::DEFAULT_LEASE_MS);
    let lease = if votes { lease.min(charter.standing()) } else { lease };
    let dir = run.dir();
    let promises = Promises::open(dir, last, charter.standing() / 6, lease)?;
    let wait = if last == LastRun::Crashed { promises.wait_needed() } else { Duration::ZERO };
    let never_ran = on_disk.is_none();
    let mut disk = OnDisk { keep: Keep::of(run), identity: Arc::clone(identity) };
    let (census, voting) = if votes {
        let census = on_disk.unwrap_or_default();
        let voting = voting(identity, charter, &mut disk, &census, settings.id, resumed)?;
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

fn voting(
    identity: &Identity,
    charter: &Charter,
    disk: &mut OnDisk,
    census: &Census,
    me: NodeId,
    resumed: Option<&[u8]>,
) -> Result<Voting, MeshError> {
    let (id, record) = match disk.keep.voter()? {
        Some(kept) => kept,
        None => (disk.keep.save_voter(&[])?, Vec::new()),
    };
    let record = match record.as_slice() {
        [] => {
            // It never promised anything, so it may be the first voter; unless its disk was lost, which is another voter.
            let founds = |list: &List| list.voters().iter().any(|voter| voter.disk == id);
            disk.keep
                .first_list()?
                .filter(founds)
                .map_or_else(|| VoterRecord::new(id), |list| VoterRecord::founding(id, list))
        }
        bytes => postcard::from_bytes(bytes)
            .map_err(|error| MeshError::Charter(format!("the voter's record cannot be read: {error}")))?,
    };
    let times = voters::Settings {
        grows: charter.voters().is_empty(),
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
    /// The member's directory.
    pub(crate) dir: PathBuf,
    /// Who was named at the founding to vote.
    pub(crate) founding_voters: Vec<String>,
    pub(crate) keep: Arc<Mutex<Keep>>,
    pub(crate) identity: Arc<Identity>,
    /// This node in the protocols, as its links say it.
    pub(crate) node: watch::Sender<NodeId>,
}

impl Keeper {
    pub(crate) async fn watch(self) {
        let mut known = None;
        let mut look_at_voters = tokio::time::interval(LOOK_AT_VOTERS);
        look_at_voters.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
        loop {
            tokio::select! {
                () = self.hub.expelled() => self.begin_anew().await,
                () = self.hub.catalogue_due() => self.keep_catalogue().await,
                _ = look_at_voters.tick() => self.look_at_voters(&mut known),
            }
        }
    }

    /// Shows commands in the directory who votes, and takes up what they propose.
    fn look_at_voters(&self, known: &mut Option<Known>) {
        let Some(now) = self.hub.with(|machine, _| machine.voters_known()) else { return };
        if known.as_ref() != Some(&now) {
            match now.store(&self.dir) {
                Ok(()) => *known = Some(now),
                Err(error) => tracing::warn!("who votes could not be stored for commands: {error}"),
            }
        }
        if let Some(list) = known.as_ref().and_then(|known| self.voters_of_founding(known)) {
            let proposed = self.hub.with(|machine, now| machine.propose_voters(now, list));
            proposed.unwrap_or_else(|error| tracing::warn!("the voters of the founding are not taken up: {error}"));
        }
        match mesh::voters::proposed(&self.dir) {
            Ok(None) => {}
            Ok(Some(list)) => self.pursue(list),
            Err(error) => tracing::error!("the proposed voters cannot be read: {error}"),
        }
    }

    /// Proposes a list until it is in force: whoever was told may forget it, and so may this node when it begins anew.
    fn pursue(&self, list: List) {
        let is_over = |known: Known| known.list.id() == list.id() || known.list.id().number > list.id().number;
        if self.hub.with(|machine, _| machine.voters_known()).is_none_or(is_over) {
            self.forget_proposed();
        } else if let Err(error) = self.hub.with(|machine, now| machine.propose_voters(now, list)) {
            tracing::error!("the proposed voters are not taken up: {error}");
            self.forget_proposed();
        }
    }

    fn forget_proposed(&self) {
        if let Err(error) = mesh::voters::forget_proposed(&self.dir) {
            tracing::warn!("a list of voters that is settled could not be taken away: {error}");
        }
    }

    /// The founder proposes the voters that were named at the founding, once all of them are there.
    fn voters_of_founding(&self, known: &Known) -> Option<List> {
        if self.founding_voters.is_empty() || known.list.parent().is_some() {
            return None;
        }
        let authority = Authority::load(&self.dir).ok()?;
        let named = self.founding_voters.iter().map(|name| Some((authority.number_of(name)?, name.clone())));
        let list = known.successor(&authority, &named.collect::<Option<Vec<_>>>()?).ok()?;
        (list.voters() != known.list.voters()).then_some(list)
    }

    async fn keep_catalogue(&self) {
        let Some((to_keep, changes)) = self.hub.with(|machine, _| machine.take_catalogue()) else { return };
        let keep = Arc::clone(&self.keep);
        let write = move || match to_keep {
            ToKeep::Whole(entries) => lock(&keep).save_catalogue(&entries),
            ToKeep::Changes(changes) => lock(&keep).save_changes(changes),
        };
        let written = tokio::task::spawn_blocking(write).await;
        match written {
            Ok(Ok(())) => self.hub.catalogue_kept(changes),
            Ok(Err(error)) => {
                tracing::error!("the resources of the mesh could not be stored: {error}; it is tried again");
                self.hub.with(|machine, now| machine.keep_catalogue_again(now));
            }
            Err(_) => {} // it was ended, and so is this node
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
        if let Err(error) = &told {
            tracing::error!("a removal is not obeyed yet: {error}; it is tried again");
        }
        if told != Ok(true) {
            tokio::time::sleep(TRY_AGAIN).await;
            continue;
        }
        tokio::select! {
            changed = facts.changed() => if changed.is_err() { return },
            changed = removed.changed() => if changed.is_err() { return },
        }
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;
    use crate::machine::Now;
    use crate::mesh::{Existing, state};

    /// Begins a run of the founder; the machine grants if all is well, since it is the only voter.
    fn start(dir: &Path) -> (Run, Machine) {
        let identity = Arc::new(Identity::load(dir).unwrap());
        let charter = Charter::load(dir, &identity).unwrap().unwrap();
        let (run, saved) = state::begin_run(dir, |_, saved| Ok(saved.to_vec())).unwrap();
        let id = identity.member.node(run.incarnation);
        let settings = Settings { id, ..Settings::founder(&identity.mesh, &identity.name) };
        let (machine, _) = begin(&identity, &charter, &run, settings, saved.as_deref(), None).unwrap();
        (run, machine)
    }

    fn grants(machine: &mut Machine) -> bool {
        let asked = meshlock_api::NewRequest { resource: "dock".into(), ..Default::default() };
        let ticket = machine.ask(Now(2), asked).unwrap();
        machine.glance(ticket).is_some_and(|(state, ..)| state == meshlock_api::State::Granted)
    }

    #[test]
    fn a_lone_founder_grants_at_once_also_after_a_crash_at_any_moment() {
        let place = tempfile::tempdir().unwrap();
        let dir = place.path();
        mesh::found(dir, "hall", "ann", Existing::Keep).unwrap();
        // Killed after its first words to the disk.
        let (run, _) = state::begin_run(dir, |_, _| Ok(())).unwrap();
        Promises::open(dir, LastRun::Never, Duration::from_secs(1), Duration::from_secs(30)).unwrap();
        Keep::of(&run).save_census(&Census::default()).unwrap();
        drop(run);
        let mut fences = Vec::new();
        for _ in 0..3 {
            let (run, mut machine) = start(dir);
            assert_eq!(machine.suspended(), None);
            assert!(grants(&mut machine));
            fences.push(machine.request_infos(Now(2))[0].fence);
            drop(run);
        }
        assert!(fences.is_sorted() && fences[0] < fences[1] && fences[1] < fences[2], "{fences:?}");
    }

    #[test]
    fn a_voter_whose_disk_was_lost_is_no_longer_that_voter() {
        let place = tempfile::tempdir().unwrap();
        let dir = place.path();
        mesh::found(dir, "hall", "ann", Existing::Keep).unwrap();
        drop(start(dir));
        std::fs::remove_file(dir.join("state/voter")).unwrap();
        let (_run, machine) = start(dir);
        assert!(machine.suspended().is_some(), "nobody can say what it had promised");
    }

    #[test]
    fn state_is_used_once_and_only_with_standing() {
        let place = tempfile::tempdir().unwrap();
        let dir = place.path();
        mesh::found(dir, "hall", "ann", Existing::Keep).unwrap();
        let (run, mut machine) = start(dir);
        assert!(grants(&mut machine));
        machine.stop(Now(3));
        assert!(machine.may_go_on());
        run.end(&machine.save()).unwrap();
        let (run, machine) = start(dir);
        assert_eq!((run.incarnation.0, machine.suspended()), (0, None), "it is its own voter");
        drop(run);
        assert_eq!(start(dir).0.incarnation.0, 1);
    }
}
