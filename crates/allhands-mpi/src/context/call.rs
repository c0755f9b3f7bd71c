//! The calls that are taken over, and the reasons for which one may pass through, with their names.

use allhands::interposition::Refused;
use allhands_core::call::Collective;

/// Declares the calls and the reasons with their names.
macro_rules! named {
    ($(#[$doc:meta])* $kind:ident { $($(#[$variant_doc:meta])* $variant:ident $name:literal,)* }) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub(crate) enum $kind { $($(#[$variant_doc])* $variant,)* }

        impl $kind {
            pub(crate) const ALL: [$kind; [$($name),*].len()] = [$($kind::$variant),*];

            /// The name in reports.
            pub(crate) fn name(self) -> &'static str {
                match self { $($kind::$variant => $name,)* }
            }
        }
    };
}

named! {
    /// A call that can be taken over, whether its counts are of the small or the large kind.
    Call {
        Barrier "MPI_Barrier",
        Bcast "MPI_Bcast",
        Gather "MPI_Gather",
        Gatherv "MPI_Gatherv",
        Scatter "MPI_Scatter",
        Scatterv "MPI_Scatterv",
        Allgather "MPI_Allgather",
        Allgatherv "MPI_Allgatherv",
        Alltoall "MPI_Alltoall",
        Alltoallv "MPI_Alltoallv",
        Alltoallw "MPI_Alltoallw",
        Reduce "MPI_Reduce",
        Allreduce "MPI_Allreduce",
        ReduceScatter "MPI_Reduce_scatter",
        ReduceScatterBlock "MPI_Reduce_scatter_block",
        Scan "MPI_Scan",
        Exscan "MPI_Exscan",
        Ibarrier "MPI_Ibarrier",
        Ibcast "MPI_Ibcast",
        Igather "MPI_Igather",
        Igatherv "MPI_Igatherv",
        Iscatter "MPI_Iscatter",
        Iscatterv "MPI_Iscatterv",
        Iallgather "MPI_Iallgather",
        Iallgatherv "MPI_Iallgatherv",
        Ialltoall "MPI_Ialltoall",
        Ialltoallv "MPI_Ialltoallv",
        Ialltoallw "MPI_Ialltoallw",
        Ireduce "MPI_Ireduce",
        Iallreduce "MPI_Iallreduce",
        IreduceScatter "MPI_Ireduce_scatter",
        IreduceScatterBlock "MPI_Ireduce_scatter_block",
        Iscan "MPI_Iscan",
        Iexscan "MPI_Iexscan",
    }
}

impl Call {
    /// How many of them block; they come first.
    pub(crate) const BLOCKING: usize = Call::Ibarrier as usize;

    /// The blocking call that does the same.
    pub(crate) fn blocking(self) -> Call {
        Call::ALL[self as usize % Call::BLOCKING]
    }

    /// The collective that it is.
    pub(crate) fn collective(self) -> Collective {
        match self {
            Call::Barrier | Call::Ibarrier => Collective::Barrier,
            Call::Bcast | Call::Ibcast => Collective::Broadcast,
            Call::Gather | Call::Gatherv | Call::Igather | Call::Igatherv => Collective::Gather,
            Call::Scatter | Call::Scatterv | Call::Iscatter | Call::Iscatterv => {
                Collective::Scatter
            }
            Call::Allgather | Call::Allgatherv | Call::Iallgather | Call::Iallgatherv => {
                Collective::Allgather
            }
            Call::Alltoall
            | Call::Alltoallv
            | Call::Alltoallw
            | Call::Ialltoall
            | Call::Ialltoallv
            | Call::Ialltoallw => Collective::Alltoall,
            Call::Reduce | Call::Ireduce => Collective::Reduce,
            Call::Allreduce | Call::Iallreduce => Collective::Allreduce,
            Call::ReduceScatter
            | Call::ReduceScatterBlock
            | Call::IreduceScatter
            | Call::IreduceScatterBlock => Collective::ReduceScatter,
            Call::Scan | Call::Iscan => Collective::Scan,
            Call::Exscan | Call::Iexscan => Collective::Exscan,
        }
    }

    /// What is noted where it is refused.
    pub(crate) fn refused(self) -> Refused {
        let irregular = matches!(
            self.blocking(),
            Call::Gatherv | Call::Scatterv | Call::Alltoallv | Call::Alltoallw
        );
        Refused {
            collective: self.collective(),
            irregular,
        }
    }

    /// The variable of the environment that speaks of this call.
    pub(crate) fn variable(self) -> String {
        self.name().replace("MPI_", "ALLHANDS_").to_uppercase()
    }
}

named! {
    /// Why a call passes through. All but the last two are the same on every rank of a communicator.
    Reason {
        /// The environment says so.
        Off "off",
        /// The communicator has one rank.
        OneRank "one rank",
        /// Ranks are of several worlds.
        SeveralWorlds "several worlds",
        /// Ranks are on several nodes, and the MPI's messages do not serve between them.
        NoNetwork "no network",
        /// So many communicators have tags of their own that there are none left.
        NoTags "no free tags",
        /// The ranks of a node do not share memory.
        NoNode "no shared memory",
        Intercommunicator "intercommunicator",
        /// Neither we nor the native MPI combine this type with this operator, or elements have no bytes.
        NoKernel "type and operator do not fit",
        /// The algorithm that was asked for does not serve this call.
        NoAlgorithm "the algorithm does not serve this call",
        /// A nonblocking call where the MPI does not call us when it makes progress.
        NoHook "no progress hook",
        /// A nonblocking call of ranks that are on several nodes.
        SeveralNodes "several nodes",
        /// A nonblocking call where no blocking one was made before, in which ranks could have agreed.
        NotAgreed "no blocking call before",
        /// A persistent collective, counted where it is made.
        Persistent "persistent",
        /// A call among neighbours of a topology.
        Neighbours "neighbourhood",
        /// A nonblocking call where results are to be verified.
        Verified "results are verified",
        /// A nonblocking call that the MPI would have to combine for, with handles that may be freed meanwhile.
        Combined "the MPI combines",
        /// The arguments are wrong, and the native MPI says how.
        Arguments "arguments",
        /// The MPI calls itself while we serve a call, or nothing is known of it.
        Inside "inside of MPI",
    }
}

named! {
    /// A call of which none is taken over, and that is only counted.
    Through {
        BarrierInit "MPI_Barrier_init",
        BcastInit "MPI_Bcast_init",
        GatherInit "MPI_Gather_init",
        GathervInit "MPI_Gatherv_init",
        ScatterInit "MPI_Scatter_init",
        ScattervInit "MPI_Scatterv_init",
        AllgatherInit "MPI_Allgather_init",
        AllgathervInit "MPI_Allgatherv_init",
        AlltoallInit "MPI_Alltoall_init",
        AlltoallvInit "MPI_Alltoallv_init",
        AlltoallwInit "MPI_Alltoallw_init",
        ReduceInit "MPI_Reduce_init",
        AllreduceInit "MPI_Allreduce_init",
        ReduceScatterInit "MPI_Reduce_scatter_init",
        ReduceScatterBlockInit "MPI_Reduce_scatter_block_init",
        ScanInit "MPI_Scan_init",
        ExscanInit "MPI_Exscan_init",
        NeighborAllgather "MPI_Neighbor_allgather",
        IneighborAllgather "MPI_Ineighbor_allgather",
        NeighborAllgatherInit "MPI_Neighbor_allgather_init",
        NeighborAllgatherv "MPI_Neighbor_allgatherv",
        IneighborAllgatherv "MPI_Ineighbor_allgatherv",
        NeighborAllgathervInit "MPI_Neighbor_allgatherv_init",
        NeighborAlltoall "MPI_Neighbor_alltoall",
        IneighborAlltoall "MPI_Ineighbor_alltoall",
        NeighborAlltoallInit "MPI_Neighbor_alltoall_init",
        NeighborAlltoallv "MPI_Neighbor_alltoallv",
        IneighborAlltoallv "MPI_Ineighbor_alltoallv",
        NeighborAlltoallvInit "MPI_Neighbor_alltoallv_init",
        NeighborAlltoallw "MPI_Neighbor_alltoallw",
        IneighborAlltoallw "MPI_Ineighbor_alltoallw",
        NeighborAlltoallwInit "MPI_Neighbor_alltoallw_init",
    }
}

impl Through {
    /// Why it passes through.
    pub(crate) fn reason(self) -> Reason {
        match self {
            Through::BarrierInit
            | Through::BcastInit
            | Through::GatherInit
            | Through::GathervInit
            | Through::ScatterInit
            | Through::ScattervInit
            | Through::AllgatherInit
            | Through::AllgathervInit
            | Through::AlltoallInit
            | Through::AlltoallvInit
            | Through::AlltoallwInit
            | Through::ReduceInit
            | Through::AllreduceInit
            | Through::ReduceScatterInit
            | Through::ReduceScatterBlockInit
            | Through::ScanInit
            | Through::ExscanInit => Reason::Persistent,
            Through::NeighborAllgather
            | Through::IneighborAllgather
            | Through::NeighborAllgatherInit
            | Through::NeighborAllgatherv
            | Through::IneighborAllgatherv
            | Through::NeighborAllgathervInit
            | Through::NeighborAlltoall
            | Through::IneighborAlltoall
            | Through::NeighborAlltoallInit
            | Through::NeighborAlltoallv
            | Through::IneighborAlltoallv
            | Through::NeighborAlltoallvInit
            | Through::NeighborAlltoallw
            | Through::IneighborAlltoallw
            | Through::NeighborAlltoallwInit => Reason::Neighbours,
        }
    }
}
