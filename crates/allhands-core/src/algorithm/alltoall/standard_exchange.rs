//! Standard exchange: in step i the ranks of a group of k + 1 that differ in digit i exchange all blocks for one another's digit.
//!
//! The groups are those of the allgather of this name: log_(k+1) p steps of p/(k + 1) blocks on each of k ports for powers of k + 1.
//! Other numbers of ranks take correction steps, as there. The paper says so (Q 7.3: "a penalty for 16 processes due to correction
//! steps") and not what is sent in them; here a rank of the clipped subtree sends the blocks for offsets that its subtree lacks along
//! with those for its own, and the corrections scatter them as those of the allgather spread copies
//! (`crates/allhands-core/src/pattern/complete_exchange.rs`).
//!
//! Before a step a rank keeps the blocks of its subtree for each destination together, so that later steps send fewer and longer runs.
//!
//! ```text
//! 4 ranks      0⇄1 2⇄3: blocks for the other's low bit      0⇄2 1⇄3: blocks for the other's high bit
//! 5 ranks      0⇄1 2⇄3      0⇄2 1⇄3      0⇄4      corrections: 0→1, then 0→2 and 1→3: 4's blocks
//! ```
//!
//! Source: Q 5.1.3, equation 5.

use crate::algorithm::{Algorithm, Claims, InPlace, Key, Requirement, block_per_rank, keeps_order};
use crate::call::Collective;
use crate::pattern::complete_exchange::CompleteExchange;
use crate::pattern::multiplying::{Phase, Step, Transfer};
use crate::schedule::{Blocks, Builder, Shape, Space, Units};
use alloc::vec::Vec;
use core::ops::Range;

/// The algorithm.
pub const ALGORITHM: Algorithm = Algorithm {
    collective: Collective::Alltoall,
    name: "standard-exchange",
    citation: "Q 5.1.3",
    summary: "groups of ports + 1 exchange all blocks for one another's digit; corrections where p is no power",
    requires: &[Requirement::AllCounts],
    keys: &[Key::PORTS],
    settings: &["", "ports=2", "ports=3", "ports=4"],
    in_place: InPlace::Staged,
    ordered: keeps_order,
    parts: block_per_rank,
    build,
    claims,
};

/// The blocks that a rank holds before a level: those of all `sources`, one destination after the other.
struct Held {
    sources: Range<u32>,
    destinations: Vec<u32>,
    /// By destination and then source; or the input, which has blocks in the order of ranks.
    at: Blocks,
    is_input: bool,
}

impl Held {
    /// Room for the blocks of `sources` for each of `destinations`, in this order.
    fn scratch(b: &mut Builder, sources: Range<u32>, destinations: Vec<u32>) -> Held {
        let (ranks, width) = (b.ranks(), sources.end - sources.start);
        let mut first = 0;
        for (number, destination) in destinations.iter().enumerate() {
            let units = Units::Pairs {
                ranks,
                first: sources.start,
                source_step: 1,
                onward: *destination,
                step: 0,
                width: 1,
            };
            let room = b.scratch(units, width);
            if number == 0 {
                first = room.first;
            }
        }
        let count = width * destinations.len() as u32;
        Held {
            sources,
            destinations,
            at: Blocks::new(Space::Scratch, first, count),
            is_input: false,
        }
    }

    fn width(&self) -> u32 {
        self.sources.end - self.sources.start
    }

    /// All blocks for the destinations of `places`.
    fn part(&self, places: Range<u32>) -> Vec<Blocks> {
        if self.is_input {
            return progressions(
                self.at,
                &self.destinations[places.start as usize..places.end as usize],
            );
        }
        alloc::vec![runs(self.at, self.width(), &places)]
    }

    /// The blocks of some of the sources, for all destinations.
    fn of(&self, some: &Range<u32>) -> Blocks {
        Blocks::strided(
            self.at.space,
            self.at.first + (some.start - self.sources.start),
            some.end - some.start,
            self.width() as i32,
            self.destinations.len() as u32,
        )
    }
}

/// Runs of `width` blocks each, the ones with these numbers: a region has one of them.
fn runs(of: Blocks, width: u32, numbers: &Range<u32>) -> Blocks {
    let count = numbers.end - numbers.start;
    let first = of.first + numbers.start * width;
    Blocks::strided(of.space, first, width, width as i32, count)
}

/// The blocks of these indices, as few sets as one pass finds.
fn progressions(of: Blocks, indices: &[u32]) -> Vec<Blocks> {
    let mut sets: Vec<Blocks> = Vec::new();
    for index in indices.iter().map(|i| of.first + i) {
        if let Some(set) = sets.last_mut() {
            let step = i64::from(index) - i64::from(set.first);
            if set.times == 1 || step == i64::from(set.stride) * i64::from(set.times) {
                if set.times == 1 {
                    set.stride = step as i32;
                }
                set.times += 1;
                continue;
            }
        }
        sets.push(Blocks::strided(of.space, index, 1, 1, 1));
    }
    sets
}

/// What a rank does at one level.
struct Level<'a> {
    all: &'a CompleteExchange,
    level: u32,
    rank: u32,
    before: &'a Held,
    after: &'a Held,
    /// Blocks of the clipped subtree that this rank passes on: those with whom they end, and where they lie meanwhile.
    passes: (Vec<u32>, Held),
}

impl Level<'_> {
    /// How many destinations' blocks end with these ranks.
    fn destinations(&self, ends: &[u32]) -> u32 {
        let counts = ends
            .iter()
            .map(|end| self.all.held(*end, self.level + 1).len());
        counts.sum::<usize>() as u32
    }

    /// The blocks that go to a subtree of the group.
    fn for_subtree(&self, subtree: &Range<u32>) -> Vec<Blocks> {
        let count = |to: &Range<u32>| self.destinations(&self.all.ends(self.rank, self.level, to));
        let lower = self.all.subtrees(self.rank, self.level);
        let first = lower.take_while(|other| other != subtree);
        let first = first.map(|other| count(&other)).sum();
        self.before.part(first..first + count(subtree))
    }

    /// Where what comes from a subtree of the group goes.
    fn arriving(&self, subtree: &Range<u32>, clipped: bool) -> Vec<Blocks> {
        let mut into = alloc::vec![self.after.of(subtree)];
        if clipped {
            into.extend(
                self.passes
                    .1
                    .part(0..self.passes.1.destinations.len() as u32),
            );
        }
        into
    }

    /// The blocks of the clipped subtree that `peer` gets from here in a correction.
    fn for_peer(&self, peer: u32) -> Vec<Blocks> {
        let mine = self.passes.0.iter().skip(1).copied();
        let before: Vec<u32> = mine.take_while(|end| *end != peer).collect();
        let first = self.destinations(&before);
        let count = self.destinations(&self.all.passes(peer, self.level));
        self.passes.1.part(first..first + count)
    }

    fn step(&self, b: &mut Builder, step: Step) {
        let groups = self.all.groups();
        let clipped = groups.clipped(self.rank, self.level);
        let transfers = groups.transfers(self.rank, step);
        for (
            port,
            Transfer {
                peer,
                send,
                receive,
            },
        ) in transfers.into_iter().enumerate()
        {
            b.port(port as u32);
            match step.phase {
                Phase::Exchange => {
                    let subtree = groups.held(peer, self.level);
                    b.send(peer, self.for_subtree(&subtree));
                    let clipped = clipped.as_ref() == Some(&subtree);
                    b.recv(peer, self.arriving(&subtree, clipped));
                }
                Phase::Correction { .. } => {
                    if send.is_some() {
                        b.send(peer, self.for_peer(peer));
                    }
                    if let Some(sources) = receive {
                        b.recv(peer, self.arriving(&sources, true));
                    }
                }
            }
        }
        b.step();
    }
}

fn build(b: &mut Builder) {
    let (p, rank) = (b.ranks(), b.rank());
    let all = CompleteExchange::new(p, b.shape().ports() + 1);
    let groups = all.groups();
    let steps = groups.steps();
    let mut before = Held {
        sources: rank..rank + 1,
        destinations: all.held(rank, 0),
        at: b.input(),
        is_input: true,
    };
    for level in 0..groups.levels() {
        let (own, group) = (groups.held(rank, level), groups.held(rank, level + 1));
        if own == group {
            continue;
        }
        let destinations = all.held(rank, level + 1);
        let after = if level + 1 < groups.levels() {
            Held::scratch(b, group, destinations)
        } else {
            let (sources, at) = (group, b.output());
            Held {
                sources,
                destinations,
                at,
                is_input: false,
            }
        };
        let ends = all.passes(rank, level);
        let others = ends.iter().skip(1);
        let passed: Vec<u32> = others.flat_map(|end| all.held(*end, level + 1)).collect();
        let clipped = groups.clipped(rank, level).unwrap_or_default();
        let here = Level {
            all: &all,
            level,
            rank,
            before: &before,
            after: &after,
            passes: (ends, Held::scratch(b, clipped, passed)),
        };
        b.copy(here.for_subtree(&own), after.of(&own));
        for step in steps.iter().filter(|step| step.level == level) {
            here.step(b, *step);
        }
        before = after;
    }
    if before.is_input {
        b.copy(before.at, b.output());
    }
}

fn claims(shape: &Shape) -> Claims {
    let (p, ports) = (shape.ranks(), shape.ports());
    // Where a group is not full, ranks that have nothing to correct go on to the next level early.
    let mut clocks = alloc::vec![(0_u32, 0_u32); p as usize];
    let (mut sent, mut received) = (alloc::vec![0; p as usize], alloc::vec![0; p as usize]);
    let mut number = 0;
    for message in CompleteExchange::new(p, ports + 1).volumes() {
        let (from, to) = (message.from as usize, message.to as usize);
        if message.step.number != number {
            number = message.step.number;
            clocks.iter_mut().for_each(|clock| clock.0 = clock.1);
        }
        let meet = clocks[from].0.max(clocks[to].0) + 1;
        clocks[from].1 = clocks[from].1.max(meet);
        clocks[to].1 = clocks[to].1.max(meet);
        sent[from] += message.blocks;
        received[to] += message.blocks;
    }
    Claims {
        ports,
        steps: clocks.into_iter().map(|clock| clock.1).max().unwrap_or(0),
        volume: sent.into_iter().chain(received).max().unwrap_or(0),
        work: 0,
    }
}
