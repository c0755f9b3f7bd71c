//! What the user asked: a collective, its ranks, its root, and what must hold before and after it.
//!
//! This is the only definition of "correct": the verifier proves [`Call::after`] from [`Call::before`],
//! and the tests on real bytes compare with the same words spelled as a serial program.

use core::fmt;

/// A collective operation, by the name that a user types.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Collective {
    /// No rank leaves before every rank has entered.
    Barrier,
    /// The root's vector reaches every rank.
    Broadcast,
    /// The root's block `r` reaches rank `r`.
    Scatter,
    /// The block of rank `r` reaches the root as block `r`.
    Gather,
    /// The block of rank `r` reaches every rank as block `r`.
    Allgather,
    /// The block `d` of rank `s` reaches rank `d` as block `s`.
    Alltoall,
    /// The reduction of all vectors; rank `r` gets its block `r`.
    ReduceScatter,
    /// The reduction of all vectors, on the root.
    Reduce,
    /// The reduction of all vectors, on every rank.
    Allreduce,
    /// Rank `r` gets the reduction of the vectors of ranks `0..=r`.
    Scan,
    /// Rank `r` gets the reduction of the vectors of ranks `0..r`; rank 0 gets nothing.
    Exscan,
}

impl Collective {
    /// Every collective, in the order in which tables list them.
    pub const ALL: [Collective; 11] = [
        Collective::Barrier,
        Collective::Broadcast,
        Collective::Scatter,
        Collective::Gather,
        Collective::Allgather,
        Collective::Alltoall,
        Collective::ReduceScatter,
        Collective::Reduce,
        Collective::Allreduce,
        Collective::Scan,
        Collective::Exscan,
    ];

    /// The name as typed on the command line.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Collective::Barrier => "barrier",
            Collective::Broadcast => "broadcast",
            Collective::Scatter => "scatter",
            Collective::Gather => "gather",
            Collective::Allgather => "allgather",
            Collective::Alltoall => "alltoall",
            Collective::ReduceScatter => "reduce-scatter",
            Collective::Reduce => "reduce",
            Collective::Allreduce => "allreduce",
            Collective::Scan => "scan",
            Collective::Exscan => "exscan",
        }
    }

    /// The collective that [`Collective::name`] calls `name`.
    #[must_use]
    pub fn from_name(name: &str) -> Option<Collective> {
        Collective::ALL.into_iter().find(|c| c.name() == name)
    }

    /// Whether one rank, the root, has a part of its own.
    #[must_use]
    pub const fn rooted(self) -> bool {
        matches!(
            self,
            Collective::Broadcast | Collective::Scatter | Collective::Gather | Collective::Reduce
        )
    }

    /// Whether an operator combines contributions.
    #[must_use]
    pub const fn reduces(self) -> bool {
        matches!(
            self,
            Collective::ReduceScatter
                | Collective::Reduce
                | Collective::Allreduce
                | Collective::Scan
                | Collective::Exscan
        )
    }

    /// Whether the data is one vector that an algorithm may cut as it likes
    /// (the others come in blocks, one a rank or one a pair of ranks).
    #[must_use]
    pub const fn cuts_freely(self) -> bool {
        matches!(
            self,
            Collective::Broadcast
                | Collective::Reduce
                | Collective::Allreduce
                | Collective::Scan
                | Collective::Exscan
        )
    }
}

impl fmt::Display for Collective {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

/// One piece of the data that a call is about, the same piece on every rank.
///
/// A part of the vector (broadcast, reduce, allreduce, scans), a rank's block (scatter, gather,
/// allgather, reduce-scatter), or for alltoall the pair (source, destination) as
/// `source * ranks + destination`; where blocks are cut in pieces, a piece of one, as `block * pieces + piece`. A [`Layout`](crate::schedule::Layout) gives every unit its size.
pub type Unit = u64;

/// What a block must hold before or after a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Content {
    /// The piece of data.
    pub unit: Unit,
    /// The ranks `start..end` whose contributions are combined in it, in rank order;
    /// `None` where nothing is reduced and the unit itself is the data.
    pub contributions: Option<(u32, u32)>,
}

/// A call of a collective, as every rank of the communicator makes it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Call {
    /// Which collective.
    pub collective: Collective,
    /// The number of ranks, at least 1.
    pub ranks: u32,
    /// The root; 0 where the collective has none.
    pub root: u32,
    /// Whether the operator commutes; `true` where nothing is reduced.
    pub commutative: bool,
    /// Whether input and output share their memory (see [`Call::alias`]).
    pub in_place: bool,
}

/// Where one space lies inside the other when a call is made in place.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Alias {
    /// The spaces are apart on this rank.
    Apart,
    /// Input block `i` is output block `first + i`.
    InputInOutput {
        /// The output block on which input block 0 lies.
        first: u32,
    },
    /// Output block `i` is input block `first + i`.
    OutputInInput {
        /// The input block on which output block 0 lies.
        first: u32,
    },
}

impl Call {
    /// A call with root 0, a commutative operator, input and output apart.
    #[must_use]
    pub const fn new(collective: Collective, ranks: u32) -> Call {
        Call {
            collective,
            ranks,
            root: 0,
            commutative: true,
            in_place: false,
        }
    }

    /// In how many pieces each block is cut where all are cut in `parts`: one, if there are fewer parts than ranks, and where the data is
    /// one vector.
    #[must_use]
    pub fn pieces(&self, parts: u32) -> u32 {
        match self.collective {
            Collective::Scatter
            | Collective::Gather
            | Collective::Allgather
            | Collective::Alltoall
            | Collective::ReduceScatter => (parts / self.ranks.max(1)).max(1),
            Collective::Barrier
            | Collective::Broadcast
            | Collective::Reduce
            | Collective::Allreduce
            | Collective::Scan
            | Collective::Exscan => 1,
        }
    }

    /// The number of input blocks of `rank` when the vector is cut in `parts`, or all blocks are: each piece is a block then.
    #[must_use]
    pub fn input_blocks(&self, rank: u32, parts: u32) -> u32 {
        let pieces = self.pieces(parts);
        match self.collective {
            Collective::Barrier => 0,
            Collective::Broadcast => {
                if rank == self.root {
                    parts
                } else {
                    0
                }
            }
            Collective::Scatter => {
                if rank == self.root {
                    self.ranks * pieces
                } else {
                    0
                }
            }
            Collective::Gather | Collective::Allgather => pieces,
            Collective::Alltoall | Collective::ReduceScatter => self.ranks * pieces,
            Collective::Reduce | Collective::Allreduce | Collective::Scan | Collective::Exscan => {
                parts
            }
        }
    }

    /// The number of output blocks of `rank` when the vector is cut in `parts`, or all blocks are: each piece is a block then.
    #[must_use]
    pub fn output_blocks(&self, rank: u32, parts: u32) -> u32 {
        let pieces = self.pieces(parts);
        match self.collective {
            Collective::Barrier => 0,
            Collective::Broadcast
            | Collective::Allreduce
            | Collective::Scan
            | Collective::Exscan => parts,
            Collective::Scatter | Collective::ReduceScatter => pieces,
            Collective::Gather => {
                if rank == self.root {
                    self.ranks * pieces
                } else {
                    0
                }
            }
            Collective::Allgather | Collective::Alltoall => self.ranks * pieces,
            Collective::Reduce => {
                if rank == self.root {
                    parts
                } else {
                    0
                }
            }
        }
    }

    /// The unit that lies in input block `block` of `rank` when the vector, or all blocks, are cut in `parts`.
    #[must_use]
    pub fn input_unit(&self, rank: u32, block: u32, parts: u32) -> Unit {
        self.piece_of(block, parts, |block| self.whole_input_unit(rank, block))
    }

    /// The unit of a piece of a block, of whose unit the pieces are numbered one after another.
    fn piece_of(&self, block: u32, parts: u32, whole: impl Fn(u32) -> Unit) -> Unit {
        match self.pieces(parts) {
            1 => whole(block),
            pieces => whole(block / pieces) * Unit::from(pieces) + Unit::from(block % pieces),
        }
    }

    fn whole_input_unit(&self, rank: u32, block: u32) -> Unit {
        match self.collective {
            Collective::Gather | Collective::Allgather => Unit::from(rank),
            Collective::Alltoall => Unit::from(rank) * Unit::from(self.ranks) + Unit::from(block),
            Collective::Barrier
            | Collective::Broadcast
            | Collective::Scatter
            | Collective::ReduceScatter
            | Collective::Reduce
            | Collective::Allreduce
            | Collective::Scan
            | Collective::Exscan => Unit::from(block),
        }
    }

    /// The unit that belongs in output block `block` of `rank` when the vector, or all blocks, are cut in `parts`.
    #[must_use]
    pub fn output_unit(&self, rank: u32, block: u32, parts: u32) -> Unit {
        self.piece_of(block, parts, |block| self.whole_output_unit(rank, block))
    }

    fn whole_output_unit(&self, rank: u32, block: u32) -> Unit {
        match self.collective {
            Collective::Scatter | Collective::ReduceScatter => Unit::from(rank),
            Collective::Alltoall => Unit::from(block) * Unit::from(self.ranks) + Unit::from(rank),
            Collective::Barrier
            | Collective::Broadcast
            | Collective::Gather
            | Collective::Allgather
            | Collective::Reduce
            | Collective::Allreduce
            | Collective::Scan
            | Collective::Exscan => Unit::from(block),
        }
    }

    /// The precondition: what input block `block` of `rank` holds.
    #[must_use]
    pub fn before(&self, rank: u32, block: u32, parts: u32) -> Content {
        let contributions = self.collective.reduces().then_some((rank, rank + 1));
        Content {
            unit: self.input_unit(rank, block, parts),
            contributions,
        }
    }

    /// The postcondition: what output block `block` of `rank` must hold, or `None` where it is
    /// undefined (rank 0 of an exscan).
    #[must_use]
    pub fn after(&self, rank: u32, block: u32, parts: u32) -> Option<Content> {
        let contributions = match self.collective {
            Collective::Barrier
            | Collective::Broadcast
            | Collective::Scatter
            | Collective::Gather
            | Collective::Allgather
            | Collective::Alltoall => None,
            Collective::ReduceScatter | Collective::Reduce | Collective::Allreduce => {
                Some((0, self.ranks))
            }
            Collective::Scan => Some((0, rank + 1)),
            Collective::Exscan if rank == 0 => return None,
            Collective::Exscan => Some((0, rank)),
        };
        Some(Content {
            unit: self.output_unit(rank, block, parts),
            contributions,
        })
    }

    /// How input and output of `rank` share memory when the vector, or all blocks, are cut in `parts`.
    ///
    /// In place, the smaller space lies inside the larger one at the rank's own block; for
    /// reduce-scatter the result therefore lands in the rank's own block of the vector.
    #[must_use]
    pub fn alias(&self, rank: u32, parts: u32) -> Alias {
        if !self.in_place {
            return Alias::Apart;
        }
        let own = rank * self.pieces(parts);
        match self.collective {
            Collective::Barrier => Alias::Apart,
            Collective::Broadcast | Collective::Reduce if rank != self.root => Alias::Apart,
            Collective::Broadcast
            | Collective::Reduce
            | Collective::Allreduce
            | Collective::Scan
            | Collective::Exscan
            | Collective::Alltoall => Alias::InputInOutput { first: 0 },
            Collective::Gather | Collective::Scatter if rank != self.root => Alias::Apart,
            Collective::Gather | Collective::Allgather => Alias::InputInOutput { first: own },
            Collective::Scatter | Collective::ReduceScatter => Alias::OutputInInput { first: own },
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_round_trip() {
        for collective in Collective::ALL {
            assert_eq!(Collective::from_name(collective.name()), Some(collective));
        }
        assert_eq!(Collective::from_name("bcast"), None);
    }

    #[test]
    fn aliased_blocks_hold_the_same_unit() {
        let cut = |collective| [4, 5, 15].map(|parts| (collective, parts));
        for (collective, parts) in Collective::ALL.into_iter().flat_map(cut) {
            let call = Call {
                in_place: true,
                root: 2,
                ..Call::new(collective, 5)
            };
            for rank in 0..5 {
                let input = |block| call.input_unit(rank, block, parts);
                let output = |block| call.output_unit(rank, block, parts);
                match call.alias(rank, parts) {
                    Alias::Apart => {}
                    Alias::InputInOutput { first } => {
                        for block in 0..call.input_blocks(rank, parts) {
                            let same = input(block) == output(first + block);
                            assert!(same || collective == Collective::Alltoall);
                        }
                    }
                    Alias::OutputInInput { first } => {
                        for block in 0..call.output_blocks(rank, parts) {
                            assert_eq!(output(block), input(first + block));
                        }
                    }
                }
            }
        }
    }

    #[test]
    fn pieces_of_blocks_are_numbered_block_by_block() {
        let call = Call::new(Collective::Allgather, 3);
        assert_eq!([1, 3, 6].map(|parts| call.pieces(parts)), [1, 1, 2]);
        let inputs: std::vec::Vec<Unit> = (0..2).map(|b| call.input_unit(1, b, 6)).collect();
        assert_eq!((call.input_blocks(1, 6), &inputs[..]), (2, &[2, 3][..]));
        let outputs: std::vec::Vec<Unit> = (0..6).map(|b| call.output_unit(1, b, 6)).collect();
        assert_eq!(outputs, [0, 1, 2, 3, 4, 5]);
        // A pair has its pieces, too: from rank 2 to rank 0.
        let call = Call::new(Collective::Alltoall, 3);
        assert_eq!([0, 1].map(|b| call.input_unit(2, b, 6)), [12, 13]);
        assert_eq!([4, 5].map(|b| call.output_unit(0, b, 6)), [12, 13]);
    }
}
