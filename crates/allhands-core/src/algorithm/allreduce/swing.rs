//! Swing allreduce: recursive halving and doubling whose partners on a torus are near, now on the one side, now on the other.
//!
//! The reduce-scatter halves what a rank has in every step, each along another dimension; the allgather goes the same way back. A
//! part of the vector starts with each dimension, and one with each mirrored, so that all links have something to do.
//!
//! ```text
//! ring of 8, unmirrored      step 0: 0 ⇄ 1  2 ⇄ 3  4 ⇄ 5  6 ⇄ 7     step 1: 0 ⇄ 7  2 ⇄ 1  4 ⇄ 3  6 ⇄ 5
//!                            step 2: 0 ⇄ 3  2 ⇄ 5  4 ⇄ 7  6 ⇄ 1
//! ```
//!
//! Source: De Sensi, Bonato, Saam, Hoefler: Swing: short-cutting rings for higher bandwidth allreduce, 2024.

use super::BASE;
use crate::algorithm::phase::torus::grid::torus;
use crate::algorithm::{Algorithm, Claims, Requirement, any_order};
use crate::pattern::swing::{Meeting, meetings};
use crate::schedule::{Blocks, Builder, Shape, Side};

/// The algorithm.
pub const ALGORITHM: Algorithm = Algorithm {
    name: "swing",
    citation: "De Sensi and others 2024",
    summary: "halving and doubling with near partners on the torus, on both sides in turn",
    requires: &[Requirement::Torus, Requirement::PowerOfTwo],
    ordered: any_order,
    parts: |shape| streams(shape) * shape.ranks(),
    build,
    claims,
    ..BASE
};

/// One for each dimension, and one mirrored.
fn streams(shape: &Shape) -> u32 {
    2 * torus(shape).dimensions().count().max(1) as u32
}

fn build(b: &mut Builder) {
    if b.ranks() == 1 {
        b.copy(b.input(), b.output());
        return;
    }
    let (torus, p) = (torus(b.shape()), b.ranks());
    let both = |d| [(d, false), (d, true)];
    for (number, (dimension, mirrored)) in torus.dimensions().flat_map(both).enumerate() {
        let first = number as u32 * p;
        let meetings = meetings(&torus, b.rank(), dimension, mirrored);
        let stream = |b: &mut Builder| halve_and_double(b, &meetings, first);
        if number == 0 {
            stream(b);
        } else {
            b.strand(stream);
        }
    }
}

/// One part, of which block 0 is `first`.
fn halve_and_double(b: &mut Builder, meetings: &[Meeting], first: u32) {
    let (input, output) = (b.input(), b.output());
    let piece = |of: Blocks, start, blocks| of.slice(first + start, blocks);
    for (number, meeting) in meetings.iter().enumerate() {
        let &Meeting {
            peer,
            mine,
            other,
            blocks,
        } = meeting;
        let own = if number == 0 { input } else { output };
        b.send(peer, piece(own, other, blocks));
        b.recv_reduce(
            peer,
            Side::Right,
            piece(own, mine, blocks),
            piece(output, mine, blocks),
        );
        b.step();
    }
    for meeting in meetings.iter().rev() {
        b.send(meeting.peer, piece(output, meeting.mine, meeting.blocks));
        b.recv(meeting.peer, piece(output, meeting.other, meeting.blocks));
        b.step();
    }
}

fn claims(shape: &Shape) -> Claims {
    let (p, streams) = (shape.ranks(), streams(shape));
    Claims {
        ports: streams,
        steps: 2 * p.ilog2(),
        volume: u64::from(2 * (p - 1) * streams),
        work: u64::from((p - 1) * streams),
    }
}
