//! Hamiltonian paths: through all nodes of a mesh or torus, each next to the one before.
//!
//! A path is a list of sweeps; a sweep goes boustrophedon, as the ox ploughs, through a rectangle. Two dimensions of a solid
//! are swept first, which makes them one, so that all rectangles are of two:
//!
//! - Where a dimension is even, there is a cycle: through all rows but their first node, back and forth, then back through the
//!   first nodes. A path and its opposite end beside any node, and use no link both.
//! - Where all are odd, nodes with an odd sum of coordinates are fewer by one than the others, so no path can end at one.
//!   To any other a path leads from a corner: through whole rows above it, whole columns left of it, and what is left.
//! - A line has a cycle if it is wrapped around; otherwise a path leads to its ends alone.
//!
//! Source: B 3.1, figure 2.

use crate::machine::Torus;
use alloc::vec;
use alloc::vec::Vec;

/// A cell of a rectangle: row and column.
type Cell = [i64; 2];

/// Lines of cells, one beside the other, each taken the other way than the one before.
#[derive(Clone, Copy, Debug)]
struct Sweep {
    start: Cell,
    /// From a cell of the first line to the next.
    along: Cell,
    /// From a line to the next.
    across: Cell,
    length: u32,
    lines: u32,
}

impl Sweep {
    /// By rows from the left or by columns from the top, `rows` by `columns` cells from their first corner.
    fn new([row, column]: [u32; 2], [rows, columns]: [u32; 2], by_rows: bool) -> Sweep {
        let (along, across) = ([0, 1], [1, 0]);
        Sweep {
            start: [i64::from(row), i64::from(column)],
            along: if by_rows { along } else { across },
            across: if by_rows { across } else { along },
            length: if by_rows { columns } else { rows },
            lines: if by_rows { rows } else { columns },
        }
    }

    /// From the last row to the first.
    fn starting_below(self) -> Sweep {
        let rows = self.along[0].unsigned_abs() * u64::from(self.length)
            + self.across[0].unsigned_abs() * u64::from(self.lines);
        let flip = |[row, column]: Cell| [-row, column];
        Sweep {
            start: [self.start[0] + rows as i64 - 1, self.start[1]],
            along: flip(self.along),
            across: flip(self.across),
            ..self
        }
    }

    /// From the last column to the first.
    fn starting_right(self) -> Sweep {
        let columns = self.along[1].unsigned_abs() * u64::from(self.length)
            + self.across[1].unsigned_abs() * u64::from(self.lines);
        let flip = |[row, column]: Cell| [row, -column];
        Sweep {
            start: [self.start[0], self.start[1] + columns as i64 - 1],
            along: flip(self.along),
            across: flip(self.across),
            ..self
        }
    }

    fn cells(&self) -> u32 {
        self.length * self.lines
    }

    fn at(&self, step: u32) -> Cell {
        let (line, place) = (step / self.length, step % self.length);
        let place = if line % 2 == 0 {
            place
        } else {
            self.length - 1 - place
        };
        let part = |d: usize| {
            self.start[d] + i64::from(line) * self.across[d] + i64::from(place) * self.along[d]
        };
        [part(0), part(1)]
    }

    fn step_of(&self, cell: Cell) -> Option<u32> {
        let apart = [cell[0] - self.start[0], cell[1] - self.start[1]];
        let project = |on: Cell, below: u32| {
            let at = u32::try_from(apart[0] * on[0] + apart[1] * on[1]).ok();
            at.filter(|at| *at < below)
        };
        let (line, place) = (
            project(self.across, self.lines)?,
            project(self.along, self.length)?,
        );
        let place = if line % 2 == 0 {
            place
        } else {
            self.length - 1 - place
        };
        Some(line * self.length + place)
    }
}

/// A path through all nodes of a mesh or torus.
#[derive(Clone, Debug)]
pub struct Hamiltonian {
    torus: Torus,
    /// The dimension whose coordinate is the row; the other two are swept to make columns.
    rows: usize,
    sweeps: Vec<Sweep>,
    /// Whether the last row, or column, is numbered 0.
    flipped: [bool; 2],
    cycle: bool,
}

impl Hamiltonian {
    /// The path that ends at `root`, or, where there is none, the one that ends at the nearest node at which one does.
    #[must_use]
    pub fn new(torus: Torus, root: u32) -> Hamiltonian {
        let extents = torus.extents();
        let even = torus.dimensions().find(|d| extents[*d].is_multiple_of(2));
        let longest = (0..3).max_by_key(|d| extents[*d]).unwrap_or(0);
        let rows = even.unwrap_or(longest);
        let mut path = Hamiltonian {
            torus,
            rows,
            sweeps: Vec::new(),
            flipped: [false; 2],
            cycle: false,
        };
        let [n, m] = path.sides();
        if m == 1 {
            path.cycle = torus.wraps(rows);
            // A line's path leads to its nearer end.
            path.flipped[0] = !path.cycle && path.cell(root)[0] < i64::from(n / 2);
            path.sweeps = vec![Sweep::new([0, 0], [n, 1], false)];
        } else if even.is_some() {
            path.cycle = true;
            let back = Sweep::new([0, 0], [n, 1], false).starting_below();
            path.sweeps = vec![Sweep::new([0, 1], [n, m - 1], true), back];
        } else {
            let [row, column] = path.nearest_end(root);
            path.flipped = [row + 1 == n, column == 0];
            let target = [
                if path.flipped[0] { 0 } else { row },
                if path.flipped[1] { m - 1 } else { column },
            ];
            path.sweeps = to_cell(target, [n, m]);
        }
        path
    }

    /// The numbers of rows and columns.
    fn sides(&self) -> [u32; 2] {
        let rows = self.torus.extents()[self.rows];
        [rows, self.torus.ranks() / rows]
    }

    /// The row and the column of a node, before any flip.
    fn plain_cell(&self, node: u32) -> [u32; 2] {
        let (at, [a, b]) = (self.torus.coordinates(node), self.columns());
        let inner = Sweep::new(
            [0, 0],
            [self.torus.extents()[b], self.torus.extents()[a]],
            true,
        );
        let column = inner.step_of([i64::from(at[b]), i64::from(at[a])]);
        [at[self.rows], column.unwrap_or(0)]
    }

    /// The two dimensions that are swept to make columns.
    fn columns(&self) -> [usize; 2] {
        match self.rows {
            0 => [1, 2],
            1 => [0, 2],
            _ => [0, 1],
        }
    }

    fn cell(&self, node: u32) -> Cell {
        let (cell, sides) = (self.plain_cell(node), self.sides());
        [0, 1].map(|side| {
            let at = cell[side];
            i64::from(if self.flipped[side] {
                sides[side] - 1 - at
            } else {
                at
            })
        })
    }

    fn node(&self, cell: Cell) -> u32 {
        let (sides, [a, b]) = (self.sides(), self.columns());
        let [row, column] = [0, 1].map(|side| {
            let at = cell[side] as u32;
            if self.flipped[side] {
                sides[side] - 1 - at
            } else {
                at
            }
        });
        let extents = self.torus.extents();
        let inner = Sweep::new([0, 0], [extents[b], extents[a]], true).at(column);
        let mut at = [0; 3];
        (at[self.rows], at[b], at[a]) = (row, inner[0] as u32, inner[1] as u32);
        self.torus.rank(at)
    }

    /// The cell of the node nearest to `root` whose coordinates have an even sum.
    fn nearest_end(&self, root: u32) -> [u32; 2] {
        let [row, column] = self.plain_cell(root);
        // A row's parity and a column's, together, are those of the coordinates: the columns were swept.
        match (row + column) % 2 {
            0 => [row, column],
            _ if row > 0 => [row - 1, column],
            _ => [row + 1, column],
        }
    }

    /// Whether the last node is next to the first, so that the path may end at any node, and be taken backwards too.
    #[must_use]
    pub fn is_cycle(&self) -> bool {
        self.cycle
    }

    /// The node at a place, from 0.
    #[must_use]
    pub fn at(&self, place: u32) -> u32 {
        let mut left = place;
        for sweep in &self.sweeps {
            if left < sweep.cells() {
                return self.node(sweep.at(left));
            }
            left -= sweep.cells();
        }
        0
    }

    /// The place of a node.
    #[must_use]
    pub fn place(&self, node: u32) -> u32 {
        let (cell, mut before) = (self.cell(node), 0);
        for sweep in &self.sweeps {
            if let Some(step) = sweep.step_of(cell) {
                return before + step;
            }
            before += sweep.cells();
        }
        0
    }
}

/// From the first corner, or from another where that one is the end, to `[row, column]`, whose sum is even, in a rectangle of
/// odd sides; it is not in the last row, nor in the first column.
fn to_cell([row, column]: [u32; 2], [rows, columns]: [u32; 2]) -> Vec<Sweep> {
    // An even number of whole rows ends at the left again, an even number of columns at the top.
    let (above, left) = (row / 2 * 2, column / 2 * 2);
    let (height, width) = (rows - above, columns - left);
    let whole = Sweep::new([0, 0], [above, columns], true);
    let mut sweeps = vec![whole];
    if row % 2 == 0 {
        // By rows down to the lowest, along which on to its end; then back by columns, up to the corner.
        sweeps.push(Sweep::new([above, 0], [height, left], true));
        sweeps.push(Sweep::new([above + height - 1, left], [1, width], true));
        let rest = Sweep::new([above, left], [height - 1, width], false);
        sweeps.push(rest.starting_below().starting_right());
    } else {
        // By columns, the last of them down to the lowest row; back up by rows but for three, along the third, and by columns.
        sweeps.push(Sweep::new([above, 0], [height, left + 1], false));
        let lower = Sweep::new([above + 3, left + 1], [height - 3, width - 1], true);
        sweeps.push(lower.starting_below());
        sweeps.push(Sweep::new([above + 2, left + 1], [1, width - 1], true));
        let rest = Sweep::new([above, left + 1], [2, width - 1], false);
        sweeps.push(rest.starting_below().starting_right());
    }
    sweeps.retain(|sweep| sweep.cells() > 0);
    sweeps
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shapes() -> impl Iterator<Item = Torus> {
        let extents = (0..512).map(|n| [n % 8 + 1, n / 8 % 8 + 1, n / 64 + 1]);
        let both = |extents| [false, true].map(|wraps| Torus::new(extents, [wraps; 3]));
        extents
            .flat_map(both)
            .flatten()
            .filter(|t| t.ranks() <= 245)
    }

    #[test]
    fn paths_go_through_every_node_once() {
        for torus in shapes() {
            let p = torus.ranks();
            for root in 0..p {
                let path = Hamiltonian::new(torus, root);
                let what = || std::format!("{torus} root {root}: {path:?}");
                let mut seen = vec![false; p as usize];
                for place in 0..p {
                    let node = path.at(place);
                    assert_eq!(path.place(node), place, "{}", what());
                    assert!(!core::mem::replace(&mut seen[node as usize], true));
                    if place > 0 {
                        let before = path.at(place - 1);
                        assert_eq!(torus.route(before, node).len(), 1, "{}", what());
                    }
                }
                if path.is_cycle() {
                    assert_eq!(
                        torus.route(path.at(p - 1), path.at(0)).len(),
                        1,
                        "{}",
                        what()
                    );
                } else {
                    ends_as_near_as_can_be(torus, root, path.at(p - 1));
                }
            }
        }
    }

    fn ends_as_near_as_can_be(torus: Torus, root: u32, end: u32) {
        let extents = torus.extents();
        let at = torus.coordinates(root);
        let apart = torus.route(end, root).len() as u32;
        if torus.dimensions().count() < 2 {
            // The end of a line.
            let to_ends = (0..3).map(|d| at[d].min(extents[d] - 1 - at[d]));
            assert_eq!(apart, to_ends.max().unwrap_or(0));
        } else {
            assert_eq!(apart, at.iter().sum::<u32>() % 2);
            assert!(extents.iter().all(|n| n % 2 == 1));
        }
    }

    #[test]
    fn even_solids_have_cycles() {
        let cycle = |text: &str| Hamiltonian::new(text.parse().unwrap(), 0).is_cycle();
        assert!(cycle("4x4x2:mesh") && cycle("3x3x2:mesh") && cycle("5x1x1:torus"));
        assert!(!cycle("4x1x1:mesh") && !cycle("3x3x3:mesh") && !cycle("2x1x1:mesh"));
    }
}
