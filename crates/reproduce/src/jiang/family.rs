//! The set-up in which the reverse-link graph was first measured, as far as it is known: thirty nodes, few or many
//! links, changes seldom or often, from little to much load. The numbers are ours; those of its authors are not known.

use meshlock_report::chart::Series;
use meshlock_report::table::Cell;
use meshlock_sim::scenario::Name;

use super::messages::{Pair, half_of_the_messages};
use super::setup::{With, seconds, thirty};
use super::shared::{THIRTY, holding, shared_by_thirty};
use crate::prelude::*;

/// One set of links and changes at all loads.
struct Sweep {
    connectivity: f64,
    changes: &'static str,
    /// By think time: the printed text and ours, and Raymond's tree.
    loads: Vec<(f64, Pair, Samples)>,
    /// The same pairs with messages held back, by bound.
    held: Vec<Vec<(f64, Pair)>>,
}

/// Waiting times and messages per entry of the printed text with its lost requests put back, of the repaired protocol
/// and of Raymond's tree over ideal routing; and whether they are as expected.
pub(super) fn family(lab: &Lab) -> (Vec<Evidence>, bool) {
    let seeds = lab.choose(2, 3, 5);
    let thinks = lab.choose(
        vec![10.0, 300.0],
        vec![10.0, 100.0, 1_000.0],
        vec![3.0, 10.0, 30.0, 100.0, 300.0, 1_000.0, 3_000.0],
    );
    let changes = [("none", None), ("1 per 500", Some(500.0)), ("1 per 50", Some(50.0))];
    let changes = lab.choose(vec![changes[2]], changes.to_vec(), changes.to_vec());
    let mut sweeps = Vec::new();
    for connectivity in [0.2, 0.8] {
        for (changes, every) in &changes {
            // Long enough for some hundred entries also where they are rare.
            let base = |think: f64| {
                let duration = lab.choose(600.0, 1_500.0, 4_000.0) * (think / 100.0).clamp(1.0, 3.0);
                thirty(connectivity, think, duration).changing(*every)
            };
            let load = |think: &f64| {
                let base = base(*think);
                let name = format!("{:.0} % of the links, changes {changes}, think {think}", 100.0 * connectivity);
                let raymond = lab.replicate(&base.clone().protocol(Name::Raymond), seeds);
                (*think, Pair::run(lab, name, &base, seeds), raymond)
            };
            let hold = |think: &f64| -> Vec<(f64, Pair)> {
                let pair = |bound: f64| Pair::run(lab, "", &holding(&base(*think), seconds(bound)), seeds);
                THIRTY.into_iter().map(|bound| (bound, pair(bound))).collect()
            };
            let (loads, held) = (thinks.iter().map(load).collect(), thinks.iter().map(hold).collect());
            sweeps.push(Sweep { connectivity, changes, loads, held });
        }
    }
    let right = sweeps.iter().all(as_expected);
    let rows = sweeps.iter().flat_map(Sweep::rows).collect();
    let mut evidence = vec![table(
        "Thirty nodes, critical section 1, delay 1, k = 1 (Raymond: over ideal routing; hops count as messages)",
        "run | wait, printed | repaired | Raymond | messages per entry, printed | repaired | Raymond",
        rows,
    )];
    for connectivity in [0.2, 0.8] {
        let of = |measure| -> Vec<Series> {
            sweeps
                .iter()
                .filter(|sweep| sweep.connectivity == connectivity)
                .filter(|sweep| sweep.changes != "1 per 500")
                .flat_map(|sweep| sweep.series(measure))
                .collect()
        };
        let links = format!("{:.0} % of the links", 100.0 * connectivity);
        let think = || log_scale("mean think time", "");
        evidence.push(figure(
            &format!("Waiting time, thirty nodes, {links}"),
            think(),
            scale("mean wait", ""),
            of("wait.mean"),
        ));
        evidence.push(figure(
            &format!("Messages per entry, thirty nodes, {links}"),
            think(),
            scale("messages per entry", ""),
            of("frames/entry"),
        ));
    }
    evidence.push(note(
        "The numbers of the paper that this set-up comes from are not known to us; its finding was that adapting to \
         changes shortens waits compared with a static tree. That is seen here too: Raymond's tree does not know the \
         links, so each of its messages takes several hops.",
    ));
    let of_sweep = |sweep: Sweep| sweep.loads.into_iter().map(|(_, pair, _)| pair).zip(sweep.held);
    let pairs: Vec<(Pair, Vec<(f64, Pair)>)> = sweeps.into_iter().flat_map(of_sweep).collect();
    let shared = shared_by_thirty(&pairs);
    let alone: Vec<Pair> = pairs.into_iter().map(|(alone, _)| alone).collect();
    evidence.extend(half_of_the_messages(&alone));
    evidence.extend(shared);
    (evidence, right)
}

/// No request is stuck, Raymond waits longer than both, and ours needs fewer messages than the printed text.
fn as_expected(sweep: &Sweep) -> bool {
    sweep.loads.iter().all(|(_, pair, raymond)| {
        let all = [&pair.printed, &pair.repaired, raymond];
        let stuck = all.iter().map(|samples| samples.total("stuck")).sum::<f64>();
        let wait = |samples: &Samples| samples.estimate("wait.mean").mean;
        let messages = |samples: &Samples| samples.estimate("messages/entry").mean;
        let slowest = wait(raymond) > wait(&pair.printed).max(wait(&pair.repaired));
        stuck == 0.0 && slowest && messages(&pair.repaired) < 0.75 * messages(&pair.printed)
    })
}

impl Sweep {
    fn rows(&self) -> impl Iterator<Item = Vec<Cell>> {
        self.loads.iter().map(|(_, pair, raymond)| {
            let all = [&pair.printed, &pair.repaired, raymond];
            let cells = |measure: &'static str| all.map(|samples| mean(samples.estimate(measure)));
            [words(&pair.name)].into_iter().chain(cells("wait.mean")).chain(cells("frames/entry")).collect()
        })
    }

    fn series(&self, measure: &str) -> Vec<Series> {
        let curve = |name: &str, of: fn(&(f64, Pair, Samples)) -> &Samples| {
            let points = self.loads.iter().map(|load| point(load.0, of(load).estimate(measure))).collect();
            Series { dashed: self.changes != "none", ..line(format!("{name}, changes {}", self.changes), points) }
        };
        vec![
            curve("printed", |load| &load.1.printed),
            curve("repaired", |load| &load.1.repaired),
            curve("Raymond", |load| &load.2),
        ]
    }
}
