//! SMP-aware direct allgather: each node gathers in its leader's window, every leader writes that into every other leader's
//! window, and all copy out.
//!
//! ⌈(n − 1)/k⌉ steps among n nodes, on k ports. While the first is under way each rank copies out what its own node has
//! gathered.
//! With `between=messages` leaders send from window to window, with `overlap=all` ranks also copy out what one step has brought
//! while the next is under way: both are ours.
//!
//! ```text
//! 3 nodes of 2      1 ─▶ 0, 3 ─▶ 2, 5 ─▶ 4      0 ─▶ 4, 2   2 ─▶ 0, 4   4 ─▶ 2, 0: 2 blocks each (2 ports)      all: copy out
//! ```
//!
//! Source: Q 5.2.2, figure 8.

use super::BASE;
use crate::algorithm::phase::allgather::smp::{self, BETWEEN, OVERLAP, Passage, Steps};
use crate::algorithm::{Algorithm, Claims, Key, Requirement};
use crate::pattern::exchange::{direct_distances, direct_rounds};
use crate::schedule::{Builder, Shape};

/// The algorithm.
pub const ALGORITHM: Algorithm = Algorithm {
    name: "smp-direct",
    citation: "Q 5.2.2",
    summary: "gather in node windows, each leader to every other's window, copy out",
    requires: &[Requirement::Nodes, Requirement::Window],
    keys: &[Key::PORTS, BETWEEN, OVERLAP],
    settings: &[
        "",
        "ports=2",
        "overlap=all",
        "between=messages",
        "ports=2,between=messages,overlap=all",
    ],
    sharing: smp::sharing,
    build,
    claims,
    ..BASE
};

/// One block of a node in each passage, `ports` at a time.
fn steps(nodes: u32, ports: u32) -> Steps {
    let passage = |distance| Passage { distance, nodes: 1 };
    let round = |round| direct_distances(nodes, ports, round).map(passage);
    (0..direct_rounds(nodes, ports))
        .map(|number| round(number).collect())
        .collect()
}

fn build(b: &mut Builder) {
    let ports = b.shape().ports();
    smp::allgather(b, |nodes| steps(nodes, ports), ports);
}

fn claims(shape: &Shape) -> Claims {
    smp::claims(shape, |nodes| steps(nodes, shape.ports()))
}
