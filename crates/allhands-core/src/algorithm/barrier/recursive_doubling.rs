//! Recursive-doubling barrier: pairs at distance 1, 2, 4, … tell one another.
//!
//! Ranks beyond the next lower power of two tell a lower rank first and hear from it last: ⌊lg p⌋ + 2 steps (C 4).
//!
//! ```text
//! 5 ranks      4 ─▶ 0      0⇄1 2⇄3      0⇄2 1⇄3      0 ─▶ 4
//! ```
//!
//! Source: C 4, 5.1, table 1.

use super::BASE;
use crate::algorithm::{Algorithm, Claims};
use crate::pattern::fold::{Fold, Folding, Role};
use crate::pattern::math::floor_log2;
use crate::schedule::{Builder, Shape};

/// The algorithm.
pub const ALGORITHM: Algorithm = Algorithm {
    name: "recursive-doubling",
    citation: "C 5.1, table 1",
    summary: "pairs at distance 1, 2, 4, … tell one another",
    build,
    claims,
    ..BASE
};

fn build(b: &mut Builder) {
    let folding = Folding::to_power(b.ranks(), 2, Fold::High);
    match folding.role(b.rank()) {
        Role::Leaves { host } => {
            b.send_token(host);
            b.step();
            b.recv_token(host);
        }
        Role::Stays { new_rank, guests } => {
            if let Some(guest) = guests.first() {
                b.recv_token(guest);
                b.step();
            }
            for round in 0..floor_log2(folding.kept()) {
                let partner = folding.actual(new_rank ^ (1 << round));
                b.send_token(partner);
                b.recv_token(partner);
                b.step();
            }
            if let Some(guest) = guests.first() {
                b.send_token(guest);
            }
        }
    }
}

fn claims(shape: &Shape) -> Claims {
    let p = shape.ranks();
    let folds = if p.is_power_of_two() { 0 } else { 2 };
    Claims {
        ports: 1,
        steps: floor_log2(p) + folds,
        volume: 0,
        work: 0,
    }
}
