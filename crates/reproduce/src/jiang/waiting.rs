//! J-5 and J-7: every wait is bounded.

use meshlock_sim::distribution::Distribution;
use meshlock_sim::outcome::{Outcome, Request};
use meshlock_sim::scenario::{Arrivals, Class, Scenario, UrgencyOf};
use meshlock_statistics::{Estimate, Median};

use super::after::overtakes;
use super::setup::{ALL, PUT_BACK, With, seconds, twelve};
use crate::prelude::*;
use crate::verdict::{Text, with};

/// J-5.
pub(super) fn bounded_delay(lab: &Lab) -> Finding {
    let (seeds, duration) = lab.choose((4, 300.0), (8, 1_000.0), (20, 2_000.0));
    let texts: [Option<&[&str]>; 6] =
        [Some(&[]), Some(&["p1"]), Some(PUT_BACK), Some(&["p1", "p2", "p7"]), Some(ALL), None];
    let networks = [("fixed links", None), ("0.2 changes/unit", Some(5.0)), ("1 change/unit", Some(1.0))];
    let (mut rows, mut columns) = (Vec::new(), Vec::new());
    for repairs in texts {
        let text = repairs.map_or(Text::Repaired, with);
        let mut row = vec![words(&text)];
        let (mut all, mut fixed, mut ended) = (0.0, 0.0, Runs::default());
        for (links, every) in networks {
            let mut stuck = Vec::new();
            for (k, high) in [(1, 1), (3, 1), (3, 3)] {
                let base = twelve(10.0, duration).units(k, 1, high).changing(every);
                let scenario = if let Some(repairs) = repairs { base.published(repairs) } else { base };
                let samples = lab.replicate(&scenario, seeds);
                ended = ended.and((&samples).into());
                stuck.extend(samples.values("stuck"));
            }
            let total: f64 = stuck.iter().sum();
            all += total;
            fixed += if links == "fixed links" { total } else { 0.0 };
            row.extend([words(Median::of(&stuck, 0.95).to_string()), number(total)]);
        }
        rows.push(row);
        // A run that a broken rule or a storm ended is as bad as a request that is never served.
        let facts = vec![
            Fact::exact(STUCK, all + (ended.broken + ended.storms) as f64),
            Fact::exact("of them on fixed links", fixed),
        ];
        columns.push(Column::new(text, ended, facts));
    }
    let (overload, strict_grows, aged_stays, longest) = overload(lab);
    let mut evidence = vec![
        table(
            "Requests stuck after 200 critical sections without new ones, of 12 nodes: median of a run (with its 95 % \
             interval) and sum; k = 1 h = 1, k = 3 h = 1, and k = 3 h 1..3 together",
            "repairs | fixed links | sum | 0.2 changes/unit | sum | 1 change/unit | sum",
            rows,
        ),
        note(
            "p1 and p2 put lost requests back and suffice while links stay. Where links change, p7 can still lose a \
             request, and with every switch (p1 to p8) a unit can still be lost (p11), after which everybody waits. \
             Both are rare here: p1, p2 and p7 do for most runs, and only the repaired protocol for all.",
        ),
    ];
    evidence.extend(overload);
    let stuck = told(&columns, |column| column.value(STUCK).to_string());
    Finding {
        columns,
        measured: format!("requests stuck in all {} runs of a text: {stuck}; {longest}", 9 * seeds),
        checks: vec![
            check(
                "repaired, under an overload of the urgent, others wait for most of the run with strict priority",
                strict_grows,
            ),
            check("and not with aging", aged_stays),
        ],
        evidence,
    }
}

pub(super) const STUCK: &str = "requests never served";
pub(super) const NOT_IN_TIME: &str = "low requests not served while others ask";
pub(super) const RUNS: &str = "runs with a low request";

/// Eleven nodes at priority 10 that would use more than there is, one node at priority 1.
fn overloaded(duration: f64) -> Scenario {
    let think = Distribution::Exponential { mean: 0.5 };
    let base = twelve(0.5, duration);
    let class = |name: &str, nodes: Vec<u32>, priority: f64| Class {
        name: name.to_owned(),
        nodes,
        urgency: UrgencyOf::Priority(Distribution::Constant(priority)),
        ..Class::closed(12, think.clone(), Distribution::Exponential { mean: 1.0 })
    };
    let classes = vec![class("high", (0..11).collect(), 10.0), class("low", vec![11], 1.0)];
    Scenario { traffic: meshlock_sim::scenario::Traffic { classes }, ..base }
}

/// The longest wait of the low class until the end, served or not.
fn longest_low(samples: &Samples) -> Estimate {
    samples.estimate_of(|sample| {
        let end = sample.outcome.end;
        let waited = |request: &Request| request.granted.unwrap_or(end).min(end).since(request.asked).seconds();
        sample.outcome.requests.iter().filter(|request| request.class == 1).map(waited).fold(0.0, f64::max)
    })
}

/// The longest wait of the unimportant under an overload by the important, over the length of the run.
fn overload(lab: &Lab) -> (Vec<Evidence>, bool, bool, String) {
    let seeds = lab.choose(4, 10, 20);
    let lengths = lab.choose([100.0, 200.0, 400.0], [250.0, 500.0, 1_000.0], [500.0, 1_000.0, 2_000.0]);
    let mut rows = Vec::new();
    let mut series = Vec::new();
    let mut found = Vec::new();
    for (name, aging) in [("strict priority", 0), ("aging, D = 4", 4), ("aging, D = 1", 1)] {
        let waits: Vec<Estimate> = lengths
            .iter()
            .map(|length| longest_low(&lab.replicate(&overloaded(*length).aging(aging), seeds)))
            .collect();
        rows.push([words(name)].into_iter().chain(waits.iter().map(|wait| mean(*wait))).collect());
        series.push(line(name, lengths.iter().zip(&waits).map(|(x, wait)| point(*x, *wait)).collect()));
        found.push(waits);
    }
    let last = |place: usize| found.get(place).and_then(|waits| waits.last()).map_or(f64::NAN, |wait| wait.mean);
    let strict_grows = last(0) > 0.8 * lengths[2];
    // Ten steps of priority at D = 4 are worth 36 grants, and a grant takes about 1.3.
    let aged_stays = last(1) < 0.5 * lengths[2] && last(1) < 120.0 && last(2) < last(1);
    let columns = format!("order{}", lengths.map(|length| format!(" | run of {length}")).concat());
    let evidence = vec![
        table(
            "Repaired: longest wait of the one node at priority 1 beside eleven at 10 that never rest",
            &columns,
            rows,
        ),
        figure(
            "Longest wait of the unimportant under overload",
            scale("length of the run", "s"),
            scale("longest wait, served or not", "s"),
            series,
        ),
    ];
    let told = format!(
        "overload of the urgent for {}: longest wait of the others {:.0} (strict), {:.0} (aging)",
        lengths[2],
        last(0),
        last(1)
    );
    (evidence, strict_grows, aged_stays, told)
}

/// Eleven nodes whose requests are `gap` steps more urgent than the one request of node 11.
fn stream(gap: u32, duration: f64) -> Scenario {
    let mut scenario = overloaded(duration);
    for (class, priority) in scenario.traffic.classes.iter_mut().zip([1 + gap, 1]) {
        class.urgency = UrgencyOf::Priority(Distribution::Constant(priority.into()));
    }
    if let Some(low) = scenario.traffic.classes.get_mut(1) {
        low.arrivals = Arrivals::Burst { at: seconds(50.0), requests: 1 };
    }
    scenario
}

/// By how many later requests the low one was overtaken, in each run.
fn overtaken(samples: &Samples) -> Vec<f64> {
    let low = |outcome: &Outcome| {
        let low = outcome.requests.iter().find(|request| request.class == 1)?;
        Some(overtakes(outcome, low) as f64)
    };
    samples.outcomes().filter_map(low).collect()
}

/// In how many runs the low request was not served before all stopped asking.
fn not_in_time(samples: &Samples) -> f64 {
    let late = |outcome: &Outcome| {
        let low = outcome.requests.iter().find(|request| request.class == 1);
        low.is_some_and(|request| request.granted.is_none_or(|at| at > outcome.end))
    };
    samples.sum(|sample| f64::from(u8::from(late(&sample.outcome))))
}

/// J-7.
pub(super) fn gap_is_bridged(lab: &Lab) -> Finding {
    let seeds = lab.choose(6, 20, 50);
    let others = 11.0;
    let (mut rows, mut points, mut columns) = (Vec::new(), Vec::new(), Vec::new());
    let mut note_down = |text: &Text, samples: &Samples| {
        let found = overtaken(samples);
        let column = Column::of(&mut columns, text, samples);
        column.add(NOT_IN_TIME, not_in_time(samples));
        column.add(RUNS, found.len() as f64);
        found
    };
    let most_of = |found: &[f64]| found.iter().copied().fold(0.0, f64::max);
    let (mut within, mut told) = (true, Vec::new());
    for (gap, worth) in [(3, 1), (9, 1), (9, 4), (9, 16)] {
        // Asking costs a message, and what a node has not heard of it cannot count: one more per other node.
        let bound = f64::from(gap * worth) + others;
        let duration = 100.0 + 2.5 * bound;
        let found = note_down(&Text::Repaired, &lab.replicate(&stream(gap, duration).aging(worth), seeds));
        let most = most_of(&found);
        within &= most <= bound && found.len() as u64 == seeds;
        let overtaken = Estimate::of(&found, 0.95);
        points.push(point(f64::from(gap * worth), overtaken));
        told.push(format!("{most:.0} of {bound:.0}"));
        rows.push(vec![
            words(format!("repaired, gap {gap}, D = {worth}")),
            mean(overtaken),
            number(most),
            number(bound),
        ]);
    }
    let mut printed_within = true;
    for repairs in [&[][..], PUT_BACK] {
        let text = with(repairs);
        for (gap, epsilon) in [(9, 1), (9, 3), (90, 1)] {
            let bound = f64::from(gap / epsilon) + others;
            let duration = 100.0 + 2.5 * bound.max(100.0);
            let samples = lab.replicate(&stream(gap, duration).published(repairs).epsilon(epsilon), seeds);
            let found = note_down(&text, &samples);
            printed_within &= text == Text::Printed || most_of(&found) <= bound;
            rows.push(vec![
                words(format!("{text}, gap {gap}, epsilon = {epsilon}")),
                mean(Estimate::of(&found, 0.95)),
                number(most_of(&found)),
                number(bound),
            ]);
        }
    }
    let strict = overtaken(&lab.replicate(&stream(9, 300.0), seeds));
    let least = strict.iter().copied().fold(f64::INFINITY, f64::min);
    rows.push(vec![
        words("repaired, gap 9, strict priority, until the end at 300"),
        mean(Estimate::of(&strict, 0.95)),
        number(most_of(&strict)),
        words("none"),
    ]);
    columns.sort_by_key(|column| column.text == Text::Repaired);
    Finding {
        columns,
        measured: format!(
            "most overtakings of the bound gap x D + 11, repaired: {}; with p1 and p2 the bound gap / epsilon + 11 is \
             {}; strict priority: at least {least:.0} until the end",
            told.join(", "),
            if printed_within { "kept too" } else { "exceeded" }
        ),
        checks: vec![
            check("repaired: at most gap x D + 11 later requests are served before it", within),
            check("strict priority: more than 100", least > 100.0),
        ],
        evidence: vec![
            table("Later requests that one low request saw served before it", "run | mean | most | bound", rows),
            figure(
                "Overtakings with aging",
                scale("gap x D", "grants"),
                scale("later requests served before", "grants"),
                vec![
                    line("repaired", points),
                    dashed("bound", [0.0, 144.0].map(|x| exact_point(x, x + others)).to_vec()),
                ],
            ),
            note(
                "The bound of the printed text is gap / epsilon + queue length, if every grant ages every queue. It \
                 does not: a queue ages when its own node passes the token or leaves, and nobody is told (p10).",
            ),
        ],
    }
}
