//! How often one request was passed by requests made after it.

use super::Window;
use crate::outcome::Request;
use crate::time::Time;

/// The greatest number of grants, until the end, to requests made later that one request of the window saw while it
/// waited. `None` without requests.
///
/// Requests are taken in the order in which they stop to wait, and a tree of sums counts the grants until then by the
/// moment they were asked for.
pub(super) fn most(requests: &[Request], window: &Window) -> Option<u64> {
    let mut moments: Vec<Time> = requests.iter().map(|request| request.asked).collect();
    moments.sort_unstable();
    let asked_until = |moment| moments.partition_point(|asked| *asked <= moment);

    let in_time = |request: &Request| request.granted.filter(|granted| *granted <= window.end);
    let mut grants: Vec<(Time, Time)> =
        requests.iter().filter_map(|request| Some((in_time(request)?, request.asked))).collect();
    grants.sort_unstable();
    let mut waits: Vec<(Time, Time)> = requests
        .iter()
        .filter(|request| window.has(request.asked))
        .map(|request| (request.wait_end(), request.asked))
        .collect();
    waits.sort_unstable();

    let mut counts = Counts(vec![0; moments.len() + 1]);
    let mut counted = 0;
    let passed = waits.into_iter().map(|(end, asked)| {
        while let Some((granted, later)) = grants.get(counted)
            && *granted < end
        {
            counts.add(asked_until(*later));
            counted += 1;
        }
        counted as u64 - counts.until(asked_until(asked))
    });
    passed.max()
}

/// A Fenwick tree: counts by place (from 1), with sums of beginnings.
struct Counts(Vec<u64>);

impl Counts {
    fn add(&mut self, mut place: usize) {
        while place > 0 && place < self.0.len() {
            self.0[place] += 1;
            place += place & place.wrapping_neg();
        }
    }

    fn until(&self, mut place: usize) -> u64 {
        let mut sum = 0;
        while place > 0 {
            sum += self.0[place];
            place &= place - 1;
        }
        sum
    }
}
