//! The drop-in's tests: C and Fortran programs and mpi4py's own suite, run by each MPI with the library preloaded.

mod answers;
mod arguments;
mod calibrate;
mod corners;
mod death;
mod job;
mod many;
mod mpi;
mod programs;
mod python;
pub mod report;
mod tools;
mod unwaited;
mod words;

use crate::peers::Missing;
use arguments::{Arguments, HELP};
use job::{Job, Outcome};
use mpi::Mpi;
use report::Report;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};
use std::time::Duration;

/// The C programs, and for which reasons calls of theirs may pass through.
const PROGRAMS: [(&str, &[&str]); 12] = [
    ("moves", &["one rank"]),
    ("reductions", &["one rank"]),
    ("operators", &["one rank"]),
    ("layouts", &["one rank"]),
    ("threads", &["one rank"]),
    ("nonblocking", &["one rank", "the MPI combines"]),
    (
        "others",
        &[
            "one rank",
            "intercommunicator",
            "arguments",
            "type and operator do not fit",
            "several worlds",
            "no network",
            "no shared memory",
        ],
    ),
    ("traps", &["one rank", "intercommunicator"]),
    ("nodes", &["one rank", "no free tags"]),
    ("special", &["one rank"]),
    (
        "mistakes",
        &["one rank", "arguments", "type and operator do not fit"],
    ),
    // No operator, and no type, are the native MPI's to complain of.
    (
        "life",
        &[
            "one rank",
            "intercommunicator",
            "arguments",
            "type and operator do not fit",
        ],
    ),
];

/// The program that is also compiled to have copies of the library's variables, and how.
const COPIES: (&str, &[&str]) = ("reductions", &["-no-pie", "-fno-pic"]);

/// The Fortran programs, and for which reasons calls of theirs may pass through.
const FORTRAN: [(&str, &[&str]); 4] = [
    ("moves", &["one rank"]),
    ("counted", &["one rank"]),
    ("nonblocking", &["one rank"]),
    ("reductions", &["one rank", "intercommunicator"]),
];

/// The longest time of a program.
const PATIENCE: Duration = Duration::from_secs(600);

/// Why the tests cannot be run.
#[derive(Debug, thiserror::Error)]
enum Error {
    #[error("{0}\n\n{HELP}")]
    Usage(String),
    #[error(transparent)]
    Missing(#[from] Missing),
    #[error("{path}: {error}")]
    File {
        path: PathBuf,
        error: std::io::Error,
    },
    #[error("`{0}` failed")]
    Command(String),
}

/// Runs the tests that the words ask for.
#[must_use]
pub fn command(root: &Path, words: &[&str]) -> ExitCode {
    if let ["--help" | "-h"] = words {
        print!("{HELP}");
        return ExitCode::SUCCESS;
    }
    match Arguments::parse(words).and_then(|arguments| run(root, &arguments)) {
        Ok(0) => ExitCode::SUCCESS,
        Ok(failed) => {
            println!("{failed} failed");
            ExitCode::FAILURE
        }
        Err(error) => {
            eprintln!("cargo xtask mpi-test: {error}");
            ExitCode::FAILURE
        }
    }
}

/// Where things are.
struct Place<'a> {
    root: &'a Path,
    target: PathBuf,
    folder: PathBuf,
    library: PathBuf,
    /// Words of the titles of the tests that are run; none: all are.
    only: &'a [String],
}

impl Place<'_> {
    /// Whether the test of this title is to be run.
    fn wants(&self, title: &str) -> bool {
        self.only.is_empty() || self.only.iter().any(|word| title.contains(word))
    }
}

/// Runs everything and gives the number of tests that failed.
fn run(root: &Path, arguments: &Arguments) -> Result<usize, Error> {
    let target = std::env::var("CARGO_TARGET_DIR").map_or_else(|_| root.join("target"), Into::into);
    let folder = target.join("mpi-test");
    fs::create_dir_all(&folder).map_err(|error| Error::File {
        path: folder.clone(),
        error,
    })?;
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
    complete(
        build.current_dir(root),
        "cargo build --package allhands-mpi",
    )?;
    let place = Place {
        root,
        library: target.join("release/liballhands_mpi.so"),
        target,
        folder,
        only: &arguments.only,
    };
    if arguments.programs {
        return programs::all(&place, &arguments.ranks);
    }
    let python = match arguments.mpi4py {
        true => Some(python::fetched(&place)?),
        false => None,
    };
    let mut failed = 0;
    for &kind in &arguments.kinds {
        let mpi = Mpi::ready(kind, &place.target.join("peers"))?;
        let python = python.as_ref().filter(|_| kind.has_python);
        for round in 1..=arguments.rounds {
            if arguments.rounds > 1 {
                println!("round {round} of {}, {}", arguments.rounds, kind.name);
            }
            failed += programs(&place, &mpi, &arguments.ranks_of_programs(kind))?;
            failed += others(&place, &mpi, &arguments.ranks, python)?;
        }
    }
    Ok(failed)
}

/// Runs everything but the C programs under one MPI and gives the number of tests that failed.
fn others(
    place: &Place<'_>,
    mpi: &Mpi,
    ranks: &[usize],
    python: Option<&python::Python>,
) -> Result<usize, Error> {
    let mut failed = corners::all(place, mpi, ranks)?;
    failed += fortran(place, mpi, ranks)?;
    if ranks.contains(&2) {
        failed += tools::failed(place, mpi)?;
        failed += unwaited::failed(place, mpi)?;
        failed += calibrate::failed(place, mpi)?;
    }
    let Some(python) = python else {
        return Ok(failed);
    };
    for &ranks in ranks.iter().filter(|ranks| **ranks > 1) {
        for nodes in [None, Some(pretended(ranks))] {
            let passed = python::suite(place, mpi, python, (ranks, nodes.as_deref()));
            failed += usize::from(!passed);
        }
    }
    Ok(failed)
}

fn complete(command: &mut Command, shown: &str) -> Result<(), Error> {
    match command.status() {
        Ok(status) if status.success() => Ok(()),
        Ok(_) | Err(_) => Err(Error::Command(shown.into())),
    }
}

/// Settings under which a short program is run once more with two ranks, and whether calls are then taken over.
const SETTINGS: [(&str, &str, bool); 3] = [
    ("ALLHANDS_VERIFY", "on", true),
    ("ALLHANDS_ALLREDUCE", "ring", true),
    ("ALLHANDS_MPI", "off", false),
];

/// The variable that says which nodes ranks shall pretend to be on.
const NODES: &str = "ALLHANDS_NODES";

/// Nodes for so many ranks to pretend that they are on: of two and of one in turns, or of one.
fn pretended(ranks: usize) -> String {
    let mut sizes = Vec::new();
    while sizes.iter().sum::<usize>() < ranks {
        let size = if sizes.len() % 2 == 0 && ranks > 2 {
            2
        } else {
            1
        };
        sizes.push(size.min(ranks - sizes.iter().sum::<usize>()));
    }
    let sizes: Vec<String> = sizes.iter().map(ToString::to_string).collect();
    sizes.join(",")
}

/// Runs the C programs and gives the number of runs that failed.
fn programs(place: &Place<'_>, mpi: &Mpi, ranks: &[usize]) -> Result<usize, Error> {
    let (sources, name) = (
        place.root.join("crates/allhands-mpi/tests/c"),
        mpi.kind.name,
    );
    let mut failed = usize::from(!death::passes(place, mpi)?);
    failed += words::failures(place, mpi)?;
    failed += usize::from(!many::passes(place, mpi)?);
    for (program, may_pass) in PROGRAMS {
        let binary = place.folder.join(format!("{program}-{name}"));
        mpi.compile(&sources.join(format!("{program}.c")), &binary, &[])?;
        let test = Test {
            place,
            mpi,
            program,
            binary: &binary,
            arguments: &[],
        };
        let one = ranks.iter().map(|ranks| (*ranks, None));
        let apart = ranks.iter().filter(|ranks| **ranks > 1);
        let apart = apart.map(|ranks| (*ranks, Some(pretended(*ranks))));
        for (ranks, nodes) in one.chain(apart) {
            let mut title = format!("{program}, {name}, {ranks} ranks");
            let nodes = nodes.as_deref().map(|nodes| (NODES, nodes));
            if let Some((_, nodes)) = nodes {
                title.push_str(&format!(", nodes {nodes}"));
            }
            let passed = test.passes(&title, ranks, nodes, &|report| {
                let mut findings = only_these_pass(report, may_pass, ranks);
                let between = report.between_nodes();
                if nodes.is_some() != (between > 0) {
                    findings.push(format!("{between} calls were taken over between nodes"));
                }
                if program == "nonblocking" && ranks > 1 && nodes.is_none() {
                    findings.extend(begun(report, mpi.kind.has_hook));
                }
                findings
            });
            failed += usize::from(!passed);
        }
        if program == COPIES.0 && ranks.contains(&2) {
            let binary = place.folder.join(format!("{program}-{name}-copies"));
            mpi.compile(&sources.join(format!("{program}.c")), &binary, COPIES.1)?;
            let title = format!("{program} with copies of variables, {name}, 2 ranks");
            let copies = Test {
                binary: &binary,
                ..test
            };
            let passed = copies.passes(&title, 2, None, &|report| {
                only_these_pass(report, may_pass, 2)
            });
            failed += usize::from(!passed);
        }
        if ranks.contains(&2) {
            failed += settings(&test);
        }
    }
    Ok(failed)
}

/// Runs a short program under other settings and gives the number of runs that failed.
fn settings(test: &Test<'_>) -> usize {
    let (program, name) = (test.program, test.mpi.kind.name);
    let is_short = |variable: &str| match program {
        "moves" => true,
        "operators" => variable == "ALLHANDS_VERIFY",
        _ => false,
    };
    let mut failed = 0;
    for (variable, value, takes) in SETTINGS.iter().filter(|row| is_short(row.0)) {
        let title = format!("{program}, {name}, 2 ranks, {variable}={value}");
        let passed = test.passes(&title, 2, Some((variable, value)), &|report| {
            let finding = || format!("{} calls were taken over", report.taken());
            let is_right = (report.taken() > 0) == *takes;
            (!is_right).then(finding).into_iter().collect()
        });
        failed += usize::from(!passed);
    }
    failed
}

/// Runs the Fortran programs and gives the number of runs that failed.
fn fortran(place: &Place<'_>, mpi: &Mpi, ranks: &[usize]) -> Result<usize, Error> {
    let sources = place.root.join("crates/allhands-mpi/tests/fortran");
    let mut failed = 0;
    for (program, may_pass) in FORTRAN {
        let binary = place
            .folder
            .join(format!("{program}-fortran-{}", mpi.kind.name));
        let source = sources.join(format!("{program}.F90"));
        for (flavour, binary) in mpi.compile_fortran(&source, &binary)? {
            let test = Test {
                place,
                mpi,
                program,
                binary: &binary,
                arguments: &[],
            };
            for &ranks in ranks {
                let (name, flavour) = (mpi.kind.name, flavour.name());
                let title = format!("{program} in Fortran, {flavour}, {name}, {ranks} ranks");
                let passed = test.passes(&title, ranks, None, &|report| {
                    let mut findings = only_these_pass(report, may_pass, ranks);
                    findings.extend(
                        (program == "counted")
                            .then(|| miscounts(report))
                            .into_iter()
                            .flatten(),
                    );
                    findings
                });
                failed += usize::from(!passed);
            }
        }
    }
    Ok(failed)
}

/// How many calls the program `counted` makes.
const COUNTED: [(&str, u64); 3] = [("MPI_Allreduce", 11), ("MPI_Barrier", 5), ("MPI_Bcast", 3)];

/// Which calls of the program `counted` were not counted once each.
fn miscounts(report: &Report) -> Vec<String> {
    let wrong = COUNTED
        .iter()
        .filter(|(call, calls)| report.calls(call) != *calls);
    let finding = |(call, calls): &(&str, u64)| {
        format!("{calls} of {call} were counted as {}", report.calls(call))
    };
    wrong.map(finding).collect()
}

/// What is wrong with a report if calls may pass through for these reasons alone.
fn only_these_pass(report: &Report, reasons: &[&str], ranks: usize) -> Vec<String> {
    let mut findings = report.passed_but_for(reasons);
    if ranks > 1 && report.taken() == 0 {
        findings.push("no call was taken over".into());
    }
    findings
}

/// What is wrong with a report of every nonblocking call, which are taken over where the MPI has a hook.
fn begun(report: &Report, has_hook: bool) -> Vec<String> {
    if has_hook {
        let never = report.never_taken(true);
        // Blocking ones are called only as far as they are needed.
        never
            .into_iter()
            .filter(|call| call.starts_with("mpi_i"))
            .collect()
    } else {
        let finding = || format!("{} nonblocking calls were taken over", report.begun());
        (report.begun() > 0).then(finding).into_iter().collect()
    }
}

/// A test program that is compiled.
#[derive(Clone, Copy)]
struct Test<'a> {
    place: &'a Place<'a>,
    mpi: &'a Mpi,
    program: &'a str,
    binary: &'a Path,
    arguments: &'a [&'a str],
}

impl Test<'_> {
    /// Runs it; whether it ends well, says that all is right, and `judge_report` finds nothing wrong.
    fn passes(
        &self,
        title: &str,
        ranks: usize,
        variable: Option<(&str, &str)>,
        judge_report: &dyn Fn(&Report) -> Vec<String>,
    ) -> bool {
        if !self.place.wants(title) {
            return true;
        }
        let mut launcher = self.mpi.launcher(ranks);
        launcher
            .envs(variable)
            .arg(self.binary)
            .args(self.arguments);
        let job = Job {
            launcher,
            title,
            patience: PATIENCE,
        };
        let libraries = self.mpi.libraries();
        let outcome = job.run(
            Some(self.place.library.as_path()),
            libraries.as_deref(),
            &self.place.folder,
        );
        let mut findings = outcome.findings();
        let right = format!("{}: right", self.program);
        if !outcome.output.contains(&right) {
            findings.push(format!("it does not say '{right}'"));
        }
        match &outcome.report {
            Some(report) => findings.extend(judge_report(report)),
            None => findings.push("there is no report: was the library preloaded?".into()),
        }
        judge(title, &outcome, &findings)
    }
}

/// Prints what became of a test; whether it passed.
fn judge(title: &str, outcome: &Outcome, findings: &[String]) -> bool {
    let (taken, passed) = match &outcome.report {
        Some(report) => (report.taken(), report.passed()),
        None => (0, 0),
    };
    let word = if findings.is_empty() {
        "passed"
    } else {
        "FAILED"
    };
    let seconds = outcome.time.as_secs_f64();
    println!(
        "{word}  {title}: {seconds:.1} s, rank 0 had {taken} calls taken over and {passed} passed through"
    );
    for finding in findings {
        println!("    {finding}");
    }
    if !findings.is_empty() {
        let lines: Vec<&str> = outcome.output.lines().collect();
        for line in &lines[lines.len().saturating_sub(30)..] {
            println!("    | {line}");
        }
    }
    findings.is_empty()
}
#[cfg(test)]
mod tests {
    use super::pretended;

    #[test]
    fn pretended_nodes_have_all_ranks_and_are_several() {
        assert_eq!(
            [2, 3, 4, 5].map(pretended),
            ["1,1", "2,1", "2,1,1", "2,1,2"]
        );
    }
}
