//! The drop-in's tests: C programs and mpi4py's own suite, run by each MPI with the library preloaded.

mod death;
mod job;
mod report;

use crate::compare::peers::{Installed, Missing, PEERS};
use job::{Job, Outcome};
use report::Report;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};
use std::time::Duration;

const HELP: &str = "\
cargo xtask mpi-test [--peers NAMES] [--ranks NUMBERS] [--no-mpi4py]

  --peers NAMES     of mpich, openmpi, intel and standard (MPICH's standard ABI); all at first
  --ranks NUMBERS   with how many ranks every test is run; 1,2,5 at first
  --no-mpi4py       leave out mpi4py's own suite

Peers are installed with pip below target/peers; the programs are those in crates/allhands-mpi/tests/c.
";

/// The C programs, and for which reasons calls of theirs may pass through.
const PROGRAMS: [(&str, &[&str]); 7] = [
    ("moves", &["one rank"]),
    ("reductions", &["one rank"]),
    ("operators", &["one rank"]),
    ("layouts", &["one rank"]),
    ("threads", &["one rank"]),
    (
        "others",
        &[
            "one rank",
            "intercommunicator",
            "arguments",
            "type and operator do not fit",
            "several nodes",
            "no shared memory",
        ],
    ),
    ("traps", &["one rank", "intercommunicator"]),
];

/// The modules of mpi4py's suite that are run, as its `-i` takes them.
const SUITE: [&str; 4] = ["test_cco", "test_op", "test_comm", "util_pkl5"];
const MPI4PY: &str = "mpi4py==4.1.2";

/// The longest time of a program, and of mpi4py's suite.
const PATIENCE: Duration = Duration::from_secs(600);
const SUITE_PATIENCE: Duration = Duration::from_secs(900);

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

struct Arguments {
    peers: Vec<&'static str>,
    ranks: Vec<usize>,
    mpi4py: bool,
}

const NAMES: [&str; 4] = ["mpich", "openmpi", "intel", "standard"];

impl Arguments {
    fn parse(words: &[&str]) -> Result<Arguments, Error> {
        let mut arguments = Arguments {
            peers: NAMES.to_vec(),
            ranks: vec![1, 2, 5],
            mpi4py: true,
        };
        let mut words = words.iter();
        let unknown = |what: &str| Error::Usage(format!("'{what}' is not understood"));
        while let Some(word) = words.next() {
            let mut value = || words.next().copied().ok_or_else(|| unknown(word));
            match *word {
                "--no-mpi4py" => arguments.mpi4py = false,
                "--peers" => {
                    let name = |text| NAMES.into_iter().find(|name| *name == text);
                    let names = value()?
                        .split(',')
                        .map(|text| name(text).ok_or_else(|| unknown(text)));
                    arguments.peers = names.collect::<Result<_, _>>()?;
                }
                "--ranks" => {
                    let number = |text: &str| text.parse().ok().filter(|n| (1..=64).contains(n));
                    let numbers = value()?
                        .split(',')
                        .map(|text| number(text).ok_or_else(|| unknown(text)));
                    arguments.ranks = numbers.collect::<Result<_, _>>()?;
                }
                word => return Err(unknown(word)),
            }
        }
        Ok(arguments)
    }
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
    };
    let python = match arguments.mpi4py {
        true => Some(mpi4py(&place)?),
        false => None,
    };
    let mut failed = 0;
    for &name in &arguments.peers {
        // The standard ABI's library comes with MPICH.
        let peer = if name == "standard" {
            PEERS[0].name
        } else {
            name
        };
        let installed = Installed::fetched(peer, &place.target.join("peers"))?;
        failed += programs(&place, &installed, name, &arguments.ranks)?;
        if let Some(python) = python.as_ref().filter(|_| name != "standard") {
            for &ranks in arguments.ranks.iter().filter(|ranks| **ranks > 1) {
                failed += usize::from(!suite(&place, &installed, python, ranks)?);
            }
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

/// Runs the C programs and gives the number of runs that failed.
fn programs(
    place: &Place<'_>,
    installed: &Installed,
    name: &str,
    ranks: &[usize],
) -> Result<usize, Error> {
    let compiler = if name == "standard" {
        "mpicc_abi"
    } else {
        "mpicc"
    };
    let sources = place.root.join("crates/allhands-mpi/tests/c");
    let mut failed = usize::from(!death::passes(place, installed, name, compiler)?);
    for (program, may_pass) in PROGRAMS {
        let binary = place.folder.join(format!("{program}-{name}"));
        installed.compile(compiler, &sources.join(format!("{program}.c")), &binary)?;
        for &ranks in ranks {
            let title = format!("{program}, {name}, {ranks} ranks");
            let judge_report = |report: &Report| {
                let mut findings = report.passed_but_for(may_pass);
                if ranks > 1 && report.taken() == 0 {
                    findings.push("no call was taken over".into());
                }
                findings
            };
            let run = (title.as_str(), installed.launcher(ranks));
            let passed = program_passes(place, installed, (program, &binary), run, &judge_report);
            failed += usize::from(!passed);
        }
        let is_short = |variable: &str| match program {
            "moves" => true,
            "operators" => variable == "ALLHANDS_VERIFY",
            _ => false,
        };
        let settings = SETTINGS.iter().filter(|row| is_short(row.0));
        for (variable, value, takes) in settings.filter(|_| ranks.contains(&2)) {
            let title = format!("{program}, {name}, 2 ranks, {variable}={value}");
            let mut launcher = installed.launcher(2);
            launcher.env(variable, value);
            let judge_report = |report: &Report| {
                let finding = || format!("{} calls were taken over", report.taken());
                let is_right = (report.taken() > 0) == *takes;
                (!is_right).then(finding).into_iter().collect()
            };
            let run = (title.as_str(), launcher);
            let passed = program_passes(place, installed, (program, &binary), run, &judge_report);
            failed += usize::from(!passed);
        }
    }
    Ok(failed)
}

/// Runs a C program; whether it ends well, says that all is right, and `judge_report` finds nothing wrong.
fn program_passes(
    place: &Place<'_>,
    installed: &Installed,
    (program, binary): (&str, &Path),
    (title, mut launcher): (&str, Command),
    judge_report: &dyn Fn(&Report) -> Vec<String>,
) -> bool {
    launcher.arg(binary);
    let job = Job {
        launcher,
        title,
        patience: PATIENCE,
    };
    let outcome = job.run(&place.library, &installed.libraries(), &place.folder);
    let mut findings = outcome.findings();
    if !outcome.output.contains(&format!("{program}: right")) {
        findings.push(format!("it does not say '{program}: right'"));
    }
    match &outcome.report {
        Some(report) => findings.extend(judge_report(report)),
        None => findings.push("there is no report: was the library preloaded?".into()),
    }
    judge(title, &outcome, &findings)
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

/// mpi4py: the folder to import it from, and the one with its suite.
struct Python {
    modules: PathBuf,
    source: PathBuf,
}

/// Fetches mpi4py, with pip, if it is not there.
fn mpi4py(place: &Place<'_>) -> Result<Python, Error> {
    let home = place.target.join("peers/mpi4py");
    let (modules, archives) = (home.join("modules"), home.join("archives"));
    let source = home.join(MPI4PY.replace("==", "-"));
    if !source.join("test/main.py").exists() || !modules.exists() {
        let pip = |words: &[&str], folder: &Path, option: &str| {
            let mut command = Command::new("python3");
            command.args(["-m", "pip", "--quiet", "--disable-pip-version-check"]);
            command.args(words).arg(option).arg(folder).arg(MPI4PY);
            complete(
                &mut command,
                &format!("python3 -m pip {} {MPI4PY}", words.join(" ")),
            )
        };
        pip(&["install", "--no-deps"], &modules, "--target")?;
        pip(
            &["download", "--no-deps", "--no-binary", ":all:"],
            &archives,
            "--dest",
        )?;
        let archive = archives.join(format!("{}.tar.gz", MPI4PY.replace("==", "-")));
        let mut tar = Command::new("tar");
        tar.arg("-xf").arg(&archive).arg("-C").arg(&home);
        complete(&mut tar, "tar -xf of mpi4py's source")?;
    }
    Ok(Python { modules, source })
}

/// Runs mpi4py's suite; whether it passed.
fn suite(
    place: &Place<'_>,
    installed: &Installed,
    python: &Python,
    ranks: usize,
) -> Result<bool, Error> {
    let mut launcher = installed.launcher(ranks);
    launcher.args(["python3", "test/main.py", "-q"]);
    for module in SUITE {
        launcher.args(["-i", module]);
    }
    launcher
        .current_dir(&python.source)
        .env("PYTHONPATH", &python.modules);
    let title = format!("mpi4py's suite, {}, {ranks} ranks", installed.peer().name);
    let job = Job {
        launcher,
        title: &title,
        patience: SUITE_PATIENCE,
    };
    let outcome = job.run(&place.library, &installed.libraries(), &place.folder);
    let mut findings = outcome.findings();
    match &outcome.report {
        Some(report) => findings.extend(report.never_taken()),
        None => findings.push("there is no report: was the library preloaded?".into()),
    }
    Ok(judge(&title, &outcome, &findings))
}
