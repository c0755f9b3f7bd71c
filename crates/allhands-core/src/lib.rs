//! Collective communication algorithms as schedules: pure data, built, proved, priced and drawn without a computer.
#![no_std]
#![forbid(unsafe_code)]

extern crate alloc;

#[cfg(test)]
extern crate std;

pub mod algorithm;
pub mod call;
pub mod choose;
pub mod cost;
pub mod draw;
pub mod elements;
pub mod machine;
pub mod parameters;
pub mod pattern;
pub mod progress;
pub mod schedule;
pub mod simulate;
pub mod symbolic;
pub mod verify;
