//! The order of messages: those between the same two ranks are handed over in the order in which they were sent.
//!
//! Packets that choose their way overtake each other, and so do messages. A message that is complete before one that was sent
//! earlier by the same rank to the same rank is held back.

use alloc::collections::BTreeMap;
use alloc::vec;
use alloc::vec::Vec;

/// No message.
const NONE: u32 = 0;

/// The most ranks for which there is a place for each pair.
const MOST_DENSE: u32 = 4096;

/// The last message that was sent between each pair of ranks, if it is not handed over yet.
#[derive(Clone, Debug)]
enum Last {
    /// By sender and receiver; a message's number and one.
    Dense(u32, Vec<u32>),
    Sparse(BTreeMap<(u32, u32), u32>),
}

/// How a message stands to those before and behind it; its number and one.
#[derive(Clone, Copy, Debug, Default)]
struct Place {
    /// Sent next between the same two ranks.
    behind: u32,
    /// One that was sent earlier is not handed over yet.
    waits: bool,
    complete: bool,
}

/// The order of all messages that are under way.
#[derive(Clone, Debug)]
pub(super) struct Order {
    last: Last,
    places: Vec<Place>,
}

impl Order {
    pub(super) fn new(ranks: u32) -> Order {
        let last = match ranks {
            0..=MOST_DENSE => Last::Dense(ranks, vec![NONE; ranks as usize * ranks as usize]),
            _ => Last::Sparse(BTreeMap::new()),
        };
        Order {
            last,
            places: Vec::new(),
        }
    }

    /// Message `number` is sent.
    pub(super) fn sent(&mut self, number: u32, from: u32, to: u32) {
        let before = match &mut self.last {
            Last::Dense(ranks, last) => core::mem::replace(
                &mut last[from as usize * *ranks as usize + to as usize],
                number + 1,
            ),
            Last::Sparse(last) => last.insert((from, to), number + 1).unwrap_or(NONE),
        };
        let least = number as usize + 1;
        if self.places.len() < least {
            self.places.resize(least, Place::default());
        }
        self.places[number as usize] = Place {
            waits: before != NONE,
            ..Place::default()
        };
        if before != NONE {
            self.places[before as usize - 1].behind = number + 1;
        }
    }

    /// All of message `number` is there; hands over what may be, in order.
    pub(super) fn complete(&mut self, number: u32, pair: (u32, u32), mut hand: impl FnMut(u32)) {
        let place = &mut self.places[number as usize];
        place.complete = true;
        if place.waits {
            return;
        }
        let mut number = number;
        loop {
            hand(number);
            let behind = self.places[number as usize].behind;
            if behind == NONE {
                self.forget(pair);
                return;
            }
            number = behind - 1;
            let place = &mut self.places[number as usize];
            place.waits = false;
            if !place.complete {
                return;
            }
        }
    }

    fn forget(&mut self, (from, to): (u32, u32)) {
        match &mut self.last {
            Last::Dense(ranks, last) => {
                last[from as usize * *ranks as usize + to as usize] = NONE;
            }
            Last::Sparse(last) => {
                last.remove(&(from, to));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_complete_early_is_held_back() {
        for ranks in [2, MOST_DENSE + 1] {
            let mut order = Order::new(ranks);
            let (there, back) = ((0, 1), (1, 0));
            for (number, (from, to)) in [(4, there), (0, there), (7, back), (2, there)].into_iter()
            {
                order.sent(number, from, to);
            }
            let mut handed = Vec::new();
            order.complete(0, there, |number| handed.push(number));
            order.complete(7, back, |number| handed.push(number));
            assert_eq!(handed, [7]);
            order.complete(4, there, |number| handed.push(number));
            assert_eq!(handed, [7, 4, 0]);
            order.complete(2, there, |number| handed.push(number));
            order.sent(4, 0, 1);
            order.complete(4, there, |number| handed.push(number));
            assert_eq!(handed, [7, 4, 0, 2, 4]);
        }
    }
}
