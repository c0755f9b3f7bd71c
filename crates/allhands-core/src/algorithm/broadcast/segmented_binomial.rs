//! Segmented binomial broadcast: each half of the tree gets its half of the vector, then the halves are exchanged.
//!
//! The root sends the right half of the vector to the top of the right half of the ranks; each half of the ranks passes its
//! half of the vector down a binomial tree; ranks that stand alike in the two halves exchange. That is lg p + 1 steps of half a
//! vector (C 5.2 counts one less in its text; its table 2 is right). Where p is no power of two, the ranks beyond the next
//! lower one get the vector in a last step from those below (the fold of C 4).
//!
//! ```text
//! 4 ranks, root 0      right half: 0 ─▶ 2      left: 0 ─▶ 1, right: 2 ─▶ 3      exchange: 0 ─▶ 2, 1 ⇄ 3
//! ```
//!
//! Source: Ali, Midkiff, Pai 2010, C 5.2, figure 5, table 2.

use super::BASE;
use crate::algorithm::phase::broadcast::segmented::{self, Halves};
use crate::algorithm::{Algorithm, Claims};
use crate::pattern::fold::{Fold, Folding, Role};
use crate::pattern::math::{absolute, floor_log2, relative};
use crate::schedule::{Builder, Shape};

/// The algorithm.
pub const ALGORITHM: Algorithm = Algorithm {
    name: "segmented-binomial",
    citation: "C 5.2, table 2",
    summary: "a half of the vector down each half of the tree, then an exchange of halves",
    parts: |_| 2,
    build,
    claims,
    ..BASE
};

fn build(b: &mut Builder) {
    let (p, root) = (b.ranks(), b.root());
    let me = relative(b.rank(), root, p);
    let (input, output) = (b.input(), b.output());
    let vector = if me == 0 { input } else { output };
    if me == 0 {
        b.copy(input, output);
    }
    let folding = Folding::to_power(p, 2, Fold::High);
    match folding.role(me) {
        Role::Leaves { host } => b.recv(absolute(host, root, p), output),
        Role::Stays { guests, .. } => {
            let halves = Halves {
                size: folding.kept(),
                position: me,
                rank_at: &|position| absolute(position, root, p),
            };
            segmented::broadcast(b, &halves, vector);
            if let Some(guest) = guests.first() {
                b.send(absolute(guest, root, p), vector);
            }
        }
    }
}

fn claims(shape: &Shape) -> Claims {
    let p = shape.ranks();
    let rounds = match floor_log2(p) {
        0 => 0,
        levels => levels + 1,
    };
    let folds = u32::from(!p.is_power_of_two());
    // The root sends a half in every round and, at last, both halves to its guest.
    Claims {
        ports: 1,
        steps: rounds + folds,
        volume: u64::from(rounds + 2 * folds),
        work: 0,
    }
}
