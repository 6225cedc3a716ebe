//! P-8 and P-9: the report's two figures, time to enter over the number of nodes and over speed.

use meshlock_report::table::Cell;
use meshlock_sim::scenario::{Mobility, Placement, ProtocolChoice, Scenario};
use meshlock_statistics::{Line, line};

use super::kit::{
    HOP, SIDE, at_speed, cell, ms, number, on_air, over_runs, repaired, same_density, sent_for, table, text, timed,
};
use super::sweep::{Axis, BOUND, Sweep, contestants};
use crate::claim::{Evidence, Finding, Verdict};
use crate::lab::Lab;

/// What the report's clients do: ask 0 to 1 s after the last time, 0.5 s on average.
const THINK: f64 = 0.5;
/// How fast nodes are where the speed is not varied, in m/s; the report does not say.
const SPEED: f64 = 3.0;

/// One flood there and one back, on an idle network: the mean time to enter by 2 x hops x 1.9 ms.
fn unloaded(lab: &Lab, nodes: u32) -> (meshlock_statistics::Estimate, f64) {
    let still = Mobility::Static(Placement::Grid);
    let protocol = repaired(super::FLOOD);
    let scenario = on_air(protocol, nodes, same_density(nodes), still, 2.0 * f64::from(nodes));
    let samples = lab.replicate(&timed(scenario, 0.0, lab.choose(60.0, 60.0, 120.0), 5.0), lab.choose(4, 4, 30));
    let wait = over_runs(&samples.0, |sample| {
        let waits: Vec<f64> = sent_for(sample).filter_map(|request| Some(request.wait()?.seconds())).collect();
        waits.iter().sum::<f64>() / waits.len() as f64
    });
    (wait, 2.0 * samples.estimate("network.hops").mean * HOP)
}

/// Everybody always waits: the mean time to enter by (n-1) hand-overs.
fn saturated(lab: &Lab, nodes: u32) -> (meshlock_statistics::Estimate, f64) {
    let protocol = repaired(super::FLOOD);
    // Dense enough to be in one part nearly always, see P-11.
    let side = 500.0 / SIDE * same_density(nodes);
    let scenario = on_air(protocol, nodes, side, at_speed(0.0), 1e-4);
    let samples = lab.replicate(&timed(scenario, 1.0, lab.choose(2.0, 4.0, 10.0), 5.0), lab.choose(4, 4, 30));
    let hops = samples.estimate("network.hops").mean;
    // All wait equally long here, so those still in the queue at the end may be left out; counted, they would be cut off.
    (samples.estimate("wait.mean"), f64::from(nodes - 1) * (hops * HOP + 0.001))
}

/// P-8.
pub(super) fn over_nodes(lab: &Lab) -> Finding {
    let sizes: &[f64] = lab.choose(
        &[10.0, 20.0, 30.0],
        &[10.0, 25.0, 50.0, 75.0, 100.0],
        &[10.0, 20.0, 30.0, 40.0, 50.0, 60.0, 70.0, 80.0, 90.0, 100.0],
    );
    let (seeds, duration) = (lab.choose(2, 4, 30), lab.choose(2.0, 4.0, 12.0));
    let runners = contestants(lab.choose(10, 10, 20));
    let at = |side: &dyn Fn(u32) -> f64, x: f64, protocol: ProtocolChoice| -> Scenario {
        let nodes = x as u32;
        timed(on_air(protocol, nodes, side(nodes), at_speed(SPEED), THINK), 2.0, duration, lab.choose(30.0, 30.0, 60.0))
    };
    let dense = Sweep::run(lab, &runners, sizes, seeds, |x, protocol| at(&same_density, x, protocol));
    let area = Sweep::run(lab, &runners, sizes, seeds, |x, protocol| at(&|_| SIDE, x, protocol));

    let largest = sizes.last().copied().unwrap_or(0.0) as u32;
    let (idle, idle_law) = unloaded(lab, lab.choose(25, 100, 100));
    let (full, full_law) = saturated(lab, largest);
    let flood = dense.of("flood");
    let bound = dense.of(BOUND);
    let grows = flood.first().zip(flood.last()).is_some_and(|(few, many)| many.wait.mean > few.wait.mean);
    let never_below =
        flood.len() == bound.len() && flood.iter().zip(&bound).all(|(flood, bound)| flood.wait.mean >= bound.wait.mean);
    let as_expected = (idle.mean / idle_law - 1.0).abs() < 0.25
        && (0.7..3.0).contains(&(full.mean / full_law))
        && grows
        && never_below
        && dense.is_sound()
        && area.is_sound()
        && dense.stuck("flood") == 0.0;
    let told: Vec<String> = flood.iter().map(|spot| format!("{} at {}", ms(spot.wait), spot.x)).collect();
    let laws = vec![
        vec![text("idle: 2 x hops x 1.9 ms"), number(idle_law), cell(idle), number(idle.mean / idle_law)],
        vec![
            text(format!("saturated, {largest} nodes: (n-1) x (hops x 1.9 ms + 1 ms)")),
            number(full_law),
            cell(full),
            number(full.mean / full_law),
        ],
    ];
    let axis = Axis { label: "nodes", unit: "", log: false };
    let note =
        format!("{seeds} runs of {duration} s per point, 95 % intervals; {SPEED} m/s, think {THINK} s, inside 1 ms");
    Finding {
        measured: format!(
            "flood at fixed density: {}; idle {} ({:.1} expected), saturated at {largest} nodes {} ({:.0} expected)",
            told.join(", "),
            ms(idle),
            1e3 * idle_law,
            ms(full),
            1e3 * full_law
        ),
        verdict: Verdict::Measured,
        as_expected,
        evidence: vec![
            figure(
                "Report's figure 3 at fixed density: time to enter",
                dense.waits("Time to enter at the density of 100 nodes in 600 m x 600 m", axis, &note),
            ),
            figure(
                "The same: transmissions",
                dense.costs("Transmissions per entry at the density of 100 nodes in 600 m x 600 m", axis, &note),
            ),
            figure(
                "Report's figure 3 at fixed area: time to enter",
                area.waits("Time to enter in 600 m x 600 m", axis, &format!("{note}; few nodes are mostly in several parts")),
            ),
            figure(
                "The same: transmissions",
                area.costs("Transmissions per entry in 600 m x 600 m", axis, &note),
            ),
            Evidence::Table("Laws for the flood, in seconds".to_owned(), table(&["law", "#expected", "#measured", "#ratio"], laws)),
            Evidence::Table("Fixed density".to_owned(), dense.table("nodes")),
            Evidence::Table("Fixed area".to_owned(), area.table("nodes")),
            Evidence::Note(
                "Expected: idle within a quarter of 2 x hops x 1.9 ms; saturated 0.7 to 3 times the law, which knows no \
                 queues at transmitters; growing with n; never below the bound; no broken rule of safety and nobody stuck at fixed \
                 density. At a fixed area the wait falls where nodes are added to a network in parts: that is density, \
                 not size. Routing is ideal and costs nothing of its own, so the baselines over it are better than \
                 they could be; and on a radio without contention a flood is fast, since its copies do not wait for each \
                 other (P-12). Runs of one point share seeds: same movements, same thinking."
                    .to_owned(),
            ),
        ],
    }
}

fn figure(caption: &str, svg: String) -> Evidence {
    Evidence::Figure(caption.to_owned(), svg)
}

/// The line through all runs of a contestant, wait over speed.
fn slope(sweep: &Sweep, label: &str) -> Line {
    let mut speeds = Vec::new();
    let mut waits = Vec::new();
    for spot in sweep.of(label) {
        for wait in &spot.waits {
            speeds.push(spot.x);
            waits.push(*wait);
        }
    }
    line(&speeds, &waits, 0.95)
}

/// P-9.
pub(super) fn over_speed(lab: &Lab) -> Finding {
    let speeds = [0.0, 1.0, 2.0, 5.0, 10.0, 20.0];
    let nodes = lab.choose(25, 60, 100);
    let (seeds, duration) = (lab.choose(2, 4, 30), lab.choose(3.0, 6.0, 8.0));
    // As dense as 100 nodes in 500 m x 500 m, which are in one part for 99 % of the time: parts would hide the speed.
    let side = 500.0 / SIDE * same_density(nodes);
    let runners = contestants(0);
    let sweep = Sweep::run(lab, &runners, &speeds, seeds, |speed, protocol| {
        timed(on_air(protocol, nodes, side, at_speed(speed), THINK), 2.0, duration, 60.0)
    });
    let mut rows = Vec::new();
    let mut flood = (f64::NAN, f64::NAN);
    for runner in runners.iter().filter(|runner| runner.most >= nodes) {
        let line = slope(&sweep, runner.label);
        let change = 20.0 * line.slope / line.intercept;
        let error = 20.0 * line.half_width / line.intercept;
        if runner.label == "flood" {
            flood = (change, error);
        }
        let words = if line.may_be_flat() { "contains 0" } else { "does not contain 0" };
        rows.push(vec![
            text(runner.label),
            Cell::Estimate { mean: 1e3 * line.slope, half_width: 1e3 * line.half_width },
            text(words),
            Cell::Estimate { mean: 100.0 * change, half_width: 100.0 * error },
            number(sweep.stuck(runner.label)),
        ]);
    }
    let (change, error) = flood;
    let weak = change.abs() + error < FEEBLE;
    let line = slope(&sweep, "flood");
    let axis = Axis { label: "speed", unit: "m/s", log: false };
    let note =
        format!("{nodes} nodes, {seeds} runs of {duration} s per point, 95 % intervals; think {THINK} s, inside 1 ms");
    let columns =
        ["protocol", "#slope, ms per m/s", "95 % interval", "#change at 20 m/s, % of the wait at 0", "#stuck"];
    Finding {
        measured: format!(
            "flood: {:.3} ± {:.3} ms more per m/s ({}), {:+.0} ± {:.0} % from 0 to 20 m/s, {} stuck",
            1e3 * line.slope,
            1e3 * line.half_width,
            if line.may_be_flat() { "the interval contains 0" } else { "the interval does not contain 0" },
            100.0 * change,
            100.0 * error,
            sweep.stuck("flood"),
        ),
        verdict: if weak { Verdict::HoldsRepaired } else { Verdict::Wrong },
        as_expected: weak && sweep.is_sound() && sweep.stuck("flood") == 0.0,
        evidence: vec![
            figure("Report's figure 4: time to enter", sweep.waits("Time to enter over speed", axis, &note)),
            figure("The same: transmissions", sweep.costs("Transmissions per entry over speed", axis, &note)),
            Evidence::Table("Wait over speed: straight lines through all runs".to_owned(), table(&columns, rows)),
            Evidence::Table("All numbers".to_owned(), sweep.table("m/s")),
            Evidence::Note(format!(
                "Expected: little influence, as the report says, once requests are repeated: from 0 to 20 m/s, the wait of \
                 the flood changes by less than {:.0} % with all of its interval. As printed a moving network ends in a \
                 deadlock (P-5).",
                100.0 * FEEBLE
            )),
        ],
    }
}

/// What counts as little influence: so much from standing still to 20 m/s.
const FEEBLE: f64 = 0.5;
