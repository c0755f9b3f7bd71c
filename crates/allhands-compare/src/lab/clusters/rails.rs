//! Rails: ours on several beside ours on one, and on two of which one has half the rate.

use super::record::Record;
use crate::cell::size;
use crate::statistics::estimate_of_pairs;
use std::fmt::Write as _;

/// The name of ours on one rail.
pub(super) const ONE: &str = "one rail";

/// What the rates of one whole rail and a half one come to, by two whole ones.
const HALF: f64 = 0.75;
/// What is demanded: how much more than the sum of rates says the half rail may cost.
const MORE: f64 = 1.1;

/// What is demanded of a call on so many rails: how often its time goes into that on one.
fn demanded(rails: u32, bytes: u64) -> Option<f64> {
    match (rails, bytes) {
        (2, 0x40_0000..) => Some(1.85),
        (2, 0x4_0000..) => Some(1.5),
        (4, 0x40_0000..) => Some(3.4),
        _ => None,
    }
}

/// The speed-up of every cell, and whether it is what is demanded.
pub(super) fn speed_ups(rails: u32, records: &[Record]) -> (String, bool) {
    let mut text = format!("\nours on one rail by ours on {rails}:\n");
    let mut holds = true;
    for record in records {
        let Some(one) = record.named(ONE) else {
            continue;
        };
        let pairs = one.rounds_us.iter().zip(&record.ours().rounds_us);
        let found = estimate_of_pairs(&pairs.map(|(one, all)| one / all).collect::<Vec<_>>());
        let least = demanded(rails, record.bytes);
        let is_right = least.is_none_or(|least| found.median >= least);
        holds &= is_right;
        let (bytes, [low, high]) = (size(record.bytes as usize), found.interval);
        let _ = write!(
            text,
            "  {:<15}{bytes:>6} {:.2} [{low:.2}, {high:.2}]",
            record.collective, found.median
        );
        if let Some(least) = least {
            let _ = write!(
                text,
                " (demanded: {least}){}",
                if is_right { "" } else { "  MISSED" }
            );
        }
        text.push('\n');
    }
    (text, holds)
}

/// What a half rail costs beside two whole ones: the time by what the sum of rates makes of that on two.
pub(super) fn half(even: &[Record], uneven: &[Record]) -> (String, bool) {
    let mut text =
        "\none of two rails at half its rate, by what the sum of rates says:\n".to_owned();
    let mut holds = true;
    for record in uneven {
        let alike =
            |other: &&Record| (other.collective, other.bytes) == (record.collective, record.bytes);
        let Some(whole) = even.iter().find(alike) else {
            continue;
        };
        let cost = record.ours().us * HALF / whole.ours().us;
        let is_right = cost <= MORE;
        holds &= is_right;
        let word = if is_right { "" } else { "  MISSED" };
        let bytes = size(record.bytes as usize);
        let _ = writeln!(
            text,
            "  {:<15}{bytes:>6} {cost:.2} (demanded: {MORE} at most){word}",
            record.collective
        );
    }
    (text, holds)
}

#[cfg(test)]
mod tests {
    use super::super::record::tests::record;
    use super::*;

    #[test]
    fn speed_ups_are_of_pairs_and_judged() {
        let of = |all: f64| {
            record(
                ("allreduce", 4 << 20),
                8,
                &[("tcp", &[all; 3]), (ONE, &[190.0; 3])],
            )
        };
        let (text, holds) = speed_ups(2, &[of(100.0)]);
        assert!(
            holds && text.contains("4M 1.90 [1.90, 1.90] (demanded: 1.85)\n"),
            "{text}"
        );
        assert!(!speed_ups(4, &[of(100.0)]).1);
        assert!(speed_ups(3, &[of(100.0)]).1);
    }

    #[test]
    fn half_a_rail_is_beside_the_sum_of_rates() {
        let of = |us: f64| record(("allreduce", 4 << 20), 8, &[("tcp", &[us; 3])]);
        let (text, holds) = half(&[of(75.0)], &[of(105.0)]);
        assert!(holds && text.contains("1.05"), "{text}");
        assert!(!half(&[of(75.0)], &[of(120.0)]).1);
    }
}
