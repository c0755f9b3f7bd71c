//! Parameters: the values of an algorithm's keys (`ports`, `radix`, `segments`, …), as typed after its name.

use alloc::vec::Vec;

/// The values of an algorithm's keys; small, ordered by key, the same on every rank.
///
/// A value is a number; a named variant is the number of its name (see
/// [`Values::Names`](crate::algorithm::Values)).
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Parameters {
    entries: Vec<(&'static str, u32)>,
}

impl Parameters {
    /// No parameters.
    #[must_use]
    pub const fn new() -> Parameters {
        Parameters {
            entries: Vec::new(),
        }
    }

    /// Sets `key` to `value`.
    pub fn set(&mut self, key: &'static str, value: u32) {
        match self.entries.binary_search_by_key(&key, |e| e.0) {
            Ok(at) => self.entries[at].1 = value,
            Err(at) => self.entries.insert(at, (key, value)),
        }
    }

    /// The value of `key`, if it has one.
    #[must_use]
    pub fn get(&self, key: &str) -> Option<u32> {
        self.entries.iter().find(|e| e.0 == key).map(|e| e.1)
    }

    /// Keys and values, ordered by key.
    pub fn iter(&self) -> impl Iterator<Item = (&'static str, u32)> + '_ {
        self.entries.iter().copied()
    }
}
