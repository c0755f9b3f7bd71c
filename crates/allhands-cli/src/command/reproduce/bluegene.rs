//! `allhands reproduce bluegene`: B's tables, and what it says of its figures, on the model of BlueGene/L.

mod alltoall;
mod figures;
mod laboratory;
mod steady;
mod summary;
pub mod verdict;

use super::{Entry, progress_bar};
use crate::command::simulate::machine::Machine;
use anyhow::ensure;
use indicatif::ProgressBar;
use laboratory::Laboratory;
use std::io::Write;
use std::sync::Mutex;
use std::sync::mpsc::{Sender, channel};
use std::time::Duration;

/// A part of the work that needs no other.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Part {
    Table(u32),
    Figure(u32),
}

/// All parts in the order of their entries, and so that the longest, table 2, begins first.
const PARTS: [Part; 9] = [
    Part::Table(2),
    Part::Table(3),
    Part::Table(4),
    Part::Figure(5),
    Part::Figure(6),
    Part::Figure(7),
    Part::Figure(8),
    Part::Figure(9),
    Part::Figure(10),
];

/// How many parts are done at a time.
const THREADS: usize = 2;

/// What the paper prints or says, in one table or figure or in all, and what the model gives; what is done is told to `out`. Gives
/// also what is left out.
pub fn run(
    (table, figure): (Option<u32>, Option<u32>),
    out: &mut dyn Write,
) -> anyhow::Result<(Vec<Entry>, Vec<String>)> {
    let parts = parts((table, figure));
    ensure!(
        !parts.is_empty(),
        "there is no such table or figure; right would be a table from 2 to 4 or a figure from 5 to 10"
    );
    // Parts take very different times, so one cannot say when all are done.
    let bar = progress_bar(
        parts.len(),
        "{bar:40} {pos}/{len} tables and figures, after {elapsed}",
    );
    bar.enable_steady_tick(Duration::from_secs(1));
    let entries = all(&parts, &Machine::find("bluegene-l")?, out, &bar)?;
    bar.finish_and_clear();
    let figures = parts.iter().any(|part| matches!(part, Part::Figure(_)));
    let left_out = figures::LEFT_OUT.iter().filter(|_| figures);
    let notes = left_out.map(|what| format!("left out: {what}"));
    Ok((entries, notes.collect()))
}

/// The same entries on a changed machine.
///
/// # Errors
/// If something cannot be simulated.
pub fn entries_on(
    machine: &Machine,
    asked: (Option<u32>, Option<u32>),
) -> anyhow::Result<Vec<Entry>> {
    let nobody = &ProgressBar::hidden();
    all(&parts(asked), machine, &mut std::io::sink(), nobody)
}

/// The parts that are asked for.
fn parts((table, figure): (Option<u32>, Option<u32>)) -> Vec<Part> {
    let asked = |part: &Part| match *part {
        Part::Table(number) => figure.is_none() && table.is_none_or(|asked| asked == number),
        Part::Figure(number) => table.is_none() && figure.is_none_or(|asked| asked == number),
    };
    PARTS.into_iter().filter(asked).collect()
}

/// Does the parts, some at a time; the entries are in the order of the parts.
fn all(
    parts: &[Part],
    machine: &Machine,
    out: &mut dyn Write,
    bar: &ProgressBar,
) -> anyhow::Result<Vec<Entry>> {
    let next = Mutex::new(parts.iter().copied().enumerate());
    let (told, telling) = channel();
    let mut done: Vec<(usize, Vec<Entry>)> = Vec::new();
    std::thread::scope(|scope| {
        let mut workers = Vec::new();
        for _ in 0..THREADS.min(parts.len()) {
            let (next, told) = (&next, told.clone());
            workers.push(scope.spawn(move || {
                let (mut own, line) = (Vec::new(), Vec::new());
                let mut teller = Teller { told, line };
                let one = || next.lock().ok()?.next();
                while let Some((at, part)) = one() {
                    own.push((at, entries(part, machine, &mut teller)?));
                    bar.inc(1);
                }
                anyhow::Ok(own)
            }));
        }
        drop(told);
        for line in telling {
            bar.suspend(|| out.write_all(&line))?;
        }
        for worker in workers {
            let own = worker
                .join()
                .unwrap_or_else(|panic| std::panic::resume_unwind(panic));
            done.extend(own?);
        }
        anyhow::Ok(())
    })?;
    done.sort_unstable_by_key(|(at, _)| *at);
    Ok(done.into_iter().flat_map(|(_, entries)| entries).collect())
}

/// The entries of a part.
fn entries(part: Part, machine: &Machine, out: &mut dyn Write) -> anyhow::Result<Vec<Entry>> {
    let laboratory = Laboratory::of(machine.clone());
    match part {
        Part::Table(2) => {
            let mut table = alltoall::table(&laboratory, out)?;
            // Table 3 has two of its numbers again.
            table.extend(alltoall::summary(&laboratory, &table)?);
            Ok(table)
        }
        Part::Table(3) => summary::bandwidths(&laboratory, out),
        Part::Table(_) => summary::latencies(&laboratory, out),
        Part::Figure(number) => figures::statements(&laboratory, number),
    }
}

/// Sends what is written to the thread that prints, line by line.
struct Teller {
    told: Sender<Vec<u8>>,
    line: Vec<u8>,
}

impl Write for Teller {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.line.extend_from_slice(bytes);
        if self.line.ends_with(b"\n") {
            let line = std::mem::take(&mut self.line);
            // Nobody hears it when the printing has failed.
            self.told.send(line).map_err(std::io::Error::other)?;
        }
        Ok(bytes.len())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_not_there_is_named() {
        for asked in [(Some(5), None), (None, Some(4)), (Some(1), None)] {
            let error = run(asked, &mut Vec::new()).unwrap_err().to_string();
            assert!(error.contains("a figure from 5 to 10"), "{error}");
        }
    }

    #[test]
    fn lines_of_two_parts_do_not_mix() {
        let (told, telling) = channel();
        let teller = || Teller {
            told: told.clone(),
            line: Vec::new(),
        };
        let (mut one, mut other) = (teller(), teller());
        for (first, second) in [("a ", "c "), ("b\n", "d\n")] {
            one.write_all(first.as_bytes()).expect("it is heard");
            other.write_all(second.as_bytes()).expect("it is heard");
        }
        drop((told, one, other));
        let lines: Vec<Vec<u8>> = telling.iter().collect();
        assert_eq!(lines, [b"a b\n".to_vec(), b"c d\n".to_vec()]);
    }
}
