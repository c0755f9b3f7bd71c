/* A program that ends in the way that its first argument says, after calls of which the report is to tell. */
#include "check.h"
#include <unistd.h>

static void call(int rank)
{
    int one = 1, sum = 0;
    MPI_Barrier(MPI_COMM_WORLD);
    for (int i = 0; i < 5; i++)
        MPI_Allreduce(&one, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    EXPECT(sum > 1, "rank %d has a sum of %d", rank, sum);
}

/* Calls of which none is taken over. */
static void pass(int rank, int ranks)
{
    MPI_Comm line;
    int zero = 0, from[2] = {-1, -1};
    MPI_Cart_create(MPI_COMM_WORLD, 1, &ranks, &zero, 0, &line);
    MPI_Neighbor_allgather(&rank, 1, MPI_INT, from, 1, MPI_INT, line);
    EXPECT(rank == 0 || from[0] == rank - 1, "rank %d has %d from its neighbour", rank, from[0]);
    MPI_Request request;
    MPI_Ineighbor_allgather(&rank, 1, MPI_INT, from, 1, MPI_INT, line, &request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    MPI_Comm_free(&line);
#if MPI_VERSION >= 4 || (defined(OPEN_MPI) && OMPI_MAJOR_VERSION >= 5)
    int one = 1, sum = 0;
    MPI_Allreduce_init(&one, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD, MPI_INFO_NULL, &request);
    for (int i = 0; i < 3; i++) {
        MPI_Start(&request);
        MPI_Wait(&request, MPI_STATUS_IGNORE);
        EXPECT(sum == ranks, "a persistent sum is %d", sum);
    }
    MPI_Request_free(&request);
#endif
}

int main(int argc, char **argv)
{
    int rank, ranks;
    const char *how = argc > 1 ? argv[1] : "";
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    call(rank);
    pass(rank, ranks);
    if (strcmp(how, "abort-0") == 0 || strcmp(how, "abort-1") == 0) {
        MPI_Barrier(MPI_COMM_WORLD);
        if (rank == how[6] - '0')
            MPI_Abort(MPI_COMM_WORLD, 3);
        /* The launcher ends this rank; MPI_Abort may return before it does. */
        for (;;)
            pause();
    }
    if (strcmp(how, "error") == 0) {
        /* A wrong length, of which MPI's handler at first makes an end of the program. */
        double few[2] = {0};
        MPI_Bcast(few, rank == 0 ? 2 : 1, MPI_DOUBLE, 0, MPI_COMM_WORLD);
        MPI_Barrier(MPI_COMM_WORLD);
    }
    if (strcmp(how, "exit") == 0)
        exit(rank == 0 ? 0 : 1);
    return finish("ends");
}
