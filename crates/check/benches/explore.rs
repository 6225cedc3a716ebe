//! How many different states a second: our explorer, and `stateright` with the same nodes on the same network.
//!
//! `cargo bench -p meshlock-check` runs both on one thread, breadth first, without any reduction, and ends with the
//! ratio. Both must count the same states and the same steps, or the comparison is worth nothing: that is asserted.
//! `bare` watches nothing; `exclusion` watches that no more units are in use than there are.

#![expect(clippy::disallowed_types, clippy::disallowed_methods, clippy::disallowed_macros, reason = "it measures time")]

mod plain;

use std::collections::BTreeMap;
use std::sync::Mutex;
use std::time::{Duration, Instant};

use divan::Bencher;
use divan::counter::ItemsCount;
use meshlock_check::{Explorer, Model, Options, Silent, Topology, Workload};
use meshlock_core::reverse_link::{Config, Node};
use meshlock_core::{Demand, NodeId};
use meshlock_properties::{Rule, RuleSet};

use plain::{Counts, Plain};

const NODES: u32 = 3;
const REQUESTS: u32 = 3;

fn main() {
    divan::main();
    summarize();
}

#[divan::bench_group(sample_count = 5, sample_size = 1)]
mod bare {
    use super::*;

    #[divan::bench]
    fn meshlock(bencher: Bencher<'_, '_>) {
        bench_meshlock(bencher, "bare", RuleSet::NONE);
    }

    #[divan::bench]
    fn stateright(bencher: Bencher<'_, '_>) {
        bench_stateright(bencher, "bare", false);
    }
}

#[divan::bench_group(sample_count = 5, sample_size = 1)]
mod exclusion {
    use super::*;

    #[divan::bench]
    fn meshlock(bencher: Bencher<'_, '_>) {
        bench_meshlock(bencher, "exclusion", RuleSet::NONE.with(Rule::Exclusion));
    }

    #[divan::bench]
    fn stateright(bencher: Bencher<'_, '_>) {
        bench_stateright(bencher, "exclusion", true);
    }
}

/// A mutex on a line, settled, where every node makes a few requests one after the other.
fn model(rules: RuleSet) -> Model<Node> {
    let nodes = (0..NODES).map(|id| Node::new(Config::mutex(NodeId(id), id == 0))).collect();
    let settled = Model::settled(nodes, Topology::line(NODES), Vec::new()).expect("three nodes on a line settle");
    Model { workload: Workload::same(NODES as usize, REQUESTS, vec![Demand::units(1, 0)]), rules, ..settled }
}

fn bench_meshlock(bencher: Bencher<'_, '_>, group: &'static str, rules: RuleSet) {
    let options = Options { reduce: false, canonical: Some(false), ..Options::default() };
    let explorer = || Explorer::new(model(rules)).options(options.clone());
    bench(bencher, group, Side::Meshlock, explorer, |explorer| {
        let outcome = explorer.run(&mut Silent).expect("the model is sound");
        assert!(outcome.is_complete(), "everything was seen and nothing is wrong");
        let progress = outcome.progress;
        let counts = Counts { unique: progress.unique, generated: progress.generated };
        (counts, Some(progress.bytes_per_state()))
    });
}

fn bench_stateright(bencher: Bencher<'_, '_>, group: &'static str, watches_exclusion: bool) {
    let plain = || Plain::of(&model(RuleSet::NONE), watches_exclusion);
    bench(bencher, group, Side::Stateright, plain, |plain| (plain.explore(), None));
}

/// Measures whole explorations, from empty tables until the tables are gone again.
fn bench<I>(
    bencher: Bencher<'_, '_>,
    group: &'static str,
    side: Side,
    input: impl Fn() -> I,
    explore: impl Fn(I) -> (Counts, Option<f64>) + Sync,
) {
    let timed = |input| {
        let start = Instant::now();
        let (counts, bytes_per_state) = explore(input);
        record(group, side, Run { counts, elapsed: start.elapsed(), bytes_per_state });
        counts
    };
    let states = timed(input()).unique;
    bencher.counter(ItemsCount::new(states)).with_inputs(input).bench_local_values(timed);
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Side {
    Meshlock,
    Stateright,
}

#[derive(Clone, Copy)]
struct Run {
    counts: Counts,
    elapsed: Duration,
    bytes_per_state: Option<f64>,
}

impl Run {
    fn states_per_second(&self) -> f64 {
        self.counts.unique as f64 / self.elapsed.as_secs_f64()
    }
}

/// The fastest run of each side: what disturbs a run only ever makes it slower.
static BEST: Mutex<BTreeMap<(&str, Side), Run>> = Mutex::new(BTreeMap::new());

fn record(group: &'static str, side: Side, run: Run) {
    let mut best = BEST.lock().expect("one thread measures");
    for ((_, other), known) in best.iter() {
        assert_eq!(known.counts, run.counts, "{other:?} and {side:?} do not explore the same space");
    }
    let fastest = best.entry((group, side)).or_insert(run);
    if run.elapsed < fastest.elapsed {
        *fastest = run;
    }
}

fn summarize() {
    let best = BEST.lock().expect("one thread measures");
    let Some(Counts { unique, generated }) = best.values().next().map(|run| run.counts) else { return };
    println!("\nreverse-link on line:{NODES}, {REQUESTS} requests each: {unique} states, {generated} steps");
    for group in ["bare", "exclusion"] {
        let sides = [Side::Meshlock, Side::Stateright].map(|side| best.get(&(group, side)));
        let [Some(ours), Some(theirs)] = sides else { continue };
        println!(
            "{group}: meshlock {:.0} states/s at {:.0} bytes each, stateright {:.0} states/s, ratio {:.2}",
            ours.states_per_second(),
            ours.bytes_per_state.unwrap_or_default(),
            theirs.states_per_second(),
            ours.states_per_second() / theirs.states_per_second(),
        );
    }
}
