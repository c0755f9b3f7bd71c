//! Ring allgather: blocks go once round, from each position to the next.

use crate::algorithm::phase::allgather::circle::Circle;
use crate::pattern::exchange::{ring_allgather, shifted};
use crate::schedule::Builder;

/// Ring: each position passes on to the next what came last; size − 1 steps of one block (T 4.1).
pub fn allgather(b: &mut Builder, circle: &Circle<'_>) {
    let (n, me) = (circle.size, circle.position);
    let peers = shifted(n, me, 1);
    for step in 0..n - 1 {
        let moves = ring_allgather(n, me, step);
        b.send(
            (circle.rank_at)(peers.to),
            circle.source(moves.send..moves.send + 1),
        );
        b.recv(
            (circle.rank_at)(peers.from),
            (circle.blocks)(moves.receive..moves.receive + 1),
        );
        b.step();
    }
}
