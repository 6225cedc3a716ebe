//! Runs that are watched event by event.

use meshlock_core::{Effect, Event, Misuse, NodeId, Protocol};
use meshlock_protocols::{Message, Node};
use meshlock_sim::build::world;
use meshlock_sim::edit::Edits;
use meshlock_sim::observe::Observer;
use meshlock_sim::outcome::Outcome;
use meshlock_sim::run::{RunError, drive};
use meshlock_sim::scenario::Scenario;

/// Runs a scenario with seeds 1 to `seeds`, each with an observer made from the nodes at the start.
///
/// # Panics
///
/// If the scenario cannot be run: claims make only scenarios that can.
pub(crate) fn watch<O: Observer>(
    scenario: &Scenario,
    seeds: u64,
    observer: impl Fn(&[Node]) -> O,
) -> Vec<(O, Outcome)> {
    let run = |seed| {
        let failed = |error: RunError| panic!("{}: {error}", scenario.name);
        let world = world(scenario, seed).unwrap_or_else(failed);
        let mut observer = observer(world.nodes());
        let outcome = drive(world, scenario, &Edits::default(), &mut (), &mut observer).unwrap_or_else(failed);
        (observer, outcome)
    };
    (1..=seeds).map(run).collect()
}

/// The sender and the kind of the message, if the event is one.
pub(crate) fn received(event: &Event<Message>) -> Option<(NodeId, &'static str)> {
    if let Event::Receive { from, message } = event { Some((*from, Node::kind(message))) } else { None }
}

/// How many messages of some kinds a node sends now, one for each receiver.
pub(crate) fn sent(node: &Node, effects: Result<&[Effect<Message>], Misuse>, kinds: impl Fn(&str) -> bool) -> u64 {
    let receivers = |effect: &Effect<Message>| {
        let (message, receivers) = match effect {
            Effect::Send { message, .. } => (message, 1),
            Effect::Multicast { to, message } => (message, to.len()),
            Effect::Broadcast { message } => (message, node.view().neighbours.len()),
            Effect::Granted { .. } | Effect::Arm { .. } | Effect::Reject { .. } => return 0,
        };
        if kinds(Node::kind(message)) { receivers } else { 0 }
    };
    effects.unwrap_or_default().iter().map(receivers).sum::<usize>() as u64
}
