//! Shared-memory barrier: every rank raises one counter of rank 0 and watches it until all have.
//!
//! The counter lies in the window, so there are no messages at all, and one phase is enough: nobody has to tell the others. It
//! only grows: who is fast may raise it for the next barrier while others still look, for they wait for p more than last time.
//!
//! With `release=root` rank 0 alone watches the counter, and raises a flag that all others watch: it leaves first, so that who
//! takes turns on a core with others finds, when its turn comes, not only that flag but also what rank 0 has sent since.
//!
//! ```text
//! 3 ranks      0 ↑ arrived@0   1 ↑ arrived@0   2 ↑ arrived@0      0, 1 and 2 watch arrived@0 for 3
//! release=root 1 ↑ arrived@0   2 ↑ arrived@0   0 watches arrived@0 for 2, ↑ left@0      1 and 2 watch left@0 for 1
//! ```
//!
//! Source: Q 4.2.

use super::BASE;
use crate::algorithm::{Algorithm, Claims, Key, Requirement, Values};
use crate::schedule::{Builder, Shape};

/// The algorithm.
pub const ALGORITHM: Algorithm = Algorithm {
    name: "shared-memory",
    citation: "Q 4.2",
    summary: "one counter in the window of rank 0",
    requires: &[Requirement::Window],
    keys: &[Key {
        name: "release",
        values: Values::Names(&["last", "root"]),
        default: 0,
        about: "who lets the others go: the last to come, or rank 0",
    }],
    settings: &["", "release=root"],
    build,
    claims,
    ..BASE
};

/// `release=root`.
const ROOT: u32 = 1;

fn build(b: &mut Builder) {
    let arrived = b.flag(0);
    if b.get("release") == ROOT {
        return build_released(b, arrived);
    }
    b.notify(0, arrived);
    b.watch(0, arrived, b.ranks());
}

fn build_released(b: &mut Builder, arrived: u16) {
    let left = b.flag(0);
    if b.rank() > 0 {
        b.notify(0, arrived);
        b.watch(0, left, 1);
        return;
    }
    if b.ranks() > 1 {
        b.watch(0, arrived, b.ranks() - 1);
        b.step();
        b.notify(0, left);
    }
}

fn claims(shape: &Shape) -> Claims {
    // All others look at one flag at once, as if its rank told each.
    let others = shape.ranks() - 1;
    let phases = 1 + u32::from(shape.get("release") == ROOT);
    Claims {
        ports: others,
        steps: phases * others.min(1),
        volume: 0,
        work: 0,
    }
}
