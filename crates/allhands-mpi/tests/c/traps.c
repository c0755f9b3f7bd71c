/* What goes wrong easily: handles that are used again, two groups, wrong arguments, and the MPI's own progress. */
#include "check.h"

/* Communicators come and go; a new one often has the handle of one that was freed, and other ranks. */
static void handles_are_used_again(void)
{
    int rank, size;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    for (int round = 0; round < 60; round++) {
        MPI_Comm part, copy;
        int own, all, first, sum = 0, color = rank < 1 + round % size;
        MPI_Comm_split(MPI_COMM_WORLD, color, round % 2 ? rank : -rank, &part);
        MPI_Comm_rank(part, &own);
        MPI_Comm_size(part, &all);
        first = own == 0 ? rank : -1;
        MPI_Bcast(&first, 1, MPI_INT, 0, part);
        MPI_Allreduce(&rank, &sum, 1, MPI_INT, MPI_SUM, part);
        int lowest = color ? 0 : size - all, highest = lowest + all - 1;
        EXPECT(first == (round % 2 ? lowest : highest), "round %d: the first is %d", round, first);
        EXPECT(sum == (lowest + highest) * all / 2, "round %d: the sum is %d", round, sum);
        MPI_Comm_dup(part, &copy);
        MPI_Comm_free(&part);
        sum = -1;
        MPI_Allreduce(&rank, &sum, 1, MPI_INT, MPI_MAX, copy);
        EXPECT(sum == highest, "round %d: the largest of the copy is %d", round, sum);
        if (round % 3)
            MPI_Comm_free(&copy);
        else
            MPI_Comm_disconnect(&copy);
    }
}

/* A communicator between two groups: the native MPI's. */
static void two_groups(void)
{
    int rank, size;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    if (size < 2)
        return;
    MPI_Comm part, between, merged;
    int in_first = rank < size / 2, sum = -1, expected = 0;
    MPI_Comm_split(MPI_COMM_WORLD, in_first, rank, &part);
    MPI_Intercomm_create(part, 0, MPI_COMM_WORLD, in_first ? size / 2 : 0, 5, &between);
    MPI_Barrier(between);
    MPI_Allreduce(&rank, &sum, 1, MPI_INT, MPI_SUM, between);
    for (int r = in_first ? size / 2 : 0; r < (in_first ? size : size / 2); r++)
        expected += r;
    EXPECT(sum == expected, "the other group's sum is %d", sum);
    MPI_Intercomm_merge(between, in_first, &merged);
    MPI_Allreduce(&rank, &sum, 1, MPI_INT, MPI_SUM, merged);
    EXPECT(sum == size * (size - 1) / 2, "the sum of both groups is %d", sum);
    MPI_Comm_free(&merged);
    MPI_Comm_free(&between);
    MPI_Comm_free(&part);
}

/* While a rank waits in one of our calls, the MPI's own messages must go on. */
static void messages_go_on(void)
{
    enum { BYTES = 8 << 20 };
    int rank, size, sum;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    if (size < 2)
        return;
    MPI_Request request = MPI_REQUEST_NULL, barrier;
    char *data = malloc(BYTES);
    MPI_Ibarrier(MPI_COMM_WORLD, &barrier);
    if (rank == 0) {
        memset(data, 7, BYTES);
        MPI_Isend(data, BYTES, MPI_CHAR, size - 1, 3, MPI_COMM_WORLD, &request);
    } else if (rank == size - 1) {
        memset(data, 0, BYTES);
        MPI_Recv(data, BYTES, MPI_CHAR, 0, 3, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        EXPECT(data[0] == 7 && data[BYTES - 1] == 7, "the message is wrong");
        /* The barrier has begun everywhere, and ends while the others wait below. */
        MPI_Wait(&barrier, MPI_STATUS_IGNORE);
    }
    MPI_Allreduce(&rank, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    EXPECT(sum == size * (size - 1) / 2, "the sum is %d", sum);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    if (rank != size - 1)
        MPI_Wait(&barrier, MPI_STATUS_IGNORE);
    free(data);
}

/* Buffers that begin at any byte, and one that is both input and output of nothing. */
static void odd_buffers(MPI_Comm comm, int rank, int size)
{
    char in[64] = {0}, out[64] = {0};
    for (int shift = 0; shift < 8; shift++) {
        double value = rank + 0.5, sum = 0;
        memcpy(in + shift, &value, sizeof value);
        MPI_Allreduce(in + shift, out + shift, 1, MPI_DOUBLE, MPI_SUM, comm);
        memcpy(&sum, out + shift, sizeof sum);
        EXPECT(sum == size * (size - 1) / 2 + 0.5 * size, "at byte %d the sum is %f", shift, sum);
        memcpy(in + shift, &value, sizeof value);
        MPI_Allreduce(MPI_IN_PLACE, in + shift, 1, MPI_DOUBLE, MPI_MAX, comm);
        memcpy(&sum, in + shift, sizeof sum);
        EXPECT(sum == size - 0.5, "at byte %d the largest is %f", shift, sum);
    }
    MPI_Allreduce(NULL, NULL, 0, MPI_DOUBLE, MPI_SUM, comm);
    MPI_Bcast(NULL, 0, MPI_INT, 0, comm);
    MPI_Gather(NULL, 0, MPI_INT, NULL, 0, MPI_INT, 0, comm);
}

int main(int argc, char **argv)
{
    int provided;
    MPI_Init_thread(&argc, &argv, MPI_THREAD_FUNNELED, &provided);
    handles_are_used_again();
    two_groups();
    for (int round = 0; round < 5; round++)
        messages_go_on();
    on_communicators(odd_buffers);
    return finish("traps");
}
