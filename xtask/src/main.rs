//! The command line of `cargo xtask`: reads one subcommand and runs it.

use std::process::{Command, ExitCode};

use xtask::steps::Skips;
use xtask::{applications, fuzz, instructions, python, repository_root, steps, tidy};

const HELP: &str = "\
cargo xtask COMMAND

  test [--no-skip]   install what the tests need (as root on Debian), then run every test;
                     with --no-skip, or with CI=true in the environment, a skip is a failure
  tidy               check the repository's own rules
  applications       run those examples that are applications, on threads, among processes and on hosts (Linux)
  instructions       count the interpreter's own instructions (needs valgrind)
  fuzz [--seconds N] [TARGET...]
                     fuzz what reads users' files or TCP, each target for N seconds (20)
  compare [...]      Allhands beside MPICH, Open MPI and Intel MPI (Linux); --help says how
  compare --dropin   each of those with the drop-in preloaded, beside itself
  compare --simgrid  the simulator beside SimGrid's SMPI
  lab [...]          Allhands on hosts without an MPI beside MPICH and Open MPI, on emulated hosts (Linux, root); --help says how
  models [...]       how far predictions are off, and what choices lose, here and on those hosts (Linux); --help says how
  mpi-test [...]     the drop-in under MPICH, Open MPI, Intel MPI and the standard ABI (Linux); --help says how
  wheel              build the Python package's wheel, below target/wheels
  python-test [...]  build it, install it and run its tests, with --all those of PyTorch and JAX, too; --help says how
  help               print this
";

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = arguments.iter().map(String::as_str).collect();
    match words.as_slice() {
        ["test"] => steps::run(&repository_root(), Skips::from_environment()),
        ["test", "--no-skip"] => steps::run(&repository_root(), Skips::Fail),
        ["tidy"] => tidy_command(),
        ["applications"] => applications::run(&repository_root()),
        ["instructions"] => instructions::run(&repository_root()),
        ["fuzz", words @ ..] => fuzz::run(&repository_root(), words),
        ["compare", words @ ..] => compare(&[], words),
        ["lab", words @ ..] => compare(&["lab"], words),
        ["models", words @ ..] => compare(&["models"], words),
        ["mpi-test", words @ ..] => mpi_test(words),
        ["wheel", words @ ..] => python::wheel_command(&repository_root(), words),
        ["python-test", words @ ..] => python::test_command(&repository_root(), words),
        [] | ["help" | "--help" | "-h"] => {
            print!("{HELP}");
            ExitCode::SUCCESS
        }
        unknown => {
            eprintln!(
                "cargo xtask: there is no command `{}`. What there is:\n\n{HELP}",
                unknown.join(" ")
            );
            ExitCode::from(2)
        }
    }
}

/// Runs the crate that compares, as released: so it is built once, with what it measures.
fn compare(first: &[&str], words: &[&str]) -> ExitCode {
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let run = [
        "run",
        "--release",
        "--locked",
        "--quiet",
        "--package",
        "allhands-compare",
        "--",
    ];
    let mut command = Command::new(cargo);
    command.args(run).args(first).args(words);
    command.current_dir(repository_root());
    match command.status() {
        Ok(status) => status
            .code()
            .map_or(ExitCode::FAILURE, |code| ExitCode::from(code as u8)),
        Err(error) => {
            eprintln!("cargo xtask: cargo did not start: {error}");
            ExitCode::FAILURE
        }
    }
}

#[cfg(target_os = "linux")]
fn mpi_test(words: &[&str]) -> ExitCode {
    xtask::mpi_test::command(&repository_root(), words)
}

#[cfg(not(target_os = "linux"))]
fn mpi_test(_: &[&str]) -> ExitCode {
    eprintln!("cargo xtask mpi-test: needs Linux, where the library is preloaded");
    ExitCode::FAILURE
}

fn tidy_command() -> ExitCode {
    let tree = match tidy::Tree::read(&repository_root()) {
        Ok(tree) => tree,
        Err(error) => {
            eprintln!("cargo xtask tidy: {error}");
            return ExitCode::FAILURE;
        }
    };
    let findings = tidy::findings(&tree);
    for finding in &findings {
        println!("{finding}\n");
    }
    if findings.is_empty() {
        println!("tidy: {} files keep the rules", tree.len());
        ExitCode::SUCCESS
    } else {
        println!("tidy: {} to mend", findings.len());
        ExitCode::FAILURE
    }
}
