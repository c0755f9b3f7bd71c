//! A machine of nodes with several rails, as its file says.

use super::{check_times, linear, picoseconds};
use allhands_core::machine::Fabrics;
use allhands_core::simulate::{Linear, Processor, RailTimes};
use anyhow::ensure;
use serde::Deserialize;

/// Nodes whose ranks share memory, and a network interface for each rail.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RailsFile {
    rails: u32,
    stripe_from_bytes: u64,
    latency_us: f64,
    message_us: f64,
    byte_ns: f64,
    flag_us: f64,
    copy_us: f64,
    cached_byte_ns: f64,
    uncached_byte_ns: f64,
    cache_bytes: u64,
    /// Whether interfaces hand messages on by themselves.
    #[serde(default)]
    chained: bool,
    /// Messages of this length and more are announced and fetched; none, if it is not said.
    #[serde(default = "never")]
    fetched_from_bytes: u64,
    /// Whether all ranks can meet in the network.
    #[serde(default)]
    hardware_barrier: bool,
}

/// A length that no message has.
const fn never() -> u64 {
    u64::MAX
}

impl RailsFile {
    /// Whether all numbers can be.
    ///
    /// # Errors
    /// The first one that cannot.
    pub fn check(&self) -> anyhow::Result<()> {
        ensure!(
            (1..=64).contains(&self.rails),
            "rails = {}: a node has from 1 to 64",
            self.rails
        );
        check_times(&[
            ("latency_us", self.latency_us),
            ("message_us", self.message_us),
            ("byte_ns", self.byte_ns),
            ("flag_us", self.flag_us),
            ("copy_us", self.copy_us),
            ("cached_byte_ns", self.cached_byte_ns),
            ("uncached_byte_ns", self.uncached_byte_ns),
        ])
    }

    /// Has one rail a node.
    pub fn use_one_rail(&mut self) {
        self.rails = 1;
    }

    /// Has interfaces hand messages on by themselves.
    pub fn chain(&mut self) {
        self.chained = true;
    }

    /// Has messages announced and fetched.
    pub fn announce(&mut self) {
        self.fetched_from_bytes = 0;
    }

    /// The hardware in which all ranks meet.
    pub fn fabrics(&self) -> Fabrics {
        Fabrics {
            tree: false,
            interrupt: self.hardware_barrier,
        }
    }

    /// What everything takes, with these processors.
    pub fn times(&self, processor: Processor) -> RailTimes {
        RailTimes {
            rails: self.rails,
            stripe_from_bytes: self.stripe_from_bytes,
            post_ps: processor.send.fixed_ps,
            latency_ps: picoseconds(self.latency_us),
            bus: linear(self.message_us, self.byte_ns),
            take_ps: processor.receive.fixed_ps,
            flag_ps: picoseconds(self.flag_us),
            copy: Linear {
                fixed_ps: picoseconds(self.copy_us),
                ..processor.copy
            },
            cached_byte_fs: picoseconds(self.cached_byte_ns),
            uncached_byte_fs: picoseconds(self.uncached_byte_ns),
            cache_bytes: self.cache_bytes,
            reduce: processor.reduce,
            chained: self.chained,
            fetched_from_bytes: self.fetched_from_bytes,
            hardware_barrier: self.hardware_barrier,
        }
    }
}
