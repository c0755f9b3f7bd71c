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
use crate::algorithm::phase::torus::grid::torus;
use crate::algorithm::{Algorithm, Claims, Requirement, any_order};
use crate::machine::{Direction, Torus};
use crate::pattern::exchange::{ring_allgather, ring_reduce_scatter};
use crate::pattern::math::{add_mod, sub_mod};
use crate::schedule::{Blocks, Builder, Shape, Side};
use alloc::vec::Vec;

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

/// A rank's place in the ring along one dimension.
struct Ring {
    size: u32,
    position: u32,
    to: u32,
    from: u32,
    /// The blocks that the ring divides, or collects again, and how many each position has.
    first: u32,
    width: u32,
}

impl Ring {
    fn of(&self, vector: Blocks, position: u32) -> Blocks {
        vector.slice(self.first + position * self.width, self.width)
    }
}

/// One part: around along `way`'s dimension, then along the ones after it, and back.
fn rings(b: &mut Builder, torus: &Torus, way: Direction, first: u32) {
    let (rank, input, output) = (b.rank(), b.input(), b.output());
    let at = torus.coordinates(rank);
    let (mut first, mut blocks) = (first, torus.ranks());
    let mut rings = Vec::new();
    for d in (0..3).map(|turn| (way.dimension + turn) % 3) {
        let n = torus.extents()[d];
        let neighbour = |up: bool| {
            let next = if up {
                add_mod(at[d], 1, n)
            } else {
                sub_mod(at[d], 1, n)
            };
            torus.moved(rank, d, next)
        };
        let ring = Ring {
            size: n,
            position: if way.up { at[d] } else { n - 1 - at[d] },
            to: neighbour(way.up),
            from: neighbour(!way.up),
            first,
            width: blocks / n,
        };
        (first, blocks) = (first + ring.position * ring.width, ring.width);
        if n > 1 {
            rings.push(ring);
        }
    }
    for (number, ring) in rings.iter().enumerate() {
        let own = if number == 0 { input } else { output };
        for step in 0..ring.size - 1 {
            let moves = ring_reduce_scatter(ring.size, ring.position, step);
            let source = if step == 0 { own } else { output };
            b.send(ring.to, ring.of(source, moves.send));
            let mine = ring.of(own, moves.receive);
            b.recv_reduce(ring.from, Side::Left, mine, ring.of(output, moves.receive));
            b.step();
        }
    }
    for ring in rings.iter().rev() {
        for step in 0..ring.size - 1 {
            let moves = ring_allgather(ring.size, ring.position, step);
            b.send(ring.to, ring.of(output, moves.send));
            b.recv(ring.from, ring.of(output, moves.receive));
            b.step();
        }
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
