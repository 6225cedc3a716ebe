//! From a scenario to a world.

use meshlock_core::recovery::Member;
use meshlock_core::{NodeId, Protocol};
use meshlock_protocols::{Node, Recovering};

use crate::distribution::Distribution;
use crate::random::Streams;
use crate::run::RunError;
use crate::scenario::{
    Changes, Crashes, MessageSize, Name, Network, Over, ProtocolChoice, Recovery, Scenario, Shape, Text, Wired,
};
use crate::world::{Ground, Manner, World};

pub fn world(scenario: &Scenario, seed: u64) -> Result<World, RunError> {
    let instant = (scenario.protocol.name == Name::Omniscient).then(|| without_delay(scenario));
    let scenario = instant.as_ref().unwrap_or(scenario);
    let choice = &scenario.protocol;
    let error = |error: &dyn std::error::Error| RunError(error.to_string());
    if matches!(choice.name, Name::ReverseLink | Name::Flood) && choice.over != Over::Links {
        return Err(RunError(format!("{} sends to neighbours only; leave `over` at \"links\"", choice.name)));
    }
    if scenario.crashes.is_some() && !can_recover(choice) {
        return Err(RunError(format!("{} cannot recover from crashes; run it without them", choice.name)));
    }
    let direct = is_direct(scenario);
    let ground = Ground::new(scenario, direct, Streams::new(seed)).map_err(|reason| error(&reason))?;
    let nodes = choice.setup().network(scenario.nodes, &ground.links()).map_err(|reason| error(&reason))?;
    let nodes = match &scenario.crashes {
        Some(crashes) => recovering(nodes, crashes.recovery),
        None => nodes,
    };
    Ok(World::new(scenario, ground, nodes, manner(choice, direct, scenario.crashes.as_ref()), seed))
}

/// Whether nodes of a protocol come back after a crash, and a lost token is made anew.
pub(crate) fn can_recover(choice: &ProtocolChoice) -> bool {
    let first = choice.setup().network(1, &[]).ok().and_then(|nodes| nodes.into_iter().next());
    first.is_some_and(|node| node.anew(NodeId::of(0, 1)).is_some())
}

/// The names of all protocols that can.
pub(crate) fn recovering_protocols() -> Vec<&'static str> {
    let able = |name: &Name| can_recover(&ProtocolChoice { name: *name, ..ProtocolChoice::default() });
    Name::SIMULATED.into_iter().filter(able).map(Name::name).collect()
}

/// The same nodes as members of a mesh that recovers.
fn recovering(nodes: Vec<Node>, recovery: Recovery) -> Vec<Node> {
    let count = nodes.len() as Member;
    let member = |(member, node)| Recovering::founding(member, 0..count, vec![node]);
    let members = (0..count).zip(nodes.clone()).map(member);
    match recovery {
        Recovery::None => nodes,
        Recovery::Restart { .. } => members.map(Node::Recovering).collect(),
        Recovery::Voters(_) => members.map(|member| Node::Recovering(member.with_voters())).collect(),
    }
}

fn manner(choice: &ProtocolChoice, direct: bool, crashes: Option<&Crashes>) -> Manner {
    let printed = choice.text != Text::Repaired;
    let recovers = crashes.is_some_and(|crashes| crashes.recovery != Recovery::None);
    let hears_links = choice.name.speaks_to_neighbours() || choice.over == Over::Relay || recovers;
    Manner {
        hears_links,
        knows_first_links: choice.name == Name::ReverseLink && printed,
        direct: direct && !choice.name.speaks_to_neighbours(),
        routed: choice.over == Over::Routing,
        one_at_a_time: printed || !choice.name.serves_many(),
        relies_on_links: choice.name == Name::ReverseLink || recovers,
    }
}

/// Whether all nodes reach each other without links that could change.
fn is_direct(scenario: &Scenario) -> bool {
    let complete = match &scenario.network {
        Network::Wired(wired) => {
            wired.shape == Shape::Complete && wired.changes.every.is_none() && wired.changes.script.is_empty()
        }
        Network::Radio(_) => false,
    };
    complete
        && scenario.crashes.is_none()
        && !scenario.protocol.name.speaks_to_neighbours()
        && scenario.protocol.over == Over::Links
}

/// The same scenario on a network on which everything arrives at once.
fn without_delay(scenario: &Scenario) -> Scenario {
    let wired = Wired {
        shape: Shape::Complete,
        delay: Distribution::Constant(0.0),
        fifo: true,
        loss: 0.0,
        message: MessageSize::Fixed(0),
        hold_back: None,
        gentle: false,
        changes: Changes::default(),
    };
    let protocol = ProtocolChoice { over: Over::Links, ..scenario.protocol.clone() };
    Scenario { network: Network::Wired(wired), protocol, ..scenario.clone() }
}
