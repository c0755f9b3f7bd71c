/* Error handlers that throw exceptions of C++, which come through the library: from calls that pass, and from errors that it raises. */
/* What MPI once had for C++. */
#define OMPI_SKIP_MPICXX 1
#define MPICH_SKIP_MPICXX 1
#include "broadcasts.h"

static const int ROUNDS = 50;

struct Thrown {
    int code;
};

extern "C" void raise_it(MPI_Comm *, int *code, ...)
{
    throw Thrown{*code};
}

/* Whether a call has ended with an exception, which went through all that was there to be ended. */
template <class Call> static bool throws(Call call)
{
    struct Ended {
        int &count;
        ~Ended() { count++; }
    };
    int ended = 0;
    try {
        Ended whatever{ended};
        call();
    } catch (const Thrown &thrown) {
        return thrown.code != MPI_SUCCESS && ended == 1;
    }
    return false;
}

static void right(MPI_Comm comm)
{
    int rank, size, sum = -1;
    MPI_Comm_rank(comm, &rank);
    MPI_Comm_size(comm, &size);
    MPI_Allreduce(&rank, &sum, 1, MPI_INT, MPI_SUM, comm);
    EXPECT(sum == size * (size - 1) / 2, "the sum is %d", sum);
}

/* More data than there is room for, of which some rank hears, or several. */
static void raised(MPI_Comm comm, int rank, MPI_Errhandler handler, broadcast_call *broadcast)
{
    int data[64] = {0}, all = 0;
    MPI_Comm copy;
    MPI_Comm_dup(comm, &copy);
    MPI_Comm_set_errhandler(copy, handler);
    right(copy);
    /* An error of one rank stops others that are still in an earlier call of the communicator. */
    MPI_Barrier(MPI_COMM_WORLD);
    int own = throws([&] { broadcast(data, rank == 0 ? 64 : 1, MPI_INT, 0, copy); });
    MPI_Allreduce(&own, &all, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    EXPECT(all > 0, "too long: nothing was thrown");
    MPI_Comm_free(&copy);
}

int main(int argc, char **argv)
{
    int rank, size, data[64] = {0};
    MPI_Comm comm;
    MPI_Errhandler handler;
    MPI_Init(&argc, &argv);
    MPI_Comm_create_errhandler(raise_it, &handler);
    MPI_Comm_dup(MPI_COMM_WORLD, &comm);
    MPI_Comm_rank(comm, &rank);
    MPI_Comm_size(comm, &size);
    MPI_Comm_set_errhandler(comm, handler);
    for (int round = 0; round < ROUNDS; round++) {
        broadcast_call *calls[2];
        for (int i = broadcasts(calls, 1); returns_errors() && rank == size - 1 && i-- > 0;) {
            broadcast_call *broadcast = calls[i];
            EXPECT(throws([&] { broadcast(data, -1, MPI_INT, 0, comm); }), "a negative count: nothing was thrown");
            EXPECT(throws([&] { broadcast(data, 1, MPI_INT, size, comm); }), "no root: nothing was thrown");
        }
        right(comm);
        /* Between nodes the MPI complains, and may end the program. */
        if (size > 1 && round % 10 == 0 && !getenv("ALLHANDS_NODES"))
            for (int i = broadcasts(calls, 0); i-- > 0;)
                raised(comm, rank, handler, calls[i]);
        right(MPI_COMM_WORLD);
    }
    MPI_Errhandler_free(&handler);
    MPI_Comm_free(&comm);
    return finish("throws");
}
