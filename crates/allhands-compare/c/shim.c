/* The shim of `compare-worker` on an MPI: a shared object that starts that MPI, ends it, and makes one call, given plain
 * numbers. Compiled by the MPI's own mpicc, as handles and constants are whatever its headers say; all else of the worker
 * is in src/bin/compare-worker, once for all libraries. What a function gives is MPI's error code: 0 is success.
 */
#include <mpi.h>
#include <stddef.h>
#include <stdint.h>

/* In the order of COLLECTIVES in src/cell.rs. */
enum collective { BARRIER, BROADCAST, SCATTER, GATHER, ALLGATHER, ALLTOALL, REDUCE_SCATTER, REDUCE, ALLREDUCE, SCAN, EXSCAN };

int compare_start(int *rank, int *ranks)
{
    int status = MPI_Init(NULL, NULL);
    if (status == MPI_SUCCESS)
        status = MPI_Comm_rank(MPI_COMM_WORLD, rank);
    if (status == MPI_SUCCESS)
        status = MPI_Comm_size(MPI_COMM_WORLD, ranks);
    return status;
}

int compare_end(void)
{
    return MPI_Finalize();
}

/* A call on `n` elements a block or in the whole vector; for reduce-scatter a block, if `counts` is null. */
int compare_call(int collective, int n, const int *counts, const uint64_t *in, uint64_t *out)
{
    const MPI_Comm comm = MPI_COMM_WORLD;
    const MPI_Datatype u64 = MPI_UINT64_T;
    switch (collective) {
    case BARRIER: return MPI_Barrier(comm);
    case BROADCAST: return MPI_Bcast(out, n, u64, 0, comm);
    case SCATTER: return MPI_Scatter(in, n, u64, out, n, u64, 0, comm);
    case GATHER: return MPI_Gather(in, n, u64, out, n, u64, 0, comm);
    case ALLGATHER: return MPI_Allgather(in, n, u64, out, n, u64, comm);
    case ALLTOALL: return MPI_Alltoall(in, n, u64, out, n, u64, comm);
    case REDUCE_SCATTER:
        if (counts == NULL)
            return MPI_Reduce_scatter_block(in, out, n, u64, MPI_SUM, comm);
        return MPI_Reduce_scatter(in, out, counts, u64, MPI_SUM, comm);
    case REDUCE: return MPI_Reduce(in, out, n, u64, MPI_SUM, 0, comm);
    case ALLREDUCE: return MPI_Allreduce(in, out, n, u64, MPI_SUM, comm);
    case SCAN: return MPI_Scan(in, out, n, u64, MPI_SUM, comm);
    case EXSCAN: return MPI_Exscan(in, out, n, u64, MPI_SUM, comm);
    default: return MPI_ERR_OTHER;
    }
}

/* In the order of `Kind` in src/trace.rs. */
enum moves { MOVE_ALLGATHER, MOVE_ALLGATHER_V, MOVE_ALLTOALL, MOVE_ALLTOALL_V };

/* A call of an application's trace, on bytes: what goes to and comes from each rank, and where that stands in `in` and `out`. */
int compare_move(int kind, const int *sent, const int *sent_at, const int *got, const int *got_at, const void *in, void *out)
{
    const MPI_Comm comm = MPI_COMM_WORLD;
    switch (kind) {
    case MOVE_ALLGATHER: return MPI_Allgather(in, sent[0], MPI_BYTE, out, sent[0], MPI_BYTE, comm);
    case MOVE_ALLGATHER_V: return MPI_Allgatherv(in, sent[0], MPI_BYTE, out, got, got_at, MPI_BYTE, comm);
    case MOVE_ALLTOALL: return MPI_Alltoall(in, sent[0], MPI_BYTE, out, sent[0], MPI_BYTE, comm);
    case MOVE_ALLTOALL_V: return MPI_Alltoallv(in, sent, sent_at, MPI_BYTE, out, got, got_at, MPI_BYTE, comm);
    default: return MPI_ERR_OTHER;
    }
}

/* A call that the drop-in leaves to the MPI, as its communicator has one rank. */
int compare_pass(void)
{
    int nothing = 0;
    return MPI_Bcast(&nothing, 1, MPI_INT, 0, MPI_COMM_SELF);
}

/* Takes what other ranks still need of this one further: a look whether a message has come, which never does. */
int compare_poke(void)
{
    int is_there = 0;
    return MPI_Iprobe(MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &is_there, MPI_STATUS_IGNORE);
}
