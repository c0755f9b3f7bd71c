//! What a developer of Allhands runs: every check behind one command, and the repository's own rules.

use std::path::{Path, PathBuf};

pub mod applications;
pub mod fuzz;
pub mod instructions;
#[cfg(target_os = "linux")]
pub mod mpi_test;
pub mod needs;
#[cfg(target_os = "linux")]
pub mod peers;
#[cfg(target_os = "linux")]
pub mod processes;
pub mod python;
pub mod steps;
pub mod tidy;

/// The repository's root: the folder that holds the workspace's `Cargo.lock`.
#[must_use]
pub fn repository_root() -> PathBuf {
    // As `cargo xtask` says it; where this was built only tells when it is started otherwise.
    let own_folder = std::env::var_os("CARGO_MANIFEST_DIR").map(PathBuf::from);
    let own_folder = own_folder.unwrap_or_else(|| Path::new(env!("CARGO_MANIFEST_DIR")).into());
    let mut folders = own_folder.ancestors();
    let root = folders.find(|folder| folder.join("Cargo.lock").is_file());
    root.unwrap_or(&own_folder).to_path_buf()
}
