//! J-8, J-13 and J-15: how well the units are used.

use meshlock_core::view::Origin;
use meshlock_core::{Effect, Event, Misuse, Protocol};
use meshlock_protocols::{Message, Node};
use meshlock_sim::distribution::Distribution;
use meshlock_sim::observe::Observer;
use meshlock_sim::outcome::{Outcome, Request};
use meshlock_sim::scenario::{Class, Name, Scenario, UrgencyOf};
use meshlock_sim::time::Time;
use meshlock_statistics::{Estimate, paired};

use super::after::{idle_for_large, units};
use super::setup::{ALL_BUT_GUARD, PUT_BACK, Variant, With, in_texts, twelve};
use super::size;
use super::waiting::STUCK;
use crate::prelude::*;
use crate::verdict::{Text, with};

/// Sees whether nodes that are inside pass the token on when another one asks and a unit is free.
#[derive(Default)]
struct Inside {
    passed: u64,
    kept: u64,
}

impl Observer for Inside {
    fn handled(&mut self, _: Time, node: &Node, _: Event<Message>, effects: Result<&[Effect<Message>], Misuse>) {
        let view = node.view();
        if view.holding.is_empty() {
            return;
        }
        self.passed += sent(node, effects, |kind| kind == "token");
        let another_asks = view.queue.first().is_some_and(|claim| matches!(claim.origin, Origin::Node(_)));
        let has_one = view.token.is_some_and(|token| token.free.0 > 0);
        self.kept += u64::from(another_asks && has_one);
    }
}

pub(super) const KEPT_INSIDE: &str =
    "events after which a node inside keeps the token although a unit is free and another asks";
pub(super) const PASSED_INSIDE: &str = "passes of the token by a node inside";
pub(super) const IDLE: &str = "share of the time in which a waiting request would fit";
pub(super) const SMALL_FIRST: &str = "more inside with small first than first come";
pub(super) const LARGE_FIRST: &str = "more inside first come than with large first";

/// J-8.
pub(super) fn token_moves_on(lab: &Lab) -> Finding {
    let (seeds, duration) = size(lab);
    let texts: [(Option<Text>, Variant); 6] = [
        (Some(Text::Printed), ("printed", |base| base.published(&[]))),
        (Some(with(PUT_BACK)), ("printed with p1, p2", |base| base.published(PUT_BACK))),
        (Some(with(ALL_BUT_GUARD)), ("all repaired but the guard", |base| base.published(ALL_BUT_GUARD))),
        (Some(Text::Repaired), ("repaired", |base| base)),
        (None, ("central", |base| base.protocol(Name::Central))),
        (None, ("omniscient", |base| base.protocol(Name::Omniscient))),
    ];
    let (mut rows, mut columns) = (Vec::new(), Vec::new());
    let (mut idle, mut waits) = (Vec::new(), Vec::new());
    for (text, (name, make)) in &texts {
        let scenario = make(twelve(10.0, duration).units(3, 1, 1));
        let samples = lab.replicate(&scenario, seeds);
        let share = samples.estimate("units.idle-while-fitting");
        idle.push(share);
        waits.push(samples.estimate("wait.mean").mean);
        let measures = ["units.used", "wait.mean", "entries/s", "stuck"];
        let more = measures.map(|name| mean(samples.estimate(name)));
        rows.push([words(*name), mean(share)].into_iter().chain(more).collect());
        if let Some(text) = text {
            let watched = watch(&scenario, lab.choose(1, 2, 5), |_| Inside::default());
            let sum = |of: fn(&Inside) -> u64| watched.iter().map(|(inside, _)| of(inside)).sum::<u64>();
            let facts = vec![
                Fact::count(KEPT_INSIDE, sum(|inside| inside.kept)),
                Fact::count(PASSED_INSIDE, sum(|inside| inside.passed)),
                Fact::mean(IDLE, share),
            ];
            columns.push(Column::new(text.clone(), &samples, facts));
        }
    }
    let texts = texts.map(|(_, variant)| variant);
    let thinks =
        lab.choose(vec![5.0, 20.0], vec![2.0, 5.0, 10.0, 20.0, 40.0], vec![1.0, 2.0, 5.0, 10.0, 20.0, 40.0, 80.0]);
    let curve = |make: fn(Scenario) -> Scenario| {
        let at = |think: &f64| {
            let samples = lab.replicate(&make(twelve(*think, duration).units(3, 1, 1)), seeds);
            point(*think, samples.estimate("units.idle-while-fitting"))
        };
        thinks.iter().map(at).collect()
    };
    let series = [1, 3, 4].map(|place| line(texts[place].0, curve(texts[place].1))).to_vec();
    let of = |place: usize| idle.get(place).copied().unwrap_or(Estimate::of(&[], 0.95));
    let near = |place: usize, low: f64, high: f64| (low..=high).contains(&of(place).mean);
    Finding {
        measured: format!(
            "time in which a request waits that would fit: {} with the printed guard (p1, p2 repaired), {} repaired, \
             {} omniscient",
            of(1),
            of(3),
            of(5).mean
        ),
        checks: vec![
            check("with the printed guard 0.78 to 0.92 of the time", near(1, 0.78, 0.92) && near(2, 0.78, 0.92)),
            check("repaired 0.36 to 0.48", near(3, 0.36, 0.48)),
            check("0 with an omniscient scheduler", of(5).mean == 0.0),
            check("waits with p1 and p2 alone are more than 2.5 times those repaired", waits[1] > 2.5 * waits[3]),
        ],
        columns,
        evidence: vec![
            table(
                "k = 3, h = 1, think 10",
                "run | share of the time in which a waiting request fits | units in use | mean wait | entries per unit \
                 | stuck",
                rows,
            ),
            figure(
                "Units idle beside somebody who wants them",
                log_scale("mean think time", "s"),
                scale("share of the time", ""),
                series,
            ),
            note(
                "REQUEST 4 lets a holder inside keep the token (p3), so the others wait for it to leave although units \
                 are free. In the text as printed the lost requests count too: they wait forever.",
            ),
        ],
    }
}

/// J-13.
pub(super) fn whiteboard(lab: &Lab) -> Finding {
    let (seeds, duration) = size(lab);
    let one_or_all = || Distribution::Choice(vec![(1.0, 9.0), (3.0, 1.0)]);
    let base = || twelve(4.0, duration).units(3, 1, 1).equals().clients(|class| class.units = one_or_all());
    let longest = |outcome: &Outcome, amount: i64| {
        let waited = |request: &Request| request.granted.unwrap_or(outcome.end).since(request.asked).seconds();
        outcome.requests.iter().filter(|request| units(request) == amount).map(waited).fold(0.0, f64::max)
    };
    let others = [("central", Name::Central), ("omniscient", Name::Omniscient)]
        .map(|(name, protocol)| (Text::Other(name.to_owned()), base().protocol(protocol)));
    let (mut rows, mut columns, mut told) = (Vec::new(), Vec::new(), Vec::new());
    let mut costs = Vec::new();
    let mut longest_of_three = f64::NAN;
    for (text, scenario) in in_texts(&base()).into_iter().chain(others) {
        let samples = lab.replicate(&scenario, seeds);
        let cost = samples.estimate_of(|sample| idle_for_large(&sample.outcome, 3).0);
        let time = samples.estimate_of(|sample| idle_for_large(&sample.outcome, 3).1);
        let [one, three] = [1, 3].map(|amount| samples.estimate_of(|sample| longest(&sample.outcome, amount)));
        let stuck = samples.total("stuck");
        rows.push(vec![
            words(&text),
            mean(samples.estimate("wait.mean")),
            mean(one),
            mean(three),
            mean(cost),
            mean(time),
            number(stuck),
        ]);
        costs.push(cost.mean);
        if matches!(text, Text::Other(_)) {
            continue;
        }
        if text == Text::Repaired {
            longest_of_three = three.mean;
        }
        told.push(format!("{text}: {stuck} stuck in {seeds} runs, longest wait {one} for one, {three} for all three"));
        let runs = Runs::from(&samples);
        let ended = (runs.broken + runs.storms) as f64;
        let entered = |sample: &Sample| sample.granted().filter(|request| units(request) == 3).count() as f64;
        let facts = vec![Fact::exact(STUCK, stuck + ended), Fact::exact(ALL_THREE, samples.sum(entered))];
        columns.push(Column::new(text, runs, facts));
    }
    let (repaired_cost, free_cost) = (costs[2], costs[4]);
    Finding {
        columns,
        measured: format!(
            "{}; repaired, {:.2} of all units are idle while somebody waits for all of them",
            told.join("; "),
            repaired_cost
        ),
        checks: vec![
            check("repaired, the longest wait for all three is below 60 on average", longest_of_three < 60.0),
            check(
                "more units are idle for them than with an omniscient scheduler, and less than half",
                repaired_cost > free_cost && repaired_cost < 0.5,
            ),
        ],
        evidence: vec![
            table(
                "Whiteboard: three pens, nine of ten want one, one of ten wants all; equal priorities, think 4",
                "run | mean wait | longest wait, h = 1 | longest wait, h = 3 | units idle for h = 3 | time in which h \
                 = 3 waits | stuck",
                rows,
            ),
            note(
                "Units idle for h = 3: the share of all units times time that nobody uses while somebody waits for all \
                 three. A part of it is the price of letting nobody pass the front; the omniscient scheduler pays it \
                 too.",
            ),
        ],
    }
}

pub(super) const ALL_THREE: &str = "entries for all three";

/// A third of the nodes always asks for one, a third for two, a third for three of three units.
fn amounts(think: f64, duration: f64, priorities: [f64; 3], aging: u32) -> Scenario {
    let mut scenario = twelve(think, duration).units(3, 1, 1).aging(aging);
    let class = |(place, priority): (u32, f64)| Class {
        name: format!("h{}", place + 1),
        nodes: (0..12).filter(|node| node % 3 == place).collect(),
        units: Distribution::Constant(f64::from(place + 1)),
        urgency: UrgencyOf::Priority(Distribution::Constant(priority)),
        ..Class::closed(12, Distribution::Exponential { mean: think }, Distribution::Exponential { mean: 1.0 })
    };
    scenario.traffic.classes = (0..).zip(priorities).map(class).collect();
    scenario
}

/// J-15.
pub(super) fn priority_by_amount(lab: &Lab) -> Finding {
    let (seeds, duration) = size(lab);
    let policies = [
        ("small first", [3.0, 2.0, 1.0], 0),
        ("first come, first served", [1.0, 1.0, 1.0], 0),
        ("large first", [1.0, 2.0, 3.0], 0),
        ("small first, aging D = 20", [3.0, 2.0, 1.0], 20),
    ];
    let mut rows = Vec::new();
    let mut found: Vec<Samples> = Vec::new();
    // As printed aging is another rule.
    let runs = [0, 1, 2]
        .into_iter()
        .flat_map(|place| policies.into_iter().take(if place == 2 { 4 } else { 3 }).map(move |policy| (place, policy)));
    // How many requests of a class entered before the end.
    let entries = |sample: &Sample, class: u16| {
        sample.granted().filter(|request| request.class == class && request.granted <= Some(sample.outcome.end)).count()
            as f64
    };
    for (place, (policy, priorities, aging)) in runs {
        let [one, two, three] = in_texts(&amounts(1.0, duration, priorities, aging));
        let (text, scenario) = [one, two, three][place].clone();
        let samples = lab.replicate(&scenario, seeds);
        let entered = |class| samples.estimate_of(|sample| entries(sample, class) / sample.outcome.end.seconds());
        let name = format!("{text}, {policy}");
        rows.push(
            [words(name)]
                .into_iter()
                .chain(["concurrency.mean-all-time", "units.used"].map(|measure| mean(samples.estimate(measure))))
                .chain([0, 1, 2].map(|class| mean(entered(class))))
                .chain([mean(samples.estimate("wait.h3.max"))])
                .collect(),
        );
        found.push(samples);
    }
    let difference = |one: usize, other: usize, measure: &str| {
        paired(&found[one].values(measure), &found[other].values(measure), 0.95)
            .map_or(Estimate::of(&[], 0.95), |comparison| comparison.difference)
    };
    let inside = "concurrency.mean-all-time";
    let columns: Vec<Column> = [(Text::Printed, 0), (with(PUT_BACK), 3), (Text::Repaired, 6)]
        .into_iter()
        .map(|(text, first)| {
            let facts = vec![
                Fact::mean(SMALL_FIRST, difference(first, first + 1, inside)),
                Fact::mean(LARGE_FIRST, difference(first + 1, first + 2, inside)),
            ];
            let runs = found[first..first + 3].iter().fold(Runs::default(), |all, one| all.and(one.into()));
            Column::new(text, runs, facts)
        })
        .collect();
    let large_uses_more = difference(8, 6, "units.used").low() > 0.0;
    // Of the class that wants everything.
    let [starved, aged] = [6, 9].map(|place: usize| found[place].sum(|sample| entries(sample, 2)));
    let told = |place: usize| found[place].estimate(inside).to_string();
    let all = |first: usize| [first, first + 1, first + 2].map(told).join(", ");
    Finding {
        columns,
        measured: format!(
            "inside at once with small first, first come, large first: {} as printed, {} with p1 and p2, {} repaired; \
             entries of h = k repaired: {starved} small first, {aged} with aging",
            all(0),
            all(3),
            all(6)
        ),
        checks: vec![
            check("repaired, large first uses more units", large_uses_more),
            check("who wants all of them starves if small ones go first, but not with aging", starved < 0.05 * aged),
        ],
        evidence: vec![
            table(
                "Four nodes each ask for 1, 2 and 3 of 3 units, think 1 (overload)",
                "policy | inside at once | units in use | entries/unit, h = 1 | h = 2 | h = 3 | longest wait, h = 3",
                rows,
            ),
            note(format!(
                "Repaired, priority to small amounts gives the most grants at once. It does not give the most units in \
                 use, which we had expected too: large first uses {} units more, since one hand-over of the token then \
                 fills all three.",
                difference(8, 6, "units.used")
            )),
        ],
    }
}
