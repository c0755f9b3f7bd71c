//! The property that is tried on every engine: each rank gets what the serial definition says, for random calls.

mod call;
mod serial;

use allhands::{Communicator, LogicalAnd, Max, Ordered, Sum};
use allhands_core::algorithm::{Algorithm, Requirement};
use allhands_core::call::{Call, Collective};
use allhands_core::machine::{Nodes, Torus};
use proptest::prelude::{BoxedStrategy, Strategy, any};

/// Whether a few cases are enough, as all of them run elsewhere: in every build but the checked one of `cargo xtask test`,
/// which says so by `ALLHANDS_SUITE=few`.
pub fn few_are_enough() -> bool {
    std::env::var_os("ALLHANDS_SUITE").is_some_and(|value| value == "few")
}

/// One call to try.
#[derive(Clone, Copy, Debug)]
pub struct Case {
    pub algorithm: &'static Algorithm,
    pub setting: &'static str,
    pub ranks: usize,
    root: usize,
    /// Elements of the vector, or of a block.
    elements: usize,
    in_place: bool,
    /// With a seed, blocks have lengths of their own.
    irregular: Option<u64>,
    kind: Kind,
}

/// Type and operator.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    SumOfU64,
    SumOfF32,
    MaxOfI16,
    AndOfBool,
    /// Composition of affine maps: associative, not commutative.
    ComposeMaps,
}

const KINDS: [Kind; 5] = [
    Kind::SumOfU64,
    Kind::SumOfF32,
    Kind::MaxOfI16,
    Kind::AndOfBool,
    Kind::ComposeMaps,
];

/// An affine map x ↦ a·x + b modulo 2^32.
type Map = [u32; 2];

fn compose(left: &Map, right: &Map) -> Map {
    [
        left[0].wrapping_mul(right[0]),
        left[1].wrapping_mul(right[0]).wrapping_add(right[1]),
    ]
}

/// A number of three, which looks like chance.
fn mix(a: u64, b: u64, c: u64) -> u64 {
    let mut z = a.wrapping_mul(0x9e37_79b9_7f4a_7c15) ^ b.wrapping_mul(0xbf58_476d_1ce4_e5b9) ^ c;
    z = (z ^ (z >> 30)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

impl Case {
    /// A call in order of the numbers 0 to 9 of `variant`: apart and in place, regular and not, with each type.
    pub fn new(
        (algorithm, setting): (&'static Algorithm, &'static str),
        ranks: usize,
        root: usize,
        elements: usize,
        variant: usize,
    ) -> Case {
        let in_place = variant % 2 == 1;
        let seed = (root * 31 + elements) as u64;
        Case {
            algorithm,
            setting,
            ranks,
            root,
            elements,
            in_place,
            irregular: (variant % 4 == 2).then_some(seed),
            kind: KINDS[KINDS.len() - 1 - variant / 2 % KINDS.len()],
        }
    }

    /// Takes an operator that commutes, if these nodes ask for one.
    pub fn order_on(&mut self, nodes: &Nodes) {
        if self.kind == Kind::ComposeMaps && !is_ordered(self, nodes) {
            self.kind = Kind::SumOfU64;
        }
    }

    fn collective(&self) -> Collective {
        self.algorithm.collective
    }

    /// The length of the block that rank `from` has for rank `to` (or of rank `from`'s one block).
    fn count(&self, from: usize, to: usize) -> usize {
        match self.irregular {
            None => self.elements,
            Some(seed) => {
                (mix(seed, from as u64, to as u64) % (2 * self.elements as u64 + 2)) as usize
            }
        }
    }

    fn block_counts(&self) -> Vec<usize> {
        (0..self.ranks).map(|r| self.count(r, 0)).collect()
    }

    /// The nodes that the ranks are taken to be on, for an algorithm that treats nodes apart.
    fn nodes(&self) -> Nodes {
        let ranks = self.ranks as u32;
        let mut samples = Nodes::samples(ranks);
        let by_node = self.algorithm.requires.contains(&Requirement::Nodes);
        let chosen = mix(self.root as u64, self.elements as u64, self.kind as u64);
        match by_node {
            true => samples.swap_remove((chosen % samples.len() as u64) as usize),
            false => Nodes::one(),
        }
    }

    /// The torus on which the ranks are taken to be, for an algorithm that asks for one.
    fn torus(&self) -> Option<Torus> {
        let mut tori = self.algorithm.tori(self.ranks as u32);
        let chosen = mix(self.root as u64, self.kind as u64, self.elements as u64);
        tori.swap_remove((chosen % tori.len() as u64) as usize)
    }

    /// Makes the call on this rank so many times, with the others, and compares what it gets each time.
    pub fn check(&self, comm: &Communicator, calls: usize) -> Result<(), String> {
        let nodes = self.nodes();
        if comm.nodes() != nodes {
            comm.set_nodes(nodes).map_err(|error| error.to_string())?;
        }
        self.check_here(comm, calls)
    }

    /// The same on the nodes on which the ranks are.
    pub fn check_here(&self, comm: &Communicator, calls: usize) -> Result<(), String> {
        if comm.torus() != self.torus() {
            let said = comm.set_torus(self.torus());
            said.map_err(|error| error.to_string())?;
        }
        let checked = match self.kind {
            Kind::SumOfU64 => call::check::<u64, _>(self, comm, (|x| x, &Sum), calls),
            // Small whole numbers, so that sums are exact in any order.
            Kind::SumOfF32 => {
                call::check::<f32, _>(self, comm, (|x| (x % 1000) as f32, &Sum), calls)
            }
            Kind::MaxOfI16 => call::check::<i16, _>(self, comm, (|x| x as i16, &Max), calls),
            Kind::AndOfBool => {
                let value = |x: u64| !x.is_multiple_of(7);
                call::check::<bool, _>(self, comm, (value, &LogicalAnd), calls)
            }
            Kind::ComposeMaps => {
                let map = |x| [x as u32, (x >> 32) as u32];
                call::check::<Map, _>(self, comm, (map, &Ordered(compose)), calls)
            }
        };
        checked.map_err(|what| format!("rank {}: {what}", comm.rank()))
    }
}

/// Which lengths are tried.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Lengths {
    /// Nothing, little, and some KB.
    Short,
    /// These, and around the longest eager message, the longest bounced one, and beyond.
    AlsoLong,
}

impl Lengths {
    fn of(self, ranks: usize) -> Vec<usize> {
        let mut all = vec![0, 1, 2, 3, ranks - 1, ranks, ranks + 1, 50, 300, 2000];
        if self == Lengths::AlsoLong {
            // In elements of 8 bytes: 1056 bytes are eager, 32 KiB bounced; of a vector, each rank's part is p times less.
            all.extend([132, 133, 4097, 132 * ranks + 1, 20_000 / ranks, 40_000]);
        }
        all
    }
}

/// Random calls of an algorithm.
pub fn cases(
    algorithm: &'static Algorithm,
    setting: &'static str,
    ranks: BoxedStrategy<usize>,
    lengths: Lengths,
) -> BoxedStrategy<Case> {
    let random = (any::<usize>(), any::<usize>(), 0..KINDS.len());
    (ranks, random, any::<bool>(), any::<Option<u64>>())
        .prop_map(move |(ranks, (root, length, kind), in_place, irregular)| {
            let lengths = lengths.of(ranks);
            let elements = lengths[length % lengths.len()];
            let per_block = matches!(
                algorithm.collective,
                Collective::Scatter
                    | Collective::Gather
                    | Collective::Allgather
                    | Collective::Alltoall
                    | Collective::ReduceScatter
            );
            let root = if algorithm.collective.rooted() {
                root % ranks
            } else {
                0
            };
            let mut case = Case {
                algorithm,
                setting,
                ranks,
                root,
                // Every rank has, or gets, as many blocks as there are ranks.
                elements: if per_block {
                    elements.min(5000)
                } else {
                    elements
                },
                in_place,
                irregular: irregular.filter(|_| !in_place),
                kind: KINDS[kind],
            };
            case.order_on(&case.nodes());
            case
        })
        .boxed()
}

/// Whether an operator that does not commute may be used.
fn is_ordered(case: &Case, nodes: &Nodes) -> bool {
    let call = Call {
        root: case.root as u32,
        commutative: false,
        ..Call::new(case.collective(), case.ranks as u32)
    };
    let shape = case.algorithm.shape(call, case.setting);
    shape.is_ok_and(|shape| {
        case.algorithm
            .admits(&shape.on(nodes.clone()).on_torus(case.torus()))
            .is_ok()
    })
}
