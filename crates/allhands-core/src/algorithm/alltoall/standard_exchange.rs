//! Standard exchange: in step i the ranks of a group of f that differ in digit i exchange all blocks for one another's digit.
//!
//! For powers of k + 1 the digits are to the base k + 1: log_(k+1) p steps of p/(k + 1) blocks on each of k ports. The paper stops there; for other
//! numbers of ranks the digits here have the factors of p as bases, as close below k + 1 as p has them.
//!
//! ```text
//! 4 ranks      0⇄1 2⇄3: blocks for the other's low bit      0⇄2 1⇄3: blocks for the other's high bit
//! ```
//!
//! Source: Q 5.1.3, equation 5.

use crate::algorithm::{Algorithm, Claims, InPlace, Key, Requirement, block_per_rank, keeps_order};
use crate::call::Collective;
use crate::schedule::{Blocks, Builder, Shape, Units};
use alloc::vec::Vec;

/// The algorithm.
pub const ALGORITHM: Algorithm = Algorithm {
    collective: Collective::Alltoall,
    name: "standard-exchange",
    citation: "Q 5.1.3",
    summary: "groups of ports + 1 exchange p/(ports + 1) blocks in each digit",
    requires: &[Requirement::AllCounts],
    keys: &[Key::PORTS],
    settings: &["", "ports=2", "ports=3", "ports=4"],
    in_place: InPlace::Staged,
    ordered: keeps_order,
    parts: block_per_rank,
    build,
    claims,
};

/// Factors of `p`, the largest up to `most` first, or else the least there is.
fn factors(mut p: u32, most: u32) -> Vec<u32> {
    let mut found = Vec::new();
    while p > 1 {
        let small = (2..=most.min(p)).rev().find(|f| p.is_multiple_of(*f));
        let least = || {
            (2..)
                .take_while(|f| f * f <= p)
                .find(|f| p.is_multiple_of(*f))
                .unwrap_or(p)
        };
        let factor = small.unwrap_or_else(least);
        found.push(factor);
        p /= factor;
    }
    found
}

fn build(b: &mut Builder) {
    let (p, rank, ports) = (b.ranks(), b.rank(), b.shape().ports());
    let all = factors(p, ports + 1);
    let mut at = b.input();
    // After digits of product `done`, block s·(p/done) + h is the one from the s-th rank that agrees with this one in the digits
    // above, for the h-th rank that agrees with it in the digits done.
    let mut done = 1;
    for (step, factor) in all.iter().copied().enumerate() {
        let digit = rank / done % factor;
        let rest = p / done / factor;
        let into = if step + 1 == all.len() {
            b.output()
        } else {
            let units = Units::Pairs {
                ranks: p,
                first: rank / (done * factor) * (done * factor),
                source_step: 1,
                onward: rank % (done * factor),
                step: done * factor,
                width: rest,
            };
            b.scratch(units, p)
        };
        let each = p / factor;
        let for_digit = |v: u32| Blocks::strided(at.space, at.first + v, 1, factor as i32, each);
        b.copy(for_digit(digit), into.slice(done * digit * rest, each));
        for turns in (1..factor).collect::<Vec<u32>>().chunks(ports as usize) {
            for (port, turn) in turns.iter().enumerate() {
                let (to, from) = ((digit + turn) % factor, (digit + factor - turn) % factor);
                let peer = |v: u32| rank - digit * done + v * done;
                b.port(port as u32);
                b.send(peer(to), for_digit(to));
                b.recv(peer(from), into.slice(done * from * rest, each));
            }
            b.step();
        }
        (at, done) = (into, done * factor);
    }
    b.copy(at, b.output());
}

fn claims(shape: &Shape) -> Claims {
    let (p, ports) = (shape.ranks(), shape.ports());
    let all = factors(p, ports + 1);
    let steps = all.iter().map(|f| (f - 1).div_ceil(ports)).sum();
    let volume = all
        .iter()
        .map(|f| u64::from(f - 1) * u64::from(p / f))
        .sum();
    Claims {
        ports,
        steps,
        volume,
        work: 0,
    }
}
