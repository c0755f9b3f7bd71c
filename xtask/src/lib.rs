//! What a developer of Allhands runs: every check behind one command, and the repository's own rules.

use std::path::{Path, PathBuf};

#[cfg(target_os = "linux")]
pub mod compare;
pub mod instructions;
#[cfg(target_os = "linux")]
pub mod mpi_test;
pub mod needs;
pub mod steps;
pub mod tidy;

/// The repository's root: the folder that holds the workspace's `Cargo.toml`.
#[must_use]
pub fn repository_root() -> PathBuf {
    // As `cargo xtask` says it; where this was built only tells when it is started otherwise.
    let own_folder = std::env::var_os("CARGO_MANIFEST_DIR").map(PathBuf::from);
    let own_folder = own_folder.unwrap_or_else(|| Path::new(env!("CARGO_MANIFEST_DIR")).into());
    own_folder.parent().unwrap_or(&own_folder).to_path_buf()
}
