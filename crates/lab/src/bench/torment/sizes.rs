//! Which capacity a resource may have had, and when, as far as those know who changed it.

use super::history::Time;

/// A change of the capacity.
#[derive(Clone, Copy, Debug)]
struct Resize {
    capacity: u32,
    asked: Time,
    /// When the node said that it is done. Without an answer it may happen at any time.
    done: Option<Time>,
}

/// All changes of one resource, in the order in which they were asked for, one after the other.
#[derive(Clone, Debug, Default)]
pub(super) struct Sizes(Vec<Resize>);

impl Sizes {
    /// Notes a change that is over for the asker.
    pub(super) fn note(&mut self, capacity: u32, asked: Time, done: Option<Time>) {
        self.0.push(Resize { capacity, asked, done });
    }

    /// The largest capacity that may have been in force at any moment of this span; nothing if none is known.
    pub(super) fn largest(&self, from: Time, until: Time) -> Option<u32> {
        let possible = self.0.iter().enumerate().filter(|(place, change)| {
            let is_replaced = |later: &Resize| later.done.is_some_and(|done| done < from);
            // What was not answered may come late, after what was asked for since.
            let over = change.done.is_some() && self.0.iter().skip(place + 1).any(is_replaced);
            change.asked <= until && !over
        });
        possible.map(|(_, change)| change.capacity).max()
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[test]
    fn a_capacity_counts_until_the_next_is_certain() {
        let ms = Duration::from_millis;
        let mut sizes = Sizes::default();
        assert_eq!(sizes.largest(ms(0), ms(9)), None);
        sizes.note(6, ms(0), Some(ms(1)));
        sizes.note(2, ms(10), Some(ms(20)));
        assert_eq!(sizes.largest(ms(5), ms(8)), Some(6));
        assert_eq!(sizes.largest(ms(20), ms(30)), Some(6), "until the answer the old one may be in force");
        assert_eq!(sizes.largest(ms(21), ms(30)), Some(2));
        sizes.note(4, ms(40), None);
        sizes.note(3, ms(50), Some(ms(60)));
        assert_eq!(sizes.largest(ms(21), ms(39)), Some(2));
        assert_eq!(sizes.largest(ms(70), ms(80)), Some(4), "what was not answered may come late");
    }
}
