//! Binomial gather: a child sends its parent the blocks of its whole subtree, from the leaves up.
//!
//! For k ports the tree is (k + 1)-nomial: ⌈log_(k+1) p⌉ steps, in which every block but the root's own reaches the
//! root once. Subtrees are contiguous in the order of relative ranks.
//!
//! ```text
//! 4 ranks, root 0      1 ─▶ 0: block 1   3 ─▶ 2: block 3      2 ─▶ 0: blocks 2, 3
//! ```
//!
//! Source: Q 5.1.1 (equation 1).

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
    summary: "(k+1)-nomial tree: a child sends its parent the blocks of its subtree",
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
        b.copy(input, output.at(root));
    }
    k_nomial::gather(b, input, output);
}

fn claims(shape: &Shape) -> Claims {
    let (p, ports) = (shape.ranks(), shape.ports());
    Claims {
        ports,
        steps: steps::up(KnomialTree::new(p, shape.radix()), ports),
        volume: u64::from(p - 1),
        work: 0,
    }
}
