//! Spreads: how many elements each block has, in the regular and the irregular forms.

use allhands_core::call::{Call, Collective, Unit};
use allhands_core::schedule::Layout;
use std::fmt;
use std::str::FromStr;

/// The lengths of blocks around the size that was asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Spread {
    /// All blocks alike (a vector that is cut into blocks: as even as it can be cut).
    Regular,
    /// The same by the irregular call, which is given lengths that happen to be alike.
    Equal,
    /// Everything in the first block; between pairs in each rank's own.
    First,
    /// A ramp: nothing for the first block, twice the size for the last; between pairs by their distance.
    Uneven,
    /// Any length from nothing to twice the size, from this seed.
    Random(u64),
}

impl FromStr for Spread {
    type Err = String;

    fn from_str(text: &str) -> Result<Spread, String> {
        match text.split_once(':') {
            None if text == "regular" => Ok(Spread::Regular),
            None if text == "equal" => Ok(Spread::Equal),
            None if text == "first" => Ok(Spread::First),
            None if text == "uneven" => Ok(Spread::Uneven),
            Some(("random", seed)) => seed
                .parse()
                .map(Spread::Random)
                .map_err(|_| format!("'{seed}' is no seed; type a number, as in random:1")),
            _ => Err(format!(
                "'{text}' is no layout; type regular, equal, first, uneven or random:SEED"
            )),
        }
    }
}

impl fmt::Display for Spread {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Spread::Regular => f.write_str("regular"),
            Spread::Equal => f.write_str("equal"),
            Spread::First => f.write_str("first"),
            Spread::Uneven => f.write_str("uneven"),
            Spread::Random(seed) => write!(f, "random:{seed}"),
        }
    }
}

/// Whether a collective has an irregular form.
pub fn has_irregular(collective: Collective) -> bool {
    match collective {
        Collective::Scatter
        | Collective::Gather
        | Collective::Allgather
        | Collective::Alltoall
        | Collective::ReduceScatter => true,
        Collective::Barrier
        | Collective::Broadcast
        | Collective::Reduce
        | Collective::Allreduce
        | Collective::Scan
        | Collective::Exscan => false,
    }
}

impl Spread {
    /// The elements of a unit in a call with `elements` a block (reduce-scatter: in the whole vector).
    pub fn elements(self, call: &Call, unit: Unit, elements: usize) -> usize {
        let ranks = u64::from(call.ranks);
        let even = || {
            Layout::Even(elements)
                .elements(unit, call.ranks, 1)
                .unwrap_or(0)
        };
        let base = match call.collective {
            Collective::ReduceScatter if matches!(self, Spread::Regular | Spread::Equal) => {
                return even();
            }
            Collective::ReduceScatter if self == Spread::First => elements,
            Collective::ReduceScatter => elements / call.ranks as usize,
            _ => elements,
        };
        if !has_irregular(call.collective) {
            return elements;
        }
        // For alltoall a unit is source · ranks + destination.
        let place = match call.collective {
            Collective::Alltoall => (unit % ranks + ranks - unit / ranks) % ranks,
            _ => unit,
        };
        match self {
            Spread::Regular | Spread::Equal => base,
            Spread::First if place == 0 => base,
            Spread::First => 0,
            Spread::Uneven if ranks == 1 => base,
            Spread::Uneven => (2 * base as u64 * place / (ranks - 1)) as usize,
            Spread::Random(seed) => {
                let mut z = seed.wrapping_add((unit + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15));
                z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
                z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
                ((z ^ (z >> 31)) % (2 * base as u64 + 1)) as usize
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn layouts_are_read_and_printed() {
        for text in ["regular", "equal", "first", "uneven", "random:7"] {
            assert_eq!(text.parse::<Spread>().unwrap().to_string(), text);
        }
        for text in ["random", "random:x", "even"] {
            assert!(
                text.parse::<Spread>().unwrap_err().contains("type"),
                "{text}"
            );
        }
    }

    #[test]
    fn lengths_stand_around_the_size() {
        let call = Call::new(Collective::Alltoall, 5);
        for spread in [Spread::Uneven, Spread::Random(3)] {
            let lengths: Vec<usize> = (0..25).map(|u| spread.elements(&call, u, 100)).collect();
            assert!(lengths.iter().all(|n| *n <= 200));
            assert!(lengths.iter().any(|n| *n < 50) && lengths.iter().any(|n| *n > 150));
        }
        let vector = Call::new(Collective::ReduceScatter, 3);
        let cut = (0..3).map(|u| Spread::Regular.elements(&vector, u, 10));
        assert_eq!(cut.sum::<usize>(), 10);
        for (spread, expected) in [(Spread::Equal, [4, 3, 3]), (Spread::First, [10, 0, 0])] {
            let mut cut: Vec<usize> = (0..3).map(|u| spread.elements(&vector, u, 10)).collect();
            cut.sort_unstable_by_key(|elements| std::cmp::Reverse(*elements));
            assert_eq!(cut, expected, "{spread}");
        }
    }
}
