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
use crate::algorithm::phase::torus::torus;
use crate::algorithm::{Algorithm, Claims, Requirement, any_order};
use crate::machine::Torus;
use crate::pattern::swing::{half, partner};
use crate::schedule::{Builder, Shape, Side};
use alloc::vec::Vec;

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
        let stream = |b: &mut Builder| halve_and_double(b, &torus, (dimension, mirrored), first);
        if number == 0 {
            stream(b);
        } else {
            b.strand(stream);
        }
    }
}

/// The dimension of each step and the number of the step in it: in turn from the first, as long as one has steps left.
fn steps(torus: &Torus, first: usize) -> Vec<(usize, u32)> {
    let left = torus.extents().map(u32::ilog2);
    let longest = left.into_iter().max().unwrap_or(0);
    let in_turn = |step| (0..3).map(move |turn| ((first + turn) % 3, step));
    let all = (0..longest).flat_map(in_turn);
    all.filter(|(d, step)| *step < left[*d]).collect()
}

/// One part, of which block 0 is `first`.
fn halve_and_double(
    b: &mut Builder,
    torus: &Torus,
    (first_dimension, mirrored): (usize, bool),
    first: u32,
) {
    let (rank, input, output) = (b.rank(), b.input(), b.output());
    let at = torus.coordinates(rank);
    let (mut start, mut blocks) = (first, torus.ranks());
    let mut meetings = Vec::new();
    for (d, step) in steps(torus, first_dimension) {
        let n = torus.extents()[d];
        let peer = torus.moved(rank, d, partner(n, at[d], step, mirrored));
        blocks /= 2;
        let mine = half(n, at[d], step, mirrored);
        let other = start + (1 - mine) * blocks;
        start += mine * blocks;
        meetings.push((peer, start, other, blocks));
    }
    for (number, &(peer, mine, other, blocks)) in meetings.iter().enumerate() {
        let own = if number == 0 { input } else { output };
        b.send(peer, own.slice(other, blocks));
        b.recv_reduce(
            peer,
            Side::Right,
            own.slice(mine, blocks),
            output.slice(mine, blocks),
        );
        b.step();
    }
    for &(peer, mine, other, blocks) in meetings.iter().rev() {
        b.send(peer, output.slice(mine, blocks));
        b.recv(peer, output.slice(other, blocks));
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
