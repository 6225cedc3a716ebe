//! J-1 to J-3: never too many units, the special cases, one token.

use meshlock_core::view::View;
use meshlock_properties::Rule;
use meshlock_report::table::Cell;
use meshlock_sim::scenario::Scenario;
use meshlock_sim::time::Time;
use meshlock_statistics::proportion;

use super::after::{breaks, grants, peak, units};
use super::setup::{With, twelve};
use super::show::{note, table, words};
use super::size;
use super::watching::{Seen, Watcher, watch};
use crate::claim::{Finding, Verdict};
use crate::lab::Lab;

/// The printed text and ours, with what to call them.
fn texts(scenario: &Scenario) -> [(&'static str, Scenario); 2] {
    [("printed", scenario.clone().published(&[])), ("repaired", scenario.clone())]
}

/// J-1.
pub(super) fn units_in_use(lab: &Lab) -> Finding {
    let (seeds, duration) = size(lab);
    let mut rows = Vec::new();
    let (mut violations, mut entries, mut reached) = (0.0, 0, true);
    for k in [1, 2, 3, 5, 8] {
        for (links, every) in [("fixed links", None), ("0.2 changes/unit", Some(5.0))] {
            let base = twelve(5.0, duration).units(k, 1, k);
            let base = if let Some(every) = every { base.changing(every) } else { base };
            for (text, scenario) in texts(&base) {
                let samples = lab.replicate(&scenario, seeds);
                let broken = samples.sum(|sample| breaks(sample, Rule::Exclusion));
                let most = samples.0.iter().map(|sample| peak(&sample.outcome, units)).max().unwrap_or(0);
                let granted = grants(&samples);
                violations += broken + f64::from(u8::from(most > k.into()));
                entries += granted;
                reached &= most == i64::from(k);
                rows.push(vec![
                    words(format!("k = {k}, h 1..{k}, {links}, {text}")),
                    Cell::Number(granted as f64),
                    Cell::Number(most as f64),
                    Cell::Number(broken),
                ]);
            }
        }
    }
    let bound = proportion(violations as u64, entries, 0.95).high;
    Finding {
        measured: format!("{violations} violations in {entries} entries (95 %: a share of at most {bound:.1e}); k is reached: {reached}"),
        verdict: if violations == 0.0 { Verdict::Holds } else { Verdict::Wrong },
        as_expected: violations == 0.0 && reached,
        evidence: vec![
            table("Units in use", &["run", "entries", "most units at once", "violations"], rows),
            note("The rule is watched at every event, and the most units at once are counted again from the grants and releases of the finished run."),
        ],
    }
}

/// J-2.
pub(super) fn special_cases(lab: &Lab) -> Finding {
    let (seeds, duration) = size(lab);
    let mut rows = Vec::new();
    let mut right = true;
    let mut told = Vec::new();
    for (mode, k, high) in [("h = k = 1, mutual exclusion", 1, 1), ("h = 1, k = 3", 3, 1), ("h 1..3, k = 3", 3, 3)] {
        for (text, scenario) in texts(&twelve(2.0, duration).units(k, 1, high)) {
            let samples = lab.replicate(&scenario, seeds);
            let at_once = |weight: fn(&meshlock_sim::outcome::Request) -> i64| {
                samples.0.iter().map(|sample| peak(&sample.outcome, weight)).max().unwrap_or(0)
            };
            let (inside, used) = (at_once(|_| 1), at_once(units));
            right &= used == i64::from(k) && (high > 1 || inside == i64::from(k));
            told.push(format!("{inside}"));
            rows.push(vec![
                words(format!("{mode}, {text}")),
                Cell::Number(grants(&samples) as f64),
                Cell::Number(inside as f64),
                Cell::Number(used as f64),
            ]);
        }
    }
    Finding {
        measured: format!("most inside at once, printed and repaired: {}", told.join(", ")),
        verdict: if right { Verdict::Holds } else { Verdict::Wrong },
        as_expected: right,
        evidence: vec![table("The three modes", &["mode", "entries", "most inside at once", "most units at once"], rows)],
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

impl Watcher for Tokens {
    fn starts(&mut self, views: &[View]) {
        self.holds = views.iter().map(|view| view.token.is_some()).collect();
        self.free_at_first = views.iter().filter_map(|view| view.token.as_ref()).map(|token| token.free.0).next();
    }

    fn handled(&mut self, _now: Time, seen: Seen) {
        self.flying += seen.sends("token") as i64;
        self.flying -= i64::from(seen.received.is_some_and(|(_, kind)| kind == "token"));
        if let Some(holds) = self.holds.get_mut(seen.node.0 as usize) {
            *holds = seen.view.token.is_some();
        }
        let held = self.holds.iter().filter(|holds| **holds).count() as i64;
        self.events += 1;
        self.wrong += u64::from(held + self.flying != 1);
    }

    fn lost(&mut self, kind: &'static str) {
        self.flying -= i64::from(kind == "token");
    }
}

/// J-3.
pub(super) fn one_token(lab: &Lab) -> Finding {
    let (seeds, duration) = lab.choose((2, 100.0), (5, 500.0), (20, 1_000.0));
    let mut rows = Vec::new();
    let (mut wrong, mut events, mut identity, mut full) = (0, 0, 0.0, true);
    for (links, every) in [("fixed links", None), ("1 change/unit", Some(1.0))] {
        let base = twelve(5.0, duration).units(3, 1, 3);
        let base = if let Some(every) = every { base.changing(every) } else { base };
        for (text, scenario) in texts(&base) {
            let runs: Vec<_> = (1..=seeds).map(|seed| watch(&scenario, seed, Tokens::default())).collect();
            let watched: u64 = runs.iter().map(|(tokens, _)| tokens.events).sum();
            let not_one: u64 = runs.iter().map(|(tokens, _)| tokens.wrong).sum();
            let rules = runs.iter().flat_map(|(_, outcome)| &outcome.broken);
            let rules = rules.filter(|broken| matches!(broken.rule, Rule::Conservation | Rule::OneToken));
            let broken = rules.map(|broken| broken.times as f64).sum::<f64>();
            full &= runs.iter().all(|(tokens, _)| tokens.free_at_first == Some(3));
            (wrong, events, identity) = (wrong + not_one, events + watched, identity + broken);
            let looks = watched / (20 * u64::from(scenario.nodes));
            rows.push(vec![
                words(format!("{links}, {text}")),
                Cell::Number(watched as f64),
                Cell::Number(not_one as f64),
                Cell::Number(looks as f64),
                Cell::Number(broken),
            ]);
        }
    }
    let good = wrong == 0 && identity == 0.0 && full;
    Finding {
        measured: format!("not exactly one token after {wrong} of {events} events; t + used + returning differs from k in {identity} looks; t = k at the start: {full}"),
        verdict: if good { Verdict::Holds } else { Verdict::Wrong },
        as_expected: good && events > 0,
        evidence: vec![
            table(
                "Tokens held and on their way, k = 3, h 1..3",
                &["run", "events", "not one token", "looks at the whole network", "looks that found a wrong sum"],
                rows,
            ),
            note("The printed text can lose units where a node has no neighbour for a moment (p11). On these networks, whose nodes have three neighbours in the mean, that does not happen."),
        ],
    }
}
