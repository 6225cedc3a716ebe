//! J-4 and J-12: who is served before whom.

use std::collections::BTreeMap;

use meshlock_core::view::Origin;
use meshlock_core::{Effect, Event, Misuse, NodeId, Protocol};
use meshlock_protocols::{Message, Node};
use meshlock_report::table::Cell;
use meshlock_sim::observe::Observer;
use meshlock_sim::scenario::Name;
use meshlock_sim::time::Time;
use meshlock_statistics::proportion;

use super::after::passing_share;
use super::safety::ENTRIES;
use super::setup::{With, in_texts, twelve};
use super::size;
use crate::prelude::*;
use crate::verdict::Text;

pub(super) const KNOWN: &str = "inversions known to the granter, per entry";
pub(super) const SETTLED: &str = "settled inversions, per entry";
pub(super) const SWAPPED: &str = "claims of a queue that changed places";
pub(super) const KEPT: &str = "pairs of claims kept over an event";

/// Inversions of all three kinds in three texts and two baselines, with one or several units per request.
struct Inversions {
    columns: Vec<Column>,
    rows: Vec<Vec<Cell>>,
    told: Vec<String>,
    checks: Vec<Check>,
}

fn inversions(lab: &Lab, (seeds, duration): (u64, f64)) -> Inversions {
    let (mut rows, mut told, mut checks) = (Vec::new(), Vec::new(), Vec::new());
    let mut columns: Vec<Column> = Vec::new();
    for (amounts, high) in [("h = 1", 1), ("h 1..3", 3)] {
        let base = twelve(10.0, duration).units(3, 1, high);
        for (text, scenario) in in_texts(&base) {
            let samples = lab.replicate(&scenario, seeds);
            let known = samples.estimate("inversions.known");
            // All entries of all runs together: a mean over runs of a share that is nearly 0 says little.
            let entries = samples.total("entries");
            let settled = samples.sum(|sample| sample.or_zero("inversions.settled/entry") * sample.or_zero("entries"));
            let settled = proportion(settled.round() as u64, entries as u64, 0.95);
            let any = samples.estimate("inversions.any/entry");
            told.push(format!("{amounts}, {text}: {:.4}", settled.share));
            rows.push(vec![
                words(format!("{amounts}, {text}")),
                mean(known),
                words(format!("{:.4} ({:.4} to {:.4})", settled.share, settled.low, settled.high)),
                mean(any),
            ]);
            if text == Text::Repaired {
                let what = format!("{amounts}, repaired: 0.06 to 0.3 of entries pass somebody more urgent (c)");
                checks.push(check(what, (0.06..0.3).contains(&any.mean)));
            }
            // The worse of the two amounts decides; each is 0 or not.
            let column = Column::of(&mut columns, &text, &samples);
            for (name, value) in [(KNOWN, known.mean), (SETTLED, settled.share), (ENTRIES, entries)] {
                column.most(name, value);
            }
        }
        for (name, protocol) in [("central", Name::Central), ("omniscient", Name::Omniscient)] {
            let samples = lab.replicate(&base.clone().protocol(protocol), seeds);
            let [known, settled, any] = ["inversions.known", "inversions.settled/entry", "inversions.any/entry"]
                .map(|measure| samples.estimate(measure));
            if name == "omniscient" {
                checks.push(check(format!("{amounts}: an omniscient scheduler passes nobody"), any.mean == 0.0));
            }
            rows.push(vec![words(format!("{amounts}, {name}")), mean(known), mean(settled), mean(any)]);
        }
    }
    Inversions { columns, rows, told, checks }
}

/// J-4a.
pub(super) fn most_urgent_known_first(lab: &Lab) -> Finding {
    let (seeds, duration) = size(lab);
    // Every grant of every run is looked at, so a third of the runs will do.
    let Inversions { columns, rows, checks, .. } = inversions(lab, (seeds.div_ceil(3), duration));
    let known = told(&columns, |column| column.value(KNOWN).to_string());
    Finding {
        columns,
        measured: format!("inversions known to the granter, per entry: {known}"),
        checks,
        evidence: vec![inversions_table(rows)],
    }
}

/// J-4b.
pub(super) fn most_urgent_first(lab: &Lab) -> Finding {
    let Inversions { columns, rows, told, .. } = inversions(lab, size(lab));
    let settled = |place: usize| columns.get(place).map_or(f64::NAN, |column| column.value(SETTLED));
    let checks = vec![
        check("repaired: below 0.01", settled(2) < 0.01),
        check("printed with p1, p2: more than twice as many as repaired", settled(1) > 2.0 * settled(2)),
    ];
    Finding {
        columns,
        measured: format!("settled inversions per entry, claimed 0: {}", told.join(", ")),
        checks,
        evidence: vec![
            inversions_table(rows),
            note(
                "0 is claimed, and no text reaches it: a claim is given the time of a message across the network, but \
                 the token may move away from it meanwhile. The printed text does not report a more urgent request on \
                 every way (p4 to p6), so it passes settled requests far more often.",
            ),
        ],
    }
}

fn inversions_table(rows: Vec<Vec<Cell>>) -> Evidence {
    table(
        "Inversions per entry, k = 3, think 10, strict priority",
        "run | (a) known to the granter | (b) settled | (c) any",
        rows,
    )
}

/// Sees whether two claims that stay in a queue change places.
#[derive(Default)]
struct Queues {
    before: BTreeMap<NodeId, Vec<Origin>>,
    kept: u64,
    swapped: u64,
}

impl Observer for Queues {
    fn handled(&mut self, _: Time, node: &Node, event: Event<Message>, _: Result<&[Effect<Message>], Misuse>) {
        let after: Vec<Origin> = node.view().queue.into_iter().map(|claim| claim.origin).collect();
        // What the sender of the message says now is a new claim.
        let renewed = received(&event).map(|(from, _)| Origin::Node(from));
        let before = self.before.insert(node.id(), after.clone()).unwrap_or_default();
        let place = |origin: &Origin| after.iter().position(|other| other == origin);
        let places: Vec<usize> = before.iter().filter(|origin| Some(**origin) != renewed).filter_map(place).collect();
        self.kept += places.len().saturating_sub(1) as u64;
        self.swapped += places.windows(2).filter(|pair| pair[0] > pair[1]).count() as u64;
    }
}

/// J-12.
pub(super) fn equal_priorities(lab: &Lab) -> Finding {
    let (seeds, duration) = size(lab);
    let base = || twelve(5.0, duration).equals();
    let passing = |samples: &Samples| samples.estimate_of(|sample| passing_share(&sample.outcome));
    let others = [("Raymond", Name::Raymond), ("central", Name::Central), ("omniscient", Name::Omniscient)];
    let (mut rows, mut queues, mut columns) = (Vec::new(), Vec::new(), Vec::new());
    let mut shares = Vec::new();
    for (text, scenario) in in_texts(&base()) {
        let samples = lab.replicate(&scenario, seeds);
        let share = passing(&samples);
        rows.push(vec![words(&text), mean(share)]);
        let watched = watch(&scenario, lab.choose(1, 3, 10), |_| Queues::default());
        let (kept, swapped) =
            watched.iter().fold((0, 0), |(kept, swapped), (of, _)| (kept + of.kept, swapped + of.swapped));
        queues.push(vec![words(&text), count(kept), count(swapped)]);
        shares.push(format!("{text} {share}"));
        let facts = vec![
            Fact::count(SWAPPED, swapped),
            Fact::count(KEPT, kept),
            Fact::mean("share of entries that pass an earlier request", share),
        ];
        columns.push(Column::new(text, &samples, facts));
    }
    let mut bound = f64::NAN;
    for (name, protocol) in others {
        let share = passing(&lab.replicate(&base().protocol(protocol), seeds));
        rows.push(vec![words(name), mean(share)]);
        bound = share.mean;
    }
    let passes = |column: &Column| column.facts[2].value > 0.02;
    Finding {
        measured: format!("entries that pass an earlier request: {}", shares.join(", ")),
        checks: vec![
            check(
                "in the network as a whole some pass earlier requests (p1, p2 and repaired)",
                columns[1..].iter().all(passes),
            ),
            check("none with an omniscient scheduler", bound == 0.0),
        ],
        columns,
        evidence: vec![
            table("Entries that pass a request made before, all priorities equal, h = k = 1", "run | share", rows),
            table("Order in the queues", "run | pairs kept over an event | changed places", queues),
            note(
                "With equal priorities and h = k = 1 the printed text with its lost requests put back is the algorithm \
                 it builds on. Each queue is first come, first served; the network as a whole is not, since a node \
                 asks once for all that wait behind it.",
            ),
        ],
    }
}
