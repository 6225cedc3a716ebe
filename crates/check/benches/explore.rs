//! How many different states a second: our explorer, and `stateright` with the same nodes on the same network.
//!
//! `cargo bench -p meshlock-check --features stateright` measures both on one thread, breadth first, without any reduction, and ends with
//! a race: the two in turn, so that whatever else the machine does slows both, and the ratio of their best times. Every
//! run must count the same states and steps, or the comparison is worth nothing: that is asserted. `bare` watches
//! nothing; `exclusion` watches that no more units are in use than there are.

#![expect(clippy::disallowed_types, clippy::disallowed_methods, clippy::disallowed_macros, reason = "it measures time")]

mod plain;

use std::sync::OnceLock;
use std::time::{Duration, Instant};

use divan::Bencher;
use divan::counter::ItemsCount;
use meshlock_check::{Explorer, Model, Options, Progress, Silent, Topology, Workload};
use meshlock_core::reverse_link::{Config, Node};
use meshlock_core::{Demand, NodeId};
use meshlock_properties::{Rule, RuleSet};

use plain::{Counts, Plain};

const NODES: u32 = 3;
const REQUESTS: u32 = 4;
const ROUNDS: usize = 5;

const BARE: RuleSet = RuleSet::NONE;
const EXCLUSION: RuleSet = RuleSet::NONE.with(Rule::Exclusion);

fn main() {
    divan::main();
    // `cargo bench` adds this flag; a filter or `--list` beside it asks for less than everything.
    if std::env::args().skip(1).eq(["--bench".to_string()]) {
        race();
    }
}

#[divan::bench_group(sample_count = 3, sample_size = 1)]
mod bare {
    use super::*;

    #[divan::bench]
    fn meshlock(bencher: Bencher<'_, '_>) {
        bench(bencher, || explorer(BARE), explore);
    }

    #[divan::bench]
    fn stateright(bencher: Bencher<'_, '_>) {
        bench(bencher, || plain(BARE), Plain::explore);
    }
}

#[divan::bench_group(sample_count = 3, sample_size = 1)]
mod exclusion {
    use super::*;

    #[divan::bench]
    fn meshlock(bencher: Bencher<'_, '_>) {
        bench(bencher, || explorer(EXCLUSION), explore);
    }

    #[divan::bench]
    fn stateright(bencher: Bencher<'_, '_>) {
        bench(bencher, || plain(EXCLUSION), Plain::explore);
    }
}

/// Measures whole explorations, from empty tables until the tables are gone again.
fn bench<I>(bencher: Bencher<'_, '_>, input: impl Fn() -> I, explore: impl Fn(I) -> Counts) {
    let states = ItemsCount::new(space().unique);
    bencher.counter(states).with_inputs(input).bench_local_values(|input| assert_eq!(explore(input), space()));
}

/// Both sides in turn; what disturbs a run only ever makes it slower, so the best times count.
fn race() {
    let Counts { unique, generated } = space();
    let bytes = finished(explorer(BARE)).bytes_per_state();
    println!("\nreverse-link on line:{NODES}, {REQUESTS} requests each, best of {ROUNDS} in turn");
    println!("{unique} states and {generated} steps on both sides; meshlock keeps {bytes:.0} bytes per state");
    for (group, rules) in [("bare", BARE), ("exclusion", EXCLUSION)] {
        let times: Vec<[Duration; 2]> =
            (0..ROUNDS).map(|_| [timed(|| explore(explorer(rules))), timed(|| plain(rules).explore())]).collect();
        let [ours, theirs] =
            [0, 1].map(|side| times.iter().map(|round| round[side]).min().unwrap_or_default().as_secs_f64());
        let rate = |seconds: f64| unique as f64 / seconds;
        println!(
            "{group}: meshlock {:.0} states/s, stateright {:.0} states/s, ratio {:.1}",
            rate(ours),
            rate(theirs),
            theirs / ours
        );
    }
}

fn timed(run: impl FnOnce() -> Counts) -> Duration {
    let start = Instant::now();
    let counts = run();
    let elapsed = start.elapsed();
    assert_eq!(counts, space(), "both sides explore the same space");
    elapsed
}

/// What every run on either side has to count.
fn space() -> Counts {
    static SPACE: OnceLock<Counts> = OnceLock::new();
    *SPACE.get_or_init(|| explore(explorer(BARE)))
}

/// A mutex on a line, settled, where every node makes a few requests one after the other.
fn model(rules: RuleSet) -> Model {
    let nodes = (0..NODES).map(|id| Node::new(Config::mutex(NodeId(id), id == 0)));
    let settled = Model::settled(nodes, Topology::line(NODES), Vec::new()).expect("nodes on a line settle");
    Model { workload: Workload::same(NODES as usize, REQUESTS, vec![Demand::units(1, 0)]), rules, ..settled }
}

fn plain(rules: RuleSet) -> Plain {
    Plain::of(&model(rules))
}

fn explorer(rules: RuleSet) -> Explorer {
    let options = Options { reduce: false, canonical: Some(false), ..Options::default() };
    Explorer::new(model(rules)).options(options)
}

fn explore(explorer: Explorer) -> Counts {
    let progress = finished(explorer);
    Counts { unique: progress.unique, generated: progress.generated }
}

fn finished(explorer: Explorer) -> Progress {
    let outcome = explorer.run(&mut Silent).expect("the model is sound");
    assert!(outcome.is_complete(), "everything was seen and nothing is wrong");
    outcome.progress
}
