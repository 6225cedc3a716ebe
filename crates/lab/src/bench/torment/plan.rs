//! What is done, decided by a seed alone: which nodes are linked, what clients ask for, and what goes wrong. How far
//! everybody has come when it happens is up to the machine.

use std::time::Duration;

use fastrand::Rng;
use meshlock_api::{Mode, NewRequest, Urgency};

use super::cast::{self, Resource, Usage};
use super::history::Company;
use crate::bench::processes::{self, Recovery, Ways};

/// Everything that the seed decides.
#[derive(Clone, Copy, Debug)]
pub(super) struct Plan {
    pub(super) seed: u64,
    pub(super) nodes: usize,
    pub(super) recovery: Recovery,
    /// How long a node may act after it last asked the voters; what lasts long is measured by it.
    pub(super) standing: Duration,
}

/// When links are given up.
const LOSS_AFTER: Duration = Duration::from_secs(1);

/// One request of a client, from asking to its end.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Use {
    /// Before it asks.
    pub(super) pause: Duration,
    pub(super) asks: NewRequest,
    pub(super) company: Company,
    pub(super) hold: Duration,
    /// If it still waits after this time, it is this urgent.
    pub(super) change: Option<(Duration, Urgency)>,
    pub(super) ending: Ending,
}

/// How a client ends what it began.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Ending {
    /// Gives back after its hold.
    Release,
    /// No longer wants it, if it still waits after this time.
    Cancel(Duration),
    /// Is gone after this time, waiting or holding, and says nothing.
    Vanish(Duration),
    /// Does not renew, uses it until after the lease, and gives it back late.
    Overstay,
}

/// What goes wrong, and comes right again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Trouble {
    /// A link loses this share of its packets, in one direction or both; with 100 it is cut.
    Loss { link: usize, percent: u8, both: bool, lasts: Duration },
    /// The process of a node is stopped and continued.
    PauseNode { node: usize, lasts: Duration },
    /// A node is stopped cleanly and started again.
    StopNode { node: usize, away: Duration },
    /// A node is stopped cleanly while a client of it waits for a mutex under `flood` that is held elsewhere.
    StopWaiting { holder: usize, node: usize },
    /// A client is killed while it waits.
    KillWaiter { stage: usize, holder: usize, waiter: usize, next: usize },
    /// A client is killed, or paused past its lease, while it holds.
    LoseHolder { stage: usize, holder: usize, next: usize, kill: bool },
    /// A node is asked for the status of the mesh 1,100 times, then all others at once.
    StatusStorm { node: usize },
    /// So many clients of a node ask for one resource at once.
    Crowd { node: usize, resource: usize, size: usize },
    /// So many requests wait at a node, of few clients and with long owners.
    Pile { stage: usize, node: usize, next: usize, size: usize },
    /// The founder of a mesh of two has a full disk when it first meets the other.
    FirstLink,
    /// A node can write nothing to its disk.
    FullDisk { node: usize, lasts: Duration },
    /// A node is killed and started again, and perhaps killed once more so long after it is ready.
    Crash { node: usize, away: Duration, again: Option<Duration> },
    /// A node is killed, so long after it another one, which may be the heir of the first; both come back.
    CrashInRepair { first: usize, second: usize, after: Duration, away: Duration },
    /// All are killed at once and started again, one of them later.
    Blackout { late: usize, away: Duration },
    /// A node loses all its links.
    Isolate { node: usize, lasts: Duration },
    /// A node ends for good, and another member takes its place.
    Replace { node: usize, farewell: Farewell, away: Duration },
    /// A resource gets another capacity.
    Resize { node: usize, capacity: u32 },
    /// A resource is made at a node, and used at another.
    Make { node: usize, user: usize, flood: bool },
}

/// How a member ends for good.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Farewell {
    /// It crashes, and the voters declare it gone; without voters as below.
    Crash,
    /// It crashes, and the operator vouches for its end.
    Vouched,
    /// It is stopped cleanly, and the operator vouches for its end.
    CleanStop,
}

/// One kind of trouble; `--only` takes its name.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum Kind {
    /// Links lose packets or are cut
    Cuts,
    /// Nodes are paused
    PausedNode,
    /// Nodes are stopped cleanly and started again
    CleanStop,
    /// A node stops while its client waits for a mutex under `flood`
    FloodStop,
    /// A client is killed while it waits
    KilledWaiter,
    /// A client is killed or paused while it holds
    LostHolder,
    /// Thousands of questions about the mesh
    StatusStorm,
    /// Many clients ask at once
    Crowd,
    /// Many requests wait at one node
    Pile,
    /// A founder cannot write to its disk when it first meets somebody
    FirstLink,
    /// A node cannot write to its disk
    FullDisk,
    /// A node is paused for longer than its standing
    LongPause,
    /// A node is killed and started again, also twice
    Crash,
    /// Two nodes are killed, the second while the first is missed
    CrashInRepair,
    /// All nodes are killed at once and started again
    Blackout,
    /// A node loses all links
    Isolated,
    /// A node ends for good, is removed, and another is invited
    Replace,
    /// A resource gets another capacity
    Resize,
    /// A resource is made
    NewResource,
}

impl Kind {
    /// Whether a mesh that does not recover cannot stand it.
    fn needs_recovery(self) -> bool {
        matches!(self, Self::Crash | Self::CrashInRepair | Self::Blackout | Self::Replace)
    }
}

/// How often each kind comes in a mixed run.
const MIX: [(Kind, u32); 19] = [
    (Kind::Cuts, 10),
    (Kind::PausedNode, 3),
    (Kind::CleanStop, 3),
    (Kind::FloodStop, 1),
    (Kind::KilledWaiter, 2),
    (Kind::LostHolder, 2),
    (Kind::StatusStorm, 1),
    (Kind::Crowd, 3),
    (Kind::Pile, 1),
    (Kind::FirstLink, 1),
    (Kind::FullDisk, 2),
    (Kind::LongPause, 2),
    (Kind::Crash, 8),
    (Kind::CrashInRepair, 3),
    (Kind::Blackout, 1),
    (Kind::Isolated, 2),
    (Kind::Replace, 2),
    (Kind::Resize, 4),
    (Kind::NewResource, 3),
];

impl Plan {
    fn random(self, stream: u64) -> Rng {
        // Streams of neighbouring numbers have nothing in common.
        let mut mixer = Rng::with_seed(self.seed);
        Rng::with_seed(mixer.u64(..) ^ Rng::with_seed(stream).u64(..))
    }

    /// A ring, so that there are two ways to everybody, and a few links across it. The later one of a pair dials.
    pub(super) fn links(self) -> Vec<(usize, usize)> {
        let mut random = self.random(0);
        let ring = (1..self.nodes).map(|node| (node - 1, node)).chain((self.nodes > 2).then_some((0, self.nodes - 1)));
        let mut links: Vec<(usize, usize)> = ring.collect();
        for one in 0..self.nodes {
            for other in one + 1..self.nodes {
                if !links.contains(&(one, other)) && random.u8(0..4) == 0 {
                    links.push((one, other));
                }
            }
        }
        links
    }

    /// The mesh.
    pub(super) fn mesh(self) -> processes::Plan {
        processes::Plan {
            nodes: self.nodes,
            ways: Ways::Relayed(self.links(), self.seed),
            recovery: self.recovery,
            standing: self.standing,
            loss_after: Some(LOSS_AFTER),
            resources: cast::toml(),
        }
    }

    /// What a client asks for, one after the other, without end.
    pub(super) fn uses(self, client: usize) -> impl Iterator<Item = Use> + Send {
        let mut random = self.random(1 + client as u64);
        let resources = cast::common();
        std::iter::repeat_with(move || {
            let resource = &resources[random.usize(..resources.len())];
            some_use(&mut random, resource)
        })
    }

    /// What goes wrong, one after the other, without end: after a pause, and of these kinds or of all.
    pub(super) fn troubles(self, only: &[Kind]) -> impl Iterator<Item = (Duration, Trouble)> + Send + use<> {
        let mut random = self.random(u64::MAX);
        let is_wanted = |kind: &Kind| {
            let is_bearable = self.recovery != Recovery::None || !kind.needs_recovery();
            is_bearable && (only.is_empty() || only.contains(kind))
        };
        let mix: Vec<(Kind, u32)> = MIX.into_iter().filter(|(kind, _)| is_wanted(kind)).collect();
        // Every kind comes once before chance decides: a short run has all of them.
        let mut first: Vec<Kind> = mix.iter().map(|(kind, _)| *kind).collect();
        random.shuffle(&mut first);
        std::iter::repeat_with(move || {
            let kind = first.pop().unwrap_or_else(|| mixed(&mut random, &mix));
            (ms(&mut random, 50, 800), self.trouble(&mut random, kind))
        })
    }

    fn trouble(self, random: &mut Rng, kind: Kind) -> Trouble {
        let links = self.links().len();
        let mut nodes: Vec<usize> = (0..self.nodes).collect();
        random.shuffle(&mut nodes);
        let at = |place: usize| nodes.get(place % self.nodes).copied().unwrap_or_default();
        let stage = random.usize(..cast::stages().len());
        match kind {
            Kind::Cuts => Trouble::Loss {
                link: random.usize(..links),
                percent: if random.bool() { 100 } else { random.u8(5..60) },
                both: random.u8(0..4) > 0,
                lasts: ms(random, 200, 4_000),
            },
            Kind::PausedNode => Trouble::PauseNode { node: at(0), lasts: ms(random, 100, 3_000) },
            Kind::CleanStop => Trouble::StopNode { node: at(0), away: ms(random, 0, 2_000) },
            Kind::FloodStop => Trouble::StopWaiting { holder: at(0), node: at(1) },
            Kind::KilledWaiter => Trouble::KillWaiter { stage, holder: at(0), waiter: at(1), next: at(2) },
            Kind::LostHolder => Trouble::LoseHolder { stage, holder: at(0), next: at(1), kill: random.bool() },
            // Not the first node: the others with smaller numbers must not suffer from what it asked.
            Kind::StatusStorm => Trouble::StatusStorm { node: 1 + at(0) % (self.nodes - 1).max(1) },
            Kind::Crowd => Trouble::Crowd {
                node: at(0),
                resource: random.usize(..cast::common().len()),
                size: random.usize(50..200),
            },
            Kind::Pile => Trouble::Pile { stage, node: at(0), next: at(1), size: random.usize(3_500..5_000) },
            Kind::FirstLink => Trouble::FirstLink,
            Kind::FullDisk => Trouble::FullDisk { node: at(0), lasts: ms(random, 500, 3_000) },
            Kind::LongPause => Trouble::PauseNode { node: at(0), lasts: self.standings(random, 0.9, 2.0) },
            Kind::Crash => {
                let again = (random.u8(0..3) == 0).then(|| self.standings(random, 0.0, 0.5));
                Trouble::Crash { node: at(0), away: self.absence(random), again }
            }
            Kind::CrashInRepair => {
                // The heir is the lowest number that is left: most often the founder.
                let (mut first, mut second) = (at(0), at(1));
                if random.bool() && first != 0 {
                    second = 0;
                }
                if first == second {
                    first = (second + 1) % self.nodes;
                }
                let after = if random.bool() {
                    self.standings(random, 0.0, 0.5)
                } else {
                    // Just when the voters declare the first one gone.
                    self.standings(random, 0.95, 1.3)
                };
                Trouble::CrashInRepair { first, second, after, away: self.absence(random) }
            }
            Kind::Blackout => Trouble::Blackout { late: at(0), away: self.absence(random) },
            Kind::Isolated => Trouble::Isolate { node: at(0), lasts: self.standings(random, 0.3, 1.8) },
            Kind::Replace => {
                // The founder has the keys. Where there are voters, others take the place of one.
                let node = if self.nodes > 1 { random.usize(1..self.nodes) } else { usize::MAX };
                let farewell = [Farewell::Crash, Farewell::Vouched, Farewell::CleanStop][random.usize(..3)];
                Trouble::Replace { node, farewell, away: ms(random, 0, 1_000) }
            }
            Kind::Resize => {
                Trouble::Resize { node: at(0), capacity: random.u32(cast::LEAST_CAPACITY..=cast::MOST_CAPACITY) }
            }
            Kind::NewResource => Trouble::Make { node: at(0), user: at(1), flood: random.bool() },
        }
    }
}

impl Plan {
    fn standings(self, random: &mut Rng, from: f64, to: f64) -> Duration {
        self.standing.mul_f64(from + (to - from) * random.f64())
    }

    /// How long a node that crashed is away: often not long enough to be missed.
    fn absence(self, random: &mut Rng) -> Duration {
        if random.bool() { ms(random, 0, 1_500) } else { self.standings(random, 0.5, 2.0) }
    }
}

fn mixed(random: &mut Rng, mix: &[(Kind, u32)]) -> Kind {
    let mut left = random.u32(..mix.iter().map(|(_, weight)| weight).sum::<u32>());
    for (kind, weight) in mix {
        match left.checked_sub(*weight) {
            Some(rest) => left = rest,
            None => return *kind,
        }
    }
    Kind::Cuts
}

fn ms(random: &mut Rng, from: u64, to: u64) -> Duration {
    Duration::from_millis(random.u64(from..=to))
}

/// As long as the owner of a request may be.
pub(super) const LONG_OWNER: usize = 256;

fn some_use(random: &mut Rng, resource: &Resource) -> Use {
    let mut asks = NewRequest { resource: resource.name.clone(), ..NewRequest::default() };
    asks.urgency = Some(match resource.usage {
        Usage::Deadlines(_) => Urgency::Deadline(random.u64(..)),
        Usage::Mutex | Usage::Units(_) | Usage::Resized | Usage::Readers | Usage::Sessions => {
            some_priority(random, resource)
        }
    });
    let company = match resource.usage {
        Usage::Mutex => Company::Nobody,
        Usage::Units(capacity) | Usage::Deadlines(capacity) => {
            asks.units = Some(random.u32(1..=capacity));
            Company::Anybody
        }
        Usage::Resized => {
            asks.units = Some(random.u32(1..=cast::LEAST_CAPACITY));
            Company::Anybody
        }
        Usage::Readers if random.u8(0..4) > 0 => {
            asks.mode = Some(Mode::Read);
            Company::Session("read".to_owned())
        }
        Usage::Readers => {
            asks.mode = Some(Mode::Write);
            Company::Nobody
        }
        Usage::Sessions => {
            let name = ["red", "green", "blue"][random.usize(..3)];
            asks.session = Some(name.to_owned());
            Company::Session(name.to_owned())
        }
    };
    asks.timeout_ms = random.bool().then(|| random.u64(50..3_000));
    asks.owner = (random.u8(0..3) == 0).then(|| "o".repeat(random.usize(1..=LONG_OWNER)));
    let mut lease = random.u64(500..3_000);
    let mut hold = ms(random, 0, 20);
    let ending = match random.u16(0..1_000) {
        0..60 => Ending::Cancel(ms(random, 0, 300)),
        60..70 => Ending::Vanish(ms(random, 0, 300)),
        70..78 => Ending::Overstay,
        78..83 => {
            // By the book, with a lease so long that its end is never near; also when the node stops meanwhile.
            lease = 12_000;
            hold = ms(random, 1_000, 7_000);
            Ending::Release
        }
        83..93 => {
            hold = ms(random, 300, 2_000);
            Ending::Release
        }
        93.. => Ending::Release,
    };
    asks.lease_ms = Some(lease);
    let change = (random.u8(0..20) == 0 && matches!(asks.urgency, Some(Urgency::Priority(_))))
        .then(|| (ms(random, 10, 300), some_priority(random, resource)));
    Use { pause: ms(random, 0, 60), asks, company, hold, change, ending }
}

fn some_priority(random: &mut Rng, resource: &Resource) -> Urgency {
    Urgency::Priority(match random.u8(0..20) {
        _ if resource.protocol == "group" => random.i32(0..10), // all that it knows
        0 => i32::MIN,
        1 => i32::MAX,
        2..10 => 0,
        _ => random.i32(-20..20),
    })
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;
    use std::mem::discriminant;

    use super::*;

    const PLAN: Plan = Plan { seed: 7, nodes: 5, recovery: Recovery::Voters, standing: Duration::from_secs(4) };

    #[test]
    fn the_seed_decides_everything() {
        let other = Plan { seed: 8, ..PLAN };
        let uses = |plan: Plan, client| plan.uses(client).take(50).collect::<Vec<_>>();
        let troubles = |plan: Plan| plan.troubles(&[]).take(50).collect::<Vec<_>>();
        assert_eq!(uses(PLAN, 3), uses(PLAN, 3));
        assert_ne!(uses(PLAN, 3), uses(other, 3));
        assert_ne!(uses(PLAN, 3), uses(PLAN, 4));
        assert_eq!(troubles(PLAN), troubles(PLAN));
        assert_ne!(troubles(PLAN), troubles(other));
        assert_eq!(PLAN.links(), PLAN.links());
    }

    #[test]
    fn every_kind_of_trouble_comes_early_and_alone_when_wanted() {
        let kinds = MIX.len();
        for seed in 0..20 {
            let first = Plan { seed, ..PLAN }.troubles(&[]).take(kinds);
            let seen: Vec<_> = first.map(|(_, trouble)| discriminant(&trouble)).collect();
            let again = seen.iter().enumerate().filter(|(place, kind)| seen[..*place].contains(kind));
            assert_eq!(again.count(), 1, "seed {seed}: short and long pauses are one trouble");
        }
        let mut storms = PLAN.troubles(&[Kind::StatusStorm]).take(100);
        assert!(storms.all(|(_, trouble)| matches!(trouble, Trouble::StatusStorm { node: 1.. })));
    }

    #[test]
    fn all_that_is_named_exists() {
        for nodes in 2..8 {
            let plan = Plan { seed: 1, nodes, ..PLAN };
            let links = plan.links();
            assert!(links.iter().all(|(one, other)| one < other && *other < nodes), "{links:?}");
            assert_eq!(links.iter().collect::<BTreeSet<_>>().len(), links.len());
            for (_, trouble) in plan.troubles(&[]).take(300) {
                match trouble {
                    Trouble::FirstLink => {}
                    Trouble::Replace { node, .. } => assert!((1..nodes).contains(&node), "{trouble:?}"),
                    Trouble::CrashInRepair { first, second, .. } => {
                        assert!(first < nodes && second < nodes && first != second, "{trouble:?}");
                    }
                    Trouble::Loss { link, .. } => assert!(link < links.len()),
                    Trouble::StopWaiting { holder, node } => assert!(holder < nodes && node < nodes && holder != node),
                    Trouble::KillWaiter { holder: node, .. }
                    | Trouble::LoseHolder { holder: node, .. }
                    | Trouble::Pile { node, .. }
                    | Trouble::Crowd { node, .. }
                    | Trouble::StatusStorm { node }
                    | Trouble::PauseNode { node, .. }
                    | Trouble::StopNode { node, .. }
                    | Trouble::FullDisk { node, .. }
                    | Trouble::Crash { node, .. }
                    | Trouble::Blackout { late: node, .. }
                    | Trouble::Isolate { node, .. }
                    | Trouble::Resize { node, .. }
                    | Trouble::Make { node, .. } => assert!(node < nodes, "{trouble:?}"),
                }
            }
        }
    }

    #[test]
    fn every_use_is_legal_and_every_ending_comes() {
        let mut endings = BTreeSet::new();
        for wanted in PLAN.uses(0).take(3_000) {
            meshlock_api::resource::check_name(&wanted.asks.resource).unwrap();
            meshlock_api::resource::check_lease(wanted.asks.lease_ms.unwrap()).unwrap();
            endings.insert(match wanted.ending {
                Ending::Release => 0,
                Ending::Cancel(_) => 1,
                Ending::Vanish(_) => 2,
                Ending::Overstay => 3,
            });
        }
        assert_eq!(endings.len(), 4);
    }
}
