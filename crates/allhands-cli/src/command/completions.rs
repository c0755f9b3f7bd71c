//! `allhands completions` and `allhands man`: what shells and readers of manuals are told of the program, names of algorithms with it.

use allhands_core::algorithm;
use allhands_core::call::Collective;
use allhands_core::choose::Policy;
use anyhow::Context;
use clap::builder::PossibleValuesParser;
use clap::{Arg, Command, CommandFactory};
use std::collections::BTreeSet;
use std::io::Write;
use std::path::PathBuf;
use std::process::ExitCode;

/// Print a completion script for a shell
///
/// It knows the names of collectives, algorithms and policies, too.
///
/// Examples:
///   allhands completions bash > ~/.local/share/bash-completion/completions/allhands
///   allhands completions zsh > ~/.zfunc/_allhands
#[derive(clap::Args)]
#[command(verbatim_doc_comment)]
pub struct Arguments {
    /// The shell
    shell: clap_complete::Shell,
}

/// Write man pages, one for each command
///
/// Example:
///   allhands man ~/.local/share/man/man1 && man allhands-verify
#[derive(clap::Args)]
#[command(verbatim_doc_comment)]
pub struct ManArguments {
    /// The folder, which is made if it is not there
    folder: PathBuf,
}

/// Prints the script for the program `C`.
pub fn run<C: CommandFactory>(arguments: &Arguments) -> anyhow::Result<ExitCode> {
    let mut script = Vec::new();
    clap_complete::generate(
        arguments.shell,
        &mut command::<C>(),
        "allhands",
        &mut script,
    );
    std::io::stdout().lock().write_all(&script)?;
    Ok(ExitCode::SUCCESS)
}

/// Writes the man pages of the program `C`.
pub fn man<C: CommandFactory>(arguments: &ManArguments) -> anyhow::Result<ExitCode> {
    let folder = arguments.folder.display();
    std::fs::create_dir_all(&arguments.folder).with_context(|| format!("{folder}"))?;
    let pages = clap_mangen::generate_to(command::<C>(), &arguments.folder);
    pages.with_context(|| format!("{folder}"))?;
    println!("man pages are in {folder}");
    Ok(ExitCode::SUCCESS)
}

/// The program's commands, whose arguments list the names that may be typed. To parse by these lists would say less of a wrong
/// name, and forbid parameters.
fn command<C: CommandFactory>() -> Command {
    let mut command = C::command();
    // What stands for itself, such as version and help, is made here.
    command.build();
    command.mut_subcommands(|sub| sub.mut_args(with_names))
}

fn with_names(argument: Arg) -> Arg {
    let names: BTreeSet<&str> = match argument.get_id().as_str() {
        "algorithm" => algorithm::all().map(|algorithm| algorithm.name).collect(),
        "collective" | "collectives" => Collective::ALL.iter().map(|c| c.name()).collect(),
        "policy" => Policy::NAMES.into_iter().collect(),
        _ => return argument,
    };
    argument.value_parser(PossibleValuesParser::new(names))
}
