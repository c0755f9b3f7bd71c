//! A rank's memory in a symbolic run: what each block holds, and who touched it last.

use super::{Failure, Law, Value, unit_of};
use crate::call::{Alias, Call, Unit};
use crate::schedule::{Schedule, Space};
use alloc::format;
use alloc::vec;
use alloc::vec::Vec;
use core::num::NonZeroU32;

/// Who touches a block: the operation's lane (a strand, or an operation of a repeat), its place in that
/// lane (counted from 1), and the operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Access {
    pub lane: u16,
    pub place: NonZeroU32,
    pub op: u32,
}

/// For each lane of the rank, how many of its places are known to be done.
pub(super) type Clock = Vec<u32>;

impl Access {
    /// Whether this access is done before anything that starts under `clock`.
    fn before(self, clock: &Clock) -> bool {
        clock[self.lane as usize] >= self.place.get()
    }
}

#[derive(Clone, Debug, Default)]
struct Touched {
    writer: Option<Access>,
    readers: Readers,
}

/// Who has read a block since it was written: nearly always two at most.
#[derive(Clone, Debug, Default)]
struct Readers {
    first: [Option<Access>; 2],
    more: Vec<Access>,
}

impl Readers {
    fn iter(&self) -> impl Iterator<Item = &Access> {
        self.first.iter().flatten().chain(&self.more)
    }

    fn retain(&mut self, keep: impl Fn(&Access) -> bool) {
        for reader in &mut self.first {
            *reader = reader.filter(&keep);
        }
        self.more.retain(keep);
    }

    fn push(&mut self, reader: Access) {
        match self.first.iter_mut().find(|place| place.is_none()) {
            Some(place) => *place = Some(reader),
            None => self.more.push(reader),
        }
    }
}

/// One rank's input, output and scratch in one call.
pub(super) struct Memory<'a> {
    pub schedule: &'a Schedule,
    pub call: &'a Call,
    alias: Alias,
    values: [Vec<Value>; 3],
    touched: [Vec<Touched>; 3],
}

impl<'a> Memory<'a> {
    pub(super) fn new(
        schedule: &'a Schedule,
        call: &'a Call,
        first: &mut dyn FnMut(u32) -> Value,
    ) -> Memory<'a> {
        let rank = schedule.rank;
        let scratch = schedule.scratch.last().map_or(0, |r| r.first + r.blocks);
        let counts = [
            call.input_blocks(rank, schedule.parts),
            call.output_blocks(rank, schedule.parts),
            scratch,
        ];
        let mut memory = Memory {
            schedule,
            call,
            alias: call.alias(rank, schedule.parts),
            values: counts.map(|n| vec![Value::NONE; n as usize]),
            touched: counts.map(|n| vec![Touched::default(); n as usize]),
        };
        for block in 0..counts[0] {
            let (space, at) = memory.home(Space::Input, block);
            memory.values[space.index()][at] = first(block);
        }
        memory
    }

    /// Where a block really lies when spaces share memory.
    fn home(&self, space: Space, block: u32) -> (Space, usize) {
        match (self.alias, space) {
            (Alias::InputInOutput { first }, Space::Input) => {
                (Space::Output, (first + block) as usize)
            }
            (Alias::OutputInInput { first }, Space::Output) => {
                (Space::Input, (first + block) as usize)
            }
            _ => (space, block as usize),
        }
    }

    fn fail<T>(&self, law: Law, what: alloc::string::String) -> Result<T, Failure> {
        Err(Failure {
            law,
            rank: self.schedule.rank,
            what,
        })
    }

    pub(super) fn unit(&self, space: Space, block: u32) -> Unit {
        unit_of(self.schedule, self.call, space, block)
    }

    /// What a block holds, without touching it.
    pub(super) fn peek(&self, space: Space, block: u32) -> Value {
        let (space, at) = self.home(space, block);
        self.values
            .get(space.index())
            .and_then(|v| v.get(at))
            .copied()
            .unwrap_or(Value::NONE)
    }

    /// Reads a block: it has been written, and by nobody who may still be at it.
    pub(super) fn read(
        &mut self,
        space: Space,
        block: u32,
        who: Access,
        clock: &Clock,
    ) -> Result<Value, Failure> {
        let (home, at) = self.home(space, block);
        if at >= self.values[home.index()].len() {
            return self.fail(
                Law::Hazard,
                format!(
                    "op {} reads {space:?} block {block}, which is not there",
                    who.op
                ),
            );
        }
        let value = self.values[home.index()][at];
        let touched = &mut self.touched[home.index()][at];
        if let Some(writer) = touched.writer.filter(|w| !w.before(clock) && *w != who) {
            let what = format!(
                "op {} reads {space:?} block {block} while op {} may write it",
                who.op, writer.op
            );
            return self.fail(Law::Hazard, what);
        }
        // Of one lane only the latest readers matter: two of them, so that a writer which is one of
        // them still meets the other.
        touched
            .readers
            .retain(|r| r.lane != who.lane || r.place == who.place);
        if touched
            .readers
            .iter()
            .filter(|r| r.lane == who.lane)
            .count()
            < 2
            && !touched.readers.iter().any(|r| *r == who)
        {
            touched.readers.push(who);
        }
        if value.is_none() {
            return self.fail(
                Law::Hazard,
                format!(
                    "op {} reads {space:?} block {block} before it is written",
                    who.op
                ),
            );
        }
        Ok(value)
    }

    /// Claims a block for writing, from the start of the operation to its end; `sources` are the blocks that
    /// the operation reads at the same place (only these may be the block itself).
    pub(super) fn claim(
        &mut self,
        (space, block): (Space, u32),
        who: Access,
        clock: &Clock,
        sources: &[(Space, u32)],
    ) -> Result<(), Failure> {
        let (home, at) = self.home(space, block);
        if space == Space::Input {
            return self.fail(
                Law::Hazard,
                format!("op {} writes input block {block}", who.op),
            );
        }
        if at >= self.values[home.index()].len() {
            return self.fail(
                Law::Hazard,
                format!(
                    "op {} writes {space:?} block {block}, which is not there",
                    who.op
                ),
            );
        }
        let touched = &mut self.touched[home.index()][at];
        let unordered = |a: &&Access| **a != who && !a.before(clock);
        let other = touched
            .readers
            .iter()
            .chain(&touched.writer)
            .find(unordered)
            .copied();
        if let Some(other) = other {
            let what = format!(
                "op {} writes {space:?} block {block} while op {} may touch it",
                who.op, other.op
            );
            return self.fail(Law::Hazard, what);
        }
        if touched.writer == Some(who) {
            return self.fail(
                Law::Hazard,
                format!("op {} writes {space:?} block {block} twice", who.op),
            );
        }
        let reads_it = touched.readers.iter().any(|r| *r == who);
        touched.writer = Some(who);
        touched.readers.retain(|r| *r == who);
        if reads_it && !sources.iter().any(|&(s, b)| self.home(s, b) == (home, at)) {
            return self.fail(
                Law::Hazard,
                format!(
                    "op {} reads and writes {space:?} block {block} at different places",
                    who.op
                ),
            );
        }
        Ok(())
    }

    /// Writes a value into a claimed block: it must be of the unit that the block is sized for.
    pub(super) fn write(&mut self, space: Space, block: u32, value: Value) -> Result<(), Failure> {
        let unit = self.unit(space, block);
        if value.unit() != unit {
            let what = format!(
                "{space:?} block {block} is for block {unit} but gets block {}",
                value.unit()
            );
            return self.fail(Law::Matching, what);
        }
        let (home, at) = self.home(space, block);
        self.values[home.index()][at] = value;
        Ok(())
    }
}
