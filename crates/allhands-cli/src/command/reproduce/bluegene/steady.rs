//! The steady state: how long an alltoall takes that is too long to be simulated, told by the rate at which it goes on.
//!
//! Every rank goes round its peers, and each gets a few packets in turn (B 3.1). The first turn, in which a message is new to
//! processors, has a rate of its own; all later ones, in which only packets count, have one. A rate is measured on a part: every
//! rank sends one turn to all its peers, or to the first of them where all would be too many. It is that of the middle third of all arrivals, in which neither the
//! start of the part nor its end has a share.

use super::super::super::simulate::soon::Soon;
use super::laboratory::{Experiment, Laboratory, Taken};
use allhands_core::call::Collective;
use allhands_core::machine::Torus;
use allhands_core::schedule::{OpKind, Plan, PlanOp};
use allhands_core::simulate::{Moment, Observer};
use core::fmt;
use std::collections::BTreeMap;

/// What a full packet carries.
pub const PAYLOAD_BYTES: u64 = 240;

/// What a peer gets in one turn (B 3.1).
pub const TURN_BYTES: u64 = 2 * PAYLOAD_BYTES;

/// The most hops of packets that are simulated for a rate. Fewer peers would not do: those that come first in the orders of ranks
/// that are next to each other are nearly the same, and so links are not loaded alike; later turns on 8x16x16 take 10.7 us with 1e7
/// hops, 9.6 with 3e7, and 7.7 with all peers.
const PART_HOPS: f64 = 5e8;

/// The algorithm.
const PERMUTED: &str = "permuted";

/// A part of an alltoall that goes on at one rate.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Part {
    pub torus: Torus,
    /// What each peer gets, a turn's at most.
    bytes: u64,
    /// Whether it is a later turn than the first.
    later: bool,
}

impl fmt::Display for Part {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let turn = if self.later {
            "later turns"
        } else {
            "first turn"
        };
        write!(f, "{}, {turn}, {} bytes", self.torus, self.bytes)
    }
}

/// How long a message takes in a part, on its way to all peers one after another, in microseconds.
pub type Rates = BTreeMap<Part, f64>;

/// The parts of an alltoall of `bytes` bytes a pair.
pub fn parts(torus: Torus, bytes: u64) -> impl Iterator<Item = Part> {
    let first = Part {
        torus,
        bytes: bytes.min(TURN_BYTES),
        later: false,
    };
    let later = Part {
        torus,
        bytes: TURN_BYTES,
        later: true,
    };
    core::iter::once(first).chain((bytes > TURN_BYTES).then_some(later))
}

/// How long an alltoall of `bytes` bytes a pair takes, in microseconds, by the rates of its parts.
pub fn told_us(rates: &Rates, torus: Torus, bytes: u64) -> f64 {
    let turns = |part: &Part| match part.later {
        false => 1.0,
        true => (full_packets(bytes) - full_packets(part.bytes)) / full_packets(part.bytes),
    };
    let each_us: f64 = parts(torus, bytes)
        .map(|part| turns(&part) * rates[&part])
        .sum();
    f64::from(torus.ranks() - 1) * each_us
}

/// Measures the rate of a part: what a message takes of it, in microseconds.
pub fn rate_us(laboratory: &Laboratory, part: Part) -> anyhow::Result<f64> {
    let experiment = Experiment {
        algorithm: match part.later {
            false => Taken::Named(PERMUTED),
            true => Taken::Settled(PERMUTED),
        },
        ..permuted(part.torus, part.bytes)
    };
    let ranks = part.torus.ranks() as usize;
    let most = (PART_HOPS / hops(part.torus, part.bytes, 1)) as usize;
    let peers = most.clamp(1, ranks - 1);
    let messages = to_first(&experiment, peers)?;
    let mut middle = Middle::of((ranks * peers) as u64);
    laboratory.run_us(
        &experiment,
        &|plan| only(plan, &messages, ranks),
        &mut middle,
    )?;
    Ok(middle.each_us() * ranks as f64)
}

/// The middle third of all arrivals.
#[derive(Clone, Copy, Debug, Default)]
struct Middle {
    arrived: u64,
    /// The arrivals at its start and at its end, and when they were.
    at: [u64; 2],
    at_ps: [Moment; 2],
}

impl Middle {
    fn of(messages: u64) -> Middle {
        Middle {
            at: [messages / 3, (2 * messages / 3).max(messages / 3 + 1)],
            ..Middle::default()
        }
    }

    /// From an arrival to the next, in microseconds.
    fn each_us(&self) -> f64 {
        let ps = self.at_ps[1].saturating_sub(self.at_ps[0]);
        ps as f64 / 1e6 / (self.at[1] - self.at[0]) as f64
    }
}

impl Observer for Middle {
    #[inline]
    fn soon<T>(what: &T, read: impl FnOnce(&T) -> usize) {
        Soon::soon(what, read);
    }

    fn arrives(&mut self, _: u32, at_ps: Moment) {
        self.arrived += 1;
        for (at, then_ps) in self.at.into_iter().zip(&mut self.at_ps) {
            if self.arrived == at {
                *then_ps = at_ps;
            }
        }
    }
}

/// The alltoall of `bytes` bytes a pair.
pub fn permuted(torus: Torus, bytes: u64) -> Experiment<'static> {
    Experiment {
        collective: Collective::Alltoall,
        algorithm: Taken::Named(PERMUTED),
        torus,
        bytes,
    }
}

/// The hops of all packets of an alltoall in which each rank sends to `peers` others, on shortest ways.
pub fn hops(torus: Torus, bytes: u64, peers: u32) -> f64 {
    let along = |dimension| {
        let n = f64::from(torus.extents()[dimension]);
        if torus.wraps(dimension) {
            n / 4.0
        } else {
            (n * n - 1.0) / (3.0 * n)
        }
    };
    let way: f64 = (0..3).map(along).sum();
    let packets = bytes.div_ceil(PAYLOAD_BYTES).max(1) as f64;
    f64::from(torus.ranks()) * f64::from(peers) * packets * way
}

/// How many full packets take as long on a link as a message's.
fn full_packets(bytes: u64) -> f64 {
    let rest = bytes % PAYLOAD_BYTES;
    let chunks = if rest == 0 {
        0
    } else {
        (rest + 16).div_ceil(32)
    };
    (bytes / PAYLOAD_BYTES) as f64 + chunks as f64 / 8.0
}

/// By receiver and sender, whether there is a message if every rank sends to so many others only, the first in its order.
fn to_first(experiment: &Experiment<'_>, peers: usize) -> anyhow::Result<Vec<bool>> {
    let ranks = experiment.torus.ranks() as usize;
    let (algorithm, shape) = experiment.algorithm_and_shape()?;
    let mut messages = vec![false; ranks * ranks];
    for from in 0..ranks {
        let schedule = algorithm.schedule(&shape, from as u32);
        let to = schedule.ops.iter().filter_map(|op| match op.kind {
            OpKind::Send { to, .. } => Some(to as usize),
            _ => None,
        });
        to.take(peers)
            .for_each(|to| messages[to * ranks + from] = true);
    }
    Ok(messages)
}

/// The plan of an alltoall that posts everything at once, with those messages only.
fn only(plan: Plan, messages: &[bool], ranks: usize) -> Plan {
    let mut plan = plan;
    let rank = plan.rank as usize;
    let stays = |op: &&PlanOp| match op.kind {
        OpKind::Send { to, .. } => messages[to as usize * ranks + rank],
        OpKind::Recv { from, .. } => messages[rank * ranks + from as usize],
        _ => false,
    };
    plan.ops = plan.ops.iter().filter(stays).copied().collect();
    for item in &mut plan.items {
        (item.start, item.end) = (0, plan.ops.len() as u32);
    }
    plan
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::command::simulate::machine::Machine;

    #[test]
    fn parts_tell_the_whole() {
        let machine = Machine::find("bluegene-l").expect("it is right");
        let laboratory = Laboratory::of(machine);
        let torus = "8x8x8:torus".parse().expect("it is a torus");
        // The first turn alone, and with a later one, whose middle is faster than its end.
        for (bytes, most) in [(64, 0.03), (2 * TURN_BYTES, 0.05)] {
            let rate = |part| (part, rate_us(&laboratory, part).expect("it ends"));
            let rates = parts(torus, bytes).map(rate).collect();
            let told = told_us(&rates, torus, bytes);
            let whole = laboratory
                .time_us(&permuted(torus, bytes))
                .expect("it ends");
            let off = (told / whole - 1.0).abs();
            assert!(off < most, "{bytes}: {told} {whole}");
        }
    }

    #[test]
    fn packets_and_hops_are_counted() {
        assert!((full_packets(256) - 1.125).abs() < 1e-9);
        let torus = "4x4x4:torus".parse().expect("it is a torus");
        assert!((hops(torus, 240, 63) - 64.0 * 63.0 * 3.0).abs() < 1e-9);
        assert_eq!(parts(torus, TURN_BYTES).count(), 1);
        assert_eq!(parts(torus, TURN_BYTES + 1).count(), 2);
    }

    #[test]
    fn the_middle_is_neither_start_nor_end() {
        let mut middle = Middle::of(9);
        for at_ps in [
            1, 2, 3, 5_000_003, 5_000_003, 12_000_003, 90_000_000, 91_000_000, 0,
        ] {
            middle.arrives(0, at_ps);
        }
        // From the third to the sixth.
        assert!((middle.each_us() - 4.0).abs() < 1e-9);
    }
}
