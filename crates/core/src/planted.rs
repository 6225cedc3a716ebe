//! Planted bugs: what the checker must catch, or its rules have a hole.
//!
//! Each repaired protocol lists its bugs in an enum of its own and asks `planted.has(Bug::..)` at the place. Without
//! the feature `mutants` a [`Planted`] is empty, nothing can be planted, and the question is the constant `false`.
//!
//! A bug is not part of what a node knows: it is written as nothing and read as none.

use core::marker::PhantomData;

/// At most one bug of the list `B`, and none at all in a product.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Planted<B> {
    #[cfg(feature = "mutants")]
    bug: Option<B>,
    list: PhantomData<B>,
}

impl<B> Planted<B> {
    /// No bug.
    pub const NONE: Self = Self {
        #[cfg(feature = "mutants")]
        bug: None,
        list: PhantomData,
    };
}

impl<B: Copy + PartialEq> Planted<B> {
    /// Plants a bug.
    #[cfg(feature = "mutants")]
    pub const fn bug(bug: B) -> Self {
        Self { bug: Some(bug), list: PhantomData }
    }

    /// Whether this bug is planted here.
    #[cfg(feature = "mutants")]
    pub fn has(self, bug: B) -> bool {
        self.bug == Some(bug)
    }

    /// Whether this bug is planted here: never.
    #[cfg(not(feature = "mutants"))]
    pub const fn has(self, _bug: B) -> bool {
        false
    }
}

#[cfg(feature = "serde")]
impl<B> serde::Serialize for Planted<B> {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_unit()
    }
}

#[cfg(feature = "serde")]
impl<'de, B> serde::Deserialize<'de> for Planted<B> {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        <()>::deserialize(deserializer).map(|()| Self::NONE)
    }
}
