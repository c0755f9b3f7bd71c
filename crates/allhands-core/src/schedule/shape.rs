//! The shape: a call with an algorithm's parameters.

use crate::call::Call;
use crate::machine::{Fabrics, Nodes, Torus};
use crate::parameters::Parameters;

/// A call together with the parameters of the algorithm that serves it: all that a schedule depends
/// on besides the rank.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Shape {
    /// The call.
    pub call: Call,
    /// A value for every key of the algorithm.
    pub parameters: Parameters,
    /// Which ranks share a node; the same on every rank.
    pub nodes: Nodes,
    /// The hardware in which all ranks can meet; the same on every rank.
    pub fabrics: Fabrics,
    /// Where the ranks are on a mesh or torus, if that is said; the same on every rank.
    pub torus: Option<Torus>,
}

impl Shape {
    /// The same call on these nodes.
    #[must_use]
    pub fn on(self, nodes: Nodes) -> Shape {
        Shape { nodes, ..self }
    }

    /// The same call on a machine with these fabrics.
    #[must_use]
    pub fn with(self, fabrics: Fabrics) -> Shape {
        Shape { fabrics, ..self }
    }

    /// The same call on this torus.
    #[must_use]
    pub fn on_torus(self, torus: Option<Torus>) -> Shape {
        Shape { torus, ..self }
    }

    /// The value of `key`, or 0 where the algorithm does not have it.
    #[must_use]
    pub fn get(&self, key: &str) -> u32 {
        self.parameters.get(key).unwrap_or(0)
    }

    /// The number of ranks.
    #[must_use]
    pub fn ranks(&self) -> u32 {
        self.call.ranks
    }

    /// Ports: the most messages a rank may send (and receive) at once; 1 unless the algorithm has the key.
    #[must_use]
    pub fn ports(&self) -> u32 {
        self.parameters.get("ports").unwrap_or(1)
    }

    /// The radix; 0 (the default of the key) stands for ports + 1.
    #[must_use]
    pub fn radix(&self) -> u32 {
        match self.parameters.get("radix") {
            None | Some(0) => self.ports() + 1,
            Some(radix) => radix,
        }
    }
}
