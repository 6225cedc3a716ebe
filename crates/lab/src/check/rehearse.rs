//! Asks the nodes of a model what its applications will ask them, before anything is explored.
//!
//! The checker tries every act of an application and passes over those that a node refuses. That is right for a node
//! that is busy, but a demand that is always refused would be passed over forever, unnoticed.

use anyhow::bail;
use meshlock_check::{Budgets, Spec, Text, Workload};
use meshlock_core::{Demand, Event, Misuse, Protocol, RequestId};
use meshlock_protocols::Node;

use super::values::demand_text;

/// Fails if something that applications will ask is always refused.
pub(super) fn rehearse(spec: &Spec) -> anyhow::Result<()> {
    let protocol = match spec.text {
        Text::Repaired => spec.subject.to_string(),
        Text::Published { .. } => format!("the published {}", spec.subject),
    };
    let model = spec.model()?;
    model.validate()?;
    if let Some(node) = model.nodes.first() {
        trouble(&protocol, node, &model.budgets)?;
    }
    for (node, work) in model.nodes.iter().zip(&model.workload.nodes) {
        // Who joins later asks later: as one who is there.
        let is_there = |node: &&Node| !matches!(node, Node::Recovering(member) if !member.is_running());
        let Some(node) = Some(node).filter(is_there).or(model.nodes.first()) else { continue };
        for demand in work.demands.iter().filter(|_| work.count > 0) {
            asks(&protocol, node, demand, (&model.workload, &model.budgets))?;
        }
    }
    Ok(())
}

/// Fails if a kind of trouble is one that this protocol does not know.
fn trouble(protocol: &str, node: &Node, budgets: &Budgets) -> anyhow::Result<()> {
    let resize = budgets.capacities.first().map(|capacity| Event::Resize { version: 1, capacity: *capacity });
    let troubles = [
        ("--leaves", (budgets.leaves > 0).then_some(Event::Leave)),
        ("--stops", (budgets.stops > 0).then_some(Event::Resume)),
        ("--resize", resize),
    ];
    for (option, event) in troubles {
        if let Some(Err(Misuse::Unsupported(what))) = event.map(|event| node.clone().handle(event)) {
            bail!("{protocol} cannot {what}: leave out {option}");
        }
    }
    Ok(())
}

fn asks(
    protocol: &str,
    node: &Node,
    demand: &Demand,
    (workload, budgets): (&Workload, &Budgets),
) -> anyhow::Result<()> {
    let first = RequestId(1);
    let mut asked = node.clone();
    // What only a later definition allows is asked once that is known.
    if let Some(most) = budgets.capacities.iter().copied().max().filter(|most| demand.units <= *most)
        && let Err(Misuse::OverCapacity { .. }) =
            node.clone().handle(Event::Request { request: first, demand: *demand })
    {
        asked.handle(Event::Resize { version: 1, capacity: most })?;
    }
    if let Err(misuse) = asked.handle(Event::Request { request: first, demand: *demand }) {
        bail!("{protocol} refuses the demand {}: {misuse}{}", demand_text(demand), way_out(misuse));
    }
    let mut again = asked.clone();
    let second = Event::Request { request: RequestId(2), demand: *demand };
    if workload.outstanding > 1 && again.handle(second) == Err(Misuse::Busy) {
        bail!("{protocol} serves one request per node at a time: leave out --outstanding");
    }
    if budgets.cancels > 0
        && let Err(Misuse::Unsupported(what)) = asked.clone().handle(Event::Cancel { request: first })
    {
        bail!("{protocol} cannot {what}: leave out --cancels");
    }
    for urgency in budgets.urgencies.iter().filter(|_| budgets.reprioritisations > 0) {
        match asked.clone().handle(Event::Reprioritize { request: first, urgency: *urgency }) {
            Err(Misuse::Unsupported(what)) => {
                bail!("{protocol} cannot {what}: leave out --reprioritise and --urgency");
            }
            Err(misuse @ (Misuse::NoSuchLevel { .. } | Misuse::WrongUrgency { .. })) => {
                bail!("{protocol} refuses this --urgency: {misuse}");
            }
            Ok(_) | Err(_) => {} // a grant at once cannot be changed any more
        }
    }
    Ok(())
}

fn way_out(misuse: Misuse) -> &'static str {
    match misuse {
        Misuse::OverCapacity { .. } => " (raise --k)",
        Misuse::WrongUrgency { wants_deadline: false } => {
            " (write UNITS@PRIORITY; only the repaired reverse-link and central have --deadlines)"
        }
        Misuse::WrongUrgency { wants_deadline: true } => " (write UNITS#DEADLINE, or leave out --deadlines)",
        Misuse::NoSuchLevel { .. } => " (write another priority, or raise --levels)",
        Misuse::SessionNeeded => " (write UNITS@PRIORITY/SESSION, such as 1@1/7)",
        Misuse::NoSessions => " (leave out the /SESSION)",
        Misuse::ZeroUnits
        | Misuse::RequestNumberUsed(_)
        | Misuse::UnknownRequest(_)
        | Misuse::NotGranted(_)
        | Misuse::AlreadyGranted(_)
        | Misuse::AlreadyOver(_)
        | Misuse::PartialRelease { .. }
        | Misuse::Busy
        | Misuse::Leaving
        | Misuse::StillBusy
        | Misuse::Unsupported(_) => "",
    }
}
