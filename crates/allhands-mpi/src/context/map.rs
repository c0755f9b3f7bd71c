//! The map: a hash map that can stand in a static.

use std::collections::HashMap;
use std::hash::{BuildHasherDefault, DefaultHasher};

/// A map whose hashes are the same in every process: its keys are handles of the MPI's, which nobody chooses.
pub(crate) type Map<K, V> = HashMap<K, V, BuildHasherDefault<DefaultHasher>>;

/// An empty one.
pub(crate) const fn empty<K, V>() -> Map<K, V> {
    HashMap::with_hasher(BuildHasherDefault::new())
}
