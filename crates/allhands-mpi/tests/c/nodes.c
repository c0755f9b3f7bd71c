/* What goes wrong easily between nodes: long messages, ranks in any order, wildcards, and tags that run out. */
#include "check.h"

/* Vectors from shorter than any eager limit to longer than all of them. */
static void lengths(MPI_Comm comm, int rank, int size)
{
    static const int counts[] = {0, 1, 7, 100, 3000, 40000, 500001};
    for (size_t i = 0; i < sizeof counts / sizeof *counts; i++) {
        int n = counts[i], root = (int)i % size;
        int32_t *in = malloc((n + 1) * sizeof *in), *out = malloc((size_t)(n + 1) * size * sizeof *out);
        for (int k = 0; k < n; k++)
            in[k] = rank * 1000003 + k;
        MPI_Allreduce(in, out, n, MPI_INT32_T, MPI_MAX, comm);
        for (int k = 0; k < n; k++)
            EXPECT(out[k] == (size - 1) * 1000003 + k, "allreduce of %d: number %d is %d", n, k, out[k]);
        MPI_Allgather(in, n, MPI_INT32_T, out, n, MPI_INT32_T, comm);
        for (int r = 0; r < size; r++)
            for (int k = 0; k < n; k += 97)
                EXPECT(out[(size_t)r * n + k] == r * 1000003 + k, "allgather of %d: block %d", n, r);
        for (int k = 0; k < n; k++)
            out[k] = rank == root ? 5 * k : -1;
        MPI_Bcast(out, n, MPI_INT32_T, root, comm);
        for (int k = 0; k < n; k++)
            EXPECT(out[k] == 5 * k, "broadcast of %d from %d: number %d is %d", n, root, k, out[k]);
        free(in);
        free(out);
    }
}

/* Nodes' ranks alternate, and every root counts. */
static void orders(void)
{
    int rank, size;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    int keys[] = {rank * 2 % (size | 1), rank * (size - 1) % size, rank % 3 * size + rank};
    for (int i = 0; i < 3; i++) {
        MPI_Comm comm;
        int own, value, sum;
        MPI_Comm_split(MPI_COMM_WORLD, 0, keys[i], &comm);
        MPI_Comm_rank(comm, &own);
        for (int root = 0; root < size; root++) {
            int32_t all[64] = {0};
            value = own == root ? 77 + root : -1;
            MPI_Bcast(&value, 1, MPI_INT, root, comm);
            EXPECT(value == 77 + root, "order %d: root %d gave %d", i, root, value);
            MPI_Reduce(&own, &sum, 1, MPI_INT, MPI_SUM, root, comm);
            EXPECT(own != root || sum == size * (size - 1) / 2, "order %d: root %d has %d", i, root, sum);
            MPI_Gather(&own, 1, MPI_INT, all, 1, MPI_INT, root, comm);
            for (int r = 0; own == root && r < size; r++)
                EXPECT(all[r] == r, "order %d: root %d gathered %d from %d", i, root, all[r], r);
        }
        MPI_Scan(&own, &sum, 1, MPI_INT, MPI_SUM, comm);
        EXPECT(sum == own * (own + 1) / 2, "order %d: the scan is %d", i, sum);
        lengths(comm, own, size);
        MPI_Comm_free(&comm);
    }
}

/* A receive from anybody with any tag gets what the program sends, never a message of a collective. */
static void wildcards(void)
{
    int rank, size, from_any = -1, sum = 0;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    for (int round = 0; round < 20; round++) {
        MPI_Request request;
        MPI_Status status;
        double vector[512], total[512];
        int own = 100 * round + rank, next = (rank + 1) % size, flag;
        for (int k = 0; k < 512; k++)
            vector[k] = rank;
        MPI_Irecv(&from_any, 1, MPI_INT, MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &request);
        MPI_Allreduce(vector, total, 512, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
        EXPECT(total[511] == size * (size - 1) / 2.0, "the sum is %f", total[511]);
        MPI_Barrier(MPI_COMM_WORLD);
        MPI_Iprobe(MPI_ANY_SOURCE, 9, MPI_COMM_WORLD, &flag, MPI_STATUS_IGNORE);
        EXPECT(!flag, "something came that nobody sent");
        MPI_Send(&own, 1, MPI_INT, next, round, MPI_COMM_WORLD);
        MPI_Bcast(&sum, 1, MPI_INT, round % size, MPI_COMM_WORLD);
        MPI_Wait(&request, &status);
        EXPECT(status.MPI_TAG == round && from_any == 100 * round + (rank + size - 1) % size,
               "round %d: %d with tag %d", round, from_any, status.MPI_TAG);
    }
}

/* More communicators at a time than have tags of their own: calls on the last ones are the native MPI's. */
static void many(void)
{
    enum { MANY = 150 };
    MPI_Comm comms[MANY];
    int rank, size, sum;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    for (int round = 0; round < 2; round++) {
        for (int i = 0; i < MANY; i++) {
            MPI_Comm_dup(MPI_COMM_WORLD, &comms[i]);
            MPI_Allreduce(&rank, &sum, 1, MPI_INT, MPI_SUM, comms[i]);
            EXPECT(sum == size * (size - 1) / 2, "communicator %d: the sum is %d", i, sum);
        }
        for (int i = 0; i < MANY; i++)
            MPI_Comm_free(&comms[(i * 7) % MANY]);
    }
}

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    on_communicators(lengths);
    orders();
    wildcards();
    many();
    return finish("nodes");
}
