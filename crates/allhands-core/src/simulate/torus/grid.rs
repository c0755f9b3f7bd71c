//! The grid of nodes: where they stand, who is beside whom, and how far apart they are.

use crate::machine::{Direction, Torus};

/// No node is there: the edge of a mesh.
pub(super) const NOBODY: u32 = u32::MAX;

/// Directions: x up, x down, y up, y down, z up, z down.
pub(super) const DIRECTIONS: usize = 6;

/// A torus as routers use it, with directions as numbers.
#[derive(Clone, Copy, Debug)]
pub(super) struct Grid {
    torus: Torus,
}

/// How far a packet has to go along each dimension, with the sign of its direction, and which of the dimensions are equally
/// far the other way round.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Way {
    pub(super) hops: [i8; 3],
    pub(super) either: u8,
}

impl Grid {
    pub(super) fn new(torus: Torus) -> Grid {
        Grid { torus }
    }

    pub(super) fn nodes(&self) -> u32 {
        self.torus.ranks()
    }

    /// Where a node stands.
    pub(super) fn coordinates(&self, node: u32) -> [u32; 3] {
        self.torus.coordinates(node)
    }

    /// Whether a dimension is a ring.
    #[inline]
    pub(super) fn wraps(&self, dimension: usize) -> bool {
        self.torus.wraps(dimension)
    }

    /// The node beside `node`, or [`NOBODY`].
    pub(super) fn neighbour(&self, node: u32, direction: usize) -> u32 {
        let direction = Direction::all()[direction];
        self.torus.neighbour(node, direction).unwrap_or(NOBODY)
    }

    /// The shortest way.
    pub(super) fn way(&self, from: u32, to: u32) -> Way {
        let mut way = Way::default();
        for dimension in 0..3 {
            let (direction, hops) = self.torus.way(from, to, dimension);
            let half = 2 * hops == self.torus.extents()[dimension];
            way.either |= u8::from(half && self.wraps(dimension)) << dimension;
            way.hops[dimension] = if direction.up {
                hops as i8
            } else {
                -(hops as i8)
            };
        }
        way
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn torus(text: &str) -> Torus {
        text.parse().expect("it is a torus")
    }

    #[test]
    fn a_way_ends_where_it_should_and_is_short() {
        for torus in ["4x3x2:mesh", "5x4x3:torus", "8x1x3:x"].map(torus) {
            let grid = Grid::new(torus);
            for from in 0..grid.nodes() {
                for to in 0..grid.nodes() {
                    let way = grid.way(from, to);
                    let mut at = from;
                    for dimension in 0..3 {
                        let hops = way.hops[dimension];
                        let ways = if torus.wraps(dimension) { 2 } else { 1 };
                        let most = (torus.extents()[dimension] / ways) as i8;
                        assert!(hops.abs() <= most, "{from} to {to}: {way:?}");
                        let direction = 2 * dimension + usize::from(hops < 0);
                        for _ in 0..hops.abs() {
                            at = grid.neighbour(at, direction);
                        }
                    }
                    assert_eq!(at, to);
                }
            }
        }
    }

    #[test]
    fn the_way_round_half_a_ring_is_either() {
        let grid = Grid::new(torus("4x5x4:torus"));
        assert_eq!(
            grid.way(0, 2),
            Way {
                hops: [2, 0, 0],
                either: 1
            }
        );
        assert_eq!(
            grid.way(2, 0),
            Way {
                hops: [2, 0, 0],
                either: 1
            }
        );
        assert_eq!(grid.way(0, 40).either, 4);
    }
}
