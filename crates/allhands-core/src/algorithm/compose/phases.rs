//! Phases of a composed algorithm: for whom each is, what serves it, and what follows from that for all of them together.

use crate::algorithm::phase::division;
use crate::algorithm::{Algorithm, Claims, Key, Layers, Requirement, Sharing, Values};
use crate::call::{Call, Collective};
use crate::schedule::Shape;
use alloc::vec;
use alloc::vec::Vec;

/// `intra`: what serves a node.
pub const INTRA: Key = Key {
    name: "intra",
    values: Values::Names(&["shared-memory", "tree"]),
    default: 0,
    about: "the algorithm inside a node: windows and flags, or a binomial tree of messages",
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
    /// Where nodes are inside groups of nodes: what serves a group.
    pub groups: fn() -> &'static Algorithm,
}

impl Inside {
    /// What the key `intra` says.
    fn innermost(&self, shape: &Shape) -> &'static Algorithm {
        match shape.get(INTRA.name) {
            0 => self.shared_memory,
            _ => self.tree,
        }
    }
}

/// Which ranks a phase is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Among {
    /// Those of each node, on each node by itself; a rooted call has the leader for its root.
    Node,
    /// Those of each node that are in a share, each share by itself; a rooted call has the share's leader for its root.
    Share,
    /// The leaders of all nodes for a share; a rooted call has the leader of the root's node for its root.
    Leaders,
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
    let found = match (phase.by, &inside) {
        (By::Leaders(leaders), _) => leaders[shape.get(Layers::INTER) as usize],
        (By::Inside(inside), None) => inside.innermost(shape),
        (By::Inside(inside), Some(_)) => (inside.groups)(),
    };
    let call = Call {
        collective: found.collective,
        ranks,
        root,
        commutative: shape.call.commutative || !found.collective.reduces(),
        in_place: false,
    };
    let mut part = found.shape(call, "").unwrap_or_else(|e| panic!("{e}"));
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
        By::Inside(inside) if asks(inside.innermost(shape)) => Sharing::Nodes,
        By::Leaders(_) | By::Inside(_) => Sharing::Nobody,
    };
    let all = phases.iter().map(of);
    all.max().unwrap_or(Sharing::Nobody)
}

/// The algorithm of each phase, with the call of its largest group: with root 0, and with the roots of all shares and of the
/// group that has the whole call's.
fn parts_of<'a>(
    shape: &'a Shape,
    phases: &'a [Phase],
) -> impl Iterator<Item = Vec<(&'static Algorithm, Shape)>> + 'a {
    let (sizes, shares) = (division::sizes(shape), division::shares(shape));
    let (mut node, mut inside) = (0, shape.call.root);
    while sizes.get(node).is_some_and(|size| inside >= *size) {
        inside -= sizes[node];
        node += 1;
    }
    phases.iter().map(move |phase| {
        let largest = sizes.iter().copied().max().unwrap_or(1);
        let mut roots = vec![0];
        let ranks = match phase.among {
            Among::Node => {
                roots.push(inside);
                roots.extend((1..shares).map(|share| division::cut(largest, share, shares)));
                largest
            }
            Among::Share => largest.div_ceil(shares),
            Among::Leaders => {
                roots.push(node as u32);
                sizes.len() as u32
            }
        };
        if !phase.collective().rooted() {
            roots.truncate(1);
        }
        let of_root = |root| part(shape, phase, ranks, root);
        roots.into_iter().map(of_root).collect()
    })
}

/// In how many parts a vector is cut, so that every phase can cut its share in equally long pieces.
#[must_use]
pub fn parts(shape: &Shape, phases: &[Phase]) -> u32 {
    let cuts = parts_of(shape, phases).map(|roots| {
        let (part, shape) = &roots[0];
        (part.parts)(shape)
    });
    cuts.fold(1, least_common_multiple) * division::shares(shape)
}

/// Whether all phases keep rank order; the ranks of a node follow one another, and so do the nodes.
#[must_use]
pub fn keep_order(shape: &Shape, phases: &[Phase]) -> bool {
    let mut parts = parts_of(shape, phases).flatten();
    parts.all(|(part, shape)| (part.ordered)(&shape))
}

/// What the phases cost together at most: the ports of the widest, for each share and for what is done before or after all
/// shares, and the steps of all of them, one phase after another.
/// It can be less, as ranks go on to the next phase as soon as theirs is over. What a scatter's root sends and a gather's gets is
/// each other rank's block, once. Of all others no volume is claimed, and of reductions no work: an algorithm's claims say the most of
/// any of its ranks and not of which, and it is seldom the same rank that has the most in all phases.
#[must_use]
pub fn claims(shape: &Shape, phases: &[Phase]) -> Claims {
    let none = Claims {
        ports: 0,
        steps: 0,
        volume: match shape.call.collective {
            Collective::Barrier => 0,
            Collective::Scatter | Collective::Gather => u64::from(shape.ranks() - 1),
            Collective::Broadcast
            | Collective::Allgather
            | Collective::Alltoall
            | Collective::ReduceScatter
            | Collective::Reduce
            | Collective::Allreduce
            | Collective::Scan
            | Collective::Exscan => Claims::UNCLAIMED,
        },
        work: match shape.call.collective.reduces() {
            true => Claims::UNCLAIMED,
            false => 0,
        },
    }
    .with_steps_at_most();
    let all = parts_of(shape, phases).fold(none, |all, roots| {
        let claims: Vec<Claims> = roots.iter().map(|(a, shape)| (a.claims)(shape)).collect();
        let most = |of: fn(&Claims) -> u32| claims.iter().map(of).max().unwrap_or(0);
        // Streams that do not start together may come together where they did not.
        let streams = roots.iter().filter_map(|(_, part)| part.torus);
        let streams = streams.map(|torus| torus.ways().count() as u32);
        Claims {
            ports: all
                .ports
                .max(most(|c| c.ports) * streams.max().unwrap_or(1).max(1)),
            steps: all.steps + most(|c| c.steps),
            ..all
        }
    });
    match division::shares(shape) {
        1 => all,
        shares => Claims {
            ports: all.ports * (shares + 1),
            ..all
        },
    }
}

fn least_common_multiple(a: u32, b: u32) -> u32 {
    let (mut x, mut y) = (a, b);
    while y > 0 {
        (x, y) = (y, x % y);
    }
    a / x * b
}
