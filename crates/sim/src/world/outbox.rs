//! The transmitter of a node and what waits for it.

use std::collections::VecDeque;

use crate::time::Time;

#[derive(Clone, Debug, Default)]
pub(super) struct Outbox {
    /// The next frame.
    first: Option<u32>,
    /// Those behind it: at most nodes and times there are none.
    #[allow(clippy::box_collection, reason = "eight bytes instead of 32 at each of 100,000 nodes")]
    others: Option<Box<VecDeque<u32>>>,
    /// A frame is on the air and not yet acknowledged.
    pub(super) on_the_air: bool,
    /// The agenda has its wake-up.
    pub(super) awaited: bool,
    pub(super) free_at: Time,
}

impl Outbox {
    pub(super) const fn is_empty(&self) -> bool {
        self.first.is_none()
    }

    pub(super) fn push_back(&mut self, frame: u32) {
        if self.first.is_none() {
            self.first = Some(frame);
        } else {
            self.others.get_or_insert_default().push_back(frame);
        }
    }

    pub(super) fn push_front(&mut self, frame: u32) {
        if let Some(second) = self.first.replace(frame) {
            self.others.get_or_insert_default().push_front(second);
        }
    }

    pub(super) fn pop_front(&mut self) -> Option<u32> {
        let next = self.others.as_mut().and_then(|others| others.pop_front());
        std::mem::replace(&mut self.first, next)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn frames_leave_in_their_order_and_what_is_repeated_goes_first() {
        let mut outbox = Outbox::default();
        for frame in [1, 2, 3] {
            outbox.push_back(frame);
        }
        assert_eq!(outbox.pop_front(), Some(1));
        outbox.push_front(1);
        outbox.push_back(4);
        let order: Vec<u32> = std::iter::from_fn(|| outbox.pop_front()).collect();
        assert_eq!(order, [1, 2, 3, 4]);
        assert!(outbox.is_empty());
        outbox.push_front(5);
        assert_eq!((outbox.pop_front(), outbox.pop_front()), (Some(5), None));
    }
}
