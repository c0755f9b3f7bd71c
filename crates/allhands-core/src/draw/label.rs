//! Labels: blocks, parts and sets of ranks in the words of the papers' figures.

use crate::call::{Call, Collective, Unit};
use crate::symbolic::{Sets, Value};
use alloc::format;
use alloc::string::{String, ToString};
use alloc::vec::Vec;

/// The most blocks of an alltoall that a message names one by one.
const NAMED_PAIRS: usize = 16;
/// The most ranges of ranks that a label names one by one.
const NAMED_RANGES: usize = 4;

/// Whether a collective's data is a vector, whose parts have letters.
fn has_letters(collective: Collective) -> bool {
    collective.reduces() || collective == Collective::Broadcast
}

/// Part `number` of a vector: A, B, …, Z, AA, AB, ….
fn letters(number: Unit) -> String {
    let letter = char::from(b'A' + (number % 26) as u8);
    match number / 26 {
        0 => letter.to_string(),
        more => format!("{}{letter}", letters(more - 1)),
    }
}

/// A unit: a letter for a part, `ij` for what rank i sends to rank j, or the number of a rank's block; behind it a small letter for the
/// piece of a block that is cut in `pieces`.
pub(super) fn unit(call: &Call, pieces: u32, unit: Unit) -> String {
    if pieces > 1 {
        let (block, piece) = (unit / Unit::from(pieces), unit % Unit::from(pieces));
        return self::unit(call, 1, block) + &letters(piece).to_lowercase();
    }
    let ranks = Unit::from(call.ranks);
    match call.collective {
        Collective::Alltoall if ranks <= 10 => format!("{}{}", unit / ranks, unit % ranks),
        Collective::Alltoall => format!("{}.{}", unit / ranks, unit % ranks),
        collective if has_letters(collective) => letters(unit),
        _ => unit.to_string(),
    }
}

fn range(start: u32, end: u32) -> String {
    match end - start {
        1 => start.to_string(),
        _ => format!("{start}-{}", end - 1),
    }
}

/// Ranks whose contributions are combined: `0-3,6`; `0,2..14` if they are many and equally far apart.
pub(super) fn ranks(ranges: &[(u32, u32)]) -> String {
    if ranges.len() > NAMED_RANGES {
        let step = ranges[1].0.wrapping_sub(ranges[0].0);
        let even = ranges
            .windows(2)
            .all(|w| w[1].0.wrapping_sub(w[0].0) == step);
        if even && ranges.iter().all(|r| r.1 - r.0 == 1) {
            return format!(
                "{},{}..{}",
                ranges[0].0,
                ranges[1].0,
                ranges[ranges.len() - 1].0
            );
        }
        let count: u32 = ranges.iter().map(|r| r.1 - r.0).sum();
        return format!(" of {count} ranks");
    }
    let all: Vec<String> = ranges.iter().map(|r| range(r.0, r.1)).collect();
    all.join(",")
}

/// A run of units of which the same ranks' contributions are combined, as (units, ranks): (`A-D`, `0-1`).
pub(super) fn run(
    (call, pieces): (&Call, u32),
    sets: &Sets,
    first: Value,
    last: Unit,
) -> (String, String) {
    let mut units = unit(call, pieces, first.unit());
    if last != first.unit() {
        units = format!("{units}-{}", unit(call, pieces, last));
    }
    (units, ranks(&sets.ranges(first)))
}

/// What a message carries: `01 03 05`, `0-3 6`, `A-D0-1`.
pub(super) fn values((call, pieces): (&Call, u32), sets: &Sets, values: &[Value]) -> String {
    if values.is_empty() {
        return String::from("signal");
    }
    let mut sorted = values.to_vec();
    sorted.sort_unstable();
    if call.collective == Collective::Alltoall {
        let named = sorted.iter().take(NAMED_PAIRS);
        let mut all: Vec<String> = named.map(|v| unit(call, pieces, v.unit())).collect();
        if values.len() > NAMED_PAIRS {
            all.push(format!(".. ({} blocks)", values.len()));
        }
        return all.join(" ");
    }
    let same = |a: &Value, b: &Value| b.unit() == a.unit() + 1 && a.set() == b.set();
    let name = |of: &[Value]| {
        let (units, ranks) = run((call, pieces), sets, of[0], of[of.len() - 1].unit());
        format!("{units}{ranks}")
    };
    let all: Vec<String> = sorted.chunk_by(same).map(name).collect();
    all.join(" ")
}

/// How much a message carries: `2 blocks`, or `2 pieces` of blocks, or of a vector that is cut at will `3n/8`.
pub(super) fn amount(call: &Call, parts: u32, blocks: u32) -> String {
    if blocks == 0 {
        return String::new();
    }
    if !call.collective.cuts_freely() {
        let what = if call.pieces(parts) > 1 {
            "piece"
        } else {
            "block"
        };
        return format!("{blocks} {what}{}", if blocks == 1 { "" } else { "s" });
    }
    let common = divisor(blocks, parts);
    match (blocks / common, parts / common) {
        (1, 1) => String::from("n"),
        (1, of) => format!("n/{of}"),
        (times, 1) => format!("{times}n"),
        (times, of) => format!("{times}n/{of}"),
    }
}

fn divisor(a: u32, b: u32) -> u32 {
    if b == 0 { a } else { divisor(b, a % b) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_count_on_after_z() {
        let names: Vec<String> = [0, 25, 26, 27, 52].map(letters).into();
        assert_eq!(names, ["A", "Z", "AA", "AB", "BA"]);
    }

    #[test]
    fn sets_of_ranks_stay_short() {
        assert_eq!(ranks(&[(0, 2), (4, 5)]), "0-1,4");
        let even: Vec<(u32, u32)> = (0..8).map(|i| (2 * i, 2 * i + 1)).collect();
        assert_eq!(ranks(&even), "0,2..14");
        let uneven = [(0, 1), (2, 3), (4, 6), (7, 8), (9, 10)];
        assert_eq!(ranks(&uneven), " of 6 ranks");
    }

    #[test]
    fn amounts_are_fractions_of_a_vector() {
        let call = Call::new(Collective::Allreduce, 13);
        assert_eq!(amount(&call, 8, 6), "3n/4");
        assert_eq!(amount(&call, 1, 1), "n");
        assert_eq!(
            amount(&Call::new(Collective::Allgather, 8), 8, 2),
            "2 blocks"
        );
    }
}
