//! Bruck's allgather: in step k rank i gets from rank i + r^k all that it has, so what a rank has multiplies.
//!
//! A rank's blocks, its own on top, are those of the ranks from its own on; the last step takes only what is missing, which several
//! ports share. ⌈log_r p⌉ steps with radix r = k + 1 on k ports, for any p. The paper gathers at the top of a buffer and shifts it at the end; here a
//! block is received at its final place, so there is nothing to shift.
//!
//! ```text
//! 6 ranks      i ◀─ i+1: 1 block      i ◀─ i+2: 2 blocks      i ◀─ i+4: 2 blocks      shift by i
//! 5 ranks, 2 ports      i ◀─ i+1, i+2: 1 block each      i ◀─ i+3, i+4: 1 block each      shift by i
//! ```
//!
//! Source: T 4.1.2, figure 2; Q 5.1.2, figure 5.

use super::BASE;
use crate::algorithm::phase::allgather::bruck;
use crate::algorithm::{Algorithm, Claims, Key};
use crate::schedule::{Builder, Shape};

/// The algorithm.
pub const ALGORITHM: Algorithm = Algorithm {
    name: "bruck",
    citation: "T 4.1.2; Q 5.1.2",
    summary: "each rank gets what the rank 2^k ahead has, ⌈lg p⌉ steps for any p",
    keys: &[Key::PORTS, Key::RADIX],
    settings: &[
        "",
        "ports=2",
        "ports=3",
        "ports=4",
        "radix=4",
        "ports=2,radix=5",
    ],
    build,
    claims,
    ..BASE
};

fn build(b: &mut Builder) {
    let (p, rank) = (b.ranks(), b.rank());
    let (input, output) = (b.input(), b.output());
    b.copy(input, output.at(rank));
    b.step();
    view(b, 1);
    let held = |behind: u32, count: u32| output.wrapped((rank + behind) % p, count);
    bruck::gather(b, held, view);
    b.view(|| (0..p).map(|row| Some(output.at(row))).collect());
}

fn claims(shape: &Shape) -> Claims {
    Claims {
        ports: shape.ports(),
        steps: bruck::rounds(shape),
        volume: u64::from(shape.ranks() - 1),
        work: 0,
    }
}

/// The paper's buffer: the own block on top, then those of the ranks that follow.
fn view(b: &mut Builder, filled: u32) {
    let (p, rank, output) = (b.ranks(), b.rank(), b.output());
    b.view(|| {
        (0..p)
            .map(|row| (row < filled).then(|| output.at((rank + row) % p)))
            .collect()
    });
}
