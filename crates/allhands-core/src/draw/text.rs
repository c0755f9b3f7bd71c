//! The plain text of a story: for each step its messages, and what every rank holds, in aligned columns.

use super::runs::runs;
use super::{Cell, State, Step, Story, Table};
use alloc::format;
use alloc::string::{String, ToString};
use alloc::vec::Vec;

/// The width that lists of messages keep to.
const WIDTH: usize = 100;

/// Renders a story as text, without colour.
///
/// Where nothing is reduced, a table follows each step: a column for each rank, a row for each block; `+` stands
/// before what was just received, `>` behind what is sent in the next step. Where results are reduced, one table follows the
/// steps: a row for each rank, a column for each step, adjacent parts with the same contributions in one (`A-D0-1` is parts A
/// to D of ranks 0 and 1, combined).
#[must_use]
pub fn text(story: &Story) -> String {
    let mut lines = Vec::from([story.title.clone(), story.subtitle.clone()]);
    if let Some(fabric) = story.meets_in {
        lines.push(format!("all ranks meet in the machine's {}", fabric.name()));
    }
    let by_rank = story.collective.reduces();
    for step in &story.steps {
        if !step.messages.is_empty() {
            lines.push(String::new());
            lines.push(format!("step {}", step.number));
            lines.extend(messages(step));
        }
        if !by_rank {
            for table in &step.tables {
                lines.push(String::new());
                lines.push(table.title.clone());
                lines.extend(columns(table));
            }
        }
    }
    if by_rank {
        lines.push(String::new());
        lines.extend(held_by_rank(story));
    }
    let mut text = String::new();
    for line in lines {
        text.push_str(line.trim_end());
        text.push('\n');
    }
    text
}

/// The messages of a step, as many in a line as fit.
fn messages(step: &Step) -> Vec<String> {
    let one = |m: &super::Message| format!("P{} -> P{}: {}", m.from, m.to, m.what);
    let all: Vec<String> = step.messages.iter().map(one).collect();
    let width = all.iter().map(|m| m.chars().count()).max().unwrap_or(0) + 3;
    let in_line = (WIDTH / width).max(1);
    let line = |of: &[String]| of.iter().map(|m| format!("  {m:<0$}", width - 2)).collect();
    all.chunks(in_line).map(line).collect()
}

fn columns(table: &Table) -> Vec<String> {
    let ranks = table.rows.first().map_or(0, Vec::len);
    let heads = core::iter::once(String::new()).chain((0..ranks).map(|rank| format!(" P{rank}")));
    let mut grid: Vec<Vec<String>> = Vec::from([heads.collect()]);
    for (number, row) in table.rows.iter().enumerate() {
        let cells = core::iter::once(number.to_string()).chain(row.iter().map(marked));
        grid.push(cells.collect());
    }
    aligned(&grid)
}

fn marked(cell: &Cell) -> String {
    let before = match cell.state {
        State::Unchanged => ' ',
        State::Received => '+',
        State::Combined => '*',
    };
    if cell.unit.is_none() {
        return String::from(" .");
    }
    format!(
        "{before}{}{}",
        cell.text,
        if cell.sent_next { ">" } else { "" }
    )
}

/// A row for each rank, a column for each table.
fn held_by_rank(story: &Story) -> Vec<String> {
    let tables: Vec<&Table> = story.steps.iter().flat_map(|s| &s.tables).collect();
    let heads = core::iter::once(String::new()).chain(tables.iter().map(|t| t.title.clone()));
    let mut grid: Vec<Vec<String>> = Vec::from([heads.collect()]);
    for rank in 0..story.ranks as usize {
        let held = |table: &&Table| {
            let runs: Vec<String> = runs(table, rank, |a, b| a.ranks == b.ranks)
                .iter()
                .map(|run| run.text())
                .collect();
            if runs.is_empty() {
                String::from(".")
            } else {
                runs.join(" ")
            }
        };
        let cells = core::iter::once(format!("P{rank}")).chain(tables.iter().map(held));
        grid.push(cells.collect());
    }
    aligned(&grid)
}

/// A grid with columns as wide as their widest entry.
fn aligned(grid: &[Vec<String>]) -> Vec<String> {
    let columns = grid.first().map_or(0, Vec::len);
    let width = |column: usize| grid.iter().map(|row| row[column].chars().count()).max();
    let widths: Vec<usize> = (0..columns)
        .map(|column| width(column).unwrap_or(0))
        .collect();
    let line = |row: &Vec<String>| {
        row.iter()
            .zip(&widths)
            .map(|(entry, width)| format!("{entry:<0$}  ", *width))
            .collect()
    };
    grid.iter().map(line).collect()
}
