//! Times in a machine's file: what processors take, and how numbers become picoseconds.

use allhands_core::simulate::Linear;
use anyhow::ensure;
use serde::Deserialize;

/// The most that a time may be, in the unit of its name: an hour, in microseconds.
pub(super) const MOST: f64 = 3.6e9;

/// What processors take, as a file says it.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Times {
    pub(super) send_us: Option<f64>,
    pub(super) receive_us: Option<f64>,
    pub(super) copy_byte_ns: f64,
    #[serde(default)]
    pub(super) reduce_us: f64,
    pub(super) reduce_byte_ns: f64,
}

impl Times {
    pub(super) fn check(&self) -> anyhow::Result<()> {
        check_times(&[
            ("send_us", self.send_us.unwrap_or(0.0)),
            ("receive_us", self.receive_us.unwrap_or(0.0)),
            ("copy_byte_ns", self.copy_byte_ns),
            ("reduce_us", self.reduce_us),
            ("reduce_byte_ns", self.reduce_byte_ns),
        ])
    }
}

pub(super) fn check_times(times: &[(&str, f64)]) -> anyhow::Result<()> {
    for (name, value) in times {
        ensure!(
            (0.0..=MOST).contains(value),
            "{name} = {value}: a time, from 0 to {MOST}"
        );
    }
    Ok(())
}

pub(super) fn picoseconds(us: f64) -> u64 {
    (us * 1e6).round() as u64
}

pub(super) fn linear(fixed_us: f64, byte_ns: f64) -> Linear {
    Linear {
        fixed_ps: picoseconds(fixed_us),
        per_byte_fs: picoseconds(byte_ns),
    }
}
