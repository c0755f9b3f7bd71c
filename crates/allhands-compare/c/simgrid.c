// A collective in SimGrid's SMPI: prints when the last rank is done, in simulated seconds.
//
// All ranks are in one process and share its globals: privatization is off.
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int done;
static double last;

int main(int argc, char **argv) {
    MPI_Init(&argc, &argv);
    int size;
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    double *in = calloc((size_t)size, sizeof(double));
    double *out = calloc((size_t)size, sizeof(double));
    if (argc != 2 || in == NULL || out == NULL) {
        fprintf(stderr, "say alltoall or allreduce\n");
        MPI_Abort(MPI_COMM_WORLD, 2);
    }
    if (strcmp(argv[1], "alltoall") == 0)
        MPI_Alltoall(in, 1, MPI_DOUBLE, out, 1, MPI_DOUBLE, MPI_COMM_WORLD);
    else
        MPI_Allreduce(in, out, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
    double now = MPI_Wtime();
    if (now > last) last = now;
    if (++done == size) printf("completion %.9f\n", last);
    free(in);
    free(out);
    MPI_Finalize();
    return 0;
}
