//! Binomial-tree broadcast: the ranks that have the vector double in every step.
//!
//! In the first step the root sends to the rank half the machine away; both then act as roots of their
//! halves (T 4.2, the old broadcast of MPICH). ⌈lg p⌉ steps of the whole vector: best for short vectors.
//! With `order=ordered` (C 5.2, "opt") a rank serves one child at a time, the one with the longest path below it first;
//! with `order=simple` it tells all its children at once, so that their transfers share its link: ⌊lg p⌋ levels, each with
//! a gap for every further child.
//!
//! ```text
//! 6 ranks, root 0     step 1: 0 ─────────▶ 4
//!                     step 2: 0 ───▶ 2    4 (no 6)
//!                     step 3: 0 ▶ 1  2 ▶ 3  4 ▶ 5
//! ```
//!
//! Source: Thakur, Rabenseifner, Gropp 2005, T 4.2; Ali, Midkiff, Pai 2010, C 4, 5.2, table 2.

use super::BASE;
use crate::algorithm::phase::broadcast::k_nomial;
use crate::algorithm::phase::tree::walk;
use crate::algorithm::{Algorithm, Claims, Key, Values};
use crate::pattern::math::{ceil_log2, floor_log2};
use crate::schedule::{Builder, Shape};

/// The algorithm.
pub const ALGORITHM: Algorithm = Algorithm {
    name: "binomial",
    citation: "T 4.2; C 5.2",
    summary: "binomial tree: the ranks that have the vector double in every step",
    keys: &[Key {
        name: "order",
        values: Values::Names(&["ordered", "simple"]),
        default: 0,
        about: "children served one at a time, longest path first, or all at once",
    }],
    settings: &["", "order=simple"],
    build,
    claims,
    ..BASE
};

fn build(b: &mut Builder) {
    let serve = if b.get("order") == 0 {
        walk::down
    } else {
        walk::down_at_once
    };
    k_nomial::broadcast(b, serve);
}

fn claims(shape: &Shape) -> Claims {
    let p = shape.ranks();
    // The root's children; the rank with the most nonzero digits is the farthest.
    let children = ceil_log2(p);
    let simple = shape.get("order") == 1;
    Claims {
        ports: if simple { children } else { 1 },
        steps: if simple { floor_log2(p) } else { children },
        volume: u64::from(children),
        work: 0,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::call::{Call, Collective};
    use crate::schedule::OpKind;
    use alloc::vec::Vec;

    #[test]
    fn the_longest_path_is_served_first() {
        for (setting, steps) in [("", 3), ("order=simple", 1)] {
            let call = Call::new(Collective::Broadcast, 8);
            let shape = ALGORITHM
                .shape(call, setting)
                .expect("a registered setting");
            let root = ALGORITHM.schedule(&shape, 0);
            let sends: Vec<u32> = root
                .ops
                .iter()
                .filter_map(|op| match op.kind {
                    OpKind::Send { to, .. } => Some(to),
                    _ => None,
                })
                .collect();
            assert_eq!(sends, [4, 2, 1]);
            // The root's copy of its own vector goes with the first step.
            assert_eq!(root.strands[0].items.len(), steps, "{setting}");
        }
    }
}
