//! Claims.

use crate::claim::Claim;

/// All of them, in order.
pub fn claims() -> Vec<Claim> {
    Vec::new()
}
