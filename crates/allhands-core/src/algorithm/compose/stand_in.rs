//! A stand-in: the collective of all ranks that serves another, whose result it leaves on more ranks than asked for.

use super::phases::names;
use crate::algorithm::{Algorithm, Key, Requirement, Values};
use crate::pattern::division::cut;
use crate::schedule::{Blocks, Builder, Group, Reserved, Shape, Units};
use alloc::vec;

/// The key that names the algorithm of the collective that stands in.
pub const STAND_IN: &str = "by";

/// The collective that stands in, by one of these algorithms, which ask for nothing and keep to one port.
#[derive(Clone, Copy)]
pub struct StandIn<const N: usize>(pub &'static [&'static Algorithm; N]);

impl<const N: usize> StandIn<N> {
    /// What these algorithms are called.
    #[must_use]
    pub const fn names(&self) -> [&'static str; N] {
        names(self.0)
    }

    /// The key that names one of them.
    #[must_use]
    pub const fn key(names: &'static [&'static str; N]) -> Key {
        Key {
            name: STAND_IN,
            values: Values::Names(names),
            default: 0,
            about: "the algorithm of the collective that stands in",
        }
    }

    /// The algorithm that stands in for a call, with its own call, whose vectors are cut as it likes.
    ///
    /// # Panics
    /// If the algorithm has no default setting.
    #[must_use]
    pub fn of(&self, shape: &Shape) -> (&'static Algorithm, Shape) {
        let found = self.0[shape.get(STAND_IN) as usize];
        let call = crate::call::Call {
            collective: found.collective,
            root: 0,
            in_place: false,
            ..shape.call
        };
        let inner = found.shape(call, "").unwrap_or_else(|e| panic!("{e}"));
        debug_assert!(!found.requires.contains(&Requirement::Window));
        (found, inner)
    }

    /// This rank's part of it, from `input` to `output`, which may share memory as in a call in place. A unit of its call stands for
    /// as many of ours as it has fewer.
    pub fn build(&self, b: &mut Builder, [input, output]: [Blocks; 2], in_place: bool) {
        let (found, mut shape) = self.of(b.shape());
        shape.call.in_place = in_place;
        let schedule = found.schedule(&shape, b.rank());
        let (ours, theirs) = (b.parts(), (found.parts)(&shape));
        let piece = |at: u32| {
            let first = cut(ours, at, theirs);
            (first, cut(ours, at + 1, theirs) - first)
        };
        let blocks = |of: Blocks, at: u32| match of.count() == ours {
            true => vec![of.slice(piece(at).0, piece(at).1)],
            false => vec![of.at(at)],
        };
        let modulo = u32::MAX;
        let group = Group {
            rank: &|rank| rank,
            input: &|at| blocks(input, at),
            output: &|at| blocks(output, at),
            units: &|unit| {
                let (first, count) = piece(unit as u32);
                vec![(Units::Run { first, modulo }, count)]
            },
        };
        b.inline(&schedule, &group, &Reserved::default());
    }
}
