//! Mutualcast reduce: every rank but the root combines another part of the vector, which it then sends to the root.
//!
//! Mutualcast backwards: every rank receives about as much as the root does, so a long vector takes the time of one transfer, at
//! the latency of two messages, where the network has a way from each to each. Parts are cut in segments that go to the root while
//! the next are combined. The order follows the distance of ranks, so the operator must commute.
//!
//! ```text
//! 4 ranks, root 0      1 ─▶ 2: b  1 ─▶ 3: c   2 ─▶ 3: c  2 ─▶ 1: a   3 ─▶ 1: a  3 ─▶ 2: b      then 1 ─▶ 0: a  2 ─▶ 0: b  3 ─▶ 0: c
//! ```
//!
//! Source: Li, Chou, Zhang: Mutualcast: an efficient mechanism for one-to-many content distribution, 2005, backwards.

use super::BASE;
use crate::algorithm::{Algorithm, Claims, Key, any_order};
use crate::pattern::exchange::shifted;
use crate::pattern::math::{absolute, relative};
use crate::schedule::{Builder, Shape, Side};

/// The algorithm.
pub const ALGORITHM: Algorithm = Algorithm {
    name: "mutualcast",
    citation: "Li, Chou, Zhang 2005",
    summary: "each rank but the root combines another part, which it sends to the root",
    keys: &[Key::SEGMENTS],
    settings: &["", "segments=1"],
    ordered: any_order,
    parts: |shape| shape.get("segments") * senders(shape.ranks()),
    build,
    claims,
    ..BASE
};

/// How many segments are under way: while one is combined the next one is sent. More would leave before the sums of those, for which
/// the root, to which nothing else comes, would wait.
const UNDER_WAY: u32 = 2;

/// How many ranks send; one, if the root is alone.
fn senders(p: u32) -> u32 {
    p.max(2) - 1
}

fn build(b: &mut Builder) {
    let (p, root, n) = (b.ranks(), b.root(), senders(b.ranks()));
    let (input, output) = (b.input(), b.output());
    if p == 1 {
        b.copy(input, output);
        return;
    }
    let rank_of = |sender| absolute(sender + 1, root, p);
    let further = n as i32;
    let Some(me) = relative(b.rank(), root, p).checked_sub(1) else {
        return b.repeat(b.get("segments"), 0, |b| {
            for sender in 0..n {
                let [own, sum] = [input, output].map(|v| v.at(sender).advancing(further));
                b.recv_reduce(rank_of(sender), Side::Right, own, sum);
            }
        });
    };
    let part = b.vector().at(me).advancing(further);
    b.repeat(b.get("segments"), UNDER_WAY, |b| {
        let mut sum = input.at(me).advancing(further);
        for distance in 1..n {
            let peers = shifted(n, me, distance);
            b.send(rank_of(peers.to), input.at(peers.to).advancing(further));
            b.recv_reduce(rank_of(peers.from), Side::Right, sum, part);
            sum = part;
        }
        b.send(root, sum);
    });
}

fn claims(shape: &Shape) -> Claims {
    let (others, segments) = (shape.ranks() - 1, shape.get("segments"));
    let claims = Claims {
        ports: others,
        // What comes is combined one after the other, of so many segments at a time, each a step behind the one before.
        steps: match others {
            0 | 1 => others * segments,
            _ => segments.div_ceil(UNDER_WAY) * others + (segments - 1) % UNDER_WAY,
        },
        volume: u64::from(others * segments),
        work: u64::from(others * segments),
    };
    claims.with_steps_at_most()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::call::{Call, Collective};
    use crate::schedule::{Layout, Plan};
    use crate::simulate::{Flat, Linear, Processor, simulate};
    use alloc::vec::Vec;

    /// With one segment under way the network is idle between two, and with all of them everybody's pieces leave before the sums.
    #[test]
    fn the_root_has_something_to_receive_nearly_all_the_time() {
        let (latency_us, byte_ns, bytes) = (500, 40, 256 << 10);
        let call = Call::new(Collective::Reduce, 8);
        let shape = ALGORITHM.shape(call, "segments=8").unwrap();
        let layout = Layout::regular(Collective::Reduce, bytes);
        let plan = |rank| Plan::lower(&ALGORITHM.schedule(&shape, rank), &call, &layout, 1);
        let plans: Vec<Plan> = (0..8).map(plan).collect::<Result<_, _>>().unwrap();
        let gap = Linear {
            fixed_ps: 0,
            per_byte_fs: byte_ns * 1_000_000,
        };
        let network = &mut Flat::new(8, latency_us * 1_000_000, gap, Processor::default());
        let time_us = simulate(&plans, network).unwrap().completion_ps() / 1_000_000;
        let bound_us = 2 * latency_us + bytes as u64 * byte_ns / 1000;
        assert!(time_us * 100 < bound_us * 118, "{time_us} of {bound_us}");
    }
}
