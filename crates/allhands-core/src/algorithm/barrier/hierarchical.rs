//! Hierarchical barrier: every node by itself, then the leaders among themselves, then every node again.
//!
//! When a leader leaves its node's barrier, all its ranks have entered; when it leaves that of the leaders, all ranks have; the
//! last one tells the node.
//!
//! ```text
//! 2 nodes of 2      0 ⇄ 1   2 ⇄ 3      0 ⇄ 2      0 ⇄ 1   2 ⇄ 3
//! ```
//!
//! Source: C 6.1.

use crate::algorithm::phase::nodes::{self, Among, Division, Phase};
use crate::algorithm::{Algorithm, Claims, InPlace, Requirement, keeps_order, uncut};
use crate::call::Collective;
use crate::schedule::{Builder, Shape};

/// The algorithm.
pub const ALGORITHM: Algorithm = Algorithm {
    collective: Collective::Barrier,
    name: "hierarchical",
    citation: "C 6.1",
    summary: "every node, the leaders, every node",
    requires: &[Requirement::Nodes, Requirement::Window],
    keys: &[nodes::INTRA, nodes::inter(INTER)],
    settings: &["", "intra=tree,inter=recursive-doubling"],
    in_place: InPlace::Natural,
    ordered: keeps_order,
    parts: uncut,
    build,
    claims,
};

/// What may serve the leaders.
const INTER: &[&str] = &[
    "dissemination",
    "recursive-doubling",
    "gather-broadcast",
    "one-to-all",
    "direct",
    "shared-memory",
    "line-broadcast",
];

const PHASES: &[Phase] = &[
    (Among::Node, Collective::Barrier),
    (Among::Leaders, Collective::Barrier),
    (Among::Node, Collective::Barrier),
];

fn build(b: &mut Builder) {
    let (node, empty) = (Division::new(b), b.input());
    for &phase in PHASES {
        nodes::vector_phase(b, &node, phase, &[], [empty; 2], false);
    }
}

fn claims(shape: &Shape) -> Claims {
    nodes::claims(shape, PHASES)
}
