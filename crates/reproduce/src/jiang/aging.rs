//! J-6: what aging adds, when, and what it does to the protocol.

use std::collections::BTreeMap;

use meshlock_core::reverse_link::Height;
use meshlock_core::view::Origin;
use meshlock_core::{Demand, Effect, Event, Misuse, NodeId, Protocol, Rank, RequestId, Units};
use meshlock_protocols::printed::reverse_link as printed;
use meshlock_protocols::{Message, Node};
use meshlock_sim::distribution::Distribution;
use meshlock_sim::observe::Observer;
use meshlock_sim::scenario::{Scenario, Shape, UrgencyOf};
use meshlock_sim::time::Time;
use meshlock_statistics::{Median, line as fit};

use super::setup::{PUT_BACK, With, twelve, wired};
use super::size;
use crate::prelude::*;
use crate::verdict::with;

/// Follows the claims in the queue of node 0, the middle of a star that asks for nothing itself: how much more urgent
/// each one is than when it came, over how often the token has left since.
#[derive(Default)]
struct Claims {
    passes: u64,
    /// By neighbour: its rank and the number of passes when it came.
    came: BTreeMap<NodeId, (i64, u64)>,
    points: Vec<(f64, f64)>,
}

impl Observer for Claims {
    fn handled(&mut self, _: Time, node: &Node, event: Event<Message>, effects: Result<&[Effect<Message>], Misuse>) {
        if node.id() != NodeId(0) {
            return;
        }
        self.passes += sent(node, effects, |kind| kind == "token");
        let queue: BTreeMap<NodeId, i64> = node
            .view()
            .queue
            .iter()
            .filter_map(|claim| match claim.origin {
                Origin::Node(node) => Some((node, claim.rank.0)),
                Origin::Local(_) => None,
            })
            .collect();
        self.came.retain(|node, _| queue.contains_key(node));
        for (node, rank) in queue {
            let speaks = received(&event).is_some_and(|(from, _)| from == node);
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
    let config = printed::Config::printed(1).aging(epsilon);
    let mut middle = printed::network(3, &[(0, 1), (0, 2)], NodeId(0), config).into_iter().next()?;
    middle.handle(Event::Request { request: RequestId(1), demand: Demand::units(1, 1) }).ok()?;
    for (id, rank) in [(1, 50), (2, 10)] {
        let height = Height { level: 0, depth: 1, id: NodeId(id) };
        let message = printed::Message { height, body: printed::Body::Request(Rank(rank)) };
        middle.handle(Event::Receive { from: NodeId(id), message }).ok()?;
    }
    middle.handle(Event::Release { request: RequestId(1), units: Units(1) }).ok()?;
    middle.view().queue.first().map(|claim| claim.rank.0 - 10)
}

/// Priorities in steps of ten, so that an epsilon of 1 is a tenth of a step.
fn in_tens(scenario: Scenario) -> Scenario {
    let tens: Vec<(f64, f64)> = (1..=10).map(|priority| (f64::from(priority) * 10.0, 1.0)).collect();
    scenario.clients(|class| class.urgency = UrgencyOf::Priority(Distribution::Choice(tens.clone())))
}

pub(super) const OFF: &str = "greatest distance of a gain from epsilon x passes";
pub(super) const OFF_LEAVING: &str = "epsilons for which a leaving adds something else";
pub(super) const POINTS: &str = "gains seen";

/// J-6.
pub(super) fn adds_epsilon(lab: &Lab) -> Finding {
    let (seeds, duration) = size(lab);
    let (mut rows, mut columns, mut slopes) = (Vec::new(), Vec::new(), Vec::new());
    for repairs in [&[][..], PUT_BACK] {
        let text = with(repairs);
        let (mut farthest, mut points, mut off_leaving, mut ended) = (0.0_f64, 0, 0_u32, Runs::default());
        for epsilon in [1, 2, 5] {
            let star = in_tens(twelve(5.0, duration)).published(repairs).epsilon(epsilon);
            let mut star = star.clients(|class| class.nodes.retain(|node| *node != 0));
            star.network = wired(Shape::Star, Distribution::Uniform { low: 0.05, high: 0.15 });
            let watched = watch(&star, 1, |_| Claims::default());
            ended = ended.and(Runs::of(watched.iter().map(|(_, outcome)| outcome)));
            let (xs, ys): (Vec<f64>, Vec<f64>) = watched.into_iter().flat_map(|(claims, _)| claims.points).unzip();
            let slope = fit(&xs, &ys, 0.95);
            let off = xs.iter().zip(&ys).map(|(x, y)| (y - x * f64::from(epsilon)).abs()).fold(0.0, f64::max);
            let leaving = aged_by_leaving(epsilon);
            farthest = farthest.max(off);
            points += xs.len();
            off_leaving += u32::from(leaving != Some(2 * i64::from(epsilon)));
            slopes.push(format!("{:.3}", slope.slope));
            rows.push(vec![
                words(format!("{text}, epsilon {epsilon}")),
                count(xs.len()),
                number(slope.slope),
                number(off),
                count(leaving.unwrap_or(-1)),
            ]);
        }
        let facts =
            vec![Fact::exact(OFF, farthest), Fact::count(OFF_LEAVING, off_leaving), Fact::count(POINTS, points)];
        columns.push(Column::new(text, ended, facts));
    }
    let mut costs = Vec::new();
    let mut cost = |name: &str, samples: &Samples| {
        // A few runs have so many that a mean says nothing.
        let messages = Median::of(&samples.values("messages/entry"), 0.95);
        let more = ["entries/s", "stuck"].map(|measure| mean(samples.estimate(measure)));
        costs.push([words(name), words(format!("{messages:.1}"))].into_iter().chain(more).collect());
        messages
    };
    let theirs =
        [("epsilon 0", 0), ("epsilon a tenth of a step", 1), ("epsilon one step", 10)].map(|(name, epsilon)| {
            let scenario = in_tens(twelve(10.0, duration)).published(PUT_BACK).epsilon(epsilon);
            cost(&format!("printed with p1 and p2, {name}"), &lab.replicate(&scenario, seeds))
        });
    let ours =
        [("strict", 0), ("one step is worth 10 grants", 10), ("one step is worth 1 grants", 1)].map(|(name, worth)| {
            cost(&format!("repaired, {name}"), &lab.replicate(&twelve(10.0, duration).aging(worth), seeds)).median
        });
    let thrashes = theirs[2].median > 3.0 * theirs[0].median;
    let ours_flat = ours.iter().all(|messages| *messages < 1.25 * ours[0]);
    Finding {
        columns,
        measured: format!(
            "slope per local event for epsilon 1, 2, 5: {} as printed, {} with p1 and p2; messages per entry (medians) \
             {:.1} without, {:.1} with aging by one step (p1 and p2), repaired {:.1} and {:.1}",
            slopes[..3].join(", "),
            slopes[3..].join(", "),
            theirs[0],
            theirs[2],
            ours[0],
            ours[2]
        ),
        checks: vec![
            check("aging by one step costs more than three times the messages (p1, p2)", thrashes),
            check("repaired, aging costs less than a quarter more", ours_flat),
        ],
        evidence: vec![
            table(
                "Printed text, middle of a star: urgency gained by queued claims over passes of the token; and when \
                 the middle itself leaves",
                "text | points | slope | greatest distance from epsilon x passes | gained by a leaving and the pass \
                 after it",
                rows,
            ),
            table(
                "What aging costs, h = k = 1, think 10",
                "run | messages per entry (median) | entries per unit | stuck",
                costs,
            ),
            note(
                "A request that waits at the holder is out of its queue and does not age (line 10), while those behind \
                 it do. So the token is taken from who has it, again and again: with a large epsilon most messages \
                 carry it to and fro. The repaired protocol has another rule: a rank is given once and carried along, \
                 so there is no epsilon to be measured, and aging costs nothing.",
            ),
        ],
    }
}
