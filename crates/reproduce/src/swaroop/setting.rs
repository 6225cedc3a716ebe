//! The network of the paper: every process reaches every other, and a message takes T.

use meshlock_sim::distribution::Distribution;
use meshlock_sim::scenario::{
    Class, Limits, Name, Network, ProtocolChoice, Scenario, Shape, Text, Traffic, UrgencyOf, Warmup,
};
use meshlock_sim::time::{Span, Time};

use crate::scenarios::{G, REPAIRED, Variant, mended, with};

/// The T of the paper, in seconds.
pub(super) const T: f64 = 0.01;

/// As printed, with every repair that has a switch, and repaired.
pub(super) fn three_texts() -> [Variant; 3] {
    [with(&[]), mended(&G), REPAIRED]
}

/// Group mutual exclusion on the network of the paper, for so many seconds, after a warm-up of a tenth.
pub(super) fn group(text: Text, nodes: u32, seconds: f64, classes: Vec<Class>) -> Scenario {
    Scenario {
        name: "group".to_owned(),
        nodes,
        duration: Span::from_seconds(seconds),
        warmup: Warmup::Fixed(Span::from_seconds(seconds / 10.0)),
        drain: Span::from_seconds(60.0),
        // Nothing is lost, so nothing need be said again.
        protocol: ProtocolChoice { name: Name::Group, text, retry: None, ..ProtocolChoice::default() },
        network: Network::Wired(Wired::new(Shape::Complete, Distribution::Constant(T))),
        traffic: Traffic { classes },
        crashes: None,
        limits: Limits::of(nodes),
    }
}

/// All processes ask for one of `sessions` sessions at level 1, again and again, after thinking so long on average and
/// for so long on average.
pub(super) fn busy(nodes: u32, sessions: u32, think: f64, holding: f64) -> Class {
    let session = Distribution::Uniform { low: 1.0, high: f64::from(sessions) };
    let (think, holding) = (Distribution::Exponential { mean: think }, Distribution::Exponential { mean: holding });
    Class { session: Some(session), ..Class::closed(nodes, think, holding) }
}

/// The same clients, each at a level drawn from these.
pub(super) fn at_levels(class: Class, levels: &[u32]) -> Class {
    let levels = Distribution::Choice(levels.iter().map(|level| (f64::from(*level), 1.0)).collect());
    Class { urgency: UrgencyOf::Priority(levels), ..class }
}

/// How many T a time is.
pub(super) fn in_t(later: Time, earlier: Time) -> f64 {
    later.since(earlier).seconds() / T
}

/// Whether two numbers are the same but for rounding.
pub(super) fn same(a: f64, b: f64) -> bool {
    (a - b).abs() < 1e-6
}
