//! J-4 and J-12: who is served before whom.

use std::collections::BTreeMap;

use meshlock_core::NodeId;
use meshlock_core::view::{Origin, View};
use meshlock_report::table::Cell;
use meshlock_sim::scenario::ProtocolName;
use meshlock_sim::time::Time;
use meshlock_statistics::Estimate;

use super::after::passing_share;
use super::setup::{PUT_BACK, With, twelve};
use super::show::{mean, note, table, words};
use super::size;
use super::watching::{Seen, Watcher, watch};
use crate::claim::{Finding, Verdict};
use crate::lab::{Lab, Samples};

/// J-4.
pub(super) fn most_urgent_first(lab: &Lab) -> Finding {
    let (seeds, duration) = size(lab);
    let mut rows = Vec::new();
    let mut told = Vec::new();
    let (mut good, mut passes_settled) = (true, true);
    for (amounts, high) in [("h = 1", 1), ("h 1..3", 3)] {
        let base = twelve(10.0, duration).units(3, 1, high);
        let runs = [
            ("printed", base.clone().published(&[])),
            ("lost requests put back", base.clone().published(PUT_BACK)),
            ("repaired", base.clone()),
            ("central", base.clone().protocol(ProtocolName::Central)),
            ("omniscient", base.protocol(ProtocolName::Omniscient)),
        ];
        for (text, scenario) in runs {
            let samples = lab.replicate(&scenario, seeds);
            let known = samples.estimate("inversions.known");
            let settled = samples.estimate("inversions.settled/entry");
            let any = samples.estimate("inversions.any/entry");
            match text {
                "repaired" => {
                    told.push(format!("{amounts}: known {:.3}, settled {settled:.4}, any {any}", known.mean));
                    good &= known.mean == 0.0 && settled.mean < 0.01 && (0.06..0.3).contains(&any.mean);
                }
                "lost requests put back" => passes_settled &= known.mean == 0.0 && settled.mean > 0.02,
                "omniscient" => good &= any.mean == 0.0,
                _ => {}
            }
            rows.push(vec![words(format!("{amounts}, {text}")), mean(known), mean(settled), mean(any)]);
        }
    }
    Finding {
        measured: format!("repaired, inversions per entry: {}", told.join("; ")),
        verdict: match (good, passes_settled) {
            (true, true) => Verdict::HoldsRepaired,
            (true, false) => Verdict::Holds,
            (false, _) => Verdict::Wrong,
        },
        as_expected: good && passes_settled,
        evidence: vec![
            table(
                "Inversions per entry, k = 3, think 10, strict priority",
                &["run", "(a) known to the granter", "(b) settled", "(c) any"],
                rows,
            ),
            note(
                "(b) is not exactly 0 when repaired: a claim is given the time of a message across the network, \
                 but the token may move away from it meanwhile. The printed text does not report a more urgent \
                 request on every way (p4 to p6), so it passes settled requests far more often.",
            ),
        ],
    }
}

/// Sees whether two claims that stay in a queue change places.
#[derive(Default)]
struct Queues {
    before: BTreeMap<NodeId, Vec<Origin>>,
    kept: u64,
    swapped: u64,
}

impl Watcher for Queues {
    fn handled(&mut self, _now: Time, seen: Seen) {
        let View { queue, .. } = seen.view;
        let after: Vec<Origin> = queue.into_iter().map(|claim| claim.origin).collect();
        // What the sender of the message says now is a new claim.
        let renewed = seen.received.map(|(from, _)| Origin::Node(from));
        let before = self.before.insert(seen.node, after.clone()).unwrap_or_default();
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
    let passing = |samples: &Samples| {
        let shares: Vec<f64> = samples.0.iter().map(|sample| passing_share(&sample.outcome)).collect();
        Estimate::of(&shares, 0.95)
    };
    let runs = [
        ("printed", base().published(&[])),
        ("lost requests put back", base().published(PUT_BACK)),
        ("repaired", base()),
        ("Raymond", base().protocol(ProtocolName::Raymond)),
        ("central", base().protocol(ProtocolName::Central)),
        ("omniscient", base().protocol(ProtocolName::Omniscient)),
    ];
    let mut rows = Vec::new();
    let mut shares = BTreeMap::new();
    for (text, scenario) in &runs {
        let share = passing(&lab.replicate(scenario, seeds));
        shares.insert(*text, share);
        rows.push(vec![words(*text), mean(share)]);
    }
    let mut queues = Vec::new();
    let (mut kept, mut swapped) = (0, 0);
    for (text, scenario) in runs.iter().take(3) {
        let seen: Vec<Queues> =
            (1..=lab.choose(1, 3, 10)).map(|seed| watch(scenario, seed, Queues::default()).0).collect();
        let (stayed, moved): (u64, u64) =
            (seen.iter().map(|seen| seen.kept).sum(), seen.iter().map(|seen| seen.swapped).sum());
        (kept, swapped) = (kept + stayed, swapped + moved);
        queues.push(vec![words(*text), Cell::Number(stayed as f64), Cell::Number(moved as f64)]);
    }
    let of = |text: &str| shares.get(text).map_or(f64::NAN, |share| share.mean);
    let global = of("lost requests put back") > 0.02 && of("repaired") > 0.02 && of("omniscient") == 0.0;
    Finding {
        measured: format!(
            "entries that pass an earlier request: {} as printed (lost requests put back), {} repaired; claims \
             of one queue that changed places: {swapped} of {kept}",
            shares["lost requests put back"], shares["repaired"]
        ),
        verdict: if swapped == 0 { Verdict::Holds } else { Verdict::Wrong },
        as_expected: swapped == 0 && kept > 0 && global,
        evidence: vec![
            table("Entries that pass a request made before, all priorities equal, h = k = 1", &["run", "share"], rows),
            table("Order in the queues", &["run", "pairs kept over an event", "changed places"], queues),
            note(
                "With equal priorities and h = k = 1 the printed text with its lost requests put back is the \
                 algorithm it builds on. Each queue is first come, first served; the network as a whole is not, \
                 since a node asks once for all that wait behind it.",
            ),
        ],
    }
}
