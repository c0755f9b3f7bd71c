//! `allhands mpi doctor`: whether a program and its MPI fit the drop-in, and proof that it is active.

use super::examine::{self, Finding, Findings, LIBRARY, Weight};
use super::image::Image;
use super::proof::{self, Proof};
use super::search::Search;
use allhands::launch::Segment;
use anyhow::{Context, bail};
use std::io::Write;
use std::os::fd::AsRawFd;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

/// Tell whether a program and its MPI fit the drop-in, and prove that it is active
///
/// A program alone is looked at, not started: how it is linked, which MPI the dynamic linker would load for it, which ABI that MPI
/// has, and what else stands between. A launcher with a program, behind `--`, is started with the library preloaded; the report
/// that the library then writes on rank 0 is the proof that it is active. It fails where something stands in the way.
///
/// Examples:
///   allhands mpi doctor ./program
///   allhands mpi doctor -- mpiexec -n 2 ./program
#[derive(clap::Args)]
#[command(verbatim_doc_comment)]
pub struct Arguments {
    /// The program that is looked at; otherwise the first one in the launcher's line
    program: Option<PathBuf>,
    /// The drop-in; otherwise liballhands_mpi.so beside this program, or in ../lib
    #[arg(long, value_name = "FILE")]
    library: Option<PathBuf>,
    /// The launcher, its arguments, the program and its arguments
    #[arg(last = true, value_name = "LAUNCHER")]
    launch: Vec<String>,
}

/// Looks, runs if there is something to run, and says what was found.
pub fn run(arguments: &Arguments) -> anyhow::Result<ExitCode> {
    let program = match &arguments.program {
        Some(program) => Some(on_path(program).with_context(|| {
            format!("there is no program {}, here or on PATH", program.display())
        })?),
        None => launched(&arguments.launch),
    };
    if program.is_none() && arguments.launch.is_empty() {
        bail!(
            "name a program, or a launcher behind `--`: allhands mpi doctor -- mpiexec -n 2 ./program"
        );
    }
    let mut findings = Findings::default();
    let library = library(arguments.library.as_deref(), &mut findings);
    memory(&mut findings);
    environment(&mut findings);
    match &program {
        Some(program) => examine::program(program, &Search::from_environment(), &mut findings)?,
        None => findings.doubt(
            "program",
            "no word of the launcher's line is a program that can be looked at",
        ),
    }
    let mut out = std::io::stdout().lock();
    print(&mut out, &findings.list)?;
    let mut is_proved = false;
    if let (Some(library), false) = (library, arguments.launch.is_empty()) {
        writeln!(
            out,
            "{:<12}starting {}",
            "proof",
            arguments.launch.join(" ")
        )?;
        out.flush()?;
        let mut found = Findings::default();
        is_proved = prove(&proof::run(&arguments.launch, &library)?, &mut found);
        print(&mut out, &found.list)?;
        // What a run has shown decides, whatever the files look like.
        match is_proved {
            true => findings.list = found.list,
            false => findings.list.extend(found.list),
        }
    }
    let (verdict, code) = match findings.worst() {
        Weight::Note if is_proved => ("it works, as the run has proved", ExitCode::SUCCESS),
        Weight::Note => ("nothing stands in the way", ExitCode::SUCCESS),
        Weight::Doubt if is_proved => (
            "the library is active; see what is marked ? of the run",
            ExitCode::SUCCESS,
        ),
        Weight::Doubt => ("it may work; see what is marked ?", ExitCode::SUCCESS),
        Weight::Obstacle if findings.is_none => (
            "it is no MPI program, so there is nothing to serve",
            ExitCode::FAILURE,
        ),
        Weight::Obstacle => ("it does not work; see what is marked !", ExitCode::FAILURE),
    };
    writeln!(out, "{:<12}{verdict}", "verdict")?;
    Ok(code)
}

fn print(out: &mut impl Write, findings: &[Finding]) -> std::io::Result<()> {
    for finding in findings {
        let mark = match finding.weight {
            Weight::Note => ' ',
            Weight::Doubt => '?',
            Weight::Obstacle => '!',
        };
        writeln!(out, "{:<10}{mark} {}", finding.about, finding.text)?;
    }
    Ok(())
}

/// The program of a name, here or on `PATH`.
fn on_path(name: &Path) -> Option<PathBuf> {
    if name.components().count() > 1 || name.is_file() {
        return name.is_file().then(|| name.to_path_buf());
    }
    let path = std::env::var_os("PATH")?;
    let mut files = std::env::split_paths(&path).map(|folder| folder.join(name));
    files.find(|file| file.is_file())
}

/// The program that a launcher's line starts: the first that has to do with an MPI, or else the first.
fn launched(words: &[String]) -> Option<PathBuf> {
    let mut programs = words.iter().skip(1).filter_map(|word| started(word));
    let first = programs.next()?;
    let search = Search::from_environment();
    let is_mpi = |file: &PathBuf| {
        let image = Image::read(file).ok();
        image.is_some_and(|image| image.has_mpi_inside() || search.load(image).has_mpi())
    };
    let found = std::iter::once(first.clone()).chain(programs).find(is_mpi);
    Some(found.unwrap_or(first))
}

/// The program that a word of a launcher's line names, if it is one for this machine.
fn started(word: &str) -> Option<PathBuf> {
    if word.starts_with('-') {
        return None;
    }
    let file = on_path(Path::new(word))?;
    Image::read(&file)
        .is_ok_and(|image| image.interpreter.is_some() || !image.is_dynamic)
        .then_some(file)
}

/// The library that is to be preloaded.
pub(super) fn library(named: Option<&Path>, findings: &mut Findings) -> Option<PathBuf> {
    let beside = std::env::current_exe().ok();
    let folder = beside.as_deref().and_then(Path::parent);
    let mut places: Vec<PathBuf> = Vec::new();
    match named {
        Some(file) => places.push(file.to_path_buf()),
        None => places.extend(
            folder
                .into_iter()
                .flat_map(|folder| [folder.join(LIBRARY), folder.join("../lib").join(LIBRARY)]),
        ),
    }
    let Some(file) = places
        .iter()
        .find_map(|place| std::fs::canonicalize(place).ok())
    else {
        findings.obstacle(
            "library",
            format!(
                "{LIBRARY} is not at {}: `cargo build --release --package allhands-mpi` makes it, --library FILE says where it is",
                places.iter().map(|place| place.display().to_string()).collect::<Vec<_>>().join(" or ")
            ),
        );
        return None;
    };
    match Image::read(&file) {
        Ok(image) if image.exports("MPI_Allreduce") => {
            findings.note("library", file.display().to_string());
            Some(file)
        }
        Ok(_) => {
            findings.obstacle(
                "library",
                format!("{} does not take MPI calls over", file.display()),
            );
            None
        }
        Err(error) => {
            findings.obstacle("library", error.to_string());
            None
        }
    }
}

/// Whether ranks here can share memory, as the library has them do it.
fn memory(findings: &mut Findings) {
    let shared = Segment::create().and_then(|segment| {
        let inode = segment.inode()?;
        Segment::of_process(std::process::id(), segment.fd().as_raw_fd(), inode)
    });
    match shared {
        Ok(_) => findings.note("memory", "ranks of this machine can share it"),
        Err(error) => findings.obstacle(
            "memory",
            format!(
                "ranks of this machine cannot share it, and all calls would pass through: {error}"
            ),
        ),
    }
}

/// What the environment says to the library.
fn environment(findings: &mut Findings) {
    let mut said: Vec<(String, String)> = std::env::vars()
        .filter(|(name, _)| name.starts_with("ALLHANDS_") && name != "ALLHANDS_REPORT")
        .collect();
    said.sort();
    for (name, value) in said {
        let is_off =
            name == "ALLHANDS_MPI" && ["off", "0", "no", "false", "native"].contains(&value.trim());
        if is_off {
            findings.obstacle(
                "environment",
                format!("{name}={value}: all calls pass through"),
            );
        } else {
            findings.note("environment", format!("{name}={value}"));
        }
    }
}

/// What a run showed; whether it is proof that calls are taken over.
fn prove(proof: &Proof, findings: &mut Findings) -> bool {
    if !proof.status.success() {
        findings.doubt("proof", format!("the launcher ended with {}", proof.status));
    }
    let Some(report) = &proof.report else {
        findings.obstacle(
            "proof",
            "rank 0 wrote no report: the library was not loaded there, or the program did not reach MPI_Finalize. A launcher may \
             have to be told to hand the environment on: Open MPI's -x LD_PRELOAD, srun's --export=ALL",
        );
        return false;
    };
    let text = format!("active under {}: {report}", report.mpi);
    match (report.taken, report.passed) {
        (0, 0) => findings.doubt("proof", "active, but rank 0 made no collective call"),
        (0, _) => findings.doubt("proof", text),
        _ => findings.note("proof", text),
    }
    if report.ended != "MPI_Finalize" {
        findings.doubt("proof", format!("rank 0 ended by {}", report.ended));
    }
    report.taken > 0
}
