//! Looking ahead: what the next events of this moment will need is asked for at once, so that memory answers while others wait.
//!
//! An event touches a few lines of memory for a rank that may lie far from the last one's, and each of them would be waited
//! for by itself. Reading them for several events in a row lets the processor wait for all together.

use super::{Event, Network, Observer, World};
use crate::progress::Cursor;
use core::hint::black_box;

/// So many events are looked at together: about as many lines as a core asks for at once are under way.
const TOGETHER: usize = 32;

impl<N: Network, O: Observer> World<'_, N, O> {
    /// Asks for what the next events of this moment will need, each time so many have happened.
    #[inline]
    pub(super) fn look_ahead(&self, cursors: &[Cursor]) {
        // The first of them happens already.
        if self.queue.happened() % TOGETHER == 1 {
            let next = self.queue.coming();
            if next.len() > 1 {
                self.touch(&next[..next.len().min(TOGETHER)], cursors);
            }
        }
    }

    #[inline(never)]
    fn touch(&self, events: &[(u64, Event<N::Event>)], cursors: &[Cursor]) {
        // Of each rank that may go on: itself, its next operation, its next item.
        let (mut next, mut ranks, mut sum) = ([(0, 0, 0); TOGETHER], 0, 0);
        for (_, event) in events {
            let rank = match *event {
                Event::Wake(rank) => rank,
                Event::Arrived(number) => self.messages[number as usize].to,
                Event::Sent(number) => self.messages[number as usize].from,
                Event::Inside(event) => {
                    sum ^= self.network.look_at(event);
                    continue;
                }
            };
            let (own, cursor) = (&self.ranks[rank as usize], &cursors[rank as usize]);
            next[ranks] = (rank, own.next_op, cursor.next_item());
            ranks += 1;
        }
        for (rank, op, item) in &next[..ranks] {
            let plan = &self.plans[*rank as usize];
            // A step is most often a send and a receive, and the two may lie in two lines.
            let op = *op as usize;
            let two = plan.ops.get(op..op + 2);
            sum ^= two.map_or(0, |two| two[0].bytes() ^ two[1].bytes());
            let item = plan.items.get(*item as usize);
            sum ^= item.map_or(0, |item| item.end as usize);
        }
        black_box(sum);
    }
}
