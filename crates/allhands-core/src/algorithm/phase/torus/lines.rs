//! Line phases: on each line of a torus all send to all, one dimension after the other.
//!
//! Nobody passes anything on: a packet goes to the end of the line and leaves copies on its way, and every rank combines all that
//! comes. Who sends to whom, and that long lines are cut in groups, is the pattern's (B 3.2, figures 3 and 4).

use crate::algorithm::phase::torus::grid::torus;
use crate::algorithm::{Claims, Key, Values};
use crate::pattern::line_groups::{self, Turn};
use crate::schedule::{Builder, Shape};
use alloc::vec::Vec;

/// `group`: how many ranks of a line send to one another first.
pub const GROUP: Key = Key {
    name: "group",
    values: Values::Range {
        min: 0,
        max: 1 << 16,
    },
    default: 0,
    about: "ranks of a line that send to one another before groups do; 0: the whole line",
};

/// A rank's turns: one or two for each dimension.
#[must_use]
pub fn turns(shape: &Shape, rank: u32) -> Vec<Turn> {
    line_groups::turns(&torus(shape), shape.get(GROUP.name), rank)
}

/// Sends to all targets of a turn, by copies that packets to the farthest leave if the key `deposit` says so: with
/// `send(b, to, copied)`.
pub fn send_to_targets(b: &mut Builder, turn: &Turn, send: impl Fn(&mut Builder, u32, bool)) {
    let deposit = b.get("deposit") == 1;
    let mut port = 0;
    for side in &turn.targets {
        for (number, to) in side.iter().rev().enumerate() {
            let copied = deposit && number > 0;
            port += u32::from(!copied);
            b.port(port - 1);
            send(b, *to, copied);
        }
    }
}

/// On each line all tell all, one dimension after the other: nothing but that they are there.
pub fn tell_all(b: &mut Builder) {
    let rank = b.rank();
    for turn in turns(b.shape(), rank) {
        send_to_targets(b, &turn, |b, to, copied| match copied {
            true => b.send_token_deposited(to),
            false => b.send_token(to),
        });
        for &from in turn.sources.iter().filter(|from| **from != rank) {
            b.recv_token(from);
        }
        b.step();
    }
}

/// What the turns of all ranks cost, with vectors that are combined where `combines`.
#[must_use]
pub fn claims(shape: &Shape, combines: bool) -> Claims {
    let deposit = shape.get("deposit") == 1;
    let turns: Vec<Vec<Turn>> = (0..shape.ranks()).map(|rank| turns(shape, rank)).collect();
    let mut clocks = alloc::vec![0u32; turns.len()];
    let (mut ports, mut volume, mut work) = (0, 0, 0);
    for of_rank in &turns {
        let sent = |turn: &Turn| match deposit {
            true => turn.targets.iter().filter(|side| !side.is_empty()).count(),
            false => turn.sends(),
        };
        let received = |turn: &Turn| turn.sources.len() - 1;
        let both = |turn: &Turn| sent(turn).max(received(turn));
        ports = of_rank.iter().map(both).max().unwrap_or(0).max(ports);
        let all = |count: &dyn Fn(&Turn) -> usize| of_rank.iter().map(count).sum::<usize>();
        volume = volume.max(all(&sent).max(all(&received)));
        work = work.max(all(&received));
    }
    for turn in 0..turns.first().map_or(0, Vec::len) {
        let before = clocks.clone();
        for (rank, of_rank) in turns.iter().enumerate() {
            for &to in of_rank[turn].targets.iter().flatten() {
                let meet = before[rank].max(before[to as usize]) + 1;
                for end in [rank, to as usize] {
                    clocks[end] = clocks[end].max(meet);
                }
            }
        }
    }
    let data = u64::from(combines);
    Claims {
        ports: ports as u32,
        steps: clocks.into_iter().max().unwrap_or(0),
        volume: data * volume as u64,
        work: data * work as u64,
    }
}
