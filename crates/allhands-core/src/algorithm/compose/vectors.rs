//! Phases over vectors: each works on the same part of input and output, which its algorithm cuts as it likes.

use super::group::{self, Data};
use super::phases::{Phase, part};
use super::shares::each_share;
use crate::pattern::division::Division;
use crate::schedule::{Blocks, Builder, Units};
use core::ops::Range;

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
    let ranks = phase.among.ranks(nodes);
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
    group::phase(b, nodes, phase, &data);
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
fn within(runs: &[(u32, u32)], range: Range<u32>) -> impl Iterator<Item = (u32, u32)> + '_ {
    let mut before = 0;
    runs.iter().filter_map(move |&(first, count)| {
        let start = range.start.clamp(before, before + count);
        let end = range.end.clamp(before, before + count);
        let skipped = start - before;
        before += count;
        (start < end).then_some((first + skipped, end - start))
    })
}
