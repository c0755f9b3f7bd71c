//! The formulas of Qian and Afsahi 2008, section 5.1: N ranks, k ports, lm bytes a rank; and those that follow from them for section 5.2.

use super::{Case, lg};
use crate::cost::Hockney;
use crate::pattern::math::{ceil_log, power};

/// (count of messages) ts + (count of blocks) lm τ.
fn time(c: &Case<'_>, messages: f64, blocks: f64) -> f64 {
    let block_bytes = c.bytes / f64::from(c.ranks);
    messages * c.machine.alpha_us + blocks * block_bytes * c.machine.beta_us_per_byte
}

/// ⌈log_{k+1} N⌉.
fn digits(c: &Case<'_>) -> u32 {
    ceil_log(c.ports + 1, c.ranks)
}

/// (N − 1)/k.
fn share(c: &Case<'_>) -> f64 {
    f64::from(c.ranks - 1) / f64::from(c.ports)
}

/// log_{k+1} N.
fn log(c: &Case<'_>) -> f64 {
    lg(c.ranks) / lg(c.ports + 1)
}

/// Q 5.1.1, before (1): ts⌈log_{k+1} N⌉ + lm τ Σ_{i=1}^{⌈log_{k+1} N⌉} (k+1)^(⌈log_{k+1} N⌉−i).
#[must_use]
pub fn tree_gather_sum(c: &Case<'_>) -> f64 {
    let digits = digits(c);
    let blocks: f64 = (1..=digits)
        .map(|i| power(c.ports + 1, digits - i) as f64)
        .sum();
    time(c, f64::from(digits), blocks)
}

/// Q 5.1.1 (1): ts⌈log_{k+1} N⌉ + (N−1)/k lm τ.
#[must_use]
pub fn equation_1(c: &Case<'_>) -> f64 {
    time(c, f64::from(digits(c)), share(c))
}

/// Q 5.1.1 (2): ⌈(N−1)/k⌉ (ts + lm τ).
#[must_use]
pub fn equation_2(c: &Case<'_>) -> f64 {
    let steps = f64::from((c.ranks - 1).div_ceil(c.ports));
    time(c, steps, steps)
}

/// Q 5.1.2 (3), N = (k+1)^n: ts log_{k+1} N + (N−1)/k lm τ.
#[must_use]
pub fn equation_3(c: &Case<'_>) -> f64 {
    time(c, log(c), share(c))
}

/// Q 5.1.2 (4), N ≠ (k+1)^n: ts (k+1)⌈log_{k+1} N⌉ + (N−1)/k lm τ.
#[must_use]
pub fn equation_4(c: &Case<'_>) -> f64 {
    let steps = f64::from(c.ports + 1) * f64::from(digits(c));
    time(c, steps, share(c))
}

/// Q 5.1.3 (5): ts⌈log_{k+1} N⌉ + N/(k+1) log_{k+1} N lm τ.
#[must_use]
pub fn equation_5(c: &Case<'_>) -> f64 {
    let blocks = f64::from(c.ranks) / f64::from(c.ports + 1) * log(c);
    time(c, f64::from(digits(c)), blocks)
}

/// A call of Q 5.2's algorithms: n nodes of c ranks each, k ports a node, lm bytes a rank.
///
/// Q prints no formula for them, as it does not model what shared memory takes (Q 3.2). Their phases between nodes are those of 5.1 among
/// the Masters, with c lm bytes each: what is here is that, with windows and copies free. A walk of the same algorithms by messages, in a
/// model whose level inside nodes is free, takes exactly as long where 5.1's are exact.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SmpCase<'a> {
    /// n.
    pub nodes: u32,
    /// c.
    pub ranks_each: u32,
    /// lm.
    pub block_bytes: f64,
    /// k.
    pub ports: u32,
    /// ts, τ: between nodes.
    pub machine: &'a Hockney,
}

impl<'a> SmpCase<'a> {
    /// N lm: all that is gathered.
    fn total_bytes(&self) -> f64 {
        f64::from(self.nodes) * f64::from(self.ranks_each) * self.block_bytes
    }

    /// The same among the Masters, whose blocks are of a node each.
    fn among_masters(&self) -> Case<'a> {
        Case {
            ranks: self.nodes,
            bytes: self.total_bytes(),
            ports: self.ports,
            machine: self.machine,
        }
    }

    /// A broadcast of all that was gathered by the network's hardware: one message.
    fn hardware_broadcast_us(&self) -> f64 {
        self.machine.alpha_us + self.total_bytes() * self.machine.beta_us_per_byte
    }
}

/// Q 5.2.1, phases 1 and 2, direct: ⌈(n−1)/k⌉ (ts + c lm τ).
#[must_use]
pub fn smp_direct_gather(c: &SmpCase<'_>) -> f64 {
    equation_2(&c.among_masters())
}

/// Q 5.2.1, phases 1 and 2, tree-based: ts⌈log_{k+1} n⌉ + (n−1)/k c lm τ.
#[must_use]
pub fn smp_tree_gather(c: &SmpCase<'_>) -> f64 {
    equation_1(&c.among_masters())
}

/// Q 5.2.1, SMP-aware gather and broadcast, direct: [`smp_direct_gather`], then ts + N lm τ for the hardware's broadcast. A walk of the algorithm has a
/// message to each rank for that instead, as its models know no such hardware.
#[must_use]
pub fn smp_gather_broadcast(c: &SmpCase<'_>) -> f64 {
    smp_direct_gather(c) + c.hardware_broadcast_us()
}

/// Q 5.2.2, SMP-aware direct: ⌈(n−1)/k⌉ (ts + c lm τ).
#[must_use]
pub fn smp_direct(c: &SmpCase<'_>) -> f64 {
    equation_2(&c.among_masters())
}

/// Q 5.2.2, SMP-aware Bruck: ts⌈log_{k+1} n⌉ + (n−1)/k c lm τ. Where n is no power of k + 1 and k is more than 1, the last step's messages are of
/// different lengths, and a walk takes longer, as for Bruck's among ranks.
#[must_use]
pub fn smp_bruck(c: &SmpCase<'_>) -> f64 {
    equation_1(&c.among_masters())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::algorithm;
    use crate::call::{Call, Collective};
    use crate::cost::logp::{Level, Levels, Window};
    use crate::cost::plogp::Measured;
    use crate::cost::{Sizes, walk};
    use crate::machine::Nodes;
    use crate::pattern::math::is_power_of;
    use alloc::format;
    use alloc::vec;

    const MACHINE: Hockney = Hockney::new(3.0, 0.001, 0.0);

    /// Nodes inside which all is free, and between which messages take what they take in Hockney's model.
    fn levels(c: &SmpCase<'_>) -> Levels {
        let far = 1_000_000;
        let far_us = MACHINE.alpha_us + far as f64 * MACHINE.beta_us_per_byte;
        let takes = Measured::new(vec![(0, MACHINE.alpha_us), (far, far_us)]);
        Levels {
            node_of: (0..c.nodes * c.ranks_each)
                .map(|rank| rank / c.ranks_each)
                .collect(),
            inside: Level {
                window: Some(Window::default()),
                ..Level::default()
            },
            between: Level {
                latency: takes.clone(),
                gap: takes,
                ..Level::default()
            },
            copy: Measured::default(),
            reduce: Measured::default(),
        }
    }

    fn walked_us(c: &SmpCase<'_>, collective: Collective, (name, parameters): (&str, &str)) -> f64 {
        let ranks = c.nodes * c.ranks_each;
        let call = Call::new(collective, ranks);
        let algorithm = algorithm::find(collective, name).unwrap();
        let shape = algorithm.shape(call, parameters).unwrap();
        let shape = shape.on(Nodes::even(c.nodes, c.ranks_each));
        let sizes = Sizes::Ideal {
            bytes: c.total_bytes(),
        };
        let world = algorithm.world(&shape);
        let walked = walk(&call, &world, sizes, &levels(c), c.ports);
        walked
            .unwrap_or_else(|e| panic!("{name} {c:?}: {e}"))
            .last()
            .time_us
    }

    #[test]
    fn smp_aware_algorithms_take_what_their_masters_do() {
        let close = |a: f64, b: f64| (a - b).abs() < 1e-9 * a.max(b);
        let mut different = 0;
        for nodes in 2..=10 {
            for (ranks_each, ports) in [(1, 1), (2, 1), (4, 1), (2, 2), (4, 2), (3, 3)] {
                for block_bytes in [8.0, 4096.0] {
                    let c = &SmpCase {
                        nodes,
                        ranks_each,
                        block_bytes,
                        ports,
                        machine: &MACHINE,
                    };
                    let allgather = |name: &str| {
                        let parameters = format!("ports={ports},between=messages");
                        walked_us(c, Collective::Allgather, (name, &parameters))
                    };
                    let gather = |parameters: &str| {
                        walked_us(c, Collective::Gather, ("smp-gather", parameters))
                    };
                    let direct = allgather("smp-direct");
                    assert!(close(direct, smp_direct(c)), "{c:?}: {direct}");
                    let at_once = gather("inter=direct");
                    assert!(close(at_once, smp_direct_gather(c)), "{c:?}: {at_once}");
                    let bruck = allgather("smp-bruck");
                    let tree = gather(&format!("inter=binomial,ports={ports}"));
                    for (walked, formula) in [(bruck, smp_bruck(c)), (tree, smp_tree_gather(c))] {
                        if is_power_of(ports + 1, nodes) || ports == 1 {
                            assert!(close(walked, formula), "{c:?}: {walked} {formula}");
                        } else {
                            different += u32::from(!close(walked, formula));
                            assert!(walked > formula * (1.0 - 1e-9), "{c:?}: {walked} {formula}");
                        }
                    }
                    let broadcast = smp_gather_broadcast(c) - smp_direct_gather(c);
                    let all = c.total_bytes() * MACHINE.beta_us_per_byte;
                    assert!(close(broadcast, MACHINE.alpha_us + all));
                }
            }
        }
        assert!(different > 0, "the last step's messages differ in length");
    }
}
