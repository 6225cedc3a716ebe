//! Which defects of the printed text are repaired, one by one.

/// A defect of the printed text. `docs/errata.md` has the shortest trace of each.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub enum Defect {
    /// C5: whoever gives an idle token away stays HI. Repair: it becomes N.
    G1,
    /// E2-E4: an idle captain is set to HI and at once to HS. Repair: `else if`.
    G2,
    /// C5: an idle token keeps its old type. Repair: it gets the session it is sent for.
    G3,
    /// H: a request joins its session's entry and gets a second one too. Repair: a new entry only if there is none.
    G4,
    /// D, F1: a complete that runs ahead of the token is lost. Repair: it is counted where it arrives.
    G5,
    /// C3, C7: a request that runs ahead of the token is lost. Repair: it is kept, and taken up with the token. What
    /// was taken up already is known from G7's repair, without which this one does nothing.
    G6,
    /// C1: a request served elsewhere is new to the next holder. Repair: the token tells what was taken up.
    G7,
    /// G, C3: two processes can drop out of each other's request sets. Repair: requests go to everybody.
    G8,
    /// E3, F2: N and R are exchanged. Repair: exchanged back.
    G9,
    /// C3: the request sent back has no priority. Repair: it has.
    G10,
}

impl Defect {
    /// All of them.
    pub const ALL: [Self; 10] =
        [Self::G1, Self::G2, Self::G3, Self::G4, Self::G5, Self::G6, Self::G7, Self::G8, Self::G9, Self::G10];

    /// Its name, as in `docs/errata.md`.
    pub const fn name(self) -> &'static str {
        match self {
            Self::G1 => "G1",
            Self::G2 => "G2",
            Self::G3 => "G3",
            Self::G4 => "G4",
            Self::G5 => "G5",
            Self::G6 => "G6",
            Self::G7 => "G7",
            Self::G8 => "G8",
            Self::G9 => "G9",
            Self::G10 => "G10",
        }
    }

    /// The defect of this name.
    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|defect| defect.name() == name)
    }
}

/// A set of repaired defects.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize), serde(transparent))]
pub struct Repairs(u16);

impl Repairs {
    /// The text as printed.
    pub const NONE: Self = Self(0);

    /// Every defect repaired.
    pub const fn all() -> Self {
        Self((1 << Defect::ALL.len()) - 1)
    }

    /// These and one more.
    #[must_use]
    pub const fn with(self, defect: Defect) -> Self {
        Self(self.0 | 1 << defect as u16)
    }

    /// These without one.
    #[must_use]
    pub const fn without(self, defect: Defect) -> Self {
        Self(self.0 & !(1 << defect as u16))
    }

    /// As many repairs as leave this defect visible: all others, but for G7 not G6's, which stands on G7's, and for
    /// G10 not G8's, with which the faulty line C3 is never reached.
    pub const fn all_but(defect: Defect) -> Self {
        let others = Self::all().without(defect);
        match defect {
            Defect::G7 => others.without(Defect::G6),
            Defect::G10 => others.without(Defect::G8),
            Defect::G1 | Defect::G2 | Defect::G3 | Defect::G4 | Defect::G5 | Defect::G6 | Defect::G8 | Defect::G9 => {
                others
            }
        }
    }

    /// Whether this defect is repaired.
    pub const fn has(self, defect: Defect) -> bool {
        self.0 & (1 << defect as u16) != 0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_defect_is_left_in_by_its_own_set_only_as_far_as_needed() {
        for defect in Defect::ALL {
            let missing: alloc::vec::Vec<_> =
                Defect::ALL.into_iter().filter(|d| !Repairs::all_but(defect).has(*d)).collect();
            let also = [(Defect::G7, Defect::G6), (Defect::G10, Defect::G8)].iter().find(|pair| pair.0 == defect);
            let expected: alloc::vec::Vec<_> = also.map(|pair| pair.1).into_iter().chain([defect]).collect();
            assert_eq!(missing, expected);
            assert_eq!(Defect::named(defect.name()), Some(defect));
        }
    }

    #[test]
    fn none_and_all_are_what_they_say() {
        assert!(Defect::ALL.into_iter().all(|d| Repairs::all().has(d) && !Repairs::NONE.has(d)));
        assert_eq!(Defect::ALL.into_iter().fold(Repairs::NONE, Repairs::with), Repairs::all());
    }
}
