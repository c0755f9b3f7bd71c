//! Runs: adjacent parts of a vector, or consecutive blocks, that a rank holds and that are named as one.

use super::{Cell, Table};
use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;

/// The most runs that a label names one by one.
const NAMED: usize = 3;

/// Adjacent cells of a rank that are alike.
pub(super) struct Run<'a> {
    pub cells: Vec<&'a Cell>,
    /// The row of the first.
    pub first: usize,
}

impl Run<'_> {
    /// `A`, or `A-D`.
    pub(super) fn parts(&self) -> String {
        let (first, last) = (self.cells[0], self.cells[self.cells.len() - 1]);
        if self.cells.len() == 1 {
            first.part.clone()
        } else {
            format!("{}-{}", first.part, last.part)
        }
    }

    /// `A-D0-1`: the parts and the ranks whose contributions they combine.
    pub(super) fn text(&self) -> String {
        format!("{}{}", self.parts(), self.cells[0].ranks)
    }
}

/// The runs of consecutive units that a rank holds and that `alike` puts together.
pub(super) fn runs(
    table: &Table,
    rank: usize,
    alike: impl Fn(&Cell, &Cell) -> bool,
) -> Vec<Run<'_>> {
    let mut runs: Vec<Run<'_>> = Vec::new();
    for (row, cells) in table.rows.iter().enumerate() {
        let cell = &cells[rank];
        let Some(unit) = cell.unit else {
            continue;
        };
        let goes_on = |run: &Run<'_>| {
            let last = run.cells[run.cells.len() - 1];
            run.first + run.cells.len() == row
                && last.unit == unit.checked_sub(1)
                && alike(last, cell)
        };
        match runs.last_mut() {
            Some(run) if goes_on(run) => run.cells.push(cell),
            Some(_) | None => runs.push(Run {
                cells: Vec::from([cell]),
                first: row,
            }),
        }
    }
    runs
}

/// What a rank holds, as (parts, ranks whose contributions they combine), with the same ranks in one.
pub(super) fn labels(table: &Table, rank: usize) -> Vec<(String, String)> {
    let runs = runs(table, rank, |a, b| a.ranks == b.ranks);
    if runs.len() > NAMED {
        return Vec::from([(format!("{} pieces", runs.len()), String::new())]);
    }
    let label = |run: &Run<'_>| (run.parts(), run.cells[0].ranks.clone());
    runs.iter().map(label).collect()
}
