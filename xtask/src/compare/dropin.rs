//! The drop-in's side of the comparison: a peer with the library preloaded, in our own program and in Intel's IMB-MPI1.

use super::cell::{COLLECTIVES, Cell};
use super::group::{Name, Times};
use super::peers::{self, Setting};
use super::record::{self, Column, Record};
use super::{Error, OWN, Run, machine, report};
use crate::mpi_test::report::Report;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// What is built of our own.
pub(super) const PACKAGE: [&str; 2] = ["--package", "allhands-mpi"];

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

/// The most seconds that IMB takes for one size of one benchmark, beside what it warms up.
const IMB_SAMPLE_S: &str = "0.02";

impl Run<'_> {
    /// A peer as it comes, with the drop-in preloaded: the name of that group, and what starts its ranks.
    pub(super) fn preloaded(
        &self,
        peer: &'static str,
        ranks: usize,
        crowded: bool,
    ) -> (Name, Command) {
        let name = Name {
            library: OWN.library,
            setting: peer,
        };
        let mut launcher = match default_setting(peer, crowded) {
            Some(setting) => self.installed(peer).launch(setting, ranks, crowded),
            None => self.installed(peer).launcher(ranks),
        };
        self.preload(&mut launcher, &self.report_path(peer, ranks));
        (name, launcher)
    }

    fn preload(&self, launcher: &mut Command, report: &Path) {
        launcher
            .env("LD_PRELOAD", self.target.join("release/liballhands_mpi.so"))
            .env("ALLHANDS_REPORT", report)
            // Counts alone: clocks would be measured as well.
            .env("ALLHANDS_REPORT_TIMES", "off");
    }

    fn report_path(&self, peer: &str, ranks: usize) -> PathBuf {
        self.folder.0.join(format!("report-{peer}-{ranks}.json"))
    }

    /// Whether the library took calls over in the peer's group that has ended; otherwise all its times are the peer's own.
    pub(super) fn was_active(&self, peer: &'static str, ranks: usize) -> Result<(), Error> {
        let path = self.report_path(peer, ranks);
        match Report::read(&path) {
            Some(report) if report.taken() > 0 => Ok(()),
            _ => Err(Error::Inactive { peer, ranks }),
        }
    }

    /// Runs IMB-MPI1 by turns with and without the library, under each peer that can.
    pub(super) fn benchmark_of_intel(&mut self) -> Result<Vec<Record>, Error> {
        let Some(home) = self.arguments.peers.iter().find(|name| **name == "intel") else {
            println!("\nIMB-MPI1 is in the package of intel, which --peers leaves out");
            return Ok(Vec::new());
        };
        let program = self.installed(home).program("IMB-MPI1");
        let mut all = Vec::new();
        for &ranks in &self.arguments.ranks {
            for peer in IMB_PEERS {
                if self.arguments.peers.contains(&peer) {
                    let cells = self.compare_imb(&program, peer, ranks)?;
                    println!("{}", report::summary(&[peer], ranks, &cells));
                    all.extend(cells.into_iter().flatten());
                }
            }
        }
        Ok(all)
    }

    fn compare_imb(
        &mut self,
        program: &Path,
        peer: &'static str,
        ranks: usize,
    ) -> Result<Vec<Vec<Record>>, Error> {
        let crowded = ranks > machine::cores();
        let lengths = self.write_lengths()?;
        let (cells, _) = super::run_cells(self.arguments, ranks);
        let cells: Vec<Cell> = cells
            .into_iter()
            .filter(|cell| imb_name(*cell).is_some())
            .collect();
        let settings: Vec<_> = peers::settings(&[peer], crowded).collect();
        let mut names = vec![Name {
            library: OWN.library,
            setting: peer,
        }];
        names.extend(settings.iter().map(|s| Name {
            library: s.peer,
            setting: s.name,
        }));
        let mut columns: Vec<Vec<Column>> = cells
            .iter()
            .map(|_| names.iter().map(|name| Column::new(*name)).collect())
            .collect();
        for round in 0..self.arguments.rounds {
            for place in 0..names.len() {
                let at = (round + place) % names.len();
                let setting = at.checked_sub(1).map(|index| settings[index]);
                let mut launcher = self.imb(program, peer, setting, (ranks, crowded), &lengths);
                let (output, _) = self
                    .quiet
                    .during(|| run(&mut launcher), super::processes::interrupted);
                let times = read(&output.map_err(|why| Error::Imb { peer, why })?);
                for (cell, columns) in cells.iter().zip(&mut columns) {
                    match times.iter().find(|(known, _)| known == cell) {
                        Some((_, us)) => columns[at].rounds.push(Times {
                            median_us: *us,
                            p99_us: *us,
                        }),
                        None => columns[at].failure = Some("IMB printed no time".to_owned()),
                    }
                }
            }
        }
        self.was_active(peer, ranks)?;
        println!(
            "{}",
            report::head(&[peer], ranks).replace("collective", "IMB-MPI1  ")
        );
        let mut all = Vec::new();
        for (cell, columns) in cells.iter().zip(&columns) {
            let records = record::records(*cell, ranks, &columns[0], &columns[1..]);
            println!("{}", report::row(*cell, &[peer], &records));
            all.push(records);
        }
        Ok(all)
    }

    /// The lengths of messages as IMB reads them.
    fn write_lengths(&self) -> Result<PathBuf, Error> {
        let path = self.folder.0.join("lengths");
        let lines: Vec<String> = self
            .arguments
            .bytes
            .iter()
            .map(ToString::to_string)
            .collect();
        std::fs::write(&path, lines.join("\n") + "\n").map_err(super::at(&path))?;
        Ok(path)
    }

    /// What runs IMB under a peer with a setting, or, with none, preloaded.
    fn imb(
        &self,
        program: &Path,
        peer: &'static str,
        setting: Option<&Setting>,
        (ranks, crowded): (usize, bool),
        lengths: &Path,
    ) -> Command {
        let installed = self.installed(peer);
        let shown = setting.or_else(|| default_setting(peer, crowded));
        let mut command = match shown {
            Some(shown) => installed.launch_program(shown, ranks, crowded, program),
            None => installed.launcher(ranks),
        };
        command.env("LD_LIBRARY_PATH", installed.libraries());
        if setting.is_none() {
            self.preload(&mut command, &self.report_path(peer, ranks));
        }
        let all = ranks.to_string();
        command
            .args(["-npmin", all.as_str(), "-time", IMB_SAMPLE_S, "-msglen"])
            .arg(lengths);
        let wanted = self.arguments.collectives.iter();
        command.args(wanted.filter_map(|index| IMB_NAMES[*index]));
        command.stdin(Stdio::null());
        command
    }
}

fn default_setting(peer: &str, crowded: bool) -> Option<&'static Setting> {
    peers::settings(&[peer], crowded).find(|setting| setting.name == "default")
}

fn imb_name(cell: Cell) -> Option<&'static str> {
    IMB_NAMES[cell.collective]
}

fn run(command: &mut Command) -> Result<String, String> {
    let output = command.output().map_err(|error| error.to_string())?;
    match output.status.success() {
        true => Ok(String::from_utf8_lossy(&output.stdout).into_owned()),
        false => Err(format!(
            "it ended with {}: {}",
            output.status,
            String::from_utf8_lossy(&output.stderr).trim()
        )),
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
