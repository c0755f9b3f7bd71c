//! Line-broadcast barrier: on each line of a torus all tell all, one dimension after the other.
//!
//! A packet goes to the end of its line and leaves a copy at every node on the way, so nobody passes anything on. When all of a
//! rank's line have told it, it tells all on its line along the next dimension.
//!
//! ```text
//! 3x2 mesh      along x: 0 ⇄ 1 ⇄ 2, 0 ⇄ 2      3 ⇄ 4 ⇄ 5, 3 ⇄ 5      along y: 0 ⇄ 3   1 ⇄ 4   2 ⇄ 5
//! ```
//!
//! Source: B 3.2, figures 3 and 4.

use super::BASE;
use crate::algorithm::phase::torus::{grid::DEPOSIT, lines};
use crate::algorithm::{Algorithm, Claims, Layer, Requirement};
use crate::schedule::Shape;

/// The algorithm.
pub const ALGORITHM: Algorithm = Algorithm {
    name: "line-broadcast",
    citation: "B 3.2",
    summary: "on each line of the torus all tell all, one dimension after the other",
    requires: &[Requirement::Torus],
    keys: &[lines::GROUP, DEPOSIT],
    settings: &["", "deposit=off", "group=2", "group=3,deposit=off"],
    layer: Layer::Packets,
    build: lines::tell_all,
    claims,
    ..BASE
};

fn claims(shape: &Shape) -> Claims {
    lines::claims(shape, false)
}
