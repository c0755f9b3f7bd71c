//! What Q 4 prints of puts, rails and copies: single numbers and thresholds.

use super::super::statement::{KB, STEP};
use super::super::{Entry, Says, Standing};
use super::testbed::{Testbed, Way};
use allhands_core::call::Collective;
use allhands_core::machine::Nodes;

/// Long enough that nothing but bandwidth counts.
const LONG_BYTES: u64 = KB * KB;

/// All of them.
///
/// # Errors
/// If something cannot be simulated.
pub fn entries(testbed: &Testbed) -> anyhow::Result<Vec<Entry>> {
    let apart = || (2, Nodes::even(2, 1));
    let put_us =
        |way, bytes| testbed.algorithm_us((Collective::Gather, "direct"), apart(), way, bytes);
    let both_ways_us = |way| {
        let exchange = (Collective::Alltoall, "pairwise");
        testbed.algorithm_us(exchange, apart(), way, LONG_BYTES)
    };
    let by_interface_us = |bytes| {
        let pair = (2, Nodes::one());
        testbed.algorithm_us((Collective::Gather, "direct"), pair, Way::BothRails, bytes)
    };
    let by_memory_us = |bytes| {
        let (gather, pair) = ((Collective::Gather, "shared-memory"), (2, Nodes::one()));
        testbed.algorithm_us(gather, pair, Way::BothRails, bytes)
    };
    let gain = both_ways_us(Way::OneRail)? / both_ways_us(Way::BothRails)?;
    let striped = first(|bytes| Ok(put_us(Way::BothRails, bytes)? < put_us(Way::OneRail, bytes)?))?;
    let beaten = first(|bytes| Ok(by_memory_us(bytes)? > by_interface_us(bytes)?))?;
    let oversubscribed = first(|bytes| Ok(testbed.copies_us(4, bytes)? > by_interface_us(bytes)?))?;
    let kb = KB as f64;
    let entry = |figure, row, (column, says): (&str, Says), numbers, fitted| {
        Entry::new(figure, (row, column), numbers, fitted).saying(says)
    };
    Ok(vec![
        entry(
            "figure 1",
            "put of 4 B",
            ("us", Says::To(2.77)),
            (2.0, put_us(Way::BothRails, 4)?),
            true,
        ),
        // Two rails of one rate each, and striping from a length on, are the machine's.
        entry(
            "figure 1",
            "both ways, 1 MB",
            ("rails 2 by 1", Says::About(1.25)),
            (2.0, gain),
            false,
        )
        .standing(Standing::Given),
        entry(
            "figure 1",
            "striped",
            ("from bytes", Says::About(STEP)),
            (kb, striped as f64),
            false,
        )
        .standing(Standing::Given),
        entry(
            "figure 2",
            "shared memory wins",
            ("to bytes", Says::About(STEP)),
            (2.0 * kb, beaten as f64 / 2.0),
            true,
        ),
        entry(
            "figure 2",
            "4 copies win",
            ("to bytes", Says::About(STEP)),
            (128.0 * kb, oversubscribed as f64 / 2.0),
            false,
        ),
    ])
}

/// The first power of two, up to 4 MB, for which something holds; 8 MB if there is none.
fn first(holds: impl Fn(u64) -> anyhow::Result<bool>) -> anyhow::Result<u64> {
    for exponent in 3..=22 {
        if holds(1 << exponent)? {
            return Ok(1 << exponent);
        }
    }
    Ok(1 << 23)
}
