//! The registration: what an algorithm says of itself, and what follows from that for a call.

use super::{Claims, Key, ParameterError, Requirement, Unsuitable, Values, parse_parameters};
use crate::call::{Call, Collective};
use crate::machine::{Direction, Fabric, Fabrics, Nodes, Torus};
use crate::schedule::{Builder, Schedule, Shape};
use alloc::sync::Arc;
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

/// By what an algorithm's messages go where a machine has more than one way to send them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Layer {
    /// Point-to-point messages, as those of MPI.
    #[default]
    PointToPoint,
    /// The machine's packets.
    Packets,
    /// The machine's packets, to one peer after another in random order.
    PacketsInRandomOrder,
}

/// What an algorithm has that is made of others: one inside nodes, one among their leaders.
#[derive(Clone, Copy)]
pub struct Layers {
    /// What may serve the leaders; the key [`Layers::INTER`] names one of them.
    pub leaders: &'static [&'static Algorithm],
    /// The one that does, with the leaders' call.
    pub among_leaders: fn(&Shape) -> (&'static Algorithm, Shape),
}

/// Which ranks must share memory in a call, from the fewest to all.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Sharing {
    /// None.
    Nobody,
    /// Those of each innermost node.
    Nodes,
    /// The same, and ranks put into windows of other nodes and raise flags there, but read nothing there.
    Windows,
    /// All.
    Everybody,
}

impl Layers {
    /// The key that names the algorithm among the leaders.
    pub const INTER: &'static str = Key::inter(&[]).name;
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
    /// The algorithms that it is made of, if it is.
    pub layers: Option<Layers>,
    /// Which ranks must share memory, where it requires windows.
    pub sharing: fn(&Shape) -> Sharing,
    /// By what its messages go.
    pub layer: Layer,
    /// The way along the torus that a stream takes first, where each of its streams has one.
    pub stream_way: fn(&Shape, usize) -> Option<Direction>,
    /// Emits one rank's part.
    pub build: fn(&mut Builder),
    /// What it costs.
    pub claims: fn(&Shape) -> Claims,
}

/// What an algorithm is unless its registration, or its collective's base, says otherwise: it asks for nothing, has no parameters, and
/// keeps rank order on vectors that it does not cut. Name, source, build and claims are each one's own: a registration that leaves
/// out one of these does nothing, for nothing, which no law and no count agrees with.
pub(super) const BASE: Algorithm = Algorithm {
    collective: Collective::Barrier,
    name: "",
    citation: "",
    summary: "",
    requires: &[],
    keys: &[],
    settings: &[""],
    in_place: InPlace::Natural,
    ordered: keeps_order,
    parts: uncut,
    layers: None,
    sharing: |_| Sharing::Everybody,
    layer: Layer::PointToPoint,
    stream_way: |_, _| None,
    build: |_| {},
    claims: |_| Claims {
        ports: 0,
        steps: 0,
        volume: 0,
        work: 0,
    },
};

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
        let ports = shape.get(Key::PORTS.name);
        if let Some((found, _)) = self.among_leaders(shape).filter(|_| ports > 0)
            && !found.has_key(Key::PORTS.name)
        {
            return Err(Unsuitable::OnePort(found.name));
        }
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
        let nodes = shape.nodes.check(shape.ranks());
        let layers = self.layers.filter(|_| nodes.is_ok());
        layers.map(|layers| (layers.among_leaders)(shape))
    }

    /// Whether it has a parameter with this name.
    #[must_use]
    pub fn has_key(&self, name: &str) -> bool {
        self.keys.iter().any(|key| key.name == name)
    }

    /// The name that the shape has for `key`; `None` where the key has numbers, or the algorithm does not have it.
    #[must_use]
    pub fn named(&self, shape: &Shape, key: &str) -> Option<&'static str> {
        let key = self.keys.iter().find(|own| own.name == key)?;
        match key.values {
            Values::Names(names) => names.get(shape.get(key.name) as usize).copied(),
            Values::Range { .. } | Values::ZeroOr { .. } => None,
        }
    }

    /// Whether it serves the call where ranks share memory only if they share a node: `really(nodes)` says whether the ranks of
    /// each innermost one of these nodes do, and `puts` whether ranks can put into windows of other nodes and raise flags there.
    ///
    /// # Errors
    /// [`Unsuitable::NotOneNode`], [`Unsuitable::NoPuts`] or [`Unsuitable::NodesApart`].
    pub fn admits_apart(
        &self,
        shape: &Shape,
        puts: bool,
        really: impl Fn(&Nodes) -> bool,
    ) -> Result<(), Unsuitable> {
        if !self.requires.contains(&Requirement::Window) {
            return Ok(());
        }
        match (self.sharing)(shape) {
            Sharing::Everybody => Err(Unsuitable::NotOneNode),
            Sharing::Windows if !puts => Err(Unsuitable::NoPuts),
            Sharing::Nodes | Sharing::Windows if !really(&shape.nodes) => {
                Err(Unsuitable::NodesApart(shape.nodes.clone()))
            }
            Sharing::Nodes | Sharing::Windows | Sharing::Nobody => Ok(()),
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
        let (parts, staged) = ((self.parts)(shape), self.stages(shape));
        let shape = Arc::new(shape.clone());
        let part = |rank| {
            let mut builder = Builder::new(Arc::clone(&shape), rank, parts, staged);
            (self.build)(&mut builder);
            builder.finish()
        };
        (0..shape.ranks()).map(part).collect()
    }
}

/// A whole vector in one part: for algorithms that do not cut it.
fn uncut(_: &Shape) -> u32 {
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

#[cfg(test)]
mod tests {
    use crate::algorithm;
    use std::collections::BTreeSet;

    #[test]
    fn what_a_base_cannot_know_every_registration_says() {
        let mut names = BTreeSet::new();
        for algorithm in algorithm::all() {
            let said = [algorithm.name, algorithm.citation, algorithm.summary];
            assert!(said.iter().all(|text| !text.is_empty()), "{algorithm:?}");
            assert!(
                names.insert((algorithm.collective, algorithm.name)),
                "{algorithm:?} is there twice"
            );
            assert_eq!(algorithm.settings.first(), Some(&""), "{algorithm:?}");
        }
    }
}
