//! How many units a resource has. That can change while it is used, so every definition has a version.
//!
//! The token carries the capacity under which grants are made. Every node keeps the newest it has heard of: what it was
//! set up with, what it was told since, what a token brought. A holder that knows a newer one writes it into the token;
//! a holder that knows an older one learns. So the version in the token never falls, and no agreement is needed.

use core::hash::{Hash, Hasher};

use crate::vocabulary::Units;

/// The units of a resource and the version of the definition that says so.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Capacity {
    /// Grows with every definition; 0 is what nodes are set up with.
    pub version: u64,
    /// The k of h-out-of-k.
    pub units: Units,
}

impl Capacity {
    /// What nodes are set up with.
    pub const fn first(units: Units) -> Self {
        Self { version: 0, units }
    }

    /// Takes over the newer of the two. Of two with the same version, `other` is believed.
    pub(crate) fn keep_newer(&mut self, other: Self) {
        if other.version >= self.version {
            *self = other;
        }
    }
}

/// A capacity that was never changed is the same everywhere in a run and would only cost time.
impl Hash for Capacity {
    fn hash<H: Hasher>(&self, state: &mut H) {
        if self.version > 0 {
            (self.version, self.units).hash(state);
        }
    }
}
