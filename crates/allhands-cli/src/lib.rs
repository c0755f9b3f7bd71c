//! The program `allhands`: list, verify, draw, explain, simulate and measure collective communication algorithms, run programs.
//!
//! A library only so that what reads users' files can be fuzzed; it has no API for programs.

mod command;
mod interrupt;
mod names;
mod output;
mod ranks;
mod sizes;

use clap::{Parser, Subcommand};
use std::process::ExitCode;

/// Collective communication: published algorithms, proved, drawn, explained, simulated, measured and run.
///
/// An algorithm is typed as NAME or NAME:key=value,key=value; `allhands list` prints every name with its
/// keys. Numbers of ranks are typed as 8, as 2,4,8, or as a range: 1-64, 1..=64. Sizes are typed as 8, 64K,
/// 64KiB or 1MB: K, M and G are powers of 2, as are KB and KiB. --json FILE writes records to a file, --json or
/// --json - to standard output, where then nothing else goes.
#[derive(Parser)]
#[command(name = "allhands", version = env!("PROGRAM_VERSION"), max_term_width = 100)]
struct Arguments {
    #[command(subcommand)]
    command: Command,
}

/// The commands; each one's arguments say what it does.
#[derive(Subcommand)]
enum Command {
    List(command::list::Arguments),
    Verify(command::verify::Arguments),
    Draw(command::draw::Arguments),
    Explain(command::explain::Arguments),
    Simulate(command::simulate::Arguments),
    Reproduce(command::reproduce::Arguments),
    Bench(command::bench::Arguments),
    #[cfg(target_os = "linux")]
    Calibrate(command::calibrate::Arguments),
    Predict(command::predict::Arguments),
    Report(command::report::Arguments),
    Tune(command::tune::Arguments),
    #[cfg(target_os = "linux")]
    Regret(command::regret::Arguments),
    #[cfg(target_os = "linux")]
    Guidelines(command::guidelines::Arguments),
    #[cfg(target_os = "linux")]
    Run(command::run::Arguments),
    #[cfg(target_os = "linux")]
    Mpi(command::mpi::Arguments),
    Completions(command::completions::Arguments),
    Man(command::completions::ManArguments),
    #[cfg(target_os = "linux")]
    #[command(hide = true)]
    Guard(command::run::guard::Arguments),
    #[cfg(target_os = "linux")]
    #[command(hide = true)]
    Agent(command::run::hosts::agent::Arguments),
    #[cfg(target_os = "linux")]
    #[command(hide = true)]
    MpiRank(command::tune::mpi::rank::Arguments),
}

/// Runs the program, with the arguments of the process.
#[must_use]
pub fn main() -> ExitCode {
    let arguments = Arguments::parse();
    let done = match arguments.command {
        Command::List(arguments) => command::list::run(&arguments),
        Command::Verify(arguments) => command::verify::run(&arguments),
        Command::Draw(arguments) => command::draw::run(&arguments),
        Command::Explain(arguments) => command::explain::run(&arguments),
        Command::Simulate(arguments) => command::simulate::run(&arguments),
        Command::Reproduce(arguments) => command::reproduce::run(&arguments),
        Command::Bench(arguments) => command::bench::run(&arguments),
        #[cfg(target_os = "linux")]
        Command::Calibrate(arguments) => command::calibrate::run(&arguments),
        Command::Predict(arguments) => command::predict::run(&arguments),
        Command::Report(arguments) => command::report::run(&arguments),
        Command::Tune(arguments) => command::tune::run(&arguments),
        #[cfg(target_os = "linux")]
        Command::Regret(arguments) => command::regret::run(&arguments),
        #[cfg(target_os = "linux")]
        Command::Guidelines(arguments) => command::guidelines::run(&arguments),
        #[cfg(target_os = "linux")]
        Command::Run(arguments) => command::run::run(&arguments),
        #[cfg(target_os = "linux")]
        Command::Mpi(arguments) => command::mpi::run(&arguments),
        #[cfg(target_os = "linux")]
        Command::Guard(arguments) => command::run::guard::run(&arguments),
        #[cfg(target_os = "linux")]
        Command::Agent(arguments) => command::run::hosts::agent::run(&arguments),
        #[cfg(target_os = "linux")]
        Command::MpiRank(arguments) => command::tune::mpi::rank::run(&arguments),
        Command::Completions(arguments) => command::completions::run::<Arguments>(&arguments),
        Command::Man(arguments) => command::completions::man::<Arguments>(&arguments),
    };
    match done {
        Ok(code) => code,
        // A reader that has seen enough (`| head`) is no failure.
        Err(error) if output::is_broken_pipe(&error) => ExitCode::SUCCESS,
        Err(error) => {
            output::complain(&format!("{error:#}"));
            ExitCode::from(2)
        }
    }
}

/// Reads the file of a machine, as `allhands simulate --machine FILE` does, and says what is wrong with it.
///
/// # Errors
/// What is wrong, as the program says it.
pub fn check_machine(text: &str) -> Result<(), String> {
    command::simulate::check_machine(text).map_err(|error| format!("{error:#}"))
}
