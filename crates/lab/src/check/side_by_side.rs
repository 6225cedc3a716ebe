//! Several models at once, one on each thread; their results come in the order of the list.

use std::cmp::Reverse;
use std::sync::Mutex;
use std::sync::mpsc;

use meshlock_check::Way;
use meshlock_check::suite::Expected;

use super::job::Job;

/// What is heard of the jobs.
pub(super) enum Heard<T> {
    /// So many are done, at whatever places.
    Done(usize),
    /// The next result in the order of the jobs.
    Next(T),
}

/// Does `work` for every job on `threads` threads and hands each result to `then`, in the order of the jobs. Large models
/// begin first, so that none of them is alone at the end. Once `is_over`, no more jobs begin; an error ends it too.
pub(super) fn run<T: Send>(
    jobs: Vec<Job>,
    threads: usize,
    is_over: impl Fn() -> bool + Sync,
    work: impl Fn(Job) -> anyhow::Result<T> + Sync,
    mut then: impl FnMut(Heard<T>) -> anyhow::Result<()>,
) -> anyhow::Result<()> {
    let mut results: Vec<Option<T>> = jobs.iter().map(|_| None).collect();
    let mut waiting: Vec<(usize, Job)> = jobs.into_iter().enumerate().collect();
    waiting.sort_by_key(|(place, job)| (size(job), Reverse(*place)));
    let waiting = Mutex::new(waiting);
    // No job begins once a lock is poisoned: a thread has panicked, and that is told when it is joined.
    let take = || waiting.lock().ok().and_then(|mut waiting| if is_over() { None } else { waiting.pop() });
    let mut given = 0;
    std::thread::scope(|scope| {
        let (sender, receiver) = mpsc::channel();
        for _ in 0..threads {
            let (sender, take, work) = (sender.clone(), &take, &work);
            scope.spawn(move || {
                while let Some((place, job)) = take() {
                    if sender.send((place, work(job))).is_err() {
                        return;
                    }
                }
            });
        }
        drop(sender);
        for (done, (place, result)) in (1..).zip(receiver) {
            results[place] = Some(result?);
            then(Heard::Done(done))?;
            while let Some(result) = results.get_mut(given).and_then(Option::take) {
                given += 1;
                then(Heard::Next(result))?;
            }
        }
        Ok(())
    })
    .and_then(|()| results.into_iter().flatten().map(Heard::Next).try_for_each(then)) // what was done behind one that never began
}

/// About how long a model takes: its states, with what it costs to keep and search the graph and to renumber.
fn size(job: &Job) -> u64 {
    match (&job.trial.way, job.entry.as_ref().map(|entry| entry.expected)) {
        (Way::Explore { graph, canonical, .. }, Some(Expected::Holds { unique })) => {
            let renumbers = canonical.unwrap_or(job.trial.spec.workload.endless);
            unique * (1 + u64::from(*graph)) * if renumbers { 3 } else { 1 }
        }
        (Way::Explore { .. }, _) => 0,
        (Way::Walk { walks, steps, .. }, _) => walks * steps * 4,
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};

    use meshlock_check::suite;

    use super::*;

    fn jobs() -> Vec<Job> {
        let job = |entry: suite::Entry| Job {
            name: entry.name.to_owned(),
            trial: entry.trial.clone(),
            exact: true,
            command: String::new(),
            entry: Some(entry),
        };
        suite::standard().into_iter().map(job).collect()
    }

    #[test]
    fn results_come_in_the_order_of_the_list_with_any_number_of_threads() {
        let names: Vec<String> = jobs().into_iter().map(|job| job.name).collect();
        for threads in [1, 2, 7] {
            let mut seen = Vec::new();
            let mut counted = 0;
            let then = |heard| {
                match heard {
                    Heard::Done(done) => {
                        counted += 1;
                        assert_eq!(done, counted);
                    }
                    Heard::Next(name) => seen.push(name),
                }
                Ok(())
            };
            run(jobs(), threads, || false, |job| Ok(job.name), then).unwrap();
            assert_eq!((&seen, counted), (&names, names.len()));
        }
    }

    #[test]
    fn the_largest_begin_first() {
        let begun = Mutex::new(Vec::new());
        let work = |job: Job| {
            begun.lock().unwrap().push(size(&job));
            Ok(())
        };
        run(jobs(), 1, || false, work, |_| Ok(())).unwrap();
        let begun = begun.into_inner().unwrap();
        assert!(begun.is_sorted_by(|a, b| a >= b) && begun[0] > 1_000_000);
    }

    #[test]
    fn when_it_is_over_no_more_begin_and_what_is_done_is_told() {
        let begun = AtomicUsize::new(0);
        let mut told = 0;
        let work = |_| Ok(begun.fetch_add(1, Ordering::SeqCst));
        let then = |heard| {
            told += usize::from(matches!(heard, Heard::Next(_)));
            Ok(())
        };
        run(jobs(), 2, || begun.load(Ordering::SeqCst) >= 5, work, then).unwrap();
        assert!((5..=6).contains(&told), "{told}");
        assert_eq!(told, begun.into_inner());
    }

    #[test]
    fn an_error_ends_it() {
        let end = run(jobs(), 2, || false, |_| Err::<(), _>(anyhow::anyhow!("no")), |_| Ok(()));
        assert_eq!(end.unwrap_err().to_string(), "no");
    }
}
