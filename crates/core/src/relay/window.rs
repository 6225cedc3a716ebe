//! Which messages of one origin were met here: the greatest number, and which of those just below it.

/// A window over the numbers of one origin. What falls out of it at the lower end counts as met.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Window {
    /// The greatest number met; 0 if none.
    pub(super) greatest: u64,
    /// Bit i: `greatest - i` was met.
    bits: u64,
}

impl Window {
    /// How many numbers are told apart.
    pub const SIZE: u64 = 64;

    /// Whether this number was met, or is so old that it must be taken for met.
    pub fn has(self, number: u64) -> bool {
        match self.greatest.checked_sub(number) {
            None => false,
            Some(age) if age < Self::SIZE => self.bits & (1 << age) != 0,
            Some(_) => true,
        }
    }

    /// Notes a number.
    pub fn add(&mut self, number: u64) {
        if number > self.greatest {
            let shift = number - self.greatest;
            self.bits = if shift < Self::SIZE { self.bits << shift } else { 0 };
            self.greatest = number;
        }
        let age = self.greatest - number;
        if age < Self::SIZE {
            self.bits |= 1 << age;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_out_of_order_are_told_apart() {
        let mut window = Window::default();
        window.add(5);
        window.add(2);
        let met: alloc::vec::Vec<_> = (1..=6).filter(|n| window.has(*n)).collect();
        assert_eq!(met, [2, 5]);
    }

    #[test]
    fn what_is_older_than_the_window_counts_as_met() {
        let mut window = Window::default();
        window.add(100);
        assert!(!window.has(37));
        assert!(window.has(36));
    }

    #[test]
    fn a_jump_beyond_the_window_forgets_nothing_it_would_have_to_know() {
        let mut window = Window::default();
        window.add(1);
        window.add(1_000);
        assert!(window.has(1));
        assert!(!window.has(999));
        window.add(u64::MAX);
        assert!(window.has(1_000));
        assert!(!window.has(u64::MAX - 63));
    }
}
