//! Flags and puts of a walk: notifications travel with the put before them, or on their own.

use super::super::model::{Deed, Model};
use super::message::{End, Load};
use super::{Instance, Walker};
use crate::schedule::{OpKind, Schedule};
use alloc::collections::{BTreeMap, VecDeque};
use alloc::vec::Vec;

/// A flag as one rank that waits for it sees it: how often it was raised, what the rank's waits took, and who waits for how
/// many.
#[derive(Clone, Debug, Default)]
pub(super) struct Flag {
    raised: u64,
    taken: u64,
    waiting: VecDeque<(Instance, u64)>,
}

/// The flags of a world, by (rank, flag), as each rank that waits for them sees them.
pub(super) type Flags = BTreeMap<(u32, u16), BTreeMap<u32, Flag>>;

/// The flags that the schedules wait for.
pub(super) fn watched(schedules: &[Schedule]) -> Flags {
    let mut flags = Flags::new();
    for schedule in schedules {
        for op in &schedule.ops {
            if let OpKind::Wait { at, flag, .. } = op.kind {
                let seen = Flag {
                    raised: u64::from(schedule.credits[usize::from(flag)]),
                    ..Flag::default()
                };
                flags
                    .entry((at, flag))
                    .or_default()
                    .insert(schedule.rank, seen);
            }
        }
    }
    flags
}

/// The puts of a strand to one rank.
#[derive(Clone, Debug, Default)]
pub(super) struct Puts {
    issued: u32,
    /// Whether a put has been issued since the last notification.
    news: bool,
    flying: Vec<u32>,
    /// Notifications that wait for the puts before them: (puts before it, flag).
    riding: VecDeque<(u32, u16)>,
}

impl Puts {
    fn over(&self, before: u32) -> bool {
        self.flying.iter().all(|&put| put >= before)
    }
}

impl<M: Model> Walker<'_, M> {
    pub(super) fn put(&mut self, to: u32, end: End, path: M::Path) {
        let put = end.instance;
        let puts = self.puts.entry((put.rank, put.strand, to)).or_default();
        let number = puts.issued;
        puts.issued += 1;
        puts.news = true;
        puts.flying.push(number);
        let load = Load::Put { put, number };
        self.launch((put.rank, to), end, load, Deed::Put(to), path);
    }

    /// The notifier does not wait: a notification has no source that it might want to use again.
    pub(super) fn notify(&mut self, to: u32, flag: u16, end: End, path: M::Path) {
        let notify = end.instance;
        let key = (notify.rank, notify.strand, to);
        let puts = self.puts.entry(key).or_default();
        if M::MEETS && core::mem::take(&mut puts.news) {
            puts.riding.push_back((puts.issued, flag));
            self.let_ride(key, path);
        } else if to == notify.rank {
            self.raise_own(flag, end, path);
        } else {
            let load = Load::Notice { flag };
            self.launch((notify.rank, to), end, load, Deed::Notify(to), path);
        }
        self.complete(notify, path);
    }

    pub(super) fn put_arrived(&mut self, key: (u32, u16, u32), number: u32, path: M::Path) {
        if let Some(puts) = self.puts.get_mut(&key) {
            puts.flying.retain(|&put| put != number);
        }
        self.let_ride(key, path);
    }

    /// Raises the flags whose puts have all arrived.
    fn let_ride(&mut self, key: (u32, u16, u32), path: M::Path) {
        while let Some(puts) = self.puts.get_mut(&key)
            && let Some(&(before, flag)) = puts.riding.front()
            && puts.over(before)
        {
            puts.riding.pop_front();
            self.raise(key.2, flag, path);
        }
    }

    /// Everyone who waits for the flag sees that it is raised.
    pub(super) fn raise(&mut self, at: u32, flag: u16, path: M::Path) {
        for watcher in self.watchers(at, flag) {
            self.see((at, flag), watcher, path);
        }
    }

    /// A rank raises its own flag: to others that is a message from it.
    fn raise_own(&mut self, flag: u16, end: End, path: M::Path) {
        let at = end.instance.rank;
        for watcher in self.watchers(at, flag) {
            if watcher == at {
                self.see((at, flag), at, path);
            } else {
                self.offer((at, watcher), end, Load::Sight { flag }, path);
            }
        }
    }

    fn watchers(&self, at: u32, flag: u16) -> Vec<u32> {
        let seen = self.flags.get(&(at, flag));
        seen.map_or(Vec::new(), |seen| seen.keys().copied().collect())
    }

    /// Rank `watcher` sees that a flag has been raised.
    pub(super) fn see(&mut self, flag: (u32, u16), watcher: u32, path: M::Path) {
        let Some(flag) = self.flags.get_mut(&flag).and_then(|f| f.get_mut(&watcher)) else {
            return;
        };
        flag.raised += 1;
        let raised = flag.raised;
        if let Some(&(waiter, _)) = flag.waiting.front().filter(|w| w.1 <= raised) {
            flag.waiting.pop_front();
            self.complete(waiter, path);
        }
    }

    pub(super) fn wait(&mut self, waiter: Instance, flag: (u32, u16), count: u32, path: M::Path) {
        let seen = self.flags.entry(flag).or_default();
        let flag = seen.entry(waiter.rank).or_default();
        flag.taken += u64::from(count);
        if flag.taken <= flag.raised {
            self.complete(waiter, path);
        } else {
            let target = flag.taken;
            flag.waiting.push_back((waiter, target));
        }
    }
}
