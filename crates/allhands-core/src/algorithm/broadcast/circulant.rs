//! Circulant broadcast: n segments over a circulant graph in n − 1 + ⌈lg p⌉ rounds, the least possible.
//!
//! In round k of a phase of q = ⌈lg p⌉ rounds every rank r sends to r + s_k and receives from r − s_k, with the skips s_k of the
//! graph. Which segment goes where repeats phase by phase, q segments later each time, so the phases between the first two
//! and the last are one repeat. Segments numbered below 0 are not sent, those beyond the last are the last.
//!
//! ```text
//! 5 ranks, root 0, skips 1 2 3      round 0: 0 ─▶ 1      round 1: 0 ─▶ 2, 1 ─▶ 3      round 2: 0 ─▶ 3, 1 ─▶ 4, …
//! ```
//!
//! Source: Träff: Optimal broadcast schedules in logarithmic time with applications to broadcast, all-broadcast, reduction
//! and all-reduction, 2024.

use super::BASE;
use crate::algorithm::phase::broadcast::circulant::{Direction, Phases, rounds};
use crate::algorithm::{Algorithm, Claims, Key};
use crate::pattern::circulant::{BlockMessage, BroadcastSchedule};
use crate::pattern::math::{absolute, relative};
use crate::schedule::{Builder, Shape};

/// The algorithm.
pub const ALGORITHM: Algorithm = Algorithm {
    name: "circulant",
    citation: "Träff 2024",
    summary: "n segments over a circulant graph in n - 1 + ceil(lg p) rounds",
    keys: &[Key::SEGMENTS],
    settings: &["", "segments=1", "segments=2", "segments=5", "segments=31"],
    parts: |shape| shape.get("segments"),
    build,
    claims,
    ..BASE
};

fn build(b: &mut Builder) {
    let (p, root, segments) = (b.ranks(), b.root(), b.parts());
    let me = relative(b.rank(), root, p);
    let schedule = BroadcastSchedule::new(p, me);
    let (input, output) = (b.input(), b.output());
    let source = if me == 0 { input } else { output };
    if me == 0 {
        b.copy(input, output);
    }
    let phases = Phases::new(p, segments);
    phases.emit(b, Direction::Forward, &mut |b, round, advance| {
        let now = schedule.round(segments, round);
        if let Some(BlockMessage { peer, block }) = now.send {
            b.send(absolute(peer, root, p), source.at(block).advancing(advance));
        }
        if let Some(BlockMessage { peer, block }) = now.receive {
            b.recv(absolute(peer, root, p), output.at(block).advancing(advance));
        }
    });
}

fn claims(shape: &Shape) -> Claims {
    let steps = rounds(shape.ranks(), shape.get("segments"));
    // The root sends in every round.
    Claims {
        ports: 1,
        steps,
        volume: u64::from(steps),
        work: 0,
    }
}
