//! The comparison: Allhands beside other libraries, in turns that one conductor gives.
//!
//! All groups of ranks are started at once and share a file in memory, the board. One runs, the others sleep, so that
//! a round has every group measured within a second of the others, and no start or finish of a call uses what is
//! measured.

#![cfg(target_os = "linux")]

use arguments::Arguments;
use error::Error;
use std::path::Path;
use std::process::ExitCode;
use xtask::processes;

pub mod arguments;
pub mod before;
pub mod board;
pub mod cell;
mod error;
pub mod group;
mod lab;
mod line;
mod machine;
mod quiet;
pub mod record;
mod report;
mod run;
mod simgrid;
pub mod statistics;

/// Runs `cargo xtask compare` with these words behind it.
pub fn command(root: &Path, words: &[&str]) -> ExitCode {
    if words.iter().any(|word| ["--help", "-h"].contains(word)) {
        print!("{}", arguments::HELP);
        return ExitCode::SUCCESS;
    }
    if words.contains(&"--simgrid") {
        return with_simgrid(root, words);
    }
    if let ["--lab", rest @ ..] = words {
        return in_lab(root, rest);
    }
    let arguments = match Arguments::parse(words) {
        Ok(arguments) => arguments,
        Err(mistake) => {
            eprintln!("cargo xtask compare: {mistake}");
            return ExitCode::from(2);
        }
    };
    processes::note_interrupts();
    processes::adopt_orphans();
    match run::compare(root, &arguments) {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(Error::Interrupted) => ExitCode::from(130),
        Err(error) => {
            eprintln!("cargo xtask compare: {error}");
            ExitCode::FAILURE
        }
    }
}

/// Runs `cargo xtask compare --simgrid`, which takes nothing else.
fn with_simgrid(root: &Path, words: &[&str]) -> ExitCode {
    if words.len() > 1 {
        eprintln!("cargo xtask compare: --simgrid stands alone");
        return ExitCode::from(2);
    }
    match simgrid::compare(root) {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(error) => {
            eprintln!("cargo xtask compare: {error}");
            ExitCode::FAILURE
        }
    }
}

/// Runs `cargo xtask compare --lab` with these words behind it.
fn in_lab(root: &Path, words: &[&str]) -> ExitCode {
    let asked = match lab::Asked::parse(words) {
        Ok(asked) => asked,
        Err(mistake) => {
            eprintln!("cargo xtask compare: {mistake}");
            return ExitCode::from(2);
        }
    };
    match lab::compare(root, &asked) {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(error) => {
            eprintln!("cargo xtask compare: {error}");
            ExitCode::FAILURE
        }
    }
}
