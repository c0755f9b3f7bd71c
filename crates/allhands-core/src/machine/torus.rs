//! The torus: which ranks are neighbours on a mesh or torus of up to three dimensions.

use alloc::string::{String, ToString};
use alloc::vec::Vec;
use core::fmt;
use core::str::FromStr;

/// The names of the dimensions, in their order.
const NAMES: [char; 3] = ['x', 'y', 'z'];

/// From how many nodes on a partition of a BlueGene/L is a torus and not a mesh (B, table 1).
const TORUS_FROM: u32 = 512;

/// One of the six directions in which a link leads.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Direction {
    /// The dimension: 0 for x, 1 for y, 2 for z.
    pub dimension: usize,
    /// Whether the coordinate grows.
    pub up: bool,
}

impl Direction {
    /// All six: up and down along x, y and z.
    #[must_use]
    pub fn all() -> [Direction; 6] {
        [0, 1, 2, 3, 4, 5].map(|n| Direction {
            dimension: n / 2,
            up: n % 2 == 0,
        })
    }

    /// The way back.
    #[must_use]
    pub fn opposite(self) -> Direction {
        Direction {
            up: !self.up,
            ..self
        }
    }
}

impl fmt::Display for Direction {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let sign = if self.up { '+' } else { '-' };
        write!(f, "{sign}{}", NAMES[self.dimension])
    }
}

/// A link from a node to its neighbour; the way back is a link of its own.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Link {
    /// The rank from which it leads.
    pub from: u32,
    /// Where it leads.
    pub direction: Direction,
}

/// A mesh or torus with one rank a node: rank = x + X·(y + Y·z), so x grows fastest.
///
/// Typed as `4x4x2` (a mesh below 512 nodes and a torus from there on, as in B's table 1), `8x8x8:mesh`, `4x4x4:torus`, or
/// `8x4x4:x` (only x is wrapped around). Dimensions that are left out are 1. Where a dimension has fewer than
/// three nodes, wrapping around would lead to the neighbours that there are: nothing is wrapped.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Torus {
    extents: [u32; 3],
    wraps: [bool; 3],
}

impl Default for Torus {
    /// A single node.
    fn default() -> Torus {
        Torus {
            extents: [1; 3],
            wraps: [false; 3],
        }
    }
}

/// Why a text says no torus, or a torus is not that of a call.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum TorusError {
    /// The text is no shape.
    NotTorus {
        /// The text.
        text: String,
    },
    /// It has another number of ranks than the call.
    OtherRanks {
        /// The torus.
        torus: Torus,
        /// The ranks of the call.
        ranks: u32,
    },
}

impl fmt::Display for TorusError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            TorusError::NotTorus { text } => write!(
                f,
                "'{text}' says no torus; right would be 4x4x2 (a torus from 512 nodes on), 4x4x4:torus, 8x8x8:mesh or 8x4x4:x (only x wraps around), with fewer than 2^32 nodes"
            ),
            TorusError::OtherRanks { torus, ranks } => write!(
                f,
                "the torus {torus} has {} ranks and the call has {ranks}; they must be as many",
                torus.ranks()
            ),
        }
    }
}

impl core::error::Error for TorusError {}

impl Torus {
    /// Of these extents (0 counts as 1), wrapped around where `wraps` says so and there are three nodes or more.
    ///
    /// `None` if there are 2^32 nodes or more.
    #[must_use]
    pub fn new(extents: [u32; 3], wraps: [bool; 3]) -> Option<Torus> {
        let extents = extents.map(|n| n.max(1));
        extents[0]
            .checked_mul(extents[1])?
            .checked_mul(extents[2])?;
        let wraps = [0, 1, 2].map(|d| wraps[d] && extents[d] >= 3);
        Some(Torus { extents, wraps })
    }

    /// Tori on which to try what is to hold for all of `ranks` ranks: a line and the most cubic shape, each as a mesh and as a
    /// torus.
    #[must_use]
    pub fn samples(ranks: u32) -> Vec<Torus> {
        let mut cubic = [ranks, 1, 1];
        for z in 1..=ranks.isqrt() {
            let plane = ranks / z;
            for y in (z..=plane.isqrt()).filter(|y| z * y * (plane / y) == ranks) {
                let shape = [plane / y, y, z];
                if shape.iter().sum::<u32>() < cubic.iter().sum() {
                    cubic = shape;
                }
            }
        }
        let mut samples = Vec::new();
        for extents in [[ranks, 1, 1], cubic] {
            for wraps in [false, true] {
                let torus = Torus::new(extents, [wraps; 3]);
                samples.extend(torus.filter(|torus| !samples.contains(torus)));
            }
        }
        samples
    }

    /// Whether it has `ranks` ranks.
    ///
    /// # Errors
    /// [`TorusError::OtherRanks`] says how many it has.
    pub fn check(&self, ranks: u32) -> Result<(), TorusError> {
        if self.ranks() == ranks {
            return Ok(());
        }
        Err(TorusError::OtherRanks {
            torus: *self,
            ranks,
        })
    }

    /// The number of ranks.
    #[must_use]
    pub fn ranks(&self) -> u32 {
        self.extents.iter().product()
    }

    /// The nodes along x, y and z.
    #[must_use]
    pub fn extents(&self) -> [u32; 3] {
        self.extents
    }

    /// Whether a dimension is wrapped around, which makes a second direction from every node to every other.
    #[must_use]
    pub fn wraps(&self, dimension: usize) -> bool {
        self.wraps[dimension]
    }

    /// The dimensions in which there is more than one node.
    pub fn dimensions(&self) -> impl Iterator<Item = usize> + use<> {
        let extents = self.extents;
        (0..3).filter(move |d| extents[*d] > 1)
    }

    /// The ways in which streams may leave a node without meeting: one for each dimension, two where it is wrapped around.
    pub fn ways(&self) -> impl Iterator<Item = Direction> + use<> {
        let torus = *self;
        Direction::all().into_iter().filter(move |direction| {
            let d = direction.dimension;
            torus.extents[d] > 1 && (direction.up || torus.wraps[d])
        })
    }

    /// Where a rank is.
    #[must_use]
    pub fn coordinates(&self, rank: u32) -> [u32; 3] {
        let [x, y, _] = self.extents;
        [rank % x, rank / x % y, rank / x / y]
    }

    /// The rank that is there.
    #[must_use]
    pub fn rank(&self, [x, y, z]: [u32; 3]) -> u32 {
        x + self.extents[0] * (y + self.extents[1] * z)
    }

    /// The rank with another coordinate along one dimension.
    #[must_use]
    pub fn moved(&self, rank: u32, dimension: usize, coordinate: u32) -> u32 {
        let mut at = self.coordinates(rank);
        at[dimension] = coordinate;
        self.rank(at)
    }

    /// The next rank in a direction; `None` beyond the edge of a mesh.
    #[must_use]
    pub fn neighbour(&self, rank: u32, direction: Direction) -> Option<u32> {
        let d = direction.dimension;
        let (n, at) = (self.extents[d], self.coordinates(rank)[d]);
        let next = match (direction.up, self.wraps[d]) {
            (true, _) if at + 1 < n => at + 1,
            (false, _) if at > 0 => at - 1,
            (true, true) => 0,
            (false, true) => n - 1,
            (_, false) => return None,
        };
        Some(self.moved(rank, d, next))
    }

    /// The ranks of the line along a dimension on which `rank` is, in the order of their coordinates.
    pub fn line(&self, rank: u32, dimension: usize) -> impl Iterator<Item = u32> + use<> {
        let torus = *self;
        (0..self.extents[dimension]).map(move |at| torus.moved(rank, dimension, at))
    }

    /// The shorter way along a dimension, and its hops; upwards where both are as long.
    #[must_use]
    pub fn way(&self, from: u32, to: u32, dimension: usize) -> (Direction, u32) {
        let [from, to] = [from, to].map(|rank| self.coordinates(rank)[dimension]);
        let n = self.extents[dimension];
        let ahead = if to >= from {
            to - from
        } else {
            n - (from - to)
        };
        let up = match self.wraps[dimension] {
            true => 2 * u64::from(ahead) <= u64::from(n),
            false => to >= from,
        };
        let hops = if up { ahead } else { n - ahead };
        (Direction { dimension, up }, hops)
    }

    /// The links of a message on the deterministic route: along x, then y, then z, each the shorter way.
    #[must_use]
    pub fn route(&self, from: u32, to: u32) -> Vec<Link> {
        let (mut at, mut links) = (from, Vec::new());
        for d in self.dimensions() {
            let (direction, hops) = self.way(at, to, d);
            for _ in 0..hops {
                links.push(Link {
                    from: at,
                    direction,
                });
                at = self.neighbour(at, direction).unwrap_or(at);
            }
        }
        links
    }

    /// Whether a set of ranks, each named once, is a rectangle of this partition: all between two corners (B 3).
    #[must_use]
    pub fn is_rectangle(&self, members: &[u32]) -> bool {
        let sides = self.corners(members).map(|[low, high]| high - low + 1);
        sides.iter().map(|n| u64::from(*n)).product::<u64>() == members.len() as u64
    }

    /// The smallest and largest coordinate of each dimension.
    fn corners(&self, members: &[u32]) -> [[u32; 2]; 3] {
        let all = || members.iter().map(|rank| self.coordinates(*rank));
        [0, 1, 2].map(|d| {
            let along = || all().map(|at| at[d]);
            [along().min().unwrap_or(0), along().max().unwrap_or(0)]
        })
    }

    /// The torus of a rectangle whose ranks, in their new order, still go along x first; wrapped around where the
    /// rectangle reaches from end to end of a dimension that is. `None` if it is no rectangle, or in another order.
    #[must_use]
    pub fn among(&self, members: &[u32]) -> Option<Torus> {
        let corners = self.corners(members);
        let sides = corners.map(|[low, high]| high - low + 1);
        let wraps = [0, 1, 2].map(|d| self.wraps[d] && sides[d] == self.extents[d]);
        let torus = Torus::new(sides, wraps)?;
        let in_order = (0..torus.ranks()).map(|rank| {
            let at = torus.coordinates(rank);
            self.rank([0, 1, 2].map(|d| corners[d][0] + at[d]))
        });
        members.iter().copied().eq(in_order).then_some(torus)
    }
}

impl fmt::Display for Torus {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let [x, y, z] = self.extents;
        let could = [0, 1, 2].map(|d| self.extents[d] >= 3);
        let how: String = match self.wraps {
            [false, false, false] => "mesh".to_string(),
            wraps if wraps == could => "torus".to_string(),
            wraps => (0..3).filter(|d| wraps[*d]).map(|d| NAMES[d]).collect(),
        };
        f.pad(&alloc::format!("{x}x{y}x{z}:{how}"))
    }
}

impl FromStr for Torus {
    type Err = TorusError;

    fn from_str(text: &str) -> Result<Torus, TorusError> {
        parse(text).ok_or_else(|| TorusError::NotTorus {
            text: text.to_string(),
        })
    }
}

fn parse(text: &str) -> Option<Torus> {
    let (shape, how) = match text.split_once(':') {
        Some((shape, how)) => (shape, Some(how)),
        None => (text, None),
    };
    let mut extents = [1; 3];
    let words: Vec<&str> = shape.split('x').collect();
    if words.len() > 3 {
        return None;
    }
    for (extent, word) in extents.iter_mut().zip(words) {
        *extent = word.trim().parse().ok().filter(|n: &u32| *n > 0)?;
    }
    let wraps = match how {
        None => [Torus::new(extents, [true; 3])?.ranks() >= TORUS_FROM; 3],
        Some("mesh") => [false; 3],
        Some("torus") => [true; 3],
        Some(names) if !names.is_empty() && names.chars().all(|c| NAMES.contains(&c)) => {
            NAMES.map(|name| names.contains(name))
        }
        Some(_) => return None,
    };
    Torus::new(extents, wraps)
}

#[cfg(test)]
mod tests;
