//! Links, ports and rails: what each of a network's shared parts did in a run.

use super::queue::Moment;
use alloc::collections::VecDeque;
use alloc::string::String;
use alloc::vec;
use alloc::vec::Vec;

/// What a network is asked to note of its links.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Watch {
    /// Sums: time, bytes, messages, the longest queue.
    Sums,
    /// Also every single use, with its times.
    Uses,
}

/// Where a link stands, if its network has a shape.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Place {
    /// The coordinates of the node that it leaves, or that it leads back to.
    pub at: Vec<u32>,
    /// The dimension along which it leads; none: from the node into the network, or back.
    pub dimension: Option<u8>,
    /// Whether it leads to the next higher coordinate, round the end too, or into the network.
    pub forward: bool,
}

/// A link in use, from `from_ps` to `to_ps`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Use {
    /// From here on.
    pub from_ps: Moment,
    /// To here.
    pub to_ps: Moment,
    /// With so many bytes.
    pub bytes: u64,
}

/// What a link did in a run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Link {
    /// Its name: what it leads from and to.
    pub name: String,
    /// Where it stands, if its network has a shape.
    pub place: Option<Place>,
    /// How it was used.
    pub load: LinkLoad,
}

/// How a link was used.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LinkLoad {
    /// How long it was busy.
    pub busy_ps: u64,
    /// What it carried.
    pub bytes: u64,
    /// In so many messages or packets.
    pub messages: u64,
    /// How many of them waited for it at once, at most; the one that was under way does not count.
    pub longest_queue: u32,
    /// Every single use, if that was asked for.
    pub uses: Vec<Use>,
}

/// Notes what links do; kept by a network that is watched.
///
/// Each link serves one after another, in the order in which it is told of.
#[derive(Clone, Debug)]
pub struct Gauges {
    watch: Watch,
    loads: Vec<LinkLoad>,
    /// For each link: when those that waited last begin.
    waiting: Vec<VecDeque<Moment>>,
}

impl Gauges {
    /// Gauges of so many links, none of which did anything.
    #[must_use]
    pub fn new(links: usize, watch: Watch) -> Gauges {
        Gauges {
            watch,
            loads: vec![LinkLoad::default(); links],
            waiting: vec![VecDeque::new(); links],
        }
    }

    /// A message or packet is there for a link at `ready_ps`, and has it from `from_ps` to `to_ps`.
    pub fn note(&mut self, link: usize, ready_ps: Moment, used: Use) {
        let load = &mut self.loads[link];
        load.busy_ps += used.to_ps - used.from_ps;
        load.bytes += used.bytes;
        load.messages += 1;
        let waiting = &mut self.waiting[link];
        while waiting.front().is_some_and(|begin| *begin <= ready_ps) {
            waiting.pop_front();
        }
        if used.from_ps > ready_ps {
            waiting.push_back(used.from_ps);
            load.longest_queue = load.longest_queue.max(waiting.len() as u32);
        }
        if self.watch == Watch::Uses {
            load.uses.push(used);
        }
    }

    /// So many waited for a link when one began to use it.
    pub fn note_queue(&mut self, link: usize, waiting: u32) {
        let load = &mut self.loads[link];
        load.longest_queue = load.longest_queue.max(waiting);
    }

    /// What every link did, in order.
    #[must_use]
    pub fn loads(&self) -> &[LinkLoad] {
        &self.loads
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_longest_queue_counts_those_that_wait_at_once() {
        let mut gauges = Gauges::new(2, Watch::Uses);
        let mut free_ps = 0;
        // Three come at once, one when the second has begun, one when all is over.
        for ready_ps in [0, 0, 0, 10, 100] {
            let from_ps = ready_ps.max(free_ps);
            free_ps = from_ps + 10;
            let used = Use {
                from_ps,
                to_ps: free_ps,
                bytes: 3,
            };
            gauges.note(1, ready_ps, used);
        }
        let load = &gauges.loads()[1];
        assert_eq!((load.longest_queue, load.busy_ps), (2, 50));
        assert_eq!((load.bytes, load.messages), (15, 5));
        let begins: Vec<Moment> = load.uses.iter().map(|used| used.from_ps).collect();
        assert_eq!(begins, [0, 10, 20, 30, 100]);
        assert_eq!(gauges.loads()[0], LinkLoad::default());
    }
}
