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

use super::BASE;
use crate::algorithm::{Algorithm, Claims, InPlace, Key, Requirement};
use crate::pattern::complete_exchange::{CompleteExchange, Ends};
use crate::pattern::multiplying::{Phase, Step, Transfer};
use crate::pattern::progression::{Progression, append};
use crate::schedule::{Blocks, Builder, Shape, Space, Units};
use alloc::vec::Vec;
use core::ops::Range;

/// The algorithm.
pub const ALGORITHM: Algorithm = Algorithm {
    name: "standard-exchange",
    citation: "Q 5.1.3",
    summary: "groups of ports + 1 exchange all blocks for one another's digit; corrections where p is no power",
    requires: &[Requirement::AllCounts],
    keys: &[Key::PORTS],
    settings: &["", "ports=2", "ports=3", "ports=4"],
    in_place: InPlace::Staged,
    build,
    claims,
    ..BASE
};

/// Blocks that a rank holds: those of all `sources`, one destination after the other.
struct Held {
    sources: Range<u32>,
    /// By destination and then source; or the input, which has blocks in the order of ranks.
    at: Blocks,
    is_input: bool,
}

impl Held {
    /// Room for the blocks of `sources` for all these destinations.
    fn scratch(b: &mut Builder, sources: Range<u32>, destinations: &[Progression]) -> Held {
        let (ranks, width) = (b.ranks(), sources.end - sources.start);
        let rooms = destinations.iter().map(|some| {
            let units = Units::PairsByDestination {
                ranks,
                first: sources.start,
                width,
                onward: some.first,
                step: some.step,
            };
            b.scratch(units, width * some.times)
        });
        let all = rooms.reduce(|all, room| Blocks::new(all.space, all.first, all.run + room.run));
        Held {
            sources,
            at: all.unwrap_or(Blocks::new(Space::Scratch, 0, 0)),
            is_input: false,
        }
    }

    fn width(&self) -> u32 {
        self.sources.end - self.sources.start
    }

    /// All blocks for the destinations with these places.
    fn part(&self, places: impl IntoIterator<Item = Progression>) -> Vec<Blocks> {
        let (width, at) = (self.width(), self.at);
        let sets = places.into_iter().map(|some| {
            let first = at.first + some.first * width;
            match some.times {
                1 => Blocks::new(at.space, first, width),
                times => {
                    let stride = (some.step * width) as i32;
                    Blocks::strided(at.space, first, width, stride, times)
                }
            }
        });
        sets.collect()
    }

    /// The blocks of some of the sources, for all destinations.
    fn of(&self, some: &Range<u32>) -> Blocks {
        let (at, width) = (self.at, self.width());
        Blocks::strided(
            at.space,
            at.first + (some.start - self.sources.start),
            some.end - some.start,
            width as i32,
            at.run.checked_div(width).unwrap_or(0),
        )
    }
}

/// What of a span is for the subtree that starts at `offset` of the group, and those after it.
fn from(span: &Range<u32>, offset: u32) -> Range<u32> {
    span.start + offset.min(span.end - span.start)..span.end
}

/// The destinations whose blocks a rank passes on, of each span.
fn passed(ends: &Ends, group: u32, spans: &[Range<u32>]) -> Vec<Progression> {
    let mut destinations = Vec::new();
    for span in spans {
        let there = from(span, ends.subtree.start - group);
        let some = Progression {
            first: there
                .start
                .saturating_add(ends.offset)
                .saturating_add(ends.step),
            step: ends.step,
            times: ends.below(there.end - there.start).saturating_sub(1),
        };
        append(&mut destinations, some);
    }
    destinations
}

/// What a rank does at one level.
struct Level<'a> {
    all: &'a CompleteExchange,
    level: u32,
    rank: u32,
    /// Those of the group.
    spans: &'a [Range<u32>],
    before: &'a Held,
    after: &'a Held,
    /// Blocks of the clipped subtree that this rank passes on: those with whom they end, and where they lie meanwhile.
    passes: Option<(Ends, Held)>,
}

impl Level<'_> {
    /// The blocks that go to a subtree of the group: those that stay where they arrive, and then those that are passed on.
    fn for_subtree(&self, subtree: &Range<u32>) -> Vec<Blocks> {
        let groups = self.all.groups();
        let own = groups.held(self.rank, self.level);
        if own.len() as u32 == self.all.width(self.level) {
            return self.before.part(self.for_digit(subtree));
        }
        let group = groups.held(self.rank, self.level + 1).start;
        let ends = self.all.subtrees(self.rank, self.level);
        let ends = ends.map(|other| self.all.ends(self.rank, self.level, &other));
        let ends: Vec<Ends> = ends.collect();
        let (mut stay, mut pass) = (Vec::new(), Vec::new());
        let mut place = 0;
        for span in self.spans {
            for ends in &ends {
                let there = from(span, ends.subtree.start - group);
                let count = ends.below(there.end - there.start);
                if ends.subtree == *subtree && count > 0 {
                    // The input has the destinations in a row as well.
                    let first = if self.before.is_input {
                        there.start + ends.offset
                    } else {
                        place
                    };
                    let some = |first, times| Progression {
                        first,
                        step: 1,
                        times,
                    };
                    append(&mut stay, some(first, 1));
                    append(&mut pass, some(first + 1, count - 1));
                }
                place += count;
            }
        }
        self.before.part(stay.into_iter().chain(pass))
    }

    /// The places of the destinations whose digit is that of `subtree`, where this rank's own is full.
    fn for_digit(&self, subtree: &Range<u32>) -> Vec<Progression> {
        let groups = self.all.groups();
        let own = groups.held(self.rank, self.level);
        let group = groups.held(self.rank, self.level + 1);
        let (offset, width) = (self.rank - own.start, own.end - own.start);
        let (digit, radix) = ((subtree.start - group.start) / width, self.all.radix());
        let mut places = Vec::new();
        let mut place = 0;
        for span in self.spans {
            let len = span.end - span.start;
            let count = len.saturating_sub(offset).div_ceil(width);
            let start = if self.before.is_input {
                span.start
            } else {
                place
            };
            let some = Progression {
                first: start + digit,
                step: radix,
                times: count.saturating_sub(digit).div_ceil(radix),
            };
            append(&mut places, some);
            place += count;
        }
        places
    }

    /// Where what comes from a subtree of the group goes.
    fn arriving(&self, subtree: &Range<u32>, clipped: bool) -> Vec<Blocks> {
        let passed = self.passes.iter().filter(|_| clipped);
        let passed = passed.map(|(_, held)| held.of(&held.sources));
        core::iter::once(self.after.of(subtree))
            .chain(passed)
            .collect()
    }

    /// The blocks of the clipped subtree that `peer` gets from here in a correction.
    fn for_peer(&self, peer: u32) -> Vec<Blocks> {
        let theirs = self.all.passes(peer, self.level);
        let (Some((mine, held)), Some(theirs)) = (&self.passes, theirs) else {
            return Vec::new();
        };
        // Of the blocks for each span, those that stay here have no place in what is passed on.
        let ahead = (theirs.offset - mine.offset) / mine.step - 1;
        let step = theirs.step / mine.step;
        let (mut stay, mut pass) = (Vec::new(), Vec::new());
        let mut place = 0;
        let group = self.all.groups().held(self.rank, self.level + 1).start;
        for span in self.spans {
            let here = from(span, mine.subtree.start - group);
            let len = here.end - here.start;
            let count = theirs.below(len);
            let some = |first, times| Progression { first, step, times };
            append(&mut stay, some(place + ahead, count.min(1)));
            append(
                &mut pass,
                some(place + ahead + step, count.saturating_sub(1)),
            );
            place += mine.below(len).saturating_sub(1);
        }
        held.part(stay.into_iter().chain(pass))
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
    let (spans, steps) = (all.spans(rank), groups.steps());
    let mut before = Held {
        sources: rank..rank + 1,
        at: b.input(),
        is_input: true,
    };
    for level in 0..groups.levels() {
        let (own, group) = (groups.held(rank, level), groups.held(rank, level + 1));
        if own == group {
            continue;
        }
        let after = if level + 1 < groups.levels() {
            let mut destinations = Vec::new();
            for some in all.held(rank, level + 1, &spans) {
                append(&mut destinations, some);
            }
            Held::scratch(b, group, &destinations)
        } else {
            Held {
                sources: group,
                at: b.output(),
                is_input: false,
            }
        };
        let passes = all.passes(rank, level).map(|ends| {
            let clipped = groups.clipped(rank, level).unwrap_or_default();
            let passed = passed(&ends, after.sources.start, spans.before(level + 1));
            (ends, Held::scratch(b, clipped, &passed))
        });
        let here = Level {
            all: &all,
            level,
            rank,
            spans: spans.before(level + 1),
            before: &before,
            after: &after,
            passes,
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
    let ports = shape.ports();
    let (steps, volume) = CompleteExchange::new(shape.ranks(), ports + 1).costs();
    Claims {
        ports,
        steps,
        volume,
        work: 0,
    }
}
