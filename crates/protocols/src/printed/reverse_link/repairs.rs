//! The defects of the printed text that can be repaired one by one, and the smallest change that removes each.

use crate::repairs::defects;

defects! {
    /// A defect of the printed text. Numbers are those of `docs/errata.md`; p9 to p14 need another protocol and have
    /// no switch.
    pub enum Defect {
        /// REQUEST 4. Repair: a waiting holder puts its own request back into Q before it looks for whom to give the
        /// token to.
        P1 = "p1",
        /// UPDATE 4-5. Repair: the same; and the REQUEST behind the token is the only one.
        P2 = "p2",
        /// REQUEST 4. Repair: a holder in the CS passes the token on too.
        P3 = "p3",
        /// Request 4. Repair: an own request that comes to the front of a longer Q is reported by UPDATE.
        P4 = "p4",
        /// UPDATE 6. Repair: it reports whenever the priority at the front has changed.
        P5 = "p5",
        /// `forwardUpdate`. Repair: it goes to the node that has the request.
        P6 = "p6",
        /// `forwardRelease` and `forwardUpdate`. Repair: they leave `next` alone.
        P7 = "p7",
        /// `enqueue`. Repair: it replaces an older entry of the same node.
        P8 = "p8",
    }
}

pub type Repairs = crate::repairs::Repairs<Defect>;
