//! Standard exchange: in step i the ranks of a group of k + 1 that differ in digit i exchange all blocks for one another's digit.
//!
//! The groups are those of the allgather of this name: log_(k+1) p steps of p/(k + 1) blocks on each of k ports for powers of k + 1.
//! Other numbers of ranks take correction steps, as there. The paper says so (Q 7.3: "a penalty for 16 processes due to correction
//! steps") and not what is sent in them; here a rank of the clipped subtree sends the blocks for offsets that its subtree lacks along
//! with those for its own, and the corrections scatter them as those of the allgather spread copies
//! (`crates/allhands-core/src/pattern/complete_exchange.rs`).
//!
//! Before a level a rank holds the blocks of all ranks of its subtree, for some destinations; after it, those of its whole group, for
//! fewer. In between it keeps the blocks for each destination together, so that later steps send fewer and longer runs.
//!
//! ```text
//! 4 ranks      0⇄1 2⇄3: blocks for the other's low bit      0⇄2 1⇄3: blocks for the other's high bit
//! 5 ranks      0⇄1 2⇄3      0⇄2 1⇄3      0⇄4      corrections: 0→1, then 0→2 and 1→3: 4's blocks
//! ```
//!
//! Source: Q 5.1.3, equation 5.

mod held;
mod level;
mod passing;

use super::BASE;
use crate::algorithm::{Algorithm, Claims, InPlace, Key, Requirement};
use crate::pattern::complete_exchange::CompleteExchange;
use crate::pattern::multiplying::{Phase, Step, Transfer};
use crate::schedule::{Blocks, Builder, Shape};
use alloc::vec;
use alloc::vec::Vec;
use core::ops::Range;
use held::Held;
use level::Level;
use passing::Passing;

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

fn build(b: &mut Builder) {
    if b.ranks() == 1 {
        return b.copy(b.input(), b.output());
    }
    let all = CompleteExchange::new(b.ranks(), b.shape().ports() + 1);
    let (groups, spans) = (all.groups(), all.spans(b.rank()));
    let (steps, levels) = (groups.steps(), groups.levels());
    let mut held = Held::input(b);
    for number in 0..levels {
        let level = Level::new(&all, number, b.rank(), &spans);
        if level.own == level.group {
            continue;
        }
        let sources = level.group.clone();
        let after = match number + 1 == levels {
            true => Held::output(b, sources),
            false => Held::scratch(b, sources, &level.destinations_after(&spans)),
        };
        let turn = Turn {
            before: held,
            after,
            passing: Passing::new(b, &level),
            level,
        };
        turn.keep_own(b);
        for step in steps.iter().filter(|step| step.level == number) {
            turn.step(b, *step);
        }
        held = turn.after;
    }
}

/// A level: what a rank holds before it and after it, and what it passes on meanwhile.
struct Turn<'a> {
    level: Level<'a>,
    before: Held,
    after: Held,
    passing: Option<Passing>,
}

impl Turn<'_> {
    /// The blocks that are for the own subtree anyway.
    fn keep_own(&self, b: &mut Builder) {
        let own = &self.level.own;
        b.copy(
            self.level.for_subtree(&self.before, own),
            self.after.of(own),
        );
    }

    /// An exchange with all others of the group that have the same offset, or a correction.
    fn step(&self, b: &mut Builder, step: Step) {
        let transfers = self.level.all.groups().transfers(b.rank(), step);
        for (port, transfer) in (0..).zip(transfers) {
            b.port(port);
            match step.phase {
                Phase::Exchange => self.exchange(b, transfer.peer),
                Phase::Correction { .. } => self.correct(b, &transfer),
            }
        }
        b.step();
    }

    /// With a rank of another subtree: the blocks that are for that subtree against those that are for the own.
    fn exchange(&self, b: &mut Builder, peer: u32) {
        let theirs = self.level.all.groups().held(peer, self.level.number);
        b.send(peer, self.level.for_subtree(&self.before, &theirs));
        b.recv(peer, self.arriving(&theirs));
    }

    /// Within the own subtree: blocks from the clipped subtree go on to where those belong that have no partner in it.
    fn correct(&self, b: &mut Builder, transfer: &Transfer) {
        let (level, peer) = (&self.level, transfer.peer);
        if transfer.send.is_some() {
            let theirs = level.all.passes(peer, level.number);
            let both = self.passing.as_ref().zip(theirs);
            let blocks = both.map(|(own, theirs)| own.for_peer(level, &theirs));
            b.send(peer, blocks.unwrap_or_default());
        }
        if let Some(sources) = &transfer.receive {
            b.recv(peer, self.arriving(sources));
        }
    }

    /// Where what comes from a subtree goes: what stays, and, if that is the clipped one, what is passed on.
    fn arriving(&self, subtree: &Range<u32>) -> Vec<Blocks> {
        let mut places = vec![self.after.of(subtree)];
        let held = self.passing.as_ref().map(|passing| &passing.held);
        let passed = held.filter(|held| held.sources == *subtree);
        places.extend(passed.map(|held| held.of(subtree)));
        places
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
