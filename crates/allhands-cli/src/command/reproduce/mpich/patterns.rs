//! Two comparisons that are of no two algorithms for one call: `b_eff`'s patterns (T 4.1.3), and binary blocks by numbers of ranks.

use super::super::statement::MB;
use super::super::times::{On as _, Testbed as _};
use super::super::{Entry, Says};
use super::testbed::{On, Pattern, Place, Testbed};
use allhands_core::call::Collective;

/// The nodes, as in T's figures.
const NODES: u32 = 64;

/// Patterns beside nearest neighbours: recursive doubling's steps, and one that is none of them.
const FAR: [Pattern; 4] = [
    Pattern::Exchange(8),
    Pattern::Exchange(16),
    Pattern::Exchange(32),
    Pattern::Third,
];

/// How many times the bandwidth of the slowest pattern nearest neighbours have: more than twice (T 4.1.3).
const NEAREST: &str = "nearest neighbours by the slowest pattern";

/// By how much binary blocks is faster where the exponents are close: it depends strongly on that (T 5.4).
const CLOSE: &str = "blocks among 48 by 65";

/// The entries of both.
///
/// # Errors
/// If something cannot be simulated.
pub fn entries(testbed: &Testbed) -> anyhow::Result<Vec<Entry>> {
    let mut entries = Vec::new();
    for on in [On::Myrinet, On::Sp] {
        let us = |pattern| testbed.pattern_us(on, pattern, (NODES, MB));
        let slowest_us = FAR.into_iter().try_fold(0.0_f64, |slowest_us, pattern| {
            anyhow::Ok(slowest_us.max(us(pattern)?))
        });
        let times = slowest_us? / us(Pattern::Nearest)?;
        let row = format!("{}, b_eff, {NODES} ranks, 1 MB", on.name());
        // The SP's routes were assumed by it.
        let entry = Entry::new("figure 5", (row, NEAREST), (2.0, times), on == On::Sp);
        entries.push(entry.saying(Says::Above));
    }
    let us = |ranks| {
        let place = Place {
            on: On::T3e,
            collective: Collective::Allreduce,
            ranks,
            bytes: 32 << 10,
        };
        testbed.time_us(place, "binary-blocks")
    };
    let row = "T3E, allreduce, 32 KB";
    let entry = Entry::new("figure 15", (row, CLOSE), (1.0, us(65)? / us(48)?), false);
    entries.push(entry.saying(Says::Ahead));
    Ok(entries)
}
