//! P-1 to P-3: what an entry costs in messages, and in transmissions where there are no routes.

use meshlock_sim::distribution::Distribution;
use meshlock_sim::outcome::Kind;
use meshlock_sim::scenario::{
    Arrivals, Class, MessageSize, Mobility, Name, Network, Over, Placement, ProtocolChoice, Scenario, Shape, Wired,
};
use meshlock_sim::time::Span;
use meshlock_statistics::Estimate;

use super::kit::{
    at_speed, flood, frames, in_a_row, on_air, repaired, same_density, sent_for, timed, to_the_letter, with_quiet_end,
};
use crate::prelude::*;
use crate::scenarios::{F, REPAIRED, mended, with};
use crate::verdict::Text;

/// A complete graph with delays of 1 ms; all requests are done at the end.
fn complete(name: Name, nodes: u32, think: f64, duration: f64) -> Scenario {
    let wired =
        Wired { message: MessageSize::Fixed(200), ..Wired::new(Shape::Complete, Distribution::Constant(0.001)) };
    let protocol = ProtocolChoice { over: Over::Links, ..repaired(name) };
    let mut scenario = on_air(protocol, nodes, 1.0, at_speed(0.0), think);
    scenario.network = Network::Wired(wired);
    with_quiet_end(timed(scenario, 0.0, duration, 1.0))
}

pub(super) const OFF_CLAIM: &str = "messages per entry off the report's number, as a share of it";
pub(super) const REPETITIONS: &str = "transmissions of one request, by node, on a row of five after 0.8 s";
pub(super) const BY_LAW: &str = "transmissions per entry, by 2N";
pub(super) const HOLDER: &str = "transmissions if the holder enters again";

/// P-1.
pub(super) fn message_laws(lab: &Lab) -> Finding {
    let sizes: &[u32] = lab.choose(&[8], &[10, 50], &[10, 20, 50, 100]);
    let seeds = lab.choose(3, 4, 10);
    let mut rows = Vec::new();
    let mut lawful = true;
    let mut last = Vec::new();
    let mut columns: Vec<Column> = Vec::new();
    for &nodes in sizes {
        last.clear();
        for (load, think) in [("light", 2.0 * f64::from(nodes)), ("heavy", 0.001)] {
            let n = f64::from(nodes);
            let duration = if load == "light" { lab.choose(40.0, 100.0, 100.0) } else { lab.choose(1.5, 2.0, 3.0) };
            for (name, law, claimed) in [
                (Name::Lamport, 3.0 * (n - 1.0), Some(3.0 * (n - 1.0))),
                (Name::RicartAgrawala, 2.0 * (n - 1.0), Some(n)),
                (Name::SuzukiKasami, n, None),
            ] {
                let samples = lab.replicate(&complete(name, nodes, think, duration), seeds);
                // Suzuki and Kasami's holder enters for nothing; the law is that of the others.
                let token = name == Name::SuzukiKasami;
                let per_entry = samples.estimate_of(|sample| {
                    let messages: u64 = sample.outcome.kinds.iter().map(|kind| kind.totals.messages).sum();
                    let entries = if token { sent_for(sample).count() } else { sample.granted().count() };
                    messages as f64 / entries as f64
                });
                lawful &= (per_entry.mean - law).abs() < 1e-9;
                if let Some(claimed) = claimed {
                    // The setting that is farthest off decides.
                    let column = Column::of(&mut columns, &Text::Other(name.name().to_owned()), &samples);
                    column.most(OFF_CLAIM, (per_entry.mean - claimed).abs() / claimed);
                }
                last.push((name.name(), load, per_entry));
                rows.push(vec![number(n), words(load), words(name.name()), number(law), mean(per_entry)]);
            }
        }
    }
    let n = sizes.last().copied().unwrap_or(0);
    let light: Vec<String> = last
        .iter()
        .filter(|row| row.1 == "light")
        .map(|(name, _, found)| format!("{name} {:.0}", found.mean))
        .collect();
    let columns_shown = "nodes | load | protocol | law | messages per entry";
    Finding {
        columns,
        measured: format!(
            "at {n} nodes: {}, the same at light and heavy load in all {seeds} runs; an entry of the token's holder \
             costs 0",
            light.join(", ")
        ),
        checks: vec![check("3(N-1), 2(N-1) and N exactly, in every setting", lawful)],
        evidence: vec![
            table("Messages per entry on a complete graph", columns_shown, rows),
            note(
                "Lamport's 3(N-1) is right. N is the cost of Ricart and Agrawala's later algorithm with a token, which \
                 is Suzuki and Kasami's in this respect; their algorithm with permissions, which the report describes, \
                 needs 2(N-1). Expected: the laws exactly, since nothing is lost and nobody waits at the end. \
                 Singhal's dynamic information structure is not one of our baselines.",
            ),
        ],
    }
}

/// A static network of the report's density with requests so rare that floods do not meet. Requests start after the
/// warm-up, so that what nodes say to each other at first is left out.
fn idle(protocol: ProtocolChoice, nodes: u32, duration: f64) -> Scenario {
    let grid = Mobility::Static(Placement::Grid);
    let scenario = on_air(protocol, nodes, same_density(nodes), grid, f64::from(nodes));
    let mut scenario = with_quiet_end(timed(scenario, 1.0, duration, 5.0));
    scenario.traffic.classes.iter_mut().for_each(|class| class.start = Span::from_seconds(1.0));
    scenario
}

fn per_request(sample: &Sample, kind: &str) -> f64 {
    frames(sample, kind) / sent_for(sample).count() as f64
}

/// One request from the end of a row of five, and how many transmissions of it there are after this time.
fn transmissions_until(lab: &Lab, protocol: ProtocolChoice, seconds: f64) -> Samples {
    let mut scenario = timed(on_air(protocol, 5, 500.0, in_a_row(5), 1.0), 0.0, seconds, 0.01);
    let arrivals = Arrivals::Burst { at: Span::ZERO, requests: 1 };
    let never_ends = Distribution::Constant(1e6);
    let class = Class::closed(5, Distribution::Constant(1.0), never_ends);
    scenario.traffic.classes = vec![Class { nodes: vec![4], arrivals, ..class }];
    lab.replicate(&scenario, 1)
}

/// P-2.
pub(super) fn request_flood(lab: &Lab) -> Finding {
    let nodes = lab.choose(25, 100, 100);
    let n = f64::from(nodes);
    let seeds = lab.choose(3, 6, 12);
    let samples = lab.replicate(&idle(repaired(super::FLOOD), nodes, lab.choose(10.0, 20.0, 60.0)), seeds);
    let found = samples.estimate_of(|sample| per_request(sample, "REQUEST"));

    let times = [0.1, 0.2, 0.4, 0.8];
    let (mut columns, mut all) = (Vec::new(), Vec::new());
    for (label, protocol) in [with(&[]), with(&["f1"]), REPAIRED].map(flood) {
        let runs = times.map(|at| transmissions_until(lab, protocol.clone(), at));
        let counts = runs.iter().map(|samples| samples.sum(|sample| frames(sample, "REQUEST"))).collect::<Vec<f64>>();
        let last = counts.last().copied().unwrap_or(f64::NAN);
        columns.push(Column::new(label, &runs[3], vec![Fact::exact(REPETITIONS, last / 5.0)]));
        all.push(counts);
    }
    let row = |at: usize| vec![number(times[at]), number(all[0][at]), number(all[1][at]), number(all[2][at])];
    let grows = all[0].windows(2).all(|pair| pair[1] > 1.5 * pair[0]);
    let within = found.low() >= n - 1.0 - 0.01 * n && found.high() <= n + 0.01 * n;
    Finding {
        columns,
        measured: format!(
            "one request on a row of 5 has {:.0} transmissions after {} s and {:.0} after {} s as printed, {:.0} with \
             F1 repaired, {:.0} repaired; repaired at {nodes} nodes: {found} transmissions per request",
            all[0][0], times[0], all[0][3], times[3], all[1][3], all[2][3],
        ),
        checks: vec![
            check("as printed more than half as many again whenever the time doubles", grows),
            check(
                format!("repaired, {} to {nodes} transmissions per request at {nodes} nodes, within 1 %", nodes - 1),
                within,
            ),
        ],
        evidence: vec![
            table(
                "Transmissions of one request on a row of five nodes",
                "after, s | as printed | with F1 repaired | repaired",
                (0..times.len()).map(row).collect(),
            ),
            note(
                "The text says that a node repeats a request once, the printed algorithm has no memory (F1): it \
                 repeats forever, so that every transmitter is always busy. Those runs are cut off at the time \
                 given.",
            ),
        ],
    }
}

/// P-3.
pub(super) fn transmissions_per_entry(lab: &Lab) -> Finding {
    let nodes = lab.choose(25, 100, 100);
    let n = f64::from(nodes);
    let (seeds, duration) = (lab.choose(3, 6, 12), lab.choose(20.0, 30.0, 60.0));
    let bound = 2.0 * (n - 1.0);
    let (mut rows, mut columns) = (Vec::new(), Vec::new());
    let mut unicast = Estimate::of(&[], 0.95);
    let mut hops = f64::NAN;
    let mut served = true;
    let others = [
        ("reverse-link", Name::ReverseLink),
        ("central over ideal routing", Name::Central),
        ("naimi-trehel over ideal routing", Name::NaimiTrehel),
    ]
    .map(|(label, name)| (Text::Other(label.to_owned()), repaired(name)));
    let literal = lab.replicate(&to_the_letter(&idle(repaired(super::FLOOD), nodes, duration)), 2);
    columns.push(Column::new(Text::Printed, &literal, Vec::new()));
    for (label, choice) in [mended(&F), REPAIRED].map(flood).into_iter().chain(others) {
        let samples = lab.replicate(&idle(choice.clone(), nodes, duration), seeds);
        let sum = |kinds: &[Kind]| kinds.iter().map(|kind| kind.totals.frames as f64).sum::<f64>();
        let estimate = samples.estimate_of(|sample| {
            (sum(&sample.outcome.kinds) - sum(&sample.outcome.kinds_before)) / sent_for(sample).count() as f64
        });
        let unserved = samples.total("stuck");
        served &= unserved == 0.0;
        hops = samples.estimate("network.hops").mean;
        rows.push(vec![words(&label), mean(estimate), number(unserved)]);
        match label {
            Text::Other(name) if name == "reverse-link" => unicast = estimate,
            Text::Other(_) => {}
            Text::Printed | Text::With(_) | Text::Repaired => {
                let by_law = estimate.converted(|frames| frames / (2.0 * n));
                let facts = vec![Fact::mean(BY_LAW, by_law), Fact::exact(HOLDER, free_reentry(lab, choice))];
                columns.push(Column::new(label, &samples, facts));
            }
        }
    }
    let of = |place: usize| columns[place].facts[0].value * 2.0 * n;
    let (theirs, ours) = (of(1), of(2));
    Finding {
        measured: format!(
            "transmissions per entry at {nodes} nodes, 2(N-1) = {bound}: {theirs:.1} with F1 to F7 repaired, {ours:.1} \
             repaired; reverse-link {unicast} where nodes are {hops:.2} hops apart"
        ),
        checks: vec![
            check("at least nine tenths of 2(N-1)", theirs >= 0.9 * bound && ours >= 0.9 * bound),
            check("reverse-link needs less than a third", unicast.mean < ours / 3.0),
            check("nobody is stuck", served),
        ],
        columns,
        evidence: vec![
            table(
                format!("Transmissions per entry of a node that had to ask, {nodes} nodes on a grid, idle network"),
                "protocol | transmissions | stuck",
                rows,
            ),
            note(
                "With routes a request and a token need twice the distance: that is what flooding costs here. To the \
                 letter floods never end (F1), so there is nothing to count per entry.",
            ),
        ],
    }
}

/// The transmissions of a network in which only the holder asks.
fn free_reentry(lab: &Lab, protocol: ProtocolChoice) -> f64 {
    let mut scenario = idle(protocol, 9, 5.0);
    for class in &mut scenario.traffic.classes {
        class.nodes = vec![0];
        class.arrivals = Arrivals::Closed { think: Distribution::Constant(0.1) };
    }
    let samples = lab.replicate(&scenario, 1);
    let entered = samples.total("entries");
    let sent = samples.sum(|sample| frames(sample, "REQUEST") + frames(sample, "TOKEN"));
    if entered > 0.0 { (sent / entered).abs() } else { f64::NAN }
}
