/* Error handlers that leave by longjmp: from calls that pass through, from errors that this library raises, and where it asks the MPI
   about arguments. Each hears of an error once, and what comes after is as if nothing had been. */
#define _GNU_SOURCE
#include "broadcasts.h"
#include <setjmp.h>

enum { ROUNDS = 50 };

static jmp_buf back;
static volatile int heard;

static void jump(MPI_Comm *comm, int *code, ...)
{
    (void)comm, (void)code;
    heard++;
    longjmp(back, 1);
}

static void stay(MPI_Comm *comm, int *code, ...)
{
    (void)comm, (void)code;
    heard++;
}

/* Makes a call that is wrong; the handler that it calls leaves. */
#define WRONG(leaves, call)                                                     \
    do {                                                                        \
        heard = 0;                                                              \
        if (!setjmp(back)) {                                                    \
            call;                                                               \
            EXPECT(!(leaves), "%s: nobody has left", #call);                    \
        }                                                                       \
        EXPECT(heard == 1, "%s: heard %d times", #call, heard);                 \
    } while (0)

/* Calls that are right, from deeper on the stack than those that were left: whoever looks for these has moved on. */
static void right(MPI_Comm comm, int depth)
{
    volatile char room[4096];
    room[depth % 4096] = 1;
    if (depth > 0 && room[depth % 4096]) {
        right(comm, depth - 1);
        return;
    }
    int rank, size, sum = -1, data;
    MPI_Comm_rank(comm, &rank);
    MPI_Comm_size(comm, &size);
    MPI_Allreduce(&rank, &sum, 1, MPI_INT, MPI_SUM, comm);
    EXPECT(sum == size * (size - 1) / 2, "the sum is %d", sum);
    data = rank == 0 ? 7 : -1;
    MPI_Bcast(&data, 1, MPI_INT, 0, comm);
    EXPECT(data == 7, "the data is %d", data);
}

/* What the native MPI complains of: on one rank alone, which then goes on with the others, or on all. */
static void passing(MPI_Comm comm, int rank, int size, int leaves, int alone)
{
    int data[8] = {0};
    broadcast_call *calls[2];
    if (alone && rank != size - 1)
        return;
    for (int i = broadcasts(calls, 1); i-- > 0;) {
        broadcast_call *broadcast = calls[i];
        WRONG(leaves, broadcast(data, -1, MPI_INT, 0, comm));
        WRONG(leaves, broadcast(data, 1, MPI_INT, size, comm));
    }
    WRONG(leaves, MPI_Reduce(data, data + 4, 1, MPI_INT, MPI_SUM, -9, comm));
    WRONG(leaves, MPI_Gather(data, 1, MPI_INT, data + 4, 1, MPI_INT, size + 1, comm));
}

/* A type and a communicator that the MPI is asked about, and says that they are none: handles of something else. (Open MPI takes
   any address for a handle.) */
static void asked(MPI_Comm comm, int rank, int size, int leaves)
{
#ifdef MPICH_VERSION
    int data[8] = {0};
    if (rank == size - 1) {
        WRONG(leaves, MPI_Bcast(data, 1, (MPI_Datatype)MPI_SUM, 0, comm));
        WRONG(leaves, MPI_Barrier((MPI_Comm)MPI_INT));
    }
#else
    (void)comm, (void)rank, (void)size, (void)leaves;
#endif
}

/* What this library complains of: more data than there is room for, of which some rank hears, or several. */
static void raised(MPI_Comm comm, int rank, int size, int leaves, broadcast_call *broadcast)
{
    int data[64] = {0}, all = 0;
    MPI_Comm copy;
    /* Between nodes the MPI complains, and may end the program. */
    if (size < 2 || getenv("ALLHANDS_NODES"))
        return;
    MPI_Comm_dup(comm, &copy);
    right(copy, 1);
    /* An error of one rank stops others that are still in an earlier call of the communicator. */
    MPI_Barrier(MPI_COMM_WORLD);
    heard = 0;
    if (!setjmp(back)) {
        broadcast(data, rank == 0 ? 64 : 1, MPI_INT, 0, copy);
        EXPECT(!leaves || heard == 0, "nobody has left");
    }
    int own = heard;
    EXPECT(own <= 1, "heard %d times", own);
    MPI_Allreduce(&own, &all, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    EXPECT(all > 0, "nobody has heard");
    MPI_Comm_free(&copy);
}

int main(int argc, char **argv)
{
    int rank, size;
    MPI_Comm comm;
    MPI_Errhandler handlers[2];
    MPI_Init(&argc, &argv);
    MPI_Comm_create_errhandler(jump, &handlers[0]);
    MPI_Comm_create_errhandler(stay, &handlers[1]);
    MPI_Comm_dup(MPI_COMM_WORLD, &comm);
    MPI_Comm_rank(comm, &rank);
    MPI_Comm_size(comm, &size);
    for (int leaves = 1; leaves >= 0; leaves--) {
        MPI_Comm_set_errhandler(comm, handlers[!leaves]);
        MPI_Comm_set_errhandler(MPI_COMM_WORLD, handlers[!leaves]);
        MPI_Comm_set_errhandler(MPI_COMM_SELF, handlers[!leaves]);
        for (int round = 0; round < ROUNDS; round++) {
            if (returns_errors())
                passing(comm, rank, size, leaves, round % 2 == 0);
            right(comm, round);
            if (round % 10 == 0) {
                asked(comm, rank, size, leaves);
                broadcast_call *calls[2];
                for (int i = broadcasts(calls, 0); i-- > 0;)
                    raised(comm, rank, size, leaves, calls[i]);
            }
            right(MPI_COMM_WORLD, ROUNDS - round);
        }
    }
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_ARE_FATAL);
    MPI_Errhandler_free(&handlers[0]);
    MPI_Errhandler_free(&handlers[1]);
    MPI_Comm_free(&comm);
    return finish("jumps");
}
