//! The defects of the printed text that can be repaired one by one.

use crate::repairs::defects;

defects! {
    /// A defect of algorithm 1. Numbers are those of `docs/errata.md`; F8 and F9 (floods missed by moving stations,
    /// messages lost) need another protocol and have no switch.
    pub enum Defect {
        /// Relays have no memory. Repair: a station relays only what is new to it.
        F1 = "f1",
        /// The state is never set back. Repair: release sets it to `not_requesting`.
        F2 = "f2",
        /// Every copy of a token is accepted. Repair: the destination accepts a transfer once.
        F3 = "f3",
        /// The mark of a transfer is not unique. Repair: transfers are numbered in the token, not by the sender's clock.
        F4 = "f4",
        /// Requests are queued without a test. Repair: only those that are neither served nor queued are queued.
        F5 = "f5",
        /// A request between arrival and entry is dropped. Repair: a waiting station enters in the step in which the
        /// token arrives. (The defect is also gone with F7's repair.)
        F6 = "f6",
        /// A request that crossed the token is lost. Repair: release queues every request known to be unserved, as in
        /// Suzuki and Kasami's own algorithm.
        F7 = "f7",
    }
}

pub type Repairs = crate::repairs::Repairs<Defect>;
