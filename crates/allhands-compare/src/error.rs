//! Why there is no comparison.

use crate::group::Failure;
use std::path::{Path, PathBuf};
use xtask::peers::Missing;

/// Why there is no comparison.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    #[error(transparent)]
    Missing(#[from] Missing),
    #[error("our worker does not build: {0}")]
    Build(String),
    #[error("{path}: {error}")]
    File {
        path: PathBuf,
        error: std::io::Error,
    },
    #[error("{group} did not start: {failure}")]
    Start { group: String, failure: Failure },
    #[error("{0}")]
    SimGrid(String),
    #[error(
        "with {peer} and {ranks} ranks the preloaded library took no call over, so there is nothing to compare"
    )]
    Inactive { peer: &'static str, ranks: usize },
    #[error("IMB-MPI1 under {peer}: {why}")]
    Imb { peer: &'static str, why: String },
    #[error("a call that passes through, under {peer}: {why}")]
    Passing { peer: &'static str, why: String },
    #[error("{0}")]
    Models(String),
    #[error("the lab: {0}")]
    Lab(String),
    #[error("--before {path}: {why}")]
    Before { path: PathBuf, why: String },
    #[error("interrupted")]
    Interrupted,
}

/// A failure of the system at this path.
pub(crate) fn at(path: &Path) -> impl Fn(std::io::Error) -> Error {
    let path = path.to_owned();
    move |error| Error::File {
        path: path.clone(),
        error,
    }
}
