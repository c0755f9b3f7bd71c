/* Error handlers that throw exceptions of C++, which come through the library: from calls that pass, and from errors that it raises. */
/* What MPI once had for C++. */
#define OMPI_SKIP_MPICXX 1
#define MPICH_SKIP_MPICXX 1
#include "check.h"

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
        if (returns_errors() && rank == size - 1) {
            EXPECT(throws([&] { MPI_Bcast(data, -1, MPI_INT, 0, comm); }), "a negative count: nothing was thrown");
            EXPECT(throws([&] { MPI_Bcast(data, 1, MPI_INT, size, comm); }), "no root: nothing was thrown");
        }
        right(comm);
        if (size > 1 && round % 10 == 0) {
            MPI_Comm copy;
            MPI_Comm_dup(comm, &copy);
            MPI_Comm_set_errhandler(copy, handler);
            right(copy);
            if (rank == 0)
                MPI_Bcast(data, 64, MPI_INT, 0, copy);
            else
                EXPECT(throws([&] { MPI_Bcast(data, 1, MPI_INT, 0, copy); }), "too long: nothing was thrown");
            MPI_Comm_free(&copy);
        }
        right(MPI_COMM_WORLD);
    }
    MPI_Errhandler_free(&handler);
    MPI_Comm_free(&comm);
    return verdict("throws");
}
