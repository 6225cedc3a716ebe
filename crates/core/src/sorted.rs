//! A small map in one piece of memory, ordered by key: for what a node knows of its neighbours.
//!
//! A node has a handful of them and looks at all of them in every event. A tree of the standard library has room for
//! eleven entries in each of its leaves, of which a third to a half is in use; a hundred thousand nodes pay for the rest. As
//! a value it is what such a tree is: it is compared, hashed, printed and serialized in the same way.

use alloc::vec::Vec;
use core::fmt;

/// Entries by key, each key once.
#[derive(Clone, PartialEq, Eq, Hash)]
pub(crate) struct Sorted<K, V> {
    entries: Vec<(K, V)>,
}

/// Entries of a map in their order.
#[derive(Clone, Debug)]
pub(crate) struct Entries<'a, K, V>(core::slice::Iter<'a, (K, V)>);

impl<'a, K, V> Iterator for Entries<'a, K, V> {
    type Item = (&'a K, &'a V);

    fn next(&mut self) -> Option<Self::Item> {
        self.0.next().map(|(key, value)| (key, value))
    }
}

impl<K, V> Sorted<K, V> {
    /// Nothing.
    pub(crate) const fn new() -> Self {
        Self { entries: Vec::new() }
    }

    /// Whether there is nothing.
    pub(crate) const fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    /// All entries, by key.
    pub(crate) fn iter(&self) -> Entries<'_, K, V> {
        Entries(self.entries.iter())
    }

    /// All keys, in order.
    pub(crate) fn keys(&self) -> impl Iterator<Item = &K> {
        self.entries.iter().map(|(key, _)| key)
    }

    /// All values, by key.
    pub(crate) fn values(&self) -> impl Iterator<Item = &V> {
        self.entries.iter().map(|(_, value)| value)
    }

    /// All entries, by key, their values to be changed.
    pub(crate) fn iter_mut(&mut self) -> impl Iterator<Item = (&K, &mut V)> {
        self.entries.iter_mut().map(|(key, value)| (&*key, value))
    }

    /// Keeps only some keys.
    pub(crate) fn retain(&mut self, keeps: impl Fn(&K) -> bool) {
        self.entries.retain(|(key, _)| keeps(key));
    }

    /// All values, by key, to be changed.
    pub(crate) fn values_mut(&mut self) -> impl Iterator<Item = &mut V> {
        self.entries.iter_mut().map(|(_, value)| value)
    }
}

impl<K: Ord, V> Sorted<K, V> {
    fn place(&self, key: &K) -> Result<usize, usize> {
        self.entries.binary_search_by(|(other, _)| other.cmp(key))
    }

    /// The value of a key.
    pub(crate) fn get(&self, key: &K) -> Option<&V> {
        self.place(key).ok().map(|place| &self.entries[place].1)
    }

    /// The value of a key, to be changed.
    pub(crate) fn get_mut(&mut self, key: &K) -> Option<&mut V> {
        self.place(key).ok().map(|place| &mut self.entries[place].1)
    }

    /// Whether a key has a value.
    pub(crate) fn contains_key(&self, key: &K) -> bool {
        self.place(key).is_ok()
    }

    /// Gives a key a value, and returns the one it had.
    pub(crate) fn insert(&mut self, key: K, value: V) -> Option<V> {
        match self.place(&key) {
            Ok(place) => Some(core::mem::replace(&mut self.entries[place].1, value)),
            Err(place) => {
                if self.entries.len() == self.entries.capacity() {
                    // Not twice as much each time: most maps stay as they are.
                    self.entries.reserve_exact(1 + self.entries.len() / 8);
                }
                self.entries.insert(place, (key, value));
                None
            }
        }
    }

    /// Takes a key out, with its value.
    pub(crate) fn remove(&mut self, key: &K) -> Option<V> {
        self.place(key).ok().map(|place| self.entries.remove(place).1)
    }
}

impl<K, V> Default for Sorted<K, V> {
    fn default() -> Self {
        Self::new()
    }
}

impl<K: fmt::Debug, V: fmt::Debug> fmt::Debug for Sorted<K, V> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_map().entries(self.iter()).finish()
    }
}

#[cfg(feature = "serde")]
impl<K: serde::Serialize, V: serde::Serialize> serde::Serialize for Sorted<K, V> {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        use serde::ser::SerializeMap;
        let mut map = serializer.serialize_map(Some(self.entries.len()))?;
        for (key, value) in &self.entries {
            map.serialize_entry(key, value)?;
        }
        map.end()
    }
}

/// What was saved need not be in order, nor each key once.
#[cfg(feature = "serde")]
impl<'de, K: Ord + serde::Deserialize<'de>, V: serde::Deserialize<'de>> serde::Deserialize<'de> for Sorted<K, V> {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let tree = alloc::collections::BTreeMap::<K, V>::deserialize(deserializer)?;
        Ok(Self { entries: tree.into_iter().collect() })
    }
}

#[cfg(test)]
mod tests {
    use alloc::collections::BTreeMap;
    use alloc::format;
    use core::hash::{Hash, Hasher};

    use super::*;

    /// All that is written to it.
    #[derive(Default)]
    struct Bytes(Vec<u8>);

    impl Hasher for Bytes {
        fn finish(&self) -> u64 {
            0
        }

        fn write(&mut self, bytes: &[u8]) {
            self.0.extend(bytes);
        }
    }

    fn bytes(value: &impl Hash) -> Vec<u8> {
        let mut bytes = Bytes::default();
        value.hash(&mut bytes);
        bytes.0
    }

    /// The same is done to both, step by step.
    #[test]
    fn it_is_what_a_tree_is() {
        let (mut sorted, mut tree) = (Sorted::new(), BTreeMap::new());
        let mut number = 1_u32;
        for step in 0..2_000 {
            number = number.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            let key = number >> 16 & 31;
            if number >> 30 == 0 {
                assert_eq!(sorted.remove(&key), tree.remove(&key));
            } else {
                assert_eq!(sorted.insert(key, step), tree.insert(key, step));
            }
            if let Some(value) = sorted.get_mut(&(key ^ 1)) {
                *value += 1;
                tree.entry(key ^ 1).and_modify(|value| *value += 1);
            }
            assert_eq!((sorted.get(&key), sorted.contains_key(&key)), (tree.get(&key), tree.contains_key(&key)));
            assert!(
                sorted.iter().eq(tree.iter()) && sorted.keys().eq(tree.keys()) && sorted.values().eq(tree.values())
            );
            assert!(sorted.values_mut().eq(tree.values_mut()));
            assert_eq!(sorted.is_empty(), tree.is_empty());
            assert_eq!(format!("{sorted:?}"), format!("{tree:?}"));
            assert_eq!(bytes(&sorted), bytes(&tree));
        }
    }
}
