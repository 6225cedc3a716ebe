//! The scenarios of this part, built up from one: twelve nodes on a random graph.
//!
//! All times are in critical sections: one second of simulated time is the mean length of one.

use meshlock_core::{Aging, Order};
use meshlock_sim::distribution::Distribution;
use meshlock_sim::scenario::{
    Class, Limits, Name, Network, Over, ProtocolChoice, Scenario, Shape, Text, Traffic, UrgencyOf, Warmup, Wired,
};
use meshlock_sim::time::Span;

use crate::{scenarios, verdict};

/// A request is stuck if it waits this many critical sections after the last one was made.
pub(super) const STUCK_AFTER: f64 = 200.0;

/// The repairs that put lost requests back, and nothing else.
pub(super) const PUT_BACK: &[&str] = &["p1", "p2"];

/// Every repair of the printed text that has a switch, but for the guard that keeps the token of one who is inside.
pub(super) const ALL_BUT_GUARD: &[&str] = &["p1", "p2", "p4", "p5", "p6", "p7", "p8"];

/// Every repair of the printed text that has a switch.
pub(super) const ALL: &[&str] = &["p1", "p2", "p3", "p4", "p5", "p6", "p7", "p8"];

pub(super) fn seconds(seconds: f64) -> Span {
    Span::from_seconds(seconds)
}

/// Twelve nodes, 20 of 66 links, delays of 0.05 to 0.15, critical sections of mean 1, thinking of mean `think`,
/// priorities 1 to 10, fixed links, the repaired protocol with k = 1 and h = 1.
pub(super) fn twelve(think: f64, duration: f64) -> Scenario {
    let mut class =
        Class::closed(12, Distribution::Exponential { mean: think }, Distribution::Exponential { mean: 1.0 });
    class.urgency = UrgencyOf::Priority(Distribution::Uniform { low: 1.0, high: 10.0 });
    Scenario {
        name: "twelve nodes".to_owned(),
        nodes: 12,
        duration: seconds(duration),
        warmup: Warmup::Fixed(seconds(duration / 10.0)),
        drain: seconds(STUCK_AFTER),
        protocol: ProtocolChoice::default(),
        network: wired(Shape::Random { connectivity: 20.0 / 66.0 }, Distribution::Uniform { low: 0.05, high: 0.15 }),
        traffic: Traffic { classes: vec![class] },
        crashes: None,
        limits: Limits::of(12),
    }
}

/// Thirty nodes with this share of all links, critical sections and delays of exactly 1, k = 1, all equally urgent:
/// what is recalled of the set-up of the paper that the reverse-link graph comes from.
pub(super) fn thirty(connectivity: f64, think: f64, duration: f64) -> Scenario {
    let class = Class::closed(30, Distribution::Exponential { mean: think }, Distribution::Constant(1.0));
    Scenario {
        name: "thirty nodes".to_owned(),
        nodes: 30,
        drain: seconds(1_000.0),
        network: wired(Shape::Random { connectivity }, Distribution::Constant(1.0)),
        traffic: Traffic { classes: vec![class] },
        ..twelve(think, duration)
    }
}

/// Links in order that lose nothing; one that fails delivers first, as the paper assumes.
pub(super) fn wired(shape: Shape, delay: Distribution) -> Network {
    Network::Wired(Wired { gentle: true, ..Wired::new(shape, delay) })
}

/// A scenario as printed, with the lost requests put back, and repaired.
pub(super) fn in_texts(scenario: &Scenario) -> [(verdict::Text, Scenario); 3] {
    let published = |repairs: &[&str]| (verdict::with(repairs), scenario.clone().published(repairs));
    [published(&[]), published(PUT_BACK), (verdict::Text::Repaired, scenario.clone())]
}

/// A scenario in another way, with what to call it.
pub(super) type Variant = (&'static str, fn(Scenario) -> Scenario);

/// Changes to a scenario, to be chained.
pub(super) trait With: Sized {
    fn with(self, change: impl FnOnce(&mut Scenario)) -> Self;

    fn published(self, repairs: &[&str]) -> Self {
        self.with(|scenario| scenario.protocol.text = Text::with_repairs(repairs))
    }

    /// With another protocol; those that speak to anybody do so over ideal routing.
    fn protocol(self, name: Name) -> Self {
        self.with(|scenario| {
            scenario.protocol.name = name;
            scenario.protocol.over = if name.speaks_to_neighbours() { Over::Links } else { Over::Routing };
        })
    }

    fn clients(self, change: impl FnMut(&mut Class)) -> Self {
        self.with(|scenario| scenario.traffic.classes.iter_mut().for_each(change))
    }

    /// With k units of which every request asks for `low` to `high`.
    fn units(self, k: u32, low: u32, high: u32) -> Self {
        let units = Distribution::Uniform { low: low.into(), high: high.into() };
        self.with(|scenario| scenario.protocol.capacity = k).clients(|class| class.units = units.clone())
    }

    /// With aging of the repaired protocol (one step of priority is worth so many grants).
    fn aging(self, grants: u32) -> Self {
        self.with(|scenario| scenario.protocol.order = Order::Priority { aging: Aging(grants) })
    }

    /// With aging of the printed text.
    fn epsilon(self, epsilon: u32) -> Self {
        self.with(|scenario| scenario.protocol.epsilon = epsilon)
    }

    /// With a random change of links every so many seconds, in the mean, that never cuts the network; or with none.
    fn changing(self, every: impl Into<Option<f64>>) -> Self {
        self.links(|wired| {
            wired.changes.every = every.into().map(seconds);
            wired.changes.keep_connected = true;
        })
    }

    fn links(self, change: impl FnOnce(&mut Wired)) -> Self {
        self.with(|scenario| {
            if let Network::Wired(wired) = &mut scenario.network {
                change(wired);
            }
        })
    }

    fn equals(self) -> Self {
        self.clients(|class| class.urgency = UrgencyOf::Priority(Distribution::Constant(1.0)))
    }
}

impl With for Scenario {
    fn with(mut self, change: impl FnOnce(&mut Self)) -> Self {
        change(&mut self);
        self
    }
}
