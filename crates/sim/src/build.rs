//! From a scenario to a world.

use crate::distribution::Distribution;
use crate::random::Streams;
use crate::run::RunError;
use crate::scenario::{Changes, MessageSize, Name, Network, Over, ProtocolChoice, Scenario, Shape, Text, Wired};
use crate::world::{Ground, Manner, World};

/// Builds the world of a scenario.
pub fn world(scenario: &Scenario, seed: u64) -> Result<World, RunError> {
    let instant = (scenario.protocol.name == Name::Omniscient).then(|| without_delay(scenario));
    let scenario = instant.as_ref().unwrap_or(scenario);
    let choice = &scenario.protocol;
    let error = |error: &dyn std::error::Error| RunError(error.to_string());
    if matches!(choice.name, Name::ReverseLink | Name::Flood) && choice.over != Over::Links {
        return Err(RunError(format!("{} sends to neighbours only; leave `over` at \"links\"", choice.name)));
    }
    let direct = is_direct(scenario);
    let ground = Ground::new(scenario, direct, Streams::new(seed)).map_err(|reason| error(&reason))?;
    let nodes = choice.setup().network(scenario.nodes, &ground.links()).map_err(|reason| error(&reason))?;
    Ok(World::new(scenario, ground, nodes, manner(choice, direct), seed))
}

fn manner(choice: &ProtocolChoice, direct: bool) -> Manner {
    let printed = choice.text != Text::Repaired;
    let hears_links = choice.name.speaks_to_neighbours() || choice.over == Over::Relay;
    Manner {
        hears_links,
        knows_first_links: choice.name == Name::ReverseLink && printed,
        direct: direct && !choice.name.speaks_to_neighbours(),
        routed: choice.over == Over::Routing,
        one_at_a_time: printed || !choice.name.serves_many(),
        relies_on_links: choice.name == Name::ReverseLink,
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
    complete && !scenario.protocol.name.speaks_to_neighbours() && scenario.protocol.over == Over::Links
}

/// The same scenario on a network on which everything arrives at once.
fn without_delay(scenario: &Scenario) -> Scenario {
    let wired = Wired {
        shape: Shape::Complete,
        delay: Distribution::Constant(0.0),
        fifo: true,
        loss: 0.0,
        message: MessageSize::Fixed(0),
        gentle: false,
        changes: Changes::default(),
    };
    let protocol = ProtocolChoice { over: Over::Links, ..scenario.protocol.clone() };
    Scenario { network: Network::Wired(wired), protocol, ..scenario.clone() }
}
