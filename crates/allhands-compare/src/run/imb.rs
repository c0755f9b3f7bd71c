//! Intel's IMB-MPI1 by turns with and without the library preloaded.

use super::dropin::{Ended, run};
use super::{OWN, Run, run_cells};
use crate::cell::{COLLECTIVES, Cell};
use crate::error::{Error, at};
use crate::group::{Name, Times};
use crate::record::{self, Column, Record};
use crate::statistics::LEAST_ROUNDS;
use crate::{machine, report};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};
use xtask::peers::{self, Setting};
use xtask::processes;

/// IMB's name of each of [`COLLECTIVES`]; it has no scans.
const IMB_NAMES: [Option<&str>; 11] = [
    Some("Barrier"),
    Some("Bcast"),
    Some("Scatter"),
    Some("Gather"),
    Some("Allgather"),
    Some("Alltoall"),
    Some("Reduce_scatter"),
    Some("Reduce"),
    Some("Allreduce"),
    None,
    None,
];

/// Whose ABI IMB-MPI1, a program of Intel's package, is built for.
const IMB_PEERS: [&str; 2] = ["intel", "mpich"];

/// The most seconds that IMB takes for one size of one benchmark, beside what it warms up. It ends a benchmark when so many
/// times the number of sizes are over, warming up included: where ranks share cores a peer by itself
/// then has no times for long messages, if it is given as little.
const IMB_SAMPLE_S: &str = "0.02";
const IMB_OVERSUBSCRIBED_SAMPLE_S: &str = "0.1";

/// How many collectives a run of IMB has: rows come when a collective's rounds are over, but where ranks share cores, a run
/// takes a second to start.
const COLLECTIVES_A_RUN: usize = 1;
const OVERSUBSCRIBED_COLLECTIVES_A_RUN: usize = 3;

/// The part of all the time that IMB has.
pub(super) const IMB_SHARE: f64 = 1.0 / 3.0;
/// A run that takes more than this part of the time that is shared by all runs of a table, and more than a time in which
/// most end, is not waited for.
const SLOWEST: (u32, Duration) = (6, Duration::from_secs(20));

impl Run<'_> {
    /// Runs IMB-MPI1 by turns with and without the library, under each peer that can.
    pub(super) fn benchmark_of_intel(&mut self) -> Result<Vec<Vec<Record>>, Error> {
        let Some(home) = self.arguments.peers.iter().find(|name| **name == "intel") else {
            println!("\nIMB-MPI1 is in the package of intel, which --peers leaves out");
            return Ok(Vec::new());
        };
        let program = self.installed(home).program("IMB-MPI1");
        let (counts, peers) = (self.arguments.ranks.iter(), &self.arguments.peers);
        let all = counts.flat_map(|ranks| IMB_PEERS.map(|peer| (*ranks, peer)));
        let all: Vec<_> = all.filter(|(_, peer)| peers.contains(peer)).collect();
        let mut left = Duration::from_secs_f64(self.arguments.seconds * IMB_SHARE);
        let mut records = Vec::new();
        for (done, &(ranks, peer)) in all.iter().enumerate() {
            let begin = Instant::now();
            let share = left / (all.len() - done) as u32;
            let cells = self.compare_imb(&program, (peer, ranks), share)?;
            println!("{}", report::summary(&[peer], ranks, &cells));
            records.extend(cells);
            left = left.saturating_sub(begin.elapsed());
        }
        Ok(records)
    }

    /// Compares one number of ranks under one peer, in about so much time: some collectives after the others, so that rows are
    /// there when their rounds are over.
    fn compare_imb(
        &mut self,
        program: &Path,
        (peer, ranks): (&'static str, usize),
        share: Duration,
    ) -> Result<Vec<Vec<Record>>, Error> {
        let oversubscribed = ranks > machine::cores();
        let settings = self.settings(&[peer], oversubscribed);
        let theirs = settings.iter().map(|setting| Name {
            library: setting.peer,
            setting: setting.name,
        });
        let own = Name {
            library: OWN.library,
            setting: peer,
        };
        let names: Vec<Name> = std::iter::once(own).chain(theirs).collect();
        let mut imb = Imb {
            program,
            lengths: self.write_lengths(oversubscribed)?,
            peer,
            ranks,
            oversubscribed,
            limit: SLOWEST.1.max(share / SLOWEST.0),
            settings,
            failures: vec![None; names.len()],
            names,
        };
        let cells = self.imb_cells(ranks, oversubscribed);
        let mut collectives: Vec<usize> = cells.iter().map(|cell| cell.collective).collect();
        collectives.dedup();
        let step = if oversubscribed {
            OVERSUBSCRIBED_COLLECTIVES_A_RUN
        } else {
            COLLECTIVES_A_RUN
        };
        println!(
            "{}",
            report::head(&[peer], ranks).replace("collective", "IMB-MPI1  ")
        );
        let (mut left, mut all) = (share, Vec::new());
        for (done, some) in collectives.chunks(step).enumerate() {
            let begin = Instant::now();
            let share = left / (collectives.len().div_ceil(step) - done) as u32;
            let cells = cells.iter().filter(|cell| some.contains(&cell.collective));
            let cells: Vec<Cell> = cells.copied().collect();
            all.extend(self.compare_benchmarks(&mut imb, &cells, share)?);
            left = left.saturating_sub(begin.elapsed());
        }
        Ok(all)
    }

    /// The cells that IMB has.
    fn imb_cells(&self, ranks: usize, oversubscribed: bool) -> Vec<Cell> {
        let has_length = |bytes| self.lengths(oversubscribed).any(|length| length == bytes);
        let has = |cell: &Cell| {
            IMB_NAMES[cell.collective].is_some() && (cell.bytes == 0 || has_length(cell.bytes))
        };
        let (cells, _) = run_cells(self.arguments, ranks);
        cells.into_iter().filter(has).collect()
    }

    /// Compares the cells of some collectives, prints their rows, and gives their records.
    fn compare_benchmarks(
        &mut self,
        imb: &mut Imb<'_>,
        cells: &[Cell],
        share: Duration,
    ) -> Result<Vec<Vec<Record>>, Error> {
        let (begin, log) = (Instant::now(), self.folder.0.join("imb"));
        let (peer, groups) = (imb.peer, imb.names.len());
        let mut table = Table::new(cells, &imb.names);
        for (at, failure) in imb.failures.iter().enumerate() {
            table.fail(at, failure.as_deref());
        }
        self.line.begin();
        for round in 0..self.arguments.rounds {
            if round >= LEAST_ROUNDS && begin.elapsed() > share {
                break;
            }
            for place in 0..groups {
                let at = (round + place) % groups;
                if table.has_failed(at) {
                    continue;
                }
                let mut launcher = self.launch_imb(imb, at, cells);
                self.line.measure();
                let turn = || run(&mut launcher, &log, imb.limit);
                let (output, _) = self.quiet.during(turn, processes::interrupted);
                match output {
                    Ok(output) => table.enter(at, &read(&output)),
                    Err(Ended::Interrupted) => return Err(Error::Interrupted),
                    Err(ended) if at == 0 => {
                        let why = ended.to_string();
                        return Err(Error::Imb { peer, why });
                    }
                    Err(ended) => {
                        let Name { library, setting } = imb.names[at];
                        eprintln!("IMB-MPI1, {library} ({setting}): {ended}");
                        imb.failures[at] = Some(ended.to_string());
                        table.fail(at, imb.failures[at].as_deref());
                    }
                }
            }
        }
        self.was_active(peer, imb.ranks)?;
        Ok(table.records(peer, imb.ranks, self.line.median_ns()))
    }

    /// The lengths that IMB is given: where ranks share cores it takes long, and has every second one.
    fn lengths(&self, oversubscribed: bool) -> impl Iterator<Item = usize> {
        let step = if oversubscribed { 2 } else { 1 };
        self.arguments.bytes.iter().copied().step_by(step)
    }

    /// The lengths of messages as IMB reads them.
    fn write_lengths(&self, oversubscribed: bool) -> Result<PathBuf, Error> {
        let path = self.folder.0.join("lengths");
        let lines: Vec<String> = self
            .lengths(oversubscribed)
            .map(|bytes| bytes.to_string())
            .collect();
        std::fs::write(&path, lines.join("\n") + "\n").map_err(at(&path))?;
        Ok(path)
    }

    /// What runs IMB's benchmarks of these cells in a group: the first is preloaded.
    fn launch_imb(&self, imb: &Imb<'_>, group: usize, cells: &[Cell]) -> Command {
        let (peer, ranks, oversubscribed) = (imb.peer, imb.ranks, imb.oversubscribed);
        let installed = self.installed(peer);
        let setting = group.checked_sub(1).map(|index| imb.settings[index]);
        let shown = setting.or_else(|| peers::placed(peer, oversubscribed));
        let mut command = match shown {
            Some(shown) => installed.launch(shown, ranks, oversubscribed, imb.program),
            None => installed.launcher(ranks),
        };
        command.env("LD_LIBRARY_PATH", installed.libraries());
        if setting.is_none() {
            self.preload(&mut command, &self.report_path(peer, ranks));
        }
        let mut benchmarks: Vec<&str> = cells
            .iter()
            .filter_map(|cell| IMB_NAMES[cell.collective])
            .collect();
        benchmarks.dedup();
        let all = ranks.to_string();
        let sample_s = if oversubscribed {
            IMB_OVERSUBSCRIBED_SAMPLE_S
        } else {
            IMB_SAMPLE_S
        };
        command
            .args(["-npmin", all.as_str(), "-time", sample_s, "-msglen"])
            .arg(&imb.lengths)
            .args(benchmarks)
            .stdin(Stdio::null());
        command
    }
}

/// What stays the same from some of IMB's benchmarks to the next ones.
struct Imb<'a> {
    program: &'a Path,
    /// The file with the lengths of messages.
    lengths: PathBuf,
    peer: &'static str,
    ranks: usize,
    oversubscribed: bool,
    /// How long a run is waited for.
    limit: Duration,
    /// Of all groups but the first, which is preloaded.
    settings: Vec<&'static Setting>,
    /// Of all groups.
    names: Vec<Name>,
    /// Why a run of a group has failed: it is not tried again.
    failures: Vec<Option<String>>,
}

/// The columns of all cells that are run together.
struct Table<'a> {
    cells: &'a [Cell],
    columns: Vec<Vec<Column>>,
}

impl<'a> Table<'a> {
    fn new(cells: &'a [Cell], names: &[Name]) -> Table<'a> {
        let columns = || names.iter().map(|name| Column::new(*name)).collect();
        Table {
            cells,
            columns: cells.iter().map(|_| columns()).collect(),
        }
    }

    /// Whether a group has no cell in which it is tried again.
    fn has_failed(&self, at: usize) -> bool {
        let mut columns = self.columns.iter().map(|columns| &columns[at]);
        columns.all(|column| column.failure.is_some())
    }

    /// Notes why a group has no times, if that is so.
    fn fail(&mut self, at: usize, why: Option<&str>) {
        for columns in &mut self.columns {
            let column = &mut columns[at];
            column.failure = why.map(str::to_owned).or(column.failure.take());
        }
    }

    /// Enters what a run of a group printed.
    fn enter(&mut self, at: usize, times: &[(Cell, f64)]) {
        for (cell, columns) in self.cells.iter().zip(&mut self.columns) {
            let column = &mut columns[at];
            match times.iter().find(|(known, _)| known == cell) {
                Some((_, us)) => column.rounds.push(Times {
                    median_us: *us,
                    p99_us: *us,
                }),
                None => column.failure = Some("IMB printed no time".to_owned()),
            }
        }
    }

    /// Prints a row for each cell, and gives its records.
    fn records(&self, peer: &'static str, ranks: usize, line_ns: Option<f64>) -> Vec<Vec<Record>> {
        let cells = self.cells.iter().zip(&self.columns);
        let records = cells.map(|(cell, columns)| {
            let records = record::records((*cell, ranks, line_ns), &columns[0], &columns[1..]);
            println!("{}", report::row(*cell, &[peer], &records));
            records
        });
        records.collect()
    }
}

/// The cells of IMB's output with their mean times over ranks and calls, in microseconds.
fn read(output: &str) -> Vec<(Cell, f64)> {
    let mut collective = None;
    let mut all = Vec::new();
    for line in output.lines() {
        if let Some(name) = line.strip_prefix("# Benchmarking ") {
            collective = IMB_NAMES
                .iter()
                .position(|known| *known == Some(name.trim()));
            continue;
        }
        let Some(collective) = collective else {
            continue;
        };
        let numbers: Option<Vec<f64>> = line
            .split_whitespace()
            .map(|word| word.parse().ok())
            .collect();
        let (bytes, mean_us) = match numbers.as_deref() {
            Some([_, _, _, mean_us]) if COLLECTIVES[collective] == "barrier" => (0, *mean_us),
            Some([bytes, _, _, _, mean_us]) => (*bytes as usize, *mean_us),
            _ => continue,
        };
        all.push((Cell { collective, bytes }, mean_us));
    }
    all
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_group_that_failed_has_no_times_and_is_not_tried_again() {
        let cells = [8, 4096].map(|bytes| Cell {
            collective: 8,
            bytes,
        });
        let name = |library| Name {
            library,
            setting: "default",
        };
        let mut table = Table::new(&cells, &[name("allhands"), name("mpich")]);
        table.fail(1, None);
        assert!(!table.has_failed(1));
        for _ in 0..LEAST_ROUNDS {
            table.enter(0, &[(cells[0], 1.0), (cells[1], 2.0)]);
            table.enter(1, &[(cells[0], 3.0)]);
        }
        let records = table.records("mpich", 2, None);
        assert_eq!(records[0][0].ratio, 3.0);
        assert!(records[1].is_empty() && !table.has_failed(1));
        table.fail(1, Some("late"));
        assert!(table.has_failed(1) && !table.has_failed(0));
        assert!(table.records("mpich", 2, None)[0].is_empty());
    }

    #[test]
    fn tables_of_imb_are_read() {
        let output = "\
# Benchmarking Allreduce 
# #processes = 2 
       #bytes #repetitions  t_min[usec]  t_max[usec]  t_avg[usec]
            8         1000         0.24         0.26         0.25
         4096         1000         1.00         3.00         2.00

# Benchmarking Exchange
            8         1000         0.24         0.26         0.25
# Benchmarking Barrier
 #repetitions  t_min[usec]  t_max[usec]  t_avg[usec]
         1000         0.20         0.40         0.30
";
        let cell = |name, bytes| Cell {
            collective: COLLECTIVES
                .iter()
                .position(|known| *known == name)
                .expect("is there"),
            bytes,
        };
        let expected = [
            (cell("allreduce", 8), 0.25),
            (cell("allreduce", 4096), 2.0),
            (cell("barrier", 0), 0.3),
        ];
        assert_eq!(read(output), expected);
    }
}
