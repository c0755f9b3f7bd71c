//! Flags and puts of a walk: notifications travel with the put before them, or on their own.

use super::message::{End, Load};
use super::{Breakdown, Instance, Walker};
use alloc::collections::{BTreeMap, VecDeque};
use alloc::vec::Vec;

/// A flag: how often it was raised, what each rank's waits took, and who waits for how many.
#[derive(Clone, Debug, Default)]
pub(super) struct Flag {
    raised: u64,
    taken: BTreeMap<u32, u64>,
    waiting: Vec<(Instance, u64)>,
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

impl Walker<'_> {
    pub(super) fn put(&mut self, to: u32, end: End, path: Breakdown) {
        let put = end.instance;
        let puts = self.puts.entry((put.rank, put.strand, to)).or_default();
        let number = puts.issued;
        puts.issued += 1;
        puts.news = true;
        puts.flying.push(number);
        self.offer(put.rank, to, end, Load::Put { put, number }, path);
    }

    /// The notifier does not wait: a notification has no source that it might want to use again.
    pub(super) fn notify(&mut self, to: u32, flag: u16, end: End, path: Breakdown) {
        let notify = end.instance;
        let key = (notify.rank, notify.strand, to);
        let puts = self.puts.entry(key).or_default();
        if core::mem::take(&mut puts.news) {
            puts.riding.push_back((puts.issued, flag));
            self.let_ride(key, path);
        } else if to == notify.rank {
            self.raise(to, flag, path);
        } else {
            self.offer(notify.rank, to, end, Load::Notice { flag }, path);
        }
        self.complete(notify, path);
    }

    pub(super) fn put_arrived(&mut self, key: (u32, u16, u32), number: u32, path: Breakdown) {
        if let Some(puts) = self.puts.get_mut(&key) {
            puts.flying.retain(|&put| put != number);
        }
        self.let_ride(key, path);
    }

    /// Raises the flags whose puts have all arrived.
    fn let_ride(&mut self, key: (u32, u16, u32), path: Breakdown) {
        while let Some(puts) = self.puts.get_mut(&key)
            && let Some(&(before, flag)) = puts.riding.front()
            && puts.over(before)
        {
            puts.riding.pop_front();
            self.raise(key.2, flag, path);
        }
    }

    pub(super) fn raise(&mut self, rank: u32, flag: u16, path: Breakdown) {
        let flag = self.flags.entry((rank, flag)).or_default();
        flag.raised += 1;
        let raised = flag.raised;
        let (done, waiting) = flag
            .waiting
            .iter()
            .partition(|(_, target)| *target <= raised);
        flag.waiting = waiting;
        let done: Vec<(Instance, u64)> = done;
        done.into_iter()
            .for_each(|(waiter, _)| self.complete(waiter, path));
    }

    /// A waiter's credit stands for notifications that there were before.
    pub(super) fn wait(
        &mut self,
        waiter: Instance,
        (at, number): (u32, u16),
        count: u32,
        path: Breakdown,
    ) {
        let credit = self.schedules[waiter.rank as usize].credits[usize::from(number)];
        let flag = self.flags.entry((at, number)).or_default();
        let taken = flag.taken.entry(waiter.rank).or_default();
        *taken += u64::from(count);
        let target = taken.saturating_sub(u64::from(credit));
        if target <= flag.raised {
            self.complete(waiter, path);
        } else {
            flag.waiting.push((waiter, target));
        }
    }
}
