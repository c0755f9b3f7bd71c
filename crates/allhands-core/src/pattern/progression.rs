//! Progressions: numbers at equal distances, and lists of them that are as short as one pass makes them.

use alloc::vec::Vec;

/// Numbers at equal distances, from the lowest up.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Progression {
    /// The lowest.
    pub first: u32,
    /// From one to the next.
    pub step: u32,
    /// How many they are.
    pub times: u32,
}

impl Progression {
    /// The numbers.
    pub fn numbers(self) -> impl Iterator<Item = u32> {
        (0..self.times).map(move |i| self.first + i * self.step)
    }
}

/// Adds numbers above all those there are, as a part of the last progression if that is one still.
pub fn append(all: &mut Vec<Progression>, next: Progression) {
    if next.times == 0 {
        return;
    }
    if let Some(last) = all.last_mut() {
        let step = match last.times {
            1 => next.first - last.first,
            _ => last.step,
        };
        let follows = u64::from(next.first - last.first) == u64::from(step) * u64::from(last.times);
        if follows && (next.times == 1 || next.step == step) {
            last.step = step;
            last.times += next.times;
            return;
        }
    }
    all.push(next);
}

#[cfg(test)]
mod tests {
    use super::*;

    fn one(first: u32) -> Progression {
        let (step, times) = (1, 1);
        Progression { first, step, times }
    }

    #[test]
    fn what_goes_on_at_the_same_distance_is_one_progression() {
        let mut all = Vec::new();
        for first in [3, 5, 7, 8, 10, 12] {
            append(&mut all, one(first));
        }
        let (step, times) = (2, 4);
        let first = 14;
        append(&mut all, Progression { first, step, times });
        append(&mut all, Progression { times: 0, ..one(0) });
        let lists = [(3, 3), (8, 7)];
        assert!(all.iter().map(|some| (some.first, some.times)).eq(lists));
        let numbers = all.into_iter().flat_map(Progression::numbers);
        assert!(numbers.eq([3, 5, 7, 8, 10, 12, 14, 16, 18, 20]));
    }
}
