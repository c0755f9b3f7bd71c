//! The commands, one file each.

pub mod bench;
#[cfg(target_os = "linux")]
pub mod calibrate;
pub mod completions;
pub mod draw;
pub mod explain;
mod figures;
pub mod list;
mod memory;
#[cfg(target_os = "linux")]
pub mod mpi;
mod plot;
pub mod predict;
pub mod report;
pub mod reproduce;
#[cfg(target_os = "linux")]
pub mod run;
pub mod simulate;
pub mod tune;
pub mod verify;
