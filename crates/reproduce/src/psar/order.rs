//! P-6: in which order those who wait are served.

use std::collections::BTreeMap;

use meshlock_core::view::Origin;
use meshlock_core::{Effect, Event, Misuse, NodeId, Protocol};
use meshlock_protocols::{Message, Node};
use meshlock_sim::distribution::Distribution;
use meshlock_sim::observe::Observer;
use meshlock_sim::outcome::Outcome;
use meshlock_sim::scenario::{self, Class, ProtocolChoice, Scenario};
use meshlock_sim::time::{Span, Time};
use meshlock_statistics::Estimate;

use super::kit::{flood, in_a_row, on_air, timed, to_the_letter};
use crate::prelude::*;
use crate::scenarios::{F, REPAIRED, mended, with};
use crate::verdict::Text;

/// Node 0 stays inside for so long; meanwhile every other node asks once.
const INSIDE: f64 = 1.0;

/// When node 0 first had each request in its queue.
#[derive(Default)]
struct Arrivals(BTreeMap<NodeId, Time>);

impl Observer for Arrivals {
    fn handled(&mut self, now: Time, node: &Node, event: Event<Message>, _effects: Result<&[Effect<Message>], Misuse>) {
        if node.id() != NodeId(0) || !matches!(event, Event::Receive { .. }) {
            return;
        }
        for claimant in node.view().token.into_iter().flat_map(|token| token.queue) {
            if let Origin::Node(asker) = claimant.origin {
                self.0.entry(asker).or_insert(now);
            }
        }
    }
}

fn one_round(protocol: ProtocolChoice, nodes: u32) -> Scenario {
    let mut scenario = on_air(protocol, nodes, 100.0 * f64::from(nodes), in_a_row(nodes), 1.0);
    let first = Class {
        nodes: vec![0],
        arrivals: scenario::Arrivals::Burst { at: Span::ZERO, requests: 1 },
        ..Class::closed(nodes, Distribution::Constant(1.0), Distribution::Constant(INSIDE))
    };
    // So close together that distance decides as much as the time of asking.
    let think = Distribution::Uniform { low: 0.0, high: 0.05 };
    let others = Class {
        nodes: (1..nodes).collect(),
        start: Span::from_seconds(0.1),
        stop: Some(Span::from_seconds(0.5)),
        ..Class::closed(nodes, think, Distribution::Constant(0.001))
    };
    scenario.traffic.classes = vec![first, others];
    timed(scenario, 0.0, 5.0, 5.0)
}

/// How many pairs were served in another order than that of a key, of all pairs.
fn swapped<K: Ord>(served: &[NodeId], key: impl Fn(NodeId) -> Option<K>) -> f64 {
    let keys: Vec<K> = served.iter().filter_map(|node| key(*node)).collect();
    let pairs = keys.len() * keys.len().saturating_sub(1) / 2;
    let turned: usize = (0..keys.len()).map(|at| keys[at..].iter().filter(|later| **later < keys[at]).count()).sum();
    if pairs == 0 { f64::NAN } else { turned as f64 / pairs as f64 }
}

/// The shares of pairs served against the order of arrival at the holder and of asking, how many were served, and how
/// it ended.
struct Round {
    arrival: f64,
    asking: f64,
    served: usize,
    runs: Runs,
}

pub(super) const AGAINST_ARRIVAL: &str = "share of pairs served against the order of arrival at the holder";
const AGAINST_ASKING: &str = "share of pairs served against the order of asking";
pub(super) const SERVED: &str = "mean number of requests served, by all that wait";

fn shares((arrivals, outcome): &(Arrivals, Outcome)) -> Round {
    let mut granted: Vec<(Time, NodeId, Time)> = outcome
        .requests
        .iter()
        .filter(|request| request.node != NodeId(0))
        .filter_map(|request| Some((request.granted?, request.node, request.asked)))
        .collect();
    granted.sort_unstable();
    let served: Vec<NodeId> = granted.iter().map(|grant| grant.1).collect();
    let asked: BTreeMap<NodeId, Time> = granted.iter().map(|grant| (grant.1, grant.2)).collect();
    // Our flood remembers what it hears and queues when it leaves: then no request was seen in the queue before.
    let arrival = swapped(&served, |node| arrivals.0.get(&node).copied());
    let asking = swapped(&served, |node| asked.get(&node).copied());
    Round { arrival, asking, served: served.len(), runs: Runs::of([outcome]) }
}

/// P-6.
pub(super) fn first_in_first_out(lab: &Lab) -> Finding {
    let (nodes, seeds) = (lab.choose(10, 20, 30), lab.choose(10, 20, 50));
    let texts = [with(&[]), with(&["f1", "f2"]), mended(&F), REPAIRED].map(flood);
    let everybody = f64::from(nodes - 1);
    let (mut rows, mut columns, mut told) = (Vec::new(), Vec::new(), Vec::new());
    for (label, protocol) in texts {
        let scenario = one_round(protocol, nodes);
        let scenario = if label == Text::Printed { to_the_letter(&scenario) } else { scenario };
        let rounds: Vec<Round> = watch(&scenario, seeds, |_| Arrivals::default()).iter().map(shares).collect();
        let all = |of: fn(&Round) -> f64| {
            let values: Vec<f64> = rounds.iter().map(of).filter(|value| value.is_finite()).collect();
            Estimate::of(&values, 0.95)
        };
        let (arrival, asking, served) = (all(|run| run.arrival), all(|run| run.asking), all(|run| run.served as f64));
        rows.push(vec![words(&label), mean(arrival), mean(asking), mean(served)]);
        let enough = served.mean == everybody;
        told.push(format!("{label} {}", if enough { asking.to_string() } else { "unknown".to_owned() }));
        let runs = rounds.iter().fold(Runs::default(), |all, round| all.and(round.runs));
        let facts = vec![
            Fact::mean(AGAINST_ARRIVAL, arrival),
            Fact::exact(SERVED, served.mean / everybody),
            if enough { Fact::mean(AGAINST_ASKING, asking) } else { Fact::exact(AGAINST_ASKING, f64::NAN) },
        ];
        columns.push(Column::new(label, runs, facts));
    }
    let asking_differs = columns[2].facts[2].low > 0.0;
    let ours_served = columns[3].facts[1].value == 1.0;
    Finding {
        measured: format!("pairs served against the order of asking: {}", told.join(", ")),
        checks: vec![
            check("the order of arrival is not the order of asking (f1 to f7)", asking_differs),
            check("our flood serves everybody", ours_served),
        ],
        columns,
        evidence: vec![
            table(
                format!(
                    "{nodes} nodes in a row; all others ask within 50 ms while the first stays inside; {seeds} runs"
                ),
                "flood | against arrival | against asking | served",
                rows,
            ),
            note(
                "No repair touches the queue, and F1 is repaired because floods must end. The order is that of one \
                 holder's ears, not of the whole network. Our flood queues everything it has heard when the holder \
                 leaves, from its own place around as Suzuki and Kasami do, because arrival at the holder favours its \
                 neighbours; once queued, nobody is overtaken twice by the same node. It shows no queue while the \
                 holder is inside, so there is no arrival to compare with.",
            ),
        ],
    }
}
