//! The defects of the printed text that can be repaired one by one.

use crate::repairs::defects;

defects! {
    /// A defect of the printed text. `docs/errata.md` has the shortest trace of each.
    pub enum Defect {
        /// C5: a process that gives an idle token away stays HI. Repair: it becomes N.
        G1 = "g1",
        /// E2-E4: an idle captain is set to HI and at once to HS. Repair: `else if`.
        G2 = "g2",
        /// C5: an idle token keeps its old type. Repair: it gets the session it is sent for.
        G3 = "g3",
        /// H: a request joins its session's entry and gets a second one too. Repair: a new entry only if there is
        /// none.
        G4 = "g4",
        /// D, F1: a complete that runs ahead of the token is lost. Repair: it is counted where it arrives.
        G5 = "g5",
        /// C3, C7: a request that runs ahead of the token is lost. Repair: it is kept, and taken up with the token.
        /// What was taken up already is known from G7's repair, without which this one does nothing.
        G6 = "g6",
        /// C1: a request served elsewhere is new to the next holder. Repair: the token tells what was taken up.
        G7 = "g7",
        /// G, C3: two processes can drop out of each other's request sets. Repair: requests go to all.
        G8 = "g8",
        /// E3, F2: N and R are exchanged. Repair: exchanged back.
        G9 = "g9",
        /// C3: the request sent back has no priority. Repair: it has.
        G10 = "g10",
    }
}

pub type Repairs = crate::repairs::Repairs<Defect>;

impl Defect {
    /// As many repairs as leave this defect visible: all others, but for G7 not G6's, which stands on G7's, and for
    /// G10 not G8's, with which the faulty line C3 is never reached.
    pub fn alone(self) -> Repairs {
        let others = Repairs::all_but([self]);
        match self {
            Self::G7 => others.without(Self::G6),
            Self::G10 => others.without(Self::G8),
            Self::G1 | Self::G2 | Self::G3 | Self::G4 | Self::G5 | Self::G6 | Self::G8 | Self::G9 => others,
        }
    }
}

#[cfg(test)]
mod tests {
    use std::vec::Vec;

    use super::*;
    use crate::repairs::Defect as _;

    #[test]
    fn each_defect_is_left_in_by_its_own_set_only_as_far_as_needed() {
        for defect in Defect::ALL.iter().copied() {
            let repairs = defect.alone();
            let missing: Vec<_> = Defect::ALL.iter().copied().filter(|d| !repairs.has(*d)).collect();
            let also = [(Defect::G7, Defect::G6), (Defect::G10, Defect::G8)].iter().find(|pair| pair.0 == defect);
            let expected: Vec<_> = also.map(|pair| pair.1).into_iter().chain([defect]).collect();
            assert_eq!(missing, expected);
        }
    }
}
