//! A phase on a group: the schedule of what serves it, inlined with the group's ranks and the whole call's data.

use super::phases::{Phase, part};
use crate::algorithm::Requirement;
use crate::call::Unit;
use crate::pattern::division::Division;
use crate::schedule::{Blocks, Builder, Group, Reserved, Units};
use alloc::vec::Vec;
use core::ops::Range;

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
    pub vector: Range<u32>,
    /// Whether input and output share memory, as in a call in place.
    pub in_place: bool,
}

/// A collective on each node or on the leaders; every rank says the same phases in the same order, whether it takes part or
/// not.
pub fn phase(b: &mut Builder, nodes: &Division, phase: &Phase, data: &Data<'_>) {
    let among = phase.among;
    let (found, shape) = part(b.shape(), phase, among.largest(nodes), 0);
    let reserved = if found.requires.contains(&Requirement::Window) {
        b.reserve(&found.schedule(&shape, 0), data.longest, &data.vector)
    } else {
        Reserved::default()
    };
    let Some(member) = among.member(nodes) else {
        // Streams along a torus have several; what else has, counts only where each share has its own.
        if found.requires.contains(&Requirement::Torus) || nodes.shares() > 1 {
            b.pass_strands(&found.schedule(&shape, 0));
        }
        return;
    };
    let root = match phase.collective().rooted() {
        true => among.root(nodes),
        false => 0,
    };
    let (found, mut shape) = part(b.shape(), phase, among.ranks(nodes), root);
    shape.call.in_place = data.in_place;
    let group = Group {
        rank: &|member| among.rank(nodes, member),
        input: data.input,
        output: data.output,
        units: data.units,
    };
    let schedule = found.schedule(&shape, member);
    b.inline(&schedule, &group, &reserved);
}
