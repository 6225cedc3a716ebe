//! P-7, P-11 and P-12: the scenario itself, whether it is connected, and whether one channel would carry it.

use meshlock_sim::distribution::Distribution;
use meshlock_sim::scenario::{
    Area, Arrivals, Class, Limits, Mobility, Name, Network, Placement, Radio, Scenario, Traffic, Warmup,
};
use meshlock_sim::time::Span;
use meshlock_statistics::{Estimate, proportion};

use super::kit::{AIRTIME, HOP, SIDE, flood, in_a_row, ms, on_air, repaired, same_density, timed, to_the_letter};
use crate::prelude::*;
use crate::scenarios::{F, REPAIRED, mended};
use crate::verdict::Text;

/// The time from asking to entering, by hops between the one that asks and the holder, on a quiet row.
fn wait_at(lab: &Lab, hops: u32) -> Estimate {
    let mut scenario = on_air(repaired(super::FLOOD), hops + 1, 100.0 * f64::from(hops), in_a_row(hops + 1), 1.0);
    let arrivals = Arrivals::Burst { at: Span::from_seconds(0.1), requests: 1 };
    let class = Class::closed(hops + 1, Distribution::Constant(1.0), Distribution::Constant(0.001));
    scenario.traffic.classes = vec![Class { nodes: vec![hops], arrivals, ..class }];
    lab.replicate(&timed(scenario, 0.0, 2.0, 1.0), 2).estimate("wait.mean")
}

/// The report's scenario with the values that it leaves open.
fn reference(lab: &Lab) -> Scenario {
    let nodes = lab.choose(30, 100, 100);
    let mut scenario = Scenario { protocol: repaired(super::FLOOD), ..Scenario::reference() };
    scenario.nodes = nodes;
    scenario.traffic.classes.iter_mut().for_each(|class| class.nodes = (0..nodes).collect());
    if let Network::Radio(radio) = &mut scenario.network {
        let side = same_density(nodes);
        radio.area = Area { width: side, height: side };
    }
    timed(scenario, 2.0, lab.choose(3.0, 8.0, 12.0), 10.0)
}

/// P-7.
pub(super) fn scenario(lab: &Lab) -> Finding {
    let distances = [1, 2, 4, 8];
    let waits: Vec<Estimate> = distances.iter().map(|hops| wait_at(lab, *hops)).collect();
    let per_hop: Vec<f64> =
        distances.iter().zip(&waits).map(|(hops, wait)| wait.mean / 2.0 / f64::from(*hops)).collect();
    let lawful = per_hop.iter().all(|found| (found - HOP).abs() < 1e-6);

    let scenario = reference(lab);
    let seeds = lab.choose(2, 4, 12);
    let samples = lab.replicate(&scenario, seeds);
    let row = |name: &str, measure: &str| vec![words(name), mean(samples.estimate(measure))];
    let rows = vec![
        row("neighbours per node", "network.degree"),
        row("share of the time in one part", "network.connected"),
        row("hops between nodes", "network.hops"),
        row("link changes per second", "network.link-changes/s"),
        row("requests", "requests"),
        row("entries per second", "entries/s"),
        row("mean wait of those served, s", "wait.mean"),
        row("mean wait with those unserved, s", "wait.censored-mean"),
        row("unserved at the end", "unserved"),
        row("stuck after the drain", "stuck"),
        row("transmissions per entry", "frames/entry"),
    ];
    let hops_rows = distances
        .iter()
        .zip(&waits)
        .zip(&per_hop)
        .map(|((hops, wait), each)| vec![number(*hops), mean(*wait), number(*each)]);
    Finding {
        measured: format!(
            "a hop takes {:.3} ms (request and token over 1 to 8 hops); the whole scenario with {} nodes: wait {}, {} \
             unserved at the end",
            1e3 * per_hop[0],
            scenario.nodes,
            ms(samples.estimate("wait.censored-mean")),
            samples.estimate("unserved"),
        ),
        checks: vec![check("1.9 ms per hop, within a microsecond", lawful)],
        columns: Vec::new(),
        evidence: vec![
            table("Time to enter on a quiet row", "hops | wait, s | per hop, s", hops_rows.collect()),
            table(
                format!("The report's scenario, {} nodes, our flood, {seeds} runs", scenario.nodes),
                "what | per run",
                rows,
            ),
            note(
                "Expected: 1.6 ms on the air and 0.3 ms on the way, within a microsecond. The report gives 100 nodes, \
                 120 m, 1 Mb/s, 300 us, 200 bytes and a send interval of 0 to 1 s. It gives neither area nor speed nor \
                 how long a node stays inside; ours are 600 m x 600 m, 1 to 5 m/s and 10 ms. 1 Mb/s is no rate of \
                 802.11a, and a radio without contention is a very good one: see P-12.",
            ),
        ],
    }
}

/// Nodes, side in metres, share of connected draws, and mean degree where it is known: a Monte Carlo of 200 draws made
/// independently of this simulator.
const DRAWS: [(u32, f64, f64, Option<f64>); 9] = [
    (100, 500.0, 0.99, Some(14.4)),
    (100, 600.0, 0.92, Some(10.3)),
    (100, 700.0, 0.69, Some(7.9)),
    (100, 800.0, 0.25, None),
    (50, 400.0, 0.96, None),
    (50, 500.0, 0.69, None),
    (50, 600.0, 0.24, None),
    (20, 300.0, 0.87, None),
    (20, 400.0, 0.36, None),
];

pub(super) const CONNECTED: &str = "share of random placements that are in one part";
pub(super) const CHANNEL: &str = "load of a shared channel around a node, at the report's load";

/// P-11.
pub(super) fn connected(lab: &Lab) -> Finding {
    let seeds: u64 = lab.choose(100, 400, 2_000);
    let mut rows = Vec::new();
    let (mut shares_fit, mut degrees_fit) = (true, true);
    let mut told = Vec::new();
    let mut columns = Vec::new();
    for (nodes, side, expected, degree) in DRAWS {
        let area = Area { width: side, height: side };
        let scenario = Scenario {
            name: format!("{nodes} in {side} m"),
            nodes,
            duration: Span::from_millis(1),
            warmup: Warmup::Fixed(Span::ZERO),
            drain: Span::ZERO,
            // One that does not hear of links: there is nothing to be sent.
            protocol: repaired(Name::Raymond),
            network: Network::Radio(Radio::report(area, Mobility::Static(Placement::Random))),
            traffic: Traffic::default(),
            crashes: None,
            limits: Limits::of(nodes),
        };
        let samples = lab.replicate(&scenario, seeds);
        let together = samples.outcomes().filter(|outcome| outcome.network.connected == 1.0).count();
        let found = proportion(together as u64, seeds, 0.95);
        let degrees = samples.estimate_of(|sample| sample.outcome.network.mean_degree);
        let hops = samples.estimate_of(|sample| sample.outcome.network.mean_hops);
        // Both shares are estimates: three standard errors of their difference, and half a percent for rounding.
        let variance = |share: f64, draws: f64| share * (1.0 - share) / draws;
        let error = (variance(found.share, seeds as f64) + variance(expected, 200.0)).sqrt();
        shares_fit &= (found.share - expected).abs() <= 3.0 * error + 0.005;
        if nodes == 100 {
            // The report's 100 nodes, in areas of several sizes: it does not give one.
            let label = Text::Other(format!("100 nodes in {side} m x {side} m"));
            columns.push(Column::new(label, &samples, vec![Fact::exact(CONNECTED, found.share)]));
        }
        degrees_fit &= degree.is_none_or(|degree| (degrees.mean - degree).abs() <= 0.03 * degree);
        told.push(format!("{:.2} ({nodes} in {side} m)", found.share));
        rows.push(vec![
            number(nodes),
            number(side),
            number(expected),
            words(format!("{:.3} ({:.3} to {:.3})", found.share, found.low, found.high)),
            degree.map_or(meshlock_report::table::Cell::Empty, number),
            mean(degrees),
            mean(hops),
        ]);
    }
    let columns_shown =
        "nodes | side, m | connected, expected | connected | degree, expected | degree | hops in a part";
    Finding {
        columns,
        measured: format!("share of random placements in one part: {}", told.join(", ")),
        checks: vec![
            check("shares as in an independent Monte Carlo, within three standard errors", shares_fit),
            check("its degrees within 3 %", degrees_fit),
        ],
        evidence: vec![
            table(format!("{seeds} random placements each, range 120 m"), columns_shown, rows),
            note(
                "Expected: the shares of an independent Monte Carlo of 200 draws, within three standard errors of the \
                 difference, and its degrees within 3 %. A network of the report is in one part only where it is \
                 dense: a sweep over nodes at a fixed area measures partitions before it measures a protocol. Nodes \
                 that move straight and bounce are spread evenly at all times, so these shares are shares of time as \
                 well.",
            ),
        ],
    }
}

/// P-12.
pub(super) fn airtime(lab: &Lab) -> Finding {
    let nodes = lab.choose(36, 100, 100);
    let n = f64::from(nodes);
    let (seeds, duration) = (lab.choose(4, 4, 12), lab.choose(4.0, 4.0, 6.0));
    let thinks: &[f64] = lab.choose(&[0.5, 5.0], &[0.5, 2.0, 8.0], &[0.5, 1.0, 4.0, 16.0]);
    let side = SIDE * (n / 100.0).sqrt();
    let (mut rows, mut columns, mut told) = (Vec::new(), Vec::new(), Vec::new());
    let mut lawful = true;
    let scenario = |protocol, think: f64| {
        let grid = Mobility::Static(Placement::Grid);
        timed(on_air(protocol, nodes, side, grid, think), 1.0, duration, 10.0)
    };
    let literal = lab.replicate(&to_the_letter(&scenario(repaired(super::FLOOD), thinks[0])), 2);
    columns.push(Column::new(Text::Printed, &literal, Vec::new()));
    for (label, protocol) in [mended(&F), REPAIRED].map(flood) {
        for (place, &think) in thinks.iter().enumerate() {
            let samples = lab.replicate(&scenario(protocol.clone(), think), seeds);
            let rate = samples.estimate("entries/s");
            let on_air = samples.estimate_of(|sample| sample.get("frames/entry") * sample.get("entries/s") * AIRTIME);
            let degree = samples.estimate("network.degree").mean;
            // All nodes in range hear a transmission: the load of one shared channel around a node.
            let around = on_air.converted(|busy| busy * (degree + 1.0) / n);
            let law = rate.mean * 2.0 * (n - 1.0) * AIRTIME;
            lawful &= label != Text::Repaired || (on_air.mean / law - 1.0).abs() < 0.15;
            if place == 0 {
                // The offered load: what clients would ask for without waiting.
                let offered = n / think * 2.0 * (n - 1.0) * AIRTIME;
                told.push(format!(
                    "{label}, {nodes} nodes that think {think} s: {on_air} s of transmissions per second at {rate} \
                     entries per second (offered: {offered:.1} s), around each node {around} times what one channel \
                     carries"
                ));
                columns.push(Column::new(label.clone(), &samples, vec![Fact::mean(CHANNEL, around)]));
            }
            rows.push(vec![
                words(&label),
                number(think),
                mean(rate),
                mean(on_air),
                number(law),
                mean(around),
                mean(samples.estimate("unserved")),
            ]);
        }
    }
    let columns_shown = "flood | think, s | entries per second | airtime, s per s | 2(N-1) x 1.6 ms x entries | load \
                         of a shared channel | unserved at the end";
    Finding {
        columns,
        measured: told.join("; "),
        checks: vec![check("repaired, 2(N-1) transmissions of 1.6 ms for every entry, within 15 %", lawful)],
        evidence: vec![
            table(format!("Airtime of the flood, {nodes} nodes on a grid"), columns_shown, rows),
            note(
                "One shared channel carries 1. At 200 requests per second and 100 nodes that would be 63 s of airtime \
                 per second. The report's radio never collides and never waits for another one; ours does the same \
                 here, and a real one would be saturated many times over.",
            ),
        ],
    }
}
