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

/// So many receivers of a sender have places of their own where there is none for each pair.
const NEAR: usize = 2;

/// The last message that was sent between each pair of ranks, if it is not handed over yet; a message's number and one.
#[derive(Clone, Debug)]
enum Last {
    /// By sender and receiver.
    Dense(u32, Vec<u32>),
    /// By sender, receivers and messages: hardly any sender has messages to more than a few under way.
    Sparse {
        near: Vec<[(u32, u32); NEAR]>,
        /// Those that have no place there, by sender and receiver.
        far: BTreeMap<(u32, u32), u32>,
    },
}

impl Last {
    fn new(ranks: u32) -> Last {
        match ranks {
            0..=MOST_DENSE => Last::Dense(ranks, vec![NONE; ranks as usize * ranks as usize]),
            _ => Last::Sparse {
                near: vec![[(0, NONE); NEAR]; ranks as usize],
                far: BTreeMap::new(),
            },
        }
    }

    /// Puts another in the place of a pair's last message, or none; gives which was there.
    fn replace(&mut self, (from, to): (u32, u32), last: u32) -> u32 {
        let (near, far) = match self {
            Last::Dense(ranks, all) => {
                let at = from as usize * *ranks as usize + to as usize;
                return core::mem::replace(&mut all[at], last);
            }
            Last::Sparse { near, far } => (&mut near[from as usize], far),
        };
        if let Some(own) = near.iter_mut().find(|own| own.1 != NONE && own.0 == to) {
            return core::mem::replace(&mut own.1, last);
        }
        if !far.is_empty()
            && let Some(before) = far.remove(&(from, to))
        {
            if last != NONE {
                far.insert((from, to), last);
            }
            return before;
        }
        match near.iter_mut().find(|own| own.1 == NONE) {
            _ if last == NONE => {}
            Some(own) => *own = (to, last),
            None => drop(far.insert((from, to), last)),
        }
        NONE
    }
}

/// A message that has a place among those of its pair of ranks.
pub(super) trait Placed {
    /// Its place.
    fn place(&mut self) -> &mut Place;
}

/// How a message stands to those before and behind it; its number and one.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Place {
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
}

impl Order {
    pub(super) fn new(ranks: u32) -> Order {
        Order {
            last: Last::new(ranks),
        }
    }

    /// Message `number` of `all` is sent.
    pub(super) fn sent(&mut self, all: &mut [impl Placed], number: u32, pair: (u32, u32)) {
        let before = self.last.replace(pair, number + 1);
        *all[number as usize].place() = Place {
            waits: before != NONE,
            ..Place::default()
        };
        if before != NONE {
            all[before as usize - 1].place().behind = number + 1;
        }
    }

    /// All of message `number` of `all` is there; hands over what may be, in order.
    pub(super) fn complete(
        &mut self,
        all: &mut [impl Placed],
        (number, pair): (u32, (u32, u32)),
        mut hand: impl FnMut(u32),
    ) {
        let place = all[number as usize].place();
        place.complete = true;
        if place.waits {
            return;
        }
        let mut number = number;
        loop {
            hand(number);
            let behind = all[number as usize].place().behind;
            if behind == NONE {
                self.last.replace(pair, NONE);
                return;
            }
            number = behind - 1;
            let place = all[number as usize].place();
            place.waits = false;
            if !place.complete {
                return;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    impl Placed for Place {
        fn place(&mut self) -> &mut Place {
            self
        }
    }

    #[test]
    fn the_last_message_of_each_pair_is_kept() {
        for ranks in [8, MOST_DENSE + 1] {
            let mut last = Last::new(ranks);
            let to = 1..8;
            for to in to.clone() {
                assert_eq!(last.replace((0, to), 10 + to), NONE);
                assert_eq!(last.replace((7, to), 20 + to), NONE);
            }
            for to in to.clone().rev() {
                assert_eq!(last.replace((0, to), 30 + to), 10 + to);
                assert_eq!(last.replace((7, to), NONE), 20 + to);
            }
            for to in to {
                assert_eq!(last.replace((0, to), NONE), 30 + to);
                assert_eq!(last.replace((7, to), NONE), NONE);
            }
        }
    }

    #[test]
    fn what_is_complete_early_is_held_back() {
        for ranks in [2, MOST_DENSE + 1] {
            let (mut order, mut all) = (Order::new(ranks), [Place::default(); 8]);
            let (there, back) = ((0, 1), (1, 0));
            for (number, (from, to)) in [(4, there), (0, there), (7, back), (2, there)].into_iter()
            {
                order.sent(&mut all, number, (from, to));
            }
            let mut handed = Vec::new();
            order.complete(&mut all, (0, there), |number| handed.push(number));
            order.complete(&mut all, (7, back), |number| handed.push(number));
            assert_eq!(handed, [7]);
            order.complete(&mut all, (4, there), |number| handed.push(number));
            assert_eq!(handed, [7, 4, 0]);
            order.complete(&mut all, (2, there), |number| handed.push(number));
            order.sent(&mut all, 4, there);
            order.complete(&mut all, (4, there), |number| handed.push(number));
            assert_eq!(handed, [7, 4, 0, 2, 4]);
        }
    }
}
