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

    /// Compares one number of ranks under one peer, in about so much time.
    fn compare_imb(
        &mut self,
        program: &Path,
        (peer, ranks): (&'static str, usize),
        share: Duration,
    ) -> Result<Vec<Vec<Record>>, Error> {
        let oversubscribed = ranks > machine::cores();
        let lengths = self.write_lengths(oversubscribed)?;
        let (cells, _) = run_cells(self.arguments, ranks);
        let has = |cell: &Cell| {
            let known = IMB_NAMES[cell.collective].is_some();
            known
                && (cell.bytes == 0
                    || self
                        .lengths(oversubscribed)
                        .any(|bytes| bytes == cell.bytes))
        };
        let cells: Vec<Cell> = cells.into_iter().filter(has).collect();
        let settings = self.settings(&[peer], oversubscribed);
        let own = Name {
            library: OWN.library,
            setting: peer,
        };
        let theirs = settings.iter().map(|s| Name {
            library: s.peer,
            setting: s.name,
        });
        let names: Vec<Name> = std::iter::once(own).chain(theirs).collect();
        let mut table = Table::new(&cells, &names);
        let (begin, log) = (Instant::now(), self.folder.0.join("imb"));
        self.line.begin();
        let limit = SLOWEST.1.max(share / SLOWEST.0);
        for round in 0..self.arguments.rounds {
            if round >= LEAST_ROUNDS && begin.elapsed() > share {
                break;
            }
            for place in 0..names.len() {
                let at = (round + place) % names.len();
                if table.has_failed(at) {
                    continue;
                }
                let setting = at.checked_sub(1).map(|index| settings[index]);
                let mut launcher =
                    self.imb(program, peer, setting, (ranks, oversubscribed), &lengths);
                self.line.measure();
                let turn = || run(&mut launcher, &log, limit);
                let (output, _) = self.quiet.during(turn, processes::interrupted);
                match output {
                    Err(Ended::Interrupted) => return Err(Error::Interrupted),
                    Err(ended) if at == 0 => {
                        let why = ended.to_string();
                        return Err(Error::Imb { peer, why });
                    }
                    output => table.enter(at, output),
                }
            }
        }
        self.was_active(peer, ranks)?;
        println!(
            "{}",
            report::head(&[peer], ranks).replace("collective", "IMB-MPI1  ")
        );
        Ok(table.records(peer, ranks, self.line.median_ns()))
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

    /// What runs IMB under a peer with a setting, or, with none, preloaded.
    fn imb(
        &self,
        program: &Path,
        peer: &'static str,
        setting: Option<&Setting>,
        (ranks, oversubscribed): (usize, bool),
        lengths: &Path,
    ) -> Command {
        let installed = self.installed(peer);
        let shown = setting.or_else(|| peers::placed(peer, oversubscribed));
        let mut command = match shown {
            Some(shown) => installed.launch(shown, ranks, oversubscribed, program),
            None => installed.launcher(ranks),
        };
        command.env("LD_LIBRARY_PATH", installed.libraries());
        if setting.is_none() {
            self.preload(&mut command, &self.report_path(peer, ranks));
        }
        let all = ranks.to_string();
        let sample_s = if oversubscribed {
            IMB_OVERSUBSCRIBED_SAMPLE_S
        } else {
            IMB_SAMPLE_S
        };
        command
            .args(["-npmin", all.as_str(), "-time", sample_s, "-msglen"])
            .arg(lengths);
        let wanted = self.arguments.collectives.iter();
        command.args(wanted.filter_map(|index| IMB_NAMES[*index]));
        command.stdin(Stdio::null());
        command
    }
}

/// The columns of all cells of one number of ranks.
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

    /// Whether a run of a group has failed as a whole: it is not tried again.
    fn has_failed(&self, at: usize) -> bool {
        let mut columns = self.columns.iter().map(|columns| &columns[at]);
        columns.all(|column| column.failure.is_some())
    }

    /// Enters what a run of a group printed.
    fn enter(&mut self, at: usize, output: Result<String, Ended>) {
        let times = output.as_deref().map(read);
        if let Err(ended) = &output {
            let Name { library, setting } = self.columns[0][at].name;
            eprintln!("IMB-MPI1, {library} ({setting}): {ended}");
        }
        for (cell, columns) in self.cells.iter().zip(&mut self.columns) {
            let column = &mut columns[at];
            let found = times
                .as_ref()
                .map(|times| times.iter().find(|(known, _)| known == cell));
            match found {
                Ok(Some((_, us))) => column.rounds.push(Times {
                    median_us: *us,
                    p99_us: *us,
                }),
                Ok(None) => column.failure = Some("IMB printed no time".to_owned()),
                Err(ended) => column.failure = Some(ended.to_string()),
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
