//! What was measured.

use std::time::{Duration, Instant};

use meshlock_node::links::Transport;
use serde::Serialize;

#[derive(Debug, Serialize)]
pub(super) struct Report {
    /// How to measure it again.
    pub(super) command: String,
    /// Processor cores that this process may use.
    pub(super) cores: usize,
    /// Whether this program was compiled for speed; otherwise its figures say little.
    pub(super) optimised: bool,
    pub(super) times: Vec<Figure>,
    pub(super) throughput: Vec<Throughput>,
    pub(super) idle: Idle,
}

/// How long something takes.
#[derive(Debug, Serialize)]
pub(super) struct Figure {
    pub(super) name: String,
    /// How often it was measured.
    pub(super) count: usize,
    pub(super) median_us: f64,
    /// Ninety-nine of a hundred are no longer.
    pub(super) most_us: f64,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) floor: Option<Floor>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) goal: Option<Goal>,
}

/// The least that it can take on this machine.
#[derive(Clone, Debug, Serialize)]
pub(super) struct Floor {
    pub(super) name: String,
    pub(super) us: f64,
    /// How many times the floor the median is.
    pub(super) ratio: f64,
}

/// What the median should be at most.
#[derive(Clone, Debug, Serialize)]
pub(super) struct Goal {
    pub(super) name: String,
    pub(super) most_us: f64,
    pub(super) is_met: bool,
}

/// How many entries per second.
#[derive(Debug, Serialize)]
pub(super) struct Throughput {
    pub(super) topology: &'static str,
    pub(super) way: &'static str,
    pub(super) clients: usize,
    pub(super) entries_per_s: f64,
    pub(super) hops_per_entry: f64,
}

/// What nodes cost that have nothing to do.
#[derive(Debug, Default, Serialize)]
pub(super) struct Idle {
    pub(super) resources: usize,
    pub(super) neighbours: usize,
    /// Milliseconds of processor time in a second, of one node.
    pub(super) cpu_ms_per_s: f64,
    /// Bytes of memory for each resource at each node, where the system tells it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) bytes_per_resource: Option<f64>,
}

impl Report {
    /// Nothing measured yet.
    pub(super) fn new(time: Duration, transport: Transport) -> Self {
        let transport = match transport {
            Transport::Quic => "quic",
            Transport::Tcp => "tcp",
        };
        Self {
            command: format!("meshlock bench lock --seconds {} --transport {transport}", time.as_secs_f64()),
            cores: std::thread::available_parallelism().map_or(1, usize::from),
            optimised: !cfg!(debug_assertions),
            times: Vec::new(),
            throughput: Vec::new(),
            idle: Idle::default(),
        }
    }

    /// Notes a figure without a floor; returns its median in microseconds.
    pub(super) fn add(&mut self, name: impl Into<String>, samples: Samples) -> f64 {
        let figure = samples.figure(name.into());
        let median = figure.median_us;
        self.times.push(figure);
        median
    }

    /// Notes a figure beside its floor, and the goal as a multiple of it.
    pub(super) fn add_beside(
        &mut self,
        name: impl Into<String>,
        samples: Samples,
        (floor, us): (&str, f64),
        most: Option<f64>,
    ) {
        let mut figure = samples.figure(name.into());
        figure.goal = most.map(|most| goal(format!("{most} x floor"), most * us, figure.median_us));
        figure.floor = Some(Floor { name: floor.to_owned(), us, ratio: figure.median_us / us });
        self.times.push(figure);
    }

    /// Notes a figure with a goal of its own.
    pub(super) fn add_with_goal(&mut self, name: impl Into<String>, samples: Samples, most_us: f64) {
        let mut figure = samples.figure(name.into());
        figure.goal = Some(goal(format!("{most_us} us"), most_us, figure.median_us));
        self.times.push(figure);
    }
}

fn goal(name: String, most_us: f64, median_us: f64) -> Goal {
    Goal { name, most_us, is_met: median_us <= most_us }
}

/// Times as they are measured.
#[derive(Debug)]
pub(super) struct Samples {
    until: Instant,
    times: Vec<Duration>,
    /// Each time was that of so many.
    divisor: f64,
}

/// More would only fill the memory.
const MOST: usize = 4_000_000;

impl Samples {
    /// Measures until this time has passed.
    pub(super) fn within(time: Duration) -> Self {
        Self { until: Instant::now() + time, times: Vec::new(), divisor: 1.0 }
    }

    /// Whether there is still time.
    pub(super) fn go_on(&self) -> bool {
        self.times.len() < MOST && Instant::now() < self.until
    }

    pub(super) fn add(&mut self, time: Duration) {
        self.times.push(time);
    }

    /// What was measured is twice what is asked for.
    pub(super) fn halved(mut self) -> Self {
        self.divisor *= 2.0;
        self
    }

    fn figure(mut self, name: String) -> Figure {
        self.times.sort_unstable();
        let last = self.times.len().saturating_sub(1);
        let at = |share: f64| {
            let time = self.times.get((last as f64 * share).round() as usize).copied().unwrap_or_default();
            time.as_secs_f64() * 1e6 / self.divisor
        };
        Figure { name, count: self.times.len(), median_us: at(0.5), most_us: at(0.99), floor: None, goal: None }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn samples(us: impl Iterator<Item = u64>) -> Samples {
        let mut samples = Samples::within(Duration::ZERO);
        us.for_each(|us| samples.add(Duration::from_micros(us)));
        samples
    }

    #[test]
    fn figures_are_medians_and_tails() {
        let figure = samples((0..=100).rev()).figure("x".into());
        assert_eq!((figure.count, figure.median_us, figure.most_us), (101, 50.0, 99.0));
        let halved = samples(0..=100).halved().figure("x".into());
        assert_eq!((halved.median_us, halved.most_us), (25.0, 49.5));
        assert_eq!(samples(0..0).figure("nothing".into()).median_us, 0.0);
    }

    #[test]
    fn goals_are_multiples_of_floors() {
        let mut report = Report::new(Duration::from_secs(2), Transport::Quic);
        report.add_beside("slow", samples(30..=30), ("round trip", 10.0), Some(2.0));
        report.add_beside("fast", samples(20..=20), ("round trip", 10.0), Some(2.0));
        let goals: Vec<bool> = report.times.iter().filter_map(|figure| Some(figure.goal.as_ref()?.is_met)).collect();
        assert_eq!(goals, [false, true]);
        assert_eq!(report.times[0].floor.as_ref().map(|floor| floor.ratio), Some(3.0));
    }
}
