//! Other ways to read the report, each to be switched on alone. `docs/errata.md` says what each changes.

use crate::repairs::defects;

defects! {
    /// A place of the report that can be read in another way than we do.
    pub enum Reading {
        /// `TokenL` is the list it is called: a TOKEN is old if its destination and clock are in the list. Our reading
        /// keeps the latest clock of each destination, and what is not later is old. Both do nothing without repairs
        /// F1 or F3, which read `TokenL`.
        TokenList = "token-list",
    }
}

pub type Readings = crate::repairs::Repairs<Reading>;
