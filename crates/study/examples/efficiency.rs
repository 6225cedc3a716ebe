//! How well a study uses all cores: `cargo run --release -p meshlock-study --example efficiency`.
//!
//! Many short runs and a few long ones, once with a fixed number of replications and once with as many as it takes. The
//! efficiency is the time that runs took, divided by the time of the study and the number of threads. Other work on the
//! machine makes both longer, so it says nothing here. "In order" is computed from the times that were measured: what
//! the same runs would take if every free thread took the next of the list, and a round began when the one before it had
//! ended, as it once was.

#![allow(
    clippy::disallowed_macros,
    clippy::disallowed_types,
    clippy::disallowed_methods,
    reason = "an example looks at the clock and prints"
)]

use std::sync::atomic::AtomicBool;
use std::time::Instant;

use meshlock_sim::scenario::file::{Document, Stop, StudySpec};
use meshlock_study::conduct::{Orders, Results, conduct};
use meshlock_study::plan::Plan;
use meshlock_study::store::{Begin, Store};
use meshlock_study::subject::Simulator;

const SCENARIO: &str = r#"
duration = "20s"

[radio]
range = "120m"

[area]
degree = 10

[traffic]
think = "exponential(10s)"
holding = "10ms"

[study]
repeat = 12
seed = 1

[study.axes]
nodes = [10, 20, 30, 40, 60, 300]
"#;

fn main() {
    let threads = std::thread::available_parallelism().map_or(1, usize::from);
    let document = Document::parse("efficiency", SCENARIO).expect("a scenario");
    let fixed = document.study().expect("a study").expect("a study");
    let stop = Stop { measure: "wait.mean".to_owned(), half_width: 0.02, most: 40 };
    let grows = StudySpec { stop: Some(stop), repeat: 4, ..fixed.clone() };
    println!("{threads} threads");
    for (name, spec) in [("fixed", fixed), ("grows", grows)] {
        let plan = Plan::of(name, &spec, &document, "efficiency").expect("a plan");
        let place = std::env::temp_dir().join(format!("meshlock-efficiency-{}-{name}", std::process::id()));
        let store = Store::open(&place, &plan, Begin::Fresh).expect("a directory");
        let never = AtomicBool::new(false);
        let orders = Orders { jobs: threads, shard: "1/1".parse().expect("a shard"), cancel: &never };
        let start = Instant::now();
        let results = conduct(&plan, &store, &Simulator, &orders, &mut ()).expect("a study");
        let wall = start.elapsed().as_secs_f64();
        let _ = std::fs::remove_dir_all(&place);
        report(name, &results, &spec, wall, threads);
    }
}

fn report(name: &str, results: &Results, spec: &StudySpec, wall: f64, threads: usize) {
    let times = || results.runs.iter().map(|run| run.record.wall_s);
    let (all, longest) = (times().sum::<f64>(), times().fold(0.0, f64::max));
    let share = |wall: f64| 100.0 * all / (wall * threads as f64);
    println!(
        "{name}: {} runs of {:.2} s in all, the longest {longest:.2} s; study {wall:.2} s, efficiency {:.0} %; in order {:.0} %",
        results.runs.len(),
        all,
        share(wall),
        share(in_order(results, spec, threads)),
    );
}

/// How long it would take in the order of the list, round by round.
fn in_order(results: &Results, spec: &StudySpec, threads: usize) -> f64 {
    let most = results.runs.iter().map(|run| run.job.replication + 1).max().unwrap_or(0);
    let (mut wall, mut from, mut to) = (0.0, 0, spec.repeat);
    while from < most {
        let mut free = vec![0.0_f64; threads];
        for run in results.runs.iter().filter(|run| (from..to).contains(&run.job.replication)) {
            free.sort_by(f64::total_cmp);
            free[0] += run.record.wall_s;
        }
        wall += free.iter().copied().fold(0.0, f64::max);
        // A round at most doubles a point; most need less, and then there are more rounds.
        (from, to) = (to, to * 2);
    }
    wall
}
