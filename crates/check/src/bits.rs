//! A set of small numbers, one bit each.

/// Some of the numbers 0, 1, 2, ... below a length.
pub(crate) struct Bits(Vec<u64>);

impl Bits {
    pub(crate) fn none(len: usize) -> Self {
        Self(vec![0; len.div_ceil(64)])
    }

    /// Those of a range from 0 for which this holds.
    pub(crate) fn of(all: std::ops::Range<usize>, holds: impl Fn(usize) -> bool) -> Self {
        let word = |from: usize| {
            let numbers = from..(from + 64).min(all.end);
            numbers.fold(0, |word, number| word | u64::from(holds(number)) << (number % 64))
        };
        Self((0..all.end.div_ceil(64)).map(|place| word(place * 64)).collect())
    }

    pub(crate) fn add(&mut self, number: u32) {
        self.0[number as usize / 64] |= 1 << (number % 64);
    }

    pub(crate) fn has(&self, number: u32) -> bool {
        self.0[number as usize / 64] >> (number % 64) & 1 == 1
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.0.iter().all(|word| *word == 0)
    }

    /// The numbers that are in both.
    pub(crate) fn and(&self, other: &Self) -> Self {
        Self(self.0.iter().zip(&other.0).map(|(a, b)| a & b).collect())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn listed(bits: &Bits, len: u32) -> Vec<u32> {
        (0..len).filter(|number| bits.has(*number)).collect()
    }

    #[test]
    fn a_set_has_what_was_put_into_it() {
        let mut bits = Bits::none(130);
        assert!(bits.is_empty());
        for number in [0, 63, 64, 129] {
            bits.add(number);
        }
        assert_eq!(listed(&bits, 130), [0, 63, 64, 129]);
        let odd = Bits::of(0..130, |number| number % 2 == 1);
        assert_eq!(listed(&bits.and(&odd), 130), [63, 129]);
    }
}
