//! The evaluation of models and choices on this machine: parts that are run once each, and a table of what they come to.

use crate::error::{Error, at};
use crate::run;
use clap::Parser;
use drive::Driver;
use parts::Part;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::Instant;
use verdict::Verdict;
use xtask::processes;

mod drive;
mod parts;
mod report;
mod steps;
mod verdict;

/// What is built first.
const PROGRAM: [&str; 4] = ["--package", "allhands-cli", "--bin", "allhands"];

/// How far predictions are off and what choices lose on this machine and the lab's hosts (lab/README.md), in at most three hours
///
/// Each part runs the program `allhands` as users do: calibrate, bench and predict; tune, regret and guidelines; tune --mpi; simulate
/// and reproduce. What it writes stays in a folder, a file for each step. What is there is not run again, so after Ctrl-C the same
/// command goes on. At the end, and with --show alone, a table says of each part what was asked, what was measured, and whether it
/// HOLDS or is MISSED; it is in models.md and models.json, too. Tables that are tuned stay in the folder: the user's own are not touched.
///
/// Needs Linux and a quiet machine; parts on hosts need root, /dev/net/tun, iproute2 and a C compiler, those of MPIs python3 with pip.
///
/// Exit status 1 when a part failed or a mark is missed, 2 when the arguments are wrong, 130 after Ctrl-C.
#[derive(Clone, Debug, Parser)]
#[command(
    name = "cargo xtask models",
    bin_name = "cargo xtask models",
    max_term_width = 100
)]
struct Arguments {
    /// Only these parts, or groups of parts, as --list has them: errors, choices-lab-8
    #[arg(long, value_name = "NAME", value_delimiter = ',', value_parser = name)]
    only: Vec<String>,

    /// List the parts, and about how many seconds each takes
    #[arg(long)]
    list: bool,

    /// Run nothing, and print the table of what is there
    #[arg(long)]
    show: bool,

    /// A tenth of the time for each step, to see that everything runs; its verdicts say little
    #[arg(long)]
    quick: bool,

    /// Where everything is kept [default: target/models, with --quick target/models-quick]
    #[arg(long, value_name = "FOLDER")]
    into: Option<PathBuf>,
}

/// A name of a part or a group.
fn name(text: &str) -> Result<String, String> {
    let is_known = parts::all().iter().any(|part| part.is_meant(text));
    is_known.then(|| text.to_owned()).ok_or_else(|| {
        let all: Vec<String> = parts::all().into_iter().map(|part| part.name).collect();
        format!("there is no part of this name; right: {}", all.join(", "))
    })
}

/// Runs `cargo xtask models` with these words behind it.
pub(crate) fn command(root: &Path, words: &[String]) -> ExitCode {
    let words = std::iter::once("cargo xtask models").chain(words.iter().map(String::as_str));
    let arguments = match Arguments::try_parse_from(words) {
        Ok(arguments) => arguments,
        Err(mistake) => {
            // Nobody is left to be told that it could not be printed.
            let _ = mistake.print();
            return ExitCode::from(mistake.exit_code() as u8);
        }
    };
    processes::note_interrupts();
    processes::adopt_orphans();
    match evaluate(root, &arguments) {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(Error::Interrupted) => ExitCode::from(130),
        Err(error) => {
            eprintln!("cargo xtask models: {error}");
            ExitCode::FAILURE
        }
    }
}

/// Runs what is not there yet; whether every part ran and every mark is reached.
fn evaluate(root: &Path, arguments: &Arguments) -> Result<bool, Error> {
    let only = &arguments.only;
    let mut parts = parts::all();
    parts.retain(|part| only.is_empty() || only.iter().any(|name| part.is_meant(name)));
    if arguments.list {
        list(&parts);
        return Ok(true);
    }
    let target = std::env::var("CARGO_TARGET_DIR")
        .map_or_else(|_| root.join("target"), |dir| root.join(dir));
    let into = match (&arguments.into, arguments.quick) {
        (Some(folder), _) => root.join(folder),
        (None, true) => target.join("models-quick"),
        (None, false) => target.join("models"),
    };
    fs::create_dir_all(&into).map_err(at(&into))?;
    keep_apart(&into, arguments.quick)?;
    let mut failed = Vec::new();
    if !arguments.show {
        run::build(root, &target, &PROGRAM)?;
        let program = target.join("release/allhands");
        for part in &parts {
            let driver = Driver {
                root,
                program: &program,
                folder: into.join(&part.name),
                is_quick: arguments.quick,
            };
            if let Some(error) = of_part(&driver, part)? {
                eprintln!("cargo xtask models: {}: {error}", part.name);
                failed.push((part.name.clone(), error));
            }
        }
    }
    let rows = report::rows(&into, &parts, &failed);
    report::print(&rows);
    report::write(&into, &rows, arguments.quick)?;
    println!("\nthe table is in {}", into.join("models.md").display());
    let is_missed = |verdict| matches!(verdict, Verdict::Missed | Verdict::Absent);
    Ok(failed.is_empty() && !rows.iter().any(|row| is_missed(row.verdict)))
}

/// Runs a part; an error that leaves the others as they are.
fn of_part(driver: &Driver<'_>, part: &Part) -> Result<Option<Error>, Error> {
    let begin = Instant::now();
    println!("{}", part.name);
    match steps::run(driver, part.kind) {
        Ok(()) => {
            println!("    {:.0} s", begin.elapsed().as_secs_f64());
            Ok(None)
        }
        Err(Error::Interrupted) => Err(Error::Interrupted),
        // What Ctrl-C ended beside us failed for that.
        Err(_) if processes::interrupted() => Err(Error::Interrupted),
        Err(error) => Ok(Some(error)),
    }
}

fn list(parts: &[Part]) {
    for part in parts {
        println!("{:<22}{:>6} s", part.name, part.seconds());
    }
    let sum: u32 = parts.iter().map(Part::seconds).sum();
    println!("{:<22}{sum:>6} s: {} minutes", "all", sum.div_ceil(60));
}

/// Keeps quick measurements and whole ones from standing in one folder.
fn keep_apart(into: &Path, is_quick: bool) -> Result<(), Error> {
    let path = into.join("times");
    let name = |is_quick| if is_quick { "quick" } else { "whole" };
    match fs::read_to_string(&path) {
        Ok(text) if text.trim() == name(is_quick) => Ok(()),
        Ok(text) => Err(Error::Models(format!(
            "{} has parts of {} times, these would be {}; right: another --into",
            into.display(),
            text.trim(),
            name(is_quick)
        ))),
        Err(_) => fs::write(&path, name(is_quick)).map_err(at(&path)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_part_that_is_not_known_is_told_of_those_that_are() {
        let wrong = ["cargo xtask models", "--only", "regrets"];
        let said = Arguments::try_parse_from(wrong).expect_err("there is none");
        assert!(said.to_string().contains("choices-shm-2"), "{said}");
        let right = ["cargo xtask models", "--only", "choices-lab,reproduce"];
        let arguments = Arguments::try_parse_from(right).expect("both are there");
        assert_eq!(arguments.only, ["choices-lab", "reproduce"]);
    }

    #[test]
    fn quick_parts_do_not_stand_beside_whole_ones() {
        let name = format!("allhands-models-apart-{}", std::process::id());
        let into = std::env::temp_dir().join(name);
        fs::create_dir_all(&into).expect("there is room");
        keep_apart(&into, true).expect("it is empty");
        keep_apart(&into, true).expect("it goes on");
        let error = keep_apart(&into, false).expect_err("they are quick");
        assert!(error.to_string().contains("--into"), "{error}");
        fs::remove_dir_all(&into).expect("it is ours");
    }
}
