//! Corners: programs that make calls in their last moments, leave them in other ways than by returning, or have the library on some
//! ranks alone.

use super::job::Job;
use super::mpi::Mpi;
use super::report::Report;
use super::{Error, NODES, Place, Test, judge, only_these_pass, pretended};
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// A program with its arguments.
struct Corner {
    program: &'static str,
    extension: &'static str,
    arguments: &'static [&'static str],
    /// For which reasons calls may pass through.
    may_pass: &'static [&'static str],
    /// How many calls of `MPI_Allreduce` rank 0 makes, if the program is about those that nobody may miss.
    sums: Option<u64>,
    /// Whether it starts processes.
    spawns: bool,
}

const fn leaving(arguments: &'static [&'static str], sums: u64) -> Corner {
    Corner {
        program: "leaving",
        extension: "c",
        arguments,
        may_pass: &[],
        sums: Some(sums),
        spawns: false,
    }
}

/// All of them.
const CORNERS: [Corner; 7] = [
    leaving(&["atexit"], 40),
    leaving(&["key"], 60),
    leaving(&["self"], 40),
    leaving(&["self-one"], 40),
    Corner {
        program: "jumps",
        extension: "c",
        arguments: &[],
        // What is wrong in the native MPI's eyes, on the last rank.
        may_pass: &["arguments"],
        sums: None,
        spawns: false,
    },
    Corner {
        program: "throws",
        extension: "cpp",
        arguments: &[],
        may_pass: &["arguments"],
        sums: None,
        spawns: false,
    },
    Corner {
        program: "worlds",
        extension: "c",
        arguments: &[],
        may_pass: &["several worlds"],
        sums: None,
        spawns: true,
    },
];

/// Runs them and gives the number of runs that failed.
pub(super) fn all(place: &Place<'_>, mpi: &Mpi, ranks: &[usize]) -> Result<usize, Error> {
    let mut failed = 0;
    for corner in CORNERS {
        if corner.spawns && !mpi.kind.can_spawn {
            continue;
        }
        let binary = compiled(place, mpi, corner.program, corner.extension)?;
        let test = Test {
            place,
            mpi,
            program: corner.program,
            binary: &binary,
            arguments: corner.arguments,
        };
        for &ranks in ranks.iter().filter(|ranks| **ranks > 1) {
            for nodes in [None, Some(pretended(ranks))] {
                if nodes.is_some() && corner.spawns {
                    continue;
                }
                let title = title(&corner, mpi, ranks, nodes.as_deref());
                let nodes = nodes.as_deref().map(|nodes| (NODES, nodes));
                let passed = test.passes(&title, ranks, nodes, &|report| {
                    findings(&corner, report, ranks)
                });
                failed += usize::from(!passed);
            }
        }
    }
    for lacking in [0, 1] {
        failed += usize::from(!some_lack_it(place, mpi, lacking)?);
    }
    Ok(failed)
}

fn title(corner: &Corner, mpi: &Mpi, ranks: usize, nodes: Option<&str>) -> String {
    let (words, name) = (corner.arguments.join(" "), mpi.kind.name);
    let nodes = nodes.map_or(String::new(), |nodes| format!(", nodes {nodes}"));
    format!("{} {words}, {name}, {ranks} ranks{nodes}", corner.program)
}

fn compiled(
    place: &Place<'_>,
    mpi: &Mpi,
    program: &str,
    extension: &str,
) -> Result<PathBuf, Error> {
    let sources = place.root.join("crates/allhands-mpi/tests/c");
    let binary = place.folder.join(format!("{program}-{}", mpi.kind.name));
    let source = sources.join(format!("{program}.{extension}"));
    mpi.compile(&source, &binary, &["-pthread", "-ldl"])?;
    Ok(binary)
}

/// What is wrong with the report of a program.
fn findings(corner: &Corner, report: &Report, ranks: usize) -> Vec<String> {
    let mut findings = only_these_pass(report, corner.may_pass, ranks);
    let calls = report.calls("MPI_Allreduce");
    if corner.sums.is_some_and(|sums| sums != calls) {
        findings.push(format!(
            "{calls} of MPI_Allreduce were seen, and not {:?}",
            corner.sums
        ));
    }
    findings
}

/// Starts two ranks of which one, `lacking`, has not the library; whether that is reported in time.
fn some_lack_it(place: &Place<'_>, mpi: &Mpi, lacking: usize) -> Result<bool, Error> {
    /// How soon it is to be reported.
    const PATIENCE: Duration = Duration::from_secs(10);
    let title = format!("rank {lacking} lacks the library, {}", mpi.kind.name);
    if !place.wants(&title) {
        return Ok(true);
    }
    let binary = compiled(place, mpi, "leaving", "c")?;
    let mut launcher = mpi.launcher(1);
    for rank in 0..2 {
        if rank > 0 {
            launcher.args([":", "-n", "1"]);
        }
        if rank != lacking {
            launcher.arg("env").arg(preload(&place.library));
        }
        launcher.args([binary.as_os_str(), "self".as_ref()]);
    }
    let job = Job {
        launcher,
        title: &title,
        patience: PATIENCE,
    };
    let outcome = job.run(None, mpi.libraries().as_deref(), &place.folder);
    let mut findings = Vec::new();
    match outcome.findings().first() {
        None => findings.push("the launcher says that all went well".into()),
        Some(failure) if failure.contains("had not ended") => findings.push(failure.clone()),
        Some(_) => {}
    }
    let sentence = format!("rank {lacking} of MPI_COMM_WORLD cannot take part");
    if !outcome.output.contains(&sentence) {
        findings.push(format!("it does not say '{sentence}'"));
    }
    Ok(judge(&title, &outcome, &findings))
}

fn preload(library: &Path) -> OsString {
    let mut word = OsString::from("LD_PRELOAD=");
    word.push(library);
    word
}
