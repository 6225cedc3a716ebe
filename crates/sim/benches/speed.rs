//! How fast runs are: `cargo bench -p meshlock-sim`. Prints the table of `docs/performance.md`.
//!
//! The reference scenario at constant density, from 100 to 10,000 nodes, all rules watched. "Set-up" is everything
//! until the first event, "per event" the time of the run after it divided by the events handled. Times are those of the
//! processor where the system tells them (Linux), so that other work on the machine does not count.

#![allow(
    clippy::disallowed_types,
    clippy::disallowed_methods,
    clippy::disallowed_macros,
    reason = "a bench looks at the clock and prints"
)]

use std::time::Instant;

use meshlock_sim::build::world;
use meshlock_sim::distribution::Distribution;
use meshlock_sim::scenario::{Area, Class, Name, Network, Over, Scenario};
use meshlock_sim::time::Time;

fn main() {
    println!("reverse-link, the reference scenario at constant density (one core, all rules watched)");
    println!(
        "{:>7} {:>10} {:>12} {:>12} {:>12} {:>10} {:>12}",
        "nodes", "set-up", "events", "events/s", "per event", "simsec/s", "memory/node"
    );
    for (nodes, seconds) in [(100, 60.0), (316, 20.0), (1_000, 10.0), (3_162, 4.0), (10_000, 2.0)] {
        row(&reference(nodes, Name::ReverseLink), seconds);
    }
    println!("\nother protocols, 100 nodes");
    for (name, seconds) in [
        (Name::Flood, 10.0),
        (Name::Central, 60.0),
        (Name::Raymond, 60.0),
        (Name::NaimiTrehel, 60.0),
        (Name::Omniscient, 60.0),
    ] {
        print!("{:15}", name.name());
        row(&reference(100, name), seconds);
    }
}

fn reference(nodes: u32, name: Name) -> Scenario {
    let mut scenario = Scenario { nodes, ..Scenario::reference() };
    let side = 600.0 * (f64::from(nodes) / 100.0).sqrt();
    if let Network::Radio(radio) = &mut scenario.network {
        radio.area = Area { width: side, height: side };
    }
    let think = Distribution::Uniform { low: 0.0, high: 1.0 };
    scenario.traffic.classes = vec![Class::closed(nodes, think, Distribution::Constant(0.01))];
    scenario.protocol.name = name;
    scenario.protocol.over = if name.speaks_to_neighbours() { Over::Links } else { Over::Routing };
    scenario
}

fn row(scenario: &Scenario, seconds: f64) {
    let before = resident();
    let start = Clock::start();
    let mut world = world(scenario, 1).expect("the reference can be run");
    let set_up = start.seconds();
    let start = Clock::start();
    let end = Time::ZERO + meshlock_sim::time::Span::from_seconds(seconds);
    while world.now() < end && world.step(&mut ()) {}
    let (elapsed, events) = (start.seconds(), world.events() as f64);
    assert!(!world.has_stopped(), "a rule broke");
    println!(
        "{:>7} {:>8.1}ms {:>12} {:>12.0} {:>10.0}ns {:>10.1} {:>10.1}kB",
        world.nodes().len(),
        set_up * 1e3,
        events,
        events / elapsed,
        elapsed / events * 1e9,
        seconds / elapsed,
        resident().saturating_sub(before) as f64 / world.nodes().len() as f64,
    );
}

/// Time on the processor, or else on the wall.
struct Clock(Instant, Option<u64>);

impl Clock {
    fn start() -> Self {
        Self(Instant::now(), on_processor())
    }

    fn seconds(&self) -> f64 {
        let processor = self.1.zip(on_processor()).map(|(start, now)| (now - start) as f64 / 1e9);
        processor.unwrap_or_else(|| self.0.elapsed().as_secs_f64())
    }
}

/// Nanoseconds.
fn on_processor() -> Option<u64> {
    std::fs::read_to_string("/proc/thread-self/schedstat").ok()?.split(' ').next()?.parse().ok()
}

/// Resident memory in kilobytes, where the system tells.
fn resident() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:")).unwrap_or_default();
    line.trim().trim_end_matches("kB").trim().parse().unwrap_or(0)
}
