//! Fair ports: ports that all messages which go through them have at once, each an equal part of it, as connections of TCP do.
//!
//! A message goes as fast as the slower of its two ports lets it. Those of the same two ranks follow one another.

use super::queue::Moment;
use alloc::collections::{BTreeMap, VecDeque};
use alloc::vec;
use alloc::vec::Vec;

/// The ports, and what goes through them.
#[derive(Clone, Debug)]
pub(super) struct FairPorts {
    lanes: Vec<Lane>,
    /// The lane from one port to another.
    of_ports: BTreeMap<[u32; 2], u32>,
    /// The lanes that go through each port now, out and in.
    through: Vec<[Vec<u32>; 2]>,
}

/// Messages from one port to another.
#[derive(Clone, Debug)]
struct Lane {
    ports: [u32; 2],
    /// Their numbers, and how long each would have ports that nobody else has.
    messages: VecDeque<(u32, u64)>,
    /// What is left of that for the first one, at `since_ps`, and how many share the fuller port.
    left_ps: u64,
    since_ps: Moment,
    among: u64,
    /// How often that has changed: an end that was foreseen before is none.
    changes: u32,
}

/// When the first message of a lane is foreseen to have gone: the lane, how often it has changed, the moment.
pub(super) type End = (u32, u32, Moment);

impl FairPorts {
    pub(super) fn new(ports: usize) -> FairPorts {
        FairPorts {
            lanes: Vec::new(),
            of_ports: BTreeMap::new(),
            through: vec![[const { Vec::new() }; 2]; ports],
        }
    }

    /// A message begins to go from one port to another; gives which ends are foreseen anew.
    pub(super) fn enter(
        &mut self,
        ports: [u32; 2],
        (number, gap_ps): (u32, u64),
        now_ps: Moment,
    ) -> Vec<End> {
        let next = self.lanes.len() as u32;
        let at = *self.of_ports.entry(ports).or_insert(next);
        if at == next {
            self.lanes.push(Lane {
                ports,
                messages: VecDeque::new(),
                left_ps: 0,
                since_ps: now_ps,
                among: 1,
                changes: 0,
            });
        }
        let lane = &mut self.lanes[at as usize];
        lane.messages.push_back((number, gap_ps));
        if lane.messages.len() > 1 {
            return Vec::new();
        }
        (lane.left_ps, lane.since_ps) = (gap_ps, now_ps);
        for (side, port) in ports.into_iter().enumerate() {
            self.through[port as usize][side].push(at);
        }
        self.foresee(ports, now_ps)
    }

    /// The first message of a lane has gone, if that was foreseen last; its number, and which ends are foreseen anew.
    pub(super) fn end(
        &mut self,
        (at, changes): (u32, u32),
        now_ps: Moment,
    ) -> Option<(u32, Vec<End>)> {
        let lane = &mut self.lanes[at as usize];
        if lane.changes != changes {
            return None;
        }
        let (number, _) = lane.messages.pop_front()?;
        let ports = lane.ports;
        lane.since_ps = now_ps;
        match lane.messages.front() {
            Some((_, gap_ps)) => lane.left_ps = *gap_ps,
            None => {
                // Foreseen ends of nothing are none.
                lane.changes += 1;
                for (side, port) in ports.into_iter().enumerate() {
                    self.through[port as usize][side].retain(|other| *other != at);
                }
            }
        }
        Some((number, self.foresee(ports, now_ps)))
    }

    /// Foresees the ends of all that go out by the first of two ports or in by the second.
    fn foresee(&mut self, ports: [u32; 2], now_ps: Moment) -> Vec<End> {
        let of = |side: usize| self.through[ports[side] as usize][side].iter().copied();
        let mut all: Vec<u32> = of(0).chain(of(1)).collect();
        all.sort_unstable();
        all.dedup();
        let end = |at: u32| {
            let lane = &mut self.lanes[at as usize];
            lane.left_ps -= ((now_ps - lane.since_ps) / lane.among).min(lane.left_ps);
            lane.since_ps = now_ps;
            let share = |side: usize| self.through[lane.ports[side] as usize][side].len() as u64;
            lane.among = share(0).max(share(1));
            lane.changes += 1;
            (at, lane.changes, now_ps + lane.left_ps * lane.among)
        };
        all.into_iter().map(end).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// When messages are gone that begin at these moments, from port to port, by their numbers.
    fn ends(messages: &[(Moment, [u32; 2], u64)]) -> Vec<Moment> {
        let mut ports = FairPorts::new(4);
        let mut found = vec![0; messages.len()];
        let mut ahead: Vec<End> = Vec::new();
        let mut next = 0;
        loop {
            let end = ahead.iter().copied().min_by_key(|end| end.2);
            let begins_ps = messages.get(next).map(|message| message.0);
            match (begins_ps, end) {
                (Some(at_ps), end) if end.is_none_or(|end| at_ps <= end.2) => {
                    let (_, between, gap_ps) = messages[next];
                    ahead.extend(ports.enter(between, (next as u32, gap_ps), at_ps));
                    next += 1;
                }
                (_, Some(end)) => {
                    ahead.retain(|other| *other != end);
                    if let Some((number, anew)) = ports.end((end.0, end.1), end.2) {
                        found[number as usize] = end.2;
                        ahead.extend(anew);
                    }
                }
                (_, None) => return found,
            }
        }
    }

    #[test]
    fn what_goes_through_a_port_at_once_shares_it() {
        // Two from one port: the shorter one is gone when each has had as much, and then the longer one is alone.
        assert_eq!(ends(&[(0, [0, 1], 200), (0, [0, 2], 100)]), [300, 200]);
        // One that comes later finds half of the other gone.
        assert_eq!(ends(&[(0, [0, 2], 100), (50, [1, 2], 100)]), [150, 200]);
        // Of the same two, one goes after the other; and other ports are nobody's business.
        let all = [(0, [0, 1], 100), (0, [0, 1], 50), (0, [2, 3], 70)];
        assert_eq!(ends(&all), [100, 150, 70]);
        // Three to one port, one of which also has half of its own.
        let all = [
            (0, [0, 3], 60),
            (0, [1, 3], 60),
            (0, [2, 3], 60),
            (0, [2, 1], 60),
        ];
        assert_eq!(ends(&all), [180, 180, 180, 120]);
    }
}
