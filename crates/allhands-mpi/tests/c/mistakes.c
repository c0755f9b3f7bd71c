/* Mistakes of a program: errors are those of the native MPI, whoever makes them, nobody waits for a rank that has left a call,
   and afterwards the communicator is as good as before. */
#include "check.h"

enum { FAMILY_MPICH, FAMILY_OPEN };

static MPI_Comm comm;
static int rank, size, family, *from, *to, counts[64], places[64], byte_places[64];
static MPI_Datatype ints[64], raw;
enum { N = 6 };

static int class_of(int code)
{
    int class = MPI_SUCCESS;
    if (code != MPI_SUCCESS)
        MPI_Error_class(code, &class);
    return class;
}

/* What a class is where Open MPI has another one. */
static int or_arg(int class)
{
    return family == FAMILY_OPEN ? MPI_ERR_ARG : class;
}

static int unless_open(int class)
{
    return family == FAMILY_OPEN ? MPI_SUCCESS : class;
}

/* The communicator is as good as before. */
static void still_good(const char *what)
{
    int sum = -1, all[64], word = rank == size - 1 ? 4711 : 0;
    int code = MPI_Allreduce(&rank, &sum, 1, MPI_INT, MPI_SUM, comm);
    EXPECT(code == MPI_SUCCESS && sum == size * (size - 1) / 2, "after %s: class %d, sum %d", what, class_of(code), sum);
    code = MPI_Allgather(&rank, 1, MPI_INT, all, 1, MPI_INT, comm);
    for (int r = 0; r < size; r++)
        EXPECT(code == MPI_SUCCESS && all[r] == r, "after %s: class %d, %d of %d", what, class_of(code), all[r], r);
    code = MPI_Bcast(&word, 1, MPI_INT, size - 1, comm);
    EXPECT(code == MPI_SUCCESS && word == 4711, "after %s: class %d, word %d", what, class_of(code), word);
}

/* A mistake of all ranks, which all of them hear of. */
#define ALL(class, call)                                                                       \
    do {                                                                                       \
        int class_ = class_of(call);                                                           \
        EXPECT(class_ == (class), #call ": class %d instead of %d", class_, (class));          \
        still_good(#call);                                                                     \
    } while (0)

/* A mistake of one rank: the others may hear of it, and do not wait for ever. */
#define ONE(who, class, call)                                                                  \
    do {                                                                                       \
        int class_ = class_of(call);                                                           \
        EXPECT(rank != (who) || class_ == (class), #call ": class %d instead of %d", class_, (class)); \
        still_good(#call);                                                                     \
    } while (0)

static void fill(void)
{
    for (int i = 0; i < N * 66; i++)
        from[i] = rank * 1000 + i, to[i] = -1;
}

static void aliases(void)
{
    ALL(MPI_ERR_BUFFER, MPI_Allreduce(to, to, N, MPI_INT, MPI_SUM, comm));
    ONE(0, or_arg(MPI_ERR_BUFFER), MPI_Reduce(rank ? from : to, to, N, MPI_INT, MPI_SUM, 0, comm));
    ALL(unless_open(MPI_ERR_BUFFER), MPI_Scan(to, to, N, MPI_INT, MPI_SUM, comm));
    ALL(unless_open(MPI_ERR_BUFFER), MPI_Exscan(to, to, N, MPI_INT, MPI_SUM, comm));
    ALL(unless_open(MPI_ERR_BUFFER), MPI_Reduce_scatter_block(to, to, N, MPI_INT, MPI_SUM, comm));
    ALL(unless_open(MPI_ERR_BUFFER), MPI_Reduce_scatter(to, to, counts, MPI_INT, MPI_SUM, comm));
    for (int root = 0; root < size; root++) {
        ONE(root, unless_open(MPI_ERR_BUFFER), MPI_Gather(to + rank * N, N, MPI_INT, to, N, MPI_INT, root, comm));
        ONE(root, unless_open(MPI_ERR_BUFFER), MPI_Scatter(from, N, MPI_INT, from + rank * N, N, MPI_INT, root, comm));
    }
    ONE(0, unless_open(MPI_ERR_BUFFER), MPI_Gatherv(to, N, MPI_INT, to, counts, places, MPI_INT, 0, comm));
    ONE(0, unless_open(MPI_ERR_BUFFER), MPI_Scatterv(from, counts, places, MPI_INT, rank ? to : from, N, MPI_INT, 0, comm));
    ALL(unless_open(MPI_ERR_BUFFER), MPI_Allgather(to + rank * N, N, MPI_INT, to, N, MPI_INT, comm));
    ALL(unless_open(MPI_ERR_BUFFER), MPI_Allgatherv(to + rank * N, N, MPI_INT, to, counts, places, MPI_INT, comm));
    ALL(unless_open(MPI_ERR_BUFFER), MPI_Alltoall(to, N, MPI_INT, to, N, MPI_INT, comm));
    ALL(unless_open(MPI_ERR_BUFFER), MPI_Alltoallv(to, counts, places, MPI_INT, to, counts, places, MPI_INT, comm));
    ALL(unless_open(MPI_ERR_BUFFER), MPI_Alltoallw(to, counts, byte_places, ints, to, counts, byte_places, ints, comm));
    /* No elements are in nobody's way. */
    ALL(MPI_SUCCESS, MPI_Allreduce(to, to, 0, MPI_INT, MPI_SUM, comm));
    ALL(MPI_SUCCESS, MPI_Allgather(to, 0, MPI_INT, to, 0, MPI_INT, comm));
}

/* A place that the call needs is said to be elsewhere. MPICH does not look everywhere, and would end in a segmentation fault. */
static void in_place(void)
{
    ALL(or_arg(MPI_ERR_BUFFER), MPI_Bcast(MPI_IN_PLACE, N, MPI_INT, 0, comm));
    ALL(MPI_ERR_BUFFER, MPI_Allreduce(from, MPI_IN_PLACE, N, MPI_INT, MPI_SUM, comm));
    ALL(MPI_ERR_BUFFER, MPI_Allreduce(MPI_IN_PLACE, MPI_IN_PLACE, N, MPI_INT, MPI_SUM, comm));
    ONE(0, or_arg(MPI_ERR_BUFFER), MPI_Reduce(from, rank ? to : MPI_IN_PLACE, N, MPI_INT, MPI_SUM, 0, comm));
    ONE(size - 1, or_arg(MPI_ERR_BUFFER), MPI_Reduce(rank < size - 1 ? from : MPI_IN_PLACE, to, N, MPI_INT, MPI_SUM, 0, comm));
    ALL(or_arg(MPI_ERR_BUFFER), MPI_Scan(from, MPI_IN_PLACE, N, MPI_INT, MPI_SUM, comm));
    ALL(or_arg(MPI_ERR_BUFFER), MPI_Exscan(from, MPI_IN_PLACE, N, MPI_INT, MPI_SUM, comm));
    ALL(or_arg(MPI_ERR_BUFFER), MPI_Reduce_scatter_block(from, MPI_IN_PLACE, N, MPI_INT, MPI_SUM, comm));
    ALL(or_arg(MPI_ERR_BUFFER), MPI_Reduce_scatter(from, MPI_IN_PLACE, counts, MPI_INT, MPI_SUM, comm));
    ONE(0, or_arg(MPI_ERR_BUFFER), MPI_Gather(from, N, MPI_INT, MPI_IN_PLACE, N, MPI_INT, 0, comm));
    ONE(size - 1, or_arg(MPI_ERR_BUFFER), MPI_Gather(rank < size - 1 ? from : MPI_IN_PLACE, N, MPI_INT, to, N, MPI_INT, 0, comm));
    ONE(0, or_arg(MPI_ERR_BUFFER), MPI_Gatherv(from, N, MPI_INT, MPI_IN_PLACE, counts, places, MPI_INT, 0, comm));
    ONE(0, or_arg(MPI_ERR_BUFFER), MPI_Scatter(MPI_IN_PLACE, N, MPI_INT, to, N, MPI_INT, 0, comm));
    ONE(size - 1, or_arg(MPI_ERR_BUFFER), MPI_Scatter(from, N, MPI_INT, rank < size - 1 ? to : MPI_IN_PLACE, N, MPI_INT, 0, comm));
    ONE(size - 1, or_arg(MPI_ERR_BUFFER),
        MPI_Scatterv(from, counts, places, MPI_INT, rank < size - 1 ? to : MPI_IN_PLACE, N, MPI_INT, 0, comm));
    ALL(or_arg(MPI_ERR_BUFFER), MPI_Allgather(from, N, MPI_INT, MPI_IN_PLACE, N, MPI_INT, comm));
    ALL(or_arg(MPI_ERR_BUFFER), MPI_Allgatherv(from, N, MPI_INT, MPI_IN_PLACE, counts, places, MPI_INT, comm));
    ALL(or_arg(MPI_ERR_BUFFER), MPI_Alltoall(from, N, MPI_INT, MPI_IN_PLACE, N, MPI_INT, comm));
    ALL(or_arg(MPI_ERR_BUFFER), MPI_Alltoallv(from, counts, places, MPI_INT, MPI_IN_PLACE, counts, places, MPI_INT, comm));
}

/* Buffers of some elements at no address, which Open MPI does not look at. */
static void at_no_address(void)
{
    ALL(MPI_ERR_BUFFER, MPI_Bcast(NULL, N, MPI_INT, 0, comm));
    ALL(MPI_ERR_BUFFER, MPI_Allreduce(NULL, to, N, MPI_INT, MPI_SUM, comm));
    ALL(MPI_ERR_BUFFER, MPI_Allreduce(from, NULL, N, MPI_INT, MPI_SUM, comm));
    ONE(size - 1, MPI_ERR_BUFFER, MPI_Allreduce(rank < size - 1 ? from : NULL, to, N, MPI_INT, MPI_SUM, comm));
    ONE(0, MPI_ERR_BUFFER, MPI_Reduce(from, NULL, N, MPI_INT, MPI_SUM, 0, comm));
    ONE(0, MPI_ERR_BUFFER, MPI_Gather(from, N, MPI_INT, NULL, N, MPI_INT, 0, comm));
    ONE(0, MPI_ERR_BUFFER, MPI_Scatter(NULL, N, MPI_INT, to, N, MPI_INT, 0, comm));
    ALL(MPI_ERR_BUFFER, MPI_Alltoall(from, N, MPI_INT, NULL, N, MPI_INT, comm));
}

static void types(void)
{
    MPI_Type_contiguous(1, MPI_INT, &raw);
    ALL(MPI_ERR_TYPE, MPI_Bcast(to, N, raw, 0, comm));
    ONE(0, MPI_ERR_TYPE, MPI_Bcast(to, N, rank ? MPI_INT : raw, 0, comm));
    ONE(size - 1, MPI_ERR_TYPE, MPI_Gather(from, N, rank < size - 1 ? MPI_INT : raw, to, N, MPI_INT, 0, comm));
    ONE(0, unless_open(MPI_ERR_TYPE), MPI_Gather(from, N, MPI_INT, to, N, raw, 0, comm));
    ONE(0, unless_open(MPI_ERR_TYPE), MPI_Scatter(from, N, raw, to, N, MPI_INT, 0, comm));
    ALL(unless_open(MPI_ERR_TYPE), MPI_Scatter(from, N, MPI_INT, to, N, raw, 0, comm));
    ALL(MPI_ERR_TYPE, MPI_Allgather(from, N, raw, to, N, MPI_INT, comm));
    ALL(unless_open(MPI_ERR_TYPE), MPI_Allgather(from, N, MPI_INT, to, N, raw, comm));
    ALL(MPI_ERR_TYPE, MPI_Alltoall(from, N, raw, to, N, MPI_INT, comm));
    ints[size - 1] = raw;
    ALL(MPI_ERR_TYPE, MPI_Alltoallw(from, counts, byte_places, ints, to, counts, byte_places, ints, comm));
    ints[size - 1] = MPI_INT;
    /* Once it is committed it is a type like others. */
    MPI_Type_commit(&raw);
    ALL(MPI_SUCCESS, MPI_Bcast(to, N, raw, 0, comm));
    MPI_Type_free(&raw);
    /* And another one that is made alike is not. */
    MPI_Type_contiguous(1, MPI_INT, &raw);
    ALL(MPI_ERR_TYPE, MPI_Bcast(to, N, raw, 0, comm));
    MPI_Type_free(&raw);
}

/* Arguments that one rank alone has wrong. */
static void of_one_rank(void)
{
    for (int who = 0; who < size; who++) {
        ONE(who, MPI_ERR_COUNT, MPI_Bcast(to, rank == who ? -1 : N, MPI_INT, 0, comm));
        ONE(who, MPI_ERR_ROOT, MPI_Bcast(to, N, MPI_INT, rank == who ? size : 0, comm));
        ONE(who, MPI_ERR_OP, MPI_Allreduce(from, to, N, MPI_INT, rank == who ? MPI_OP_NULL : MPI_SUM, comm));
    }
}

/* Calls that one rank alone makes, and wrongly: they count as none, and all go on with those that all make, also of that kind. */
static void alone(void)
{
    for (int who = 0; who < size; who++)
        for (int first = 0; first < 3; first++) {
            int word = rank == 0 ? 99 : 0, sum = -1, code;
            if (rank == who) {
                EXPECT(class_of(MPI_Bcast(to, -1, MPI_INT, 0, comm)) == MPI_ERR_COUNT, "alone: rank %d", who);
                EXPECT(class_of(MPI_Allreduce(from, to, N, MPI_INT, MPI_OP_NULL, comm)) == MPI_ERR_OP, "alone: rank %d", who);
            }
            if (first == 0) {
                code = MPI_Bcast(&word, 1, MPI_INT, 0, comm);
                EXPECT(code == MPI_SUCCESS && word == 99, "alone, %d: class %d, word %d", who, class_of(code), word);
            } else if (first == 1) {
                code = MPI_Allreduce(&rank, &sum, 1, MPI_INT, MPI_SUM, comm);
                EXPECT(code == MPI_SUCCESS && sum == size * (size - 1) / 2, "alone, %d: class %d, sum %d", who, class_of(code), sum);
            }
            still_good("a wrong call of one rank");
        }
}

/* Calls that several ranks make wrongly, and the others rightly: they fail on all, and those after them are as ever. */
static void of_several_ranks(void)
{
    for (int who = 0; who < size; who++) {
        int is_wrong = rank != who;
        int code = MPI_Bcast(to, is_wrong ? -1 : N, MPI_INT, 0, comm);
        EXPECT(!is_wrong || class_of(code) == MPI_ERR_COUNT, "several: class %d", class_of(code));
        code = MPI_Allreduce(from, to, N, MPI_INT, is_wrong ? MPI_OP_NULL : MPI_SUM, comm);
        EXPECT(!is_wrong || class_of(code) == MPI_ERR_OP, "several: class %d", class_of(code));
        still_good("wrong calls of several ranks");
    }
}

/* Lengths that do not match, of messages that are short and of ones that are long. */
static void lengths(int n)
{
    int *here = malloc(sizeof(int) * (n + 2) * (size + 1)), *there = malloc(sizeof(int) * (n + 2) * (size + 1));
    memset(here, 0, sizeof(int) * (n + 2) * (size + 1));
    for (int who = 1; who < size; who++)
        ONE(who, MPI_ERR_TRUNCATE, MPI_Bcast(here, rank == who ? n - 1 : n, MPI_INT, 0, comm));
    ONE(0, MPI_ERR_TRUNCATE, MPI_Gather(here, n, MPI_INT, there, rank ? n : n - 1, MPI_INT, 0, comm));
    for (int who = 0; who < size; who++)
        ONE(0, MPI_ERR_TRUNCATE, MPI_Gather(here, rank == who ? n + 1 : n, MPI_INT, there, n, MPI_INT, 0, comm));
    for (int who = 0; who < size; who++)
        ONE(who, MPI_ERR_TRUNCATE, MPI_Scatter(here, n, MPI_INT, there, rank == who ? n - 1 : n, MPI_INT, 0, comm));
    for (int who = 0; who < size; who++)
        ONE(who, MPI_ERR_TRUNCATE, MPI_Allgather(here, n, MPI_INT, there, rank == who ? n - 1 : n, MPI_INT, comm));
    ALL(MPI_ERR_TRUNCATE, MPI_Allgather(here, n, MPI_INT, there, n - 1, MPI_INT, comm));
    ALL(MPI_ERR_TRUNCATE, MPI_Alltoall(here, n, MPI_INT, there, n - 1, MPI_INT, comm));
    ONE(0, MPI_ERR_TRUNCATE, MPI_Allreduce(here, there, rank ? n : n - 1, MPI_INT, MPI_SUM, comm));
    ONE(0, MPI_ERR_TRUNCATE, MPI_Reduce(here, there, rank ? n : n - 1, MPI_INT, MPI_SUM, 0, comm));
    free(here);
    free(there);
}

/* More room than what is sent fills: what is behind it is left alone. */
static void more_room(void)
{
    enum { ROOM = N + 3 };
    int all[ROOM * 64], block[N];
    for (int i = 0; i < N; i++)
        block[i] = rank * 10 + i;
    for (int way = 0; way < 2; way++) {
        for (int i = 0; i < ROOM * size; i++)
            all[i] = -7;
        int code = way ? MPI_Allgather(block, N, MPI_INT, all, ROOM, MPI_INT, comm)
                       : MPI_Gather(block, N, MPI_INT, all, ROOM, MPI_INT, 0, comm);
        EXPECT(code == MPI_SUCCESS, "way %d: class %d", way, class_of(code));
        for (int i = 0; (way || !rank) && i < ROOM * size; i++) {
            int right = i % ROOM < N ? i / ROOM * 10 + i % ROOM : -7;
            EXPECT(all[i] == right, "way %d: %d of %d", way, all[i], i);
        }
        still_good("more room");
    }
}

/* What blocks look like whose room is longer than what some ranks send. */
struct layout {
    MPI_Datatype type;
    /* Ints from element to element, elements of a block's room, and from block to block; how many an odd rank's block has. */
    int step, room, apart, sent;
};

static int sent_of(const struct layout *l, int r)
{
    return r % 2 ? l->sent : l->room;
}

/* Whether a block has what was sent for rank r, and the rest of its room is left alone. */
static int holds(const struct layout *l, const int *block, int r, int sent, int room)
{
    int right = 1;
    for (int i = 0; i < room * l->step; i++)
        right &= block[i] == (i % l->step || i / l->step >= sent ? -7 : r * 1000 + i / l->step);
    return right;
}

/* Gathers where the root has more room than some ranks send, and scatters where they have. */
static void of_one_with_room(const struct layout *l, int root, int waits)
{
    int ints = l->apart * l->step * size, blocks[64], all[64], sent[64], code;
    int *big = malloc(sizeof(int) * ints), *small = malloc(sizeof(int) * l->room * l->step);
    MPI_Request request;
    for (int i = 0; i < ints; i++)
        big[i] = -7;
    for (int i = 0; i < l->room; i++)
        small[i] = rank * 1000 + i;
    for (int r = 0; r < size; r++)
        blocks[r] = r * l->apart, all[r] = l->room, sent[r] = sent_of(l, r);
    if (waits) {
        code = MPI_Igatherv(small, sent[rank], MPI_INT, big, all, blocks, l->type, root, comm, &request);
        code = code ? code : MPI_Wait(&request, MPI_STATUS_IGNORE);
    } else {
        code = MPI_Gatherv(small, sent[rank], MPI_INT, big, all, blocks, l->type, root, comm);
    }
    EXPECT(code == MPI_SUCCESS, "gatherv of %d: class %d", l->sent, class_of(code));
    for (int r = 0; r < size; r++)
        EXPECT(rank != root || holds(l, big + blocks[r] * l->step, r, sent[r], l->apart), "gatherv of %d, %d apart, from %d", l->sent, l->apart, r);
    for (int i = 0; i < ints; i++)
        big[i] = i / (l->apart * l->step) * 1000 + i % (l->apart * l->step) / l->step;
    for (int i = 0; i < l->room * l->step; i++)
        small[i] = -7;
    /* The root's own data is all in the places that a receiver of this type reads. */
    if (waits) {
        code = MPI_Iscatterv(big, sent, blocks, l->type, small, l->room, l->type, root, comm, &request);
        code = code ? code : MPI_Wait(&request, MPI_STATUS_IGNORE);
    } else {
        code = MPI_Scatterv(big, sent, blocks, l->type, small, l->room, l->type, root, comm);
    }
    EXPECT(code == MPI_SUCCESS, "scatterv of %d: class %d", l->sent, class_of(code));
    EXPECT(holds(l, small, rank, sent[rank], l->room), "scatterv of %d to %d elements of %d ints", l->sent, l->room, l->step);
    free(big);
    free(small);
}

/* Exchanges blocks for which there is more room than odd ranks send. */
static void exchange_with_room(const struct layout *l, int waits)
{
    int ints = l->apart * l->step * size, blocks[64], from_blocks[64], all[64], sent[64], code;
    int *big = malloc(sizeof(int) * ints), *out = malloc(sizeof(int) * l->room * size);
    MPI_Request request;
    for (int i = 0; i < ints; i++)
        big[i] = -7;
    for (int i = 0; i < l->room * size; i++)
        out[i] = rank * 1000 + i % l->room;
    for (int r = 0; r < size; r++)
        blocks[r] = r * l->apart, all[r] = l->room, sent[r] = sent_of(l, rank), from_blocks[r] = r * l->room;
    if (waits) {
        code = MPI_Ialltoallv(out, sent, from_blocks, MPI_INT, big, all, blocks, l->type, comm, &request);
        code = code ? code : MPI_Wait(&request, MPI_STATUS_IGNORE);
    } else {
        code = MPI_Alltoallv(out, sent, from_blocks, MPI_INT, big, all, blocks, l->type, comm);
    }
    EXPECT(code == MPI_SUCCESS, "alltoallv of %d: class %d", l->sent, class_of(code));
    for (int r = 0; r < size; r++)
        EXPECT(holds(l, big + blocks[r] * l->step, r, sent_of(l, r), l->apart), "alltoallv of %d, %d apart, from %d", l->sent, l->apart, r);
    free(big);
    free(out);
}

/* Scatters blocks of one length to ranks that have more room. That may be refused but between two ranks of a node: all blocks of
   theirs come straight from the root. */
static void scatter_with_room(const struct layout *l, int root, int waits)
{
    int may_fail = size > 2 || getenv("ALLHANDS_NODES"), n = l->sent, code;
    int *big = malloc(sizeof(int) * n * size), *small = malloc(sizeof(int) * l->room * l->step);
    MPI_Request request;
    for (int i = 0; i < n * size; i++)
        big[i] = i / n * 1000 + i % n;
    for (int i = 0; i < l->room * l->step; i++)
        small[i] = -7;
    if (waits) {
        code = MPI_Iscatter(big, n, MPI_INT, small, l->room, l->type, root, comm, &request);
        code = code ? code : MPI_Wait(&request, MPI_STATUS_IGNORE);
    } else {
        code = MPI_Scatter(big, n, MPI_INT, small, l->room, l->type, root, comm);
    }
    EXPECT(code == MPI_SUCCESS || (may_fail && class_of(code) == MPI_ERR_TRUNCATE), "scatter of %d: class %d", n, class_of(code));
    EXPECT(code != MPI_SUCCESS || holds(l, small, rank, n, l->room), "scatter of %d to %d elements of %d ints", n, l->room, l->step);
    still_good("a scatter with more room");
    free(big);
    free(small);
}

/* More room than is sent, on one side alone. */
static void more_room_elsewhere(void)
{
    MPI_Datatype spaced;
    MPI_Type_create_resized(MPI_INT, 0, 2 * sizeof(int), &spaced);
    MPI_Type_commit(&spaced);
    int sent[] = {1, N, 5000, 5000, 300000}, room[] = {N, 5000, 5001, 300000, 450000};
    for (int i = 0; i < 5; i++)
        for (int way = 0; way < 16; way++) {
            struct layout l = {MPI_INT, 1, room[i], room[i], sent[i]};
            if (way & 1)
                l.type = spaced, l.step = 2;
            if (way & 2)
                l.apart += 5;
            of_one_with_room(&l, way & 4 ? size - 1 : 0, way & 8);
            /* Natively an error in Open MPI, to whom nonblocking calls between nodes go. */
            if (!(way & 4) && !(family == FAMILY_OPEN && way & 8 && getenv("ALLHANDS_NODES")))
                exchange_with_room(&l, way & 8);
            /* A request's error would be the world's. */
            if (!(way & 2) && (size == 2 || !(way & 8)))
                scatter_with_room(&l, way & 4 ? size - 1 : 0, way & 8);
        }
    MPI_Type_free(&spaced);
    still_good("more room elsewhere");
}

/* The longest messages, in numbers, that may be longer than their room. Between nodes it is an MPI's receive that finds it: MPICH 4
   and Intel MPI hand that to the world's handler, which ends the program, and Open MPI 5 writes beyond the room where ranks share a
   machine, as they do if they pretend to be on several nodes. */
static int longest(void)
{
    if (!getenv("ALLHANDS_NODES"))
        return 300000;
    if (library_says("Intel") || library_says("MPICH Version:\t4"))
        return 0;
    return family == FAMILY_OPEN ? N : 300000;
}

/* Who has found a mistake waits for a message of a rank that is still in the call. */
static void elsewhere(void)
{
    int got = -1;
    for (int way = longest() ? 0 : 2; way < 3; way++) {
        int code, n = rank ? N : N - 1;
        if (way == 0)
            code = MPI_Allgather(from, N, MPI_INT, to, n, MPI_INT, comm);
        else if (way == 1)
            code = MPI_Gather(from, N, MPI_INT, to, n, MPI_INT, 0, comm);
        else
            code = MPI_Allreduce(from, rank ? to : NULL, N, MPI_INT, MPI_SUM, comm);
        EXPECT(rank || code != MPI_SUCCESS, "way %d: no error", way);
        if (rank == 0) {
            for (int r = 1; r < size; r++)
                MPI_Recv(&got, 1, MPI_INT, r, way, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        } else {
            MPI_Send(&rank, 1, MPI_INT, 0, way, MPI_COMM_WORLD);
        }
        still_good("a wait elsewhere");
    }
}

/* Calls that some ranks have ended before others find a mistake. */
static void ahead(void)
{
    int word = rank ? -1 : 5;
    for (int round = 0; round < 20; round++) {
        /* The root is through with this, and with the next ones. */
        int code = MPI_Bcast(&word, rank == size - 1 && round % 4 == 3 ? 0 : 1, MPI_INT, 0, comm);
        EXPECT(round % 4 == 3 || rank == 0 || code != MPI_SUCCESS || word == 5, "round %d: %d", round, word);
    }
    /* Those who are behind hear of it in so many calls as they are. */
    for (int call = 0; call < 64; call++) {
        int sum = -1;
        MPI_Allreduce(&rank, &sum, 1, MPI_INT, MPI_SUM, comm);
    }
    still_good("a rank ahead");
}

int main(void)
{
    MPI_Init(NULL, NULL);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    family = library_says("Open MPI") ? FAMILY_OPEN : FAMILY_MPICH;
    from = malloc(sizeof(int) * N * 66), to = malloc(sizeof(int) * N * 66);
    for (int r = 0; r < 64; r++)
        counts[r] = N, places[r] = r * N, byte_places[r] = 4 * r * N, ints[r] = MPI_INT;
    fill();
    MPI_Comm_dup(MPI_COMM_WORLD, &comm);
    MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN);
    still_good("nothing");
    if (size > 1 && returns_errors()) {
        aliases();
        in_place();
        at_no_address();
        types();
        of_one_rank();
        alone();
        of_several_ranks();
        for (int i = 0; i < 3; i++) {
            int n = i == 0 ? N : i == 1 ? 5000 : 300000;
            if (n <= longest())
                lengths(n);
        }
        more_room();
        more_room_elsewhere();
        elsewhere();
        if (longest())
            ahead();
    }
    MPI_Comm_free(&comm);
    free(from);
    free(to);
    return finish("mistakes");
}
