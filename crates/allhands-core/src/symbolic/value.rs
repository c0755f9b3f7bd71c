//! Values: what a block holds in a symbolic run.

use crate::call::Unit;
use alloc::boxed::Box;
use alloc::collections::BTreeMap;
use alloc::string::String;
use alloc::vec;
use alloc::vec::Vec;
use core::fmt::Write;

/// What a block holds: a unit, and the ranks whose contributions are combined in it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Value {
    unit: u64,
    set: u32,
}

impl Value {
    /// Nothing has been written.
    pub const NONE: Value = Value {
        unit: Unit::MAX,
        set: 0,
    };

    /// The data of a unit, where nothing is reduced.
    #[must_use]
    pub const fn data(unit: Unit) -> Value {
        Value { unit, set: 0 }
    }

    /// Whether nothing has been written.
    #[must_use]
    pub const fn is_none(self) -> bool {
        self.unit == Unit::MAX
    }

    /// The unit.
    #[must_use]
    pub const fn unit(self) -> Unit {
        self.unit
    }

    /// The number of the set of contributions in [`Sets`]; 0 for plain data.
    #[must_use]
    pub const fn set(self) -> u32 {
        self.set
    }
}

type Ranges = Box<[(u32, u32)]>;

/// Every set of contributions that occurs in a run, each once.
///
/// A set is a list of ranges of ranks in the order of combination; where order does not matter the
/// list is sorted. Neighbouring ranges are joined.
#[derive(Clone, Debug)]
pub struct Sets {
    ordered: bool,
    sets: Vec<Ranges>,
    numbers: BTreeMap<Ranges, u32>,
    unions: BTreeMap<(u32, u32), Option<u32>>,
    /// The range that was asked for last, and its number: neighbouring blocks ask alike.
    last: Option<((u32, u32), u32)>,
}

impl Sets {
    /// No sets yet; `ordered` if the order of combination matters.
    #[must_use]
    pub fn new(ordered: bool) -> Sets {
        let empty: Ranges = Box::new([]);
        let numbers = BTreeMap::from([(empty.clone(), 0)]);
        Sets {
            ordered,
            sets: vec![empty],
            numbers,
            unions: BTreeMap::new(),
            last: None,
        }
    }

    /// The value of `unit` with the contributions of ranks `start..end`.
    pub fn value(&mut self, unit: Unit, start: u32, end: u32) -> Value {
        let set = match self.last {
            Some((range, number)) if range == (start, end) => number,
            _ => self.number(Box::new([(start, end)])),
        };
        self.last = Some(((start, end), set));
        Value { unit, set }
    }

    /// The contributions in a value.
    #[must_use]
    pub fn ranges(&self, value: Value) -> &[(u32, u32)] {
        &self.sets[value.set as usize]
    }

    /// `left` ⊕ `right`; `None` if they are of different units, not reductions, or share a contribution.
    pub fn combine(&mut self, left: Value, right: Value) -> Option<Value> {
        if left.unit != right.unit || left.set == 0 || right.set == 0 {
            return None;
        }
        let key = (left.set, right.set);
        let set = match self.unions.get(&key) {
            Some(known) => (*known)?,
            None => {
                let union = self.union(left.set, right.set);
                let number = union.map(|u| self.number(u));
                self.unions.insert(key, number);
                number?
            }
        };
        Some(Value {
            unit: left.unit,
            set,
        })
    }

    fn union(&self, left: u32, right: u32) -> Option<Ranges> {
        let (left, right) = (&self.sets[left as usize], &self.sets[right as usize]);
        let mut all: Vec<(u32, u32)> = left.iter().chain(right.iter()).copied().collect();
        let mut sorted = all.clone();
        sorted.sort_unstable();
        if sorted.windows(2).any(|w| w[0].1 > w[1].0) {
            return None;
        }
        if !self.ordered {
            all = sorted;
        }
        let mut joined: Vec<(u32, u32)> = Vec::with_capacity(all.len());
        for range in all {
            match joined.last_mut() {
                Some(last) if last.1 == range.0 => last.1 = range.1,
                _ => joined.push(range),
            }
        }
        Some(joined.into_boxed_slice())
    }

    fn number(&mut self, ranges: Ranges) -> u32 {
        if let Some(&number) = self.numbers.get(&ranges) {
            return number;
        }
        let number = self.sets.len() as u32;
        self.sets.push(ranges.clone());
        self.numbers.insert(ranges, number);
        number
    }

    /// A value in words: `unit 3` or `unit 3 of ranks 0-4, 7`.
    #[must_use]
    pub fn describe(&self, value: Value) -> String {
        let mut text = String::new();
        let mut put = |args: core::fmt::Arguments<'_>| {
            let done = text.write_fmt(args);
            debug_assert!(done.is_ok(), "writing to a string does not fail");
        };
        if value.is_none() {
            return String::from("nothing");
        }
        put(format_args!("block {}", value.unit));
        for (at, (start, end)) in self.ranges(value).iter().enumerate() {
            put(format_args!(
                "{}",
                if at == 0 { " of ranks " } else { ", " }
            ));
            match end - start {
                1 => put(format_args!("{start}")),
                _ => put(format_args!("{start}-{}", end - 1)),
            }
        }
        text
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn order_matters_only_where_it_should() {
        for ordered in [false, true] {
            let mut sets = Sets::new(ordered);
            let (low, high) = (sets.value(0, 0, 2), sets.value(0, 2, 4));
            let whole = sets.value(0, 0, 4);
            assert_eq!(sets.combine(low, high), Some(whole));
            let backwards = sets.combine(high, low).unwrap();
            assert_eq!(backwards == whole, !ordered);
            assert_eq!(
                sets.combine(low, whole),
                None,
                "a contribution would count twice"
            );
            assert_eq!(sets.combine(low, Value::data(0)), None);
        }
    }
}
