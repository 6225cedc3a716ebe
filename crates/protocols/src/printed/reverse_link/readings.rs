//! Other ways to read the printed text, each to be switched on alone. `docs/errata.md` says what each changes.

use crate::repairs::defects;

defects! {
    /// A place of the text that can be read in another way than we do.
    pub enum Reading {
        /// REQUEST 1. Section 3 (and the conference version) ignores a REQUEST of j while `receivedLINK[j]` is false;
        /// the appendix, which is our reading, ignores only its height.
        Section3 = "section-3",
        /// REQUEST 7. "At the front" if the front of Q looks like it, also if that is an older entry of the same node
        /// and priority; our reading is that the very entry that line 2 made is there.
        FrontByValue = "front-by-value",
        /// REQUEST 7. "At the front" if nothing in Q is more urgent than S, as theorem 2 puts it almost: "the priority of
        /// the received message exceeds all the priorities of the requests in the local queue".
        FrontByPriority = "front-by-priority",
    }
}

pub type Readings = crate::repairs::Repairs<Reading>;
