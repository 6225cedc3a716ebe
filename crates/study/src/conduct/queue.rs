//! Runs that are still to be done, the longest first.
//!
//! The last runs of a study decide how long cores are idle at its end, so they should be short. How long a run takes is
//! known from others of its point; of a point without any it is guessed from nodes and simulated time, in the measure of
//! those that are known. A wrong guess costs time and nothing else: which runs are done does not depend on it.

use super::Job;
use crate::plan::Plan;

#[derive(Clone, Debug)]
pub(super) struct Queue {
    /// By point: what is to be done there, the last replication first.
    waiting: Vec<Vec<Job>>,
    effort: Vec<Effort>,
    /// The oldest first.
    running: Vec<Job>,
    /// How many are waiting, running, or finished and not yet kept.
    open: usize,
    all: usize,
}

/// How long runs of a point take.
#[derive(Clone, Copy, Debug, Default)]
struct Effort {
    guess: f64,
    seconds: f64,
    runs: u32,
}

impl Queue {
    pub(super) fn new(plan: &Plan, jobs: &[Job]) -> Self {
        let guess = |point: &crate::plan::Point| {
            let seconds = point.scenario.duration.seconds();
            Effort { guess: f64::from(point.scenario.nodes) * seconds, ..Effort::default() }
        };
        let effort: Vec<Effort> = plan.points.iter().map(guess).collect();
        let waiting = vec![Vec::new(); effort.len()];
        let mut queue = Self { waiting, effort, running: Vec::new(), open: 0, all: 0 };
        queue.add(jobs);
        queue
    }

    fn add(&mut self, jobs: &[Job]) {
        self.open += jobs.len();
        self.all += jobs.len();
        for job in jobs {
            let waiting = &mut self.waiting[job.point];
            let place = waiting.partition_point(|other| other.replication > job.replication);
            waiting.insert(place, job.clone());
        }
    }

    /// The run that is expected to take longest; of equals the first.
    pub(super) fn take(&mut self) -> Option<Job> {
        let measured = |effort: &&Effort| effort.runs > 0;
        let (seconds, guesses) = self
            .effort
            .iter()
            .filter(measured)
            .fold((0.0, 0.0), |(seconds, guesses), effort| (seconds + effort.mean(), guesses + effort.guess));
        let scale = if guesses > 0.0 { seconds / guesses } else { 1.0 };
        let with_work = (0..self.waiting.len()).filter(|point| !self.waiting[*point].is_empty());
        let expected = |point: usize| self.effort[point].expected(scale);
        let point = with_work.reduce(|best, point| if expected(point) > expected(best) { point } else { best })?;
        let job = self.waiting[point].pop()?;
        self.running.push(job.clone());
        Some(job)
    }

    /// A run is not under way any more.
    pub(super) fn stopped(&mut self, job: &Job) {
        self.running.retain(|other| other != job);
    }

    /// A run is finished and kept: how long it took, if it is known, and which follow from it.
    pub(super) fn finished(&mut self, job: &Job, took: Option<f64>, more: &[Job]) {
        self.open -= 1;
        if let Some(seconds) = took {
            let effort = &mut self.effort[job.point];
            effort.seconds += seconds;
            effort.runs += 1;
        }
        self.add(more);
    }

    pub(super) fn running(&self) -> &[Job] {
        &self.running
    }

    /// How many there were and are.
    pub(super) fn all(&self) -> usize {
        self.all
    }

    /// Whether nothing is left, nor can be added.
    pub(super) fn is_over(&self) -> bool {
        self.open == 0
    }
}

impl Effort {
    fn mean(&self) -> f64 {
        self.seconds / f64::from(self.runs)
    }

    fn expected(&self, scale: f64) -> f64 {
        if self.runs > 0 { self.mean() } else { self.guess * scale }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{plan, spec};

    fn job(point: usize, replication: u32) -> Job {
        Job { point, replication, hash: format!("{point}/{replication}") }
    }

    /// Points 0 and 1 have 10 nodes, 2 and 3 have 20.
    fn queue() -> Queue {
        let jobs: Vec<Job> = (0..4).flat_map(|point| (0..2).map(move |replication| job(point, replication))).collect();
        Queue::new(&plan(&spec()), &jobs)
    }

    fn order(queue: &mut Queue) -> Vec<(usize, u32)> {
        std::iter::from_fn(|| queue.take()).map(|job| (job.point, job.replication)).collect()
    }

    #[test]
    fn the_largest_come_first_and_equals_in_their_order() {
        let expected = [(2, 0), (2, 1), (3, 0), (3, 1), (0, 0), (0, 1), (1, 0), (1, 1)];
        assert_eq!(order(&mut queue()), expected);
    }

    #[test]
    fn what_was_measured_counts_more_than_what_was_guessed() {
        let mut queue = queue();
        let first = queue.take().unwrap();
        // Twice as slow for its size as point 1, so point 3 is thought to be slower than point 1 and faster than 2.
        queue.finished(&first, Some(8.0), &[]);
        queue.finished(&job(1, 0), Some(2.0), &[]);
        assert_eq!(order(&mut queue), [(2, 1), (3, 0), (3, 1), (0, 0), (0, 1), (1, 0), (1, 1)]);
        let mut reversed = self::queue();
        reversed.finished(&job(2, 0), Some(0.1), &[]);
        reversed.finished(&job(1, 0), Some(9.0), &[]);
        let order = order(&mut reversed);
        assert_eq!((order[0], order[7]), ((1, 0), (2, 1)));
    }

    #[test]
    fn it_is_over_when_all_are_kept_and_not_before() {
        let mut queue = Queue::new(&plan(&spec()), &[job(0, 0)]);
        let first = queue.take().unwrap();
        assert!(queue.take().is_none() && !queue.is_over());
        queue.stopped(&first);
        assert!(!queue.is_over() && queue.running().is_empty());
        queue.finished(&first, Some(1.0), &[job(0, 1)]);
        assert!(!queue.is_over() && queue.all() == 2);
        let second = queue.take().unwrap();
        queue.finished(&second, None, &[]);
        assert!(queue.is_over());
    }
}
