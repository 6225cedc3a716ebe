//! The same contestants at several points, with charts and a table of what came out.

use std::collections::BTreeSet;

use meshlock_properties::Rule;
use meshlock_report::chart::{Chart, Point};
use meshlock_report::table::Cell;
use meshlock_sim::distribution::Distribution;
use meshlock_sim::outcome::Request;
use meshlock_sim::scenario::{Name, Over, ProtocolChoice, Scenario};
use meshlock_sim::time::{Span, Time};
use meshlock_statistics::{Estimate, Median};

use super::kit::{flood, repaired};
use crate::prelude::*;
use crate::scenarios::{self, F};

/// A protocol in a comparison.
pub(super) struct Contestant {
    /// In legends.
    pub(super) label: &'static str,
    pub(super) protocol: ProtocolChoice,
    /// It takes part up to so many nodes.
    pub(super) most: u32,
}

/// A scheduler that knows everything at once: a lower bound on every wait.
pub(super) const BOUND: &str = "omniscient bound";

/// The report's flood with all repairs that change no line but their own.
pub(super) const MENDED: &str = "printed flood, f1 to f7";

pub(super) fn mended() -> Contestant {
    Contestant { label: MENDED, protocol: flood(scenarios::mended(&F)).1, most: u32::MAX }
}

/// Ours, and what they are measured against.
pub(super) fn contestants(most_group: u32) -> Vec<Contestant> {
    let all = |label, name| Contestant { label, protocol: repaired(name), most: u32::MAX };
    let group = ProtocolChoice { over: Over::Relay, ..repaired(Name::Group) };
    vec![
        all("flood", Name::Flood),
        all("reverse-link", Name::ReverseLink),
        Contestant { label: "group over relay", protocol: group, most: most_group },
        all("central over routing", Name::Central),
        all("raymond over routing", Name::Raymond),
        all("naimi-trehel over routing", Name::NaimiTrehel),
        all(BOUND, Name::Omniscient),
    ]
}

pub(super) struct Spot {
    label: &'static str,
    pub(super) x: f64,
    /// By run, in the order of seeds: the mean wait, with those unserved; `NaN` without requests.
    pub(super) waits: Vec<f64>,
    pub(super) runs: Runs,
    /// Their median: where the network is in parts for a while, a few runs wait very long.
    pub(super) wait: Median,
    served_wait: Estimate,
    unserved: f64,
    stuck: f64,
    pub(super) frames: Estimate,
    connected: Estimate,
    degree: Estimate,
    broken: BTreeSet<Rule>,
}

/// The quantity that is varied.
#[derive(Clone, Copy)]
pub(super) struct Axis<'a> {
    pub(super) label: &'a str,
    pub(super) unit: &'a str,
    pub(super) log: bool,
}

pub(super) struct Sweep {
    pub(super) spots: Vec<Spot>,
}

impl Sweep {
    /// Runs all contestants at all points. `scenario` makes the network and the traffic of a point.
    pub(super) fn run(
        lab: &Lab,
        contestants: &[Contestant],
        points: &[f64],
        seeds: u64,
        scenario: impl Fn(f64, ProtocolChoice) -> Scenario,
    ) -> Self {
        let mut spots = Vec::new();
        for &x in points {
            for contestant in contestants {
                let mut scenario = scenario(x, contestant.protocol.clone());
                if scenario.nodes > contestant.most {
                    continue;
                }
                if contestant.protocol.name == Name::Group {
                    // A session of its own for every request: then a group protocol is one for exclusion.
                    let session = Distribution::Uniform { low: 0.0, high: 1e9 };
                    scenario.traffic.classes.iter_mut().for_each(|class| class.session = Some(session.clone()));
                }
                spots.push(Spot::of(contestant.label, x, &lab.replicate(&scenario, seeds)));
            }
        }
        Self { spots }
    }

    pub(super) fn runs(&self, label: &str) -> Runs {
        self.of(label).iter().fold(Runs::default(), |all, spot| all.and(spot.runs))
    }

    /// What a contestant did, from the first point to the last.
    pub(super) fn of(&self, label: &str) -> Vec<&Spot> {
        self.spots.iter().filter(|spot| spot.label == label).collect()
    }

    /// Whether no rule of safety broke anywhere but in the printed text. Requests never served are no violation: a
    /// baseline that needs a node in another part lets its own part wait. See [`Self::stuck`].
    pub(super) fn is_sound(&self) -> bool {
        let safe = |spot: &&Spot| spot.broken.iter().all(|rule| *rule == Rule::NobodyWaits);
        self.spots.iter().filter(|spot| spot.label != MENDED).all(|spot| safe(&spot))
    }

    /// The requests of a contestant that were not served in the drain either.
    pub(super) fn stuck(&self, label: &str) -> f64 {
        self.of(label).iter().map(|spot| spot.stuck).sum()
    }

    /// The mean waiting time over the points.
    pub(super) fn waits(&self, caption: &str, title: &str, axis: Axis<'_>, note: &str) -> Evidence {
        self.chart((caption, title), axis, ("time to enter, unserved included (median of runs)", "s"), note, |spot| {
            let Median { median, low, high, .. } = spot.wait;
            if low.is_finite() { (median, low, high) } else { (median, median, median) }
        })
    }

    /// The transmissions over the points.
    pub(super) fn costs(&self, caption: &str, title: &str, axis: Axis<'_>, note: &str) -> Evidence {
        self.chart((caption, title), axis, ("transmissions per entry", ""), note, |spot| {
            // Who knows everything sends nothing.
            let frames = if spot.is_bound() { Estimate::of(&[], 0.95) } else { spot.frames };
            (frames.mean, frames.low(), frames.high())
        })
    }

    fn chart(
        &self,
        (caption, title): (&str, &str),
        axis: Axis<'_>,
        (y, y_unit): (&str, &str),
        note: &str,
        of: impl Fn(&Spot) -> (f64, f64, f64),
    ) -> Evidence {
        let mut labels: Vec<&'static str> = Vec::new();
        for spot in self.spots.iter().filter(|spot| !of(spot).0.is_nan()) {
            if !labels.contains(&spot.label) {
                labels.push(spot.label);
            }
        }
        let point = |spot: &Spot| {
            let (y, low, high) = of(spot);
            Point { x: spot.x, y, low, high }
        };
        let series = |label: &&'static str| {
            let points = self.of(label).into_iter().map(point).collect();
            if *label == BOUND { dashed(label, points) } else { line(label, points) }
        };
        let x = if axis.log { log_scale } else { scale }(axis.label, axis.unit);
        let (y, series) = (log_scale(y, y_unit), labels.iter().map(series).collect());
        drawn(caption, Chart { title: title.to_owned(), x, y, series, note: Some(note.to_owned()) }.svg())
    }

    /// Everything in numbers.
    pub(super) fn table(&self, caption: &str, axis: &str) -> Evidence {
        let row = |spot: &Spot| {
            let seen = |estimate| if spot.is_bound() { Cell::Empty } else { mean(estimate) };
            vec![
                number(spot.x),
                words(spot.label),
                words(format!("{:.4}", spot.wait)),
                mean(spot.served_wait),
                number(spot.unserved),
                number(spot.stuck),
                seen(spot.frames),
                seen(spot.connected),
                seen(spot.degree),
                words(spot.broken.iter().map(|rule| rule.name()).collect::<Vec<_>>().join(", ")),
            ]
        };
        let columns = format!(
            "{axis} | protocol | wait with unserved, s (median) | wait of served, s | share unserved | stuck | \
             transmissions per entry | connected | degree | broken rules"
        );
        table(caption, &columns, self.spots.iter().map(row).collect())
    }
}

/// Who waited after the warm-up. The measures know requests that were asked after it; a client that is cut off asks
/// once, before it, and would be missing.
struct Waited {
    requests: f64,
    unserved: f64,
    seconds: f64,
}

impl Waited {
    fn of(sample: &Sample) -> Self {
        let end = sample.outcome.end;
        let start = Span::from_seconds(sample.or_zero("warmup"));
        let mut all = Self { requests: 0.0, unserved: 0.0, seconds: 0.0 };
        for request in sample.outcome.requests.iter().filter(|request| request.asked <= end) {
            let over = request.granted.or(request.cancelled).unwrap_or(Time::NEVER);
            if over >= Time::ZERO + start {
                all.requests += 1.0;
                all.unserved += f64::from(u8::from(over > end));
                all.seconds += over.min(end).since(request.asked).seconds();
            }
        }
        all
    }
}

impl Spot {
    fn is_bound(&self) -> bool {
        self.label == BOUND
    }

    fn of(label: &'static str, x: f64, samples: &Samples) -> Self {
        let never_granted = |request: &&Request| request.granted.is_none() && request.cancelled.is_none();
        let stuck = samples.sum(|sample| sample.outcome.requests.iter().filter(never_granted).count() as f64);
        let broken = samples.outcomes().flat_map(|outcome| outcome.broken.iter().map(|broken| broken.rule)).collect();
        let waited: Vec<Waited> = samples.0.iter().map(Waited::of).collect();
        let waits: Vec<f64> = waited.iter().map(|run| run.seconds / run.requests).collect();
        let known: Vec<f64> = waits.iter().copied().filter(|wait| wait.is_finite()).collect();
        let (all, still) =
            waited.iter().fold((0.0, 0.0), |(all, still), run| (all + run.requests, still + run.unserved));
        Self {
            label,
            x,
            wait: Median::of(&known, 0.95),
            waits,
            runs: samples.into(),
            served_wait: samples.estimate("wait.mean"),
            unserved: still / all,
            stuck,
            frames: samples.estimate("frames/entry"),
            connected: samples.estimate("network.connected"),
            degree: samples.estimate("network.degree"),
            broken,
        }
    }
}
