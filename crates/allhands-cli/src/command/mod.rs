//! The commands, one file each.

pub mod bench;
#[cfg(target_os = "linux")]
pub mod calibrate;
pub mod completions;
pub mod draw;
pub mod explain;
mod figures;
#[cfg(target_os = "linux")]
pub mod guidelines;
pub mod list;
mod memory;
#[cfg(target_os = "linux")]
pub mod mpi;
#[cfg(target_os = "linux")]
mod paired;
mod plot;
pub mod predict;
#[cfg(target_os = "linux")]
pub mod regret;
pub mod report;
pub mod reproduce;
#[cfg(target_os = "linux")]
pub mod run;
pub mod simulate;
#[cfg(target_os = "linux")]
mod together;
pub mod tune;
pub mod verify;
