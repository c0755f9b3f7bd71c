//! SMP-aware Bruck allgather: each node gathers in its leader's window, the leaders go through Bruck's steps from window to
//! window, and all copy out.
//!
//! ⌈log_r n⌉ steps among n nodes, with radix r = k + 1 on k ports. While the first is under way each rank copies out what
//! its own node has gathered. Every rank copies a block from the window to its right place, so nothing is shifted.
//! With `between=messages` leaders send from window to window, with `overlap=all` ranks also copy out what one step has brought
//! while the next is under way: both are ours.
//!
//! ```text
//! 3 nodes of 2, 1 port      1 ─▶ 0, 3 ─▶ 2, 5 ─▶ 4      2 ─▶ 0, 4 ─▶ 2, 0 ─▶ 4      4 ─▶ 0, 0 ─▶ 2, 2 ─▶ 4      all: copy out
//! ```
//!
//! Source: Q 5.2.2; Q 5.1.2, figure 5.

use super::BASE;
use crate::algorithm::phase::allgather::smp::{self, BETWEEN, OVERLAP, Passage, Steps};
use crate::algorithm::{Algorithm, Claims, Key, Requirement};
use crate::pattern::digits::{self, Gathered, gathered};
use crate::schedule::{Builder, Shape};

/// The algorithm.
pub const ALGORITHM: Algorithm = Algorithm {
    name: "smp-bruck",
    citation: "Q 5.2.2",
    summary: "gather in node windows, Bruck's steps among the leaders' windows, copy out",
    requires: &[Requirement::Nodes, Requirement::Window],
    keys: &[Key::PORTS, Key::RADIX, BETWEEN, OVERLAP],
    settings: &[
        "",
        "ports=2",
        "ports=2,radix=5",
        "overlap=all",
        "between=messages",
        "ports=2,between=messages,overlap=all",
    ],
    sharing: smp::sharing,
    build,
    claims,
    ..BASE
};

/// Bruck's steps with `radix`: as many messages at once as there are digits; those of the last step share what is missing.
fn steps(nodes: u32, radix: u32, ports: u32) -> Steps {
    let passages = |step| {
        let all = gathered(nodes, radix, ports, step).into_iter();
        all.map(|Gathered { distance, blocks }| Passage {
            distance,
            nodes: blocks,
        })
        .collect()
    };
    (0..digits::steps(nodes, radix)).map(passages).collect()
}

fn build(b: &mut Builder) {
    let (radix, ports) = (b.shape().radix(), b.shape().ports());
    smp::allgather(b, |nodes| steps(nodes, radix, ports), ports);
}

fn claims(shape: &Shape) -> Claims {
    smp::claims(shape, |nodes| steps(nodes, shape.radix(), shape.ports()))
}
