//! The registry: every algorithm, with its name, source, requirements and build.
//!
//! One table drives selection, tests, `allhands list` and the documentation. An algorithm is one file,
//! `algorithm/<collective>/<name>.rs`, that reads like its paper. An algorithm never chooses another: what
//! serves a call is decided in `choose` alone.

pub mod allgather;
pub mod allreduce;
pub mod alltoall;
pub mod barrier;
pub mod broadcast;
pub mod exscan;
#[cfg(test)]
mod figures;
pub mod gather;
mod key;
pub mod phase;
mod plans;
pub mod reduce;
pub mod reduce_scatter;
pub mod scan;
pub mod scatter;

pub use key::{Key, ParameterError, Values, parse_parameters, print_parameters};
pub use plans::Plans;

use crate::call::{Call, Collective};
use crate::machine::{Fabric, Fabrics, Nodes, NodesError, Torus, TorusError};
use crate::schedule::{Builder, Schedule, Shape};
use alloc::vec;
use alloc::vec::Vec;
use core::fmt;

/// What an algorithm does with a call that is made in place.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum InPlace {
    /// Its schedule is right whether input and output share memory or not.
    Natural,
    /// The input is first copied to scratch.
    Staged,
}

/// What an algorithm needs beyond ranks that send and receive.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Requirement {
    /// A number of ranks that is a power of two.
    PowerOfTwo,
    /// Memory that peers may write: put, notify and wait on a node window.
    Window,
    /// In an irregular call, that every rank knows all counts (blocks pass through third ranks).
    AllCounts,
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
    /// It needs memory that the ranks of each node share, and some nodes have ranks that share none.
    NodesApart(Nodes),
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
            Unsuitable::NotOneNode => write!(
                f,
                "needs memory that all ranks share, and they are on several nodes"
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

/// What an algorithm's file says that it costs; the verifier counts and compares.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Claims {
    /// The most messages that a rank sends, or receives, at once.
    pub ports: u32,
    /// Rounds of messages from the first to the last.
    pub steps: u32,
    /// The most blocks that a rank sends, or receives (of `parts` in the vector, if it is cut).
    pub volume: u64,
    /// The most blocks that a rank reduces.
    pub work: u64,
}

impl Claims {
    /// Stands for the volume and work of an algorithm that claims neither, and its steps at most.
    pub const UNCLAIMED: u64 = u64::MAX;

    /// Marks a volume beside which the steps are a limit.
    const STEPS_AT_MOST: u64 = 1 << 63;

    /// The same volume and work, and steps that are a limit: because how much runs side by side is no simple formula.
    #[must_use]
    pub const fn with_steps_at_most(self) -> Claims {
        Claims {
            volume: self.volume | Self::STEPS_AT_MOST,
            ..self
        }
    }

    /// Whether the steps are a limit.
    #[must_use]
    pub const fn are_limits(&self) -> bool {
        self.volume & Self::STEPS_AT_MOST != 0
    }

    /// The volume, if it is claimed.
    #[must_use]
    pub fn claimed_volume(&self) -> Option<u64> {
        let claimed = self.volume != Self::UNCLAIMED;
        claimed.then_some(self.volume & !Self::STEPS_AT_MOST)
    }

    /// The work, if it is claimed.
    #[must_use]
    pub fn claimed_work(&self) -> Option<u64> {
        (self.work != Self::UNCLAIMED).then_some(self.work)
    }
}

/// One published algorithm.
#[derive(Clone, Copy)]
pub struct Algorithm {
    /// The collective that it serves.
    pub collective: Collective,
    /// The name that the user types; with `_` for `-`, its file's name.
    pub name: &'static str,
    /// Paper and section.
    pub citation: &'static str,
    /// One sentence.
    pub summary: &'static str,
    /// What it needs.
    pub requires: &'static [Requirement],
    /// Its parameters.
    pub keys: &'static [Key],
    /// The registered settings, each as typed after the name; the first is the default, `""`.
    pub settings: &'static [&'static str],
    /// What it does in place.
    pub in_place: InPlace,
    /// Whether it combines in rank order, so that the operator need not commute.
    pub ordered: fn(&Shape) -> bool,
    /// In how many parts it cuts a vector (for block collectives the number of ranks).
    pub parts: fn(&Shape) -> u32,
    /// Emits one rank's part.
    pub build: fn(&mut Builder),
    /// What it costs.
    pub claims: fn(&Shape) -> Claims,
}

impl fmt::Debug for Algorithm {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}", self.collective, self.name)
    }
}

impl Algorithm {
    /// The call with the parameters that `text` gives (`key=value,…`), the others at their defaults, all ranks on one
    /// node ([`Shape::on`] says otherwise) and on no torus ([`Shape::on_torus`] says on which).
    ///
    /// # Errors
    /// A [`ParameterError`] that names the key or value and what would be right.
    pub fn shape(&self, call: Call, text: &str) -> Result<Shape, ParameterError> {
        Ok(Shape {
            call,
            parameters: parse_parameters(self.keys, text)?,
            nodes: Nodes::one(),
            fabrics: Fabrics::default(),
            torus: None,
        })
    }

    /// The nodes on which it is registered for `ranks` ranks: all ranks on one, and others if it asks for nodes.
    #[must_use]
    pub fn nodes(&self, ranks: u32) -> Vec<Nodes> {
        if self.requires.contains(&Requirement::Nodes) {
            Nodes::samples(ranks)
        } else {
            vec![Nodes::one()]
        }
    }

    /// The hardware that it requires: what a machine has on which it is proved.
    #[must_use]
    pub fn fabrics(&self) -> Fabrics {
        let needs = |fabric| self.requires.contains(&Requirement::Fabric(fabric));
        Fabrics {
            tree: needs(Fabric::Tree),
            interrupt: needs(Fabric::Interrupt),
        }
    }

    /// The tori on which it is registered for `ranks` ranks: none, or several if it asks for one.
    #[must_use]
    pub fn tori(&self, ranks: u32) -> Vec<Option<Torus>> {
        if self.requires.contains(&Requirement::Torus) {
            Torus::samples(ranks).into_iter().map(Some).collect()
        } else {
            vec![None]
        }
    }

    /// A call on all nodes and tori on which it is registered, with the hardware that it requires, as far as it serves it there.
    #[must_use]
    pub fn everywhere(&self, shape: &Shape) -> Vec<Shape> {
        let ranks = shape.ranks();
        let mut shapes = Vec::new();
        for nodes in self.nodes(ranks) {
            for torus in self.tori(ranks) {
                let shape = shape.clone().on(nodes.clone()).on_torus(torus);
                let shape = shape.with(self.fabrics());
                shapes.extend(self.admits(&shape).is_ok().then_some(shape));
            }
        }
        shapes
    }

    /// Whether the algorithm serves the call.
    ///
    /// # Errors
    /// [`Unsuitable`] says why not.
    pub fn admits(&self, shape: &Shape) -> Result<(), Unsuitable> {
        let Call {
            ranks,
            root,
            commutative,
            ..
        } = shape.call;
        if ranks == 0 {
            return Err(Unsuitable::NoRanks);
        }
        if root >= ranks {
            return Err(Unsuitable::NoSuchRoot { root, ranks });
        }
        shape.nodes.check(ranks).map_err(Unsuitable::OtherNodes)?;
        self.admits_torus(shape)?;
        if self.requires.contains(&Requirement::PowerOfTwo) && !ranks.is_power_of_two() {
            return Err(Unsuitable::NotPowerOfTwo { ranks });
        }
        let missing = |fabric: &Fabric| {
            self.requires.contains(&Requirement::Fabric(*fabric)) && !shape.fabrics.has(*fabric)
        };
        if let Some(fabric) = Fabric::ALL.into_iter().find(missing) {
            return Err(Unsuitable::NoFabric(fabric));
        }
        if !commutative && self.collective.reduces() && !(self.ordered)(shape) {
            return Err(Unsuitable::NonCommutative);
        }
        Ok(())
    }

    /// Whether the call's torus, if any, is one of its ranks; or of its nodes, for which algorithms among their leaders ask.
    fn admits_torus(&self, shape: &Shape) -> Result<(), Unsuitable> {
        let ranks = shape.ranks();
        let asks = self.requires.contains(&Requirement::Torus);
        if let Some((found, leaders)) = self.among_leaders(shape)
            && found.requires.contains(&Requirement::Torus)
        {
            return found.admits(&leaders);
        }
        match shape.torus {
            None if asks => Err(Unsuitable::NoTorus),
            Some(torus) if torus.ranks() != ranks => {
                let of_nodes = torus.ranks() as usize == shape.nodes.sizes(ranks).len();
                match (of_nodes, asks) {
                    (true, true) => Err(Unsuitable::TorusOfNodes(torus)),
                    (true, false) => Ok(()),
                    (false, _) => torus.check(ranks).map_err(Unsuitable::OtherTorus),
                }
            }
            None | Some(_) => Ok(()),
        }
    }

    /// The algorithm that serves the nodes' leaders, with their call, if this one is made of others and its nodes are those of the
    /// call.
    #[must_use]
    pub fn among_leaders(&self, shape: &Shape) -> Option<(&'static Algorithm, Shape)> {
        let is_made_of_others = self
            .keys
            .iter()
            .any(|key| key.name == phase::nodes::INTRA.name)
            && self.name == "hierarchical";
        let nodes = shape.nodes.check(shape.ranks());
        (is_made_of_others && nodes.is_ok()).then(|| phase::nodes::among_leaders(shape))
    }

    /// The name that the shape has for `key`; `None` where the key has numbers, or the algorithm does not have it.
    #[must_use]
    pub fn named(&self, shape: &Shape, key: &str) -> Option<&'static str> {
        let key = self.keys.iter().find(|own| own.name == key)?;
        match key.values {
            Values::Names(names) => names.get(shape.get(key.name) as usize).copied(),
            Values::Range { .. } => None,
        }
    }

    /// Whether it serves the call where ranks share memory only if they share a node: `really(nodes)` says whether the ranks of
    /// each innermost one of these nodes do.
    ///
    /// # Errors
    /// [`Unsuitable::NotOneNode`] or [`Unsuitable::NodesApart`].
    pub fn admits_apart(
        &self,
        shape: &Shape,
        really: impl FnOnce(&Nodes) -> bool,
    ) -> Result<(), Unsuitable> {
        if !self.requires.contains(&Requirement::Window) {
            return Ok(());
        }
        const MEMORY: &str = "shared-memory";
        match (self.named(shape, "intra"), self.named(shape, "inter")) {
            (Some(_), Some(MEMORY)) | (None, _) | (_, None) => Err(Unsuitable::NotOneNode),
            (Some(MEMORY), Some(_)) if !really(&shape.nodes) => {
                Err(Unsuitable::NodesApart(shape.nodes.clone()))
            }
            (Some(_), Some(_)) => Ok(()),
        }
    }

    /// A builder for `rank`, before the algorithm has said anything.
    #[must_use]
    pub fn builder(&self, shape: &Shape, rank: u32) -> Builder {
        let staged = self.stages(shape);
        Builder::new(shape.clone(), rank, (self.parts)(shape), staged)
    }

    /// One rank's part, built alone.
    #[must_use]
    pub fn schedule(&self, shape: &Shape, rank: u32) -> Schedule {
        let mut builder = self.builder(shape, rank);
        (self.build)(&mut builder);
        builder.finish()
    }

    /// Every rank's part.
    #[must_use]
    pub fn world(&self, shape: &Shape) -> Vec<Schedule> {
        (0..shape.ranks())
            .map(|rank| self.schedule(shape, rank))
            .collect()
    }
}

/// Every algorithm, by collective and in the order in which tables list them.
pub fn all() -> impl Iterator<Item = &'static Algorithm> {
    Collective::ALL.into_iter().flat_map(of)
}

/// The algorithms of a collective.
pub fn of(collective: Collective) -> impl Iterator<Item = &'static Algorithm> {
    let table: &'static [&'static Algorithm] = match collective {
        Collective::Barrier => barrier::ALL,
        Collective::Broadcast => broadcast::ALL,
        Collective::Scatter => scatter::ALL,
        Collective::Gather => gather::ALL,
        Collective::Allgather => allgather::ALL,
        Collective::Alltoall => alltoall::ALL,
        Collective::ReduceScatter => reduce_scatter::ALL,
        Collective::Reduce => reduce::ALL,
        Collective::Allreduce => allreduce::ALL,
        Collective::Scan => scan::ALL,
        Collective::Exscan => exscan::ALL,
    };
    table.iter().copied()
}

/// The algorithm of `collective` called `name`.
#[must_use]
pub fn find(collective: Collective, name: &str) -> Option<&'static Algorithm> {
    of(collective).find(|a| a.name == name)
}

/// A whole vector in one part: for algorithms that do not cut it.
pub(crate) fn uncut(_: &Shape) -> u32 {
    1
}

/// A part (or block) for each rank.
pub(crate) fn block_per_rank(shape: &Shape) -> u32 {
    shape.ranks()
}

/// For algorithms that keep rank order, and for those that reduce nothing.
pub(crate) fn keeps_order(_: &Shape) -> bool {
    true
}

/// For algorithms that combine in another order than that of the ranks.
pub(crate) fn any_order(_: &Shape) -> bool {
    false
}
