/* Nonblocking calls that are never waited for, which is a mistake: the library says so, and the program ends all the same. */
#include "check.h"

#define MANY (1 << 20)

int main(int argc, char **argv)
{
    int rank, size, token = 0;
    static int from[MANY], to[MANY];
    MPI_Request request, others[2];
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    const char *who = argc > 1 ? argv[1] : "";
    for (int i = 0; i < MANY; i++)
        from[i] = rank + i;
    MPI_Barrier(MPI_COMM_WORLD);
    if (strcmp(who, "nobody-waits") == 0) {
        /* Those of rank 0 come first, and so cannot have ended. */
        if (rank > 0)
            MPI_Recv(&token, 1, MPI_INT, rank - 1, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        MPI_Iallreduce(&from[0], &to[0], 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD, &request);
        MPI_Iallreduce(&from[1], &to[1], 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD, &others[0]);
        MPI_Ibarrier(MPI_COMM_WORLD, &others[1]);
        if (rank < size - 1)
            MPI_Send(&token, 1, MPI_INT, rank + 1, 0, MPI_COMM_WORLD);
    } else if (strcmp(who, "rank-0-does-not-wait") == 0) {
        /* That of rank 0 comes first, and the others' need what it has still to do. */
        if (rank > 0)
            MPI_Recv(&token, 1, MPI_INT, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        MPI_Iallreduce(from, to, MANY, MPI_INT, MPI_SUM, MPI_COMM_WORLD, &request);
        for (int other = 1; rank == 0 && other < size; other++)
            MPI_Send(&token, 1, MPI_INT, other, 0, MPI_COMM_WORLD);
        if (rank > 0) {
            MPI_Wait(&request, MPI_STATUS_IGNORE);
            for (int i = 0; i < MANY; i++)
                EXPECT(to[i] == size * i + size * (size - 1) / 2, "sum %d is %d", i, to[i]);
        }
    } else if (strcmp(who, "rank-0-does-not-call") == 0 && rank > 0) {
        MPI_Iallreduce(from, to, MANY, MPI_INT, MPI_SUM, MPI_COMM_WORLD, &request);
    }
    MPI_Finalize();
    fprintf(stderr, "rank %d: %s\n", rank, wrong ? "WRONG" : "ended");
    return wrong != 0;
}
