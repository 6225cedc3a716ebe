//! Planted bugs: what the checker must catch, or its rules have a hole.
//!
//! Each repaired protocol lists its bugs in an enum of its own and asks `planted.has(Bug::..)` at the place. Without
//! the feature `mutants` a [`Planted`] is empty, nothing can be planted, and the question is the constant `false`.

use core::marker::PhantomData;

/// At most one bug of the list `B`, and none at all in a product.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Planted<B> {
    #[cfg(feature = "mutants")]
    bug: Option<B>,
    list: PhantomData<B>,
}

impl<B: Copy + PartialEq> Planted<B> {
    /// No bug.
    pub const NONE: Self = Self {
        #[cfg(feature = "mutants")]
        bug: None,
        list: PhantomData,
    };

    /// Plants a bug.
    #[cfg(feature = "mutants")]
    pub const fn bug(bug: B) -> Self {
        Self { bug: Some(bug), list: PhantomData }
    }

    /// Whether this bug is planted here.
    #[cfg(feature = "mutants")]
    pub(crate) fn has(self, bug: B) -> bool {
        self.bug == Some(bug)
    }

    /// Whether this bug is planted here: never.
    #[cfg(not(feature = "mutants"))]
    pub(crate) const fn has(self, _bug: B) -> bool {
        false
    }
}
