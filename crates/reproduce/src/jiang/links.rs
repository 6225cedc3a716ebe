//! J-9, J-10 and J-16: what happens when links change, stop changing, or part the network.

use std::collections::BTreeMap;

use meshlock_core::NodeId;
use meshlock_core::view::View;
use meshlock_report::chart::Point;
use meshlock_report::table::Cell;
use meshlock_sim::outcome::Outcome;
use meshlock_sim::scenario::{Scenario, ScriptedChange, Shape};
use meshlock_sim::time::Time;
use meshlock_statistics::{Estimate, paired};

use super::messages::by_kind;
use super::setup::{PUT_BACK, With, seconds, thirty, twelve};
use super::show::{figure, line, mean, note, scale, table, words};
use super::size;
use super::watching::{Seen, Watcher, watch};
use crate::claim::{Finding, Verdict};
use crate::lab::{Lab, Samples};

/// The kinds of messages that only keep the graph: heights, and questions where the token is.
const KEEPING: [&str; 3] = ["link", "here", "news"];

/// Follows heights, and what keeping the graph costs.
#[derive(Default)]
struct Graph {
    views: BTreeMap<NodeId, View>,
    last_change: Time,
    /// Between the highest and the lowest level at the last change.
    spread: u64,
    /// Since the last change.
    raises: u64,
    /// When messages of the graph were sent, one for each receiver.
    sent: Vec<(Time, u64)>,
}

impl Watcher for Graph {
    fn starts(&mut self, views: &[View]) {
        self.views = (0..).map(NodeId).zip(views.iter().cloned()).collect();
    }

    fn handled(&mut self, now: Time, seen: Seen) {
        let messages: u64 = KEEPING.iter().map(|kind| seen.sends(kind)).sum();
        if messages > 0 {
            self.sent.push((now, messages));
        }
        let by_token = seen.received.is_some_and(|(_, kind)| kind == "token");
        let level = |view: &View| view.height.map(|height| height.level);
        let before = self.views.insert(seen.node, seen.view.clone());
        let rises = before.is_some_and(|before| level(&seen.view) > level(&before));
        self.raises += u64::from(rises && !by_token);
    }

    fn linked(&mut self, now: Time) {
        (self.last_change, self.raises) = (now, 0);
        let levels = || self.views.values().filter_map(|view| view.height).map(|height| height.level);
        self.spread = levels().max().unwrap_or(0).abs_diff(levels().min().unwrap_or(0));
    }
}

impl Graph {
    /// The greatest number of reversals that partial reversal can need from here, but for a constant factor: every node
    /// may have to rise through all levels, and then n times more.
    fn bound(&self) -> u64 {
        let nodes = self.views.len() as u64;
        nodes * self.spread + nodes * nodes
    }

    /// How many messages were sent after the run had come to rest.
    fn after_rest(&self, quiet: Option<Time>) -> u64 {
        let late = |at: Time| quiet.is_some_and(|quiet| at > quiet);
        self.sent.iter().filter(|(at, _)| late(*at)).map(|(_, messages)| messages).sum()
    }

    /// Nodes other than the holder from which no link goes down: who follows lower neighbours can end there.
    fn dead_ends(&self) -> usize {
        let height = |node: &NodeId| self.views.get(node).and_then(|view| view.height);
        let is_lowest = |view: &View| view.neighbours.iter().all(|other| height(other) > view.height);
        self.views.values().filter(|view| view.token.is_none() && is_lowest(view)).count()
    }

    /// How many messages were sent from `low` to `high` seconds after a moment.
    fn between(&self, after: Time, low: f64, high: f64) -> f64 {
        let in_time = |at: Time| at >= after && (low..high).contains(&at.since(after).seconds());
        self.sent.iter().filter(|(at, _)| in_time(*at)).map(|(_, messages)| *messages as f64).sum()
    }
}

/// J-9.
pub(super) fn token_oriented(lab: &Lab) -> Finding {
    let seeds = lab.choose(3, 15, 60);
    let duration = lab.choose(30.0, 100.0, 200.0);
    let twelve = twelve(10.0, duration).changing(0.05);
    let thirty = thirty(0.2, 30.0, duration).changing(0.05).links(|wired| wired.delay = delay());
    let mut rows = Vec::new();
    let mut curves = Vec::new();
    let (mut within, mut resting, mut all, mut most, mut dead_ends, mut late) = (true, 0, 0, 0, 0, 0);
    for (text, repairs) in [("lost requests put back", Some(PUT_BACK)), ("repaired", None)] {
        for (nodes, base) in [(12, &twelve), (30, &thirty)] {
            let scenario = if let Some(repairs) = repairs { base.clone().published(repairs) } else { base.clone() };
            let runs: Vec<(Graph, Outcome)> =
                (1..=seeds).map(|seed| watch(&scenario, seed, Graph::default())).collect();
            let settle = |(graph, outcome): &(Graph, Outcome)| {
                outcome.quiet.map(|quiet| quiet.since(graph.last_change).seconds())
            };
            let quiet: Vec<f64> = runs.iter().filter_map(settle).collect();
            let raises: Vec<f64> = runs.iter().map(|(graph, _)| graph.raises as f64).collect();
            let shares = runs.iter().map(|(graph, _)| graph.raises as f64 / graph.bound() as f64);
            let greatest = shares.fold(0.0, f64::max);
            let ends: usize = runs.iter().map(|(graph, _)| graph.dead_ends()).sum();
            within &= greatest <= 1.0;
            all += runs.len();
            resting += quiet.len();
            most = runs.iter().map(|(graph, _)| graph.raises).fold(most, u64::max);
            dead_ends += ends;
            late += runs.iter().map(|(graph, outcome)| graph.after_rest(outcome.quiet)).sum::<u64>();
            rows.push(vec![
                words(format!("{nodes} nodes, {text}")),
                Cell::Number(runs.len() as f64),
                Cell::Number(quiet.len() as f64),
                mean(Estimate::of(&quiet, 0.95)),
                mean(Estimate::of(&raises, 0.95)),
                Cell::Number(raises.iter().copied().fold(0.0, f64::max)),
                Cell::Number(greatest),
                Cell::Number(ends as f64),
            ]);
            if nodes == 30 {
                let rate = |step: u32| {
                    let (low, high) = (f64::from(step) * 0.2, f64::from(step + 1) * 0.2);
                    let sent: Vec<f64> =
                        runs.iter().map(|(graph, _)| graph.between(graph.last_change, low, high) / 0.2).collect();
                    super::show::point(f64::midpoint(low, high), Estimate::of(&sent, 0.95))
                };
                curves.push(line(text, (0..20).map(rate).collect()));
            }
        }
    }
    let good = within && resting == all && dead_ends == 0 && late == 0;
    Finding {
        measured: format!(
            "{resting} of {all} runs come to rest after the last change, with {dead_ends} nodes without a way \
             down to the token and {late} messages afterwards; at most {most} reversals"
        ),
        verdict: if good { Verdict::Holds } else { Verdict::Wrong },
        as_expected: good && most > 0,
        evidence: vec![
            table(
                "After 20 changes of links per unit, when they stop",
                &[
                    "run",
                    "runs",
                    "came to rest",
                    "time from the last change to rest",
                    "reversals after it",
                    "most",
                    "most, by n a + n n",
                    "nodes without a way down",
                ],
                rows,
            ),
            figure(
                "Messages that keep the graph, after the last change (30 nodes)",
                scale("time since the last change", "s"),
                scale("messages", "1/s"),
                curves,
            ),
            note(
                "Links stop changing when everybody is served, so that the graph is looked at by itself. Every \
                 node but the holder must then have a neighbour lower than itself; heights are totally ordered, \
                 so all ways down end at the token. Partial reversal needs of the order of n a + n n reversals \
                 in the worst case, where a is the difference between the highest and the lowest level; after \
                 many changes a is large, and n n alone is exceeded.",
            ),
        ],
    }
}

fn delay() -> meshlock_sim::distribution::Distribution {
    meshlock_sim::distribution::Distribution::Uniform { low: 0.05, high: 0.15 }
}

/// J-10.
pub(super) fn local_repair(lab: &Lab) -> Finding {
    let (seeds, duration) = size(lab);
    let mut rows = Vec::new();
    let mut kinds: Vec<(String, Samples)> = Vec::new();
    let mut extra = Vec::new();
    for (text, repairs) in [("p1, p2, p7", Some(["p1", "p2", "p7"])), ("repaired", None)] {
        let run = |every: Option<f64>| {
            let base = twelve(10.0, duration).units(3, 1, 1);
            let base = if let Some(every) = every { base.changing(every) } else { base };
            let scenario = if let Some(repairs) = repairs { base.published(&repairs) } else { base };
            lab.replicate(&scenario, seeds)
        };
        let still = run(None);
        for (links, every) in [("fixed links", None), ("0.2 changes/unit", Some(5.0)), ("1 change/unit", Some(1.0))] {
            let samples = run(every);
            let per_entry = |samples: &Samples| samples.values("messages/entry");
            let more = paired(&per_entry(&samples), &per_entry(&still), 0.95)
                .map_or(Estimate::of(&[], 0.95), |comparison| comparison.difference);
            let per_change: Vec<f64> = samples
                .0
                .iter()
                .zip(&still.0)
                .filter_map(|(moved, fixed)| {
                    let of = |name: &str| moved.measures.get(name).copied();
                    let more = of("messages/entry")? - fixed.measures.get("messages/entry")?;
                    let changes = of("network.link-changes/s")?;
                    (changes > 0.0).then_some(more * of("entries/s")? / changes)
                })
                .collect();
            rows.push(vec![
                words(format!("{text}, {links}")),
                mean(samples.estimate("messages/entry")),
                if every.is_some() { mean(more) } else { Cell::Empty },
                mean(Estimate::of(&per_change, 0.95)),
                mean(samples.estimate("wait.mean")),
                mean(samples.estimate("stuck")),
            ]);
            if every.is_some() {
                extra.push(more);
            }
            kinds.push((format!("{text}, {links}"), samples));
        }
    }
    let within =
        |place: usize, low: f64, high: f64| extra.get(place).is_some_and(|more| (low..high).contains(&more.mean));
    let as_expected = within(0, 0.4, 2.5) && within(1, 3.0, 8.0) && within(2, 0.4, 2.5) && within(3, 3.0, 8.0);
    let told: Vec<String> = extra.iter().map(ToString::to_string).collect();
    Finding {
        measured: format!(
            "more messages per entry at 0.2 and 1 changes per unit: {} (printed with p1, p2, p7), {} (repaired)",
            told[..2].join(" and "),
            told[2..].join(" and ")
        ),
        verdict: if as_expected { Verdict::Holds } else { Verdict::Wrong },
        as_expected,
        evidence: vec![
            table(
                "k = 3, h = 1, think 10; a change cuts one link and adds one",
                &[
                    "run",
                    "messages per entry",
                    "more than with fixed links",
                    "more messages per link that came or went",
                    "mean wait",
                    "stuck",
                ],
                rows,
            ),
            by_kind("Messages per entry by kind", "messages", &kinds),
            note(
                "A change concerns the two ends of a link and, if it was somebody's last way down, those above \
                 it. The worst case is not local: reversals can reach every node as often as the height of the \
                 graph allows (of the order of n squared).",
            ),
        ],
    }
}

/// Two rings of six that one link joins until it is cut at 50. Requests end at 40.
fn parted(back: bool) -> Scenario {
    let ring = |first: u32| (0..6).map(move |node| (first + node, first + (node + 1) % 6));
    let links = ring(0).chain(ring(6)).chain([(5, 6)]).collect();
    let mut scenario = twelve(10.0, 150.0).links(|wired| {
        wired.shape = Shape::Links(links);
        let change = |at: f64, up: bool| ScriptedChange { at: seconds(at), a: 5, b: 6, up };
        wired.changes.script.push(change(50.0, false));
        if back {
            wired.changes.script.push(change(100.0, true));
        }
    });
    scenario.drain = seconds(100.0);
    if !back {
        for class in &mut scenario.traffic.classes {
            class.stop = Some(seconds(40.0));
        }
    }
    scenario
}

/// J-16.
pub(super) fn partition(lab: &Lab) -> Finding {
    let seeds = lab.choose(3, 20, 100);
    let mut rows = Vec::new();
    let mut curves = Vec::new();
    let mut rates = Vec::new();
    for (text, scenario) in [("printed", parted(false).published(&[])), ("repaired", parted(false))] {
        let runs: Vec<(Graph, Outcome)> = (1..=seeds).map(|seed| watch(&scenario, seed, Graph::default())).collect();
        let cut = Time::ZERO + seconds(50.0);
        let late: Vec<f64> = runs.iter().map(|(graph, _)| graph.between(cut, 50.0, 100.0) / 50.0).collect();
        let rate = Estimate::of(&late, 0.95);
        let silent = runs.iter().filter(|(_, outcome)| outcome.quiet.is_some()).count();
        rates.push((rate, silent as u64));
        rows.push(vec![words(text), Cell::Number(runs.len() as f64), mean(rate), Cell::Number(silent as f64)]);
        let at = |step: u32| {
            let low = f64::from(step) * 5.0;
            let sent: f64 = runs.iter().map(|(graph, _)| graph.between(Time::ZERO, low, low + 5.0)).sum();
            let y = sent / runs.len() as f64 / 5.0;
            Point { x: low + 2.5, y, low: y, high: y }
        };
        curves.push(line(text, (0..30).map(at).collect()));
    }
    let healed = lab.replicate(&parted(true), seeds);
    let stuck: f64 = healed.values("stuck").iter().sum();
    let heals = stuck == 0.0 && healed.values("stuck").len() as u64 == seeds;
    let (printed, repaired) = (rates[0], rates[1]);
    let never_silent = printed.0.low() > 1.0 && printed.1 == 0;
    let silent = repaired.0.mean == 0.0 && repaired.1 == seeds;
    Finding {
        measured: format!(
            "messages per unit 50 to 100 units after the cut, nobody asking: {} as printed, {} repaired; the \
             repaired runs heal with {stuck} stuck when the link is back",
            printed.0, repaired.0.mean
        ),
        verdict: if never_silent { Verdict::HoldsRepaired } else { Verdict::Holds },
        as_expected: never_silent && silent && heals,
        evidence: vec![
            table(
                "Two rings of six, the link between them cut at 50, nobody asks after 40",
                &["run", "runs", "messages per unit from 100 to 150", "runs that came to rest"],
                rows,
            ),
            figure("Messages that keep the graph", scale("time", "s"), scale("messages", "1/s"), curves),
            note(
                "The paper excludes partitions, and must: nodes of the part without the token see no way down \
                 and raise themselves in turns for ever (p12). Repaired, they first ask whether the token is \
                 there, and where nobody answers nothing is sent.",
            ),
        ],
    }
}
