//! Windows and flags in a symbolic run: who may touch a window when, across ranks and calls.

use super::{Failure, Law, Value};
use crate::schedule::Schedule;
use alloc::collections::{BTreeMap, BTreeSet};
use alloc::format;
use alloc::rc::Rc;
use alloc::vec::Vec;

/// For each strand of the world two counters: items done, and items whose puts are visible. Where nodes share no memory, also for each rank
/// of other nodes: what was put to that one and is visible.
pub(super) type WorldClock = Vec<u32>;

/// What a message or notification tells the receiver about the world.
#[derive(Clone, Debug, Default)]
pub(super) struct Knowledge {
    /// What happened before; none where no schedule has a window.
    pub clock: Option<Rc<WorldClock>>,
    /// The ranks known to have entered, as bits; none where the call is no barrier.
    pub entered: Option<Rc<Vec<u64>>>,
}

impl Knowledge {
    /// Adds what `other` tells.
    pub(super) fn join(&mut self, other: &Knowledge) {
        join(&mut self.clock, &other.clock, u32::max);
        join(&mut self.entered, &other.entered, |own, told| own | told);
    }
}

/// Joins what is told to one's own; where one of them tells all of the other, it is shared and not copied.
fn join<T: Copy + Eq>(
    own: &mut Option<Rc<Vec<T>>>,
    told: &Option<Rc<Vec<T>>>,
    both: impl Fn(T, T) -> T,
) {
    let (Some(mine), Some(told)) = (own.as_mut(), told) else {
        *own = own.take().or_else(|| told.clone());
        return;
    };
    let pairs = || mine.iter().zip(told.iter()).map(|(m, t)| (*m, *t));
    if pairs().all(|(m, t)| both(m, t) == t) {
        *mine = Rc::clone(told);
    } else if !pairs().all(|(m, t)| both(m, t) == m) {
        let mine = Rc::make_mut(mine).iter_mut();
        mine.zip(told.iter()).for_each(|(m, t)| *m = both(*m, *t));
    }
}

/// An access to a window: the counter that orders it, and the count at which it is done.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Stamp {
    pub counter: u32,
    pub place: u32,
}

impl Stamp {
    fn before(self, clock: &WorldClock) -> bool {
        clock[self.counter as usize] >= self.place
    }
}

#[derive(Clone, Debug)]
struct WindowBlock {
    value: Value,
    writer: Option<Stamp>,
    readers: Vec<Stamp>,
}

/// A notification: who raised the flag, when, and what it tells.
#[derive(Clone, Debug)]
pub(super) struct Notification {
    pub from: u32,
    pub stamp: Stamp,
    pub round: u32,
    pub knowledge: Knowledge,
}

impl Notification {
    /// Whether it cannot be raised before `earlier` is: by the same strand, or by one that knows of it.
    fn follows(&self, earlier: &Notification) -> bool {
        let clock = self.knowledge.clock.as_deref();
        self.stamp.counter == earlier.stamp.counter
            || clock.is_some_and(|clock| earlier.stamp.before(clock))
    }
}

/// What the first notifications of a flag tell together, and the last round of any.
#[derive(Clone, Debug, Default)]
pub(super) struct Told {
    pub round: u32,
    /// The round after the last of those that the flag's own rank raised, which have yet to travel to who waits elsewhere.
    own_round: u32,
    pub knowledge: Knowledge,
}

#[derive(Clone, Debug, Default)]
struct Flag {
    posted: Vec<Notification>,
    /// For each rank that waits for it, how many notifications its waits took, those of its credit included.
    taken: BTreeMap<u32, u32>,
    /// For every number of notifications that some wait needed, what they tell.
    told: BTreeMap<u32, Told>,
    /// How often it is raised when a strand that waits asks again, and which.
    waiting: BTreeSet<(u32, (u32, u16))>,
}

impl Flag {
    /// What the first `needed` notifications tell, which are there.
    fn tell(&mut self, at: u32, needed: u32) -> Told {
        if let Some(told) = self.told.get(&needed) {
            return told.clone();
        }
        let before = self.told.range(..needed).next_back();
        let (from, mut told) = before.map_or((0, Told::default()), |(n, t)| (*n, t.clone()));
        for notification in &self.posted[from as usize..needed as usize] {
            if notification.from == at {
                told.own_round = told.own_round.max(notification.round + 1);
            }
            told.round = told.round.max(notification.round);
            told.knowledge.join(&notification.knowledge);
        }
        if needed > 0 {
            self.told.insert(needed, told.clone());
        }
        told
    }

    /// A notification that may come before one that some wait needs and it does not, if there is any.
    fn early(&self) -> Option<&Notification> {
        let mut parts = Vec::new();
        let mut start = 0;
        for end in self
            .told
            .keys()
            .map(|n| *n as usize)
            .chain([self.posted.len()])
        {
            parts.push(&self.posted[start..end]);
            start = end;
        }
        // What follows all of a part follows all before it, as each part follows the one before.
        parts.windows(2).find_map(|two| {
            two[1]
                .iter()
                .find(|later| !two[0].iter().all(|earlier| later.follows(earlier)))
        })
    }
}

/// All windows and flags of the world.
#[derive(Default)]
pub(super) struct OneSided {
    windows: Vec<Vec<WindowBlock>>,
    /// By rank and number.
    flags: Vec<Vec<Flag>>,
    /// Of each rank's waits, by flag.
    credits: Vec<Vec<u32>>,
}

impl OneSided {
    /// Makes the window of `rank` at least `blocks` long.
    pub(super) fn grow(&mut self, rank: u32, blocks: u32) {
        let fresh = WindowBlock {
            value: Value::NONE,
            writer: None,
            readers: Vec::new(),
        };
        if self.windows.len() <= rank as usize {
            self.windows.resize(rank as usize + 1, Vec::new());
        }
        let window = &mut self.windows[rank as usize];
        if window.len() < blocks as usize {
            window.resize(blocks as usize, fresh);
        }
    }

    /// Makes the flags that a schedule names, and gives its rank's waits for those that are new their credits.
    pub(super) fn make_flags(&mut self, schedule: &Schedule) {
        let Schedule {
            rank,
            flags,
            credits,
            ..
        } = schedule;
        let (at, count) = (*rank as usize, *flags as usize);
        if self.flags.len() <= at {
            self.flags.resize_with(at + 1, Vec::new);
            self.credits.resize_with(at + 1, Vec::new);
        }
        if self.flags[at].len() < count {
            self.flags[at].resize_with(count, Flag::default);
        }
        let known = self.credits[at].len();
        self.credits[at].extend(credits.iter().skip(known));
    }

    /// What a block of the window of `owner` holds, without touching it.
    pub(super) fn peek(&self, owner: u32, block: u32) -> Value {
        let window = self.windows.get(owner as usize);
        window
            .and_then(|w| w.get(block as usize))
            .map_or(Value::NONE, |b| b.value)
    }

    /// What a block of the window of `owner` holds, for a rank that knows of its write.
    pub(super) fn look(
        &self,
        rank: u32,
        (owner, block): (u32, u32),
        clock: &WorldClock,
    ) -> Result<Value, Failure> {
        let fail = |what| {
            Err(Failure {
                law: Law::Window,
                rank,
                what,
            })
        };
        let window = self.windows.get(owner as usize);
        let Some(cell) = window.and_then(|w| w.get(block as usize)) else {
            return fail(format!(
                "reads block {block} of the window of rank {owner}, which is not there"
            ));
        };
        if cell.writer.is_some_and(|w| !w.before(clock)) {
            return fail(format!(
                "reads block {block} of the window of rank {owner} before it is notified of the write"
            ));
        }
        if cell.value.is_none() {
            return fail(format!(
                "reads block {block} of the window of rank {owner} before it is written"
            ));
        }
        Ok(cell.value)
    }

    /// Reads a block of the window of `owner`.
    pub(super) fn read(
        &mut self,
        rank: u32,
        (owner, block): (u32, u32),
        stamp: Stamp,
        clock: &WorldClock,
    ) -> Result<Value, Failure> {
        let value = self.look(rank, (owner, block), clock)?;
        let cell = &mut self.windows[owner as usize][block as usize];
        cell.readers.retain(|r| r.counter != stamp.counter);
        cell.readers.push(stamp);
        Ok(value)
    }

    /// Reads a block of the window of `owner` and leaves nothing there, which is as good as writing it.
    pub(super) fn take_out(
        &mut self,
        rank: u32,
        block: (u32, u32),
        stamp: Stamp,
        clock: &WorldClock,
    ) -> Result<Value, Failure> {
        let value = self.look(rank, block, clock)?;
        self.write(rank, block, Value::NONE, stamp, clock)?;
        Ok(value)
    }

    /// Writes a block of the window of `owner`.
    pub(super) fn write(
        &mut self,
        rank: u32,
        (owner, block): (u32, u32),
        value: Value,
        stamp: Stamp,
        clock: &WorldClock,
    ) -> Result<(), Failure> {
        let fail = |what| {
            Err(Failure {
                law: Law::Window,
                rank,
                what,
            })
        };
        let window = self.windows.get_mut(owner as usize);
        let Some(cell) = window.and_then(|w| w.get_mut(block as usize)) else {
            return fail(format!(
                "writes block {block} of the window of rank {owner}, which is not there"
            ));
        };
        if cell
            .readers
            .iter()
            .chain(&cell.writer)
            .any(|s| !s.before(clock))
        {
            return fail(format!(
                "writes block {block} of the window of rank {owner} before it is granted"
            ));
        }
        *cell = WindowBlock {
            value,
            writer: Some(stamp),
            readers: Vec::new(),
        };
        Ok(())
    }

    /// Raises a flag.
    pub(super) fn notify(&mut self, (to, flag): (u32, u16), notification: Notification) {
        self.flags[to as usize][flag as usize]
            .posted
            .push(notification);
    }

    /// A strand that waited for as many notifications of a flag as there are now; it waits no longer.
    pub(super) fn served(&mut self, (at, flag): (u32, u16)) -> Option<(u32, u16)> {
        let flag = &mut self.flags[at as usize][flag as usize];
        let first = flag.waiting.first()?;
        if first.0 as usize > flag.posted.len() {
            return None;
        }
        flag.waiting.pop_first().map(|(_, strand)| strand)
    }

    /// Takes `count` notifications of a flag for the strand (rank, strand), if they are there, and says what they and
    /// all before them tell; otherwise notes who waits.
    pub(super) fn take(
        &mut self,
        (at, number): (u32, u16),
        count: u32,
        (rank, strand): (u32, u16),
    ) -> Option<Told> {
        let credits = self.credits[rank as usize].get(number as usize);
        let credit = credits.copied().unwrap_or(0);
        let flag = &mut self.flags[at as usize][number as usize];
        let taken = flag.taken.entry(rank).or_default();
        let needed = (*taken + count).saturating_sub(credit);
        if (flag.posted.len() as u32) < needed {
            flag.waiting.insert((needed, (rank, strand)));
            return None;
        }
        *taken += count;
        let mut told = flag.tell(at, needed);
        if rank != at {
            told.round = told.round.max(told.own_round);
        }
        Some(told)
    }

    /// After the run: everyone who waits for a flag took every notification, so that the next call finds it as this one
    /// did, and none could have come in the place of an earlier one.
    pub(super) fn check(&self) -> Result<(), Failure> {
        let named = |(at, flags): (usize, &'_ Vec<Flag>)| {
            let numbers = 0..flags.len();
            numbers.map(move |number| (at as u32, number))
        };
        for (at, number) in self.flags.iter().enumerate().flat_map(named) {
            let flag = &self.flags[at as usize][number];
            let raised = flag.posted.len() as u32;
            let fail = |law, rank, what| Err(Failure { law, rank, what });
            if raised > 0 && flag.taken.is_empty() {
                let what =
                    format!("nobody waits for flag {number}, which is raised {raised} times");
                return fail(Law::Matching, at, what);
            }
            if let Some((&rank, taken)) = flag.taken.iter().find(|(_, taken)| **taken != raised) {
                let what = format!(
                    "takes {taken} notifications of flag {number} of rank {at}, which is raised {raised} times"
                );
                return fail(Law::Matching, rank, what);
            }
            if let Some(early) = flag.early() {
                let what = format!(
                    "flag {number} may be raised by rank {} for the next wait before all others have raised it for this one",
                    early.from
                );
                return fail(Law::Window, at, what);
            }
        }
        Ok(())
    }
}
