//! The fat tree: hosts at the leaves, and towards the root as many parents for each switch as its level says.
//!
//! An extended generalized fat tree, XGFT(h; m1 … mh; w1 … wh) (Öhring, Ibel, Das, Kumar 1995): a switch of level i has m_i children,
//! and what is below it has w_i parents each. A route goes up to the lowest level at which both ends have a common ancestor, and
//! down again; which parent it takes, its destination says (D-mod-k: Zahavi 2010), so there is one route between two hosts.
//!
//! ```text
//! level 2         S   S      w2 = 2 parents for each switch of level 1
//!                / \ / \
//! level 1       S       S    m2 = 2
//!              / \     / \
//! hosts       0   1   2   3  m1 = 2, w1 = 1
//! ```

use super::links::Place;
use super::routed::{Hop, Routed, Routes};
use alloc::format;
use alloc::string::String;
use alloc::vec;
use alloc::vec::Vec;

/// A fat tree as a network.
pub type FatTree = Routed<FatTreeRoutes>;

/// A level of a fat tree.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Level {
    /// How many children a switch of this level has: m.
    pub down: u32,
    /// How many parents each of them has at this level: w.
    pub up: u32,
    /// What a message pays at a link between them, in either direction.
    pub hop: Hop,
}

/// The most links that a network may have: what their state takes is then below a gigabyte.
pub const MOST_LINKS: u64 = 1 << 26;

/// The shape of a fat tree.
#[derive(Clone, Debug)]
pub struct FatTreeRoutes {
    /// From the hosts up.
    levels: Vec<Level>,
    /// For each level, what is below it: hosts below a child, w1 … w of the children's level, the first link.
    below: Vec<Below>,
    hosts: u32,
    links: usize,
}

/// What is below a level: the children of its switches.
#[derive(Clone, Copy, Debug)]
struct Below {
    /// Hosts below one of them.
    hosts: u32,
    /// How many of them are above the same hosts.
    copies: u32,
    /// Their first link.
    first: usize,
}

impl FatTreeRoutes {
    /// A tree of these levels, from the hosts up; none, if it is larger than [`MOST_LINKS`], has no level, or a level without
    /// children or parents.
    #[must_use]
    pub fn new(levels: Vec<Level>) -> Option<FatTreeRoutes> {
        let possible = |level: &Level| level.down > 0 && level.up > 0;
        if levels.is_empty() || !levels.iter().all(possible) {
            return None;
        }
        let hosts = levels
            .iter()
            .try_fold(1_u32, |hosts, level| hosts.checked_mul(level.down))?;
        let (mut below, mut links, mut copies, mut under) = (Vec::new(), 0_u64, 1_u32, 1_u32);
        for level in &levels {
            let first = links as usize;
            below.push(Below {
                hosts: under,
                copies,
                first,
            });
            let children = u64::from(hosts / under) * u64::from(copies);
            let more = children.checked_mul(2 * u64::from(level.up))?;
            links = links.checked_add(more).filter(|all| *all <= MOST_LINKS)?;
            under *= level.down;
            copies = copies.checked_mul(level.up)?;
        }
        Some(FatTreeRoutes {
            levels,
            below,
            hosts,
            links: links as usize,
        })
    }

    /// The lowest level whose switches are above both hosts, counted from 0.
    fn common(&self, from: u32, to: u32) -> usize {
        let apart = |below: &&Below| from / below.hosts != to / below.hosts;
        self.below.iter().rposition(|b| apart(&b)).unwrap_or(0)
    }

    /// Which of the switches of level `level`, counted from 0 at the hosts, above the same hosts, the route to `to` takes.
    fn copy(&self, level: usize, to: u32) -> u32 {
        to % self.below.get(level).map_or(1, |below| below.copies)
    }

    /// The link between the child above `host` on the route to `to` and its parent of `level` on that route.
    fn between(&self, level: usize, host: u32, to: u32, down: bool) -> usize {
        let (below, up) = (self.below[level], self.levels[level].up);
        let child = host / below.hosts * below.copies + self.copy(level, to);
        let port = to / below.copies % up;
        below.first + 2 * (child * up + port) as usize + usize::from(down)
    }

    /// The level of a link, its child, its port, and whether it leads down.
    fn parts(&self, link: usize) -> (usize, u32, u32, bool) {
        let level = self.below.iter().rposition(|below| below.first <= link);
        let level = level.unwrap_or(0);
        let within = link - self.below[level].first;
        let up = self.levels[level].up;
        let at = (within / 2) as u32;
        (level, at / up, at % up, within % 2 == 1)
    }

    fn node(level: usize, number: u32) -> String {
        match level {
            0 => format!("host {number}"),
            level => format!("switch {level}.{number}"),
        }
    }
}

impl Routes for FatTreeRoutes {
    fn links(&self) -> usize {
        self.links
    }

    fn hosts(&self) -> u32 {
        self.hosts
    }

    fn link(&self, from: u32, to: u32, hop: u32) -> Option<usize> {
        let (top, hop) = (self.common(from, to), hop as usize);
        if hop <= top {
            return Some(self.between(hop, from, to, false));
        }
        let level = (2 * top + 1).checked_sub(hop)?;
        Some(self.between(level, to, to, true))
    }

    fn hop(&self, link: usize) -> Hop {
        self.levels[self.parts(link).0].hop
    }

    fn name(&self, link: usize) -> String {
        let (level, child, port, down) = self.parts(link);
        let (below, up) = (self.below[level], self.levels[level].up);
        let above = child / below.copies / self.levels[level].down * below.copies * up;
        let parent = above + child % below.copies + port * below.copies;
        let (child, parent) = (
            FatTreeRoutes::node(level, child),
            FatTreeRoutes::node(level + 1, parent),
        );
        match down {
            true => format!("{parent} to {child}"),
            false => format!("{child} to {parent}"),
        }
    }

    fn place(&self, link: usize) -> Option<Place> {
        let (level, child, _, down) = self.parts(link);
        Some(Place {
            at: vec![child, level as u32],
            dimension: None,
            forward: !down,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::super::time::Linear;
    use super::*;
    use alloc::collections::BTreeSet;

    fn level(down: u32, up: u32) -> Level {
        let occupies = Linear {
            fixed_ps: 0,
            per_byte_fs: 1000,
        };
        let latency_ps = 10;
        let hop = Hop {
            occupies,
            latency_ps,
        };
        Level { down, up, hop }
    }

    fn names(tree: &FatTreeRoutes, from: u32, to: u32) -> Vec<String> {
        let links = (0..).map_while(|hop| tree.link(from, to, hop));
        links.map(|link| tree.name(link)).collect()
    }

    #[test]
    fn a_route_goes_up_to_the_common_ancestor_and_down() {
        let tree = FatTreeRoutes::new(vec![level(2, 1), level(2, 2)]).expect("it is right");
        assert_eq!((tree.hosts(), tree.links()), (4, 2 * (4 + 2 * 2)));
        let near = ["host 2 to switch 1.1", "switch 1.1 to host 3"];
        assert_eq!(names(&tree, 2, 3), near);
        let far = [
            "host 0 to switch 1.0",
            "switch 1.0 to switch 2.1",
            "switch 2.1 to switch 1.1",
            "switch 1.1 to host 3",
        ];
        assert_eq!(names(&tree, 0, 3), far);
    }

    /// Every route is a path: a link starts where the one before it ends.
    #[test]
    fn routes_hang_together_and_links_have_names_of_their_own() {
        let levels = vec![level(3, 1), level(2, 2), level(3, 2), level(2, 3)];
        let tree = FatTreeRoutes::new(levels).expect("it is right");
        let names: BTreeSet<String> = (0..tree.links()).map(|link| tree.name(link)).collect();
        assert_eq!(names.len(), tree.links());
        for (from, to) in (0..36).flat_map(|from| (0..36).map(move |to| (from, to))) {
            if from == to {
                continue;
            }
            let mut here = format!("host {from}");
            for name in self::names(&tree, from, to) {
                let (start, end) = name.split_once(" to ").expect("two ends");
                assert_eq!(start, here);
                here = end.into();
            }
            assert_eq!(here, format!("host {to}"));
        }
    }

    #[test]
    fn what_is_too_large_or_empty_is_no_tree() {
        assert!(FatTreeRoutes::new(Vec::new()).is_none());
        assert!(FatTreeRoutes::new(vec![level(0, 1)]).is_none());
        assert!(FatTreeRoutes::new(vec![level(1 << 20, 1), level(1 << 20, 1)]).is_none());
        assert!(FatTreeRoutes::new(vec![level(1 << 20, 1 << 10)]).is_none());
    }
}
