/* A tool as profilers are: it takes MPI's names, counts calls and goes on by the profiling names. It may stand in front of the
 * library under test or behind it. What such tools do besides, it does, too: it calls MPI itself, by names of both kinds, where
 * the MPI begins, in the middle of a call, and where it ends. With WAITALL_ALONE it takes MPI_Init, MPI_Finalize and MPI_Waitall alone. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

/* Calls that the test programs make, and calls that the library under test makes of the MPI. */
#define CALLS(then)                                                                                                       \
    then(Init) then(Finalize) then(Barrier) then(Bcast) then(Allreduce) then(Iallreduce) then(Waitall) then(Comm_rank)    \
    then(Comm_size) then(Allgather) then(Comm_split_type) then(Comm_create_keyval) then(Comm_set_attr) then(Iprobe)       \
    then(Type_get_envelope) then(Reduce_local) then(Grequest_start) then(Request_get_status)

enum {
#define PLACE(name) AT_##name,
    CALLS(PLACE) NUMBER
};

static long counts[NUMBER];
/* What it calls itself is not counted. */
static int is_own;

static void count(int call)
{
    if (!is_own)
        counts[call]++;
}

#define WRAPPED(name, parameters, arguments) \
    int MPI_##name parameters                \
    {                                        \
        count(AT_##name);                    \
        return PMPI_##name arguments;        \
    }

WRAPPED(Waitall, (int n, MPI_Request *requests, MPI_Status *statuses), (n, requests, statuses))
#ifndef WAITALL_ALONE
WRAPPED(Barrier, (MPI_Comm comm), (comm))
WRAPPED(Allreduce, (const void *from, void *to, int n, MPI_Datatype type, MPI_Op op, MPI_Comm comm), (from, to, n, type, op, comm))
WRAPPED(Iallreduce,
        (const void *from, void *to, int n, MPI_Datatype type, MPI_Op op, MPI_Comm comm, MPI_Request *request),
        (from, to, n, type, op, comm, request))
WRAPPED(Comm_rank, (MPI_Comm comm, int *rank), (comm, rank))
WRAPPED(Comm_size, (MPI_Comm comm, int *size), (comm, size))
WRAPPED(Allgather,
        (const void *from, int n, MPI_Datatype type, void *to, int received, MPI_Datatype received_type, MPI_Comm comm),
        (from, n, type, to, received, received_type, comm))
WRAPPED(Comm_split_type, (MPI_Comm comm, int kind, int key, MPI_Info info, MPI_Comm *made), (comm, kind, key, info, made))
WRAPPED(Comm_create_keyval,
        (MPI_Comm_copy_attr_function * copy, MPI_Comm_delete_attr_function *delete, int *key, void *state),
        (copy, delete, key, state))
WRAPPED(Comm_set_attr, (MPI_Comm comm, int key, void *value), (comm, key, value))
WRAPPED(Iprobe, (int rank, int tag, MPI_Comm comm, int *flag, MPI_Status *status), (rank, tag, comm, flag, status))
WRAPPED(Type_get_envelope,
        (MPI_Datatype type, int *integers, int *addresses, int *types, int *combiner),
        (type, integers, addresses, types, combiner))
WRAPPED(Reduce_local, (const void *from, void *to, int n, MPI_Datatype type, MPI_Op op), (from, to, n, type, op))
WRAPPED(Grequest_start,
        (MPI_Grequest_query_function * query, MPI_Grequest_free_function *free, MPI_Grequest_cancel_function *cancel, void *state,
         MPI_Request *request),
        (query, free, cancel, state, request))
WRAPPED(Request_get_status, (MPI_Request request, int *flag, MPI_Status *status), (request, flag, status))

/* In the middle of a call. */
int MPI_Bcast(void *data, int n, MPI_Datatype type, int root, MPI_Comm comm)
{
    int rank;
    count(AT_Bcast);
    is_own++;
    MPI_Comm_rank(comm, &rank);
    MPI_Barrier(comm);
    is_own--;
    return PMPI_Bcast(data, n, type, root, comm);
}
#endif

static void begin(void)
{
    int rank;
    count(AT_Init);
    is_own++;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Barrier(MPI_COMM_WORLD);
    is_own--;
}

int MPI_Init(int *argc, char ***argv)
{
    int error = PMPI_Init(argc, argv);
    begin();
    return error;
}

/* Writes what all ranks have counted. */
static void end(void)
{
    static const char *names[] = {
#define NAME(name) "MPI_" #name,
        CALLS(NAME)};
    const char *file = getenv("TOOL_COUNTS");
    long all[NUMBER];
    int rank;
    count(AT_Finalize);
    PMPI_Reduce(counts, all, NUMBER, MPI_LONG, MPI_SUM, 0, MPI_COMM_WORLD);
    PMPI_Comm_rank(MPI_COMM_WORLD, &rank);
    FILE *out = rank == 0 && file ? fopen(file, "w") : NULL;
    for (int call = 0; out && call < NUMBER; call++)
        fprintf(out, "%s %ld\n", names[call], all[call]);
    if (out)
        fclose(out);
}

int MPI_Finalize(void)
{
    end();
    return PMPI_Finalize();
}

/* Fortran, where it does not come through the C names; its libraries are not in a program of C. */
#define FORTRAN(name, next, call, parameters, arguments) \
    void next parameters __attribute__((weak));          \
    void name parameters                                 \
    {                                                    \
        count(AT_##call);                                \
        next arguments;                                  \
    }
#define FORTRAN_BEGIN(name, next)                   \
    void next(int *error) __attribute__((weak));    \
    void name(int *error)                           \
    {                                               \
        next(error);                                \
        begin();                                    \
    }
#define FORTRAN_END(name, next)                     \
    void next(int *error) __attribute__((weak));    \
    void name(int *error)                           \
    {                                               \
        end();                                      \
        next(error);                                \
    }
#define FORTRAN_BARRIER(name, next) FORTRAN(name, next, Barrier, (int *comm, int *error), (comm, error))
#define FORTRAN_BCAST(name, next)                                                                   \
    FORTRAN(name, next, Bcast, (void *data, int *n, int *type, int *root, int *comm, int *error),   \
            (data, n, type, root, comm, error))
#define FORTRAN_ALLREDUCE(name, next)                                                                         \
    FORTRAN(name, next, Allreduce, (void *from, void *to, int *n, int *type, int *op, int *comm, int *error), \
            (from, to, n, type, op, comm, error))

#ifndef WAITALL_ALONE
#if defined(MPICH)
/* All but these come through the C names. */
FORTRAN_BEGIN(mpi_init_f08_, pmpir_init_f08_)
FORTRAN_END(mpi_finalize_f08_, pmpir_finalize_f08_)
FORTRAN_BARRIER(mpi_barrier_f08_, pmpir_barrier_f08_)
#elif defined(OPEN_MPI)
FORTRAN_BEGIN(mpi_init_, pmpi_init_)
FORTRAN_END(mpi_finalize_, pmpi_finalize_)
FORTRAN_BARRIER(mpi_barrier_, pmpi_barrier_)
FORTRAN_BCAST(mpi_bcast_, pmpi_bcast_)
FORTRAN_ALLREDUCE(mpi_allreduce_, pmpi_allreduce_)
FORTRAN_BEGIN(mpi_init_f08_, pmpi_init_f08_)
FORTRAN_END(mpi_finalize_f08_, pmpi_finalize_f08_)
FORTRAN_BARRIER(mpi_barrier_f08_, pmpi_barrier_f08_)
FORTRAN_BCAST(mpi_bcast_f08_, pmpi_bcast_f08_)
FORTRAN_ALLREDUCE(mpi_allreduce_f08_, pmpi_allreduce_f08_)
#endif
#endif
