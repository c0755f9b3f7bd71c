//! The fat tree: hosts at the leaves, and towards the root as many parents for each switch as its level says.
//!
//! An extended generalized fat tree, XGFT(h; m1 … mh; w1 … wh) (Öhring, Ibel, Das, Kumar 1995): a switch of level i has m_i children,
//! and what is below it has w_i parents each. A route goes up to the lowest level at which both ends have a common ancestor, and
//! down again; which parent it takes, its destination says (D-mod-k: Zahavi 2010), so there is one route between two hosts. Where
//! nobody computed the routes, each pair has any one of the shortest, for good, and routes of different pairs meet by chance.
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

/// Which of the shortest routes between two hosts messages take.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Spread {
    /// The one that the destination's number says: routes of a shift, or of any exchange by exclusive or, do not meet.
    #[default]
    Destination,
    /// Any one, the same for all messages of the pair: what static routes come to that know no pattern (Geoffray, Hoefler 2008).
    Pair,
}

/// The shape of a fat tree.
#[derive(Clone, Debug)]
pub struct FatTreeRoutes {
    /// From the hosts up.
    levels: Vec<Level>,
    spread: Spread,
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
            spread: Spread::default(),
            below,
            hosts,
            links: links as usize,
        })
    }

    /// The same tree with other routes.
    #[must_use]
    pub fn spread(self, spread: Spread) -> FatTreeRoutes {
        FatTreeRoutes { spread, ..self }
    }

    /// The number whose digits say which parents the route takes.
    fn key(&self, from: u32, to: u32) -> u32 {
        match self.spread {
            Spread::Destination => to,
            Spread::Pair => mixed(from, to),
        }
    }

    /// The lowest level whose switches are above both hosts, counted from 0.
    fn common(&self, from: u32, to: u32) -> usize {
        let apart = |below: &&Below| from / below.hosts != to / below.hosts;
        self.below.iter().rposition(|b| apart(&b)).unwrap_or(0)
    }

    /// The link between the child above `host` on the route of a key and its parent of `level` on that route.
    fn between(&self, level: usize, host: u32, key: u32, down: bool) -> usize {
        let (below, up) = (self.below[level], self.levels[level].up);
        let child = host / below.hosts * below.copies + key % below.copies;
        let port = key / below.copies % up;
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
        let key = self.key(from, to);
        if hop <= top {
            return Some(self.between(hop, from, key, false));
        }
        let level = (2 * top + 1).checked_sub(hop)?;
        Some(self.between(level, to, key, true))
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

/// A number of all its bits' worth from two, the same every time (the last steps of MurmurHash3's).
fn mixed(from: u32, to: u32) -> u32 {
    let mut mix = (u64::from(from) << 32 | u64::from(to)) ^ 0x9e37_79b9_7f4a_7c15;
    for multiplier in [0xff51_afd7_ed55_8ccd_u64, 0xc4ce_b9fe_1a85_ec53] {
        mix ^= mix >> 33;
        mix = mix.wrapping_mul(multiplier);
    }
    (mix >> 32) as u32
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
        let trees = [Spread::Destination, Spread::Pair].map(|spread| tree.clone().spread(spread));
        for (from, to) in (0..36).flat_map(|from| (0..36).map(move |to| (from, to))) {
            if from == to {
                continue;
            }
            for tree in &trees {
                let mut here = format!("host {from}");
                for name in self::names(tree, from, to) {
                    let (start, end) = name.split_once(" to ").expect("two ends");
                    assert_eq!(start, here);
                    here = end.into();
                }
                assert_eq!(here, format!("host {to}"));
            }
        }
    }

    /// Exchanges across the middle: computed routes never meet, those of pairs do, and each pair keeps its own.
    #[test]
    fn routes_of_pairs_meet_by_chance() {
        let levels = || vec![level(8, 1), level(8, 8)];
        let worst = |spread| {
            let tree = FatTreeRoutes::new(levels()).expect("it is right");
            let tree = tree.spread(spread);
            let mut used = vec![0; tree.links()];
            for from in 0..64 {
                for link in (0..).map_while(|hop| tree.link(from, from ^ 32, hop)) {
                    used[link] += 1;
                }
            }
            used.into_iter().max()
        };
        assert_eq!(worst(Spread::Destination), Some(1));
        assert!(worst(Spread::Pair) > Some(1));
        assert_eq!(worst(Spread::Pair), worst(Spread::Pair));
    }

    #[test]
    fn what_is_too_large_or_empty_is_no_tree() {
        assert!(FatTreeRoutes::new(Vec::new()).is_none());
        assert!(FatTreeRoutes::new(vec![level(0, 1)]).is_none());
        assert!(FatTreeRoutes::new(vec![level(1 << 20, 1), level(1 << 20, 1)]).is_none());
        assert!(FatTreeRoutes::new(vec![level(1 << 20, 1 << 10)]).is_none());
    }
}
