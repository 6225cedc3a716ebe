//! Group mutual exclusion on a multi-hop network: what the paper leaves to the layer below.

use meshlock_core::Delay;
use meshlock_sim::scenario::{Area, Mobility, Name, Network, Over, Placement, ProtocolChoice, Radio, Scenario, Text};

use super::setting::{busy, group};
use crate::prelude::*;

/// Metres between neighbours in a row: each hears those beside it and across the corner.
const SPACING: f64 = 80.0;

/// Processes in rows and columns, each linked to the up to eight around it.
fn grid(columns: u32, rows: u32, seconds: f64, over: Over) -> Scenario {
    let nodes = columns * rows;
    let area = Area { width: SPACING * f64::from(columns), height: SPACING * f64::from(rows) };
    let scenario = group(Text::Repaired, nodes, seconds, vec![busy(nodes, 3, 1.0, 0.05)]);
    // Longer than most waits: what is said again too soon only fills the air.
    let retry = (over == Over::Relay).then_some(Delay { least_ms: 4_000, most_ms: 8_000 });
    Scenario {
        network: Network::Radio(Radio::report(area, Mobility::Static(Placement::Grid))),
        protocol: ProtocolChoice { over, retry, ..scenario.protocol.clone() },
        ..scenario
    }
}

/// What an entry costs on a small radio network.
pub(super) fn costs(lab: &Lab) -> Vec<Evidence> {
    let sizes: &[(u32, u32)] = lab.choose(&[(4, 3)], &[(4, 3), (5, 4)], &[(4, 3), (5, 4), (6, 6)]);
    let (seconds, seeds) = (lab.choose(5.0, 20.0, 30.0), lab.choose(4, 8, 8));
    let mut table_rows = Vec::new();
    for &(columns, rows) in sizes {
        let whole = grid(columns, rows, seconds, Over::Relay);
        let routed = grid(columns, rows, seconds, Over::Routing);
        let reverse = ProtocolChoice {
            name: Name::ReverseLink,
            over: Over::Links,
            capacity: whole.nodes,
            joins: 6,
            ..whole.protocol.clone()
        };
        let reverse = Scenario { protocol: reverse, ..whole.clone() };
        for (name, scenario) in [("relay", &whole), ("ideal routing", &routed), ("reverse-link, 6 joins", &reverse)] {
            let samples = lab.replicate(scenario, seeds);
            let [entries, frames, wait, hops] = ["entries/s", "frames/entry", "wait.mean", "network.hops"]
                .map(|measure| mean(samples.estimate(measure)));
            let broken = samples.sum(|sample| sample.outcome.broken.len() as f64);
            table_rows.push(vec![count(whole.nodes), words(name), entries, frames, wait, hops, number(broken)]);
        }
    }
    let columns = "n | over | entries/s | transmissions per entry | mean wait (s) | hops | broken rules";
    vec![
        table("On a radio grid (120 m, 1 Mb/s), three sessions", columns, table_rows),
        note(
            "The paper counts messages between processes that all reach each other. On a radio network each of them \
             takes as many transmissions as hops, and one that is told to everybody takes one per node.",
        ),
    ]
}
