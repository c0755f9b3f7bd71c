//! Hardware broadcast: of a step's messages with the broadcast's port one leaves, and one comes to every node.

use super::{Passing, Rails};
use crate::simulate::network::{Envelope, Event};
use crate::simulate::queue::{Moment, Queue};
use alloc::collections::{BTreeMap, BTreeSet};

/// A hardware broadcast.
#[derive(Clone, Debug)]
pub(super) struct Cast {
    /// When its sender's processor has handed it over.
    ready_ps: Moment,
    bytes: u64,
    /// When its first byte leaves the sender's bus, and when its last.
    leaves_ps: [Moment; 2],
    /// Its receivers so far, and the first message to each node.
    receivers: BTreeSet<u32>,
    to_node: BTreeMap<u32, u32>,
}

impl Rails {
    /// Whether a message that is handed over at `at_ps` is one more of its sender's last broadcast.
    pub(super) fn goes_with(&self, (from, to): (u32, u32), bytes: u64, at_ps: Moment) -> bool {
        let last = self.casts[from as usize].as_ref();
        last.is_some_and(|cast| {
            cast.ready_ps == at_ps && cast.bytes == bytes && !cast.receivers.contains(&to)
        })
    }

    /// A message of a broadcast: the first leaves, and the first to a node comes there. Gives when it has left.
    pub(super) fn broadcast(
        &mut self,
        at_ps: Moment,
        message: Envelope,
        parts: &[(u32, u64)],
        queue: &mut Queue<Event<Passing>>,
    ) -> Moment {
        let (number, from, to, bytes) = (message.number, message.from, message.to, message.bytes);
        let node = self.node(to);
        if !self.goes_with((from, to), bytes, at_ps) {
            self.casts[from as usize] = Some(Cast {
                ready_ps: at_ps,
                bytes,
                leaves_ps: self.leave(at_ps, number, parts, queue),
                receivers: BTreeSet::from([to]),
                to_node: BTreeMap::from([(node, number)]),
            });
        } else if let Some(cast) = &mut self.casts[from as usize] {
            cast.receivers.insert(to);
            if let Some(first) = cast.to_node.get(&node) {
                self.under_way[*first as usize].with.push(number);
            } else {
                cast.to_node.insert(node, number);
                for &(rail, _) in parts {
                    let come_ps = cast.leaves_ps[0] + self.times.latency_ps;
                    queue.push(come_ps, Event::Inside(Passing::Part { number, rail }));
                }
            }
        }
        let cast = self.casts[from as usize].as_ref();
        cast.map_or(at_ps, |cast| cast.leaves_ps[1])
    }
}
