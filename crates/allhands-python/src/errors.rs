//! Errors: what Python catches, with the rank that is to blame and what the library says.

use crate::job::NoSuchOperator;
use allhands::{Error, TransportError};
use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use std::time::Duration;

/// Why a call was not made, or failed.
pub(crate) enum Failure {
    Library(Error),
    Operator(NoSuchOperator),
    /// By a function of the program's that combines.
    Raised(PyErr),
}

impl From<Error> for Failure {
    fn from(error: Error) -> Failure {
        Failure::Library(error)
    }
}

impl From<NoSuchOperator> for Failure {
    fn from(error: NoSuchOperator) -> Failure {
        Failure::Operator(error)
    }
}

/// The exception, of the classes of `allhands._errors`.
#[cold]
pub(crate) fn raise(py: Python<'_>, failure: Failure) -> PyErr {
    let error = match failure {
        Failure::Library(error) => error,
        Failure::Raised(error) => return error,
        Failure::Operator(NoSuchOperator(operator, element)) => {
            return PyTypeError::new_err(format!("{operator} does not combine {element}"));
        }
    };
    let (class, rank) = class_of(&error);
    // What Python makes of the signal itself, which would come in the way of what follows.
    let interrupt = match class {
        "Interrupted" => py.check_signals().err(),
        _ => None,
    };
    let says = match class {
        "Timeout" => format!("{error}, as the timeout of its calls was up"),
        _ => error.to_string(),
    };
    let rank = rank.map(|rank| rank as usize);
    let made = made(py, class, (says, rank, error.communicator_usable()));
    if interrupt.is_some() {
        made.set_cause(py, interrupt);
    }
    made
}

/// That a message has not ended within its time.
#[cold]
pub(crate) fn late(py: Python<'_>, what: &str, peer: Option<usize>, waited: Duration) -> PyErr {
    let seconds = waited.as_secs_f64();
    let says = format!("{what} had not ended after its timeout of {seconds:.1} s, and is given up");
    made(py, "Timeout", (says, peer, true))
}

/// That a message was given up as its communicator was aborted.
#[cold]
pub(crate) fn aborted(py: Python<'_>, what: &str, peer: Option<usize>) -> PyErr {
    let says = format!("{what} is given up, as the communicator was aborted");
    made(py, "Interrupted", (says, peer, false))
}

/// An exception of a class of `allhands._errors`, of what it says, the rank, and whether the communicator can still be used.
fn made(py: Python<'_>, class: &str, arguments: (String, Option<usize>, bool)) -> PyErr {
    let module = py.import("allhands._errors");
    let made = module.and_then(|module| module.getattr(class)?.call1(arguments));
    made.map_or_else(|error| error, PyErr::from_value)
}

/// That ranks did not come together.
#[cold]
pub(crate) fn launch(py: Python<'_>, says: String) -> PyErr {
    let module = py.import("allhands._errors");
    let made = module.and_then(|module| module.getattr("LaunchError")?.call1((says,)));
    made.map_or_else(|error| error, PyErr::from_value)
}

/// The name of the class, and the rank that is to blame.
fn class_of(error: &Error) -> (&'static str, Option<u32>) {
    match error {
        Error::Transport(error) => class_of_transport(error),
        Error::CountsDiffer { from, .. } => ("Mismatch", Some(*from as u32)),
        Error::Launch(_) => ("LaunchError", None),
        error if error.communicator_usable() => ("ArgumentError", None),
        _ => ("Error", None),
    }
}

fn class_of_transport(error: &TransportError) -> (&'static str, Option<u32>) {
    match error {
        TransportError::Mismatch { other: rank, .. }
        | TransportError::Length { other: rank, .. }
        | TransportError::TooLong { other: rank, .. }
        | TransportError::WindowDiffers { rank, .. } => ("Mismatch", Some(*rank)),
        TransportError::RankPanicked { rank }
        | TransportError::RankLeft { rank }
        | TransportError::RankDied { rank, .. }
        | TransportError::CallDropped { rank }
        | TransportError::Network {
            lost: Some(rank), ..
        } => ("RankLost", Some(*rank)),
        TransportError::GaveUp {
            interrupted, waits, ..
        } => {
            let class = if *interrupted {
                "Interrupted"
            } else {
                "Timeout"
            };
            (class, waits.missing.first().copied())
        }
        // Who was interrupted elsewhere is lost to this rank.
        TransportError::Poisoned { rank, error } => match class_of_transport(error) {
            ("Interrupted", _) => ("RankLost", Some(*rank)),
            found => found,
        },
        TransportError::CallRefused { rank, .. } => ("Error", Some(*rank)),
        _ => ("Error", None),
    }
}
