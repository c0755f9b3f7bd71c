//! Line-broadcast allreduce: on each line of a torus all send their vectors to all, and all combine them, one dimension after the other.
//!
//! Instead of passing sums on, every rank does all the work of its line itself: for the shortest vectors what counts is how often
//! software has a packet in its hands. A packet leaves a copy at every node that it passes. Long lines are cut in groups, whose ends
//! send the group's sum to the other groups. Ranks grow along the lines, so the order of the ranks is kept.
//!
//! ```text
//! line of 8, groups of 4      0 1 2 3: all to all      4 5 6 7: all to all      then 3 ─▶ 4 5 6 7 and 4 ─▶ 3 2 1 0
//! ```
//!
//! Source: B 3.2, figures 3 and 4.

use super::BASE;
use crate::algorithm::phase::torus::lines;
use crate::algorithm::phase::torus::{grid::DEPOSIT, prefix};
use crate::algorithm::{Algorithm, Claims, Key, Layer, Requirement};
use crate::pattern::line_groups::Turn;
use crate::schedule::{Blocks, Builder, Shape};
use alloc::vec::Vec;

/// The algorithm.
pub const ALGORITHM: Algorithm = Algorithm {
    name: "line-broadcast",
    citation: "B 3.2",
    summary: "on each line of the torus all send to all and combine, one dimension after the other",
    requires: &[Requirement::Torus],
    keys: &[
        Key {
            default: 4,
            ..lines::GROUP
        },
        DEPOSIT,
        prefix::PREFIX,
    ],
    settings: &[
        "",
        "group=0",
        "group=3,deposit=off",
        "group=2",
        "prefix=barrier",
    ],
    layer: Layer::Packets,
    build,
    claims,
    ..BASE
};

fn build(b: &mut Builder) {
    prefix::emit(b);
    let mut own = b.input();
    let turns = lines::turns(b.shape(), b.rank());
    let last = turns.iter().rposition(|turn| turn.sources.len() > 1);
    for (number, turn) in turns.iter().enumerate() {
        own = exchange(b, turn, own, Some(number) == last);
    }
    let output = b.output();
    b.copy(own, output);
}

/// All of a turn send to all and combine; says where the sum is: in the output after the last turn.
fn exchange(b: &mut Builder, turn: &Turn, own: Blocks, last: bool) -> Blocks {
    let rank = b.rank();
    let vectors: Vec<Blocks> = turn
        .sources
        .iter()
        .map(|from| if *from == rank { own } else { b.vector() })
        .collect();
    lines::send_to_targets(b, turn, |b, to, copied| match copied {
        true => b.send_deposited(to, own),
        false => b.send(to, own),
    });
    for (from, vector) in turn
        .sources
        .iter()
        .zip(&vectors)
        .filter(|(from, _)| **from != rank)
    {
        b.recv(*from, *vector);
    }
    b.step();
    let Some((first, rest)) = vectors.split_first() else {
        return own;
    };
    let mut sum = *first;
    let between = b.vector();
    for (number, vector) in rest.iter().enumerate() {
        let into = match last && number + 1 == rest.len() {
            true => b.output(),
            false => between,
        };
        b.reduce(sum, *vector, into);
        b.step();
        sum = into;
    }
    sum
}

fn claims(shape: &Shape) -> Claims {
    prefix::claims(shape, lines::claims(shape, true))
}
