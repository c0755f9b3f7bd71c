//! The report of a benchmark: a row as soon as it is measured, failures loudly, a summary.

use super::busy::Busy;
use super::cell::{Cell, Record};
use super::peers;
use crate::interrupt;
use crate::sizes::say;
use std::io::Write;
use std::path::Path;
use std::time::{Duration, Instant};

/// Fewer samples than these say little.
const FEW: usize = 10;
/// How many algorithms a row of the table has without --all.
const BEST: usize = 3;

/// In which form what was measured is printed.
#[derive(Clone, Copy, Debug)]
pub enum Printer {
    /// The fastest algorithm, and how far the others are.
    Table { all: bool, width: usize },
    /// As OSU's benchmarks.
    Latency { csv: bool },
    /// As nccl-tests.
    Bandwidth { csv: bool },
}

impl Printer {
    /// What comes before the first row.
    pub fn head(
        self,
        out: &mut dyn Write,
        (ranks, kind): (&[u32], &str),
        budget: Duration,
    ) -> std::io::Result<()> {
        let list: Vec<String> = ranks.iter().map(u32::to_string).collect();
        let list = list.join(", ");
        let seconds = budget.as_secs_f64().ceil();
        let time = format!("at most {seconds} s in all");
        match self {
            Printer::Latency { csv } => peers::latency_head(out, csv, &list, kind),
            Printer::Bandwidth { csv } => peers::bandwidth_head(out, csv, &list, kind),
            Printer::Table { .. } => {
                writeln!(
                    out,
                    "ranks {list} as {kind}, {time}\nmedian time, common start to last end; others as multiples of it\n"
                )?;
                writeln!(
                    out,
                    "{:<14} {:>5} {:>5}  {:<28} {:>10} {:>5} {:>5}  others",
                    "collective", "ranks", "bytes", "fastest", "median µs", "±", "n"
                )
            }
        }
    }

    /// Prints what was measured at one size.
    pub fn row(self, out: &mut dyn Write, row: &[Record]) -> std::io::Result<()> {
        match self {
            Printer::Table { all, width } => table_row(out, row, (all, width))?,
            Printer::Latency { csv } => peers::latency_rows(out, csv, row)?,
            Printer::Bandwidth { csv } => peers::bandwidth_rows(out, csv, row)?,
        }
        row.iter().filter(|r| !r.correct).try_for_each(|record| {
            let Record {
                collective,
                ranks,
                bytes,
                algorithm,
                failure,
                ..
            } = record;
            let failure = failure.as_deref().unwrap_or("nothing was measured");
            let says =
                format!("WRONG {collective} {algorithm}, {ranks} ranks, {bytes} bytes: {failure}");
            match self {
                Printer::Table { .. } => writeln!(out, "{says}"),
                Printer::Latency { .. } | Printer::Bandwidth { .. } => writeln!(out, "# {says}"),
            }
        })
    }
}

/// A row of the table: the fastest algorithm and how far the others are.
fn table_row(
    out: &mut dyn Write,
    row: &[Record],
    (all, width): (bool, usize),
) -> std::io::Result<()> {
    let mut good: Vec<&Record> = row.iter().filter(|r| r.correct).collect();
    good.sort_by(|a, b| a.median_us.total_cmp(&b.median_us));
    let Some((best, others)) = good.split_first() else {
        return Ok(());
    };
    let spread = 50.0 * (best.q3_us - best.q1_us) / best.median_us;
    let spread = match best.iterations {
        0..=3 => "?".to_string(),
        _ => format!("{spread:.0}%"),
    };
    let few = if best.iterations < FEW { "!" } else { "" };
    let mut line = format!(
        "{:<14} {:>5} {:>5}  {:<28} {:>10.2} {spread:>5} {:>5}",
        best.collective,
        best.ranks,
        say(best.bytes),
        best.algorithm,
        best.median_us,
        format!("{few}{}", best.iterations)
    );
    let other = |r: &&Record| format!("  {} {:.2}×", r.algorithm, r.median_us / best.median_us);
    let most = if all { others.len() } else { BEST - 1 };
    for words in others.iter().take(most).map(other) {
        let is_full = line.chars().count() + words.chars().count() > width;
        match (is_full, all) {
            (false, _) => line += &words,
            (true, false) => break,
            (true, true) => {
                writeln!(out, "{line}")?;
                line = format!("{:26}{words}", "");
            }
        }
    }
    writeln!(out, "{line}")
}

/// Says of a cell that the machine's memory does not hold it, which so many ranks share, if not all do.
pub fn left_out(cell: &Cell, some: Option<u32>, (held, most): (usize, usize)) -> String {
    let who = some.map_or_else(
        || "all ranks".to_string(),
        |ranks| format!("{ranks} ranks on a host"),
    );
    let gib = |bytes: usize| bytes as f64 / f64::from(1 << 30);
    format!(
        "left out {} {}, {} ranks, {} bytes: {who} would hold {:.1} GiB, and {:.1} (a quarter of the memory) are the most",
        cell.algorithm.collective,
        cell.name(),
        cell.ranks,
        say(cell.bytes),
        gib(held),
        gib(most)
    )
}

/// What is told at the end.
pub struct Summary {
    start: Instant,
    budget: Duration,
    busy: Busy,
    /// What others did, if it was much.
    disturbed: Option<String>,
    cells: usize,
    left_out: Vec<String>,
}

impl Summary {
    /// Begins with the measurement.
    pub fn begin(budget: Duration) -> Summary {
        Summary {
            start: Instant::now(),
            budget,
            busy: Busy::watch(),
            disturbed: None,
            cells: 0,
            left_out: Vec::new(),
        }
    }

    /// The time that is left.
    pub fn left(&self) -> Duration {
        self.budget.saturating_sub(self.start.elapsed())
    }

    /// There are so many more cells, and besides what is left out for want of memory.
    pub fn expect(&mut self, cells: usize, left_out: Vec<String>) {
        self.cells += cells;
        self.left_out.extend(left_out);
    }

    /// What was left out so far, and why.
    pub fn left_out(&self) -> &[String] {
        &self.left_out
    }

    /// Ends with the measurement.
    pub fn end(&mut self) {
        self.disturbed = self.busy.warning();
    }

    /// The last lines.
    pub fn print(
        &self,
        out: &mut dyn Write,
        records: &[Record],
        plots: Option<(&Path, usize)>,
    ) -> std::io::Result<()> {
        for line in &self.left_out {
            writeln!(out, "{line}")?;
        }
        let wrong = records.iter().filter(|r| !r.correct).count();
        let calls: usize = records.iter().map(|r| r.iterations).sum();
        let verdict = match wrong {
            0 => "every result right".to_string(),
            wrong => format!("{wrong} cells WRONG"),
        };
        let plots = plots.map_or_else(String::new, |(folder, plots)| {
            format!("; {plots} plots in {}", folder.display())
        });
        writeln!(
            out,
            "\n{} cells, {calls} timed calls, {verdict}, in {:.0} s{plots}",
            records.len(),
            self.start.elapsed().as_secs_f64()
        )?;
        let few = |r: &&Record| r.correct && r.iterations < FEW;
        match records.iter().filter(few).count() {
            0 => {}
            few => writeln!(
                out,
                "warning: {few} cells have fewer than {FEW} samples (with ! where they are the fastest), as --time has no more: give more of it, or fewer sizes"
            )?,
        }
        let clocks = records.iter().filter_map(|r| r.clock_us);
        if let Some(us) = clocks.max_by(f64::total_cmp) {
            writeln!(
                out,
                "the clocks of hosts were compared by messages: times are right within {us:.1} µs, and mostly within much less"
            )?;
        }
        let missing = self.cells.saturating_sub(records.len());
        match missing {
            0 => {}
            _ if interrupt::is_asked() => {
                writeln!(out, "interrupted: {missing} cells were not measured")?;
            }
            _ => writeln!(
                out,
                "warning: the time was up before {missing} more cells: give more --time, or fewer sizes"
            )?,
        }
        match &self.disturbed {
            Some(words) => writeln!(out, "warning: {words}"),
            None => Ok(()),
        }
    }
}
