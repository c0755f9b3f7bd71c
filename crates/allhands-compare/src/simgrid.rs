//! The comparison with SimGrid: the same collectives on the same flat network, simulated by Allhands and by SMPI.
//!
//! Both are whole programs, from their start to their end; what counts is the time that the processor gave them, as other
//! programs disturb the clock. SMPI runs with all ranks in one address space and without what it adds to a network: no factors of
//! latency and bandwidth, no overheads, no cross traffic, no computation timed. What is left is its header of 16 bytes.

use crate::error::{Error, at};
use crate::run::{OWN_PROGRAMS, build};
use serde::Serialize;
use std::fmt::Write;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Instant;
use xtask::needs::{self, Need};

/// What is needed for it.
const NEEDS: &[Need] = &[Need {
    program: "smpirun",
    debian_packages: &["libsimgrid-dev"],
    without_it: "there is nothing to compare with",
}];

/// The machine: 125 MB/s and 50 µs between every two hosts.
const BANDWIDTH: &str = "125MBps";
const BYTE_NS: f64 = 8.0;
/// A message passes two links of SimGrid's cluster.
const LINK_LATENCY: &str = "25us";
const LATENCY_US: f64 = 50.0;

/// Without what SMPI adds to the network: the names are those of SimGrid's page on configuring it.
const PLAIN: &[&str] = &[
    "smpi/privatization:no",
    "smpi/simulate-computation:no",
    "smpi/bw-factor:0:1",
    "smpi/lat-factor:0:1",
    "smpi/os:0:0:0",
    "smpi/or:0:0:0",
    "smpi/ois:0:0:0",
    "smpi/iprobe:0",
    "smpi/test:0",
    "smpi/wtime:0",
    "smpi/init:0",
    "network/crosstraffic:0",
    "network/TCP-gamma:0",
    "network/latency-factor:1",
    "network/bandwidth-factor:1",
    "network/weight-S:0",
];

/// A call that both simulate.
struct Case {
    collective: &'static str,
    /// Ours, and SMPI's name of the same.
    algorithm: (&'static str, &'static str),
    ranks: u32,
}

const CASES: [Case; 2] = [
    Case {
        collective: "alltoall",
        algorithm: ("pairwise", "smpi/alltoall:pair"),
        ranks: 1024,
    },
    Case {
        collective: "allreduce",
        algorithm: ("recursive-doubling", "smpi/allreduce:rdb"),
        ranks: 4096,
    },
];

/// The payload of a message.
const BYTES: u32 = 8;
/// Ours is short, so it is run more often; the best counts, on both sides.
const RUNS: (usize, usize) = (7, 1);
/// What is demanded: how many times its messages a second, and how far completion times may be apart.
const LEAST_RATIO: f64 = 100.0;
const MOST_APART: f64 = 0.05;

/// What one side gave.
#[derive(Clone, Copy, Debug, Serialize)]
struct Side {
    completion_us: f64,
    /// Of the processor, user and system.
    cpu_s: f64,
    wall_s: f64,
    messages_per_cpu_s: f64,
}

/// A row of the comparison.
#[derive(Debug, Serialize)]
struct Record {
    collective: &'static str,
    algorithm: &'static str,
    ranks: u32,
    bytes: u32,
    messages: u64,
    allhands: Side,
    simgrid: Side,
    /// Our messages a second by SimGrid's.
    speed_ratio: f64,
    /// Our completion by SimGrid's.
    completion_ratio: f64,
}

/// Compares; whether we are as fast, and completion times as near, as is demanded.
///
/// # Errors
/// What is missing, or what did not run.
pub(super) fn compare(root: &Path) -> Result<bool, Error> {
    if let Some(need) = needs::ensure(NEEDS).first() {
        return Err(Error::SimGrid(format!(
            "{} is missing: {}; Debian's libsimgrid-dev has it",
            need.program, need.without_it
        )));
    }
    let target = std::env::var("CARGO_TARGET_DIR").map_or_else(|_| root.join("target"), Into::into);
    let allhands = build(root, &target, &OWN_PROGRAMS)?.with_file_name("allhands");
    let folder = target.join("compare/simgrid");
    fs::create_dir_all(&folder).map_err(at(&folder))?;
    let files = Files::write(root, folder)?;
    let mut records = Vec::new();
    for case in &CASES {
        records.push(files.record(case, &allhands)?);
    }
    let table = table(&records);
    print!("{table}");
    files.put("simgrid.txt", &table)?;
    let json = serde_json::to_string_pretty(&records).map_err(|e| Error::SimGrid(e.to_string()))?;
    let path = files.put("simgrid.json", &json)?;
    println!("records in {}", path.display());
    let holds = |record: &Record| {
        record.speed_ratio >= LEAST_RATIO && (record.completion_ratio - 1.0).abs() <= MOST_APART
    };
    Ok(records.iter().all(holds))
}

/// The files of a comparison.
struct Files {
    folder: PathBuf,
    worker: PathBuf,
}

impl Files {
    fn write(root: &Path, folder: PathBuf) -> Result<Files, Error> {
        let worker = folder.join("worker");
        let files = Files { folder, worker };
        files.put("machine.toml", &machine())?;
        let most = CASES.iter().map(|case| case.ranks).max().unwrap_or(1);
        files.put("platform.xml", &platform(most))?;
        let hosts: Vec<String> = (0..most).map(|host| format!("host{host}\n")).collect();
        files.put("hosts", &hosts.concat())?;
        let source = root.join("crates/allhands-compare/c/simgrid.c");
        let mut compiler = Command::new("smpicc");
        compiler.args(["-O2", "-o"]).arg(&files.worker).arg(source);
        output(&mut compiler)?;
        Ok(files)
    }

    fn put(&self, name: &str, text: &str) -> Result<PathBuf, Error> {
        let path = self.folder.join(name);
        fs::write(&path, text).map_err(at(&path))?;
        Ok(path)
    }

    fn record(&self, case: &Case, allhands: &Path) -> Result<Record, Error> {
        let (ours, messages) = self.ours(case, allhands)?;
        let simgrid = self.simgrid(case, messages)?;
        Ok(Record {
            collective: case.collective,
            algorithm: case.algorithm.0,
            ranks: case.ranks,
            bytes: BYTES,
            messages,
            speed_ratio: ours.messages_per_cpu_s / simgrid.messages_per_cpu_s,
            completion_ratio: ours.completion_us / simgrid.completion_us,
            allhands: ours,
            simgrid,
        })
    }

    /// Ours, and how many messages it sent.
    fn ours(&self, case: &Case, allhands: &Path) -> Result<(Side, u64), Error> {
        let mut command = Command::new(allhands);
        let (ranks, bytes) = (case.ranks.to_string(), BYTES.to_string());
        command.args(["simulate", case.collective, "--json", "-"]);
        command.args(["--algorithm", case.algorithm.0]);
        command.args(["--ranks", &ranks, "--bytes", &bytes, "--machine"]);
        command.arg(self.folder.join("machine.toml"));
        let (text, cpu_s, wall_s) = best(RUNS.0, &mut command)?;
        let number = |key: &str| {
            let records: serde_json::Value = serde_json::from_str(&text).unwrap_or_default();
            let found = records[0][key].as_f64();
            found.ok_or_else(|| Error::SimGrid(format!("allhands simulate printed no {key}")))
        };
        let messages = number("messages")? as u64;
        let side = side(number("completion_us")?, messages, (cpu_s, wall_s));
        Ok((side, messages))
    }

    fn simgrid(&self, case: &Case, messages: u64) -> Result<Side, Error> {
        let mut command = Command::new("smpirun");
        command.args(["-np", &case.ranks.to_string(), "-platform"]);
        command.arg(self.folder.join("platform.xml"));
        command.arg("-hostfile").arg(self.folder.join("hosts"));
        let options = PLAIN.iter().chain([&case.algorithm.1]);
        command.args(options.map(|option| format!("--cfg={option}")));
        command.arg(&self.worker).arg(case.collective);
        let (text, cpu_s, wall_s) = best(RUNS.1, &mut command)?;
        let completion = text
            .lines()
            .find_map(|line| line.strip_prefix("completion "))
            .and_then(|seconds| seconds.trim().parse::<f64>().ok());
        let seconds = completion
            .ok_or_else(|| Error::SimGrid(format!("smpirun printed no completion: {text}")))?;
        Ok(side(seconds * 1e6, messages, (cpu_s, wall_s)))
    }
}

fn side(completion_us: f64, messages: u64, (cpu_s, wall_s): (f64, f64)) -> Side {
    Side {
        completion_us,
        cpu_s,
        wall_s,
        messages_per_cpu_s: messages as f64 / cpu_s,
    }
}

/// Runs a command so many times: what it printed, and the least seconds of the processor and of the clock.
fn best(runs: usize, command: &mut Command) -> Result<(String, f64, f64), Error> {
    let (mut text, mut cpu_s, mut wall_s) = (String::new(), f64::INFINITY, f64::INFINITY);
    for _ in 0..runs.max(1) {
        let (before, start) = (children_s(), Instant::now());
        text = output(command)?;
        cpu_s = cpu_s.min(children_s() - before);
        wall_s = wall_s.min(start.elapsed().as_secs_f64());
    }
    Ok((text, cpu_s, wall_s))
}

/// Seconds that the processor gave to children that have ended, and to theirs.
fn children_s() -> f64 {
    // SAFETY: the call writes a whole rusage to memory that is ours, for which zeros are a value.
    let usage = unsafe {
        let mut usage: libc::rusage = std::mem::zeroed();
        libc::getrusage(libc::RUSAGE_CHILDREN, &raw mut usage);
        usage
    };
    let seconds = |time: libc::timeval| time.tv_sec as f64 + time.tv_usec as f64 / 1e6;
    seconds(usage.ru_utime) + seconds(usage.ru_stime)
}

fn output(command: &mut Command) -> Result<String, Error> {
    let output = command.stdin(Stdio::null()).output();
    let output = output.map_err(|e| Error::SimGrid(format!("{command:?}: {e}")))?;
    if !output.status.success() {
        let said = String::from_utf8_lossy(&output.stderr).trim().to_string();
        return Err(Error::SimGrid(format!(
            "{command:?} ended with {}: {said}",
            output.status
        )));
    }
    Ok(String::from_utf8_lossy(&output.stdout).into_owned())
}

fn machine() -> String {
    format!(
        "name = \"cluster\"\nabout = \"SimGrid's cluster: 125 MB/s, 50 µs\"\n\n[network]\nkind = \"flat\"\n\
         latency_us = {LATENCY_US:.1}\nmessage_us = 0.0\nbyte_ns = {BYTE_NS:.1}\n\n[processor]\nsend_us = 0.0\n\
         receive_us = 0.0\ncopy_byte_ns = 0.0\nreduce_byte_ns = 0.0\n"
    )
}

fn platform(hosts: u32) -> String {
    format!(
        "<?xml version='1.0'?>\n<!DOCTYPE platform SYSTEM \"https://simgrid.org/simgrid.dtd\">\n<platform version=\"4.1\">\n  \
         <cluster id=\"cluster\" prefix=\"host\" suffix=\"\" radical=\"0-{}\" speed=\"1Gf\" bw=\"{BANDWIDTH}\" \
         lat=\"{LINK_LATENCY}\" sharing_policy=\"SPLITDUPLEX\"/>\n</platform>\n",
        hosts - 1
    )
}

fn table(records: &[Record]) -> String {
    let mut table = String::new();
    let _ = writeln!(
        table,
        "Allhands beside SimGrid's SMPI, 8 bytes, 125 MB/s and 50 µs; seconds are the processor's\n\n\
         {:<12}{:>7}{:>10}{:>14}{:>14}{:>8}{:>10}{:>10}{:>13}{:>13}{:>8}",
        "collective",
        "ranks",
        "messages",
        "ours µs",
        "its µs",
        "ratio",
        "ours s",
        "its s",
        "ours msg/s",
        "its msg/s",
        "ratio"
    );
    for record in records {
        let Record {
            allhands, simgrid, ..
        } = record;
        let _ = writeln!(
            table,
            "{:<12}{:>7}{:>10}{:>14.2}{:>14.2}{:>8.4}{:>10.3}{:>10.2}{:>13.0}{:>13.0}{:>8.0}",
            record.collective,
            record.ranks,
            record.messages,
            allhands.completion_us,
            simgrid.completion_us,
            record.completion_ratio,
            allhands.cpu_s,
            simgrid.cpu_s,
            allhands.messages_per_cpu_s,
            simgrid.messages_per_cpu_s,
            record.speed_ratio
        );
    }
    let _ = writeln!(
        table,
        "\ndemanded: at least {LEAST_RATIO:.0} times its messages a second, completions within {:.0} %",
        100.0 * MOST_APART
    );
    table
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_machines_have_the_same_numbers() {
        let bandwidth: f64 = BANDWIDTH.trim_end_matches("MBps").parse().expect("MB/s");
        assert_eq!(1e3 / bandwidth, BYTE_NS);
        let link: f64 = LINK_LATENCY.trim_end_matches("us").parse().expect("µs");
        assert_eq!(2.0 * link, LATENCY_US);
        assert!(machine().contains("latency_us = 50.0") && machine().contains("byte_ns = 8.0"));
        assert!(platform(4).contains("radical=\"0-3\""));
    }
}
