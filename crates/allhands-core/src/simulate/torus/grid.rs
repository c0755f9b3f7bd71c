//! The grid of nodes: where they stand, who is beside whom, and how far apart they are.

use alloc::vec::Vec;

/// No node is there: the edge of a mesh.
pub(super) const NOBODY: u32 = u32::MAX;

/// Directions: x up, x down, y up, y down, z up, z down.
pub(super) const DIRECTIONS: usize = 6;

/// Nodes in up to three dimensions, x running fastest; each dimension is a line or a ring.
#[derive(Clone, Debug)]
pub(super) struct Grid {
    pub(super) sizes: [u32; 3],
    pub(super) wraps: [bool; 3],
    /// By node and direction.
    neighbours: Vec<u32>,
}

/// How far a packet has to go along each dimension, with the sign of its direction, and which of the dimensions are equally
/// far the other way round.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Way {
    pub(super) hops: [i8; 3],
    pub(super) either: u8,
}

impl Grid {
    pub(super) fn new(sizes: [u32; 3], wraps: [bool; 3]) -> Grid {
        let mut grid = Grid {
            sizes,
            wraps,
            neighbours: Vec::new(),
        };
        for node in 0..grid.nodes() {
            for direction in 0..DIRECTIONS {
                let neighbour = grid.beside(node, direction);
                grid.neighbours.push(neighbour);
            }
        }
        grid
    }

    pub(super) fn nodes(&self) -> u32 {
        self.sizes.iter().product()
    }

    fn place(&self, node: u32) -> [u32; 3] {
        let [x, y, _] = self.sizes;
        [node % x, node / x % y, node / (x * y)]
    }

    fn node(&self, place: [u32; 3]) -> u32 {
        let [x, y, _] = self.sizes;
        place[0] + x * (place[1] + y * place[2])
    }

    fn beside(&self, node: u32, direction: usize) -> u32 {
        let (dimension, down) = (direction / 2, direction % 2 == 1);
        let (size, wraps) = (self.sizes[dimension], self.wraps[dimension]);
        let mut place = self.place(node);
        let at = &mut place[dimension];
        let edge = if down { 0 } else { size - 1 };
        if size == 1 || (*at == edge && !wraps) {
            return NOBODY;
        }
        *at = match (down, *at == edge) {
            (true, true) => size - 1,
            (true, false) => *at - 1,
            (false, true) => 0,
            (false, false) => *at + 1,
        };
        self.node(place)
    }

    /// The node beside `node`, or [`NOBODY`].
    #[inline]
    pub(super) fn neighbour(&self, node: u32, direction: usize) -> u32 {
        self.neighbours[node as usize * DIRECTIONS + direction]
    }

    /// The shortest way.
    pub(super) fn way(&self, from: u32, to: u32) -> Way {
        let (from, to) = (self.place(from), self.place(to));
        let mut way = Way::default();
        for dimension in 0..3 {
            let size = self.sizes[dimension] as i32;
            let mut hops = to[dimension] as i32 - from[dimension] as i32;
            if self.wraps[dimension] {
                hops = if 2 * hops > size { hops - size } else { hops };
                hops = if 2 * hops <= -size { hops + size } else { hops };
                way.either |= u8::from(2 * hops == size) << dimension;
            }
            way.hops[dimension] = hops as i8;
        }
        way
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn neighbours_are_neighbours_of_each_other() {
        for (sizes, wraps) in [
            ([4, 3, 2], [false; 3]),
            ([4, 3, 2], [true; 3]),
            ([5, 1, 1], [true, false, false]),
        ] {
            let grid = Grid::new(sizes, wraps);
            for node in 0..grid.nodes() {
                for direction in 0..DIRECTIONS {
                    let other = grid.neighbour(node, direction);
                    if other != NOBODY {
                        assert_eq!(grid.neighbour(other, direction ^ 1), node);
                    }
                }
            }
        }
    }

    #[test]
    fn a_way_ends_where_it_should_and_is_short() {
        for (sizes, wraps) in [([4, 3, 2], [false; 3]), ([5, 4, 2], [true, true, false])] {
            let grid = Grid::new(sizes, wraps);
            for from in 0..grid.nodes() {
                for to in 0..grid.nodes() {
                    let way = grid.way(from, to);
                    let mut at = from;
                    for dimension in 0..3 {
                        let hops = way.hops[dimension];
                        let most = sizes[dimension] as i8 / if wraps[dimension] { 2 } else { 1 };
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
        let grid = Grid::new([4, 5, 2], [true; 3]);
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
        assert_eq!(grid.way(0, 20).either, 4);
    }
}
