//! Circulant reduce: the circulant broadcast backwards, n segments in n − 1 + ⌈lg p⌉ rounds, the least possible.
//!
//! Where a rank receives a segment in the broadcast, it sends its partial result of that segment, for the only time;
//! where it sends one it receives a partial result and combines it with its own. It has heard of a segment all that it
//! ever will when it sends it on, because in the broadcast it had it before it sent it. The order of combination follows
//! the graph, so the operator must commute.
//!
//! ```text
//! 5 ranks, root 0, skips 1 2 3, backwards      …, 3 ─▶ 0, 4 ─▶ 1      2 ─▶ 0, 3 ─▶ 1      1 ─▶ 0
//! ```
//!
//! Source: Träff: Optimal broadcast schedules in logarithmic time with applications to broadcast, all-broadcast, reduction
//! and all-reduction, 2024.

use super::BASE;
use crate::algorithm::phase::broadcast::circulant::{Direction, Phases, rounds};
use crate::algorithm::{Algorithm, Claims, Key, any_order};
use crate::pattern::circulant::{BlockMessage, BroadcastSchedule};
use crate::pattern::math::{absolute, relative};
use crate::schedule::{Builder, Shape, Side};

/// The algorithm.
pub const ALGORITHM: Algorithm = Algorithm {
    name: "circulant",
    citation: "Träff 2024",
    summary: "the circulant broadcast backwards: n segments in n - 1 + ceil(lg p) rounds",
    keys: &[Key::SEGMENTS],
    settings: &["", "segments=1", "segments=2", "segments=5", "segments=31"],
    ordered: any_order,
    parts: |shape| shape.get("segments"),
    build,
    claims,
    ..BASE
};

fn build(b: &mut Builder) {
    let (p, root, segments) = (b.ranks(), b.root(), b.parts());
    let me = relative(b.rank(), root, p);
    let schedule = BroadcastSchedule::new(p, me);
    let phases = Phases::new(p, segments);
    let (input, output) = (b.input(), b.output());
    if p == 1 {
        b.copy(input, output);
    }
    let sum = if me == 0 { output } else { b.vector() };
    // Whether a partial result of the block has come before round `round` of the reduction: whether the broadcast sends it
    // after that round. It does so within two phases or never.
    let combined = |round: u64, block: u32| {
        let end = phases.rounds().min(round + 2 * phases.period());
        (round + 1..end).any(|later| {
            let send = schedule.round(segments, later).send;
            send.is_some_and(|message| message.block == block)
        })
    };
    phases.emit(b, Direction::Backward, &mut |b, round, advance| {
        let now = schedule.round(segments, round);
        let own = |block| {
            let vector = if combined(round, block) { sum } else { input };
            vector.at(block).advancing(advance)
        };
        if let Some(BlockMessage { peer, block }) = now.receive {
            b.send(absolute(peer, root, p), own(block));
        }
        if let Some(BlockMessage { peer, block }) = now.send {
            let into = sum.at(block).advancing(advance);
            b.recv_reduce(absolute(peer, root, p), Side::Right, own(block), into);
        }
    });
}

fn claims(shape: &Shape) -> Claims {
    let steps = rounds(shape.ranks(), shape.get("segments"));
    // The root combines in every round.
    Claims {
        ports: 1,
        steps,
        volume: u64::from(steps),
        work: u64::from(steps),
    }
}
