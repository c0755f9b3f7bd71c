//! The machine as far as algorithms see it: which ranks share a node, which are neighbours on a torus, and what hardware all share.

mod torus;

pub use torus::{Direction, Link, Torus, TorusError};

use alloc::string::{String, ToString};
use alloc::vec;
use alloc::vec::Vec;
use core::fmt;
use core::str::FromStr;

/// Which ranks share a node; those of a node are consecutive.
///
/// Typed as `one` (all ranks share one), `4x4` (4 nodes of 4 ranks), `2x2x4` (2 groups of 2 nodes of 4 ranks: levels,
/// outermost first), or `3,5,2` (nodes of different sizes).
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Nodes {
    kind: Kind,
}

#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
enum Kind {
    #[default]
    One,
    /// At least two, outermost first.
    Levels(Vec<u32>),
    Sizes(Vec<u32>),
}

/// Hardware in which all ranks of a machine meet.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Fabric {
    /// A network that combines what comes up and sends down what is combined (B 2.1, 4).
    Tree,
    /// Wires that tell all when all have raised them, and carry no data (B 2.1, 4); a network that asks and tells all (Q 3.1).
    Interrupt,
}

impl Fabric {
    /// All of them.
    pub const ALL: [Fabric; 2] = [Fabric::Tree, Fabric::Interrupt];

    /// Its name in a schedule's text.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Fabric::Tree => "tree",
            Fabric::Interrupt => "interrupt",
        }
    }
}

/// Which fabrics a machine has, for the ranks of a call.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Fabrics {
    /// [`Fabric::Tree`].
    pub tree: bool,
    /// [`Fabric::Interrupt`].
    pub interrupt: bool,
}

impl Fabrics {
    /// Both.
    pub const ALL: Fabrics = Fabrics {
        tree: true,
        interrupt: true,
    };

    /// Whether `fabric` is there.
    #[must_use]
    pub const fn has(self, fabric: Fabric) -> bool {
        match fabric {
            Fabric::Tree => self.tree,
            Fabric::Interrupt => self.interrupt,
        }
    }
}

/// Why a text says no nodes, or nodes are not those of a call.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum NodesError {
    /// The text is no node shape.
    NotNodes {
        /// The text.
        text: String,
    },
    /// They have another number of ranks than the call.
    OtherRanks {
        /// The nodes.
        nodes: Nodes,
        /// The ranks on them.
        on_nodes: u64,
        /// The ranks of the call.
        ranks: u32,
    },
}

impl fmt::Display for NodesError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            NodesError::NotNodes { text } => write!(
                f,
                "'{text}' says no nodes; right would be one, 4x4 (4 nodes of 4 ranks), 2x2x4 (levels, outermost first) or 3,5,2 (nodes of different sizes)"
            ),
            NodesError::OtherRanks {
                nodes,
                on_nodes,
                ranks,
            } => write!(
                f,
                "nodes {nodes} have {on_nodes} ranks and the call has {ranks}; they must be as many"
            ),
        }
    }
}

impl core::error::Error for NodesError {}

impl Nodes {
    /// All ranks on one node.
    #[must_use]
    pub const fn one() -> Nodes {
        Nodes { kind: Kind::One }
    }

    /// `nodes` nodes of `each` ranks.
    #[must_use]
    pub fn even(nodes: u32, each: u32) -> Nodes {
        Nodes {
            kind: Kind::Levels(vec![nodes.max(1), each.max(1)]),
        }
    }

    /// Nodes of these sizes, in the order of their ranks; those without ranks are left out.
    #[must_use]
    pub fn of_sizes(sizes: &[u32]) -> Nodes {
        let sizes: Vec<u32> = sizes.iter().copied().filter(|size| *size > 0).collect();
        let kind = if sizes.is_empty() {
            Kind::One
        } else {
            Kind::Sizes(sizes)
        };
        Nodes { kind }
    }

    /// Nodes on which to try what is to hold for all of `ranks` ranks: one, two ranks a node, nodes of three different sizes,
    /// a rank a node, and two groups of nodes.
    #[must_use]
    pub fn samples(ranks: u32) -> Vec<Nodes> {
        let filled = |sizes: &[u32]| {
            let mut left = ranks;
            let mut next = || {
                let all = sizes.iter().cycle().map(|size| {
                    let size = (*size).min(left);
                    left -= size;
                    size
                });
                all.take_while(|size| *size > 0).collect::<Vec<u32>>()
            };
            Nodes::of_sizes(&next())
        };
        let mut samples = vec![Nodes::one()];
        if ranks > 2 {
            samples.push(filled(&[2]));
        }
        if ranks > 4 {
            samples.push(filled(&[3, 1, 4]));
        }
        if ranks > 1 {
            samples.push(Nodes::even(ranks, 1));
        }
        if ranks >= 8 && ranks.is_multiple_of(4) {
            samples.push(Nodes {
                kind: Kind::Levels(vec![2, 2, ranks / 4]),
            });
        }
        samples
    }

    /// Whether these are the nodes of `ranks` ranks.
    ///
    /// # Errors
    /// [`NodesError::OtherRanks`] says how many they have.
    pub fn check(&self, ranks: u32) -> Result<(), NodesError> {
        let on_nodes = match &self.kind {
            Kind::One => return Ok(()),
            Kind::Levels(levels) => levels
                .iter()
                .fold(1u64, |all, level| all.saturating_mul(u64::from(*level))),
            Kind::Sizes(sizes) => sizes.iter().map(|size| u64::from(*size)).sum(),
        };
        if on_nodes == u64::from(ranks) {
            return Ok(());
        }
        Err(NodesError::OtherRanks {
            nodes: self.clone(),
            on_nodes,
            ranks,
        })
    }

    /// The sizes of the innermost nodes of `ranks` ranks: of those whose ranks share memory.
    #[must_use]
    pub fn innermost(&self, ranks: u32) -> Vec<u32> {
        match &self.kind {
            Kind::Levels(levels) => {
                let (each, nodes) = levels.split_last().unwrap_or((&ranks, &[]));
                vec![*each; nodes.iter().product::<u32>() as usize]
            }
            Kind::One | Kind::Sizes(_) => self.sizes(ranks),
        }
    }

    /// The nodes of some of `ranks` ranks, in a new order: as many as are left, or one, if the members of a node do not
    /// follow one another any more.
    #[must_use]
    pub fn among(&self, ranks: u32, members: &[u32]) -> Nodes {
        if members.iter().copied().eq(0..ranks) {
            return self.clone();
        }
        let mut ends = self.innermost(ranks);
        for node in 1..ends.len() {
            ends[node] += ends[node - 1];
        }
        let node_of = |rank: &u32| ends.partition_point(|end| end <= rank);
        let mut sizes: Vec<u32> = Vec::new();
        let mut seen: Vec<usize> = Vec::new();
        for node in members.iter().map(node_of) {
            match seen.last() {
                Some(last) if *last == node => sizes.last_mut().into_iter().for_each(|n| *n += 1),
                _ if seen.contains(&node) => return Nodes::one(),
                _ => {
                    seen.push(node);
                    sizes.push(1);
                }
            }
        }
        match sizes.len() {
            0 | 1 => Nodes::one(),
            _ => Nodes::of_sizes(&sizes),
        }
    }

    /// The sizes of the outermost groups of `ranks` ranks: nodes, or groups of nodes.
    #[must_use]
    pub fn sizes(&self, ranks: u32) -> Vec<u32> {
        match &self.kind {
            Kind::One => vec![ranks],
            Kind::Levels(levels) => vec![levels[1..].iter().product(); levels[0] as usize],
            Kind::Sizes(sizes) => sizes.clone(),
        }
    }

    /// The nodes inside an outermost group, if that is more than a node.
    #[must_use]
    pub fn inside(&self) -> Option<Nodes> {
        match &self.kind {
            Kind::Levels(levels) if levels.len() > 2 => Some(Nodes {
                kind: Kind::Levels(levels[1..].to_vec()),
            }),
            Kind::One | Kind::Levels(_) | Kind::Sizes(_) => None,
        }
    }
}

impl fmt::Display for Nodes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let joined = |numbers: &[u32], between: &str| {
            let numbers: Vec<String> = numbers.iter().map(ToString::to_string).collect();
            numbers.join(between)
        };
        match &self.kind {
            Kind::One => f.pad("one"),
            Kind::Levels(levels) => f.pad(&joined(levels, "x")),
            Kind::Sizes(sizes) => f.pad(&joined(sizes, ",")),
        }
    }
}

impl FromStr for Nodes {
    type Err = NodesError;

    fn from_str(text: &str) -> Result<Nodes, NodesError> {
        if text == "one" {
            return Ok(Nodes::one());
        }
        let levels = text.contains('x');
        let numbers = text.split(if levels { 'x' } else { ',' });
        let number = |word: &str| word.trim().parse().ok().filter(|n: &u32| *n > 0);
        let numbers: Option<Vec<u32>> = numbers.map(number).collect();
        let numbers = numbers.ok_or_else(|| NodesError::NotNodes {
            text: text.to_string(),
        })?;
        let kind = if levels {
            Kind::Levels(numbers)
        } else {
            Kind::Sizes(numbers)
        };
        Ok(Nodes { kind })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_round_trips() {
        for text in ["one", "4x4", "2x2x4", "3,5,2", "7"] {
            let nodes: Nodes = text.parse().unwrap();
            assert_eq!(nodes.to_string(), text);
        }
        for text in ["", "x", "4x", "0x4", "3,,2", "4x4,4", "-1", "four"] {
            let error = text.parse::<Nodes>().unwrap_err().to_string();
            assert!(error.contains("right would be one, 4x4"), "{error}");
        }
    }

    #[test]
    fn some_of_the_ranks_are_on_what_is_left_of_their_nodes() {
        let nodes: Nodes = "2x2x2".parse().unwrap();
        let among = |members: &[u32]| nodes.among(8, members).to_string();
        assert_eq!(among(&[0, 1, 2, 3, 4, 5, 6, 7]), "2x2x2");
        assert_eq!(among(&[0, 2, 3, 7]), "1,2,1");
        assert_eq!(among(&[6, 7, 0]), "2,1");
        assert_eq!(among(&[0, 2, 1]), "one");
        assert_eq!(among(&[4, 5]), "one");
    }

    #[test]
    fn levels_come_apart_from_outside() {
        let nodes: Nodes = "2x3x4".parse().unwrap();
        assert_eq!(nodes.sizes(24), [12, 12]);
        let inside = nodes.inside().unwrap();
        assert_eq!(inside.sizes(12), [4, 4, 4]);
        assert_eq!(inside.inside(), None);
        assert_eq!(Nodes::one().sizes(5), [5]);
        assert_eq!(Nodes::of_sizes(&[3, 0, 2]).sizes(5), [3, 2]);
    }

    #[test]
    fn samples_are_nodes_of_as_many_ranks() {
        for ranks in 1..100 {
            for nodes in Nodes::samples(ranks) {
                assert_eq!(nodes.check(ranks), Ok(()));
                assert_eq!(nodes.sizes(ranks).iter().sum::<u32>(), ranks);
            }
        }
        assert_eq!(Nodes::samples(9)[2].to_string(), "3,1,4,1");
    }

    #[test]
    fn other_numbers_of_ranks_are_named() {
        let nodes: Nodes = "4x4".parse().unwrap();
        assert_eq!(nodes.check(16), Ok(()));
        assert_eq!(
            nodes.check(15).unwrap_err().to_string(),
            "nodes 4x4 have 16 ranks and the call has 15; they must be as many"
        );
        assert_eq!(Nodes::one().check(15), Ok(()));
    }
}
