//! The program `allhands`, whose commands are in the library beside it.

use std::process::ExitCode;

fn main() -> ExitCode {
    allhands_cli::main()
}
