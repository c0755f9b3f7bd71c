//! Phases of a composed algorithm: for whom each is, and what serves it.

use super::among::Among;
use crate::algorithm::phase::division;
use crate::algorithm::{Algorithm, Key, Layers, Requirement, Sharing, Values};
use crate::call::{Call, Collective};
use crate::schedule::Shape;

/// `intra`: what serves a node.
pub const INTRA: Key = Key {
    name: "intra",
    values: Values::Names(&["shared-memory", "tree", "direct"]),
    default: 0,
    about: "the algorithm inside a node: windows and flags, or messages along a binomial tree, or from and to the leader",
};

/// `ports`: how many messages at once among the leaders, each by another rail; only for those of their algorithms that have the key.
pub const PORTS: Key = Key {
    values: Values::Range { min: 0, max: 16 },
    default: 0,
    about: "messages at once of the algorithm among the leaders; 0: as many as it has by itself",
    ..Key::PORTS
};

/// What algorithms are called.
#[must_use]
pub const fn names<const N: usize>(algorithms: &[&Algorithm; N]) -> [&'static str; N] {
    let mut names = [""; N];
    let mut at = 0;
    while at < N {
        names[at] = algorithms[at].name;
        at += 1;
    }
    names
}

/// What serves the ranks of a node in a collective.
#[derive(Clone, Copy)]
pub struct Inside {
    /// For `intra=shared-memory`.
    pub shared_memory: &'static Algorithm,
    /// For `intra=tree`.
    pub tree: &'static Algorithm,
    /// For `intra=direct`, with its parameters.
    pub direct: (&'static Algorithm, &'static str),
    /// Where nodes are inside groups of nodes: what serves a group.
    pub groups: fn() -> &'static Algorithm,
}

impl Inside {
    /// What the key `intra` says, with its parameters.
    fn innermost(&self, shape: &Shape) -> (&'static Algorithm, &'static str) {
        match shape.get(INTRA.name) {
            0 => (self.shared_memory, ""),
            1 => (self.tree, ""),
            _ => self.direct,
        }
    }
}

/// A phase: for whom, and what serves them.
#[derive(Clone, Copy)]
pub struct Phase {
    pub(super) among: Among,
    by: By,
}

/// What may serve a phase.
#[derive(Clone, Copy)]
enum By {
    /// What the keys and the nodes take of these.
    Inside(&'static Inside),
    /// What the key `inter` takes of these.
    Leaders(&'static [&'static Algorithm]),
}

impl Phase {
    /// For the ranks of each node.
    #[must_use]
    pub const fn node(inside: &'static Inside) -> Phase {
        let (among, by) = (Among::Node, By::Inside(inside));
        Phase { among, by }
    }

    /// For those of each node that are in a share.
    #[must_use]
    pub const fn share(inside: &'static Inside) -> Phase {
        let (among, by) = (Among::Share, By::Inside(inside));
        Phase { among, by }
    }

    /// For the leaders.
    #[must_use]
    pub const fn leaders(leaders: &'static [&'static Algorithm]) -> Phase {
        let (among, by) = (Among::Leaders, By::Leaders(leaders));
        Phase { among, by }
    }

    /// The collective that its ranks call.
    pub(super) fn collective(&self) -> Collective {
        match self.by {
            By::Inside(inside) => inside.tree.collective,
            By::Leaders(leaders) => leaders[0].collective,
        }
    }
}

/// The algorithm of a phase, and the call of a group of `ranks` ranks with root `root`.
pub(super) fn part(
    shape: &Shape,
    phase: &Phase,
    ranks: u32,
    root: u32,
) -> (&'static Algorithm, Shape) {
    let inside = shape
        .nodes
        .inside()
        .filter(|_| phase.among != Among::Leaders);
    let (found, parameters) = match (phase.by, &inside) {
        (By::Leaders(leaders), _) => (leaders[shape.get(Layers::INTER) as usize], ""),
        (By::Inside(inside), None) => inside.innermost(shape),
        (By::Inside(inside), Some(_)) => ((inside.groups)(), ""),
    };
    let call = Call {
        collective: found.collective,
        ranks,
        root,
        commutative: shape.call.commutative || !found.collective.reduces(),
        in_place: false,
    };
    let mut part = found
        .shape(call, parameters)
        .unwrap_or_else(|e| panic!("{e}"));
    let ports = shape.get(PORTS.name);
    if phase.among == Among::Leaders && ports > 0 && found.has_key(PORTS.name) {
        part.parameters.set(PORTS.name, ports);
    }
    if phase.among == Among::Leaders && found.requires.contains(&Requirement::Torus) {
        part.torus = shape.torus;
    }
    if let Some(nodes) = inside {
        part.parameters.set(INTRA.name, shape.get(INTRA.name));
        part.nodes = nodes;
    }
    (found, part)
}

/// The algorithm that serves the leaders, with their call.
#[must_use]
pub fn among_leaders(shape: &Shape, phases: &[Phase]) -> (&'static Algorithm, Shape) {
    let leaders = division::sizes(shape).len() as u32;
    let mut all = phases.iter();
    let phase = all.find(|phase| phase.among == Among::Leaders);
    let phase = phase.expect("what is made of others has a phase among the leaders");
    part(shape, phase, leaders, 0)
}

/// Which ranks must share memory: those of phases that windows serve.
#[must_use]
pub fn sharing(shape: &Shape, phases: &[Phase]) -> Sharing {
    let asks = |algorithm: &Algorithm| algorithm.requires.contains(&Requirement::Window);
    let of = |phase: &Phase| match phase.by {
        By::Leaders(_) if asks(part(shape, phase, 1, 0).0) => Sharing::Everybody,
        By::Inside(inside) if asks(inside.innermost(shape).0) => Sharing::Nodes,
        By::Leaders(_) | By::Inside(_) => Sharing::Nobody,
    };
    let all = phases.iter().map(of);
    all.max().unwrap_or(Sharing::Nobody)
}
