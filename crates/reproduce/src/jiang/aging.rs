//! J-6: what aging adds, when, and what it does to the protocol.

use std::collections::BTreeMap;

use meshlock_core::reverse_link::Height;
use meshlock_core::reverse_link::published::{Body, Config, Message, Node, network};
use meshlock_core::view::Origin;
use meshlock_core::{Demand, Event, NodeId, Protocol, Rank, RequestId, Units};
use meshlock_report::table::Cell;
use meshlock_sim::distribution::Distribution;
use meshlock_sim::scenario::{Scenario, Shape, UrgencyOf};
use meshlock_sim::time::Time;
use meshlock_statistics::{Estimate, line as fit};

use super::setup::{PUT_BACK, With, twelve, wired};
use super::show::{mean, note, table, words};
use super::size;
use super::watching::{Seen, Watcher, watch};
use crate::claim::{Finding, Verdict};
use crate::lab::Lab;

/// Follows the claims in the queue of node 0, the middle of a star that asks for nothing itself: how much more urgent
/// each one is than when it came, over how often the token has left since.
#[derive(Default)]
struct Claims {
    passes: u64,
    /// By neighbour: its rank and the number of passes when it came.
    came: BTreeMap<NodeId, (i64, u64)>,
    points: Vec<(f64, f64)>,
}

impl Watcher for Claims {
    fn handled(&mut self, _now: Time, seen: Seen) {
        if seen.node != NodeId(0) {
            return;
        }
        self.passes += seen.sends("token");
        let queue: BTreeMap<NodeId, i64> = seen
            .view
            .queue
            .iter()
            .filter_map(|claim| match claim.origin {
                Origin::Node(node) => Some((node, claim.rank.0)),
                Origin::Local(_) => None,
            })
            .collect();
        self.came.retain(|node, _| queue.contains_key(node));
        for (node, rank) in queue {
            let speaks = seen.received.is_some_and(|(from, _)| from == node);
            if speaks {
                self.came.insert(node, (rank, self.passes));
            }
            let (first, then) = *self.came.entry(node).or_insert((rank, self.passes));
            if self.passes > then {
                self.points.push(((self.passes - then) as f64, (rank - first) as f64));
            }
        }
    }
}

/// The middle of a star is inside while two neighbours ask; then it leaves. By how much the one that stays behind has
/// aged: once for the leaving, once for the pass.
fn aged_by_leaving(epsilon: u32) -> Option<i64> {
    let mut middle: Node =
        network(3, &[(0, 1), (0, 2)], NodeId(0), Config::printed(1).aging(epsilon)).into_iter().next()?;
    middle.handle(Event::Request { request: RequestId(1), demand: Demand::units(1, 1) }).ok()?;
    for (id, rank) in [(1, 50), (2, 10)] {
        let height = Height { level: 0, depth: 1, id: NodeId(id) };
        let message = Message { height, body: Body::Request(Rank(rank)) };
        middle.handle(Event::Receive { from: NodeId(id), message }).ok()?;
    }
    middle.handle(Event::Release { request: RequestId(1), units: Units(1) }).ok()?;
    middle.view().queue.first().map(|claim| claim.rank.0 - 10)
}

/// Priorities in steps of ten, so that an epsilon of 1 is a tenth of a step.
fn in_tens(mut scenario: Scenario) -> Scenario {
    let tens: Vec<(f64, f64)> = (1..=10).map(|priority| (f64::from(priority) * 10.0, 1.0)).collect();
    for class in &mut scenario.traffic.classes {
        class.urgency = UrgencyOf::Priority(Distribution::Choice(tens.clone()));
    }
    scenario
}

/// J-6.
pub(super) fn adds_epsilon(lab: &Lab) -> Finding {
    let (seeds, duration) = size(lab);
    let mut rows = Vec::new();
    let mut exact = true;
    let mut slopes = Vec::new();
    for epsilon in [1, 2, 5] {
        let mut star = in_tens(twelve(5.0, duration)).published(PUT_BACK).epsilon(epsilon);
        star.network = wired(Shape::Star, Distribution::Uniform { low: 0.05, high: 0.15 });
        for class in &mut star.traffic.classes {
            class.nodes.retain(|node| *node != 0);
        }
        let (claims, _) = watch(&star, 1, Claims::default());
        let (xs, ys): (Vec<f64>, Vec<f64>) = claims.points.into_iter().unzip();
        let slope = fit(&xs, &ys, 0.95);
        let off = xs.iter().zip(&ys).map(|(x, y)| (y - x * f64::from(epsilon)).abs()).fold(0.0, f64::max);
        let leaving = aged_by_leaving(epsilon);
        exact &= off == 0.0 && xs.len() > 20 && leaving == Some(2 * i64::from(epsilon));
        slopes.push(format!("{:.3}", slope.slope));
        rows.push(vec![
            Cell::Number(epsilon.into()),
            Cell::Number(xs.len() as f64),
            Cell::Number(slope.slope),
            Cell::Number(off),
            Cell::Number(leaving.unwrap_or(-1) as f64),
        ]);
    }
    let mut costs = Vec::new();
    let mut means = Vec::new();
    let epsilons = [("epsilon 0", 0), ("epsilon a tenth of a step", 1), ("epsilon one step", 10)];
    for (name, epsilon) in epsilons {
        let samples = lab.replicate(&in_tens(twelve(10.0, duration)).published(PUT_BACK).epsilon(epsilon), seeds);
        let messages = samples.estimate("messages/entry");
        means.push(messages);
        let stuck = samples.estimate("stuck");
        costs.push(vec![
            words(format!("printed with p1 and p2, {name}")),
            mean(messages),
            mean(samples.estimate("entries/s")),
            mean(stuck),
        ]);
    }
    let mut ours = Vec::new();
    for worth in [0, 10, 1] {
        let samples = lab.replicate(&twelve(10.0, duration).aging(worth), seeds);
        let messages = samples.estimate("messages/entry");
        ours.push(messages.mean);
        costs.push(vec![
            words(if worth == 0 {
                "repaired, strict".to_owned()
            } else {
                format!("repaired, one step is worth {worth} grants")
            }),
            mean(messages),
            mean(samples.estimate("entries/s")),
            mean(samples.estimate("stuck")),
        ]);
    }
    let at = |place: usize| means.get(place).copied().unwrap_or(Estimate::of(&[], 0.95));
    let thrashes = at(2).mean > 3.0 * at(0).mean;
    let ours_flat = ours.iter().all(|messages| *messages < 1.25 * ours[0]);
    Finding {
        measured: format!(
            "slope per local event {} for epsilon 1, 2, 5; messages per entry {} without, {} with aging by one \
             step (printed with p1 and p2), repaired {:.1} and {:.1}",
            slopes.join(", "),
            at(0),
            at(2),
            ours[0],
            ours[2]
        ),
        verdict: match (exact, thrashes, ours_flat) {
            (true, false, _) => Verdict::Holds,
            (true, true, true) => Verdict::HoldsRepaired,
            _ => Verdict::Wrong,
        },
        as_expected: exact && thrashes && ours_flat,
        evidence: vec![
            table(
                "Printed text, middle of a star: urgency gained by queued claims over passes of the token; and \
                 when the middle itself leaves",
                &[
                    "epsilon",
                    "points",
                    "slope",
                    "greatest distance from epsilon x passes",
                    "gained by a leaving and the pass after it",
                ],
                rows,
            ),
            table(
                "What aging costs, h = k = 1, think 10",
                &["run", "messages per entry", "entries per unit", "stuck"],
                costs,
            ),
            note(
                "A request that waits at the holder is out of its queue and does not age (line 10), while those \
                 behind it do. So the token is taken from who has it, again and again: with a large epsilon most \
                 messages carry it to and fro. Repaired, a rank is given once and carried along, and aging costs \
                 nothing.",
            ),
        ],
    }
}
