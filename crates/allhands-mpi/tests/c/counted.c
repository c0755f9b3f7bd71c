/* Calls whose number is known: a tool in front of the library sees each once, one behind it what passes through, and neither sees
 * what the library asks of the MPI, or the MPI of itself. */
#include "check.h"

static void add(void *from, void *into, int *n, MPI_Datatype *type)
{
    (void)type;
    for (int i = 0; i < *n; i++)
        ((int *)into)[2 * i] += ((int *)from)[2 * i];
}

/* Two of MPI_Allreduce, for which the library asks the MPI what type and operator are, and has it combine. */
static void users_own(int rank, int size)
{
    MPI_Datatype pair;
    MPI_Op op;
    MPI_Type_create_resized(MPI_INT, 0, 2 * sizeof(int), &pair);
    MPI_Type_commit(&pair);
    MPI_Op_create(add, 1, &op);
    for (int round = 0; round < 2; round++) {
        int from[4] = {rank, -1, round, -1}, to[4] = {-1, -2, -1, -3};
        MPI_Allreduce(from, to, 2, pair, op, MPI_COMM_WORLD);
        EXPECT(to[0] == size * (size - 1) / 2 && to[2] == size * round, "%d and %d", to[0], to[2]);
        EXPECT(to[1] == -2 && to[3] == -3, "gaps became %d and %d", to[1], to[3]);
    }
    MPI_Op_free(&op);
    MPI_Type_free(&pair);
}

/* Four of MPI_Iallreduce and of MPI_Waitall, with a null request beside one that has not ended. */
static void begun(int rank, int size)
{
    for (int round = 0; round < 4; round++) {
        MPI_Request requests[2] = {MPI_REQUEST_NULL, MPI_REQUEST_NULL};
        MPI_Status statuses[2];
        int sum = -1;
        double until = MPI_Wtime() + (rank == round % size ? 0.02 : 0);
        while (MPI_Wtime() < until)
            ;
        MPI_Iallreduce(&rank, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD, &requests[1]);
        MPI_Waitall(2, requests, statuses);
        EXPECT(sum == size * (size - 1) / 2, "the sum is %d", sum);
        EXPECT(requests[1] == MPI_REQUEST_NULL, "a request is left");
    }
}

/* Files, for which an MPI calls collectives of its own. */
static void file(const char *name, int rank, int size)
{
    MPI_File file;
    int got = -1;
    EXPECT(MPI_File_open(MPI_COMM_WORLD, name, MPI_MODE_CREATE | MPI_MODE_RDWR | MPI_MODE_DELETE_ON_CLOSE, MPI_INFO_NULL, &file) == MPI_SUCCESS, "no file");
    MPI_File_write_at_all(file, rank * (MPI_Offset)sizeof rank, &rank, 1, MPI_INT, MPI_STATUS_IGNORE);
    MPI_File_sync(file);
    MPI_File_read_at_all(file, (size - 1 - rank) * (MPI_Offset)sizeof rank, &got, 1, MPI_INT, MPI_STATUS_IGNORE);
    EXPECT(got == size - 1 - rank, "%d was read", got);
    MPI_File_close(&file);
}

int main(int argc, char **argv)
{
    int rank, size, sum;
    char name[4096];
    MPI_Comm copy;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    for (int i = 0; i < 10; i++) {
        MPI_Allreduce(&i, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
        EXPECT(sum == i * size, "the sum is %d", sum);
    }
    for (int i = 0; i < 5; i++)
        MPI_Barrier(MPI_COMM_WORLD);
    for (int i = 0; i < 3; i++)
        MPI_Bcast(&sum, 1, MPI_INT, 0, MPI_COMM_SELF);
    MPI_Comm_dup(MPI_COMM_WORLD, &copy);
    MPI_Barrier(copy);
    MPI_Comm_free(&copy);
    users_own(rank, size);
    begun(rank, size);
    snprintf(name, sizeof name, "%s.data", argv[0]);
    file(name, rank, size);
    /* One more of MPI_Allreduce and of MPI_Comm_rank. */
    return finish("counted");
}
