//! Binomial scatter: a parent sends each child the blocks of the child's whole subtree.
//!
//! For k ports the tree is (k + 1)-nomial: ⌈log_(k+1) p⌉ steps, in which every block but the root's own leaves the
//! root once. Subtrees are contiguous in the order of relative ranks, so a message is one run of blocks, or two where it
//! passes the last rank.
//!
//! ```text
//! 4 ranks, root 0      0 ─▶ 2: blocks 2, 3      0 ─▶ 1: block 1   2 ─▶ 3: block 3
//! ```
//!
//! Source: Q 5.1.1 (equation 1), mirrored; T 4.2 (the scatter of the long broadcast).

use super::BASE;
use crate::algorithm::phase::gather::k_nomial;
use crate::algorithm::phase::tree::steps;
use crate::algorithm::{Algorithm, Claims, Key, Requirement};
use crate::pattern::knomial::KnomialTree;
use crate::schedule::{Builder, Shape};

/// The algorithm.
pub const ALGORITHM: Algorithm = Algorithm {
    name: "binomial",
    citation: "T 1; Q 5.1.1",
    summary: "(k+1)-nomial tree: a parent sends each child the blocks of its subtree",
    requires: &[Requirement::AllCounts],
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
    let (input, output, root) = (b.input(), b.output(), b.root());
    if b.rank() == root {
        b.copy(input.at(root), output);
    }
    k_nomial::scatter(b, input, output);
}

fn claims(shape: &Shape) -> Claims {
    let (p, ports) = (shape.ranks(), shape.ports());
    Claims {
        ports,
        steps: steps::down(KnomialTree::new(p, shape.radix()), ports),
        volume: u64::from(p - 1),
        work: 0,
    }
}
