/* A rank that is killed in the middle of a collective: the others hear of it, or are ended, and nobody waits for ever. */
#define _POSIX_C_SOURCE 200112L
#include "check.h"
#include <signal.h>

int main(int argc, char **argv)
{
    int rank, size, error = MPI_SUCCESS, round;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    int *own = calloc(1 << 20, sizeof *own), *all = calloc(1 << 20, sizeof *all);
    for (round = 0; round < 1000 && error == MPI_SUCCESS; round++) {
        if (rank == size - 1 && round == 50)
            raise(SIGKILL);
        error = MPI_Allreduce(own, all, round % 2 ? 1 << 20 : 8, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    }
    /* Only where the launcher lets the others live. */
    fprintf(stderr, "rank %d: round %d ended with %d\n", rank, round, error);
    _Exit(error == MPI_SUCCESS ? 1 : 3);
}
