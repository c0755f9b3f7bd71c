//! What the applications share: their arguments, the ranks that they run on, and the meter of their calls.

mod arguments;
mod meter;
mod trace;

pub use arguments::{Arguments, within};
pub use meter::Meter;

use std::process::ExitCode;

/// The kind of what is no collective: messages between two ranks.
pub const MESSAGES: &str = "messages";

/// Why an application ends without its answer.
pub type Failure = Box<dyn std::error::Error + Send + Sync>;

/// What is an error, with these words, unless it holds.
pub fn ensure(holds: bool, otherwise: impl FnOnce() -> String) -> Result<(), Failure> {
    match holds {
        true => Ok(()),
        false => Err(otherwise().into()),
    }
}

/// Runs an application; what stops it is said in one line, not as a panic.
pub fn start(name: &str, application: impl FnOnce() -> Result<(), Failure>) -> ExitCode {
    match application() {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => {
            eprintln!("{name}: {failure}");
            ExitCode::FAILURE
        }
    }
}

/// The block of so many things that is a rank's, where all are spread as evenly as can be.
pub fn share(things: usize, rank: usize, ranks: usize) -> std::ops::Range<usize> {
    things * rank / ranks..things * (rank + 1) / ranks
}
