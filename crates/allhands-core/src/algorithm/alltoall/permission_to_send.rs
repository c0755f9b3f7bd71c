//! Permission-to-send alltoall: a rank sends to the next destination when the rank that sent there before has said that it is done.
//!
//! In step k rank i sends to i + k, to which rank i + 1 has sent in step k − 1; so i waits for a word from i + 1 first. Nobody
//! is sent to by two ranks at once, however late some of them are. The word is a message without data.
//!
//! ```text
//! 4 ranks      i ─▶ i+1      i+1 tells i      i ─▶ i+2      i+1 tells i      i ─▶ i+3     (mod 4)
//! ```
//!
//! Source: Q 3.1, of Quadrics' library.

use super::BASE;
use crate::algorithm::{Algorithm, Claims, InPlace};
use crate::pattern::exchange::shifted;
use crate::schedule::{Builder, Shape};

/// The algorithm.
pub const ALGORITHM: Algorithm = Algorithm {
    name: "permission-to-send",
    citation: "Q 3.1",
    summary: "to rank + k, when the rank that has sent there before says that it is done",
    in_place: InPlace::Staged,
    build,
    claims,
    ..BASE
};

fn build(b: &mut Builder) {
    let (p, rank) = (b.ranks(), b.rank());
    let (input, output) = (b.input(), b.output());
    b.copy(input.at(rank), output.at(rank));
    for step in 1..p {
        let peers = shifted(p, rank, step);
        if step > 1 {
            let next = shifted(p, rank, 1);
            b.send_token(next.from);
            b.recv_token(next.to);
            b.step();
        }
        b.send(peers.to, input.at(peers.to));
        b.recv(peers.from, output.at(peers.from));
        b.step();
    }
}

fn claims(shape: &Shape) -> Claims {
    let others = shape.ranks() - 1;
    Claims {
        ports: 1,
        steps: (2 * others).saturating_sub(1),
        volume: u64::from(others),
        work: 0,
    }
}
