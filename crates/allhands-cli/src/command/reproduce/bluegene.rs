//! `allhands reproduce bluegene`: B's tables on the model of BlueGene/L.

mod all_to_all;
mod laboratory;
mod summary;

use super::Entry;
use std::io::Write;

/// What the paper prints, and what the model gives; what is under way is told to `out`.
pub fn run(out: &mut dyn Write) -> anyhow::Result<Vec<Entry>> {
    let laboratory = laboratory::Laboratory::new()?;
    let mut entries = summary::latencies(&laboratory, out)?;
    entries.extend(summary::bandwidths(&laboratory, out)?);
    let table = all_to_all::table(&laboratory, out)?;
    entries.extend(all_to_all::summary(&table));
    entries.extend(table);
    Ok(entries)
}
