//! A collection that is shared until it is changed, and takes no memory as long as nothing is in it.
//!
//! Every node has a census; where nobody crashes, all of it is empty. As a value it is the collection itself: compared,
//! hashed, printed and serialized alike.

use alloc::collections::{BTreeMap, BTreeSet};
use alloc::sync::Arc;
use core::cmp::Ordering;
use core::fmt;
use core::hash::{Hash, Hasher};
use core::ops::Deref;

/// `None`: nothing is in it.
#[derive(Clone)]
pub(super) struct Shared<T>(Option<Arc<T>>);

/// A collection that can be empty.
pub(super) trait Vacant: Default + Clone + 'static {
    const VACANT: &'static Self;
}

impl<K: Clone + 'static, V: Clone + 'static> Vacant for BTreeMap<K, V> {
    const VACANT: &'static Self = &Self::new();
}

impl<K: Clone + 'static> Vacant for BTreeSet<K> {
    const VACANT: &'static Self = &Self::new();
}

impl<T: Vacant> Shared<T> {
    pub(super) fn new(collection: T) -> Self {
        Self(Some(Arc::new(collection)))
    }

    /// To be changed; others who share it keep what they have.
    pub(super) fn make_mut(&mut self) -> &mut T {
        Arc::make_mut(self.0.get_or_insert_default())
    }
}

impl<T: Vacant> Deref for Shared<T> {
    type Target = T;

    fn deref(&self) -> &T {
        self.0.as_deref().unwrap_or(T::VACANT)
    }
}

impl<T> Default for Shared<T> {
    fn default() -> Self {
        Self(None)
    }
}

impl<T: Vacant + fmt::Debug> fmt::Debug for Shared<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        (**self).fmt(f)
    }
}

impl<T: Vacant + Eq> PartialEq for Shared<T> {
    fn eq(&self, other: &Self) -> bool {
        core::ptr::eq::<T>(&**self, &**other) || **self == **other
    }
}

impl<T: Vacant + Eq> Eq for Shared<T> {}

impl<T: Vacant + Ord> PartialOrd for Shared<T> {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl<T: Vacant + Ord> Ord for Shared<T> {
    fn cmp(&self, other: &Self) -> Ordering {
        (**self).cmp(&**other)
    }
}

impl<T: Vacant + Hash> Hash for Shared<T> {
    fn hash<H: Hasher>(&self, state: &mut H) {
        (**self).hash(state);
    }
}

#[cfg(feature = "serde")]
impl<T: Vacant + serde::Serialize> serde::Serialize for Shared<T> {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        (**self).serialize(serializer)
    }
}

#[cfg(feature = "serde")]
impl<'de, T: Vacant + serde::Deserialize<'de>> serde::Deserialize<'de> for Shared<T> {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        T::deserialize(deserializer).map(Self::new)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_is_the_same_with_and_without_memory() {
        let (bare, made) = (Shared::<BTreeSet<u8>>::default(), Shared::new(BTreeSet::<u8>::new()));
        assert!(bare == made && bare.cmp(&made) == Ordering::Equal && bare.is_empty());
    }

    #[test]
    fn a_change_is_seen_by_none_who_shares_it() {
        let mut one = Shared::<BTreeSet<u8>>::default();
        one.make_mut().insert(1);
        let other = one.clone();
        one.make_mut().insert(2);
        assert_eq!((one.len(), other.len()), (2, 1));
        assert!(one > other);
    }
}
