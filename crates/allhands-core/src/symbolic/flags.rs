//! Windows and flags in a symbolic run: who may touch a window when, across ranks and calls.

use super::{Failure, Law, Value};
use alloc::collections::BTreeMap;
use alloc::format;
use alloc::rc::Rc;
use alloc::vec;
use alloc::vec::Vec;

/// For each strand of the world two counters: items done, and items whose puts are visible.
pub(super) type WorldClock = Vec<u32>;

/// What a message or notification tells the receiver about the world.
#[derive(Clone, Debug, Default)]
pub(super) struct Knowledge {
    /// What happened before; none where no schedule has a window.
    pub clock: Option<Rc<WorldClock>>,
    /// The ranks known to have entered, as bits; none where the call is no barrier.
    pub entered: Option<Rc<Vec<u64>>>,
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
    pub round: u32,
    pub knowledge: Knowledge,
}

#[derive(Clone, Debug, Default)]
struct Flag {
    posted: Vec<Option<Notification>>,
    taken: u32,
    credits: u32,
    /// Every wait that took its notifications: (how many had been taken after it, its stamp).
    waits: Vec<(u32, Stamp)>,
    waiting: Option<(u32, u16)>,
}

/// All windows and flags of the world.
#[derive(Default)]
pub(super) struct OneSided {
    windows: Vec<Vec<WindowBlock>>,
    flags: BTreeMap<(u32, u16), Flag>,
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

    /// Gives a flag its credits, the first time that a schedule names it.
    pub(super) fn credit(&mut self, rank: u32, flag: u16, credits: u32) {
        self.flags.entry((rank, flag)).or_insert_with(|| Flag {
            posted: vec![None; credits as usize],
            credits,
            ..Flag::default()
        });
    }

    /// What a block of the window of `owner` holds, without touching it.
    pub(super) fn peek(&self, owner: u32, block: u32) -> Value {
        let window = self.windows.get(owner as usize);
        window
            .and_then(|w| w.get(block as usize))
            .map_or(Value::NONE, |b| b.value)
    }

    /// Reads a block of the window of `owner`.
    pub(super) fn read(
        &mut self,
        rank: u32,
        (owner, block): (u32, u32),
        stamp: Stamp,
        clock: &WorldClock,
    ) -> Result<Value, Failure> {
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
                "reads block {block} of the window of rank {owner}, which is not there"
            ));
        };
        if cell.writer.is_some_and(|w| w != stamp && !w.before(clock)) {
            return fail(format!(
                "reads block {block} of the window of rank {owner} before it is notified of the write"
            ));
        }
        if cell.value.is_none() {
            return fail(format!(
                "reads block {block} of the window of rank {owner} before it is written"
            ));
        }
        cell.readers.retain(|r| r.counter != stamp.counter);
        cell.readers.push(stamp);
        Ok(cell.value)
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

    /// Raises a flag; returns the strand that may go on, if one waits.
    pub(super) fn notify(
        &mut self,
        (to, flag): (u32, u16),
        notification: Notification,
    ) -> Option<(u32, u16)> {
        let flag = self.flags.entry((to, flag)).or_default();
        flag.posted.push(Some(notification));
        flag.waiting
    }

    /// Takes `count` notifications, if they are there; otherwise notes who waits.
    pub(super) fn take(
        &mut self,
        (rank, flag): (u32, u16),
        count: u32,
        strand: u16,
        stamp: Stamp,
    ) -> Option<Vec<Notification>> {
        let flag = self.flags.entry((rank, flag)).or_default();
        let target = flag.taken + count;
        if (flag.posted.len() as u32) < target {
            flag.waiting = Some((rank, strand));
            return None;
        }
        let got = flag.posted[flag.taken as usize..target as usize]
            .iter()
            .flatten()
            .cloned()
            .collect();
        flag.waiting = None;
        flag.taken = target;
        flag.waits.push((target, stamp));
        Some(got)
    }

    /// After the run: every notification was waited for, and none could have been taken for an earlier one.
    pub(super) fn check(&self) -> Result<(), Failure> {
        for (&(rank, number), flag) in &self.flags {
            let left = flag.posted.len() as u32 - flag.taken;
            if left != flag.credits {
                let what = format!(
                    "flag {number} ends with {left} notifications that nobody waits for, not {}",
                    flag.credits
                );
                return Err(Failure {
                    law: Law::Matching,
                    rank,
                    what,
                });
            }
            let mut notifiers = flag.posted.iter().flatten().map(|n| n.from);
            let first = notifiers.next();
            if notifiers.all(|n| Some(n) == first) {
                continue;
            }
            for &(target, stamp) in &flag.waits {
                let later = flag.posted[target as usize..].iter().flatten();
                if let Some(early) = later.into_iter().find(|n| {
                    !n.knowledge
                        .clock
                        .as_deref()
                        .is_some_and(|clock| stamp.before(clock))
                }) {
                    let what = format!(
                        "flag {number} may be raised by rank {} for the next wait before this one is over",
                        early.from
                    );
                    return Err(Failure {
                        law: Law::Window,
                        rank,
                        what,
                    });
                }
            }
        }
        Ok(())
    }
}
