//! `allhands reproduce bluegene`: B's tables on the model of BlueGene/L.

mod all_to_all;
mod laboratory;
mod steady;
mod summary;

use super::Entry;
use anyhow::ensure;
use std::io::Write;

/// What the paper prints, of one table or of all, and what the model gives; what is done is told to `out`.
pub fn run(table: Option<u32>, out: &mut dyn Write) -> anyhow::Result<Vec<Entry>> {
    let laboratory = laboratory::Laboratory::new()?;
    let asked = |number| table.is_none_or(|asked| asked == number);
    let numbers = [4, 3, 2];
    ensure!(
        numbers.into_iter().any(asked),
        "there is no such table; right would be 2, 3 or 4"
    );
    let mut entries = Vec::new();
    if asked(4) {
        entries.extend(summary::latencies(&laboratory, out)?);
    }
    if asked(3) {
        entries.extend(summary::bandwidths(&laboratory, out)?);
    }
    if asked(2) {
        let table = all_to_all::table(&laboratory, out)?;
        // Table 3 has two of its numbers again.
        entries.extend(all_to_all::summary(&table));
        entries.extend(table);
    }
    Ok(entries)
}
