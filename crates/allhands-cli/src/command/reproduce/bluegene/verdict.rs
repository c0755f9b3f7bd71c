//! The verdict on B's tables and figures: how many entries come out, and why the others do not.

use super::super::{Entry, Standing};
use std::io::Write;

/// How far an entry of a table may be off, as a part of the paper's.
const TOLERANCE: f64 = 0.25;

/// How far the length with half of a bandwidth may be off.
const HALF_TOLERANCE: f64 = 2.0;

/// How far a best percentage of the peak may be off, in percent of the peak.
const BEST_TOLERANCE: f64 = 6.0;

/// What an entry is judged by.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    /// A number of a table.
    Number,
    /// The length with half of a bandwidth.
    Half,
    /// The best percentage of the peak.
    Best,
    /// What the text says of a figure.
    Statement,
}

impl Kind {
    fn of(entry: &Entry) -> Kind {
        match entry.column.as_str() {
            _ if entry.says.is_some() => Kind::Statement,
            "best %" => Kind::Best,
            column if column.ends_with("half at bytes") => Kind::Half,
            _ => Kind::Number,
        }
    }

    fn holds(self, entry: &Entry) -> bool {
        match self {
            Kind::Number => (entry.ratio - 1.0).abs() <= TOLERANCE,
            Kind::Half => (1.0 / HALF_TOLERANCE..=HALF_TOLERANCE).contains(&entry.ratio),
            Kind::Best => (entry.ours - entry.paper).abs() <= BEST_TOLERANCE,
            Kind::Statement => entry.holds() == Some(true),
        }
    }

    /// What is counted, in words.
    fn title(self) -> &'static str {
        match self {
            Kind::Number => "numbers of tables, within 25 %",
            Kind::Half => "lengths with half of a bandwidth, within a power of two",
            Kind::Best => "best percentages of the peak, within 6 of them",
            Kind::Statement => "statements on figures",
        }
    }
}

/// Whether an entry comes out as the paper has it.
pub fn comes_out(entry: &Entry) -> bool {
    Kind::of(entry).holds(entry)
}

/// Counts the entries by which nothing was chosen, and names those that miss.
///
/// # Errors
/// If it cannot be written.
pub fn print(out: &mut dyn Write, entries: &[Entry]) -> anyhow::Result<()> {
    let judged: Vec<(&Entry, Kind)> = entries
        .iter()
        .filter(|entry| entry.standing == Standing::Predicted)
        .map(|entry| (entry, Kind::of(entry)))
        .collect();
    let of = |standing| entries.iter().filter(move |e| e.standing == standing);
    let near = of(Standing::Fitted).filter(|e| comes_out(e)).count();
    writeln!(
        out,
        "\n{} entries were looked at when constants were chosen ({near} come out), {} follow from what the machine was given.\n\
         Of the others, {} told by the rate of a part of a run, come out:",
        of(Standing::Fitted).count(),
        of(Standing::Given).count(),
        of(Standing::Predicted).filter(|e| e.extrapolated).count(),
    )?;
    for kind in [Kind::Number, Kind::Half, Kind::Best, Kind::Statement] {
        let all = || judged.iter().filter(|(_, own)| *own == kind);
        let right = all().filter(|(entry, kind)| kind.holds(entry)).count();
        match all().count() {
            0 => continue,
            count => writeln!(out, "  {right} of {count} {}", kind.title())?,
        }
    }
    let numbers = judged.iter().filter(|(_, kind)| *kind == Kind::Number);
    let mut off: Vec<f64> = numbers.map(|(e, _)| (e.ratio - 1.0).abs()).collect();
    off.sort_by(f64::total_cmp);
    if let Some(median) = off.get(off.len() / 2) {
        writeln!(
            out,
            "  half of the numbers are off by {:.1} % or less",
            100.0 * median
        )?;
    }
    name_misses(out, entries)
}

/// Names the entries that miss, and why: of those that were looked at when constants were chosen, the ones with a reason.
fn name_misses(out: &mut dyn Write, entries: &[Entry]) -> anyhow::Result<()> {
    for entry in entries.iter().filter(|entry| !comes_out(entry)) {
        let note = match (entry.standing, entry.why) {
            (Standing::Predicted, _) => "",
            (Standing::Fitted, Some(_)) => ", though it was looked at",
            (Standing::Fitted, None) | (Standing::Given | Standing::Shown, _) => continue,
        };
        let Entry {
            table, row, column, ..
        } = entry;
        let why = entry
            .why
            .map_or("no reason is known".to_owned(), |why| why.to_string());
        writeln!(out, "misses{note}: {table} {row}, {column}: {why}")?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use allhands_core::cost::formula::Miss;

    #[test]
    fn entries_are_judged_by_what_they_are() {
        let entry = |column: &str, paper, ours| {
            Entry::new("table", ("8x16x16(T)", column), (paper, ours), false)
        };
        let kinds = [
            (entry("1024", 100.0, 74.0), Kind::Number, false),
            (entry("1024", 100.0, 76.0), Kind::Number, true),
            (
                entry("torus half at bytes", 1024.0, 512.0),
                Kind::Half,
                true,
            ),
            (
                entry("torus half at bytes", 1024.0, 4096.0),
                Kind::Half,
                false,
            ),
            (entry("best %", 86.0, 80.5), Kind::Best, true),
            (entry("best %", 86.0, 79.5), Kind::Best, false),
        ];
        for (entry, kind, holds) in &kinds {
            assert_eq!(
                (Kind::of(entry), kind.holds(entry)),
                (*kind, *holds),
                "{entry:?}"
            );
        }
        let fitted = Entry::new("table", ("8x8x8", "16"), (1.0, 9.0), true);
        let explained = |fitted| {
            let entry = Entry::new("table", ("8x16x16(T)", "64"), (1.0, 9.0), fitted);
            entry.missing(Miss::Model("its first turns"))
        };
        let mut out = Vec::new();
        let all: Vec<Entry> = kinds
            .into_iter()
            .map(|(entry, ..)| entry)
            .chain([fitted, explained(false), explained(true)])
            .collect();
        print(&mut out, &all).expect("it is written");
        let text = String::from_utf8(out).expect("it is text");
        assert!(text.contains("1 of 3 numbers"), "{text}");
        // The one that was looked at and has no reason is not named.
        assert_eq!(text.matches("misses: ").count(), 4, "{text}");
        assert_eq!(text.matches("no reason").count(), 3, "{text}");
        let looked_at = "misses, though it was looked at: table 8x16x16(T), 64: its first turns\n";
        assert!(text.contains(looked_at), "{text}");
    }
}
