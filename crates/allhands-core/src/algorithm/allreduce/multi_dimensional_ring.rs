//! Multi-dimensional ring allreduce: a ring reduce-scatter along each dimension of a torus in turn, then ring allgathers back.
//!
//! After the rings along x every rank has the sum of its line for one of X parts; the rings along y divide that part further, and so
//! on, so all messages go to neighbours. A part of the vector starts with each dimension, and where it is wrapped around in
//! each direction, so that all links have something to do all the time.
//!
//! ```text
//! 3x3 torus, one part of four      along x: 0 ─▶ 1 ─▶ 2 ─▶ 0, twice      along y: 0 ─▶ 3 ─▶ 6 ─▶ 0, twice      and back
//! ```
//!
//! Source: Sack and Gropp: Collective algorithms for multiported torus networks, 2015.

use super::BASE;
use crate::algorithm::phase::allgather::{circle::Circle, ring};
use crate::algorithm::phase::torus::grid::torus;
use crate::algorithm::{Algorithm, Claims, Requirement, any_order};
use crate::machine::{Direction, Torus};
use crate::pattern::exchange::{ring_reduce_scatter, shifted};
use crate::schedule::{Blocks, Builder, Shape, Side};
use alloc::vec;
use alloc::vec::Vec;
use core::ops::Range;

/// The algorithm.
pub const ALGORITHM: Algorithm = Algorithm {
    name: "multi-dimensional-ring",
    citation: "Sack and Gropp 2015",
    summary: "ring reduce-scatters along one dimension of the torus after the other, ring allgathers back",
    requires: &[Requirement::Torus],
    ordered: any_order,
    parts: |shape| streams(shape) * shape.ranks(),
    build,
    claims,
    ..BASE
};

fn streams(shape: &Shape) -> u32 {
    torus(shape).ways().count().max(1) as u32
}

fn build(b: &mut Builder) {
    if b.ranks() == 1 {
        b.copy(b.input(), b.output());
        return;
    }
    let (torus, p) = (torus(b.shape()), b.ranks());
    for (number, way) in torus.ways().enumerate() {
        let first = number as u32 * p;
        let stream = |b: &mut Builder| rings(b, &torus, way, first);
        if number == 0 {
            stream(b);
        } else {
            b.strand(stream);
        }
    }
}

/// One part: around along `way`'s dimension, then along the ones after it, and back.
fn rings(b: &mut Builder, torus: &Torus, way: Direction, first: u32) {
    let (rank, input, output) = (b.rank(), b.input(), b.output());
    let mut blocks = first..first + torus.ranks();
    let mut rings = Vec::new();
    for dimension in (0..3).map(|turn| (way.dimension + turn) % 3) {
        let ring = Ring::new(torus, rank, dimension, way.up, blocks);
        blocks = ring.blocks_of(ring.position);
        rings.extend((ring.size > 1).then_some(ring));
    }
    let mut own = input;
    for ring in &rings {
        ring.reduce_scatter(b, own, output);
        own = output;
    }
    for ring in rings.iter().rev() {
        ring.allgather(b, output);
    }
}

/// The ring of a rank along one dimension.
struct Ring<'a> {
    torus: &'a Torus,
    dimension: usize,
    up: bool,
    rank: u32,
    size: u32,
    position: u32,
    /// What the ring divides among its positions, or collects again.
    blocks: Range<u32>,
}

impl Ring<'_> {
    fn new(torus: &Torus, rank: u32, dimension: usize, up: bool, blocks: Range<u32>) -> Ring<'_> {
        let size = torus.extents()[dimension];
        let at = torus.coordinates(rank)[dimension];
        Ring {
            torus,
            dimension,
            up,
            rank,
            size,
            position: if up { at } else { size - 1 - at },
            blocks,
        }
    }

    fn rank_at(&self, position: u32) -> u32 {
        let at = if self.up {
            position
        } else {
            self.size - 1 - position
        };
        self.torus.moved(self.rank, self.dimension, at)
    }

    fn blocks_of(&self, position: u32) -> Range<u32> {
        let width = self.blocks.len() as u32 / self.size;
        let first = self.blocks.start + position * width;
        first..first + width
    }

    fn part(&self, vector: Blocks, positions: Range<u32>) -> Blocks {
        let first = self.blocks_of(positions.start).start;
        vector.slice(first, self.blocks_of(positions.end).start - first)
    }

    /// Starts from `own` and leaves the sum of this position's blocks in `sum`.
    fn reduce_scatter(&self, b: &mut Builder, own: Blocks, sum: Blocks) {
        let of = |vector, position| self.part(vector, position..position + 1);
        let peers = shifted(self.size, self.position, 1);
        for step in 0..self.size - 1 {
            let moves = ring_reduce_scatter(self.size, self.position, step);
            let source = if step == 0 { own } else { sum };
            b.send(self.rank_at(peers.to), of(source, moves.send));
            let (mine, into) = (of(own, moves.receive), of(sum, moves.receive));
            b.recv_reduce(self.rank_at(peers.from), Side::Left, mine, into);
            b.step();
        }
    }

    fn allgather(&self, b: &mut Builder, vector: Blocks) {
        let circle = Circle {
            size: self.size,
            position: self.position,
            rank_at: &|position| self.rank_at(position),
            blocks: &|positions| vec![self.part(vector, positions)],
            own: &[self.part(vector, self.position..self.position + 1)],
        };
        ring::allgather(b, &circle);
    }
}

fn claims(shape: &Shape) -> Claims {
    let (streams, others) = (streams(shape), shape.ranks() - 1);
    let rounds: u32 = torus(shape).extents().iter().map(|n| n - 1).sum();
    Claims {
        ports: streams,
        steps: 2 * rounds,
        volume: u64::from(2 * others * streams),
        work: u64::from(others * streams),
    }
}
