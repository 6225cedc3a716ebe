//! Switches that repair single defects, so that a defect hidden behind another can be shown.

/// A defect of the printed text and the smallest change that removes it. Numbers are those of `docs/errata.md`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize), serde(rename_all = "kebab-case"))]
pub enum Repair {
    /// REQUEST 4: a waiting holder puts its own request back into Q before it looks for whom to give the token to.
    P1,
    /// UPDATE 4-5: the same; and the REQUEST behind the token is the only one.
    P2,
    /// REQUEST 4: a holder in the CS passes the token on too.
    P3,
    /// Request 4: an own request that comes to the front of a longer Q is reported by UPDATE.
    P4,
    /// UPDATE 6: reports whenever the priority at the front has changed.
    P5,
    /// `forwardUpdate`: goes to the node that has the request.
    P6,
    /// `forwardRelease` and `forwardUpdate` leave `next` alone.
    P7,
    /// `enqueue` replaces an older entry of the same node.
    P8,
}

impl Repair {
    /// All repairs.
    pub const ALL: [Self; 8] = [Self::P1, Self::P2, Self::P3, Self::P4, Self::P5, Self::P6, Self::P7, Self::P8];
}

/// A set of repairs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize), serde(transparent))]
pub struct Repairs(u16);

impl Repairs {
    /// The text as printed.
    pub const NONE: Self = Self(0);

    /// This set and one repair more.
    #[must_use]
    pub const fn with(self, repair: Repair) -> Self {
        Self(self.0 | 1 << repair as u16)
    }

    /// Whether the defect is repaired.
    pub const fn has(self, repair: Repair) -> bool {
        self.0 & (1 << repair as u16) != 0
    }

    /// The repairs of this set.
    pub fn iter(self) -> impl Iterator<Item = Repair> {
        Repair::ALL.into_iter().filter(move |repair| self.has(*repair))
    }
}

impl FromIterator<Repair> for Repairs {
    fn from_iter<I: IntoIterator<Item = Repair>>(repairs: I) -> Self {
        repairs.into_iter().fold(Self::NONE, Self::with)
    }
}
