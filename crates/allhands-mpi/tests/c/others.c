/* What is not of the world alone: two groups, sessions, spawned processes, and what is wrong. */
#define _POSIX_C_SOURCE 200112L
#include "check.h"

/* Every call on a communicator between two groups: the native MPI's. */
static void two_groups(void)
{
    int rank, size, other_size, one = 1, sum = 0;
    MPI_Comm part, between;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    if (size < 2)
        return;
    int in_first = rank < size / 2;
    MPI_Comm_split(MPI_COMM_WORLD, in_first, rank, &part);
    MPI_Intercomm_create(part, 0, MPI_COMM_WORLD, in_first ? size / 2 : 0, 5, &between);
    MPI_Comm_remote_size(between, &other_size);
    int *all = calloc(2 * size, sizeof *all), *ranks = calloc(2 * size, sizeof *ranks);
    MPI_Barrier(between);
    MPI_Allgather(&rank, 1, MPI_INT, all, 1, MPI_INT, between);
    for (int r = 0; r < other_size; r++)
        EXPECT(all[r] == r + (in_first ? size / 2 : 0), "allgather between groups: %d", all[r]);
    for (int r = 0; r < other_size; r++)
        ranks[r] = rank * 100 + r;
    MPI_Alltoall(ranks, 1, MPI_INT, all, 1, MPI_INT, between);
    int own;
    MPI_Comm_rank(part, &own);
    for (int r = 0; r < other_size; r++)
        EXPECT(all[r] == (r + (in_first ? size / 2 : 0)) * 100 + own, "alltoall between groups: %d", all[r]);
    /* The root is the first of the first group; its own group gets nothing. */
    int root = !in_first ? 0 : rank == 0 ? MPI_ROOT : MPI_PROC_NULL, data = rank == 0 ? 77 : -1;
    MPI_Bcast(&data, 1, MPI_INT, root, between);
    EXPECT(data == (in_first ? (rank == 0 ? 77 : -1) : 77), "bcast between groups: %d", data);
    MPI_Reduce(&one, &sum, 1, MPI_INT, MPI_SUM, root, between);
    EXPECT(sum == (rank == 0 ? other_size : 0), "reduce between groups: %d", sum);
    MPI_Allreduce(&one, &sum, 1, MPI_INT, MPI_SUM, between);
    EXPECT(sum == other_size, "allreduce between groups: %d", sum);
    free(all);
    free(ranks);
    MPI_Comm_free(&between);
    MPI_Comm_free(&part);
}

/* The libraries of Intel, Open MPI and MPICH 4.0 crash when there is a world after the last session. */
static int begins_anew(void)
{
#ifdef HAS_SESSIONS
    return !library_says("Intel") && !library_says("Open MPI") && !library_says("4.0");
#else
    return 0;
#endif
}

/* Communicators that are made of a session, while there is a world and before it. */
static void of_sessions(void)
{
#ifdef HAS_SESSIONS
    int rank, size, sum = 0;
    MPI_Session session;
    MPI_Group group;
    MPI_Comm comm;
    MPI_Session_init(MPI_INFO_NULL, MPI_ERRORS_ARE_FATAL, &session);
    MPI_Group_from_session_pset(session, "mpi://WORLD", &group);
    MPI_Comm_create_from_group(group, "allhands.test", MPI_INFO_NULL, MPI_ERRORS_ARE_FATAL, &comm);
    MPI_Comm_rank(comm, &rank);
    MPI_Comm_size(comm, &size);
    for (int round = 0; round < 10; round++) {
        MPI_Allreduce(&rank, &sum, 1, MPI_INT, MPI_SUM, comm);
        EXPECT_IN(comm, sum == size * (size - 1) / 2, "the session's sum is %d", sum);
        int data = rank == round % size ? round : -1;
        MPI_Bcast(&data, 1, MPI_INT, round % size, comm);
        EXPECT_IN(comm, data == round, "the session's bcast gives %d", data);
    }
    MPI_Comm_free(&comm);
    MPI_Group_free(&group);
    MPI_Session_finalize(&session);
#endif
}

/*
 * A world that begins after a session: the last one, or, with more than two ranks, not the last. After the last, MPI_Init of MPICH
 * 5.0 aborts ("truncated") or waits for ever now and then, without this library, too: of 2 ranks 2 in 505 runs, of 5 one in a hundred.
 */
static void world_after_sessions(int *argc, char ***argv)
{
#ifdef HAS_SESSIONS
    const char *ranks = getenv("PMI_SIZE");
    int is_the_last = !ranks || atoi(ranks) <= 2;
    MPI_Session session;
    if (!is_the_last)
        MPI_Session_init(MPI_INFO_NULL, MPI_ERRORS_ARE_FATAL, &session);
    of_sessions();
    MPI_Init(argc, argv);
    if (!is_the_last)
        MPI_Session_finalize(&session);
#else
    MPI_Init(argc, argv);
#endif
}

/* Processes of another world: calls between the two pass, and on all of them together are right. */
static void with_children(MPI_Comm between, int is_child)
{
    MPI_Comm merged, copy;
    int rank, size, sum = 0, one = 1, remote;
    MPI_Comm_remote_size(between, &remote);
    MPI_Allreduce(&one, &sum, 1, MPI_INT, MPI_SUM, between);
    EXPECT(sum == remote, "the sum of the other world is %d", sum);
    MPI_Intercomm_merge(between, is_child, &merged);
    MPI_Comm_rank(merged, &rank);
    MPI_Comm_size(merged, &size);
    for (int round = 0; round < 10; round++) {
        MPI_Allreduce(&rank, &sum, 1, MPI_INT, MPI_SUM, merged);
        EXPECT(sum == size * (size - 1) / 2, "the sum of both worlds is %d", sum);
    }
    MPI_Comm_dup(merged, &copy);
    MPI_Allreduce(&rank, &sum, 1, MPI_INT, MPI_MAX, copy);
    EXPECT(sum == size - 1, "the largest of both worlds is %d", sum);
    MPI_Comm_disconnect(&copy);
    MPI_Comm_disconnect(&merged);
    MPI_Comm_disconnect(&between);
}

/* Open MPI's launcher does not come back from it here; Intel's library has none without libfabric, nor has Debian's MPICH 4.0. */
static void spawning(char *program)
{
#if defined(MPICH_VERSION) && MPICH_NUMVERSION >= 40100000 && !defined(I_MPI_VERSION)
    MPI_Comm between;
    MPI_Comm_spawn(program, (char *[]){"child", NULL}, 2, MPI_INFO_NULL, 0, MPI_COMM_WORLD, &between,
                   MPI_ERRCODES_IGNORE);
    with_children(between, 0);
#else
    (void)program;
#endif
}

/*
 * What is wrong is told as the native MPI tells it: every call here is made through its second name, too. Only what each MPI
 * looks at: MPICH takes a null type or a negative count in a reduction, and what happens then is anything.
 */
static void mistakes(void)
{
    MPI_Comm comm;
    int rank, size, data[64] = {0}, other[64] = {0}, class, native_class;
    MPI_Comm_dup(MPI_COMM_WORLD, &comm);
    MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    MPI_Comm_rank(comm, &rank);
    MPI_Comm_size(comm, &size);
    MPI_Barrier(comm);
#define SAME(call, arguments)                                                   \
    do {                                                                        \
        MPI_Error_class(MPI_##call arguments, &class);                          \
        MPI_Error_class(PMPI_##call arguments, &native_class);                  \
        EXPECT(class == native_class && class != MPI_SUCCESS, "%s%s: class %d, and %d natively", #call, #arguments, \
               class, native_class);                                            \
    } while (0)
    SAME(Bcast, (data, -1, MPI_INT, 0, comm));
    SAME(Bcast, (data, 1, MPI_INT, size, comm));
    SAME(Bcast, (data, 1, MPI_INT, -7, comm));
    SAME(Bcast, (data, 1, MPI_INT, 0, MPI_COMM_NULL));
    SAME(Barrier, (MPI_COMM_NULL));
    SAME(Allreduce, (data, other, 1, MPI_DOUBLE, MPI_BXOR, comm));
    SAME(Allreduce, (data, other, 1, MPI_INT, MPI_MAXLOC, comm));
    SAME(Reduce, (data, other, 1, MPI_INT, MPI_SUM, size + 3, comm));
    SAME(Reduce, (data, other, 1, MPI_C_BOOL, MPI_BAND, 0, comm));
    SAME(Gather, (data, 1, MPI_INT, other, 1, MPI_INT, size, comm));
    /* And after all that, the communicator is as good as ever. */
    int sum = 0;
    MPI_Allreduce(&rank, &sum, 1, MPI_INT, MPI_SUM, comm);
    EXPECT(sum == size * (size - 1) / 2, "after mistakes the sum is %d", sum);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_ARE_FATAL);
    MPI_Comm_free(&comm);
}

/* Of one rank, and freed ones whose handles come again. */
static void small_ones(void)
{
    int rank, size, sum;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    for (int round = 0; round < 20; round++) {
        MPI_Comm comm;
        MPI_Comm_split(MPI_COMM_WORLD, round % 2 ? rank : 0, 0, &comm);
        MPI_Allreduce(&rank, &sum, 1, MPI_INT, MPI_SUM, comm);
        EXPECT(sum == (round % 2 ? rank : size * (size - 1) / 2), "round %d: %d", round, sum);
        MPI_Comm_free(&comm);
        EXPECT(comm == MPI_COMM_NULL, "a freed communicator's handle stays");
    }
    MPI_Allreduce(&rank, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_SELF);
    EXPECT(sum == rank, "the sum of one is %d", sum);
}

int main(int argc, char **argv)
{
    MPI_Comm parent;
    int is_child = argc > 1;
    /* The report is the parents'. */
    if (is_child) {
        unsetenv("ALLHANDS_REPORT");
        MPI_Init(&argc, &argv);
    } else if (begins_anew())
        world_after_sessions(&argc, &argv);
    else
        MPI_Init(&argc, &argv);
    MPI_Comm_get_parent(&parent);
    if (parent != MPI_COMM_NULL) {
        with_children(parent, 1);
        MPI_Finalize();
        return wrong != 0;
    }
    two_groups();
    small_ones();
    if (returns_errors())
        mistakes();
    of_sessions();
    spawning(argv[0]);
    return finish("others");
}
