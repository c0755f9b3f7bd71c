//! What a developer of Allhands runs: every check behind one command, and the repository's own rules.

use std::path::{Path, PathBuf};

#[cfg(target_os = "linux")]
pub mod compare;
pub mod instructions;
pub mod needs;
pub mod steps;
pub mod tidy;

/// The repository's root: the folder that holds the workspace's `Cargo.toml`.
#[must_use]
pub fn repository_root() -> PathBuf {
    let own_folder = Path::new(env!("CARGO_MANIFEST_DIR"));
    own_folder.parent().unwrap_or(own_folder).to_path_buf()
}
