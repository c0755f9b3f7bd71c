//! `allhands reproduce bluegene`: B's tables on the model of BlueGene/L.

mod all_to_all;
mod laboratory;

use super::Entry;
use std::io::Write;

/// What the paper prints, and what the model gives; what is under way is told to `out`.
pub fn run(out: &mut dyn Write) -> anyhow::Result<Vec<Entry>> {
    let laboratory = laboratory::Laboratory::new()?;
    all_to_all::table(&laboratory, out)
}
