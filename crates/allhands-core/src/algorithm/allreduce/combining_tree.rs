//! Combining-tree allreduce: all vectors go up the tree, are combined where they meet, and the result comes down to all.
//!
//! The tree's arithmetic is on fixed-point numbers: sums, maxima, bitwise operators, MAXLOC. Floating-point sums take two
//! passes (`passes=2`): the first finds the greatest exponent of each element; then every rank shifts its mantissas to that
//! exponent, the second sums them as integers, and the sums are turned back.
//!
//! ```text
//!  passes=1   all ranks ── vectors ───▶ tree ──▶ all ranks
//!  passes=2   all ranks ── exponents ─▶ tree ──▶ all ranks ── mantissas ──▶ tree ──▶ all ranks
//! ```
//!
//! What that means for IEEE numbers: a mantissa's bits below the width of the sum's integer are cut off when it is shifted, so
//! each operand is off by less than one unit of the integer's last place at the greatest exponent, and the sum of integers is exact.
//! The result is the same for every order of the ranks, and is not rounded as a chain of IEEE sums is. Subnormal numbers have the
//! least exponent; an infinity or a NaN has the greatest exponent of all, and the result of its element is a NaN.
//!
//! Source: B 4, 5.2.

use super::BASE;
use crate::algorithm::{Algorithm, Claims, Key, Requirement, Values, any_order};
use crate::machine::Fabric;
use crate::schedule::{Builder, Shape};

/// The algorithm.
pub const ALGORITHM: Algorithm = Algorithm {
    name: "combining-tree",
    citation: "B 4",
    summary: "all vectors combined in the machine's tree",
    requires: &[Requirement::Fabric(Fabric::Tree)],
    keys: &[Key {
        name: "passes",
        values: Values::Range { min: 1, max: 2 },
        default: 1,
        about: "through the tree: 1 for fixed point, 2 for floating point",
    }],
    settings: &["", "passes=2"],
    ordered: any_order,
    build,
    claims,
    ..BASE
};

fn build(b: &mut Builder) {
    let (input, output) = (b.input(), b.output());
    if b.get("passes") == 1 {
        b.combine(Fabric::Tree, input, output);
        return;
    }
    let exponents = b.vector();
    b.combine_converted(Fabric::Tree, input, exponents);
    b.step();
    b.combine_converted(Fabric::Tree, input, output);
}

fn claims(shape: &Shape) -> Claims {
    let passes = shape.get("passes");
    Claims {
        ports: 1,
        steps: passes,
        volume: u64::from(passes),
        work: 0,
    }
}
