//! Clusters in a machine's file: what messages take inside nodes and between them, as tables over lengths.

use super::{Times, linear, picoseconds};
use allhands_core::machine::Nodes;
use allhands_core::simulate::{AloneCurves, Cluster, ClusterTimes, Curves, WindowCurves};
use anyhow::{Context, ensure};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// The levels of a cluster, and what a call takes in which nothing happens.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ClusterFile {
    /// What every call takes besides what it does.
    #[serde(default)]
    pub call_us: f64,
    /// Between ranks of a node; without it every rank is a node.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub inside: Option<LevelFile>,
    /// Between ranks of different nodes; without it all ranks are on one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub between: Option<LevelFile>,
    /// What ranks do alone, in place of [processor]'s lines.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub alone: Option<AloneFile>,
}

/// What a rank does alone, for each of some lengths.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct AloneFile {
    /// The lengths, rising.
    pub bytes: Vec<u64>,
    /// To copy so much.
    pub copy_us: Vec<f64>,
    /// γ(m): to combine two operands of that length, as a sum of `f64`.
    pub reduce_us: Vec<f64>,
    /// The same by other operators and of other types: `max f32`.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub operators: BTreeMap<String, Vec<f64>>,
}

/// What messages of a level take, for each of some lengths.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LevelFile {
    /// The lengths, rising.
    pub bytes: Vec<u64>,
    /// os(m).
    pub send_us: Vec<f64>,
    /// or(m).
    pub receive_us: Vec<f64>,
    /// L(m), without os and or.
    pub latency_us: Vec<f64>,
    /// g(m).
    pub gap_us: Vec<f64>,
    /// What saturates a train of messages to one peer, which is usually taken for g(m): g(m) of a message after another one to the same
    /// peer, if that is less.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub gap_saturated_us: Vec<f64>,
    /// For how long each message has what all of them share, at both ends.
    pub shared_us: Vec<f64>,
    /// Whether messages that come to a port at once are interleaved there, instead of taking turns.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub interleaves: bool,
    /// What two ranks take that exchange messages of these lengths, from the start to the end of both; without it as long as one way.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub exchange_us: Vec<f64>,
    /// γ(m) of what comes from another rank, besides what its coming takes, as a sum of `f64`; without it as of a rank's own operands.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub combine_us: Vec<f64>,
    /// How long it takes to wake a rank that waits, one after another.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub wake_us: f64,
    /// What is done to windows, where the ranks share memory.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub window: Option<WindowFile>,
    /// Between which values times lie; no model goes by that.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub intervals: Option<IntervalsFile>,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde asks so")]
fn is_zero(us: &f64) -> bool {
    *us == 0.0
}

/// The ends of intervals that have the times in 95 of 100 cases, by the lengths of the level.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct IntervalsFile {
    pub send_low_us: Vec<f64>,
    pub send_high_us: Vec<f64>,
    pub receive_low_us: Vec<f64>,
    pub receive_high_us: Vec<f64>,
    pub latency_low_us: Vec<f64>,
    pub latency_high_us: Vec<f64>,
    pub gap_low_us: Vec<f64>,
    pub gap_high_us: Vec<f64>,
    pub shared_low_us: Vec<f64>,
    pub shared_high_us: Vec<f64>,
}

impl IntervalsFile {
    fn check(&self, bytes: &[u64]) -> anyhow::Result<()> {
        let columns = [
            ("send", &self.send_low_us, &self.send_high_us),
            ("receive", &self.receive_low_us, &self.receive_high_us),
            ("latency", &self.latency_low_us, &self.latency_high_us),
            ("gap", &self.gap_low_us, &self.gap_high_us),
            ("shared", &self.shared_low_us, &self.shared_high_us),
        ];
        for (name, low, high) in columns {
            super::table::curve(&format!("{name}_low_us"), bytes, low)?;
            super::table::curve(&format!("{name}_high_us"), bytes, high)?;
            let mut ends = low.iter().zip(high);
            ensure!(
                ends.all(|(low, high)| low <= high),
                "{name}_low_us has a time that is more than the one in {name}_high_us"
            );
        }
        Ok(())
    }
}

/// What is done to windows.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct WindowFile {
    /// To write, by the lengths of the level.
    pub put_us: Vec<f64>,
    /// To read.
    pub get_us: Vec<f64>,
    /// To raise a flag.
    pub notify_us: f64,
    /// Until it is seen.
    pub notice_us: f64,
}

impl ClusterFile {
    /// Finds out whether it is right.
    ///
    /// # Errors
    /// What is wrong, and in which level.
    pub(super) fn check(&self, processor: &Times) -> anyhow::Result<()> {
        super::check_times(&[("call_us", self.call_us)])?;
        ensure!(
            processor.send_us.is_none() && processor.receive_us.is_none(),
            "[processor] has send_us or receive_us, which the levels of [network] say: leave them out"
        );
        ensure!(
            self.inside.is_some() || self.between.is_some(),
            "a cluster has [network.inside], [network.between], or both"
        );
        self.times(processor).map(drop)
    }

    /// Whether ranks of a node share memory.
    pub(super) fn shares_memory(&self) -> bool {
        let inside = self.inside.as_ref();
        inside.is_some_and(|level| level.window.is_some())
    }

    /// The cluster with so many ranks on these nodes.
    pub(super) fn network(
        &self,
        processor: &Times,
        (nodes, ranks): (&Nodes, u32),
    ) -> anyhow::Result<Cluster<Curves>> {
        let node_of: Vec<u32> = match (&self.inside, &self.between) {
            (None, _) => (0..ranks).collect(),
            (_, None) => vec![0; ranks as usize],
            _ => {
                let sizes = nodes.innermost(ranks).into_iter().enumerate();
                sizes
                    .flat_map(|(node, size)| vec![node as u32; size as usize])
                    .collect()
            }
        };
        Ok(Cluster::new(&node_of, self.times(processor)?))
    }

    /// Has ranks combine for nothing.
    pub(super) fn combine_for_nothing(&mut self) {
        if let Some(alone) = &mut self.alone {
            alone.reduce_us.fill(0.0);
            alone.operators.clear();
        }
        for level in [&mut self.inside, &mut self.between].into_iter().flatten() {
            level.combine_us.fill(0.0);
        }
    }

    /// What a call takes besides what it does, in picoseconds.
    pub(super) fn call_ps(&self) -> u64 {
        picoseconds(self.call_us)
    }

    fn times(&self, processor: &Times) -> anyhow::Result<ClusterTimes<Curves>> {
        let level = |name: &str, level: &Option<LevelFile>| {
            let curves = level.as_ref().map(LevelFile::curves).transpose();
            curves.with_context(|| format!("[network.{name}]"))
        };
        let (inside, between) = (
            level("inside", &self.inside)?,
            level("between", &self.between)?,
        );
        // Of what is not there no message goes.
        let other = inside.clone().or_else(|| between.clone());
        let other = other.context("a cluster has a level")?;
        let mut inside = inside.unwrap_or_else(|| other.clone());
        let alone = self.alone.as_ref().map(AloneFile::curves).transpose();
        inside.alone = alone.context("[network.alone]")?;
        Ok(ClusterTimes {
            between: between.unwrap_or(other),
            inside,
            copy: linear(0.0, processor.copy_byte_ns),
            reduce: linear(processor.reduce_us, processor.reduce_byte_ns),
            shared_ps: 0,
        })
    }
}

impl AloneFile {
    fn curves(&self) -> anyhow::Result<AloneCurves> {
        let curve = |name: &str, times: &[f64]| super::table::curve(name, &self.bytes, times);
        for (name, times) in &self.operators {
            curve(name, times).context("operators")?;
        }
        Ok(AloneCurves {
            copy: curve("copy_us", &self.copy_us)?,
            reduce: curve("reduce_us", &self.reduce_us)?,
        })
    }
}

impl LevelFile {
    fn curves(&self) -> anyhow::Result<Curves> {
        let curve = |name: &str, times: &[f64]| super::table::curve(name, &self.bytes, times);
        let window = |window: &WindowFile| {
            super::check_times(&[
                ("notify_us", window.notify_us),
                ("notice_us", window.notice_us),
            ])?;
            Ok::<_, anyhow::Error>(WindowCurves {
                put: curve("put_us", &window.put_us)?,
                get: curve("get_us", &window.get_us)?,
                notify_ps: picoseconds(window.notify_us),
                notice_ps: picoseconds(window.notice_us),
            })
        };
        super::check_times(&[("wake_us", self.wake_us)])?;
        for ((bytes, latency_us), gap_us) in
            self.bytes.iter().zip(&self.latency_us).zip(&self.gap_us)
        {
            ensure!(
                gap_us <= latency_us,
                "with {bytes} bytes gap_us is {gap_us}, more than latency_us, {latency_us}, which covers it"
            );
        }
        let exchange =
            (!self.exchange_us.is_empty()).then(|| curve("exchange_us", &self.exchange_us));
        let combine = (!self.combine_us.is_empty()).then(|| curve("combine_us", &self.combine_us));
        let gap_again = (!self.gap_saturated_us.is_empty())
            .then(|| curve("gap_saturated_us", &self.gap_saturated_us));
        if let Some(intervals) = &self.intervals {
            intervals.check(&self.bytes).context("intervals")?;
        }
        Ok(Curves {
            send: curve("send_us", &self.send_us)?,
            receive: curve("receive_us", &self.receive_us)?,
            latency: curve("latency_us", &self.latency_us)?,
            gap: curve("gap_us", &self.gap_us)?,
            gap_again: gap_again.transpose()?,
            shared: curve("shared_us", &self.shared_us)?,
            wake_ps: picoseconds(self.wake_us),
            interleaves: self.interleaves,
            exchange: exchange.transpose()?,
            combine: combine.transpose()?,
            window: self.window.as_ref().map(window).transpose()?,
            alone: None,
        })
    }
}
