//! `allhands mpi`: what has to do with the drop-in, the library that is preloaded into MPI programs.

pub mod doctor;
mod examine;
mod image;
mod proof;
pub mod run;
mod search;

use clap::Subcommand;
use std::process::ExitCode;

/// Tell whether MPI programs can be served by liballhands_mpi.so, prove that it is active, and run them with it
#[derive(clap::Args)]
pub struct Arguments {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    Doctor(doctor::Arguments),
    Run(run::Arguments),
}

/// Runs the command.
pub fn run(arguments: &Arguments) -> anyhow::Result<ExitCode> {
    match &arguments.command {
        Command::Doctor(arguments) => doctor::run(arguments),
        Command::Run(arguments) => run::run(arguments),
    }
}
