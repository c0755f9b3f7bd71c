//! Values: what a block holds in a symbolic run.

use crate::call::Unit;
use alloc::boxed::Box;
use alloc::collections::BTreeMap;
use alloc::string::String;
use alloc::vec::Vec;
use core::fmt::Write;
use core::ops::Deref;

/// What a block holds: a unit, and the ranks whose contributions are combined in it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Value {
    unit: u64,
    set: SetNumber,
}

/// A set of contributions, canonical: 0 for none; one range, or two of small numbers, are written into the number itself
/// (most sets of most runs, and the quadratic algorithms make quadratically many); others are counted in [`Sets`].
type SetNumber = u64;

const ONE_RANGE: SetNumber = 1 << 63;
const TWO_RANGES: SetNumber = 1 << 62;

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

    /// The number of the set of contributions, equal for equal sets of a run; 0 for plain data.
    #[must_use]
    pub const fn set(self) -> u64 {
        self.set
    }
}

type Range = (u32, u32);

/// The ranges of ranks in a set.
#[derive(Clone, Copy, Debug)]
pub enum Ranges<'a> {
    /// At most two, and how many.
    Few([Range; 2], usize),
    /// More.
    Many(&'a [Range]),
}

impl Deref for Ranges<'_> {
    type Target = [Range];

    fn deref(&self) -> &[Range] {
        match self {
            Ranges::Few(ranges, count) => &ranges[..*count],
            Ranges::Many(ranges) => ranges,
        }
    }
}

/// Every set of contributions that occurs in a run, each once.
///
/// A set is a list of ranges of ranks in the order of combination; where order does not matter the
/// list is sorted. Neighbouring ranges are joined.
#[derive(Clone, Debug)]
pub struct Sets {
    ordered: bool,
    sets: Vec<Box<[Range]>>,
    numbers: BTreeMap<Box<[Range]>, SetNumber>,
    unions: BTreeMap<(SetNumber, SetNumber), Option<SetNumber>>,
}

impl Sets {
    /// No sets yet; `ordered` if the order of combination matters.
    #[must_use]
    pub fn new(ordered: bool) -> Sets {
        Sets {
            ordered,
            sets: Vec::new(),
            numbers: BTreeMap::new(),
            unions: BTreeMap::new(),
        }
    }

    /// The value of `unit` with the contributions of ranks `start..end`.
    pub fn value(&mut self, unit: Unit, start: u32, end: u32) -> Value {
        let set = self.number(&[(start, end)]);
        Value { unit, set }
    }

    /// The contributions in a value.
    #[must_use]
    pub fn ranges(&self, value: Value) -> Ranges<'_> {
        self.of(value.set)
    }

    fn of(&self, set: SetNumber) -> Ranges<'_> {
        let bits = |from: u32, count: u32| (set >> from) as u32 & ((1 << count) - 1);
        if set & ONE_RANGE != 0 {
            Ranges::Few([(bits(31, 31), bits(0, 31)), (0, 0)], 1)
        } else if set & TWO_RANGES != 0 {
            let ranges = [(bits(45, 15), bits(30, 15)), (bits(15, 15), bits(0, 15))];
            Ranges::Few(ranges, 2)
        } else if set == 0 {
            Ranges::Few([(0, 0); 2], 0)
        } else {
            Ranges::Many(&self.sets[set as usize - 1])
        }
    }

    /// `left` ⊕ `right`; `None` if they are of different units, not reductions, or share a contribution.
    pub fn combine(&mut self, left: Value, right: Value) -> Option<Value> {
        if left.unit != right.unit || left.set == 0 || right.set == 0 {
            return None;
        }
        let set = match (self.of(left.set), self.of(right.set)) {
            (Ranges::Few(l, l_count), Ranges::Few(r, r_count)) => {
                let mut all = [(0, 0); 4];
                all[..l_count].copy_from_slice(&l[..l_count]);
                all[l_count..l_count + r_count].copy_from_slice(&r[..r_count]);
                self.union(&mut all[..l_count + r_count])
            }
            _ => self.union_of_many(left.set, right.set),
        }?;
        Some(Value {
            unit: left.unit,
            set,
        })
    }

    /// Long sets meet again and again, in the same pairs.
    fn union_of_many(&mut self, left: SetNumber, right: SetNumber) -> Option<SetNumber> {
        if let Some(known) = self.unions.get(&(left, right)) {
            return *known;
        }
        let mut all = self.of(left).to_vec();
        all.extend_from_slice(&self.of(right));
        let union = self.union(&mut all);
        self.unions.insert((left, right), union);
        union
    }

    /// The number of the set of `all`, in this order if order matters; `None` if they overlap.
    fn union(&mut self, all: &mut [Range]) -> Option<SetNumber> {
        let overlap = |sorted: &[Range]| sorted.windows(2).any(|w| w[0].1 > w[1].0);
        let overlaps = if self.ordered && !all.is_sorted() {
            let mut sorted = all.to_vec();
            sorted.sort_unstable();
            overlap(&sorted)
        } else {
            all.sort_unstable();
            overlap(all)
        };
        if overlaps {
            return None;
        }
        // Neighbours are joined where they stand.
        let mut last = 0;
        for at in 1..all.len() {
            if all[last].1 == all[at].0 {
                all[last].1 = all[at].1;
            } else {
                last += 1;
                all[last] = all[at];
            }
        }
        Some(self.number(&all[..=last]))
    }

    fn number(&mut self, ranges: &[Range]) -> SetNumber {
        let wide = u64::from;
        match *ranges {
            [] => return 0,
            [(start, end)] if end < 1 << 31 => return ONE_RANGE | wide(start) << 31 | wide(end),
            [(a, b), (c, d)] if b < 1 << 15 && d < 1 << 15 => {
                return TWO_RANGES | wide(a) << 45 | wide(b) << 30 | wide(c) << 15 | wide(d);
            }
            _ => {}
        }
        if let Some(&number) = self.numbers.get(ranges) {
            return number;
        }
        self.sets.push(ranges.into());
        let number = self.sets.len() as SetNumber;
        self.numbers.insert(ranges.into(), number);
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
        for (at, &(start, end)) in self.ranges(value).iter().enumerate() {
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
