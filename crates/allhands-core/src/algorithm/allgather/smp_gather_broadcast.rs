//! SMP-aware gather and broadcast: each node gathers in its leader's window, the leaders write to rank 0, which sends
//! everything to everyone.
//!
//! The last phase is the machine's hardware broadcast, where it has one; elsewhere it is one message to each rank. With
//! `intra=messages` every rank is a node of its own.
//!
//! ```text
//! 3 nodes of 2      1 ─▶ 0, 3 ─▶ 2, 5 ─▶ 4      2 ─▶ 0, 4 ─▶ 0: 2 blocks      0 ─▶ 1, 2, 3, 4, 5: 6 blocks
//! ```
//!
//! Source: Q 5.2.1, figure 7.

use super::BASE;
use crate::algorithm::phase::gather::leaders::{self, INTER, INTRA, Leaders};
use crate::algorithm::phase::gather::smp_gather;
use crate::algorithm::{Algorithm, Claims, Key, Requirement};
use crate::schedule::{BROADCAST_PORT, Builder, Shape};
use alloc::vec;

/// The algorithm.
pub const ALGORITHM: Algorithm = Algorithm {
    name: "smp-gather-broadcast",
    citation: "Q 5.2.1",
    summary: "gather in node windows, the leaders to rank 0, hardware broadcast of everything",
    requires: &[Requirement::Nodes, Requirement::Window],
    keys: &[INTRA, INTER, Key::PORTS],
    settings: &[
        "",
        "inter=binomial",
        "inter=binomial,ports=2",
        "intra=messages,inter=binomial",
    ],
    sharing: leaders::sharing,
    build,
    claims,
    ..BASE
};

fn build(b: &mut Builder) {
    let (rank, output) = (b.rank(), b.output());
    Leaders::new(b).gather(b, &|first, count| vec![output.slice(first, count)]);
    for to in (1..b.ranks()).filter(|_| rank == 0) {
        b.port(u32::from(BROADCAST_PORT)).send(to, output);
    }
    if rank != 0 {
        b.port(u32::from(BROADCAST_PORT)).recv(0, output);
    }
}

fn claims(shape: &Shape) -> Claims {
    let (p, gather) = (shape.ranks(), smp_gather::claims(shape));
    Claims {
        ports: gather.ports.max(p - 1),
        steps: gather.steps + u32::from(p > 1),
        // Everyone gets all of it from rank 0.
        volume: u64::from(p) * u64::from(p - 1),
        work: 0,
    }
    .with_steps_at_most()
}
