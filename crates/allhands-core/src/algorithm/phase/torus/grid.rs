//! The grid: the torus of a call, and whether packets on it leave copies.

use crate::algorithm::{Key, Values};
use crate::machine::Torus;
use crate::schedule::Shape;

/// `deposit`: whether packets leave copies at the nodes that they pass.
pub const DEPOSIT: Key = Key {
    name: "deposit",
    values: Values::Names(&["off", "on"]),
    default: 1,
    about: "on: all ranks of a line get copies of one message to the last; off: each passes it on",
};

/// The torus of a call; a call without one, which no algorithm that asks for it serves, is on a line.
#[must_use]
pub fn torus(shape: &Shape) -> Torus {
    let line = || Torus::new([shape.ranks(), 1, 1], [false; 3]);
    shape.torus.or_else(line).unwrap_or_default()
}
