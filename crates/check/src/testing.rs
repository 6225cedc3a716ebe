//! Models of small protocols, right and wrong, to try the checker itself.

use meshlock_core::Demand;
use meshlock_properties::Rule;
pub(crate) use meshlock_protocols::toys::DeskBug;
use meshlock_protocols::toys::{Desk, Echo, Hello};

use crate::explore::{Explorer, Options};
use crate::model::{Model, Work, Workload};
use crate::report::{Outcome, Silent};
use crate::topology::Topology;

pub(crate) fn explore(model: Model) -> Outcome {
    explore_with(model, Options::default())
}

pub(crate) fn explore_with(model: Model, options: Options) -> Outcome {
    Explorer::new(model).options(options).run(&mut Silent).unwrap()
}

/// A star of `count` nodes in which all but the desk ask `requests` times.
pub(crate) fn desk(count: u32, requests: u32, bug: DeskBug) -> Model {
    let mut model = Model::new(Desk::nodes(count, bug), Topology::star(count));
    model.workload = Workload::same(count as usize, requests, vec![Demand::units(1, 0)]);
    model.workload.nodes[0].count = 0;
    model.rules = [
        Rule::Exclusion,
        Rule::OneToken,
        Rule::Conservation,
        Rule::NobodyWaits,
        Rule::Fences,
        Rule::UnwantedGrant,
        Rule::MessagesEnd,
        Rule::Starvation,
    ]
    .into_iter()
    .collect();
    model
}

/// The same, with nodes that ask again when a timer runs out. Copies of a key may be on their way together; only
/// one of them is ever taken, so the rule of one token is not for this desk.
pub(crate) fn repeating_desk(count: u32, requests: u32) -> Model {
    let model = desk(count, requests, DeskBug::None);
    let nodes = Desk::repeating(count).into_iter().map(Into::into).collect();
    Model { nodes, rules: model.rules.without(Rule::OneToken), ..model }
}

/// Node 0 starts the game with its one request, which is granted at once.
pub(crate) fn echo(says_stop: bool) -> Model {
    let mut model = Model::new(Echo::nodes(says_stop), Topology::star(3));
    model.workload = Workload::none(3).with(0, Work::any(1, vec![Demand::units(1, 0)]));
    model
}

/// After all neighbours have greeted each other.
pub(crate) fn hello(topology: Topology) -> Model {
    let count = topology.len();
    let mut model = Model::settled(Hello::isolated(u32::try_from(count).unwrap()), topology, Vec::new()).unwrap();
    model.workload = Workload::none(count);
    model
}
