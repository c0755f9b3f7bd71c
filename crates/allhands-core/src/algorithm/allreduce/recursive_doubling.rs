//! Recursive-doubling allreduce: in every step pairs exchange and combine whole vectors.
//!
//! Partners are 1, 2, 4, … apart, so after ⌊lg p⌋ steps everybody has everything (T 4.5). The ranks beyond
//! the next lower power of two fold into others first and get the result at the end: neighbours fold into
//! neighbours (`fold=neighbour`, keeps rank order) or high ranks onto low ones (`fold=high`, C 4).
//!
//! ```text
//! 5 ranks, neighbour    fold: 1 ─▶ 0      exchange: 0⇄2 3⇄4    0⇄3 2⇄4      unfold: 0 ─▶ 1
//! ```
//!
//! Source: Thakur, Rabenseifner, Gropp 2005, T 4.5; Ali, Midkiff, Pai 2009, C 4 and table 5.

use crate::algorithm::{Algorithm, Claims, InPlace, Key, Values, uncut};
use crate::call::Collective;
use crate::pattern::fold::{Fold, Folding, Keeper, Role};
use crate::pattern::math::floor_log2;
use crate::schedule::{Blocks, Builder, Shape, Side};

/// The algorithm.
pub const ALGORITHM: Algorithm = Algorithm {
    collective: Collective::Allreduce,
    name: "recursive-doubling",
    citation: "T 4.5; C 4",
    summary: "pairs at distance 1, 2, 4, … exchange and combine whole vectors",
    requires: &[],
    keys: &[Key {
        name: "fold",
        values: Values::Names(&["neighbour", "high"]),
        default: 0,
        about: "where ranks beyond a power of two fold: into neighbours (keeps order) or high onto low",
    }],
    settings: &["", "fold=high"],
    in_place: InPlace::Natural,
    ordered: |shape| shape.get("fold") == 0,
    parts: uncut,
    build,
    claims,
};

fn build(b: &mut Builder) {
    let fold = if b.get("fold") == 1 {
        Fold::High
    } else {
        Fold::Neighbour(Keeper::First)
    };
    let folding = Folding::to_power(b.ranks(), 2, fold);
    let (input, output) = (b.input(), b.output());
    match folding.role(b.rank()) {
        Role::Leaves { host } => {
            b.send(host, input);
            b.step();
            b.recv(host, output);
        }
        Role::Stays { new_rank, guests } => {
            let mut own = input;
            if let Some(guest) = guests.first() {
                let side = if guest < b.rank() {
                    Side::Left
                } else {
                    Side::Right
                };
                b.recv_reduce(guest, side, own, output);
                b.step();
                own = output;
            }
            own = exchange(b, &folding, new_rank, own);
            b.copy(own, output);
            b.step();
            if let Some(guest) = guests.first() {
                b.send(guest, output);
            }
        }
    }
}

/// Exchanges and combines with the partners at distance 1, 2, 4, …; each combination lands in the other
/// of two vectors, because the one before is still being sent. Returns where the last one landed.
fn exchange(b: &mut Builder, folding: &Folding, new_rank: u32, mut own: Blocks) -> Blocks {
    let rounds = floor_log2(folding.kept());
    let (output, spare) = (b.output(), b.vector());
    let first_in_output = own != output && !b.call().in_place && rounds % 2 == 1;
    for round in 0..rounds {
        let partner = new_rank ^ (1 << round);
        let side = if partner < new_rank {
            Side::Left
        } else {
            Side::Right
        };
        let into = if (round % 2 == 0) == first_in_output {
            output
        } else {
            spare
        };
        let peer = folding.actual(partner);
        b.send(peer, own);
        b.recv_reduce(peer, side, own, into);
        b.step();
        own = into;
    }
    own
}

fn claims(shape: &Shape) -> Claims {
    let p = shape.ranks();
    let rounds = p.ilog2();
    let folds = u32::from(!p.is_power_of_two());
    Claims {
        ports: 1,
        steps: rounds + 2 * folds,
        volume: u64::from(rounds + folds),
        work: u64::from(rounds + folds),
    }
}
