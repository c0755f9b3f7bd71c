/* The life of a program: calls before MPI_Init, a first collective on a derived communicator, wrong arguments, large counts,
   what is not taken over beside what is, and calls after MPI_Finalize. */
#define _GNU_SOURCE
#include "check.h"
#include <dlfcn.h>

/* What may be asked at any time. */
static void before_and_after(int is_begun, int is_over)
{
    int flag = -1, major = 0, minor = 0;
    MPI_Initialized(&flag);
    if (flag != is_begun)
        fprintf(stderr, "life.c: MPI_Initialized says %d\n", flag), wrong++;
    MPI_Finalized(&flag);
    if (flag != is_over)
        fprintf(stderr, "life.c: MPI_Finalized says %d\n", flag), wrong++;
    MPI_Get_version(&major, &minor);
    if (major < 3)
        fprintf(stderr, "life.c: version %d.%d\n", major, minor), wrong++;
}

/* The first collective of all is on a communicator that is not the world. */
static void first_on_a_derived_one(void)
{
    int rank, size, own, all, sum = -1;
    MPI_Comm part;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    MPI_Comm_split(MPI_COMM_WORLD, rank % 2, -rank, &part);
    MPI_Comm_rank(part, &own);
    MPI_Comm_size(part, &all);
    MPI_Allreduce(&rank, &sum, 1, MPI_INT, MPI_SUM, part);
    EXPECT(sum == all * (all - 1) + rank % 2 * all, "the sum of the part is %d", sum);
    MPI_Comm_free(&part);
}

static int class_of(int code)
{
    int class = -1;
    MPI_Error_class(code, &class);
    return class;
}

/* The native MPI says what is wrong, by the class that the standard has for it. */
static void wrong_arguments(MPI_Comm comm, int rank, int size)
{
    int one = rank, other = 0, code;
    if (!returns_errors())
        return;
    MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN);
    code = MPI_Bcast(&one, -1, MPI_INT, 0, comm);
    EXPECT(class_of(code) == MPI_ERR_COUNT, "a negative count is of class %d", class_of(code));
    code = MPI_Bcast(&one, 1, MPI_INT, size, comm);
    EXPECT(class_of(code) == MPI_ERR_ROOT, "a root that is no rank is of class %d", class_of(code));
    code = MPI_Allreduce(&one, &other, 1, MPI_INT, MPI_OP_NULL, comm);
    EXPECT(class_of(code) == MPI_ERR_OP, "no operator is of class %d", class_of(code));
    /* MPICH 4 and Open MPI look first whether the operator has such a type. */
    /* And MPICH 5 ends the program. */
    code = library_says("MPICH") && library_says(" 5.") ? MPI_ERR_TYPE : MPI_Allreduce(&one, &other, 1, MPI_DATATYPE_NULL, MPI_SUM, comm);
    EXPECT(class_of(code) == MPI_ERR_TYPE || class_of(code) == MPI_ERR_OP, "no type is of class %d", class_of(code));
    /* And the communicator is as good as before. */
    code = MPI_Allreduce(&one, &other, 1, MPI_INT, MPI_SUM, comm);
    EXPECT(code == MPI_SUCCESS && other == size * (size - 1) / 2, "after errors the sum is %d", other);
}

static void no_communicator(void)
{
    int code;
    MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    code = returns_errors() ? MPI_Barrier(MPI_COMM_NULL) : MPI_ERR_COMM;
    EXPECT(class_of(code) == MPI_ERR_COMM, "no communicator is of class %d", class_of(code));
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_ARE_FATAL);
}

/* Nonblocking and persistent calls are the MPI's, and go on beside those that are taken over. */
static void beside(MPI_Comm comm, int rank, int size)
{
    int slow = -1, fast = -1;
    MPI_Request request;
    MPI_Iallreduce(&rank, &slow, 1, MPI_INT, MPI_SUM, comm, &request);
    MPI_Allreduce(&rank, &fast, 1, MPI_INT, MPI_MAX, comm);
    MPI_Barrier(comm);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    EXPECT(slow == size * (size - 1) / 2 && fast == size - 1, "beside: %d and %d", slow, fast);
#if MPI_VERSION >= 4
    MPI_Allreduce_init(&rank, &slow, 1, MPI_INT, MPI_SUM, comm, MPI_INFO_NULL, &request);
    for (int round = 0; round < 3; round++) {
        slow = fast = -1;
        MPI_Start(&request);
        MPI_Allreduce(&rank, &fast, 1, MPI_INT, MPI_MAX, comm);
        MPI_Wait(&request, MPI_STATUS_IGNORE);
        EXPECT(slow == size * (size - 1) / 2 && fast == size - 1, "persistent beside: %d and %d", slow, fast);
    }
    MPI_Request_free(&request);
#endif
}

/* The library has the calls with large counts, whether the MPI has them or not: whoever finds them calls them. */
static void large_counts(MPI_Comm comm, int rank, int size)
{
    typedef int reduction(const void *, void *, int64_t, MPI_Datatype, MPI_Op, MPI_Comm);
    reduction *allreduce = (reduction *)dlsym(RTLD_DEFAULT, "MPI_Allreduce_c");
    EXPECT(allreduce, "there is no MPI_Allreduce_c");
    if (!allreduce)
        return;
    int sum = -1;
    int code = allreduce(&rank, &sum, 1, MPI_INT, MPI_SUM, comm);
    EXPECT(code == MPI_SUCCESS && sum == size * (size - 1) / 2, "MPI_Allreduce_c: %d", sum);
    if (!dlsym(RTLD_DEFAULT, "PMPI_Allreduce_c") && size == 1) {
        /* What passes through to an MPI without such calls must fit into an int. */
        MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN);
        code = allreduce(MPI_IN_PLACE, &sum, (int64_t)1 << 31, MPI_INT, MPI_SUM, comm);
        EXPECT(code != MPI_SUCCESS, "a count that does not fit is accepted");
    }
}

/* Persistent calls with large counts, which only MPIs with such calls can do with lists: there is no other name then. */
static void large_persistent(MPI_Comm comm, int rank, int size)
{
    typedef int reduction(const void *, void *, int64_t, MPI_Datatype, MPI_Op, MPI_Comm, MPI_Info, MPI_Request *);
    reduction *allreduce = (reduction *)dlsym(RTLD_DEFAULT, "MPI_Allreduce_init_c");
    int has_persistent = dlsym(RTLD_DEFAULT, "PMPI_Allreduce_init") != NULL, has_large = dlsym(RTLD_DEFAULT, "PMPI_Alltoallv_init_c") != NULL;
    EXPECT(has_large || !dlsym(RTLD_DEFAULT, "MPI_Alltoallv_init_c"), "MPI_Alltoallv_init_c is there");
    EXPECT(has_large || !dlsym(RTLD_DEFAULT, "MPI_Neighbor_alltoallw_c"), "MPI_Neighbor_alltoallw_c is there");
    if (!allreduce || !has_persistent)
        return;
    int sum = -1;
    MPI_Request request;
    int code = allreduce(&rank, &sum, 1, MPI_INT, MPI_SUM, comm, MPI_INFO_NULL, &request);
    EXPECT(code == MPI_SUCCESS, "MPI_Allreduce_init_c: %d", code);
    if (code != MPI_SUCCESS)
        return;
    MPI_Start(&request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    MPI_Request_free(&request);
    EXPECT(sum == size * (size - 1) / 2, "MPI_Allreduce_init_c: %d", sum);
    if (!has_large) {
        code = allreduce(MPI_IN_PLACE, &sum, (int64_t)1 << 31, MPI_INT, MPI_SUM, comm, MPI_INFO_NULL, &request);
        EXPECT(code != MPI_SUCCESS, "a count that does not fit is accepted");
    }
}

/* Lists of the root alone: elsewhere they may be anything, also what does not fit into an int. */
static void lists_of_the_root(void)
{
    typedef int gather(const void *, int64_t, MPI_Datatype, void *, const int64_t *, const MPI_Aint *, MPI_Datatype, int,
                       MPI_Comm);
    gather *gatherv = (gather *)dlsym(RTLD_DEFAULT, "MPI_Gatherv_c");
    int rank, size;
    MPI_Comm part, between;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    if (size < 2 || !gatherv)
        return;
    int half = size / 2, in_first = rank < half;
    MPI_Comm_split(MPI_COMM_WORLD, in_first, rank, &part);
    MPI_Intercomm_create(part, 0, MPI_COMM_WORLD, in_first ? half : 0, 5, &between);
    int64_t counts[64];
    MPI_Aint places[64];
    int from[64];
    for (int r = 0; r < 64; r++) {
        counts[r] = rank == 0 ? 1 : INT64_MIN + r;
        places[r] = rank == 0 ? r : (MPI_Aint)(INT64_MAX - r);
        from[r] = -1;
    }
    int root = rank == 0 ? MPI_ROOT : in_first ? MPI_PROC_NULL : 0;
    int code = gatherv(&rank, 1, MPI_INT, from, counts, places, MPI_INT, root, between);
    EXPECT(code == MPI_SUCCESS, "MPI_Gatherv_c between groups: %d", code);
    for (int r = 0; rank == 0 && r < size - half; r++)
        EXPECT(from[r] == half + r, "MPI_Gatherv_c between groups: %d of %d", from[r], r);
    MPI_Comm_free(&between);
    MPI_Comm_free(&part);
}

int main(void)
{
    before_and_after(0, 0);
    MPI_Init(NULL, NULL);
    before_and_after(1, 0);
    first_on_a_derived_one();
    no_communicator();
    on_communicators(beside);
    on_communicators(large_counts);
    on_communicators(large_persistent);
    lists_of_the_root();
    MPI_Comm copy;
    int rank, size;
    MPI_Comm_dup(MPI_COMM_WORLD, &copy);
    MPI_Comm_rank(copy, &rank);
    MPI_Comm_size(copy, &size);
    wrong_arguments(copy, rank, size);
    MPI_Comm_free(&copy);
    int is_wrong = finish("life");
    int known = wrong;
    before_and_after(1, 1);
    return is_wrong || wrong > known;
}
