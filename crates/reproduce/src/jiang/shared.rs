//! Frames that carry several messages: what nobody waits for is held back for the next message on its link.
//!
//! Both texts are driven in the same way: what one event sends to a neighbour is one frame, and what a protocol says can
//! wait goes with the next message. In ours that is `here` to the giver of the token, and `received`. In the printed text
//! it is LINK to the giver, who has noted the height of the receiver when it gave the token away.

use meshlock_report::table::Cell;
use meshlock_sim::scenario::{Network, Scenario};
use meshlock_sim::time::Span;
use meshlock_statistics::Estimate;

use super::messages::Pair;
use super::setup::{With, seconds, twelve};
use crate::prelude::*;

/// How long messages are held back at most, in mean delays of a link. Zero: only what one event sends to a neighbour
/// shares a frame.
const BOUNDS: [f64; 6] = [0.0, 1.0, 5.0, 20.0, 100.0, 500.0];

/// The mean delay of a link of twelve nodes, in seconds.
const DELAY: f64 = 0.1;

/// What a frame takes on the radio of the report, in seconds.
const AIRTIME: f64 = 0.001_9;

const COLUMNS: &str = "run | held back for at most | frames per entry, printed | repaired | repaired / printed \
                       | repaired / printed with each message alone | wait, printed | wait, repaired";

/// Runs whose messages were counted one by one, and the same with several bounds.
struct Sweep<'a> {
    name: &'a str,
    alone: &'a Pair,
    held: Vec<(f64, Pair)>,
}

impl<'a> Sweep<'a> {
    fn run(lab: &Lab, name: &'a str, scenario: &Scenario, delay: f64, alone: &'a Pair) -> Self {
        let seeds = super::size(lab).0;
        let held = |bound: f64| (bound, Pair::run(lab, name, &holding(scenario, seconds(bound * delay)), seeds));
        Self { name, alone, held: BOUNDS.into_iter().map(held).collect() }
    }

    fn rows(&self) -> impl Iterator<Item = Vec<Cell>> {
        let alone = row(self.name, "each message alone", self.alone, self.alone);
        let held = self.held.iter().map(|(bound, pair)| row(self.name, &delays(*bound), pair, self.alone));
        [alone].into_iter().chain(held)
    }

    /// Our frames by the printed ones with the longest bound, driven in the same way and with each of theirs alone.
    fn longest(&self) -> (f64, f64) {
        self.held.last().map_or((f64::NAN, f64::NAN), |(_, pair)| {
            (ratio(&pair.repaired, &pair.printed).mean, ratio(&pair.repaired, &self.alone.printed).mean)
        })
    }

    /// The shortest bound with which we need at most half of the frames that the printed text has messages.
    fn half(&self) -> Option<f64> {
        let is_half = |pair: &Pair| ratio(&pair.repaired, &self.alone.printed).mean <= 0.5;
        self.held.iter().find(|(_, pair)| is_half(pair)).map(|(bound, _)| *bound)
    }

    /// Nobody waits longer for it, but for chance: other delays are drawn, so intervals are compared.
    fn is_as_fast(&self) -> bool {
        let wait = |pair: &Pair| pair.repaired.estimate("wait.mean");
        let most = 1.1 * wait(self.alone).high();
        self.held.iter().all(|(_, pair)| wait(pair).low() <= most)
    }
}

fn delays(bound: f64) -> String {
    format!("{bound} delays")
}

/// The same, with what can wait held back.
pub(super) fn holding(scenario: &Scenario, bound: Span) -> Scenario {
    scenario.clone().with(|scenario| match &mut scenario.network {
        Network::Radio(radio) => radio.hold_back = Some(bound),
        Network::Wired(wired) => wired.hold_back = Some(bound),
    })
}

fn ratio(ours: &Samples, theirs: &Samples) -> Estimate {
    let (ours, theirs) = (ours.values("frames/entry"), theirs.values("frames/entry"));
    let ratios: Vec<f64> = ours.iter().zip(theirs).map(|(ours, theirs)| ours / theirs).collect();
    Estimate::of(&ratios, 0.95)
}

fn row(name: &str, bound: &str, pair: &Pair, alone: &Pair) -> Vec<Cell> {
    let of = |samples: &Samples, measure: &str| mean(samples.estimate(measure));
    vec![
        words(name),
        words(bound),
        of(&pair.printed, "frames/entry"),
        of(&pair.repaired, "frames/entry"),
        mean(ratio(&pair.repaired, &pair.printed)),
        mean(ratio(&pair.repaired, &alone.printed)),
        of(&pair.printed, "wait.mean"),
        of(&pair.repaired, "wait.mean"),
    ]
}

/// Frames per entry of both texts with several bounds, on wires and on a radio; and whether they are as expected.
pub(super) fn shared(
    lab: &Lab,
    wires: &[(&str, Scenario)],
    alone: &[Pair],
    radio: (&Scenario, &Pair),
) -> (Vec<Evidence>, bool) {
    let sweeps: Vec<Sweep<'_>> = wires
        .iter()
        .zip(alone)
        .map(|((name, scenario), alone)| Sweep::run(lab, name, scenario, DELAY, alone))
        .collect();
    let on_air = Sweep::run(lab, "radio, grid of 25", radio.0, AIRTIME, radio.1);
    let near = |value: f64, low: f64, high: f64| (low..=high).contains(&value);
    let as_expected = |sweep: &Sweep<'_>| {
        let (same, printed_alone) = sweep.longest();
        let (same_right, alone_right) = if sweep.name.starts_with("k = 3, h = 1") {
            (near(same, 0.7, 0.9), near(printed_alone, 0.45, 0.62))
        } else {
            (near(same, 0.35, 0.75), near(printed_alone, 0.25, 0.55))
        };
        same_right && alone_right && sweep.is_as_fast()
    };
    let right = sweeps.iter().all(as_expected) && on_air.is_as_fast();
    let halves: Vec<String> = sweeps
        .iter()
        .map(|sweep| match sweep.half() {
            Some(bound) => format!("{}: from {}", sweep.name, delays(bound)),
            None => format!("{}: with none of these bounds", sweep.name),
        })
        .collect();
    let evidence = vec![
        table(
            "Frames per entry where messages that nobody waits for go with the next one on their link, twelve nodes",
            COLUMNS,
            sweeps.iter().flat_map(Sweep::rows).collect(),
        ),
        note(format!(
            "Our frames are at most half of the printed text's messages, in the mean: {}. Driven in the same way the \
             printed text saves frames too: LINK to the giver of the token waits, and TOKEN and REQUEST to one \
             neighbour are one frame.",
            halves.join("; ")
        )),
        table("The same on the radio; a delay is 1.9 ms", COLUMNS, on_air.rows().collect()),
        lossy(lab),
        note(
            "Where a link takes with it what is on it, a confirmation that is held back leaves a copy of the token in \
             doubt, and all nodes are asked.",
        ),
    ];
    (evidence, right)
}

/// What it costs that confirmations come later, where links fail and lose what is on them.
fn lossy(lab: &Lab) -> Evidence {
    let (seeds, duration) = super::size(lab);
    let changing = |scenario: Scenario| scenario.changing(5.0).links(|wired| wired.gentle = false);
    let runs = [
        ("k = 1, think 50", changing(twelve(50.0, 3.0 * duration))),
        ("k = 1, think 10", changing(twelve(10.0, duration))),
        ("k = 3, h = 1, think 10", changing(twelve(10.0, duration).units(3, 1, 1))),
    ];
    let row = |name: &str, bound: &str, scenario: &Scenario| {
        let samples = lab.replicate(scenario, seeds);
        let of = |measure: &str| mean(samples.estimate(measure));
        let news = mean(samples.estimate_of(|sample| sample.or_zero("messages.news/entry")));
        vec![words(name), words(bound), of("frames/entry"), of("messages/entry"), news, of("wait.mean"), of("wait.p99")]
    };
    let mut rows = Vec::new();
    for (name, scenario) in &runs {
        rows.push(row(name, "each message alone", scenario));
        for bound in BOUNDS {
            rows.push(row(name, &delays(bound), &holding(scenario, seconds(bound * DELAY))));
        }
    }
    table(
        "Repaired, 0.2 changes of links per unit that lose what is on them, twelve nodes",
        "run | held back for at most | frames per entry | messages | of them news | wait | wait, 99 %",
        rows,
    )
}

/// The thirty nodes: each run alone and held back.
pub(super) fn shared_by_thirty(pairs: &[(Pair, Vec<(f64, Pair)>)]) -> Vec<Evidence> {
    let rows = |(alone, held): &(Pair, Vec<(f64, Pair)>)| -> Vec<Vec<Cell>> {
        let first = row(&alone.name, "each message alone", alone, alone);
        let others = held.iter().map(|(bound, pair)| row(&alone.name, &delays(*bound), pair, alone));
        [first].into_iter().chain(others).collect()
    };
    let reached = |bound: usize, same: bool| {
        let is_half = |(alone, held): &&(Pair, Vec<(f64, Pair)>)| {
            let Some((_, pair)) = held.get(bound) else { return false };
            ratio(&pair.repaired, if same { &pair.printed } else { &alone.printed }).mean <= 0.5
        };
        pairs.iter().filter(is_half).count()
    };
    let of_bound = |(place, bound): (usize, &f64)| {
        format!(
            "{}: {} of {} rows (driven in the same way: {})",
            delays(*bound),
            reached(place, false),
            pairs.len(),
            reached(place, true)
        )
    };
    let all: Vec<String> = THIRTY.iter().enumerate().map(of_bound).collect();
    vec![
        table(
            "Frames per entry where messages that nobody waits for go with the next one on their link, thirty nodes",
            COLUMNS,
            pairs.iter().flat_map(rows).collect(),
        ),
        note(format!("Our frames are at most half of the printed text's messages with bounds of {}.", all.join("; "))),
    ]
}

/// The bounds of the thirty nodes, whose links have a delay of 1.
pub(super) const THIRTY: [f64; 2] = [20.0, 100.0];
