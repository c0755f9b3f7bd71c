//! The table of calls that are taken over, from which the entry points of every language are made.

/// Hands the table to a macro.
///
/// A row is the call; its C name and the native function; the same with large counts, if there is such a call; the Fortran
/// names; the arguments and their kinds, the communicator last; and who serves it. Fortran names are those that compilers make
/// of `MPI_X`, and last the one by which Open MPI's module `mpi_f08` calls its mpif.h binding.
macro_rules! table {
    ($then:ident) => { $then! {
        Barrier: MPI_Barrier barrier [] [mpi_barrier mpi_barrier_ mpi_barrier__ MPI_BARRIER ompi_barrier_f]
            (comm: comm)
            => |here| collective::barrier(here);
        Bcast: MPI_Bcast bcast [MPI_Bcast_c bcast_c] [mpi_bcast mpi_bcast_ mpi_bcast__ MPI_BCAST ompi_bcast_f]
            (buffer: receive, count: count, datatype: datatype, root: rank, comm: comm)
            => |here| collective::broadcast(here, given(buffer, count, datatype), root);
        Gather: MPI_Gather gather [MPI_Gather_c gather_c] [mpi_gather mpi_gather_ mpi_gather__ MPI_GATHER ompi_gather_f]
            (from: send, sent: count, sent_type: datatype, to: receive, received: count, received_type: datatype,
             root: rank, comm: comm)
            => |here| collective::gather(
                here, given(from, sent, sent_type), given(to, received, received_type), root);
        Gatherv: MPI_Gatherv gatherv [MPI_Gatherv_c gatherv_c]
            [mpi_gatherv mpi_gatherv_ mpi_gatherv__ MPI_GATHERV ompi_gatherv_f]
            (from: send, sent: count, sent_type: datatype, to: receive, counts: list, places: list,
             received_type: datatype, root: rank, comm: comm)
            => |here| collective::gatherv(
                here, given(from, sent, sent_type), lists(to, counts, places, Types::One(received_type)), root);
        Scatter: MPI_Scatter scatter [MPI_Scatter_c scatter_c]
            [mpi_scatter mpi_scatter_ mpi_scatter__ MPI_SCATTER ompi_scatter_f]
            (from: send, sent: count, sent_type: datatype, to: receive, received: count, received_type: datatype,
             root: rank, comm: comm)
            => |here| collective::scatter(
                here, given(from, sent, sent_type), given(to, received, received_type), root);
        Scatterv: MPI_Scatterv scatterv [MPI_Scatterv_c scatterv_c]
            [mpi_scatterv mpi_scatterv_ mpi_scatterv__ MPI_SCATTERV ompi_scatterv_f]
            (from: send, counts: list, places: list, sent_type: datatype, to: receive, received: count,
             received_type: datatype, root: rank, comm: comm)
            => |here| collective::scatterv(
                here, lists(from, counts, places, Types::One(sent_type)), given(to, received, received_type), root);
        Allgather: MPI_Allgather allgather [MPI_Allgather_c allgather_c]
            [mpi_allgather mpi_allgather_ mpi_allgather__ MPI_ALLGATHER ompi_allgather_f]
            (from: send, sent: count, sent_type: datatype, to: receive, received: count, received_type: datatype,
             comm: comm)
            => |here| collective::allgather(
                here, given(from, sent, sent_type), given(to, received, received_type));
        Allgatherv: MPI_Allgatherv allgatherv [MPI_Allgatherv_c allgatherv_c]
            [mpi_allgatherv mpi_allgatherv_ mpi_allgatherv__ MPI_ALLGATHERV ompi_allgatherv_f]
            (from: send, sent: count, sent_type: datatype, to: receive, counts: list, places: list,
             received_type: datatype, comm: comm)
            => |here| collective::allgatherv(
                here, given(from, sent, sent_type), lists(to, counts, places, Types::One(received_type)));
        Alltoall: MPI_Alltoall alltoall [MPI_Alltoall_c alltoall_c]
            [mpi_alltoall mpi_alltoall_ mpi_alltoall__ MPI_ALLTOALL ompi_alltoall_f]
            (from: send, sent: count, sent_type: datatype, to: receive, received: count, received_type: datatype,
             comm: comm)
            => |here| collective::alltoall(
                here, given(from, sent, sent_type), given(to, received, received_type));
        Alltoallv: MPI_Alltoallv alltoallv [MPI_Alltoallv_c alltoallv_c]
            [mpi_alltoallv mpi_alltoallv_ mpi_alltoallv__ MPI_ALLTOALLV ompi_alltoallv_f]
            (from: send, sent: list, sent_places: list, sent_type: datatype, to: receive, received: list,
             received_places: list, received_type: datatype, comm: comm)
            => |here| collective::alltoallv(
                here,
                lists(from, sent, sent_places, Types::One(sent_type)),
                lists(to, received, received_places, Types::One(received_type)));
        Alltoallw: MPI_Alltoallw alltoallw [MPI_Alltoallw_c alltoallw_c]
            [mpi_alltoallw mpi_alltoallw_ mpi_alltoallw__ MPI_ALLTOALLW ompi_alltoallw_f]
            (from: send, sent: list, sent_places: list, sent_types: types, to: receive, received: list,
             received_places: list, received_types: types, comm: comm)
            => |here| collective::alltoallv(
                here,
                lists(from, sent, sent_places, Types::Each(sent_types)),
                lists(to, received, received_places, Types::Each(received_types)));
        Reduce: MPI_Reduce reduce [MPI_Reduce_c reduce_c]
            [mpi_reduce mpi_reduce_ mpi_reduce__ MPI_REDUCE ompi_reduce_f]
            (from: send, to: receive, count: count, datatype: datatype, op: op, root: rank, comm: comm)
            => |here| collective::reduce(here, from, given(to, count, datatype), op, root);
        Allreduce: MPI_Allreduce allreduce [MPI_Allreduce_c allreduce_c]
            [mpi_allreduce mpi_allreduce_ mpi_allreduce__ MPI_ALLREDUCE ompi_allreduce_f]
            (from: send, to: receive, count: count, datatype: datatype, op: op, comm: comm)
            => |here| collective::allreduce(here, from, given(to, count, datatype), op);
        ReduceScatter: MPI_Reduce_scatter reduce_scatter [MPI_Reduce_scatter_c reduce_scatter_c]
            [mpi_reduce_scatter mpi_reduce_scatter_ mpi_reduce_scatter__ MPI_REDUCE_SCATTER ompi_reduce_scatter_f]
            (from: send, to: receive, counts: list, datatype: datatype, op: op, comm: comm)
            => |here| collective::reduce_scatter(here, from, (to, counts), datatype, op);
        ReduceScatterBlock: MPI_Reduce_scatter_block reduce_scatter_block
            [MPI_Reduce_scatter_block_c reduce_scatter_block_c]
            [mpi_reduce_scatter_block mpi_reduce_scatter_block_ mpi_reduce_scatter_block__ MPI_REDUCE_SCATTER_BLOCK
             ompi_reduce_scatter_block_f]
            (from: send, to: receive, count: count, datatype: datatype, op: op, comm: comm)
            => |here| collective::reduce_scatter_block(here, from, given(to, count, datatype), op);
        Scan: MPI_Scan scan [MPI_Scan_c scan_c] [mpi_scan mpi_scan_ mpi_scan__ MPI_SCAN ompi_scan_f]
            (from: send, to: receive, count: count, datatype: datatype, op: op, comm: comm)
            => |here| collective::scan(here, from, given(to, count, datatype), op);
        Exscan: MPI_Exscan exscan [MPI_Exscan_c exscan_c] [mpi_exscan mpi_exscan_ mpi_exscan__ MPI_EXSCAN ompi_exscan_f]
            (from: send, to: receive, count: count, datatype: datatype, op: op, comm: comm)
            => |here| collective::exscan(here, from, given(to, count, datatype), op);
    } };
}
pub(super) use table;
