//! Recursive-doubling allreduce: in every step pairs exchange and combine whole vectors.
//!
//! Partners are 1, 2, 4, … apart, so after ⌊lg p⌋ steps everybody has everything (T 4.5). The ranks beyond
//! the next lower power of two fold into others first and get the result at the end: neighbours fold into
//! neighbours (`fold=neighbour`, keeps rank order) or high ranks onto low ones (`fold=high`, C 4).
//!
//! ```text
//! 5 ranks, neighbour    fold: 0 ─▶ 1      exchange: 1⇄2 3⇄4    1⇄3 2⇄4      unfold: 1 ─▶ 0
//! ```
//!
//! Source: Thakur, Rabenseifner, Gropp 2005, T 4.5; Ali, Midkiff, Pai 2009, C 4 and table 5.

use crate::algorithm::{Algorithm, Claims, InPlace, Key, Values, uncut};
use crate::call::Collective;
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

/// Rank and partner of a fold: who leaves, who stays, and under which number.
enum Role {
    Leaves { partner: u32 },
    Stays { number: u32, partner: Option<u32> },
}

fn role(rank: u32, p: u32, high: bool) -> Role {
    let extra = p - (1 << p.ilog2());
    match (high, rank) {
        (true, _) if rank >= p - extra => Role::Leaves {
            partner: rank - (p - extra),
        },
        (true, _) => Role::Stays {
            number: rank,
            partner: (rank < extra).then_some(rank + p - extra),
        },
        (false, _) if rank >= 2 * extra => Role::Stays {
            number: rank - extra,
            partner: None,
        },
        (false, _) if rank.is_multiple_of(2) => Role::Leaves { partner: rank + 1 },
        (false, _) => Role::Stays {
            number: rank / 2,
            partner: Some(rank - 1),
        },
    }
}

fn actual(number: u32, p: u32, high: bool) -> u32 {
    let extra = p - (1 << p.ilog2());
    match high {
        true => number,
        false if number < extra => 2 * number + 1,
        false => number + extra,
    }
}

fn build(b: &mut Builder) {
    let (p, high) = (b.ranks(), b.get("fold") == 1);
    let (input, output) = (b.input(), b.output());
    match role(b.rank(), p, high) {
        Role::Leaves { partner } => {
            b.send(partner, input);
            b.step();
            b.recv(partner, output);
        }
        Role::Stays { number, partner } => {
            let rounds = p.ilog2();
            let mut own = input;
            if let Some(partner) = partner {
                let side = if partner < b.rank() {
                    Side::Left
                } else {
                    Side::Right
                };
                b.recv_reduce(partner, side, own, output);
                b.step();
                own = output;
            }
            own = exchange(b, number, own, rounds, high);
            if own != output {
                b.copy(own, output);
                b.step();
            }
            if let Some(partner) = partner {
                b.send(partner, output);
            }
        }
    }
}

/// Exchanges and combines with the partners at distance 1, 2, 4, …; each combination lands in the other
/// of two vectors, because the one before is still being sent. Returns where the last one landed.
fn exchange(b: &mut Builder, number: u32, mut own: Blocks, rounds: u32, high: bool) -> Blocks {
    let (output, spare) = (b.output(), b.vector());
    let first_in_output = own != output && !b.call().in_place && rounds % 2 == 1;
    for round in 0..rounds {
        let partner = number ^ (1 << round);
        let side = if partner < number {
            Side::Left
        } else {
            Side::Right
        };
        let into = if (round % 2 == 0) == first_in_output {
            output
        } else {
            spare
        };
        let peer = actual(partner, b.ranks(), high);
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
