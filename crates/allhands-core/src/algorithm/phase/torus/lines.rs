//! Line phases: on each line of a torus all send to all, one dimension after the other.
//!
//! Nobody passes anything on: a packet goes to the end of the line and leaves copies on its way, and every rank combines all that
//! comes. Long lines are cut in groups: first all of a group send to one another, then the ranks at a group's ends send its
//! result to all other groups, each to its side (B 3.2, figures 3 and 4).

use crate::algorithm::phase::torus::grid::torus;
use crate::algorithm::{Claims, Key, Values};
use crate::machine::Torus;
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

/// One rank's part in a phase: who sends to it, and to whom it sends.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Turn {
    /// In the order of their coordinates, this rank where it stands itself: all that is combined.
    pub sources: Vec<u32>,
    /// The ranks on this rank's two sides, the nearest first, that get what this rank has.
    pub targets: [Vec<u32>; 2],
}

impl Turn {
    /// The messages that it sends.
    fn sends(&self) -> usize {
        self.targets.iter().map(Vec::len).sum()
    }
}

/// A rank's turns: one or two for each dimension.
#[must_use]
pub fn turns(shape: &Shape, rank: u32) -> Vec<Turn> {
    let (torus, group) = (torus(shape), shape.get("group"));
    let mut turns = Vec::new();
    for dimension in torus.dimensions() {
        let n = torus.extents()[dimension];
        let group = if group == 0 { n } else { group.min(n) };
        turns.push(inside_group(&torus, dimension, group, rank));
        if group < n {
            turns.push(between_groups(&torus, dimension, group, rank));
        }
    }
    turns
}

/// All of a group send to one another.
fn inside_group(torus: &Torus, dimension: usize, group: u32, rank: u32) -> Turn {
    let at = torus.coordinates(rank)[dimension];
    let first = at / group * group;
    let end = (first + group).min(torus.extents()[dimension]);
    let sources: Vec<u32> = (first..end)
        .map(|other| torus.moved(rank, dimension, other))
        .collect();
    let others = sources.iter().copied().filter(|other| *other != rank);
    let targets = sides(torus, dimension, rank, others);
    Turn { sources, targets }
}

/// The ends of groups send to all other groups: who is nearer, and the lower where both are as near.
fn between_groups(torus: &Torus, dimension: usize, group: u32, rank: u32) -> Turn {
    let n = torus.extents()[dimension];
    let at = |other: u32| torus.coordinates(other)[dimension];
    let sender = |group_of: u32, to: u32| {
        let first = at(group_of) / group * group;
        let ends = [first, (first + group).min(n) - 1];
        let ends = ends.map(|end| torus.moved(rank, dimension, end));
        let [low, high] = ends.map(|end| torus.way(end, to, dimension).1);
        ends[usize::from(high < low)]
    };
    let own_group = at(rank) / group;
    let firsts = (0..n).step_by(group as usize);
    let firsts = firsts.map(|first| torus.moved(rank, dimension, first));
    let source = |first: u32| {
        if at(first) / group == own_group {
            rank
        } else {
            sender(first, rank)
        }
    };
    let gets = |other: &u32| at(*other) / group != own_group && sender(rank, *other) == rank;
    let targets = sides(
        torus,
        dimension,
        rank,
        torus.line(rank, dimension).filter(gets),
    );
    Turn {
        sources: firsts.map(source).collect(),
        targets,
    }
}

/// Ranks of a line by the side of `rank` on which they are, the nearest first.
fn sides(
    torus: &Torus,
    dimension: usize,
    rank: u32,
    others: impl Iterator<Item = u32>,
) -> [Vec<u32>; 2] {
    let mut sides = [Vec::new(), Vec::new()];
    for other in others {
        let (direction, hops) = torus.way(rank, other, dimension);
        sides[usize::from(!direction.up)].push((hops, other));
    }
    sides.map(|mut side| {
        side.sort_unstable();
        side.into_iter().map(|(_, other)| other).collect()
    })
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
