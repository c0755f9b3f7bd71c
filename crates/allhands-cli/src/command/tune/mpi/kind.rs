//! The collectives of MPI that are tuned, and how large their buffers are.

use allhands_core::call::Collective;
use serde::{Deserialize, Serialize};

/// A blocking collective of MPI.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Kind {
    Barrier,
    Bcast,
    Scatter,
    Gather,
    Allgather,
    Alltoall,
    ReduceScatter,
    ReduceScatterBlock,
    Reduce,
    Allreduce,
    Scan,
    Exscan,
}

impl Kind {
    /// All of them, in the order in which they are measured.
    pub const ALL: [Kind; 12] = [
        Kind::Barrier,
        Kind::Bcast,
        Kind::Scatter,
        Kind::Gather,
        Kind::Allgather,
        Kind::Alltoall,
        Kind::ReduceScatter,
        Kind::ReduceScatterBlock,
        Kind::Reduce,
        Kind::Allreduce,
        Kind::Scan,
        Kind::Exscan,
    ];

    /// MPI's name in small letters, without the prefix.
    pub fn name(self) -> &'static str {
        match self {
            Kind::Barrier => "barrier",
            Kind::Bcast => "bcast",
            Kind::Scatter => "scatter",
            Kind::Gather => "gather",
            Kind::Allgather => "allgather",
            Kind::Alltoall => "alltoall",
            Kind::ReduceScatter => "reduce_scatter",
            Kind::ReduceScatterBlock => "reduce_scatter_block",
            Kind::Reduce => "reduce",
            Kind::Allreduce => "allreduce",
            Kind::Scan => "scan",
            Kind::Exscan => "exscan",
        }
    }

    /// The one of a name.
    pub fn from_name(name: &str) -> Option<Kind> {
        Kind::ALL.into_iter().find(|kind| kind.name() == name)
    }

    /// Those that a collective of ours stands for.
    pub fn of(collective: Collective) -> &'static [Kind] {
        match collective {
            Collective::Barrier => &[Kind::Barrier],
            Collective::Broadcast => &[Kind::Bcast],
            Collective::Scatter => &[Kind::Scatter],
            Collective::Gather => &[Kind::Gather],
            Collective::Allgather => &[Kind::Allgather],
            Collective::Alltoall => &[Kind::Alltoall],
            Collective::ReduceScatter => &[Kind::ReduceScatter, Kind::ReduceScatterBlock],
            Collective::Reduce => &[Kind::Reduce],
            Collective::Allreduce => &[Kind::Allreduce],
            Collective::Scan => &[Kind::Scan],
            Collective::Exscan => &[Kind::Exscan],
        }
    }

    /// Whether its vector is made of a block for each rank.
    pub fn has_blocks(self) -> bool {
        match self {
            Kind::Scatter
            | Kind::Gather
            | Kind::Allgather
            | Kind::Alltoall
            | Kind::ReduceScatter
            | Kind::ReduceScatterBlock => true,
            Kind::Barrier
            | Kind::Bcast
            | Kind::Reduce
            | Kind::Allreduce
            | Kind::Scan
            | Kind::Exscan => false,
        }
    }

    /// Elements of 8 bytes in a block, or in the whole vector where there are no blocks, for a vector of so many bytes; a block has one
    /// at least.
    pub fn elements(self, bytes: u64, ranks: usize) -> usize {
        let elements = (bytes / 8) as usize;
        match self {
            Kind::Barrier => 0,
            _ if self.has_blocks() => (elements / ranks).max(1),
            _ => elements.max(1),
        }
    }

    /// The bytes of the whole vector that [`Kind::elements`] come to.
    pub fn vector_bytes(self, bytes: u64, ranks: usize) -> u64 {
        let blocks = if self.has_blocks() { ranks as u64 } else { 1 };
        8 * self.elements(bytes, ranks) as u64 * blocks
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_size_is_that_of_the_whole_vector() {
        assert_eq!(Kind::Allreduce.elements(4096, 13), 512);
        assert_eq!(Kind::Alltoall.elements(4096, 8), 64);
        assert_eq!(Kind::Gather.elements(8, 13), 1);
        assert_eq!(Kind::Gather.vector_bytes(8, 13), 104);
        assert_eq!(Kind::Barrier.vector_bytes(8, 13), 0);
        for kind in Kind::ALL {
            assert_eq!(Kind::from_name(kind.name()), Some(kind));
        }
    }
}
