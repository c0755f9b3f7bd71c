//! Requirements: what an algorithm needs beyond ranks that send and receive, and why it does not serve a call.

use crate::machine::{Fabric, Nodes, NodesError, Torus, TorusError};
use core::fmt;

/// What an algorithm needs beyond ranks that send and receive.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Requirement {
    /// A number of ranks that is a power of two.
    PowerOfTwo,
    /// Memory that peers may write: put, notify and wait on a node window.
    Window,
    /// In an irregular call, that every rank knows all counts (blocks pass through third ranks).
    AllCounts,
    /// In an irregular call, that a rank knows the counts of the blocks that pass through it: they go the blocks' own way, ahead of them.
    PassingCounts,
    /// That it is said which ranks share a node; where nothing is said, all share one.
    Nodes,
    /// Hardware in which all ranks meet.
    Fabric(Fabric),
    /// That it is said where the ranks are on a mesh or torus.
    Torus,
    /// That no link of the torus carries two of its streams; the verifier proves it.
    DisjointStreams,
}

impl Requirement {
    /// The name that `allhands list` prints.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Requirement::PowerOfTwo => "power-of-two",
            Requirement::Window => "window",
            Requirement::AllCounts => "all-counts",
            Requirement::PassingCounts => "passing-counts",
            Requirement::Nodes => "nodes",
            Requirement::Fabric(Fabric::Tree) => "combining-tree",
            Requirement::Fabric(Fabric::Interrupt) => "global-interrupt",
            Requirement::Torus => "torus",
            Requirement::DisjointStreams => "disjoint-streams",
        }
    }
}

/// Why an algorithm does not serve a call.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Unsuitable {
    /// The number of ranks is no power of two.
    NotPowerOfTwo {
        /// The number of ranks.
        ranks: u32,
    },
    /// The operator does not commute and the algorithm does not keep rank order.
    NonCommutative,
    /// The root is not a rank.
    NoSuchRoot {
        /// The root.
        root: u32,
        /// The number of ranks.
        ranks: u32,
    },
    /// There are no ranks.
    NoRanks,
    /// The nodes are not those of this number of ranks.
    OtherNodes(NodesError),
    /// The machine does not have the hardware, for these ranks.
    NoFabric(Fabric),
    /// It is not said where the ranks are on a torus.
    NoTorus,
    /// It needs memory that all ranks share, and they are on several nodes.
    NotOneNode,
    /// It puts into windows of ranks on other nodes, which the network between them does not offer.
    NoPuts,
    /// It needs memory that the ranks of each node share, and some nodes have ranks that share none.
    NodesApart(Nodes),
    /// It was given ports, and what is to serve the nodes' leaders, an algorithm of this name, has no such parameter.
    OnePort(&'static str),
    /// The torus is not that of this number of ranks.
    OtherTorus(TorusError),
    /// The torus is that of nodes which have several ranks each.
    TorusOfNodes(Torus),
}

impl fmt::Display for Unsuitable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Unsuitable::NotPowerOfTwo { ranks } => {
                write!(
                    f,
                    "needs a number of ranks that is a power of two, not {ranks}"
                )
            }
            Unsuitable::NonCommutative => write!(
                f,
                "needs a commutative operator (it does not keep rank order)"
            ),
            Unsuitable::NoSuchRoot { root, ranks } => {
                write!(f, "the root must be a rank, 0 to {}, not {root}", ranks - 1)
            }
            Unsuitable::OtherNodes(error) => error.fmt(f),
            Unsuitable::NoTorus => write!(
                f,
                "needs to know where the ranks are on a mesh or torus, such as 4x4x2"
            ),
            Unsuitable::OtherTorus(error) => error.fmt(f),
            Unsuitable::TorusOfNodes(torus) => write!(
                f,
                "needs one rank on each node of the torus {torus}; right for several is hierarchical with such an algorithm among their leaders, where there is one: hierarchical:inter=torus-trees"
            ),
            Unsuitable::OnePort(name) => write!(
                f,
                "has no ports to set with inter={name}; right is an algorithm among the leaders that has the key ports"
            ),
            Unsuitable::NotOneNode => write!(
                f,
                "needs memory that all ranks share, and they are on several nodes"
            ),
            Unsuitable::NoPuts => write!(
                f,
                "puts into windows of other nodes, which this network does not offer; right is what sends messages between nodes, as between=messages"
            ),
            Unsuitable::NodesApart(nodes) => write!(
                f,
                "needs memory that the ranks of a node share, and some of nodes {nodes} have ranks that share none"
            ),
            Unsuitable::NoRanks => write!(f, "needs at least one rank"),
            Unsuitable::NoFabric(fabric) => write!(
                f,
                "needs a machine with a {}, such as bluegene-l",
                Requirement::Fabric(*fabric).name()
            ),
        }
    }
}

impl core::error::Error for Unsuitable {}
