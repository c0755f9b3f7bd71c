//! A machine of Cells, as its file says.

use super::{check_times, linear, picoseconds};
use allhands_core::simulate::Processor;
use allhands_core::simulate::cell::{Hardware, Level};
use anyhow::ensure;
use serde::Deserialize;

/// SPEs of a chip.
const SPES: u32 = 8;

/// The part of the file that is about chips, blades and what is above them.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CellFile {
    chips: u32,
    cycle_ns: f64,
    mfc_ns: f64,
    command_ns: f64,
    deliver_ns: f64,
    outstanding: u32,
    bif: Option<BifFile>,
    #[serde(default)]
    level: Vec<LevelFile>,
}

/// The interface between two chips.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct BifFile {
    command_ns: f64,
    latency_ns: f64,
    byte_ns: f64,
}

/// A level above the blades.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct LevelFile {
    name: String,
    /// The ranks that share a link.
    ranks: u32,
    to_helper: bool,
    latency_us: f64,
    message_us: f64,
    byte_ns: f64,
}

impl CellFile {
    /// Says what is wrong in it.
    pub fn check(&self) -> anyhow::Result<()> {
        ensure!(
            (1..=2).contains(&self.chips),
            "chips = {}: 1 or 2 on a blade",
            self.chips
        );
        ensure!(
            self.bif.is_some() == (self.chips == 2),
            "chips = {}: two have a [network.bif] between them, and one has none",
            self.chips
        );
        ensure!(self.outstanding > 0, "outstanding = 0: 1 at least");
        ensure!(
            self.cycle_ns >= 0.001,
            "cycle_ns = {}: 0.001 at least",
            self.cycle_ns
        );
        check_times(&[
            ("cycle_ns", self.cycle_ns),
            ("mfc_ns", self.mfc_ns),
            ("command_ns", self.command_ns),
            ("deliver_ns", self.deliver_ns),
        ])?;
        if let Some(bif) = &self.bif {
            check_times(&[
                ("command_ns", bif.command_ns),
                ("latency_ns", bif.latency_ns),
                ("byte_ns", bif.byte_ns),
            ])?;
        }
        let mut below = self.chips * SPES;
        for level in &self.level {
            ensure!(
                level.ranks >= below && level.ranks % below == 0,
                "level {}: ranks = {}: a multiple of {below}, as below it",
                level.name,
                level.ranks
            );
            below = level.ranks;
            check_times(&[
                ("latency_us", level.latency_us),
                ("message_us", level.message_us),
                ("byte_ns", level.byte_ns),
            ])?;
        }
        ensure!(
            self.level.last().is_none_or(|level| !level.to_helper),
            "the last level leads to no helper, but to all others: to_helper = false"
        );
        Ok(())
    }

    /// The most ranks that there is room for, if there is an end.
    #[must_use]
    pub fn most_ranks(&self) -> Option<u32> {
        self.level.is_empty().then_some(self.chips * SPES)
    }

    /// What it says, for the simulator.
    #[must_use]
    pub fn hardware(&self, processor: Processor) -> Hardware {
        let nanoseconds = |ns: f64| picoseconds(ns / 1000.0);
        let of_bif = |time: fn(&BifFile) -> f64| self.bif.as_ref().map_or(0.0, time);
        let level = |level: &LevelFile| Level {
            ranks: level.ranks,
            latency_ps: picoseconds(level.latency_us),
            gap: linear(level.message_us, level.byte_ns),
            to_helper: level.to_helper,
        };
        Hardware {
            chips: self.chips,
            cycle_ps: nanoseconds(self.cycle_ns),
            mfc_ps: nanoseconds(self.mfc_ns),
            command_ps: nanoseconds(self.command_ns),
            deliver_ps: nanoseconds(self.deliver_ns),
            outstanding: self.outstanding,
            bif_command_ps: nanoseconds(of_bif(|bif| bif.command_ns)),
            bif_latency_ps: nanoseconds(of_bif(|bif| bif.latency_ns)),
            bif: linear(0.0, of_bif(|bif| bif.byte_ns)),
            processor,
            levels: self.level.iter().map(level).collect(),
        }
    }
}
