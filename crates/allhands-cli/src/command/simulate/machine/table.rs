//! PLogP's tables in a machine's file.

use super::{MOST, Times, linear, picoseconds};
use allhands_core::simulate::{Curve, PLogP};
use anyhow::{Context, ensure};
use serde::Deserialize;

/// Overheads and gap at some sizes, and a latency.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Table {
    latency_us: f64,
    bytes: Vec<u64>,
    send_us: Vec<f64>,
    receive_us: Vec<f64>,
    gap_us: Vec<f64>,
}

impl Table {
    /// The latency in picoseconds, and everything else.
    pub(super) fn times(&self, processor: &Times) -> anyhow::Result<(u64, PLogP)> {
        super::check_times(&[("latency_us", self.latency_us)])?;
        ensure!(
            processor.send_us.is_none() && processor.receive_us.is_none(),
            "[processor] has send_us or receive_us, which the table of [network] says: leave them out"
        );
        let curves = [
            curve("send_us", &self.bytes, &self.send_us)?,
            curve("receive_us", &self.bytes, &self.receive_us)?,
            curve("gap_us", &self.bytes, &self.gap_us)?,
        ];
        let copy = linear(0.0, processor.copy_byte_ns);
        let reduce = linear(0.0, processor.reduce_byte_ns);
        let times = PLogP::new(curves, copy, reduce).context("gap_us")?;
        Ok((picoseconds(self.latency_us), times))
    }
}

/// The curve of times at some sizes, which the file calls `name`.
pub(super) fn curve(name: &str, bytes: &[u64], times: &[f64]) -> anyhow::Result<Curve> {
    ensure!(
        times.len() == bytes.len(),
        "{name} has {} times and bytes {} sizes: as many, please",
        times.len(),
        bytes.len()
    );
    for time in times {
        ensure!(
            (0.0..=MOST).contains(time),
            "{name} has {time}: times, from 0 to {MOST}"
        );
    }
    let points = bytes.iter().copied();
    let points = points.zip(times.iter().map(|time| picoseconds(*time)));
    Curve::new(points.collect()).with_context(|| name.to_string())
}
