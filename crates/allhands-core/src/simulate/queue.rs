//! The queue of events: by time, and of one moment in the order in which they were put in.
//!
//! A radix heap: an event lies in the bucket of the highest bit in which its time differs from now. When a moment is over,
//! the first bucket that is not empty is dealt out to those below it, in order; so an event moves at most once a bit, and the
//! cost of an event hardly depends on how many there are.

use alloc::vec::Vec;

/// A moment, in picoseconds from the start of the simulation.
pub type Moment = u64;

/// Events that are yet to happen.
#[derive(Debug)]
pub struct Queue<T> {
    now_ps: Moment,
    /// By the number of the highest bit that differs, counted from 1; those of this very moment in the first.
    buckets: Vec<Vec<(Moment, T)>>,
    /// The buckets, but for the first, that are not empty.
    filled: u64,
    /// How many of the first bucket have happened.
    happened: usize,
    spare: Vec<(Moment, T)>,
}

impl<T: Copy> Default for Queue<T> {
    fn default() -> Queue<T> {
        Queue {
            now_ps: 0,
            buckets: (0..=Moment::BITS).map(|_| Vec::new()).collect(),
            filled: 0,
            happened: 0,
            spare: Vec::new(),
        }
    }
}

impl<T: Copy> Queue<T> {
    /// The moment of the event that was taken last.
    #[must_use]
    pub fn now_ps(&self) -> Moment {
        self.now_ps
    }

    /// Puts in an event; nothing happens in the past, so one that should happens now.
    #[inline]
    pub fn push(&mut self, at_ps: Moment, event: T) {
        let at_ps = at_ps.max(self.now_ps);
        self.put(at_ps, event);
    }

    #[inline]
    fn put(&mut self, at_ps: Moment, event: T) {
        let bucket = Moment::BITS - (at_ps ^ self.now_ps).leading_zeros();
        if bucket > 0 {
            self.filled |= 1 << (bucket - 1);
        }
        self.buckets[bucket as usize].push((at_ps, event));
    }

    /// Takes the next event and goes on to its moment.
    #[inline]
    pub fn pop(&mut self) -> Option<T> {
        if self.happened == self.buckets[0].len() {
            self.buckets[0].clear();
            self.happened = 0;
            self.go_on()?;
        }
        let (_, event) = self.buckets[0][self.happened];
        self.happened += 1;
        Some(event)
    }

    /// How many events of this moment have happened.
    #[inline]
    pub(super) fn happened(&self) -> usize {
        self.happened
    }

    /// The events of this moment that are yet to happen, as far as they are known.
    #[inline]
    pub(super) fn coming(&self) -> &[(Moment, T)] {
        &self.buckets[0][self.happened..]
    }

    /// Goes on to the next moment in which something happens.
    fn go_on(&mut self) -> Option<()> {
        if self.filled == 0 {
            return None;
        }
        let bucket = self.filled.trailing_zeros() as usize + 1;
        self.filled &= self.filled - 1;
        let spare = core::mem::take(&mut self.spare);
        let mut dealt = core::mem::replace(&mut self.buckets[bucket], spare);
        let (first, last) = dealt
            .iter()
            .fold((Moment::MAX, 0), |(first, last), (at, _)| {
                (first.min(*at), last.max(*at))
            });
        self.now_ps = first;
        if first == last {
            // All are of this very moment.
            core::mem::swap(&mut self.buckets[0], &mut dealt);
        }
        for (at_ps, event) in dealt.drain(..) {
            self.put(at_ps, event);
        }
        self.spare = dealt;
        Some(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::collections::BTreeMap;

    /// Against a sorted map, with events that come while others happen.
    #[test]
    fn events_happen_by_time_and_then_in_the_order_they_came() {
        let (mut queue, mut sorted) = (Queue::default(), BTreeMap::new());
        let (mut seed, mut number) = (7_u64, 0_u64);
        let mut chance = move |below: u64| {
            seed = seed.wrapping_mul(0x5851_f42d_4c95_7f2d).wrapping_add(1);
            (seed >> 33) % below
        };
        for _ in 0..20_000 {
            for _ in 0..chance(3) {
                let far = [1, 4, 1000, 1 << 40][chance(4) as usize];
                let at_ps = queue.now_ps() + chance(far);
                queue.push(at_ps, number);
                sorted.insert((at_ps, number), ());
                number += 1;
            }
            let expected = sorted.pop_first();
            assert_eq!(queue.pop(), expected.map(|((_, number), ())| number));
            if let Some(((at_ps, _), ())) = expected {
                assert_eq!(queue.now_ps(), at_ps);
            }
        }
    }

    #[test]
    fn what_should_have_happened_happens_now() {
        let mut queue = Queue::default();
        queue.push(10, 'a');
        assert_eq!(queue.pop(), Some('a'));
        queue.push(3, 'b');
        assert_eq!((queue.pop(), queue.now_ps()), (Some('b'), 10));
        assert_eq!(queue.pop(), None);
    }
}
