//! Looking ahead: what the next events of this moment will need is asked for before they happen, so that memory has it by then.
//!
//! An event touches a few lines of memory for a rank that may lie far from the last one's, and each of them would be waited
//! for by itself. Where they are is found out in stages, as what one line says leads to the next: an event is at the first stage
//! while many others are before it, and at the last one shortly before it happens.

use super::{Event, Network, Observer, World};
use crate::progress::Cursor;

/// How many events are before one that is looked at, by stage.
const BEFORE: [usize; 3] = [24, 16, 8];

impl<N: Network, O: Observer> World<'_, N, O> {
    /// Takes the events of this moment that are to come one step nearer.
    #[inline]
    pub(super) fn look_ahead(&self, cursors: &[Cursor]) {
        let coming = self.queue.coming();
        if self.queue.happened() == 1 {
            // They are the first, and have not been looked at.
            for (stage, before) in BEFORE.into_iter().enumerate() {
                for (_, event) in coming.iter().take(before) {
                    self.look_at(*event, stage, cursors);
                }
            }
        }
        for (stage, before) in BEFORE.into_iter().enumerate() {
            if let Some((_, event)) = coming.get(before) {
                self.look_at(*event, stage, cursors);
            }
        }
    }

    #[inline]
    fn look_at(&self, event: Event<N::Event>, stage: usize, cursors: &[Cursor]) {
        match event {
            Event::Wake(rank) => self.look_at_rank(rank, stage, cursors),
            Event::Arrived(number) | Event::Sent(number) => {
                let message = &self.messages[number as usize];
                if stage == 0 {
                    O::soon(message, |message| message.to as usize);
                    return;
                }
                let rank = match event {
                    Event::Arrived(_) => message.to,
                    _ => message.from,
                };
                self.look_at_rank(rank, stage - 1, cursors);
            }
            Event::Inside(event) => self.network.look_at::<O>(event, stage),
        }
    }

    /// A rank may go on: its state, its next operations and its next item.
    #[inline]
    fn look_at_rank(&self, rank: u32, stage: usize, cursors: &[Cursor]) {
        let at = rank as usize;
        let (own, cursor, plan) = (&self.ranks[at], &cursors[at], &self.plans[at]);
        match stage {
            0 => {
                O::soon(own, |own| own.next_op as usize);
                O::soon(cursor, |cursor| cursor.next_item() as usize);
                O::soon(&plan.items, |items| items.len());
                self.network.look_at_rank::<O>(rank);
            }
            1 => {
                // A step is most often a send and a receive, and the two may lie in two lines.
                let op = own.next_op as usize;
                for op in plan.ops.get(op..op + 2).unwrap_or_default() {
                    O::soon(op, |op| op.bytes());
                }
                if let Some(item) = plan.items.get(cursor.next_item() as usize) {
                    O::soon(item, |item| item.end as usize);
                }
            }
            _ => {}
        }
    }
}
