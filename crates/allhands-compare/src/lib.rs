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
mod models;
mod quiet;
pub mod record;
mod report;
mod run;
mod simgrid;
pub mod statistics;
pub mod trace;

/// Runs `cargo xtask lab` with these words behind it.
pub fn lab_command(root: &Path, words: &[String]) -> ExitCode {
    lab::clusters::command(root, words)
}

/// Runs `cargo xtask models` with these words behind it.
pub fn models_command(root: &Path, words: &[String]) -> ExitCode {
    models::command(root, words)
}

/// Runs `cargo xtask compare` with these words behind it.
pub fn command(root: &Path, words: &[String]) -> ExitCode {
    let arguments = match Arguments::read(words) {
        Ok(arguments) => arguments,
        Err(mistake) => {
            // Nobody is left to be told that it could not be printed.
            let _ = mistake.print();
            return ExitCode::from(mistake.exit_code() as u8);
        }
    };
    let done = if arguments.simgrid {
        simgrid::compare(root)
    } else if arguments.lab {
        lab::dropin::compare(root, &arguments)
    } else {
        processes::note_interrupts();
        processes::adopt_orphans();
        run::compare(root, &arguments)
    };
    match done {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(Error::Interrupted) => ExitCode::from(130),
        Err(error) => {
            eprintln!("cargo xtask compare: {error}");
            ExitCode::FAILURE
        }
    }
}
