//! Phases over blocks: each member of a group has one, which stands for the blocks of one rank or of a node's share.

use super::among::Among;
use super::group::{self, Data};
use super::phases::Phase;
use crate::pattern::division::Division;
use crate::schedule::{Blocks, Builder, Units};
use alloc::vec;

/// A phase over blocks that belong to ranks: a gather or scatter of a node's share, or anything among the leaders, to whom a
/// block is all blocks of a node's share.
pub fn block_phase(
    b: &mut Builder,
    nodes: &Division,
    phase: &Phase,
    [input, output]: [&dyn Fn(u32) -> Blocks; 2],
    in_place: bool,
) {
    let (among, modulo) = (phase.among, u32::MAX);
    let data = Data {
        input: &|at| vec![input(at)],
        output: &|at| vec![output(at)],
        units: &|unit| {
            let (first, count) = among.behind(nodes, unit as u32);
            vec![(Units::Run { first, modulo }, count)]
        },
        longest: match among {
            Among::Node | Among::Share => 1,
            Among::Leaders => nodes.largest_share(),
        },
        vector: 0..b.parts(),
        in_place,
    };
    group::phase(b, nodes, phase, &data);
}
