//! `allhands completions`: a completion script for a shell.

use clap::CommandFactory;
use std::io::Write;
use std::process::ExitCode;

/// Print a completion script for a shell
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

/// Prints the script for the program `C`.
pub fn run<C: CommandFactory>(arguments: &Arguments) -> anyhow::Result<ExitCode> {
    let mut script = Vec::new();
    clap_complete::generate(arguments.shell, &mut C::command(), "allhands", &mut script);
    std::io::stdout().lock().write_all(&script)?;
    Ok(ExitCode::SUCCESS)
}
