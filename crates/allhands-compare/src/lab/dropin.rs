//! The comparison in the lab: MPICH with and without the drop-in, on emulated hosts joined by a switch with an exact rate.
//!
//! A turn is one run of the lab's benchmark: one collective at every size. In each round both netmods have a turn with the library
//! preloaded and one without, in another order than in the round before; ratios are of turns of one round. A collective's rows are
//! printed when its rounds are over. Beside each time stands how
//! often it has the bound's, which no algorithm can go below: with L, half a round trip of next to no bytes, and G, what a byte takes,
//! both measured between plain sockets of two hosts.

use super::bound::bound_us;
use super::{Lab, command, output};
use crate::arguments::Arguments;
use crate::error::{Error, at};
use crate::statistics::{Estimate, estimate, geometric_mean, median};
use serde::Serialize;
use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// The netmods of MPICH that are tried.
const NETMODS: [&str; 2] = ["ucx", "ofi"];
const COLLECTIVES: [&str; 5] = [
    "allreduce",
    "bcast",
    "allgather",
    "alltoall",
    "reduce_scatter",
];
/// The time in which the ranks agree on the next start, in microseconds: a repetition that one of them begins late does not
/// count.
const SLACK_US: &str = "5000";

/// How often a turn is tried in which all repetitions of a cell began late.
const TRIES: usize = 3;

/// The whole vectors, in bytes.
const SIZES: [u64; 4] = [8, 64 << 10, 1 << 20, 4 << 20];
/// From here on a vector is long.
const LONG: u64 = 64 << 10;
const NETWORK: [&str; 2] = ["200mbit", "500us"];

/// Collective and size.
type Cell = (&'static str, u64);

fn cells(collective: &'static str) -> [Cell; 4] {
    SIZES.map(|bytes| (collective, bytes))
}

/// The medians of a turn, in microseconds.
type Turn = BTreeMap<Cell, f64>;

/// Of the turns of a round, whose: on which of [`NETMODS`], and whether with the library.
#[derive(Clone, Copy)]
struct Group {
    netmod: usize,
    is_ours: bool,
}

/// A row of the comparison: our time on a netmod beside the better of both netmods' own.
#[derive(Debug, Serialize)]
struct Record {
    hosts: u32,
    collective: &'static str,
    bytes: u64,
    netmod: &'static str,
    ours_us: f64,
    native_netmod: &'static str,
    native_us: f64,
    ratio: f64,
    interval: [f64; 2],
    bound_us: f64,
}

/// The lab with the library that is preloaded.
struct Preloaded<'a> {
    lab: Lab<'a>,
    library: PathBuf,
}

impl Preloaded<'_> {
    /// One run of the benchmark; the median of each of its lines, by what stands there.
    fn run(
        &self,
        netmod: &str,
        is_ours: bool,
        words: &[&str],
    ) -> Result<Vec<(String, u64, f64)>, Error> {
        let hosts = self.lab.hosts().to_string();
        let program = Lab::folder().join("bin/mbench");
        let program = program.to_string_lossy().into_owned();
        let mut command = self.lab.command(&["mpich", "-n", &hosts, &program]);
        command.args(words).arg(SLACK_US).env("NETMOD", netmod);
        match is_ours {
            true => command.env("LAB_PRELOAD", &self.library),
            false => command.env_remove("LAB_PRELOAD"),
        };
        let text = output(&mut command)?;
        Ok(text.lines().filter_map(line).collect())
    }

    /// A turn with a time for every cell: another is run, and said, where noise has left a cell without.
    fn turn(
        &self,
        collective: &'static str,
        group: Group,
        repetitions: u32,
    ) -> Result<Turn, Error> {
        let netmod = NETMODS[group.netmod];
        let whose = if group.is_ours {
            "with the drop-in"
        } else {
            "as it is"
        };
        let mut lacking = String::new();
        for _ in 0..TRIES {
            let turn = self.timed(collective, group, repetitions)?;
            let missing: Vec<String> = cells(collective)
                .into_iter()
                .filter(|cell| !turn.contains_key(cell))
                .map(|(name, bytes)| format!("{name} of {bytes} bytes"))
                .collect();
            if missing.is_empty() {
                return Ok(turn);
            }
            lacking = format!(
                "{netmod} {whose}, {} hosts: no time of {}: a rank began every repetition late, or it ended early",
                self.lab.hosts(),
                missing.join(", ")
            );
            println!("a turn is run again: {lacking}");
        }
        Err(Error::Lab(lacking))
    }

    /// The cells of one run that have a time.
    fn timed(
        &self,
        collective: &'static str,
        group: Group,
        repetitions: u32,
    ) -> Result<Turn, Error> {
        let sizes = SIZES.map(|bytes| bytes.to_string()).join(",");
        let words = [collective, &sizes, &repetitions.to_string()];
        let lines = self.run(NETMODS[group.netmod], group.is_ours, &words)?;
        let timed = lines.into_iter().filter(|(name, ..)| name == collective);
        Ok(timed
            .map(|(_, bytes, us)| ((collective, bytes), us))
            .collect())
    }
}

/// `- bcast n=8 m=64 med 5.0 …`: the collective, the bytes, and the median.
fn line(text: &str) -> Option<(String, u64, f64)> {
    let words: Vec<&str> = text.split_whitespace().collect();
    let [_, name, _, bytes, "med", median, ..] = words[..] else {
        return None;
    };
    let bytes = bytes.strip_prefix("m=")?.parse().ok()?;
    Some((name.to_string(), bytes, median.parse().ok()?))
}

/// Compares; whether our calls are nowhere clearly slower, and as much faster as is demanded.
///
/// # Errors
/// What is missing, or what did not run.
pub(crate) fn compare(root: &Path, arguments: &Arguments) -> Result<bool, Error> {
    let target =
        std::env::var("CARGO_TARGET_DIR").map_or_else(|_| root.join("target"), PathBuf::from);
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let mut build = Command::new(cargo);
    build.args([
        "build",
        "--release",
        "--locked",
        "--quiet",
        "--package",
        "allhands-mpi",
    ]);
    output(build.current_dir(root))?;
    output(&mut command(root, &["peers"]))?;
    let mut holds = true;
    let mut records = Vec::new();
    for &hosts in &arguments.hosts {
        let [rate, delay] = NETWORK;
        let lab = Preloaded {
            lab: Lab::up(root, hosts, 1, [rate, delay])?,
            library: target.join("release/liballhands_mpi.so"),
        };
        let network = lab.lab.network()?;
        print_head(hosts, network);
        let mut of_hosts = Vec::new();
        for collective in COLLECTIVES {
            let rounds = rounds(&lab, collective, arguments)?;
            let rows = rows((hosts, collective), &rounds, network);
            rows.iter().for_each(print_row);
            of_hosts.extend(rows);
        }
        holds &= print_verdict(hosts, &of_hosts);
        records.extend(of_hosts);
    }
    let path = target.join("compare/lab.json");
    if let Some(folder) = path.parent() {
        fs::create_dir_all(folder).map_err(at(folder))?;
    }
    let json = serde_json::to_string_pretty(&records).map_err(|e| Error::Lab(e.to_string()))?;
    fs::write(&path, json).map_err(at(&path))?;
    println!("records in {}", path.display());
    Ok(holds)
}

/// By round: the turns of both netmods without the library, and with it.
fn rounds(
    lab: &Preloaded<'_>,
    collective: &'static str,
    arguments: &Arguments,
) -> Result<Vec<[[Turn; 2]; 2]>, Error> {
    let mut rounds = Vec::new();
    for round in 0..arguments.rounds {
        let mut turns = [[Turn::new(), Turn::new()], [Turn::new(), Turn::new()]];
        for place in 0..4 {
            let at = (place + round) % 4;
            let (netmod, ours) = (at / 2, at % 2);
            let group = Group {
                netmod,
                is_ours: ours == 1,
            };
            turns[ours][netmod] = lab.turn(collective, group, arguments.repetitions)?;
        }
        rounds.push(turns);
    }
    Ok(rounds)
}

/// Our times on each netmod beside the better of both netmods' own.
fn rows(
    (hosts, collective): (u32, &'static str),
    rounds: &[[[Turn; 2]; 2]],
    network: [f64; 2],
) -> Vec<Record> {
    let mut rows = Vec::new();
    for cell in cells(collective) {
        let times = |ours: usize, netmod: usize| -> Vec<f64> {
            rounds
                .iter()
                .map(|turns| turns[ours][netmod][&cell])
                .collect()
        };
        let natives = [0, 1].map(|netmod| median(&times(0, netmod)));
        let better = usize::from(natives[1] < natives[0]);
        for (at, netmod) in NETMODS.into_iter().enumerate() {
            let ours = times(1, at);
            let pairs = times(0, better).into_iter().zip(&ours);
            let ratios: Vec<f64> = pairs.map(|(native, ours)| native / ours).collect();
            let Estimate {
                median: ratio,
                interval,
            } = estimate(&ratios);
            rows.push(Record {
                hosts,
                collective: cell.0,
                bytes: cell.1,
                netmod,
                ours_us: median(&ours),
                native_netmod: NETMODS[better],
                native_us: natives[better],
                ratio,
                interval,
                bound_us: bound_us(cell.0, cell.1, hosts, network),
            });
        }
    }
    rows
}

fn print_head(hosts: u32, [l, g]: [f64; 2]) {
    println!(
        "{hosts} hosts, {}: L {l:.0} us, G {:.2} ns/B",
        NETWORK.join(", "),
        1e3 * g
    );
    println!(
        "{:<15}{:>9}{:>6}{:>12}{:>7}{:>14}{:>7}{:>8}  95 % interval",
        "collective", "bytes", "on", "ours us", "/bound", "native us", "/bound", "ratio"
    );
}

fn print_row(row: &Record) {
    println!(
        "{:<15}{:>9}{:>6}{:>12.0}{:>7.2}{:>10.0} {}{:>7.2}{:>8.2}  {:.2} to {:.2}",
        row.collective,
        row.bytes,
        row.netmod,
        row.ours_us,
        row.ours_us / row.bound_us,
        row.native_us,
        row.native_netmod,
        row.native_us / row.bound_us,
        row.ratio,
        row.interval[0],
        row.interval[1]
    );
}

/// Prints what all rows of a number of hosts come to; whether one of the netmods has what is demanded with us.
fn print_verdict(hosts: u32, rows: &[Record]) -> bool {
    let demanded = if hosts > 8 { 1.4 } else { 1.1 };
    let mut holds = false;
    for netmod in NETMODS {
        let mine = || rows.iter().filter(|row| row.netmod == netmod);
        let mean = |is_long: bool| {
            let rows = mine().filter(|row| (row.bytes >= LONG) == is_long);
            geometric_mean(rows.map(|row| row.ratio))
        };
        let slower = mine().filter(|row| row.interval[1] < 0.95).count();
        let (long, short) = (mean(true), mean(false));
        println!(
            "with {netmod} beside the better native: from 64 KB {long:.2} (demanded {demanded}), below {short:.2} (1.0), \
             {slower} cells wholly below 0.95"
        );
        holds |= long >= demanded && short >= 1.0 && slower == 0;
    }
    holds
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_understood() {
        let text = "- bcast n=8 m=65536 med 8430.0 p10 8329.0 p90 8571.1 min 8329.0 reps 8 late 0";
        assert_eq!(line(text), Some(("bcast".into(), 65536, 8430.0)));
        assert_eq!(line("allhands: calls on rank 0"), None);
    }

    #[test]
    fn ratios_are_to_the_better_native() {
        let turn = |us: f64| -> Turn { cells("bcast").map(|cell| (cell, us)).into() };
        let round = [[turn(30.0), turn(20.0)], [turn(10.0), turn(40.0)]];
        let rows = rows((8, "bcast"), &vec![round; 6], [1.0, 0.1]);
        assert_eq!(rows.len(), NETMODS.len() * SIZES.len());
        assert_eq!(
            (rows[0].netmod, rows[0].native_netmod, rows[0].ratio),
            ("ucx", "ofi", 2.0)
        );
        assert_eq!((rows[1].netmod, rows[1].ratio), ("ofi", 0.5));
        assert!(print_verdict(8, &rows));
    }
}
