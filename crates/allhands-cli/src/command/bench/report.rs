//! The report of a benchmark: a row as soon as it is measured, failures loudly, a summary.

use super::cell::{Cell, Record};
use std::io::Write;
use std::path::Path;
use std::time::Duration;

/// The table's head.
pub fn head(out: &mut dyn Write, ranks: &[u32], kind: &str) -> std::io::Result<()> {
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    let list: Vec<String> = ranks.iter().map(u32::to_string).collect();
    writeln!(
        out,
        "ranks {} as {kind} on {cores} cores; median time, common start to last end; others as multiples of it\n",
        list.join(", ")
    )?;
    writeln!(
        out,
        "{:<15}{:>5}{:>10}  {:<28}{:>11}  others",
        "collective", "ranks", "bytes", "fastest", "median µs"
    )
}

/// A row: the fastest algorithm and how far the others are.
pub fn row(out: &mut dyn Write, row: &[Record]) -> std::io::Result<()> {
    let mut good: Vec<&Record> = row.iter().filter(|r| r.correct).collect();
    good.sort_by(|a, b| a.median_us.total_cmp(&b.median_us));
    if let Some((best, others)) = good.split_first() {
        let Record {
            collective,
            ranks,
            bytes,
            algorithm,
            median_us,
            ..
        } = best;
        let others: Vec<String> = others
            .iter()
            .map(|r| format!("{} {:.2}×", r.algorithm, r.median_us / median_us))
            .collect();
        let others = others.join("  ");
        writeln!(
            out,
            "{collective:<15}{ranks:>5}{:>10}  {algorithm:<28}{median_us:>11.2}  {others}",
            size(*bytes)
        )?;
    }
    for Record {
        collective,
        ranks,
        bytes,
        algorithm,
        failure,
        ..
    } in row.iter().filter(|r| !r.correct)
    {
        let failure = failure.as_deref().unwrap_or("nothing was measured");
        writeln!(
            out,
            "WRONG {collective} {algorithm}, {ranks} ranks, {bytes} bytes: {failure}"
        )?;
    }
    Ok(())
}

/// Says of a cell that the machine's memory does not hold it.
pub fn left_out(cell: &Cell, held: usize, most: usize) -> String {
    let gib = |bytes: usize| bytes as f64 / f64::from(1 << 30);
    format!(
        "left out {} {}, {} ranks, {} bytes: all ranks would hold {:.1} GiB, and {:.1} (a quarter of the memory) are the most",
        cell.algorithm.collective,
        cell.name(),
        cell.ranks,
        size(cell.bytes),
        gib(held),
        gib(most)
    )
}

/// The cells that were left out.
pub fn all_left_out(out: &mut dyn Write, cells: &[String]) -> std::io::Result<()> {
    cells.iter().try_for_each(|cell| writeln!(out, "{cell}"))
}

/// A number of bytes as a person writes it.
pub fn size(bytes: usize) -> String {
    match bytes {
        b if b >= 1 << 20 && b.is_multiple_of(1 << 20) => format!("{}M", b >> 20),
        b if b >= 1 << 10 && b.is_multiple_of(1 << 10) => format!("{}K", b >> 10),
        b => b.to_string(),
    }
}

/// The last lines.
pub fn tail(
    out: &mut dyn Write,
    records: &[Record],
    plots: usize,
    folder: &Path,
    elapsed: Duration,
) -> std::io::Result<()> {
    let wrong = records.iter().filter(|r| !r.correct).count();
    let calls: usize = records.iter().map(|r| r.iterations).sum();
    let verdict = if wrong == 0 {
        "every result right".to_string()
    } else {
        format!("{wrong} cells WRONG")
    };
    writeln!(
        out,
        "\n{} cells, {calls} timed calls, {verdict}, in {:.0} s; {plots} plots in {}",
        records.len(),
        elapsed.as_secs_f64(),
        folder.display()
    )
}
