//! `allhands mpi`: what has to do with the drop-in, the library that is preloaded into MPI programs.

pub mod doctor;
mod examine;
mod image;
mod proof;
mod search;

use clap::Subcommand;
use std::process::ExitCode;

/// Tell whether MPI programs can be served by liballhands_mpi.so, and prove that it is active
#[derive(clap::Args)]
pub struct Arguments {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    Doctor(doctor::Arguments),
}

/// Runs the command.
pub fn run(arguments: &Arguments) -> anyhow::Result<ExitCode> {
    match &arguments.command {
        Command::Doctor(arguments) => doctor::run(arguments),
    }
}
