//! k-nomial broadcast: the ranks that have the vector multiply by the radix in every ports-wide step.
//!
//! With k ports and radix k + 1 every rank that has the vector sends to k others at once: ⌈log_(k+1) p⌉ steps.
//!
//! ```text
//! 9 ranks, root 0, 2 ports      0 ─▶ 3, 6      0 ─▶ 1, 2   3 ─▶ 4, 5   6 ─▶ 7, 8
//! ```
//!
//! Source: the binomial tree of T 4.2 with the radix of Q 5.1.1.

use super::BASE;
use crate::algorithm::phase::broadcast::k_nomial;
use crate::algorithm::phase::tree::{steps, walk};
use crate::algorithm::{Algorithm, Claims, Key};
use crate::pattern::knomial::KnomialTree;
use crate::schedule::Shape;

/// The algorithm.
pub const ALGORITHM: Algorithm = Algorithm {
    name: "k-nomial",
    citation: "k-nomial tree (Q 5.1.1 for k ports)",
    summary: "k-nomial tree: the ranks that have the vector multiply by the radix",
    keys: &[Key::PORTS, Key::RADIX],
    settings: &[
        "",
        "ports=2",
        "ports=3",
        "ports=4",
        "radix=4",
        "ports=2,radix=5",
    ],
    build: |b| k_nomial::broadcast(b, walk::down),
    claims,
    ..BASE
};

fn claims(shape: &Shape) -> Claims {
    let (p, ports) = (shape.ranks(), shape.ports());
    let tree = KnomialTree::new(p, shape.radix());
    let volume = tree.children(0).count() as u64;
    Claims {
        ports,
        steps: steps::down(tree, ports),
        volume,
        work: 0,
    }
}
