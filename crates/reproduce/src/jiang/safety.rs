//! J-1 to J-3: never too many units, the special cases, one token.

use meshlock_core::{Effect, Event, Misuse, NodeId, Protocol};
use meshlock_properties::Rule;
use meshlock_protocols::{Message, Node};
use meshlock_sim::distribution::Distribution;
use meshlock_sim::observe::Observer;
use meshlock_sim::outcome::Outcome;
use meshlock_sim::scenario::{Arrivals, Class, Scenario, ScriptedChange, Shape};
use meshlock_sim::time::Time;
use meshlock_statistics::proportion;

use super::after::units;
use super::setup::{With, in_texts, seconds, twelve};
use super::size;
use crate::prelude::*;
use crate::verdict::Text;

/// The printed text and ours.
fn texts(scenario: &Scenario) -> [(Text, Scenario); 2] {
    [(Text::Printed, scenario.clone().published(&[])), (Text::Repaired, scenario.clone())]
}

/// J-1.
pub(super) fn units_in_use(lab: &Lab) -> Finding {
    let (seeds, duration) = size(lab);
    let (mut rows, mut columns, mut reached) = (Vec::new(), Vec::new(), true);
    for k in [1, 2, 3, 5, 8] {
        for (links, every) in [("fixed links", None), ("0.2 changes/unit", Some(5.0))] {
            let base = twelve(5.0, duration).units(k, 1, k).changing(every);
            for (text, scenario) in texts(&base) {
                let samples = lab.replicate(&scenario, seeds);
                let broken = samples.sum(|sample| sample.broken(Rule::Exclusion));
                let most = samples.peak(units);
                let column = Column::of(&mut columns, &text, &samples);
                column.add(VIOLATIONS, broken + f64::from(u8::from(most > k.into())));
                column.add(ENTRIES, samples.granted() as f64);
                reached &= most == i64::from(k);
                rows.push(vec![
                    words(format!("k = {k}, h 1..{k}, {links}, {text}")),
                    count(samples.granted()),
                    count(most),
                    number(broken),
                ]);
            }
        }
    }
    let [violations, entries] =
        [VIOLATIONS, ENTRIES].map(|name| columns.iter().map(|all| all.value(name)).sum::<f64>());
    let bound = proportion(violations as u64, entries as u64, 0.95).high;
    Finding {
        columns,
        measured: format!(
            "{violations} violations in {entries} entries of both texts (95 %: a share of at most {bound:.1e})"
        ),
        checks: vec![check("k units are in use at once in some run of every setting", reached)],
        evidence: vec![
            table("Units in use", "run | entries | most units at once | violations", rows),
            note(
                "The rule is watched at every event, and the most units at once are counted again from the grants and \
                 releases of the finished run.",
            ),
        ],
    }
}

pub(super) const VIOLATIONS: &str = "times that more than k units were in use";
pub(super) const ENTRIES: &str = "entries";
pub(super) const OFF_K: &str = "settings in which the most inside at once is not k";
pub(super) const NOT_ONE_TOKEN: &str = "events after which there is not exactly one token";
pub(super) const NOT_K_AT_FIRST: &str = "runs in which t is not k at the start";
pub(super) const WRONG_SUM: &str = "runs in which t, used and returning units do not sum to k";
pub(super) const SCRIPT_LEAKS: &str = "scripted runs that lose a unit";

/// J-2.
pub(super) fn special_cases(lab: &Lab) -> Finding {
    let (seeds, duration) = size(lab);
    let (mut rows, mut columns, mut told) = (Vec::new(), Vec::new(), Vec::new());
    for (mode, k, high) in [("h = k = 1, mutual exclusion", 1, 1), ("h = 1, k = 3", 3, 1), ("h 1..3, k = 3", 3, 3)] {
        for (text, scenario) in texts(&twelve(2.0, duration).units(k, 1, high)) {
            let samples = lab.replicate(&scenario, seeds);
            let (inside, used) = (samples.peak(|_| 1), samples.peak(units));
            let exact = used == i64::from(k) && (high > 1 || inside == i64::from(k));
            let column = Column::of(&mut columns, &text, &samples);
            column.add(OFF_K, f64::from(u8::from(!exact)));
            column.add(ENTRIES, samples.granted() as f64);
            told.push(format!("{inside}"));
            rows.push(vec![words(format!("{mode}, {text}")), count(samples.granted()), count(inside), count(used)]);
        }
    }
    Finding {
        columns,
        measured: format!("most inside at once, printed and repaired: {}", told.join(", ")),
        checks: Vec::new(),
        evidence: vec![table("The three modes", "mode | entries | most inside at once | most units at once", rows)],
    }
}

/// Counts tokens held and on their way, at every event.
#[derive(Default)]
struct Tokens {
    holds: Vec<bool>,
    flying: i64,
    events: u64,
    wrong: u64,
    free_at_first: Option<u32>,
}

impl Tokens {
    fn at_first(nodes: &[Node]) -> Self {
        let tokens = || nodes.iter().map(|node| node.view().token);
        let free_at_first = tokens().flatten().map(|token| token.free.0).next();
        Self { holds: tokens().map(|token| token.is_some()).collect(), free_at_first, ..Self::default() }
    }
}

impl Observer for Tokens {
    fn handled(&mut self, _: Time, node: &Node, event: Event<Message>, effects: Result<&[Effect<Message>], Misuse>) {
        self.flying += sent(node, effects, |kind| kind == "token") as i64;
        self.flying -= i64::from(received(&event).is_some_and(|(_, kind)| kind == "token"));
        if let Some(holds) = self.holds.get_mut(node.id().0 as usize) {
            *holds = node.view().token.is_some();
        }
        let held = self.holds.iter().filter(|holds| **holds).count() as i64;
        self.events += 1;
        self.wrong += u64::from(held + self.flying != 1);
    }

    fn lost(&mut self, _: Time, _: NodeId, _: NodeId, message: &Message) {
        self.flying -= i64::from(Node::kind(message) == "token");
    }
}

/// Node 2 is inside, has passed the token on to 3, and leaves at a moment at which its old links have failed and its
/// new neighbour has not yet spoken. The network is connected all the time.
fn lonely_release() -> Scenario {
    let mut scenario = twelve(1.0, 40.0).links(|wired| {
        wired.shape = Shape::Line;
        wired.delay = Distribution::Constant(1.0);
        let changes = [(6.0, 0, 3, true), (12.0, 0, 2, true), (12.2, 1, 2, false), (12.4, 2, 3, false)];
        wired.changes.script = changes.map(|(at, a, b, up)| ScriptedChange { at: seconds(at), a, b, up }).to_vec();
    });
    let asks = |node: u32, at: f64| Class {
        nodes: vec![node],
        arrivals: Arrivals::Burst { at: seconds(at), requests: 1 },
        ..Class::closed(4, Distribution::Constant(1.0), Distribution::Constant(8.5))
    };
    (scenario.nodes, scenario.traffic.classes) = (4, vec![asks(2, 0.0), asks(3, 0.5)]);
    scenario
}

/// J-3.
pub(super) fn one_token(lab: &Lab) -> Finding {
    let (seeds, duration) = lab.choose((4, 200.0), (10, 500.0), (20, 1_000.0));
    let base = || twelve(5.0, duration).units(3, 1, 3);
    let sparse = |base: Scenario| base.links(|wired| wired.shape = Shape::Random { connectivity: 13.0 / 66.0 });
    let networks = [
        ("20 links, fixed", base()),
        ("20 links, 1 change/unit", base().changing(1.0)),
        ("13 links, 2 changes/unit", sparse(base()).changing(0.5)),
    ];
    let (mut rows, mut columns, mut fixed) = (Vec::new(), Vec::new(), 0);
    for (links, base) in networks {
        for (text, scenario) in in_texts(&base) {
            let runs = watch(&scenario, seeds, Tokens::at_first);
            let watched: u64 = runs.iter().map(|(tokens, _)| tokens.events).sum();
            let not_one: u64 = runs.iter().map(|(tokens, _)| tokens.wrong).sum();
            let is_wrong = |outcome: &Outcome| outcome.broken.iter().any(|broken| broken.rule == Rule::Conservation);
            let leaking = runs.iter().filter(|(_, outcome)| is_wrong(outcome)).count();
            let not_k = runs.iter().filter(|(tokens, _)| tokens.free_at_first != Some(3)).count();
            fixed += if links.ends_with("fixed") { leaking } else { 0 };
            let column = Column::of(&mut columns, &text, Runs::of(runs.iter().map(|(_, outcome)| outcome)));
            column.add(NOT_ONE_TOKEN, not_one as f64);
            column.add(NOT_K_AT_FIRST, not_k as f64);
            column.add(WRONG_SUM, leaking as f64);
            column.add(SCRIPT_LEAKS, 0.0);
            column.add("events", watched as f64);
            rows.push(vec![
                words(format!("{links}, {text}")),
                count(watched),
                count(not_one),
                words(format!("{leaking} of {seeds}")),
            ]);
        }
    }
    let mut scripts = Vec::new();
    for (text, scenario) in in_texts(&lonely_release()) {
        let samples = lab.replicate(&scenario, 1);
        let leaks = samples.sum(|sample| sample.broken(Rule::Conservation)) > 0.0;
        scripts.push(samples.total("stuck"));
        Column::of(&mut columns, &text, Runs::default()).add(SCRIPT_LEAKS, f64::from(u8::from(leaks)));
    }
    let one = |column: &Column| {
        let [not_one, events, leaking] = [NOT_ONE_TOKEN, "events", WRONG_SUM].map(|name| column.value(name));
        let script = if column.value(SCRIPT_LEAKS) > 0.0 { ", and the scripted one" } else { "" };
        format!(
            "{}: {not_one} of {events} events without exactly one token, {leaking} runs with a wrong sum{script}",
            column.text
        )
    };
    Finding {
        measured: columns.iter().map(one).collect::<Vec<_>>().join("; "),
        columns,
        checks: vec![
            check("on fixed links the sum is k in all texts", fixed == 0),
            check("who waits in the scripted run is never served as printed (with p1, p2)", scripts[1] > 0.0),
            check("and is served repaired", scripts[2] == 0.0),
        ],
        evidence: vec![
            table(
                "Tokens held and on their way, k = 3, h 1..3",
                "run | events | not one token | runs with a wrong sum",
                rows,
            ),
            note(
                "Tokens are counted after every event; units are added up every 240 events and at the end. A node that \
                 has no neighbour for a moment, although the network is connected, loses what it releases then (p11): \
                 a new neighbour counts only from its first message. Chance seldom finds that moment, so a script of \
                 four nodes does: the one that waits there is never served as printed, and is served repaired.",
            ),
        ],
    }
}
