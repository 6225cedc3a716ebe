//! Planted bugs: what the checker must catch, or its rules have a hole.
//!
//! A protocol is written without them. Those of its rules that have bugs are methods of a private trait `Rules`; with
//! the feature `mutants`, its `bug.rs` lists the bugs and has an inherent method of the same name for each of these
//! rules. Rust prefers inherent methods, so `self.pass(..)` finds the altered form first, which breaks the rule if its
//! bug is planted and otherwise calls `Rules::pass(self, ..)`. Without the feature there is nothing but the rules.
//!
//! A bug is no part of what a node knows: it is saved as nothing and read as none.

use core::marker::PhantomData;

/// At most one bug of a protocol's list, by its number. Empty without the feature `mutants`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Planted<B = u8> {
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

/// The bugs of a protocol, as an enum with a list of all.
#[doc(hidden)]
#[macro_export]
macro_rules! bugs {
    ($($(#[$what:meta])* $bug:ident,)*) => {
        /// One rule left out or altered.
        #[doc(hidden)]
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub enum Bug {
            $($(#[$what])* $bug,)*
        }

        impl Bug {
            /// All of them.
            pub const ALL: &[Self] = &[$(Self::$bug),*];
        }
    };
}
