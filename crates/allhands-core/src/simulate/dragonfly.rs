//! The dragonfly: groups of routers that are all linked to one another, and between every two groups one link.
//!
//! As Kim, Dally, Scott, Abts (2008): p hosts at a router, a routers in a group, h links from a router to other groups, so up to
//! ah + 1 groups. The links to other groups are dealt out in order: link i of a group leads to group i, or to i + 1 from group i
//! on. Routes are minimal: to the router that has the link to the other group, over it, to the host's router.
//!
//! ```text
//! host ─ router ═ router ─ ─ ─ ─ ─ router ═ router ─ host
//!         └── a group ──┘  global   └── a group ──┘
//! ```

use super::links::Place;
use super::routed::{Hop, Routed, Routes};
use alloc::format;
use alloc::string::String;
use alloc::vec;

pub use super::fat_tree::MOST_LINKS;

/// A dragonfly as a network.
pub type Dragonfly = Routed<DragonflyRoutes>;

/// The shape of a dragonfly, and what a message pays at its links.
#[derive(Clone, Copy, Debug)]
pub struct DragonflyRoutes {
    /// p: the hosts at a router.
    pub hosts_per_router: u32,
    /// a: the routers of a group.
    pub routers_per_group: u32,
    /// h: the links of a router to other groups.
    pub globals_per_router: u32,
    /// The groups.
    pub groups: u32,
    /// A link between a host and its router.
    pub host: Hop,
    /// A link inside a group.
    pub local: Hop,
    /// A link between groups.
    pub global: Hop,
}

/// What a link is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    /// From a host to its router.
    In { host: u32 },
    /// From a router to its host.
    Out { host: u32 },
    /// From a router to another of its group.
    Local { router: u32, other: u32 },
    /// A router's link to another group, by its number in the group.
    Global { group: u32, number: u32 },
}

impl DragonflyRoutes {
    /// Whether there is such a dragonfly: nothing is zero, there is a link between every two groups, and in all no more than
    /// [`MOST_LINKS`].
    ///
    /// # Errors
    /// What is wrong, and what would be right.
    pub fn check(&self) -> Result<(), String> {
        let DragonflyRoutes {
            hosts_per_router,
            routers_per_group,
            groups,
            ..
        } = *self;
        if hosts_per_router == 0 || routers_per_group == 0 || groups == 0 {
            return Err(
                "a dragonfly has hosts at each router, routers in each group, and groups".into(),
            );
        }
        let most = u64::from(routers_per_group) * u64::from(self.globals_per_router) + 1;
        if u64::from(groups) > most {
            return Err(format!(
                "there are {groups} groups, and {most} are the most: one more than a group has links to others"
            ));
        }
        let routers = u64::from(groups).checked_mul(u64::from(routers_per_group));
        let each = 2 * u64::from(hosts_per_router)
            + u64::from(routers_per_group)
            + u64::from(self.globals_per_router);
        let links = routers.and_then(|routers| routers.checked_mul(each));
        match links {
            Some(links) if links <= MOST_LINKS => Ok(()),
            _ => Err(format!("it has more than {MOST_LINKS} links")),
        }
    }

    fn routers(&self) -> u32 {
        self.groups * self.routers_per_group
    }

    /// The link of group `group` that leads to group `to`.
    fn number_to(group: u32, to: u32) -> u32 {
        to - u32::from(to > group)
    }

    /// The router at which a group's link to another group is.
    fn gateway(&self, group: u32, to: u32) -> u32 {
        group * self.routers_per_group
            + DragonflyRoutes::number_to(group, to) / self.globals_per_router.max(1)
    }

    /// The links of each kind start there.
    fn starts(&self) -> [usize; 4] {
        let hosts = self.hosts() as usize;
        let locals = self.routers() as usize * self.routers_per_group as usize;
        [0, hosts, 2 * hosts, 2 * hosts + locals]
    }

    fn number(&self, kind: Kind) -> usize {
        let [_, out, local, global] = self.starts();
        let a = self.routers_per_group;
        match kind {
            Kind::In { host } => host as usize,
            Kind::Out { host } => out + host as usize,
            Kind::Local { router, other } => {
                local + router as usize * a as usize + (other % a) as usize
            }
            Kind::Global { group, number } => {
                global + group as usize * (a * self.globals_per_router) as usize + number as usize
            }
        }
    }

    fn kind(&self, link: usize) -> Kind {
        let [_, out, local, global] = self.starts();
        let a = self.routers_per_group;
        if link < out {
            return Kind::In { host: link as u32 };
        }
        if link < local {
            let host = (link - out) as u32;
            return Kind::Out { host };
        }
        if link < global {
            let at = (link - local) as u32;
            let (router, other) = (at / a, at / a / a * a + at % a);
            return Kind::Local { router, other };
        }
        let (at, each) = ((link - global) as u32, a * self.globals_per_router);
        Kind::Global {
            group: at / each,
            number: at % each,
        }
    }

    /// The links between the hosts' own, in order: up to three.
    fn inner(&self, from: u32, to: u32) -> [Option<Kind>; 3] {
        let [here, there] = [from, to].map(|host| host / self.hosts_per_router);
        let [group, other] = [here, there].map(|router| router / self.routers_per_group);
        let local = |router, other| (router != other).then_some(Kind::Local { router, other });
        if group == other {
            return [local(here, there), None, None];
        }
        let [leave, enter] = [self.gateway(group, other), self.gateway(other, group)];
        let number = DragonflyRoutes::number_to(group, other);
        let global = Kind::Global { group, number };
        [local(here, leave), Some(global), local(enter, there)]
    }
}

impl Routes for DragonflyRoutes {
    fn links(&self) -> usize {
        let globals = self.routers() as usize * self.globals_per_router as usize;
        self.starts()[3] + globals
    }

    fn hosts(&self) -> u32 {
        self.routers() * self.hosts_per_router
    }

    fn link(&self, from: u32, to: u32, hop: u32) -> Option<usize> {
        let first = Some(Kind::In { host: from });
        let last = Some(Kind::Out { host: to });
        let inner = self.inner(from, to);
        let all = [first, inner[0], inner[1], inner[2], last];
        let kind = all.into_iter().flatten().nth(hop as usize)?;
        Some(self.number(kind))
    }

    fn hop(&self, link: usize) -> Hop {
        match self.kind(link) {
            Kind::In { .. } | Kind::Out { .. } => self.host,
            Kind::Local { .. } => self.local,
            Kind::Global { .. } => self.global,
        }
    }

    fn name(&self, link: usize) -> String {
        let router_of = |host| host / self.hosts_per_router;
        match self.kind(link) {
            Kind::In { host } => format!("host {host} to router {}", router_of(host)),
            Kind::Out { host } => format!("router {} to host {host}", router_of(host)),
            Kind::Local { router, other } => format!("router {router} to router {other}"),
            Kind::Global { group, number } => {
                let to = number + u32::from(number >= group);
                if to >= self.groups {
                    return format!("group {group}, unused link {number}");
                }
                let [leave, enter] = [self.gateway(group, to), self.gateway(to, group)];
                format!("router {leave} to router {enter}, between groups")
            }
        }
    }

    /// A router stands at its number in its group, and its group.
    fn place(&self, link: usize) -> Option<Place> {
        let a = self.routers_per_group;
        let at = |router: u32| vec![router % a, router / a];
        let (router, dimension, forward) = match self.kind(link) {
            Kind::In { host } => (host / self.hosts_per_router, None, true),
            Kind::Out { host } => (host / self.hosts_per_router, None, false),
            Kind::Local { router, other } => (router, Some(0), other > router),
            Kind::Global { group, number } => {
                let router = group * a + number / self.globals_per_router;
                (router, Some(1), number >= group)
            }
        };
        Some(Place {
            at: at(router),
            dimension,
            forward,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::collections::BTreeSet;
    use alloc::vec::Vec;

    fn dragonfly() -> DragonflyRoutes {
        let hop = Hop::default();
        DragonflyRoutes {
            hosts_per_router: 2,
            routers_per_group: 3,
            globals_per_router: 2,
            groups: 7,
            host: hop,
            local: hop,
            global: hop,
        }
    }

    #[test]
    fn routes_are_minimal_and_hang_together() {
        let shape = dragonfly();
        shape.check().expect("it is right");
        for (from, to) in (0..42).flat_map(|from| (0..42).map(move |to| (from, to))) {
            if from == to {
                continue;
            }
            let links: Vec<usize> = (0..).map_while(|hop| shape.link(from, to, hop)).collect();
            let mut here = format!("host {from}");
            for link in &links {
                assert_eq!(shape.number(shape.kind(*link)), *link);
                let name = shape.name(*link);
                let (start, end) = name.split_once(" to ").expect("two ends");
                assert_eq!(start, here);
                here = end.trim_end_matches(", between groups").into();
            }
            assert_eq!(here, format!("host {to}"));
            let most = [2, 3, 5][usize::from(from / 2 != to / 2) + usize::from(from / 6 != to / 6)];
            assert!(links.len() <= most, "{from} to {to}: {}", links.len());
        }
    }

    #[test]
    fn every_link_has_a_number_and_a_name() {
        let shape = DragonflyRoutes {
            groups: 5,
            ..dragonfly()
        };
        let names: BTreeSet<String> = (0..shape.links()).map(|link| shape.name(link)).collect();
        assert_eq!(names.len(), shape.links());
    }

    #[test]
    fn more_groups_than_links_between_them_are_none() {
        let shape = DragonflyRoutes {
            groups: 8,
            ..dragonfly()
        };
        assert!(shape.check().unwrap_err().contains("7 are the most"));
        let shape = DragonflyRoutes {
            hosts_per_router: 0,
            ..dragonfly()
        };
        assert!(shape.check().is_err());
    }
}
