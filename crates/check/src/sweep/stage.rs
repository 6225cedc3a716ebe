//! How far a run has come: the numbers in a state that never go back.
//!
//! Budgets are used up, requests are made, then granted or cancelled, then done with; a link that was cut is noticed by one
//! end and then by the other. So the states of a model fall into stages, and every step stays in its stage or leads to a
//! later one. A stage is a function of the state, so no state belongs to two.

use meshlock_core::view::View;

use crate::environment::{Environment, LinkState};
use crate::intern::{FixedMap, next_id};
use crate::model::Model;
use crate::space::{Row, Space};

/// How far a run has come.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Stage {
    /// They never get smaller.
    steady: Box<[u32]>,
    /// They get smaller only in a step that makes a steady one greater.
    passing: Box<[u32]>,
}

impl Stage {
    /// Whether steps may lead from here to there, as far as these numbers tell.
    pub(crate) fn leads_to(&self, other: &Self) -> bool {
        let none_shrinks = |a: &[u32], b: &[u32]| a.iter().zip(b).all(|(a, b)| a <= b);
        none_shrinks(&self.steady, &other.steady)
            && (self.steady != other.steady || none_shrinks(&self.passing, &other.passing))
    }

    /// Every step to a later stage makes this greater.
    pub(crate) fn rank(&self) -> (u64, u64) {
        let sum = |numbers: &[u32]| numbers.iter().copied().map(u64::from).sum();
        (sum(&self.steady), sum(&self.passing))
    }
}

/// What tells stages apart, quickly: the environment's part, and what waits and what is in use at the nodes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Mark {
    world: u32,
    loads: u64,
}

/// How closely requests are looked at.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Detail {
    /// At each node by itself.
    Nodes,
    /// All together, where there would be too many stages.
    Together,
}

/// More stages than this are not worth their upkeep.
const MOST_STAGES: u64 = 5_000;
/// So many nodes have room in a mark.
const NODES_IN_MARK: usize = 8;

/// Reads the stage off states. Each thread has one of its own.
pub(crate) struct Reader {
    detail: Detail,
    /// Whether links change by the budget of link changes alone.
    links: bool,
    nodes: usize,
    start: Environment,
    /// By the number of the environment.
    worlds: Vec<u32>,
    /// By the number of the node state: what waits and what is in use.
    loads: Vec<u16>,
    known: Vec<World>,
    numbers: FixedMap<World, u32>,
}

/// What the environment says of the stage.
#[derive(Clone, PartialEq, Eq, Hash)]
struct World {
    stage: Stage,
    made: Box<[u32]>,
}

const UNKNOWN: u32 = u32::MAX;
const UNSEEN: u16 = u16::MAX;

/// Whether the stages of a model are worth while. Requests of members that crash are made again, so that almost nothing
/// divides their states; those of endless models begin anew.
pub(crate) fn has_stages(model: &Model) -> bool {
    !model.recovers() && !model.workload.endless
}

impl Reader {
    pub(crate) fn new(space: &Space) -> Self {
        let model = &space.model;
        Self {
            detail: detail(model),
            links: model.budgets.stops == 0,
            nodes: space.layout.nodes,
            start: Environment::of(model, &space.layout),
            worlds: Vec::new(),
            loads: Vec::new(),
            known: Vec::new(),
            numbers: FixedMap::default(),
        }
    }

    /// The mark of a state. Equal marks mean equal stages.
    pub(crate) fn mark(&mut self, space: &Space, row: &Row) -> Mark {
        let world = self.world(space, row[space.layout.environment()]);
        let nodes = &row[..self.nodes];
        let loads = match self.detail {
            Detail::Nodes => nodes.iter().fold(0, |loads, node| {
                let [waiting, holding] = self.load(space, *node);
                loads << 8 | u64::from(waiting) << 4 | u64::from(holding)
            }),
            Detail::Together => nodes.iter().fold(0, |loads, node| {
                let [waiting, holding] = self.load(space, *node);
                loads + (u64::from(waiting) << 32 | u64::from(holding))
            }),
        };
        Mark { world, loads }
    }

    /// The stage of a state with this mark.
    pub(crate) fn stage(&self, mark: Mark) -> Stage {
        let World { stage, made } = &self.known[mark.world as usize];
        let mut steady = stage.steady.to_vec();
        let mut add = |made: u32, waiting: u32, holding: u32| {
            let granted = made.saturating_sub(waiting);
            steady.extend([made, granted, granted.saturating_sub(holding)]);
        };
        match self.detail {
            Detail::Nodes => {
                for (place, made) in made.iter().enumerate() {
                    let load = (mark.loads >> (8 * (self.nodes - 1 - place))) as u32;
                    add(*made, load >> 4 & 15, load & 15);
                }
            }
            Detail::Together => add(made.iter().sum(), (mark.loads >> 32) as u32, mark.loads as u32),
        }
        Stage { steady: steady.into(), passing: stage.passing.clone() }
    }

    fn world(&mut self, space: &Space, id: u32) -> u32 {
        let at = id as usize;
        if at >= self.worlds.len() {
            self.worlds.resize(at + 1, UNKNOWN);
        }
        if self.worlds[at] == UNKNOWN {
            let world = self.world_of(space.environments.get(id));
            let next = next_id(self.known.len());
            let Self { known, numbers, .. } = self;
            self.worlds[at] = *numbers.entry(world).or_insert_with_key(|world| {
                known.push(world.clone());
                next
            });
        }
        self.worlds[at]
    }

    fn world_of(&self, environment: &Environment) -> World {
        let Self { start, .. } = self;
        let used = |budget: fn(&Environment) -> u32| budget(start).saturating_sub(budget(environment));
        let steady = [
            used(|environment| environment.link_changes),
            used(|environment| environment.cancels),
            used(|environment| environment.reprioritisations),
            used(|environment| environment.losses),
            used(|environment| environment.early_timers),
            used(|environment| environment.leaves),
            used(|environment| environment.stops),
            environment.told.iter().copied().map(u32::from).sum(),
        ];
        let passing = environment.links.iter().filter(|_| self.links).map(|link| progress(*link)).collect();
        World { stage: Stage { steady: steady.into(), passing }, made: environment.made.clone() }
    }

    fn load(&mut self, space: &Space, node: u32) -> [u8; 2] {
        let at = node as usize;
        if at >= self.loads.len() {
            self.loads.resize(at + 1, UNSEEN);
        }
        if self.loads[at] == UNSEEN {
            let View { waiting, holding, .. } = space.local.view(node);
            let few = |len: usize| u16::try_from(len.min(15)).unwrap_or(15);
            self.loads[at] = few(waiting.len()) << 8 | few(holding.len());
        }
        self.loads[at].to_be_bytes()
    }

    pub(crate) fn bytes(&self) -> usize {
        self.worlds.capacity() * 4 + self.loads.capacity() * 2 + self.known.len() * 400
    }
}

/// How far the change of a link has come.
fn progress(link: LinkState) -> u32 {
    match link {
        LinkState::Up => 0,
        LinkState::Dying(noticed) => 1 + noticed.into_iter().map(u32::from).sum::<u32>(),
        LinkState::Failed(_) => 1,
        LinkState::Down => 3,
    }
}

fn detail(model: &Model) -> Detail {
    // A request of a node is to come, waits, is in use or is done: so many ways for so many requests.
    let ways = |count: u32| (u64::from(count) + 1).saturating_mul(u64::from(count) + 2) * (u64::from(count) + 3) / 6;
    let all = model.workload.nodes.iter().map(|work| ways(work.count.min(1_000)));
    let few = all.fold(1, u64::saturating_mul) <= MOST_STAGES;
    let fits = model.nodes.len() <= NODES_IN_MARK && model.workload.outstanding <= 15;
    if few && fits { Detail::Nodes } else { Detail::Together }
}
