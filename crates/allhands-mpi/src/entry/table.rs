//! The table of calls that are taken over, from which the entry points of every language are made.

/// Hands the table to a macro.
///
/// A row is the blocking call, the nonblocking one, the arguments of both and their kinds, the communicator last (a nonblocking call
/// has a request besides), and who serves them. Of each of the two calls there are the C name and the native function; the same with
/// large counts, if there is such a call; and the Fortran names, which are those that compilers make of `MPI_X`, and last the one
/// by which Open MPI's module `mpi_f08` calls its mpif.h binding.
macro_rules! table {
    ($then:ident) => { $then! {
        Barrier: MPI_Barrier barrier [] [mpi_barrier mpi_barrier_ mpi_barrier__ MPI_BARRIER ompi_barrier_f],
        Ibarrier: MPI_Ibarrier ibarrier [] [mpi_ibarrier mpi_ibarrier_ mpi_ibarrier__ MPI_IBARRIER ompi_ibarrier_f],
            (comm: comm)
            => |here| collective::barrier(here);
        Bcast: MPI_Bcast bcast [MPI_Bcast_c bcast_c] [mpi_bcast mpi_bcast_ mpi_bcast__ MPI_BCAST ompi_bcast_f],
        Ibcast: MPI_Ibcast ibcast [MPI_Ibcast_c ibcast_c] [mpi_ibcast mpi_ibcast_ mpi_ibcast__ MPI_IBCAST ompi_ibcast_f],
            (buffer: receive, count: count, datatype: datatype, root: rank, comm: comm)
            => |here| collective::broadcast(here, given(buffer, count, datatype), root);
        Gather: MPI_Gather gather [MPI_Gather_c gather_c] [mpi_gather mpi_gather_ mpi_gather__ MPI_GATHER ompi_gather_f],
        Igather: MPI_Igather igather [MPI_Igather_c igather_c]
            [mpi_igather mpi_igather_ mpi_igather__ MPI_IGATHER ompi_igather_f],
            (from: send, sent: count, sent_type: datatype, to: receive, received: count, received_type: datatype,
             root: rank, comm: comm)
            => |here| collective::gather(
                here, given(from, sent, sent_type), given(to, received, received_type), root);
        Gatherv: MPI_Gatherv gatherv [MPI_Gatherv_c gatherv_c]
            [mpi_gatherv mpi_gatherv_ mpi_gatherv__ MPI_GATHERV ompi_gatherv_f],
        Igatherv: MPI_Igatherv igatherv [MPI_Igatherv_c igatherv_c]
            [mpi_igatherv mpi_igatherv_ mpi_igatherv__ MPI_IGATHERV ompi_igatherv_f],
            (from: send, sent: count, sent_type: datatype, to: receive, counts: list, places: list,
             received_type: datatype, root: rank, comm: comm)
            => |here| collective::gatherv(
                here, given(from, sent, sent_type), lists(to, counts, places, Types::One(received_type)), root);
        Scatter: MPI_Scatter scatter [MPI_Scatter_c scatter_c]
            [mpi_scatter mpi_scatter_ mpi_scatter__ MPI_SCATTER ompi_scatter_f],
        Iscatter: MPI_Iscatter iscatter [MPI_Iscatter_c iscatter_c]
            [mpi_iscatter mpi_iscatter_ mpi_iscatter__ MPI_ISCATTER ompi_iscatter_f],
            (from: send, sent: count, sent_type: datatype, to: receive, received: count, received_type: datatype,
             root: rank, comm: comm)
            => |here| collective::scatter(
                here, given(from, sent, sent_type), given(to, received, received_type), root);
        Scatterv: MPI_Scatterv scatterv [MPI_Scatterv_c scatterv_c]
            [mpi_scatterv mpi_scatterv_ mpi_scatterv__ MPI_SCATTERV ompi_scatterv_f],
        Iscatterv: MPI_Iscatterv iscatterv [MPI_Iscatterv_c iscatterv_c]
            [mpi_iscatterv mpi_iscatterv_ mpi_iscatterv__ MPI_ISCATTERV ompi_iscatterv_f],
            (from: send, counts: list, places: list, sent_type: datatype, to: receive, received: count,
             received_type: datatype, root: rank, comm: comm)
            => |here| collective::scatterv(
                here, lists(from, counts, places, Types::One(sent_type)), given(to, received, received_type), root);
        Allgather: MPI_Allgather allgather [MPI_Allgather_c allgather_c]
            [mpi_allgather mpi_allgather_ mpi_allgather__ MPI_ALLGATHER ompi_allgather_f],
        Iallgather: MPI_Iallgather iallgather [MPI_Iallgather_c iallgather_c]
            [mpi_iallgather mpi_iallgather_ mpi_iallgather__ MPI_IALLGATHER ompi_iallgather_f],
            (from: send, sent: count, sent_type: datatype, to: receive, received: count, received_type: datatype,
             comm: comm)
            => |here| collective::allgather(
                here, given(from, sent, sent_type), given(to, received, received_type));
        Allgatherv: MPI_Allgatherv allgatherv [MPI_Allgatherv_c allgatherv_c]
            [mpi_allgatherv mpi_allgatherv_ mpi_allgatherv__ MPI_ALLGATHERV ompi_allgatherv_f],
        Iallgatherv: MPI_Iallgatherv iallgatherv [MPI_Iallgatherv_c iallgatherv_c]
            [mpi_iallgatherv mpi_iallgatherv_ mpi_iallgatherv__ MPI_IALLGATHERV ompi_iallgatherv_f],
            (from: send, sent: count, sent_type: datatype, to: receive, counts: list, places: list,
             received_type: datatype, comm: comm)
            => |here| collective::allgatherv(
                here, given(from, sent, sent_type), lists(to, counts, places, Types::One(received_type)));
        Alltoall: MPI_Alltoall alltoall [MPI_Alltoall_c alltoall_c]
            [mpi_alltoall mpi_alltoall_ mpi_alltoall__ MPI_ALLTOALL ompi_alltoall_f],
        Ialltoall: MPI_Ialltoall ialltoall [MPI_Ialltoall_c ialltoall_c]
            [mpi_ialltoall mpi_ialltoall_ mpi_ialltoall__ MPI_IALLTOALL ompi_ialltoall_f],
            (from: send, sent: count, sent_type: datatype, to: receive, received: count, received_type: datatype,
             comm: comm)
            => |here| collective::alltoall(
                here, given(from, sent, sent_type), given(to, received, received_type));
        Alltoallv: MPI_Alltoallv alltoallv [MPI_Alltoallv_c alltoallv_c]
            [mpi_alltoallv mpi_alltoallv_ mpi_alltoallv__ MPI_ALLTOALLV ompi_alltoallv_f],
        Ialltoallv: MPI_Ialltoallv ialltoallv [MPI_Ialltoallv_c ialltoallv_c]
            [mpi_ialltoallv mpi_ialltoallv_ mpi_ialltoallv__ MPI_IALLTOALLV ompi_ialltoallv_f],
            (from: send, sent: list, sent_places: list, sent_type: datatype, to: receive, received: list,
             received_places: list, received_type: datatype, comm: comm)
            => |here| collective::alltoallv(
                here,
                lists(from, sent, sent_places, Types::One(sent_type)),
                lists(to, received, received_places, Types::One(received_type)));
        Alltoallw: MPI_Alltoallw alltoallw [MPI_Alltoallw_c alltoallw_c]
            [mpi_alltoallw mpi_alltoallw_ mpi_alltoallw__ MPI_ALLTOALLW ompi_alltoallw_f],
        Ialltoallw: MPI_Ialltoallw ialltoallw [MPI_Ialltoallw_c ialltoallw_c]
            [mpi_ialltoallw mpi_ialltoallw_ mpi_ialltoallw__ MPI_IALLTOALLW ompi_ialltoallw_f],
            (from: send, sent: list, sent_places: list, sent_types: types, to: receive, received: list,
             received_places: list, received_types: types, comm: comm)
            => |here| collective::alltoallv(
                here,
                lists(from, sent, sent_places, Types::Each(sent_types)),
                lists(to, received, received_places, Types::Each(received_types)));
        Reduce: MPI_Reduce reduce [MPI_Reduce_c reduce_c] [mpi_reduce mpi_reduce_ mpi_reduce__ MPI_REDUCE ompi_reduce_f],
        Ireduce: MPI_Ireduce ireduce [MPI_Ireduce_c ireduce_c]
            [mpi_ireduce mpi_ireduce_ mpi_ireduce__ MPI_IREDUCE ompi_ireduce_f],
            (from: send, to: receive, count: count, datatype: datatype, op: op, root: rank, comm: comm)
            => |here| collective::reduce(here, from, given(to, count, datatype), op, root);
        Allreduce: MPI_Allreduce allreduce [MPI_Allreduce_c allreduce_c]
            [mpi_allreduce mpi_allreduce_ mpi_allreduce__ MPI_ALLREDUCE ompi_allreduce_f],
        Iallreduce: MPI_Iallreduce iallreduce [MPI_Iallreduce_c iallreduce_c]
            [mpi_iallreduce mpi_iallreduce_ mpi_iallreduce__ MPI_IALLREDUCE ompi_iallreduce_f],
            (from: send, to: receive, count: count, datatype: datatype, op: op, comm: comm)
            => |here| collective::allreduce(here, from, given(to, count, datatype), op);
        ReduceScatter: MPI_Reduce_scatter reduce_scatter [MPI_Reduce_scatter_c reduce_scatter_c]
            [mpi_reduce_scatter mpi_reduce_scatter_ mpi_reduce_scatter__ MPI_REDUCE_SCATTER ompi_reduce_scatter_f],
        IreduceScatter: MPI_Ireduce_scatter ireduce_scatter [MPI_Ireduce_scatter_c ireduce_scatter_c]
            [mpi_ireduce_scatter mpi_ireduce_scatter_ mpi_ireduce_scatter__ MPI_IREDUCE_SCATTER ompi_ireduce_scatter_f],
            (from: send, to: receive, counts: list, datatype: datatype, op: op, comm: comm)
            => |here| collective::reduce_scatter(here, from, (to, counts), datatype, op);
        ReduceScatterBlock: MPI_Reduce_scatter_block reduce_scatter_block [MPI_Reduce_scatter_block_c reduce_scatter_block_c]
            [mpi_reduce_scatter_block mpi_reduce_scatter_block_ mpi_reduce_scatter_block__ MPI_REDUCE_SCATTER_BLOCK
             ompi_reduce_scatter_block_f],
        IreduceScatterBlock: MPI_Ireduce_scatter_block ireduce_scatter_block [MPI_Ireduce_scatter_block_c ireduce_scatter_block_c]
            [mpi_ireduce_scatter_block mpi_ireduce_scatter_block_ mpi_ireduce_scatter_block__ MPI_IREDUCE_SCATTER_BLOCK
             ompi_ireduce_scatter_block_f],
            (from: send, to: receive, count: count, datatype: datatype, op: op, comm: comm)
            => |here| collective::reduce_scatter_block(here, from, given(to, count, datatype), op);
        Scan: MPI_Scan scan [MPI_Scan_c scan_c] [mpi_scan mpi_scan_ mpi_scan__ MPI_SCAN ompi_scan_f],
        Iscan: MPI_Iscan iscan [MPI_Iscan_c iscan_c] [mpi_iscan mpi_iscan_ mpi_iscan__ MPI_ISCAN ompi_iscan_f],
            (from: send, to: receive, count: count, datatype: datatype, op: op, comm: comm)
            => |here| collective::scan(here, from, given(to, count, datatype), op);
        Exscan: MPI_Exscan exscan [MPI_Exscan_c exscan_c] [mpi_exscan mpi_exscan_ mpi_exscan__ MPI_EXSCAN ompi_exscan_f],
        Iexscan: MPI_Iexscan iexscan [MPI_Iexscan_c iexscan_c]
            [mpi_iexscan mpi_iexscan_ mpi_iexscan__ MPI_IEXSCAN ompi_iexscan_f],
            (from: send, to: receive, count: count, datatype: datatype, op: op, comm: comm)
            => |here| collective::exscan(here, from, given(to, count, datatype), op);
    } };
}
pub(super) use table;
