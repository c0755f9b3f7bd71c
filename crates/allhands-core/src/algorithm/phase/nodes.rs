//! Nodes in phases: a collective on the ranks of every node, or on the nodes' leaders, served by a registered algorithm.
//!
//! What runs inside a phase is that algorithm's own schedule for the group, built as for a call of its own and inlined; which
//! algorithms these are, the keys `intra` and `inter` say. Where nodes are inside groups of nodes, `intra` is the same
//! collective again, hierarchical on the group.
//!
//! A node may have several leaders, each for a share of the data; the shares go through the phases side by side:
//!
//! ```text
//! allreduce on 2 nodes of 4, 2 leaders      first half   1 2 3 ─▶ 0   5 6 7 ─▶ 4      0 ⇄ 4      0 ─▶ 1 2 3   4 ─▶ 5 6 7
//!                                           second half  0 1 3 ─▶ 2   4 5 7 ─▶ 6      2 ⇄ 6      2 ─▶ 0 1 3   6 ─▶ 4 5 7
//! ```

use crate::algorithm::{self, Algorithm, Claims, Key, Requirement, Values};
use crate::call::{Call, Collective, Unit};
use crate::schedule::{Blocks, Builder, Group, Reserved, Shape, Units};
use alloc::vec;
use alloc::vec::Vec;

/// `intra`: what serves a node.
pub const INTRA: Key = Key {
    name: "intra",
    values: Values::Names(&["shared-memory", "tree"]),
    default: 0,
    about: "the algorithm inside a node: windows and flags, or a binomial tree of messages",
};

/// `leaders`: how many leaders a node has.
pub const LEADERS: Key = Key {
    name: "leaders",
    values: Values::Range { min: 1, max: 64 },
    default: 1,
    about: "leaders of each node, each for a share of the data",
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
    /// Those of each node that are in a share, each share by itself; a rooted call has the share's leader for its root.
    Share,
    /// The leaders of all nodes for a share; a rooted call has the leader of the root's node for its root.
    Leaders,
}

/// A phase: a collective, and for whom.
pub type Phase = (Among, Collective);

mod division;

pub use division::Division;

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
    let inside = shape.nodes.inside().filter(|_| among != Among::Leaders);
    let name = match (among, &inside, intra) {
        (Among::Node | Among::Share, Some(_), _) => "hierarchical",
        (Among::Node | Among::Share, None, "tree") if collective == Collective::Barrier => {
            "gather-broadcast"
        }
        (Among::Node | Among::Share, None, "tree") => "binomial",
        (Among::Node | Among::Share, None, name) => name,
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
    if among == Among::Leaders && found.requires.contains(&Requirement::Torus) {
        part.torus = shape.torus;
    }
    if let Some(nodes) = inside {
        part.parameters.set(INTRA.name, shape.get(INTRA.name));
        part.nodes = nodes;
    }
    (found, part)
}

/// The algorithm that serves the leaders, with their call: of the same collective, as the whole one is.
#[must_use]
pub fn among_leaders(shape: &Shape) -> (&'static Algorithm, Shape) {
    let leaders = division::sizes(shape).len() as u32;
    part(shape, (Among::Leaders, shape.call.collective), leaders, 0)
}

/// What a phase does with the data: see [`Group`].
pub struct Data<'a> {
    /// Where each input block lies.
    pub input: &'a dyn Fn(u32) -> Vec<Blocks>,
    /// Where each output block lies.
    pub output: &'a dyn Fn(u32) -> Vec<Blocks>,
    /// The units of the whole call that a unit of the group's call stands for.
    pub units: &'a dyn Fn(Unit) -> Vec<(Units, u32)>,
    /// The most of them.
    pub longest: u32,
    /// Where the units of a vector lie.
    pub vector: core::ops::Range<u32>,
    /// Whether input and output share memory, as in a call in place.
    pub in_place: bool,
}

/// A collective on each node or on the leaders; every rank says the same phases in the same order, whether it takes part or
/// not.
pub fn phase(b: &mut Builder, nodes: &Division, (among, collective): Phase, data: &Data<'_>) {
    let (own, rank) = (nodes.own(), nodes.rank());
    // The first rank, the number of ranks, and those of the largest group.
    let (first, ranks, largest) = match among {
        Among::Node => (nodes.start(own), nodes.size(own), nodes.largest()),
        Among::Share => {
            let share = nodes.share_of(own);
            (share.start, share.len() as u32, nodes.largest_share())
        }
        Among::Leaders => (0, nodes.nodes(), nodes.nodes()),
    };
    let (root, member) = match among {
        Among::Leaders => (nodes.root_node(), nodes.leads().then_some(own)),
        Among::Node | Among::Share => {
            let member = rank.checked_sub(first).filter(|at| *at < ranks);
            (nodes.leader(own) - first, member)
        }
    };
    let root = if collective.rooted() { root } else { 0 };
    let (found, shape) = part(b.shape(), (among, collective), largest, 0);
    let reserved = if found.requires.contains(&Requirement::Window) {
        b.reserve(&found.schedule(&shape, 0), data.longest, &data.vector)
    } else {
        Reserved::default()
    };
    let Some(member) = member else {
        // Only streams along a torus have several.
        if found.requires.contains(&Requirement::Torus) {
            b.pass_strands(&found.schedule(&shape, 0));
        }
        return;
    };
    let (found, mut shape) = part(b.shape(), (among, collective), ranks, root);
    shape.call.in_place = data.in_place;
    let rank = |r: u32| match among {
        Among::Node | Among::Share => first + r,
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

/// A phase over part of a vector, which lies at the same units `runs` (first, how many) of `input` and `output` and which the
/// phase's algorithm cuts as it likes.
pub fn vector_phase(
    b: &mut Builder,
    nodes: &Division,
    (among, collective): Phase,
    runs: &[(u32, u32)],
    [input, output]: [Blocks; 2],
    in_place: bool,
) {
    let ranks = match among {
        Among::Node => nodes.size(nodes.own()),
        Among::Share => nodes.share_of(nodes.own()).len() as u32,
        Among::Leaders => nodes.nodes(),
    };
    let (found, shape) = part(b.shape(), (among, collective), ranks, 0);
    let (all, cuts) = (
        runs.iter().map(|run| run.1).sum::<u32>(),
        (found.parts)(&shape),
    );
    let cut = |cut: u32| (u64::from(all) * u64::from(cut) / u64::from(cuts)) as u32;
    let piece = |at: u32| within(runs, cut(at)..cut(at + 1));
    let blocks = |of: Blocks, at: u32| {
        let runs = piece(at);
        runs.map(|(first, count)| of.slice(first, count)).collect()
    };
    let modulo = u32::MAX;
    let data = Data {
        input: &|at| blocks(input, at),
        output: &|at| blocks(output, at),
        units: &|unit| {
            let runs = piece(unit as u32);
            runs.map(|(first, count)| (Units::Run { first, modulo }, count))
                .collect()
        },
        longest: 1,
        vector: runs.first().map_or(0, |run| run.0)..runs.last().map_or(0, |run| run.0 + run.1),
        in_place,
    };
    phase(b, nodes, (among, collective), &data);
}

/// A whole vector through phases, each share of it by itself: the first has the input, and leaves in the output what the
/// others go on with.
pub fn vector_phases(b: &mut Builder, phases: &[Phase]) {
    let (node, in_place) = (Division::new(b), b.call().in_place);
    let (input, output) = (b.input(), b.output());
    each_share(b, &node, |b, node| {
        let runs = node.part_in_share(b.parts());
        let mut from = (input, in_place);
        for &phase in phases {
            vector_phase(b, node, phase, &runs, [from.0, output], from.1);
            from = (output, true);
        }
    });
}

/// What of some runs, which follow one another, lies in `range`.
fn within(
    runs: &[(u32, u32)],
    range: core::ops::Range<u32>,
) -> impl Iterator<Item = (u32, u32)> + '_ {
    let mut before = 0;
    runs.iter().filter_map(move |&(first, count)| {
        let start = range.start.clamp(before, before + count);
        let end = range.end.clamp(before, before + count);
        let skipped = start - before;
        before += count;
        (start < end).then_some((first + skipped, end - start))
    })
}

/// A phase over blocks that belong to ranks: a gather or scatter of a node's share, or anything among the leaders, to whom a
/// block is all blocks of a node's share.
pub fn block_phase(
    b: &mut Builder,
    nodes: &Division,
    (among, collective): Phase,
    [input, output]: [&dyn Fn(u32) -> Blocks; 2],
    in_place: bool,
) {
    let (own, modulo) = (nodes.own(), u32::MAX);
    let data = Data {
        input: &|at| vec![input(at)],
        output: &|at| vec![output(at)],
        units: &|unit| {
            let (first, count) = match among {
                Among::Node => (nodes.start(own) + unit as u32, 1),
                Among::Share => (nodes.share_of(own).start + unit as u32, 1),
                Among::Leaders => {
                    let share = nodes.share_of(unit as u32);
                    (share.start, share.len() as u32)
                }
            };
            vec![(Units::Run { first, modulo }, count)]
        },
        longest: match among {
            Among::Node | Among::Share => 1,
            Among::Leaders => nodes.largest_share(),
        },
        vector: 0..b.parts(),
        in_place,
    };
    phase(b, nodes, (among, collective), &data);
}

/// Does `body` for every share of the data: where there are several, side by side, after all that was said before and before
/// all that is said after.
pub fn each_share(
    b: &mut Builder,
    nodes: &Division,
    mut body: impl FnMut(&mut Builder, &Division),
) {
    if nodes.shares() == 1 {
        return body(b, nodes);
    }
    b.step();
    let before = b.items(0);
    let mut strand = |b: &mut Builder, share| {
        b.strand(|b| {
            if before > 0 {
                b.await_strand(0, before);
                b.step();
            }
            body(b, &nodes.of_share(share));
        })
    };
    let strands: Vec<usize> = (0..nodes.shares()).map(|share| strand(b, share)).collect();
    for strand in strands {
        b.await_strand(strand, b.items(strand));
    }
    b.step();
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
    phases.iter().map(move |&phase| {
        let largest = sizes.iter().copied().max().unwrap_or(1);
        let mut roots = vec![0];
        let ranks = match phase.0 {
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
        if !phase.1.rooted() {
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::algorithm::Unsuitable;
    use crate::machine::Nodes;
    use crate::verify;
    use alloc::format;

    /// Every pair of algorithms that the keys name, on nodes of all kinds, with one leader a node and with several.
    #[test]
    fn whatever_the_keys_name_is_right() {
        for whole in algorithm::all().filter(|a| a.name == "hierarchical") {
            let names = |at: usize| match whole.keys[at].values {
                Values::Names(names) => names,
                Values::Range { .. } => &[],
            };
            let leaders = whole.keys.get(2).map_or(&[1][..], |_| &[1, 2, 3]);
            for (intra, inter) in names(0)
                .iter()
                .flat_map(|a| names(1).iter().map(move |b| (a, b)))
            {
                let several = |leaders: &u32| match *leaders {
                    1 => format!("intra={intra},inter={inter}"),
                    several => format!("intra={intra},inter={inter},leaders={several}"),
                };
                for parameters in leaders.iter().map(several) {
                    for ranks in [1, 5, 12] {
                        on_all_nodes(whole, ranks, &parameters);
                    }
                }
            }
        }
    }

    fn on_all_nodes(whole: &'static Algorithm, ranks: u32, parameters: &str) {
        let rooted = whole.collective.rooted();
        let call = Call {
            root: if rooted { ranks / 3 } else { 0 },
            ..Call::new(whole.collective, ranks)
        };
        let shape = whole.shape(call, parameters).expect("the keys name them");
        for nodes in Nodes::samples(ranks) {
            let on_nodes = shape.clone().on(nodes.clone());
            let (leaders, of_leaders) = among_leaders(&on_nodes);
            for torus in leaders.tori(of_leaders.ranks()) {
                let placed = on_nodes.clone().on_torus(torus);
                if matches!(whole.admits(&placed), Err(Unsuitable::NotPowerOfTwo { .. })) {
                    continue;
                }
                let proved = verify::verify(whole, &placed);
                let proved = proved.map_err(|f| format!("{f}, on {torus:?}"));
                proved.unwrap_or_else(|f| panic!("{whole:?}:{parameters} on {nodes}: {f}"));
            }
        }
    }
}
