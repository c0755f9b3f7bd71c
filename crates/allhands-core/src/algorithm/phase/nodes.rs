//! Nodes in phases: a collective on the ranks of every node, or on the nodes' leaders, served by a registered algorithm.
//!
//! What runs inside a phase is that algorithm's own schedule for the group, built as for a call of its own and inlined; which
//! algorithms these are, the keys `intra` and `inter` say. Where nodes are inside groups of nodes, `intra` is the same
//! collective again, hierarchical on the group.

use crate::algorithm::{self, Algorithm, Claims, Key, Requirement, Values};
use crate::call::{Call, Collective, Unit};
use crate::schedule::{Blocks, Builder, Group, Reserved, Shape, Units};
use alloc::vec::Vec;

/// `intra`: what serves a node.
pub const INTRA: Key = Key {
    name: "intra",
    values: Values::Names(&["shared-memory", "tree"]),
    default: 0,
    about: "the algorithm inside a node: windows and flags, or a binomial tree of messages",
};

/// `inter`: what serves the leaders, the first of these names if nothing is said.
#[must_use]
pub const fn inter(names: &'static [&'static str]) -> Key {
    Key {
        name: "inter",
        values: Values::Names(names),
        default: 0,
        about: "the algorithm among the nodes' leaders",
    }
}

/// Which ranks a phase is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Among {
    /// Those of each node, on each node by itself; a rooted call has the leader for its root.
    Node,
    /// The leaders of all nodes; a rooted call has the leader of the root's node for its root.
    Leaders,
}

/// A phase: a collective, and for whom.
pub type Phase = (Among, Collective);

/// The nodes of a call, as one rank sees them.
#[derive(Clone, Debug)]
pub struct Division {
    /// Where each node starts, and the number of ranks.
    starts: Vec<u32>,
    root: u32,
    rank: u32,
}

impl Division {
    /// The nodes (or outermost groups of nodes) of the builder's call.
    #[must_use]
    pub fn new(b: &Builder) -> Division {
        let (root, rank) = (b.root(), b.rank());
        let mut starts = alloc::vec![0];
        for size in b.shape().nodes.sizes(b.ranks()) {
            starts.push(starts[starts.len() - 1] + size);
        }
        Division { starts, root, rank }
    }

    /// The number of nodes.
    #[must_use]
    pub fn nodes(&self) -> u32 {
        self.starts.len() as u32 - 1
    }

    /// The node of a rank.
    #[must_use]
    pub fn node_of(&self, rank: u32) -> u32 {
        self.starts.partition_point(|start| *start <= rank) as u32 - 1
    }

    /// This rank's node.
    #[must_use]
    pub fn own(&self) -> u32 {
        self.node_of(self.rank)
    }

    /// The first rank of a node.
    #[must_use]
    pub fn start(&self, node: u32) -> u32 {
        self.starts[node as usize]
    }

    /// The number of ranks of a node.
    #[must_use]
    pub fn size(&self, node: u32) -> u32 {
        self.start(node + 1) - self.start(node)
    }

    /// The number of ranks of the largest node.
    #[must_use]
    pub fn largest(&self) -> u32 {
        (0..self.nodes())
            .map(|node| self.size(node))
            .max()
            .unwrap_or(1)
    }

    /// The rank that speaks for a node: its first, or the root on the root's own.
    #[must_use]
    pub fn leader(&self, node: u32) -> u32 {
        if node == self.node_of(self.root) {
            // Without a root it is 0, which is the first of its node.
            self.root
        } else {
            self.start(node)
        }
    }

    /// Whether this rank speaks for its node.
    #[must_use]
    pub fn leads(&self) -> bool {
        self.leader(self.own()) == self.rank
    }

    /// The blocks of a node, of blocks that lie rank by rank.
    #[must_use]
    pub fn blocks(&self, all: Blocks, node: u32) -> Blocks {
        all.slice(self.start(node), self.size(node))
    }

    /// New scratch with a block for each rank of this rank's node.
    pub fn scratch(&self, b: &mut Builder) -> Blocks {
        let own = self.own();
        let modulo = u32::MAX;
        let first = self.start(own);
        b.scratch(Units::Run { first, modulo }, self.size(own))
    }
}

/// The algorithm of a phase, and the call of a group of `ranks` ranks with root `root`.
fn part(
    shape: &Shape,
    (among, collective): Phase,
    ranks: u32,
    root: u32,
) -> (&'static Algorithm, Shape) {
    let own = |key: Key, value| match key.values {
        Values::Names(names) => names[value as usize],
        Values::Range { .. } => "",
    };
    let intra = own(INTRA, shape.get(INTRA.name));
    let inside = shape.nodes.inside().filter(|_| among == Among::Node);
    let name = match (among, &inside, intra) {
        (Among::Node, Some(_), _) => "hierarchical",
        (Among::Node, None, "tree") if collective == Collective::Barrier => "gather-broadcast",
        (Among::Node, None, "tree") => "binomial",
        (Among::Node, None, name) => name,
        (Among::Leaders, ..) => {
            let whole = algorithm::find(shape.call.collective, "hierarchical");
            let key = whole.and_then(|a| a.keys.iter().find(|key| key.name == "inter"));
            key.map_or("", |key| own(*key, shape.get("inter")))
        }
    };
    let found = algorithm::find(collective, name)
        .unwrap_or_else(|| panic!("no {collective} is called {name}"));
    let call = Call {
        collective,
        ranks,
        root,
        commutative: shape.call.commutative || !collective.reduces(),
        in_place: false,
    };
    let mut part = found.shape(call, "").unwrap_or_else(|e| panic!("{e}"));
    if let Some(nodes) = inside {
        part.parameters.set(INTRA.name, shape.get(INTRA.name));
        part.nodes = nodes;
    }
    (found, part)
}

/// What a phase does with the data: see [`Group`].
pub struct Data<'a> {
    /// Where each input block lies.
    pub input: &'a dyn Fn(u32) -> Blocks,
    /// Where each output block lies.
    pub output: &'a dyn Fn(u32) -> Blocks,
    /// The units of the whole call that a unit of the group's call stands for.
    pub units: &'a dyn Fn(Unit) -> (Units, u32),
    /// The most of them.
    pub longest: u32,
    /// Whether input and output share memory, as in a call in place.
    pub in_place: bool,
}

/// A collective on each node or on the leaders; every rank says the same phases in the same order, whether it takes part or
/// not.
pub fn phase(b: &mut Builder, nodes: &Division, (among, collective): Phase, data: &Data<'_>) {
    let root_node = nodes.node_of(nodes.root);
    let own = nodes.own();
    let (ranks, largest, root, member) = match among {
        Among::Node => {
            let root = nodes.leader(own) - nodes.start(own);
            (
                nodes.size(own),
                nodes.largest(),
                root,
                Some(nodes.rank - nodes.start(own)),
            )
        }
        Among::Leaders => (
            nodes.nodes(),
            nodes.nodes(),
            root_node,
            nodes.leads().then_some(own),
        ),
    };
    let root = if collective.rooted() { root } else { 0 };
    let (found, shape) = part(b.shape(), (among, collective), largest, 0);
    let reserved = if found.requires.contains(&Requirement::Window) {
        let units = b.parts();
        b.reserve(&found.schedule(&shape, 0), data.longest, units)
    } else {
        Reserved::default()
    };
    let Some(member) = member else {
        return;
    };
    let (found, mut shape) = part(b.shape(), (among, collective), ranks, root);
    shape.call.in_place = data.in_place;
    let rank = |r: u32| match among {
        Among::Node => nodes.start(own) + r,
        Among::Leaders => nodes.leader(r),
    };
    let group = Group {
        rank: &rank,
        input: data.input,
        output: data.output,
        units: data.units,
    };
    let schedule = found.schedule(&shape, member);
    b.inline(&schedule, &group, &reserved);
}

/// A phase over a vector, of which all blocks lie in `input` and in `output` and which the phase's algorithm cuts as it
/// likes.
pub fn vector_phase(
    b: &mut Builder,
    nodes: &Division,
    (among, collective): Phase,
    [input, output]: [Blocks; 2],
    in_place: bool,
) {
    let ranks = match among {
        Among::Node => nodes.size(nodes.own()),
        Among::Leaders => nodes.nodes(),
    };
    let (found, shape) = part(b.shape(), (among, collective), ranks, 0);
    let (all, cuts) = (b.parts(), (found.parts)(&shape));
    let cut = |cut: u32| (u64::from(all) * u64::from(cut) / u64::from(cuts)) as u32;
    let piece = |of: Blocks, at: u32| of.slice(cut(at), cut(at + 1) - cut(at));
    let modulo = u32::MAX;
    let data = Data {
        input: &|at| piece(input, at),
        output: &|at| piece(output, at),
        units: &|unit| {
            let (first, end) = (cut(unit as u32), cut(unit as u32 + 1));
            (Units::Run { first, modulo }, end - first)
        },
        longest: 1,
        in_place,
    };
    phase(b, nodes, (among, collective), &data);
}

/// A phase over blocks that belong to ranks: a node's gather or scatter, or anything among the leaders, to whom a block is all
/// blocks of a node.
pub fn block_phase(
    b: &mut Builder,
    nodes: &Division,
    (among, collective): Phase,
    [input, output]: [&dyn Fn(u32) -> Blocks; 2],
    in_place: bool,
) {
    let (own, modulo) = (nodes.own(), u32::MAX);
    let data = Data {
        input,
        output,
        units: &|unit| {
            let (first, count) = match among {
                Among::Node => (nodes.start(own) + unit as u32, 1),
                Among::Leaders => (nodes.start(unit as u32), nodes.size(unit as u32)),
            };
            (Units::Run { first, modulo }, count)
        },
        longest: match among {
            Among::Node => 1,
            Among::Leaders => nodes.largest(),
        },
        in_place,
    };
    phase(b, nodes, (among, collective), &data);
}

/// The algorithm of each phase, with the call of its largest group: with root 0, and with the root of the group that has the
/// whole call's.
fn parts_of<'a>(
    shape: &'a Shape,
    phases: &'a [Phase],
) -> impl Iterator<Item = [(&'static Algorithm, Shape); 2]> + 'a {
    let sizes = shape.nodes.sizes(shape.ranks());
    let (mut node, mut inside) = (0, shape.call.root);
    while sizes.get(node).is_some_and(|size| inside >= *size) {
        inside -= sizes[node];
        node += 1;
    }
    phases.iter().map(move |&phase| {
        let (ranks, root) = match phase.0 {
            Among::Node => (sizes.iter().copied().max().unwrap_or(1), inside),
            Among::Leaders => (sizes.len() as u32, node as u32),
        };
        let root = if phase.1.rooted() { root } else { 0 };
        [0, root].map(|root| part(shape, phase, ranks, root))
    })
}

/// In how many parts a vector is cut, so that every phase can cut it in equally long pieces.
#[must_use]
pub fn parts(shape: &Shape, phases: &[Phase]) -> u32 {
    let cuts = parts_of(shape, phases).map(|[(part, shape), _]| (part.parts)(&shape));
    cuts.fold(1, least_common_multiple)
}

/// Whether all phases keep rank order; the ranks of a node follow one another, and so do the nodes.
#[must_use]
pub fn keep_order(shape: &Shape, phases: &[Phase]) -> bool {
    parts_of(shape, phases).all(|[(part, shape), _]| (part.ordered)(&shape))
}

/// What the phases cost together at most: the ports of the widest, and the steps of all of them, one phase after another.
/// It can be less, as ranks go on to the next phase as soon as theirs is over.
#[must_use]
pub fn claims(shape: &Shape, phases: &[Phase]) -> Claims {
    let none = Claims {
        ports: 0,
        steps: 0,
        volume: Claims::UNCLAIMED,
        work: Claims::UNCLAIMED,
    };
    parts_of(shape, phases).fold(none, |all, roots| {
        let [a, b] = roots.map(|(part, shape)| (part.claims)(&shape));
        Claims {
            ports: all.ports.max(a.ports).max(b.ports),
            steps: all.steps + a.steps.max(b.steps),
            ..all
        }
    })
}

fn least_common_multiple(a: u32, b: u32) -> u32 {
    let (mut x, mut y) = (a, b);
    while y > 0 {
        (x, y) = (y, x % y);
    }
    a / x * b
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::machine::Nodes;
    use crate::verify;
    use alloc::format;

    /// Every pair of algorithms that the keys name, on nodes of all kinds.
    #[test]
    fn whatever_the_keys_name_is_right() {
        for whole in algorithm::all().filter(|a| a.name == "hierarchical") {
            let names = |at: usize| match whole.keys[at].values {
                Values::Names(names) => names,
                Values::Range { .. } => &[],
            };
            for (intra, inter) in names(0)
                .iter()
                .flat_map(|a| names(1).iter().map(move |b| (a, b)))
            {
                for ranks in [1, 5, 12] {
                    let call = Call {
                        root: if whole.collective.rooted() {
                            ranks / 3
                        } else {
                            0
                        },
                        ..Call::new(whole.collective, ranks)
                    };
                    let shape = whole.shape(call, &format!("intra={intra},inter={inter}"));
                    let shape = shape.expect("the keys name them");
                    for nodes in Nodes::samples(ranks) {
                        let shape = shape.clone().on(nodes.clone());
                        let proved = verify::verify(whole, &shape);
                        let what = || format!("{whole:?}:intra={intra},inter={inter} on {nodes}");
                        proved.unwrap_or_else(|f| panic!("{}: {f}", what()));
                    }
                }
            }
        }
    }
}
