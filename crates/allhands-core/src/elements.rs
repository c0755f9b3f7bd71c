//! Elements that say where they belong: the memory of all ranks in which a run of plans shows whether its results are right.
//!
//! An element names its place in the vector and the ranks that it combines, so a wrong offset, a lost or doubled contribution,
//! or one out of order shows in the result. Up to [`EXACT_RANKS`] ranks each has a bit; of more ranks an element holds the sum
//! of a random number for each, which shows all of that but the order.

mod meetings;

use crate::call::{Alias, Call, Unit};
use crate::schedule::{Extent, Layout, Plan, Side, Space};
use crate::symbolic::{Failure, Law};
use alloc::format;
use alloc::string::String;
use alloc::vec;
use alloc::vec::Vec;
use core::ops::Range;

pub(crate) use meetings::Meetings;

/// A place in the vector above the ranks that are combined.
pub type Element = u128;

/// Up to this many ranks an element names each rank that it combines.
pub const EXACT_RANKS: u32 = 64;

/// The bits for a place in a unit.
const PLACE_BITS: u32 = 24;

/// The bits for ranks.
const RANKS: Element = (1 << EXACT_RANKS) - 1;

/// The memory of all ranks, on elements.
#[derive(Clone, Debug)]
pub struct Memory {
    spaces: Vec<[Vec<Element>; 4]>,
    element_bytes: usize,
    commutative: bool,
    reduces: bool,
    /// The sums of the ranks' random numbers, up to each rank; empty where every rank has a bit.
    sums: Vec<u64>,
}

impl Memory {
    /// The memory before the call: every rank's input is there, everything else is garbage. `parts` is that of the ranks'
    /// schedules, which their `plans` were lowered from for `layout`.
    #[must_use]
    pub fn new(call: &Call, parts: &[u32], plans: &[Plan], layout: &Layout) -> Memory {
        let mut memory = Memory {
            spaces: Vec::with_capacity(plans.len()),
            element_bytes: plans.first().map_or(1, |plan| plan.element_bytes),
            commutative: call.commutative,
            reduces: call.collective.reduces(),
            sums: Vec::new(),
        };
        if call.ranks > EXACT_RANKS {
            let add = |sum: &mut u64, rank: u32| {
                *sum = sum.wrapping_add(random(u64::from(rank)));
                Some(*sum)
            };
            memory.sums = [0]
                .into_iter()
                .chain((0..call.ranks).scan(0, add))
                .collect();
        }
        for (plan, &parts) in plans.iter().zip(parts) {
            let spaces = memory.filled(call, parts, plan, layout);
            memory.spaces.push(spaces);
        }
        memory
    }

    /// The spaces of a rank with its input.
    fn filled(&self, call: &Call, parts: u32, plan: &Plan, layout: &Layout) -> [Vec<Element>; 4] {
        let (rank, cut) = (plan.rank, (parts, call.pieces(parts)));
        let mut spaces = plan
            .space_bytes
            .map(|bytes| vec![Element::MAX; bytes / self.element_bytes]);
        let (space, start) = match call.alias(rank, parts) {
            Alias::InputInOutput { first } => {
                let unit = |block| call.output_unit(rank, block, parts);
                (Space::Output, offset_of(unit, cut, layout, first))
            }
            Alias::Apart | Alias::OutputInInput { .. } => (Space::Input, 0),
        };
        let mut at = start;
        for block in 0..call.input_blocks(rank, parts) {
            let unit = call.input_unit(rank, block, parts);
            for index in 0..layout.elements(unit, parts, cut.1).unwrap_or(0) {
                spaces[space.index()][at] = self.element(unit, index, (rank, rank + 1));
                at += 1;
            }
        }
        spaces
    }

    /// The element of a unit: its place, and the ranks combined in it.
    fn element(&self, unit: Unit, index: usize, (start, end): (u32, u32)) -> Element {
        let place = Element::from(unit << PLACE_BITS | index as u64);
        let ranks = match (self.reduces, self.sums.as_slice()) {
            (false, _) => 0,
            (true, []) => (1 << end) - (1 << start),
            (true, sums) => {
                let sum = sums[end as usize].wrapping_sub(sums[start as usize]);
                Element::from(sum)
            }
        };
        place << EXACT_RANKS | ranks
    }

    /// The unit to which an element of blocks that nothing combines belongs; `None` for garbage.
    pub(crate) fn unit(element: Element) -> Option<Unit> {
        (element != Element::MAX).then_some((element >> EXACT_RANKS >> PLACE_BITS) as Unit)
    }

    /// The elements of an extent, in its space.
    fn places(&self, extent: &Extent) -> Range<usize> {
        let start = extent.offset / self.element_bytes;
        start..start + extent.bytes / self.element_bytes
    }

    /// What a rank's extents hold.
    #[must_use]
    pub fn gather(&self, rank: u32, extents: &[Extent]) -> Vec<Element> {
        let spaces = &self.spaces[rank as usize];
        let mut all = Vec::with_capacity(extents.iter().map(|e| self.places(e).len()).sum());
        for extent in extents {
            all.extend_from_slice(&spaces[extent.space.index()][self.places(extent)]);
        }
        all
    }

    /// Writes data to `target` of `rank`; with a side, first combines them with what its extents `own` hold: the data stand on
    /// that side.
    ///
    /// # Errors
    /// What is wrong with the data, as a broken law.
    pub fn deliver(
        &mut self,
        rank: u32,
        data: &[Element],
        own: (&[Extent], Option<Side>),
        target: &[Extent],
    ) -> Result<(), Failure> {
        let (own, side) = own;
        match side {
            None => self.scatter(rank, target, data),
            Some(side) => {
                let own = self.gather(rank, own);
                let data = match side {
                    Side::Left => self.combine(rank, data, &own)?,
                    Side::Right => self.combine(rank, &own, data)?,
                };
                self.scatter(rank, target, &data)
            }
        }
    }

    fn scatter(&mut self, rank: u32, extents: &[Extent], data: &[Element]) -> Result<(), Failure> {
        let expected: usize = extents.iter().map(|e| self.places(e).len()).sum();
        if expected != data.len() {
            let what = format!(
                "{} elements arrive where {expected} are expected",
                data.len()
            );
            return Err(failure(Law::Matching, rank, what));
        }
        let mut rest = data;
        for extent in extents {
            let places = self.places(extent);
            let (here, behind) = rest.split_at(places.len());
            self.spaces[rank as usize][extent.space.index()][places].copy_from_slice(here);
            rest = behind;
        }
        Ok(())
    }

    fn combine(
        &self,
        rank: u32,
        left: &[Element],
        right: &[Element],
    ) -> Result<Vec<Element>, Failure> {
        let both = |(&l, &r): (&Element, &Element)| {
            let (place, lower, upper) = (l >> EXACT_RANKS, l & RANKS, r & RANKS);
            let is_exact = self.sums.is_empty();
            let ordered = self.commutative || lower < upper & upper.wrapping_neg();
            let apart = !is_exact || lower & upper == 0 && ordered;
            if place != r >> EXACT_RANKS || !apart || !self.reduces {
                let what = format!("combines element {l:#x} with {r:#x}");
                return Err(failure(Law::Result, rank, what));
            }
            let ranks = if is_exact {
                lower | upper
            } else {
                (lower + upper) & RANKS
            };
            Ok(place << EXACT_RANKS | ranks)
        };
        if left.len() != right.len() {
            let what = format!("combines {} elements with {}", left.len(), right.len());
            return Err(failure(Law::Matching, rank, what));
        }
        let mut combined = Vec::with_capacity(left.len());
        for pair in left.iter().zip(right) {
            combined.push(both(pair)?);
        }
        Ok(combined)
    }

    /// Whether every rank has the result that the call promises.
    ///
    /// # Errors
    /// The first element that is wrong, as a broken law.
    pub fn check(&self, call: &Call, parts: &[u32], layout: &Layout) -> Result<(), Failure> {
        for (rank, &parts) in (0..).zip(parts) {
            let cut = (parts, call.pieces(parts));
            let (space, mut at) = match call.alias(rank, parts) {
                Alias::OutputInInput { first } => {
                    let unit = |block| call.input_unit(rank, block, parts);
                    (Space::Input, offset_of(unit, cut, layout, first))
                }
                Alias::Apart | Alias::InputInOutput { .. } => (Space::Output, 0),
            };
            for block in 0..call.output_blocks(rank, parts) {
                let unit = call.output_unit(rank, block, parts);
                let elements = layout.elements(unit, parts, cut.1).unwrap_or(0);
                let Some(content) = call.after(rank, block, parts) else {
                    continue;
                };
                let ranks = content.contributions.unwrap_or((0, 0));
                let found = &self.spaces[rank as usize][space.index()][at..at + elements];
                at += elements;
                for (index, &got) in found.iter().enumerate() {
                    let expected = self.element(content.unit, index, ranks);
                    if got != expected {
                        let what = format!(
                            "element {index} of output block {block} is {got:#x}, not {expected:#x} ({layout:?})"
                        );
                        return Err(failure(Law::Result, rank, what));
                    }
                }
            }
        }
        Ok(())
    }
}

fn failure(law: Law, rank: u32, what: String) -> Failure {
    Failure { law, rank, what }
}

/// The element at which block `first` of the larger of two aliased spaces starts.
fn offset_of(
    unit: impl Fn(u32) -> Unit,
    (parts, pieces): (u32, u32),
    layout: &Layout,
    first: u32,
) -> usize {
    (0..first)
        .map(|block| layout.elements(unit(block), parts, pieces).unwrap_or(0))
        .sum()
}

/// A random number for a number.
fn random(number: u64) -> u64 {
    mixed(number.wrapping_add(1).wrapping_mul(0x9e37_79b9_7f4a_7c15))
}

/// A number's bits, well mixed. (SplitMix64, Steele, Lea, Flood 2014.)
pub(crate) fn mixed(number: u64) -> u64 {
    let z = (number ^ (number >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}
