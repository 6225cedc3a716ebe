//! What the measurements of the report share: its radio, its texts and times.

use meshlock_sim::distribution::Distribution;
use meshlock_sim::outcome::Request;
use meshlock_sim::scenario::{
    Area, Class, Limits, Mobility, Name, Network, Over, Placement, ProtocolChoice, Radio, Scenario, Warmup,
};
use meshlock_sim::time::Span;
use meshlock_statistics::Estimate;

use crate::lab::Sample;
use crate::scenarios::{Variant, with};
use crate::verdict;

/// One hop of the report's radio in seconds: 200 bytes at 1 Mb/s and 300 us.
pub(super) const HOP: f64 = 1.9e-3;
/// One transmission of it.
pub(super) const AIRTIME: f64 = 1.6e-3;
/// The side of the report's area for 100 nodes, in metres; the report does not give one.
pub(super) const SIDE: f64 = 600.0;

/// A protocol as a node runs it.
pub(super) fn repaired(name: Name) -> ProtocolChoice {
    let over = if name.speaks_to_neighbours() { Over::Links } else { Over::Routing };
    ProtocolChoice { name, over, ..ProtocolChoice::default() }
}

pub(super) fn flood((label, text): Variant) -> (verdict::Text, ProtocolChoice) {
    (label, ProtocolChoice { text, ..repaired(Name::Flood) })
}

/// The report's radio with so many nodes in a square, thinking an exponential time of this mean and staying inside for
/// a millisecond.
pub(super) fn on_air(protocol: ProtocolChoice, nodes: u32, side: f64, mobility: Mobility, think: f64) -> Scenario {
    let area = Area { width: side, height: side };
    let class = Class::closed(nodes, Distribution::Exponential { mean: think }, Distribution::Constant(0.001));
    let mut scenario = Scenario {
        name: protocol.name.name().to_owned(),
        nodes,
        protocol,
        network: Network::Radio(Radio::report(area, mobility)),
        ..Scenario::reference()
    };
    scenario.traffic.classes = vec![class];
    scenario
}

/// Sets how long a scenario is measured, after how long, and how long it may drain.
pub(super) fn timed(mut scenario: Scenario, warmup: f64, duration: f64, drain: f64) -> Scenario {
    scenario.warmup = Warmup::Fixed(Span::from_seconds(warmup));
    scenario.duration = Span::from_seconds(warmup + duration);
    scenario.drain = Span::from_seconds(drain);
    scenario
}

/// No requests in the last second, so that all are done at the end.
pub(super) fn with_quiet_end(mut scenario: Scenario) -> Scenario {
    let stop = Span::from_seconds(scenario.duration.seconds() - 1.0);
    scenario.traffic.classes.iter_mut().for_each(|class| class.stop = Some(stop));
    scenario
}

/// The side of a square in which so many nodes are as dense as 100 in the report's.
pub(super) fn same_density(nodes: u32) -> f64 {
    SIDE * (f64::from(nodes) / 100.0).sqrt()
}

/// All nodes go straight at this speed; at 0 they stand still.
pub(super) fn at_speed(speed: f64) -> Mobility {
    if speed == 0.0 {
        Mobility::Static(Placement::Random)
    } else {
        Mobility::Linear { speed: Distribution::Constant(speed) }
    }
}

/// Nodes in a row, each in reach of the next only.
pub(super) fn in_a_row(nodes: u32) -> Mobility {
    Mobility::Static(Placement::At((0..nodes).map(|node| (100.0 * f64::from(node), 0.0)).collect()))
}

/// What a node had to send for: all requests but those of a node that had the token.
pub(super) fn sent_for(sample: &Sample) -> impl Iterator<Item = &Request> {
    sample.outcome.requests.iter().filter(|request| request.wait() != Some(Span::ZERO))
}

pub(super) fn frames(sample: &Sample, kind: &str) -> f64 {
    sample.outcome.kinds.iter().filter(|seen| seen.name == kind).map(|seen| seen.totals.frames as f64).sum()
}

/// A scenario to the letter, in which floods never end: limits tell so after a moment.
pub(super) fn to_the_letter(scenario: &Scenario) -> Scenario {
    let limits = Limits { events: 300_000, in_flight: 100_000 };
    Scenario { protocol: flood(with(&[])).1, limits, ..scenario.clone() }
}

/// A time in words, in milliseconds.
pub(super) fn ms(estimate: Estimate) -> String {
    format!("{} ms", estimate.converted(|seconds| 1e3 * seconds))
}
