//! P-8 and P-9: the report's two figures, time to enter over the number of nodes and over speed.

use meshlock_sim::scenario::{Mobility, Placement, ProtocolChoice, Scenario};
use meshlock_statistics::{Estimate, line};

use super::kit::{HOP, SIDE, at_speed, ms, on_air, repaired, same_density, sent_for, timed, to_the_letter};
use super::sweep::{Axis, BOUND, MENDED, Sweep, contestants, mended};
use crate::prelude::*;
use crate::scenarios::{self, F};
use crate::verdict::Text;

/// What the report's clients do: ask 0 to 1 s after the last time, 0.5 s on average.
const THINK: f64 = 0.5;
/// How fast nodes are where the speed is not varied, in m/s; the report does not say.
const SPEED: f64 = 3.0;

/// One flood there and one back, on an idle network: the mean time to enter by 2 x hops x 1.9 ms.
fn unloaded(lab: &Lab, nodes: u32) -> (Estimate, f64) {
    let still = Mobility::Static(Placement::Grid);
    let protocol = repaired(super::FLOOD);
    let scenario = on_air(protocol, nodes, same_density(nodes), still, 2.0 * f64::from(nodes));
    let samples = lab.replicate(&timed(scenario, 0.0, lab.choose(60.0, 60.0, 120.0), 5.0), lab.choose(4, 4, 12));
    let wait = samples.estimate_of(|sample| {
        let waits: Vec<f64> = sent_for(sample).filter_map(|request| Some(request.wait()?.seconds())).collect();
        waits.iter().sum::<f64>() / waits.len() as f64
    });
    (wait, 2.0 * samples.estimate("network.hops").mean * HOP)
}

/// A saturated network: every node always waits.
struct Saturated {
    wait: Estimate,
    /// From a release to the next entry, in hops.
    hand_over: Estimate,
    /// The mean distance of two nodes, in hops.
    distance: f64,
}

impl Saturated {
    fn run(lab: &Lab, nodes: u32) -> Self {
        let protocol = repaired(super::FLOOD);
        // Dense enough to be in one part nearly always, see P-11.
        let side = 500.0 / SIDE * same_density(nodes);
        let scenario = on_air(protocol, nodes, side, at_speed(0.0), 1e-4);
        let samples = lab.replicate(&timed(scenario, 1.0, lab.choose(2.0, 4.0, 10.0), 5.0), lab.choose(4, 4, 12));
        let delay = samples.estimate("sync-delay.mean");
        Self {
            // All wait equally long here, so those still in the queue at the end may be left out; counted, they would
            // be cut off.
            wait: samples.estimate("wait.mean"),
            hand_over: delay.converted(|seconds| seconds / HOP),
            distance: samples.estimate("network.hops").mean,
        }
    }

    /// n - 1 hand-overs, and as many stays.
    fn law(&self, nodes: u32) -> f64 {
        f64::from(nodes - 1) * (self.hand_over.mean * HOP + 0.001)
    }
}

/// P-8.
pub(super) fn over_nodes(lab: &Lab) -> Finding {
    let sizes: &[f64] =
        lab.choose(&[10.0, 20.0, 30.0], &[10.0, 25.0, 50.0, 75.0, 100.0], &[10.0, 25.0, 50.0, 75.0, 100.0]);
    let (seeds, duration) = (lab.choose(2, 4, 10), lab.choose(2.0, 4.0, 6.0));
    let runners = contestants(lab.choose(10, 10, 20));
    let at = |side: &dyn Fn(u32) -> f64, x: f64, protocol: ProtocolChoice| -> Scenario {
        let nodes = x as u32;
        timed(on_air(protocol, nodes, side(nodes), at_speed(SPEED), THINK), 2.0, duration, lab.choose(30.0, 30.0, 30.0))
    };
    let dense = Sweep::run(lab, &runners, sizes, seeds, |x, protocol| at(&same_density, x, protocol));
    let area = Sweep::run(lab, &runners, sizes, seeds, |x, protocol| at(&|_| SIDE, x, protocol));

    let largest = sizes.last().copied().unwrap_or(0.0) as u32;
    let (idle, idle_law) = unloaded(lab, lab.choose(25, 100, 100));
    let full = Saturated::run(lab, largest);
    let full_law = full.law(largest);
    let flood = dense.of("flood");
    let bound = dense.of(BOUND);
    let grows = flood.first().zip(flood.last()).is_some_and(|(few, many)| many.wait.median > few.wait.median);
    let never_below = flood.len() == bound.len()
        && flood.iter().zip(&bound).all(|(flood, bound)| flood.wait.median >= bound.wait.median);
    let told: Vec<String> =
        flood.iter().map(|spot| format!("{:.1} ms at {}", 1e3 * spot.wait.median, spot.x)).collect();
    let laws = vec![
        vec![words("idle: 2 x hops x 1.9 ms"), number(idle_law), mean(idle), number(idle.mean / idle_law)],
        vec![
            words(format!("saturated, {largest} nodes: (n-1) x (hand-over + 1 ms)")),
            number(full_law),
            mean(full.wait),
            number(full.wait.mean / full_law),
        ],
        vec![
            words("hand-over in hops, beside the mean distance of two nodes"),
            number(full.distance),
            mean(full.hand_over),
            number(full.hand_over.mean / full.distance),
        ],
    ];
    let axis = Axis { label: "nodes", unit: "", log: false };
    let under =
        format!("{seeds} runs of {duration} s per point, 95 % intervals; {SPEED} m/s, think {THINK} s, inside 1 ms");
    Finding {
        measured: format!(
            "flood at fixed density (median of runs): {}; idle {} (law: {:.1}), saturated at {largest} nodes {} (law: \
             {:.0}, with hand-overs of {:.2} hops where nodes are {:.2} apart)",
            told.join(", "),
            ms(idle),
            1e3 * idle_law,
            ms(full.wait),
            1e3 * full_law,
            full.hand_over.mean,
            full.distance
        ),
        checks: vec![
            check("idle: within a quarter of 2 x hops x 1.9 ms", (idle.mean / idle_law - 1.0).abs() < 0.25),
            check(
                "saturated: within a tenth of n - 1 hand-overs and stays",
                (full.wait.mean / full_law - 1.0).abs() < 0.1,
            ),
            check("a hand-over takes no more hops than nodes are apart", full.hand_over.mean <= 1.05 * full.distance),
            check("the wait grows with n at fixed density", grows),
            check("and is never below the bound", never_below),
            check(
                "no rule of safety broke, and nobody is stuck at fixed density",
                dense.is_sound() && area.is_sound() && dense.stuck("flood") == 0.0,
            ),
        ],
        columns: Vec::new(),
        evidence: vec![
            dense.waits(
                "Report's figure 3 at fixed density: time to enter",
                "Time to enter at the density of 100 nodes in 600 m x 600 m",
                axis,
                &under,
            ),
            dense.costs(
                "The same: transmissions",
                "Transmissions per entry at the density of 100 nodes in 600 m x 600 m",
                axis,
                &under,
            ),
            area.waits(
                "Report's figure 3 at fixed area: time to enter",
                "Time to enter in 600 m x 600 m",
                axis,
                &format!("{under}; few nodes are mostly in several parts"),
            ),
            area.costs("The same: transmissions", "Transmissions per entry in 600 m x 600 m", axis, &under),
            table("Laws for the flood, in seconds", "law | expected | measured | ratio", laws),
            dense.table("Fixed density", "nodes"),
            area.table("Fixed area", "nodes"),
            note(
                "A hand-over is the time from a release to the next entry, by 1.9 ms. It takes fewer hops than two \
                 nodes are apart on average, probably because the order of the queue was settled by who heard of whom \
                 first, when all asked at once, and stays as it is. At a fixed area the wait falls where nodes are \
                 added to a network in parts: that is density, not size. Routing is ideal and costs nothing of its \
                 own, so the baselines over it are better than they could be; and on a radio without contention a \
                 flood is fast, since its copies do not wait for each other (P-12). Runs of one point share seeds: \
                 same movements, same thinking.",
            ),
        ],
    }
}

/// How much the wait of a contestant changes from standing still to 20 m/s.
struct Change {
    /// In ms per m/s.
    slope: Estimate,
    /// From 0 to 20 m/s, as a share of the mean wait at 0.
    share: Estimate,
}

/// One line for each seed through its waits at all speeds. Runs of one seed share placements and requests, so their
/// waits are no independent points of one line; the slopes of different seeds are.
fn change(sweep: &Sweep, label: &str) -> Change {
    let spots = sweep.of(label);
    let seeds = spots.iter().map(|spot| spot.waits.len()).max().unwrap_or(0);
    let speeds: Vec<f64> = spots.iter().map(|spot| spot.x).collect();
    let slopes: Vec<f64> = (0..seeds)
        .map(|seed| {
            let waits: Vec<f64> = spots.iter().filter_map(|spot| spot.waits.get(seed).copied()).collect();
            line(&speeds, &waits, 0.95).slope
        })
        .collect();
    let still = spots.first().map_or(f64::NAN, |spot| Estimate::of(&spot.waits, 0.95).mean);
    let scaled = |by: f64| Estimate::of(&slopes.iter().map(|slope| by * slope).collect::<Vec<_>>(), 0.95);
    Change { slope: scaled(1e3), share: scaled(20.0 / still) }
}

pub(super) const CHANGE: &str = "change of the wait from 0 to 20 m/s, as a share of the wait at 0";
pub(super) const STUCK: &str = "requests never served";

/// P-9.
pub(super) fn over_speed(lab: &Lab) -> Finding {
    let speeds = [0.0, 1.0, 2.0, 5.0, 10.0, 20.0];
    let nodes = lab.choose(25, 60, 60);
    let (seeds, duration) = (lab.choose(2, 4, 12), lab.choose(3.0, 6.0, 8.0));
    // As dense as 100 nodes in 500 m x 500 m, which are in one part for 99 % of the time: parts would hide the speed.
    let side = 500.0 / SIDE * same_density(nodes);
    let mut runners = contestants(0);
    runners.push(mended());
    let scenario =
        |speed: f64, protocol| timed(on_air(protocol, nodes, side, at_speed(speed), THINK), 2.0, duration, 60.0);
    let sweep = Sweep::run(lab, &runners, &speeds, seeds, scenario);
    let literal = lab.replicate(&to_the_letter(&scenario(SPEED, repaired(super::FLOOD))), 2);
    let mut columns = vec![Column::new(Text::Printed, &literal, Vec::new())];
    let mut rows = Vec::new();
    let mut told = Vec::new();
    for runner in runners.iter().filter(|runner| runner.most >= nodes) {
        let Change { slope, share } = change(&sweep, runner.label);
        let (stuck, runs) = (sweep.stuck(runner.label), sweep.runs(runner.label));
        rows.push(vec![
            words(runner.label),
            mean(slope),
            words(if slope.contains(0.0) { "contains 0" } else { "does not contain 0" }),
            mean(share.converted(|share| 100.0 * share)),
            number(stuck),
        ]);
        let label = match runner.label {
            MENDED => scenarios::mended(&F).0,
            "flood" => Text::Repaired,
            _ => continue,
        };
        let facts = vec![Fact::mean(CHANGE, share), Fact::exact(STUCK, stuck)];
        told.push(format!(
            "{label}: {slope} ms more per m/s, {:+.0} ± {:.0} % from 0 to 20 m/s, {stuck} stuck",
            100.0 * share.mean,
            100.0 * share.half_width
        ));
        columns.push(Column::new(label, runs, facts));
    }
    columns.sort_by_key(|column| column.text == Text::Repaired);
    let axis = Axis { label: "speed", unit: "m/s", log: false };
    let under =
        format!("{nodes} nodes, {seeds} runs of {duration} s per point, 95 % intervals; think {THINK} s, inside 1 ms");
    let columns_shown = "protocol | slope, ms per m/s | 95 % interval | change at 20 m/s, % of the wait at 0 | stuck";
    Finding {
        columns,
        measured: told.join("; "),
        checks: vec![check("no rule of safety broke", sweep.is_sound())],
        evidence: vec![
            sweep.waits("Report's figure 4: time to enter", "Time to enter over speed", axis, &under),
            sweep.costs("The same: transmissions", "Transmissions per entry over speed", axis, &under),
            table(
                "Wait over speed: the mean of a straight line for each seed, paired because seeds are shared",
                columns_shown,
                rows,
            ),
            sweep.table("All numbers", "m/s"),
            note(
                "Little influence means here: from 0 to 20 m/s the wait changes by less than half, with all of its \
                 interval, and everybody is served. As printed a moving network ends in a deadlock (P-5), and to the \
                 letter floods never end.",
            ),
        ],
    }
}
