//! Switches for the repairs of the printed text, so that each defect can be shown with all the others repaired.

/// A repair of one defect of algorithm 1. The numbers are those of `docs/errata.md`; F8 and F9 (floods missed by
/// moving stations, messages lost) need another protocol and have no switch.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub enum Repair {
    /// A station relays only what is new to it.
    F1,
    /// Release sets the state back to `not_requesting`.
    F2,
    /// The destination accepts a transfer of the token once.
    F3,
    /// Transfers are numbered in the token, not by the clock of whoever sends it.
    F4,
    /// Only requests that are neither served nor queued are queued.
    F5,
    /// A waiting station enters in the step in which the token arrives. (The defect is also gone with F7.)
    F6,
    /// Release queues every request known to be unserved, as in Suzuki and Kasami's own algorithm.
    F7,
}

impl Repair {
    /// All repairs.
    pub const ALL: [Self; 7] = [Self::F1, Self::F2, Self::F3, Self::F4, Self::F5, Self::F6, Self::F7];

    const fn bit(self) -> u8 {
        1 << self as u8
    }
}

/// A set of repairs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize), serde(transparent))]
pub struct Repairs(u8);

impl Repairs {
    /// The text as printed.
    pub const NONE: Self = Self(0);

    /// Every repair.
    pub const fn all() -> Self {
        Self((1 << Repair::ALL.len()) - 1)
    }

    /// Every repair but these.
    pub fn all_but(missing: impl IntoIterator<Item = Repair>) -> Self {
        missing.into_iter().fold(Self::all(), Self::without)
    }

    /// These and one more.
    #[must_use]
    pub const fn with(self, repair: Repair) -> Self {
        Self(self.0 | repair.bit())
    }

    /// These without one.
    #[must_use]
    pub const fn without(self, repair: Repair) -> Self {
        Self(self.0 & !repair.bit())
    }

    /// Whether a repair is in.
    pub const fn has(self, repair: Repair) -> bool {
        self.0 & repair.bit() != 0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_set_has_what_was_put_in_and_nothing_else() {
        let set = Repairs::NONE.with(Repair::F2).with(Repair::F7);
        let found: alloc::vec::Vec<_> = Repair::ALL.into_iter().filter(|r| set.has(*r)).collect();
        assert_eq!(found, [Repair::F2, Repair::F7]);
    }

    #[test]
    fn all_but_some_lacks_exactly_those() {
        let set = Repairs::all_but([Repair::F1, Repair::F6]);
        let missing: alloc::vec::Vec<_> = Repair::ALL.into_iter().filter(|r| !set.has(*r)).collect();
        assert_eq!(missing, [Repair::F1, Repair::F6]);
        assert_eq!(Repairs::all_but([]), Repairs::all());
    }
}
