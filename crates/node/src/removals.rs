//! Members that were removed: believed, obeyed, kept and passed on. With them goes the mesh's charter
//! ([`Charters`](crate::charters::Charters)).
//!
//! A removal is obeyed as soon as it is believed, and stored as soon as the disk takes it. Neighbours compare a digest of
//! what they know when they meet; only if they differ is everything told, in parts, and from then on only what is new.
//! Whatever is known already is not verified again.

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, Instant};

use meshlock_core::NodeId;
use meshlock_core::recovery::Census;
use ring::digest::{SHA256, digest};
use tokio::sync::{mpsc, watch};
use tokio::task::JoinHandle;
use tokio::time::{MissedTickBehavior, interval};

use crate::charters::Charters;
use crate::hub::{HeardRemovals, Hub};
use crate::links::Outgoing;
use crate::machine::Machine;
use crate::mesh::{Charter, Identity, Kept, Member, MeshError, Removal, RemovalKey};
use crate::wire::{self, Frame, MOST_REMOVALS, Removals};

/// How often a node looks whether `meshlock mesh remove` was run on its machine.
const LOOK_FOR_REMOVALS: Duration = Duration::from_secs(2);

/// How long a member that was removed keeps its links, so that it can give away tokens that others need.
const FAREWELL: Duration = Duration::from_secs(1);

/// How often it is looked whether those who were removed have gone before their time is over.
const LOOK_FOR_LINKS: Duration = Duration::from_millis(20);

/// Waits between tries to store what the disk did not take.
const STORE_AGAIN: (Duration, Duration) = (Duration::from_millis(200), Duration::from_secs(30));

/// What a node knows about removed members, and does about it.
pub(crate) struct RemovedMembers {
    dir: PathBuf,
    identity: Arc<Identity>,
    hub: Arc<Hub>,
    /// To whom there may be no links.
    obeyed: watch::Sender<BTreeSet<Member>>,
    known: BTreeMap<RemovalKey, Removal>,
    /// Obeyed when this time has come, or earlier if their links are gone.
    leaving: BTreeMap<Member, Instant>,
    unstored: BTreeMap<RemovalKey, Removal>,
    charters: Charters,
    storing: Option<JoinHandle<Result<Stored, MeshError>>>,
    store_at: Instant,
    store_wait: Duration,
    /// Files that are no removals, told once.
    refused: BTreeSet<RemovalKey>,
    /// The number of a file that is no charter, told once.
    refused_charter: Option<u32>,
    /// Who is gone, and who was invited by then.
    facts: watch::Sender<Census>,
    /// This member was removed, which its next start will know too.
    own: watch::Sender<bool>,
}

/// What a disk took.
type Stored = (Vec<RemovalKey>, Option<Charter>);

impl RemovedMembers {
    /// Begins with what is stored. Those to whom there may be no links come out of the receiver.
    pub(crate) fn new(
        dir: PathBuf,
        identity: Arc<Identity>,
        hub: Arc<Hub>,
        kept: Kept,
        charter: Option<Charter>,
    ) -> (Self, watch::Receiver<BTreeSet<Member>>) {
        for error in &kept.refused {
            tracing::warn!("ignored a file that is no removal: {error}");
        }
        let (obeyed, seen) = watch::channel(kept.members());
        let (facts, _) = watch::channel(kept.facts());
        let known = kept.removals.into_iter().map(|removal| (removal.key(), removal)).collect();
        let removed = Self {
            dir,
            identity,
            hub,
            obeyed,
            known,
            leaving: BTreeMap::new(),
            unstored: BTreeMap::new(),
            charters: Charters::new(charter),
            storing: None,
            store_at: Instant::now(),
            store_wait: STORE_AGAIN.0,
            refused: BTreeSet::new(),
            refused_charter: None,
            facts,
            own: watch::channel(false).0,
        };
        removed.hub.greet_with(encode(&Removals::Digest(removed.digest())));
        (removed, seen)
    }

    /// What removals say to the census: members that are gone for good. It only grows. A fact is not necessarily stored
    /// with its removal when it is seen here; the census is.
    pub(crate) fn facts(&self) -> watch::Receiver<Census> {
        self.facts.subscribe()
    }

    /// Whether this member was removed and that is stored.
    pub(crate) fn own(&self) -> watch::Receiver<bool> {
        self.own.subscribe()
    }

    /// Does all of it, as long as the node runs.
    pub(crate) async fn watch(
        mut self,
        mut from_peers: mpsc::Receiver<HeardRemovals>,
        mut from_clients: mpsc::UnboundedReceiver<Vec<u8>>,
    ) {
        let mut look = interval(LOOK_FOR_REMOVALS);
        look.set_missed_tick_behavior(MissedTickBehavior::Delay);
        loop {
            tokio::select! {
                Some((from, said)) = from_peers.recv() => self.hear(from, said),
                Some(bytes) = from_clients.recv() => self.learn(None, [bytes], false),
                _ = look.tick() => self.look_at_files(),
                () = tokio::time::sleep(LOOK_FOR_LINKS), if !self.leaving.is_empty() => {}
                stored = finished(&mut self.storing) => self.stored(stored),
                () = tokio::time::sleep_until(self.store_at.into()), if self.may_store() => self.store(),
            }
            self.part();
        }
    }

    fn hear(&mut self, from: NodeId, said: Removals) {
        match said {
            Removals::Signed(signed) => self.learn(Some(from), signed, false),
            Removals::Digest(theirs) if theirs == self.digest() => {}
            Removals::Digest(_) => {
                let removals = self.known.values().map(|removal| removal.bytes().to_vec());
                let frames = parts(&self.charters.statement().into_iter().chain(removals).collect::<Vec<_>>());
                self.hub.with(|machine, _| frames.iter().for_each(|frame| machine.post(from, frame)));
            }
        }
    }

    /// Believes what is signed, obeys it, and passes on what is new.
    fn learn(&mut self, from: Option<NodeId>, signed: impl IntoIterator<Item = Vec<u8>>, is_stored: bool) {
        let mut news = Vec::new();
        for bytes in signed {
            if let Some(charter) = Charters::in_statement(&bytes) {
                if let Err(error) = self.charters.hear(charter, &self.identity) {
                    tracing::warn!("ignored a charter that this mesh cannot have: {error}");
                }
                continue;
            }
            if Removal::names(&bytes).is_some_and(|key| self.known.contains_key(&key)) {
                continue;
            }
            match Removal::verify(&bytes, &self.identity) {
                Ok(removal) => {
                    let member = removal.member();
                    let what = if removal.is_gone() { "is gone for good" } else { "was removed from the mesh" };
                    tracing::info!("member {} {what}", member.0);
                    if !is_stored {
                        self.unstored.insert(removal.key(), removal.clone());
                    }
                    // Who was removed before is not waited for a second time.
                    if !self.obeyed.borrow().contains(&member) {
                        self.leaving.entry(member).or_insert_with(|| Instant::now() + FAREWELL);
                    }
                    if let Some(new) = removal.facts() {
                        self.facts.send_modify(|facts| *facts = facts.merged(&new));
                    }
                    self.known.insert(removal.key(), removal);
                    news.push(bytes);
                }
                Err(error) => tracing::warn!("ignored a removal that is not signed by the mesh: {error}"),
            }
        }
        if news.is_empty() {
            return;
        }
        self.hub.greet_with(encode(&Removals::Digest(self.digest())));
        let frames = parts(&news);
        self.hub.with(|machine, _| frames.iter().for_each(|frame| machine.post_to_all(frame, from)));
        if self.leaving.contains_key(&self.identity.member) {
            tracing::warn!(
                "this node was removed from the mesh: it passes its tokens on and serves no clients any more"
            );
            self.hub.with(Machine::leave_mesh);
            self.look_at_own();
        }
    }

    /// A start that did not know of the removal would serve clients again. So the node ends only when that is stored.
    fn look_at_own(&self) {
        let is_own = |key: &&RemovalKey| key.0 == self.identity.member;
        if self.known.keys().any(|key| is_own(&key)) && !self.unstored.keys().any(|key| is_own(&key)) {
            self.own.send_if_modified(|own| !std::mem::replace(own, true));
        }
    }

    /// Lets go in order: a removed node gives its tokens away while it can.
    fn part(&mut self) {
        if self.leaving.is_empty() {
            return;
        }
        let linked: BTreeSet<Member> = self.hub.with(|machine, _| machine.neighbour_ids().map(Member::of).collect());
        let now = Instant::now();
        let own = self.identity.member;
        let gone: Vec<Member> = self
            .leaving
            .iter()
            .filter(|(member, until)| !linked.contains(member) || **until <= now)
            .map(|(member, _)| *member)
            .collect();
        for member in &gone {
            self.leaving.remove(member);
        }
        self.obeyed.send_if_modified(|obeyed| {
            let before = obeyed.len();
            obeyed.extend(gone.into_iter().filter(|member| *member != own));
            obeyed.len() > before
        });
    }

    /// `meshlock mesh remove` and `meshlock mesh recovery` write files, and may not reach this node in another way.
    fn look_at_files(&mut self) {
        match Charter::newest_number(&self.dir) {
            Ok(Some(newest)) if newest > self.charters.number() && self.refused_charter != Some(newest) => {
                match Charter::load(&self.dir, &self.identity) {
                    Ok(charter) => charter.into_iter().for_each(|charter| self.charter_stored(charter)),
                    Err(error) => {
                        self.refused_charter = Some(newest);
                        tracing::warn!("the newest charter cannot be read: {error}");
                    }
                }
            }
            Ok(_) => {}
            Err(error) => tracing::error!("cannot look for charters: {error}"),
        }
        let found = match Kept::list(&self.dir) {
            Ok(found) => found,
            Err(error) => return tracing::error!("cannot look for removals: {error}"),
        };
        for key in found {
            if self.known.contains_key(&key) || self.refused.contains(&key) {
                continue;
            }
            match Kept::read(&self.dir, key, &self.identity) {
                Ok(Some(removal)) => self.learn(None, [removal.bytes().to_vec()], true),
                Ok(None) => {}
                Err(error) => {
                    self.refused.insert(key);
                    tracing::warn!("ignored a file that is no removal: {error}");
                }
            }
        }
    }

    fn may_store(&self) -> bool {
        self.storing.is_none() && (!self.unstored.is_empty() || self.charters.to_store().is_some())
    }

    fn store(&mut self) {
        let (dir, charter) = (self.dir.clone(), self.charters.to_store().cloned());
        let removals: Vec<Removal> = self.unstored.values().cloned().collect();
        self.storing = Some(tokio::task::spawn_blocking(move || {
            if let Some(charter) = &charter {
                charter.store(&dir)?;
            }
            if !removals.is_empty() {
                Removal::store_all(&dir, &removals)?;
            }
            Ok((removals.iter().map(Removal::key).collect(), charter))
        }));
    }

    /// A newer charter is on disk: neighbours may hear of it.
    fn charter_stored(&mut self, charter: Charter) {
        let (number, recovery) = (charter.number(), charter.recovery().word());
        if !self.charters.is_stored(charter) {
            return;
        }
        tracing::warn!(
            "the mesh has a new charter, number {number}: recovery {recovery}. This node goes by it from its next start \
             on; start it again"
        );
        self.hub.greet_with(encode(&Removals::Digest(self.digest())));
        let frames = parts(&self.charters.statement().into_iter().collect::<Vec<_>>());
        self.hub.with(|machine, _| frames.iter().for_each(|frame| machine.post_to_all(frame, None)));
    }

    fn stored(&mut self, result: Result<Stored, String>) {
        self.storing = None;
        match result {
            Ok((stored, charter)) => {
                charter.into_iter().for_each(|charter| self.charter_stored(charter));
                for key in stored {
                    self.unstored.remove(&key);
                }
                self.look_at_own();
                self.store_wait = STORE_AGAIN.0;
                self.store_at = Instant::now();
            }
            Err(error) => {
                let (count, wait) = (self.unstored.len(), self.store_wait);
                let charter = if self.charters.to_store().is_some() { "a new charter is not stored; " } else { "" };
                tracing::error!(
                    "{charter}{count} removals are obeyed but not stored, and would be forgotten if this node was started \
                     again: {error}; trying again in {wait:?}"
                );
                self.store_at = Instant::now() + wait;
                self.store_wait = (wait * 2).min(STORE_AGAIN.1);
            }
        }
    }

    /// What is known, in brief.
    fn digest(&self) -> [u8; 16] {
        let mut numbers = Vec::new();
        for (member, is_gone) in self.known.keys() {
            numbers.extend(member.0.to_be_bytes());
            if *is_gone {
                numbers.extend(b"gone");
            }
        }
        numbers.extend(self.charters.statement().into_iter().flatten());
        let mut brief = [0; 16];
        brief.iter_mut().zip(digest(&SHA256, &numbers).as_ref()).for_each(|(to, from)| *to = *from);
        brief
    }
}

async fn finished(storing: &mut Option<JoinHandle<Result<Stored, MeshError>>>) -> Result<Stored, String> {
    match storing {
        Some(task) => match task.await {
            Ok(result) => result.map_err(|error| error.to_string()),
            Err(error) => Err(error.to_string()),
        },
        None => std::future::pending().await,
    }
}

fn parts(signed: &[Vec<u8>]) -> Vec<Outgoing> {
    signed.chunks(MOST_REMOVALS).map(|part| encode(&Removals::Signed(part.to_vec()))).collect()
}

fn encode(removals: &Removals) -> Outgoing {
    wire::encode(&Frame::Removals(removals.clone()))
}

#[cfg(test)]
mod tests;
