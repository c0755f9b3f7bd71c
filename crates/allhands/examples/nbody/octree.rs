//! The tree of cells over the bodies: a cube's eighths, again and again; who stands far enough from one sees only its mass.
//!
//! A cell is there only where at least two of its eighths hold bodies, and its sums are those of its eighths in order. So the tree
//! depends on the bodies alone, not on who holds them, and what several ranks put together is to the bit what one would have made.

use super::bodies::{Body, SOFTENING, Vector, dot, plus, pull};
use bytemuck::{Pod, Zeroable};

/// How often a cube is cut: a key has three bits for each.
const LEVELS: u32 = 21;

/// The keys of all places.
pub const ALL_KEYS: std::ops::Range<u64> = 0..1 << (3 * LEVELS);

const INNER: u32 = 0;
const BODY: u32 = 1;
/// An inner cell that came without what is in it.
const PRUNED: u32 = 2;

/// A cell, followed in memory by those inside it.
#[derive(Clone, Copy, Debug, Pod, Zeroable)]
#[repr(C)]
pub struct Cell {
    pub key: u64,
    side_squared: f64,
    mass: f64,
    centre: Vector,
    kind: u32,
    /// This one and those inside.
    cells: u32,
}

/// A box with its sides along the axes; of no places at all it is inside out.
#[derive(Clone, Copy, Debug, Pod, Zeroable)]
#[repr(C)]
pub struct Bounds {
    least: Vector,
    most: Vector,
}

impl Bounds {
    pub fn of(bodies: &[Body]) -> Bounds {
        let none = Bounds {
            least: [f64::INFINITY; 3],
            most: [f64::NEG_INFINITY; 3],
        };
        bodies.iter().fold(none, |bounds, body| {
            bounds.and(&Bounds {
                least: body.position,
                most: body.position,
            })
        })
    }

    pub fn and(self, other: &Bounds) -> Bounds {
        let axis = |of: fn(f64, f64) -> f64, a: Vector, b: Vector| {
            std::array::from_fn(|axis| of(a[axis], b[axis]))
        };
        Bounds {
            least: axis(f64::min, self.least, other.least),
            most: axis(f64::max, self.most, other.most),
        }
    }

    /// The square of the way from a place to the nearest of the box. Rounding keeps order, so no place in the box is nearer.
    fn distance_squared(&self, place: Vector) -> f64 {
        let way: Vector = std::array::from_fn(|axis| {
            (self.least[axis] - place[axis])
                .max(place[axis] - self.most[axis])
                .max(0.0)
        });
        dot(way, way)
    }
}

/// The cube around all bodies.
#[derive(Clone, Copy, Debug)]
pub struct Cube {
    corner: Vector,
    side: f64,
}

impl Cube {
    pub fn around(bounds: &Bounds) -> Cube {
        let sides = plus(bounds.most, bounds.least, -1.0);
        Cube {
            corner: bounds.least,
            side: sides.into_iter().fold(f64::MIN_POSITIVE, f64::max),
        }
    }

    /// The place on a curve that goes through one eighth after another (Morton's).
    pub fn key(&self, place: Vector) -> u64 {
        let cells = f64::from(1 << LEVELS);
        let axes = [0, 1, 2].map(|axis| {
            let at = (place[axis] - self.corner[axis]) / self.side * cells;
            (at as u64).min((1 << LEVELS) - 1)
        });
        (0..LEVELS).rev().fold(0, |key, bit| {
            axes.iter().fold(key, |key, at| key << 1 | (at >> bit & 1))
        })
    }

    fn side_squared(&self, level: u32) -> f64 {
        (self.side / f64::from(1 << level)).powi(2)
    }
}

/// Where the largest cell begins that begins after one key and not after the other: a range that ends there has few largest cells.
pub fn edge(after: u64, until: u64) -> u64 {
    let edges = (0..=LEVELS)
        .rev()
        .map(|cut| until >> (3 * cut) << (3 * cut));
    edges
        .into_iter()
        .find(|edge| *edge > after)
        .unwrap_or(until)
}

/// Orders bodies along the curve.
pub fn sort(cube: &Cube, bodies: &mut [Body]) {
    for body in &mut *bodies {
        body.key = cube.key(body.position);
    }
    bodies.sort_unstable_by_key(|body| (body.key, body.number));
}

/// A body as a cell.
fn leaf(body: &Body) -> [Cell; 1] {
    [Cell {
        key: body.key,
        side_squared: 0.0,
        mass: body.mass,
        centre: body.position,
        kind: BODY,
        cells: 1,
    }]
}

/// The tree of these bodies, which are in order.
pub fn of_bodies(cube: &Cube, bodies: &[Body]) -> Vec<Cell> {
    let leaves: Vec<[Cell; 1]> = bodies.iter().map(leaf).collect();
    let parts: Vec<&[Cell]> = leaves.iter().map(|leaf| &leaf[..]).collect();
    of_parts(cube, &parts)
}

/// The tree that has these trees at its ends, which are in order and of cells none of which is in another.
pub fn of_parts(cube: &Cube, parts: &[&[Cell]]) -> Vec<Cell> {
    let mut cells = Vec::with_capacity(2 * parts.len());
    grow(cube, parts, 0, &mut cells);
    cells
}

fn grow(cube: &Cube, parts: &[&[Cell]], level: u32, cells: &mut Vec<Cell>) {
    match parts {
        [] => return,
        [alone] => return cells.extend_from_slice(alone),
        _ => {}
    }
    let at = cells.len();
    cells.push(Cell {
        key: parts[0][0].key,
        side_squared: cube.side_squared(level),
        ..Cell::zeroed()
    });
    if level == LEVELS {
        // Bodies that no further cut would part.
        parts.iter().for_each(|part| cells.extend_from_slice(part));
        return sum_up(cells, at);
    }
    let shift = 3 * (LEVELS - level - 1);
    let eighth = |part: &[Cell]| part[0].key >> shift;
    if eighth(parts[0]) == eighth(parts[parts.len() - 1]) {
        cells.pop();
        return grow(cube, parts, level + 1, cells);
    }
    for inside in parts.chunk_by(|a, b| eighth(a) == eighth(b)) {
        grow(cube, inside, level + 1, cells);
    }
    sum_up(cells, at);
}

/// Sums up the cells that were put behind one.
fn sum_up(cells: &mut [Cell], at: usize) {
    let (mut mass, mut centre) = (0.0, [0.0; 3]);
    for inside in eighths(&cells[at..]) {
        mass += inside[0].mass;
        centre = plus(centre, inside[0].centre, inside[0].mass);
    }
    cells[at].mass = mass;
    cells[at].centre = centre.map(|sum| sum / mass);
    cells[at].cells = (cells.len() - at) as u32;
}

/// The trees right inside the first cell.
fn eighths(cells: &[Cell]) -> impl Iterator<Item = &[Cell]> {
    trees(&cells[1..])
}

/// Trees that lie one behind another.
pub fn trees(mut rest: &[Cell]) -> impl Iterator<Item = &[Cell]> {
    std::iter::from_fn(move || {
        let first = rest.first()?;
        let (tree, behind) = rest.split_at(first.cells as usize);
        rest = behind;
        Some(tree)
    })
}

/// The trees of a rank's bodies: of the largest cells all of whose keys are in its range.
pub fn branches(cube: &Cube, bodies: &[Body], range: &std::ops::Range<u64>) -> Vec<Vec<Cell>> {
    let mut found = Vec::new();
    branch(cube, bodies, range, (0, 0), &mut found);
    found
}

fn branch(
    cube: &Cube,
    bodies: &[Body],
    range: &std::ops::Range<u64>,
    (key, level): (u64, u32),
    found: &mut Vec<Vec<Cell>>,
) {
    let end = key + (1 << (3 * (LEVELS - level)));
    if bodies.is_empty() {
        return;
    }
    if range.start <= key && end <= range.end {
        return found.push(of_bodies(cube, bodies));
    }
    let step = (end - key) / 8;
    for first in (key..end).step_by(step as usize) {
        let (from, to) = (
            bodies.partition_point(|body| body.key < first),
            bodies.partition_point(|body| body.key < first + step),
        );
        branch(cube, &bodies[from..to], range, (first, level + 1), found);
    }
}

impl Cell {
    /// Whether nobody so far away looks inside.
    fn is_far(&self, opening: f64, squared: f64) -> bool {
        self.side_squared < opening * opening * squared
    }

    /// Whether somebody in the box may look inside.
    pub fn is_opened(&self, opening: f64, bounds: &Bounds) -> bool {
        self.kind != BODY && !self.is_far(opening, bounds.distance_squared(self.centre))
    }

    /// The cell without what is inside.
    pub fn pruned(mut self) -> Cell {
        if self.kind == INNER {
            self.kind = PRUNED;
            self.cells = 1;
        }
        self
    }
}

/// Adds of a tree what somebody in the box may look at.
pub fn prune(tree: &[Cell], opening: f64, bounds: &Bounds, kept: &mut Vec<Cell>) {
    if !tree[0].is_opened(opening, bounds) {
        return kept.push(tree[0].pruned());
    }
    let at = kept.len();
    kept.push(tree[0]);
    for inside in eighths(tree) {
        prune(inside, opening, bounds, kept);
    }
    kept[at].cells = (kept.len() - at) as u32;
}

/// Computes what all cells do to a body. The error is a cell that it must look into but that came without its inside.
pub fn attract(tree: &[Cell], opening: f64, body: &mut Body) -> Result<(), Cell> {
    let (mut acceleration, mut potential, mut work) = ([0.0; 3], 0.0, 0);
    let mut at = 0;
    while at < tree.len() {
        let cell = &tree[at];
        let apart = plus(cell.centre, body.position, -1.0);
        let squared = dot(apart, apart);
        work += 1;
        if cell.kind == BODY || cell.is_far(opening, squared) {
            let (factor, depth) = pull(cell.mass, squared);
            acceleration = plus(acceleration, apart, factor);
            potential += depth;
            at += cell.cells as usize;
        } else if cell.kind == PRUNED {
            return Err(*cell);
        } else {
            at += 1;
        }
    }
    body.acceleration = acceleration;
    // Itself is among them, at no distance.
    body.potential = potential + body.mass / SOFTENING;
    body.work = work;
    Ok(())
}
