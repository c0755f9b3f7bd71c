//! An element interconnect bus: four rings, the ports of twelve elements, and the arbiter between them (C 2).

use alloc::collections::VecDeque;

/// Elements on the bus.
const ELEMENTS: u8 = 12;

/// Where the SPEs stand on the bus, from SPE 0 on (C 2, figure 1: from SPE 6 to SPE 4 is one hop, from SPE 1 to SPE 6 are six).
const SPE_PLACES: [u8; 8] = [10, 1, 9, 2, 8, 3, 7, 4];

/// Where the interface to the other chip stands, the BIF.
pub(super) const BIF: u8 = 6;

/// The arbiter's turn for what has come over the BIF; each other turn has the number of an element.
pub(super) const CROSSED: u8 = ELEMENTS;

/// Turns: one an element, and one for what has come over the BIF.
const TURNS: usize = ELEMENTS as usize + 1;

/// Transfers that a ring carries at once (C 2).
const RING_TRANSFERS: u8 = 3;

/// The most hops that a transfer goes: no ring carries it more than half way round.
const MOST_HOPS: u8 = ELEMENTS / 2;

/// SPEs on a chip.
pub(super) const SPES: u32 = SPE_PLACES.len() as u32;

/// The place of a rank's SPE on its chip's bus.
pub(super) fn place(rank: u32) -> u8 {
    SPE_PLACES[(rank % SPES) as usize]
}

/// A bus request that asks for the data bus.
#[derive(Clone, Copy, Debug)]
struct Asking {
    request: u32,
    from: u8,
    to: u8,
}

/// What the arbiter gives a request: a part of a ring, and a port at each end.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Grant {
    pub request: u32,
    pub hops: u8,
    from: u8,
    to: u8,
    ring: u8,
    segments: u16,
}

#[derive(Clone, Copy, Debug, Default)]
struct Ring {
    /// The segments in use: bit i stands for that between elements i and i + 1.
    segments: u16,
    transfers: u8,
}

/// The bus of a chip.
#[derive(Clone, Debug, Default)]
pub(super) struct Eib {
    /// By turn, first in, first out.
    asking: [VecDeque<Asking>; TURNS],
    /// The turns in which something asks.
    waiting: u16,
    /// Whose turn is next.
    next: u8,
    /// Elements that send, and that receive.
    sending: u16,
    receiving: u16,
    /// Two clockwise, two counter-clockwise.
    rings: [Ring; 4],
}

impl Eib {
    /// A request asks for the way between two elements, in a turn.
    pub(super) fn ask(&mut self, turn: u8, request: u32, from: u8, to: u8) {
        self.asking[usize::from(turn)].push_back(Asking { request, from, to });
        self.waiting |= 1 << turn;
    }

    /// Grants the first request that can go, beginning with whose turn it is; of each turn only the oldest can.
    pub(super) fn grant(&mut self) -> Option<Grant> {
        let from_next = u16::MAX << self.next;
        for mut turns in [self.waiting & from_next, self.waiting & !from_next] {
            while turns != 0 {
                let turn = turns.trailing_zeros() as u8;
                turns &= turns - 1;
                let grant = self.asks_first(turn).and_then(|first| self.way(first));
                if let Some(grant) = grant {
                    self.take(turn, &grant);
                    return Some(grant);
                }
            }
        }
        None
    }

    fn asks_first(&self, turn: u8) -> Option<Asking> {
        self.asking[usize::from(turn)].front().copied()
    }

    /// What a request would be granted, if its ports and a ring are free.
    fn way(&self, asking: Asking) -> Option<Grant> {
        let ports = self.sending >> asking.from | self.receiving >> asking.to;
        if ports & 1 != 0 {
            return None;
        }
        route(&self.rings, asking)
    }

    fn take(&mut self, turn: u8, grant: &Grant) {
        let asking = &mut self.asking[usize::from(turn)];
        asking.pop_front();
        if asking.is_empty() {
            self.waiting &= !(1 << turn);
        }
        self.next = (turn + 1) % TURNS as u8;
        self.sending |= 1 << grant.from;
        self.receiving |= 1 << grant.to;
        let ring = &mut self.rings[usize::from(grant.ring)];
        ring.segments |= grant.segments;
        ring.transfers += 1;
    }

    /// A transfer is over: gives back what it was granted.
    pub(super) fn release(&mut self, grant: &Grant) {
        self.sending &= !(1 << grant.from);
        self.receiving &= !(1 << grant.to);
        let ring = &mut self.rings[usize::from(grant.ring)];
        ring.segments &= !grant.segments;
        ring.transfers -= 1;
    }
}

/// The first ring, of those that go the shorter way, on which a transfer overlaps with no other.
fn route(rings: &[Ring; 4], asking: Asking) -> Option<Grant> {
    let Asking { request, from, to } = asking;
    let clockwise = (to + ELEMENTS - from) % ELEMENTS;
    let counter = (ELEMENTS - clockwise) % ELEMENTS;
    // A clockwise transfer uses the segments behind its start, a counter-clockwise one those behind its end.
    for (first_ring, start, hops) in [(0, from, clockwise), (2, to, counter)] {
        if hops > MOST_HOPS {
            continue;
        }
        let segments = segments(start, hops);
        for ring in first_ring..first_ring + 2 {
            let state = rings[usize::from(ring)];
            if state.segments & segments == 0 && state.transfers < RING_TRANSFERS {
                return Some(Grant {
                    request,
                    hops,
                    from,
                    to,
                    ring,
                    segments,
                });
            }
        }
    }
    None
}

/// `hops` segments clockwise from an element.
fn segments(start: u8, hops: u8) -> u16 {
    let (all, run) = ((1_u32 << ELEMENTS) - 1, ((1_u32 << hops) - 1) << start);
    ((run | run >> ELEMENTS) & all) as u16
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::vec::Vec;

    fn granted(asked: &[(u8, u8)]) -> Vec<u32> {
        let mut eib = Eib::default();
        for (request, (from, to)) in asked.iter().enumerate() {
            eib.ask(*from, request as u32, *from, *to);
        }
        let mut granted: Vec<u32> =
            core::iter::from_fn(|| eib.grant().map(|g| g.request)).collect();
        granted.sort_unstable();
        granted
    }

    #[test]
    fn the_places_are_those_of_figure_1() {
        let hops = |a: u32, b: u32| {
            let clockwise = (place(b) + ELEMENTS - place(a)) % ELEMENTS;
            clockwise.min(ELEMENTS - clockwise)
        };
        assert_eq!((hops(6, 4), hops(1, 6)), (1, 6));
    }

    #[test]
    fn a_segment_of_a_direction_carries_two_transfers() {
        // All three go over the segment between 2 and 3; the two rings of that direction take two.
        assert_eq!(granted(&[(0, 3), (1, 4), (2, 5)]), [0, 1]);
        // One the other way is no hindrance, nor is one that goes elsewhere.
        assert_eq!(granted(&[(0, 3), (1, 4), (3, 2), (5, 7)]), [0, 1, 2, 3]);
    }

    #[test]
    fn a_ring_carries_three_transfers() {
        // Twelve neighbours clockwise, no two on the same segment: three on each of the two rings.
        let around: Vec<(u8, u8)> = (0..12).map(|i| (i, (i + 1) % 12)).collect();
        assert_eq!(granted(&around).len(), 6);
    }

    #[test]
    fn a_port_sends_one_and_receives_one() {
        assert_eq!(granted(&[(0, 1), (2, 1)]), [0]);
        assert_eq!(granted(&[(0, 1), (1, 0)]), [0, 1]);
    }

    #[test]
    fn a_transfer_half_way_round_goes_either_way() {
        assert_eq!(granted(&[(0, 6), (1, 7), (2, 8), (3, 9)]), [0, 1, 2, 3]);
        assert_eq!(segments(10, 4), 0b1100_0000_0011);
    }

    #[test]
    fn turns_go_round_and_what_is_released_is_granted_again() {
        let mut eib = Eib::default();
        for request in 0..4 {
            // Two elements ask for the port of element 5, twice each.
            let turn = [1, 1, 9, 9][request as usize];
            eib.ask(turn, request, 5, turn);
        }
        let mut order = Vec::new();
        while let Some(grant) = eib.grant() {
            assert_eq!(eib.grant(), None);
            eib.release(&grant);
            order.push(grant.request);
        }
        assert_eq!(order, [0, 2, 1, 3]);
    }
}
