//! Composition: an algorithm made of others, a collective on the ranks of every node, or on the nodes' leaders, phase by phase.
//!
//! What runs inside a phase is another algorithm's own schedule for the group, built as for a call of its own and inlined. Which
//! algorithms these may be, the composed one's file lists, and its keys `intra` and `inter` say which of them it is; this room knows no
//! algorithm by name and asks no registry. Where nodes are inside groups of nodes, `intra` is the same
//! collective again, hierarchical on the group.
//!
//! A node may have several leaders, each for a share of the data; the shares go through the phases side by side:
//!
//! ```text
//! allreduce on 2 nodes of 4, 2 leaders      first half   1 2 3 ─▶ 0   5 6 7 ─▶ 4      0 ⇄ 4      0 ─▶ 1 2 3   4 ─▶ 5 6 7
//!                                           second half  0 1 3 ─▶ 2   4 5 7 ─▶ 6      2 ⇄ 6      2 ─▶ 0 1 3   6 ─▶ 4 5 7
//! ```

mod phases;

pub use phases::{INTRA, Inside, Phase, among_leaders, claims, keep_order, names, parts, sharing};

use crate::algorithm::Requirement;
use crate::algorithm::phase::division::Division;
use crate::call::Unit;
use crate::schedule::{Blocks, Builder, Group, Reserved, Units};
use alloc::vec;
use alloc::vec::Vec;
use phases::{Among, part};

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
pub fn phase(b: &mut Builder, nodes: &Division, phase: &Phase, data: &Data<'_>) {
    let (among, collective) = (phase.among, phase.collective());
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
    let (found, shape) = part(b.shape(), phase, largest, 0);
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
    let (found, mut shape) = part(b.shape(), phase, ranks, root);
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
    phase: &Phase,
    runs: &[(u32, u32)],
    [input, output]: [Blocks; 2],
    in_place: bool,
) {
    let ranks = match phase.among {
        Among::Node => nodes.size(nodes.own()),
        Among::Share => nodes.share_of(nodes.own()).len() as u32,
        Among::Leaders => nodes.nodes(),
    };
    let (found, shape) = part(b.shape(), phase, ranks, 0);
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
    self::phase(b, nodes, phase, &data);
}

/// A whole vector through phases, each share of it by itself: the first has the input, and leaves in the output what the
/// others go on with.
pub fn vector_phases(b: &mut Builder, phases: &[Phase]) {
    let (node, in_place) = (Division::new(b), b.call().in_place);
    let (input, output) = (b.input(), b.output());
    each_share(b, &node, |b, node| {
        let runs = node.part_in_share(b.parts());
        let mut from = (input, in_place);
        for phase in phases {
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
    phase: &Phase,
    [input, output]: [&dyn Fn(u32) -> Blocks; 2],
    in_place: bool,
) {
    let (among, own, modulo) = (phase.among, nodes.own(), u32::MAX);
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
    self::phase(b, nodes, phase, &data);
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

#[cfg(test)]
mod tests {
    use crate::algorithm::{self, Algorithm, Unsuitable, Values};
    use crate::call::Call;
    use crate::machine::Nodes;
    use crate::verify;
    use alloc::format;

    /// Every pair of algorithms that the keys name, on nodes of all kinds, with one leader a node and with several.
    #[test]
    fn whatever_the_keys_name_is_right() {
        for whole in algorithm::all().filter(|a| a.layers.is_some()) {
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
            let found = whole.among_leaders(&on_nodes);
            let (leaders, of_leaders) = found.expect("it has layers, and the nodes are its own");
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
