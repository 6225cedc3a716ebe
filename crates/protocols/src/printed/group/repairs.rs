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
