//! Two live nodes with one identity: an invitation that was used twice, a directory or a disk that was copied.
//!
//! Every start of a node's links draws a number, its *run*; every directory drew one when it took up its invitation, its
//! *installation*. A neighbour that hears of another run of a member asks the one it is linked to whether it is alive:
//!
//! | what a neighbour sees in a hello | what follows |
//! |---|---|
//! | another run, while the link to the first answers | the second is refused |
//! | another run, while the first is silent or gone | the second replaces it: a restart |
//! | a run that was replaced before | refused: a process that ended does not come back |
//! | an incarnation below one that was seen | refused: an old copy |
//! | another installation | refused: an invitation that was used twice |
//!
//! A node that does not answer at this very moment is not refused: a hello may have waited while its sender was restarted.
//! Where the two share no neighbour, sightings of runs go through the mesh; a node that hears of another run of itself
//! contests it, and a node that is linked to that run asks it whether it is alive. If it is, the one that was started later
//! is refused by all nodes.

use std::collections::{BTreeMap, VecDeque};
use std::net::SocketAddr;
use std::sync::{Arc, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use meshlock_core::NodeId;

use super::Outgoing;
use super::context::Context;
use super::control::{Contest, Control, DoubleIdentity, Sighting};
use super::hello::Hello;
use super::table::{Place, Proof};
use crate::mesh::Member;

/// The reason of a link to one of two nodes with one identity.
pub(super) const DOUBLE: &str = "two nodes have this identity, and this one is refused; see the log";

/// Runs of one member that are remembered.
const RUNS: usize = 8;

/// Contests and doubles that are remembered, so that each goes round once.
const TOLD: usize = 1_024;

/// After this time the same is told again.
const TELL_AGAIN: Duration = Duration::from_secs(60);

/// Sightings in one frame.
const SIGHTINGS: usize = 1_000;

/// What a node knows about the runs of members.
#[derive(Debug, Default)]
pub(super) struct Runs {
    /// Of those that were linked to this node.
    linked: BTreeMap<Member, Linked>,
    refused: BTreeMap<Member, VecDeque<u64>>,
    /// What others saw, the latest last.
    sighted: BTreeMap<Member, VecDeque<Sighting>>,
    told: BTreeMap<(Member, u64, u64), Instant>,
}

#[derive(Debug)]
struct Linked {
    node: NodeId,
    run: u64,
    installation: u64,
    former: VecDeque<u64>,
}

impl Runs {
    /// What is wrong with a hello, for one who looks at nothing else.
    pub(super) fn suspect(&self, hello: &Hello) -> Option<&'static str> {
        let member = Member::of(hello.node);
        if self.refused.get(&member).is_some_and(|runs| runs.contains(&hello.run)) {
            return Some("it was refused before");
        }
        let known = self.linked.get(&member)?;
        if known.installation != hello.installation {
            Some("their directories took up the same invitation")
        } else if hello.node < known.node {
            Some("it is a copy of an older state")
        } else if known.former.contains(&hello.run) {
            Some("it was replaced by another, and came back")
        } else {
            None
        }
    }

    /// A link of this run is up.
    pub(super) fn note(&mut self, hello: &Hello) {
        let Hello { node, run, installation } = *hello;
        let known = self.linked.entry(Member::of(node));
        let known = known.or_insert_with(|| Linked { node, run, installation, former: VecDeque::new() });
        if known.run != run {
            remember(&mut known.former, known.run);
        }
        (known.node, known.run) = (node, run);
    }

    fn refuse(&mut self, member: Member, run: u64) {
        remember(self.refused.entry(member).or_default(), run);
    }

    /// Whether this run was never heard of.
    fn sight(&mut self, sighting: Sighting) -> bool {
        let runs = self.sighted.entry(Member::of(sighting.node)).or_default();
        let is_new = runs.iter().all(|known| known.run != sighting.run);
        if is_new {
            remember(runs, sighting);
        }
        is_new
    }

    /// The latest run of every member.
    fn sightings(&self) -> Vec<Sighting> {
        self.sighted.values().filter_map(|runs| runs.back().copied()).collect()
    }

    /// Whether this was not told lately.
    fn is_news(&mut self, key: (Member, u64, u64), now: Instant) -> bool {
        if self.told.get(&key).is_some_and(|told| now.duration_since(*told) < TELL_AGAIN) {
            return false;
        }
        if self.told.len() >= TOLD
            && let Some(oldest) = self.told.iter().min_by_key(|(_, told)| **told).map(|(key, _)| *key)
        {
            self.told.remove(&oldest);
        }
        self.told.insert(key, now);
        true
    }
}

fn remember<T>(runs: &mut VecDeque<T>, run: T) {
    if runs.len() >= RUNS {
        runs.pop_front();
    }
    runs.push_back(run);
}

impl Context {
    fn runs(&self) -> MutexGuard<'_, Runs> {
        self.table.runs.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn up_ms(&self) -> u64 {
        u64::try_from(self.began.elapsed().as_millis()).unwrap_or(u64::MAX)
    }

    /// A link is up: all nodes hear of this run, and the new neighbour of all others.
    pub(super) fn sighted(&self, place: &Place<'_>, hello: &Hello) {
        let sighting = Sighting { node: hello.node, run: hello.run };
        let own = Sighting { node: self.node(), run: self.run };
        let (is_new, mut all) = {
            let mut runs = self.runs();
            (runs.sight(sighting), runs.sightings())
        };
        if is_new {
            self.table.tell_all(&Control::Seen(vec![sighting]).encode(), Some(place));
        }
        all.retain(|known| Member::of(known.node) != Member::of(hello.node));
        all.push(own);
        for part in all.chunks(SIGHTINGS) {
            place.tell(Control::Seen(part.to_vec()).encode());
        }
    }

    /// A link says something on its own account.
    pub(super) fn on_control(self: &Arc<Self>, place: &Place<'_>, from: SocketAddr, control: Control) {
        match control {
            Control::Challenge(number) => place.tell(Control::Answer { number, up_ms: self.up_ms() }.encode()),
            Control::Answer { number, up_ms } => place.answered(Proof { number, up_ms }),
            Control::Seen(sightings) => self.on_seen(place, sightings),
            Control::Contest(contest) => {
                // Its first neighbour knows where it is.
                let is_its_own = Member::of(contest.by.node) == place.member();
                let address = if is_its_own { Some(from) } else { contest.address };
                self.on_contest(place, Contest { address, ..contest });
            }
            Control::Double(double) => self.on_double(Some(place), double),
        }
    }

    fn on_seen(&self, place: &Place<'_>, mut sightings: Vec<Sighting>) {
        sightings.truncate(SIGHTINGS);
        let mine = |sighting: &Sighting| Member::of(sighting.node) == self.me;
        if let Some(other) = sightings.iter().find(|sighting| mine(sighting) && sighting.run != self.run) {
            let by = Sighting { node: self.node(), run: self.run };
            let is_news = self.runs().is_news((self.me, self.run, other.run), Instant::now());
            if is_news {
                let contest = Contest { by, up_ms: self.up_ms(), address: None, against: other.run };
                self.table.tell_all(&Control::Contest(contest).encode(), None);
            }
        }
        sightings.retain(|sighting| !mine(sighting));
        {
            let mut runs = self.runs();
            sightings.retain(|sighting| runs.sight(*sighting));
        }
        if !sightings.is_empty() {
            self.table.tell_all(&Control::Seen(sightings).encode(), Some(place));
        }
    }

    fn on_contest(self: &Arc<Self>, place: &Place<'_>, contest: Contest) {
        let member = Member::of(contest.by.node);
        if member == self.me || !self.runs().is_news((member, contest.by.run, contest.against), Instant::now()) {
            return;
        }
        self.table.tell_all(&Control::Contest(contest).encode(), Some(place));
        let Some(linked) = self.table.link_of(member).filter(|linked| linked.run == contest.against) else { return };
        let context = Arc::clone(self);
        tokio::spawn(async move {
            let Some(proof) = context.table.prove(&linked).await else { return };
            // The one that was started later is refused; of two at the same moment, the one with the larger number.
            let stays = (proof.up_ms, contest.by.run) > (contest.up_ms, contest.against);
            let (kept, refused, run) = if stays {
                (Some(linked.address), contest.address, contest.by.run)
            } else {
                (contest.address, Some(linked.address), contest.against)
            };
            let why = "both are alive, in different parts of the mesh".to_owned();
            context.on_double(None, DoubleIdentity { member, name: linked.name.clone(), kept, refused, why, run });
        });
    }

    /// Two live nodes have one identity: tells all nodes, refuses one of the two, and lets the user know.
    pub(super) fn on_double(&self, from: Option<&Place<'_>>, double: DoubleIdentity) {
        let DoubleIdentity { member, run, .. } = double;
        let is_news = {
            let mut runs = self.runs();
            if member != self.me {
                runs.refuse(member, run);
            }
            runs.is_news((member, run, u64::MAX), Instant::now())
        };
        if is_news {
            tracing::error!("{double}");
            self.user.alarm(&double);
            self.table.tell_all(&Control::Double(double).encode(), from);
        }
        if member != self.me {
            self.table.dismiss(member, run, DOUBLE);
        }
    }
}

/// What a newcomer is told that is refused.
pub(super) fn last_words(double: &DoubleIdentity) -> Outgoing {
    Control::Double(double.clone()).encode()
}
