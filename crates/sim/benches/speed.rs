//! How fast runs are: `cargo bench -p meshlock-sim`. Prints the table of `docs/performance.md`.
//!
//! The reference scenario at constant density, from 100 to 100,000 nodes, all rules watched. "Set-up" is everything
//! until the first event, "per event" the time of the run after it divided by the events handled. Times are those of the
//! processor where the system tells them (Linux), so that other work on the machine does not count. Memory is resident
//! memory at the end of a run and the most it ever was, without what the program has before it.
//!
//! `cargo bench -p meshlock-sim -- 1000` leaves out larger networks, `-- reverse-link 1000 10` makes one run of so many
//! nodes and simulated seconds and prints bare numbers.

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

/// Reverse-link: nodes, simulated seconds, runs of which the fastest counts.
const SIZES: [(u32, f64, u32); 7] = [
    (100, 60.0, 5),
    (316, 20.0, 5),
    (1_000, 10.0, 5),
    (3_162, 4.0, 5),
    (10_000, 2.0, 3),
    (31_623, 2.0, 2),
    (100_000, 2.0, 2),
];

/// Others, at 100 nodes.
const OTHERS: [(Name, f64); 5] = [
    (Name::Flood, 10.0),
    (Name::Central, 60.0),
    (Name::Raymond, 60.0),
    (Name::NaimiTrehel, 60.0),
    (Name::Omniscient, 60.0),
];

fn main() {
    let words: Vec<String> = std::env::args().skip(1).filter(|word| word != "--bench").collect();
    if let [name, nodes, seconds] = words.as_slice() {
        let name = Name::SIMULATED.into_iter().find(|known| known.name() == name).expect("a protocol");
        let nodes = nodes.parse().expect("a number of nodes");
        return println!("{}", Row::of(&reference(nodes, name), seconds.parse().expect("seconds")).as_words());
    }
    let most = words.first().map_or(u32::MAX, |most| most.parse().expect("the most nodes, or nothing"));
    println!("reverse-link, the reference scenario at constant density (one core, all rules watched)");
    println!("{}", Row::HEAD);
    for (nodes, seconds, times) in SIZES.into_iter().filter(|(nodes, ..)| *nodes <= most) {
        println!("{}", Row::best(Name::ReverseLink, nodes, seconds, times).in_table("reverse-link"));
    }
    println!("\nother protocols, 100 nodes");
    for (name, seconds) in OTHERS {
        println!("{}", Row::best(name, 100, seconds, 3).in_table(name.name()));
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

/// What one run took.
struct Row {
    nodes: f64,
    seconds: f64,
    set_up: f64,
    elapsed: f64,
    events: f64,
    /// Resident at the end and at most, in kilobytes, less what the empty program has.
    memory: f64,
    peak: f64,
}

impl Row {
    const HEAD: &str =
        "                  nodes     set-up      events     events/s  per event   simsec/s  memory/node   at most";

    fn of(scenario: &Scenario, seconds: f64) -> Self {
        let before = kilobytes("VmRSS:");
        let start = Clock::start();
        let mut world = world(scenario, 1).expect("the reference can be run");
        let set_up = start.seconds();
        let start = Clock::start();
        let end = Time::ZERO + meshlock_sim::time::Span::from_seconds(seconds);
        while world.now() < end && world.step(&mut ()) {}
        let elapsed = start.seconds();
        assert!(!world.has_stopped(), "a rule broke");
        let (memory, peak) = (kilobytes("VmRSS:") - before, kilobytes("VmHWM:") - before);
        let (nodes, events) = (world.nodes().len() as f64, world.events() as f64);
        Self { nodes, seconds, set_up, elapsed, events, memory, peak }
    }

    /// The fastest of several runs, each in a process of its own, so that none finds memory that another has left.
    fn best(name: Name, nodes: u32, seconds: f64, times: u32) -> Self {
        let program = std::env::current_exe().expect("this program");
        let run = |_| {
            let words = [name.name(), &nodes.to_string(), &seconds.to_string()];
            let output = std::process::Command::new(&program).args(words).output().expect("a process");
            assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
            Self::from_words(&String::from_utf8_lossy(&output.stdout))
        };
        let rows = (0..times).map(run);
        rows.min_by(|a, b| a.elapsed.total_cmp(&b.elapsed)).expect("one run at least")
    }

    fn as_words(&self) -> String {
        let Self { nodes, seconds, set_up, elapsed, events, memory, peak } = self;
        format!("{nodes} {seconds} {set_up} {elapsed} {events} {memory} {peak}")
    }

    fn from_words(words: &str) -> Self {
        let numbers: Vec<f64> = words.split_whitespace().map(|word| word.parse().expect("a number")).collect();
        let [nodes, seconds, set_up, elapsed, events, memory, peak] = numbers[..] else { panic!("not a row: {words}") };
        Self { nodes, seconds, set_up, elapsed, events, memory, peak }
    }

    fn in_table(&self, name: &str) -> String {
        let Self { nodes, seconds, set_up, elapsed, events, memory, peak } = self;
        format!(
            "{name:15} {nodes:>7} {:>8.1}ms {events:>11} {:>12.0} {:>8.0}ns {:>10.2} {:>10.2}kB {:>7.2}kB",
            set_up * 1e3,
            events / elapsed,
            elapsed / events * 1e9,
            seconds / elapsed,
            memory / nodes,
            peak / nodes,
        )
    }
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

/// A line of what the system tells of this process; zero where it does not.
fn kilobytes(line: &str) -> f64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|text| text.strip_prefix(line)).unwrap_or_default();
    line.trim().trim_end_matches("kB").trim().parse().unwrap_or(0.0)
}
