//! J-9, J-10 and J-16: what happens when links change, stop changing, or part the network.

use std::collections::BTreeMap;

use meshlock_core::view::View;
use meshlock_core::{Effect, Event, Misuse, NodeId, Protocol};
use meshlock_protocols::{Message, Node};
use meshlock_report::table::Cell;
use meshlock_sim::observe::Observer;
use meshlock_sim::outcome::Outcome;
use meshlock_sim::scenario::{Scenario, ScriptedChange, Shape};
use meshlock_sim::time::Time;
use meshlock_statistics::{Estimate, Median};

use super::messages::by_kind;
use super::setup::{With, in_texts, seconds, thirty, twelve};
use super::size;
use crate::prelude::*;
use crate::verdict::{Text, with};

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

impl Observer for Graph {
    fn handled(&mut self, now: Time, node: &Node, event: Event<Message>, effects: Result<&[Effect<Message>], Misuse>) {
        let messages = sent(node, effects, |kind| KEEPING.contains(&kind));
        if messages > 0 {
            self.sent.push((now, messages));
        }
        let by_token = received(&event).is_some_and(|(_, kind)| kind == "token");
        let level = |view: &View| view.height.map(|height| height.level);
        let view = node.view();
        let rises = self.views.get(&node.id()).is_some_and(|before| level(&view) > level(before));
        self.views.insert(node.id(), view);
        self.raises += u64::from(rises && !by_token);
    }

    fn linked(&mut self, now: Time, _: (NodeId, NodeId), _: bool) {
        (self.last_change, self.raises) = (now, 0);
        let levels = || self.views.values().filter_map(|view| view.height).map(|height| height.level);
        self.spread = levels().max().unwrap_or(0).abs_diff(levels().min().unwrap_or(0));
    }
}

impl Graph {
    fn at_first(nodes: &[Node]) -> Self {
        Self { views: nodes.iter().map(|node| (node.id(), node.view())).collect(), ..Self::default() }
    }

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
    let seeds = lab.choose(3, 15, 30);
    let duration = lab.choose(30.0, 100.0, 200.0);
    let twelve = twelve(10.0, duration).changing(0.05);
    let thirty = thirty(0.2, 30.0, duration).changing(0.05).links(|wired| wired.delay = delay());
    let (mut rows, mut curves) = (Vec::new(), Vec::new());
    let (mut columns, mut within, mut most) = (Vec::new(), true, 0);
    for (nodes, base) in [(12, &twelve), (30, &thirty)] {
        for (text, scenario) in in_texts(base) {
            let runs = watch(&scenario, seeds, Graph::at_first);
            let settle = |(graph, outcome): &(Graph, Outcome)| {
                outcome.quiet.map(|quiet| quiet.since(graph.last_change).seconds())
            };
            let quiet: Vec<f64> = runs.iter().filter_map(settle).collect();
            let raises: Vec<f64> = runs.iter().map(|(graph, _)| graph.raises as f64).collect();
            let shares = runs.iter().map(|(graph, _)| graph.raises as f64 / graph.bound() as f64);
            let greatest = shares.fold(0.0, f64::max);
            let ends: usize = runs.iter().map(|(graph, _)| graph.dead_ends()).sum();
            within &= greatest <= 1.0;
            most = runs.iter().map(|(graph, _)| graph.raises).fold(most, u64::max);
            let late = runs.iter().map(|(graph, outcome)| graph.after_rest(outcome.quiet)).sum::<u64>();
            let column = Column::of(&mut columns, &text, Runs::of(runs.iter().map(|(_, outcome)| outcome)));
            column.add(RESTLESS, (runs.len() - quiet.len()) as f64);
            column.add(DEAD_ENDS, ends as f64);
            column.add(LATE, late as f64);
            column.add(REVERSALS, raises.iter().sum());
            rows.push(vec![
                words(format!("{nodes} nodes, {text}")),
                count(runs.len()),
                count(quiet.len()),
                mean(Estimate::of(&quiet, 0.95)),
                mean(Estimate::of(&raises, 0.95)),
                number(raises.iter().copied().fold(0.0, f64::max)),
                number(greatest),
                count(ends),
            ]);
            if nodes == 30 {
                let rate = |step: u32| {
                    let (low, high) = (f64::from(step) * 0.2, f64::from(step + 1) * 0.2);
                    let sent: Vec<f64> =
                        runs.iter().map(|(graph, _)| graph.between(graph.last_change, low, high) / 0.2).collect();
                    point(f64::midpoint(low, high), Estimate::of(&sent, 0.95))
                };
                curves.push(line(text.to_string(), (0..20).map(rate).collect()));
            }
        }
    }
    let told: Vec<String> = columns
        .iter()
        .map(|column| {
            let [restless, dead_ends, late] = [RESTLESS, DEAD_ENDS, LATE].map(|name| column.value(name));
            let all = column.runs.all;
            format!(
                "{}: {restless} of {all} runs do not come to rest, {dead_ends} dead ends, {late} late messages",
                column.text
            )
        })
        .collect();
    Finding {
        columns,
        measured: format!("{}; at most {most} reversals", told.join("; ")),
        checks: vec![
            check("at most n a + n n reversals in every run", within),
            check("some reversals are needed", most > 0),
        ],
        evidence: vec![
            table(
                "After 20 changes of links per unit, when they stop",
                "run | runs | came to rest | time from the last change to rest | reversals after it | most | most, by \
                 n a + n n | nodes without a way down",
                rows,
            ),
            figure(
                "Messages that keep the graph, after the last change (30 nodes)",
                scale("time since the last change", "s"),
                scale("messages", "1/s"),
                curves,
            ),
            note(
                "Links stop changing when everybody is served, so that the graph is looked at by itself. Every node \
                 but the holder must then have a neighbour lower than itself; heights are totally ordered, so all ways \
                 down end at the token. Partial reversal needs of the order of n a + n n reversals in the worst case, \
                 where a is the difference between the highest and the lowest level; after many changes a is large, \
                 and n n alone is exceeded.",
            ),
        ],
    }
}

pub(super) const RESTLESS: &str = "runs that do not come to rest";
pub(super) const DEAD_ENDS: &str = "nodes without a way down to the token";
pub(super) const LATE: &str = "messages after the rest";
pub(super) const REVERSALS: &str = "reversals after the last change";
pub(super) const PER_CHANGE: &str = "more messages per link that came or went";
pub(super) const AFTER_CUT: &str = "messages per unit, 50 to 100 units after the cut";
pub(super) const TALKATIVE: &str = "runs that do not fall silent";
pub(super) const STUCK_HEALED: &str = "requests never served when the link is back";

fn delay() -> meshlock_sim::distribution::Distribution {
    meshlock_sim::distribution::Distribution::Uniform { low: 0.05, high: 0.15 }
}

/// J-10.
pub(super) fn local_repair(lab: &Lab) -> Finding {
    let (seeds, duration) = size(lab);
    // The interval of a median needs six.
    let seeds = seeds.max(6);
    let mut rows = Vec::new();
    let mut kinds: Vec<(String, Samples)> = Vec::new();
    let (mut columns, mut extra) = (Vec::new(), Vec::new());
    for repairs in [Some(&[][..]), Some(&["p1", "p2", "p7"]), None] {
        let text = repairs.map_or(Text::Repaired, with);
        let run = |every: Option<f64>| {
            let base = twelve(10.0, duration).units(3, 1, 1).changing(every);
            let scenario = if let Some(repairs) = repairs { base.published(repairs) } else { base };
            lab.replicate(&scenario, seeds)
        };
        let still = run(None);
        let mut column = Column::new(text.clone(), &still, Vec::new());
        let mut costliest: Option<Median> = None;
        for (links, every) in [("fixed links", None), ("0.2 changes/unit", Some(5.0)), ("1 change/unit", Some(1.0))] {
            let samples = if every.is_some() { run(every) } else { still.clone() };
            let of_runs = |of: &dyn Fn(&Sample, &Sample) -> Option<f64>| -> Vec<f64> {
                samples.0.iter().zip(&still.0).filter_map(|(moved, fixed)| of(moved, fixed)).collect()
            };
            let more_in = |moved: &Sample, fixed: &Sample| {
                Some(moved.measures.get("messages/entry")? - fixed.measures.get("messages/entry")?)
            };
            let more = Estimate::of(&of_runs(&more_in), 0.95);
            let per_change = of_runs(&|moved, fixed| {
                let of = |name: &str| moved.measures.get(name).copied();
                let changes = of("network.link-changes/s")?;
                (changes > 0.0).then_some(more_in(moved, fixed)? * of("entries/s")? / changes)
            });
            let per_change = Median::of(&per_change, 0.95);
            rows.push(vec![
                words(format!("{text}, {links}")),
                mean(samples.estimate("messages/entry")),
                if every.is_some() { mean(more) } else { Cell::Empty },
                if every.is_some() { words(per_change) } else { Cell::Empty },
                mean(samples.estimate("wait.mean")),
                mean(samples.estimate("stuck")),
            ]);
            if every.is_some() {
                extra.push(more);
                column.runs = column.runs.and((&samples).into());
                costliest = costliest.filter(|known| known.median >= per_change.median).or(Some(per_change));
            }
            kinds.push((format!("{text}, {links}"), samples));
        }
        column.facts = costliest.map(|found| Fact::median(PER_CHANGE, found)).into_iter().collect();
        columns.push(column);
    }
    let at_most = |place: usize, most: f64| extra.get(place).is_some_and(|more| more.mean <= most);
    let told: Vec<String> = extra.iter().map(ToString::to_string).collect();
    Finding {
        columns,
        measured: format!(
            "more messages per entry at 0.2 and 1 changes per unit: {} as printed, {} with p1, p2, p7, {} repaired",
            told[..2].join(" and "),
            told[2..4].join(" and "),
            told[4..].join(" and ")
        ),
        checks: vec![
            check(
                "at most 2.5 more per entry at 0.2 changes per unit (p1, p2, p7 and repaired)",
                at_most(2, 2.5) && at_most(4, 2.5),
            ),
            check("at most 8 more at 1", at_most(3, 8.0) && at_most(5, 8.0)),
        ],
        evidence: vec![
            table(
                "k = 3, h = 1, think 10; a change cuts one link and adds one",
                "run | messages per entry | more than with fixed links | more messages per link that came or went | \
                 mean wait | stuck",
                rows,
            ),
            by_kind("Messages per entry by kind", "messages", &kinds),
            note(
                "A change concerns the two ends of a link and, if it was somebody's last way down, those above it. The \
                 worst case is not local: reversals can reach every node as often as the height of the graph allows \
                 (of the order of n squared).",
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
    if back { scenario } else { scenario.clients(|class| class.stop = Some(seconds(40.0))) }
}

/// J-16.
pub(super) fn partition(lab: &Lab) -> Finding {
    let seeds = lab.choose(3, 20, 50);
    let (mut rows, mut curves, mut columns) = (Vec::new(), Vec::new(), Vec::new());
    for ((text, scenario), (_, joined)) in in_texts(&parted(false)).into_iter().zip(in_texts(&parted(true))) {
        let runs = watch(&scenario, seeds, Graph::at_first);
        let cut = Time::ZERO + seconds(50.0);
        let late: Vec<f64> = runs.iter().map(|(graph, _)| graph.between(cut, 50.0, 100.0) / 50.0).collect();
        let rate = Estimate::of(&late, 0.95);
        let silent = runs.iter().filter(|(_, outcome)| outcome.quiet.is_some()).count();
        rows.push(vec![words(&text), count(runs.len()), mean(rate), count(silent)]);
        let healed = lab.replicate(&joined, seeds);
        let not_healed = Runs::from(&healed);
        let stuck = healed.total("stuck") + (not_healed.broken + not_healed.storms) as f64;
        let facts = vec![
            Fact::mean(AFTER_CUT, rate),
            Fact::count(TALKATIVE, (runs.len() - silent) as u64),
            Fact::exact(STUCK_HEALED, stuck),
        ];
        let ended = Runs::of(runs.iter().map(|(_, outcome)| outcome)).and(not_healed);
        columns.push(Column::new(text.clone(), ended, facts));
        let at = |step: u32| {
            let low = f64::from(step) * 5.0;
            let sent: f64 = runs.iter().map(|(graph, _)| graph.between(Time::ZERO, low, low + 5.0)).sum();
            exact_point(low + 2.5, sent / runs.len() as f64 / 5.0)
        };
        curves.push(line(text.to_string(), (0..30).map(at).collect()));
    }
    let told = told(&columns, |column| format!("{} ({} stuck)", column.facts[0], column.value(STUCK_HEALED)));
    Finding {
        columns,
        measured: format!(
            "messages per unit 50 to 100 units after the cut, nobody asking (and requests stuck when the link is \
             back): {told}"
        ),
        checks: Vec::new(),
        evidence: vec![
            table(
                "Two rings of six, the link between them cut at 50, nobody asks after 40",
                "run | runs | messages per unit from 100 to 150 | runs that came to rest",
                rows,
            ),
            figure("Messages that keep the graph", scale("time", "s"), scale("messages", "1/s"), curves),
            note(
                "The paper excludes partitions, and must: nodes of the part without the token see no way down and \
                 raise themselves in turns forever (p12). Repaired, they first ask whether the token is there, and \
                 where nobody answers nothing is sent.",
            ),
        ],
    }
}
