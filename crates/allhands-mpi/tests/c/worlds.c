/* Two worlds of which one alone has the library: children that are started without it, and communicators of both. */
#define _POSIX_C_SOURCE 200112L
#include "check.h"

static void both(MPI_Comm between, int is_child)
{
    MPI_Comm merged, part;
    int rank, size, sum = -1;
    MPI_Intercomm_merge(between, is_child, &merged);
    MPI_Comm_rank(merged, &rank);
    MPI_Comm_size(merged, &size);
    for (int round = 0; round < 10; round++) {
        MPI_Allreduce(&rank, &sum, 1, MPI_INT, MPI_SUM, merged);
        EXPECT_IN(merged, sum == size * (size - 1) / 2, "the sum of both worlds is %d", sum);
    }
    /* The first parent and all children, and all other parents. */
    MPI_Comm_split(merged, is_child || rank == 0, rank, &part);
    MPI_Comm_rank(part, &rank);
    MPI_Comm_size(part, &size);
    MPI_Allreduce(&rank, &sum, 1, MPI_INT, MPI_SUM, part);
    EXPECT_IN(part, sum == size * (size - 1) / 2, "the sum of a part is %d", sum);
    int data = rank == size - 1 ? 7 : -1;
    MPI_Bcast(&data, 1, MPI_INT, size - 1, part);
    EXPECT_IN(part, data == 7, "the data of a part is %d", data);
    MPI_Comm_disconnect(&part);
    MPI_Comm_disconnect(&merged);
}

int main(int argc, char **argv)
{
    MPI_Comm parent, between;
    char *is_without[] = {(char *)"-u", (char *)"LD_PRELOAD", argv[0], (char *)"child", NULL};
    MPI_Init(&argc, &argv);
    MPI_Comm_get_parent(&parent);
    if (parent != MPI_COMM_NULL) {
        /* No library, or it is a test of nothing. */
        EXPECT(!getenv("LD_PRELOAD"), "LD_PRELOAD has come to a child");
        both(parent, 1);
        MPI_Comm_disconnect(&parent);
        MPI_Finalize();
        return wrong != 0;
    }
    MPI_Comm_spawn("env", is_without, 2, MPI_INFO_NULL, 0, MPI_COMM_WORLD, &between, MPI_ERRCODES_IGNORE);
    both(between, 0);
    MPI_Comm_disconnect(&between);
    return finish("worlds");
}
