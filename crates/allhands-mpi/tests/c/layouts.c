/* Derived types of every kind in collectives that move data, compared byte for byte with what MPI_Pack and MPI_Unpack make. */
#include "check.h"

enum { ROOM = 1 << 18, MIDDLE = ROOM / 2, MOST = 1 << 17 };

static char *memory, *expected, *packed;

/* What a rank has in its memory. */
static void fill(char *data, int rank)
{
    for (int i = 0; i < ROOM; i++)
        data[i] = (char)(i * 7 + i / 251 + rank * 31);
}

/* What is expected where `count` elements of `rank` come to the address of `into`. */
static void expect(int rank, int count, MPI_Datatype type, char *into)
{
    int bytes, out = 0, in = 0;
    char *source = malloc(ROOM);
    fill(source, rank);
    MPI_Pack_size(count, type, MPI_COMM_SELF, &bytes);
    EXPECT(bytes <= MOST, "too long: %d", bytes);
    MPI_Pack(source + MIDDLE, count, type, packed, MOST, &out, MPI_COMM_SELF);
    MPI_Unpack(packed, out, &in, into, count, type, MPI_COMM_SELF);
    free(source);
}

static void is_expected(const char *what, const char *name, int count)
{
    for (int i = 0; i < ROOM; i++)
        if (memory[i] != expected[i]) {
            EXPECT(0, "%s of %d %s: byte %d is %d, not %d", what, count, name, i - MIDDLE, memory[i], expected[i]);
            return;
        }
}

static void blank(void)
{
    memset(memory, 0x55, ROOM);
    memset(expected, 0x55, ROOM);
}

static void try(MPI_Comm comm, int rank, int size, const char *name, MPI_Datatype type)
{
    MPI_Aint lower, extent, true_lower, true_extent;
    MPI_Type_commit(&type);
    MPI_Type_get_extent(type, &lower, &extent);
    MPI_Type_get_true_extent(type, &true_lower, &true_extent);
    for (int count = 0; count <= 5; count += count ? 3 : 1) {
        MPI_Aint block = count * extent;
        if (labs(block) * size + labs(true_lower) + true_extent > MIDDLE)
            continue;
        for (int root = 0; root < size; root++) {
            blank();
            if (rank == root) {
                fill(memory, root);
                memcpy(expected, memory, ROOM);
            } else {
                expect(root, count, type, expected + MIDDLE);
            }
            MPI_Bcast(memory + MIDDLE, count, type, root, comm);
            is_expected("bcast", name, count);
        }
        char *own = malloc(ROOM);
        fill(own, rank);
        blank();
        MPI_Allgather(own + MIDDLE, count, type, memory + MIDDLE, count, type, comm);
        for (int r = 0; r < size; r++)
            expect(r, count, type, expected + MIDDLE + r * block);
        is_expected("allgather", name, count);
        blank();
        int *counts = malloc(2 * size * sizeof *counts), *places = counts + size;
        for (int r = 0; r < size; r++) {
            counts[r] = count;
            places[r] = r * count;
        }
        MPI_Gatherv(own + MIDDLE, count, type, memory + MIDDLE, counts, places, type, size - 1, comm);
        for (int r = 0; r < size && rank == size - 1; r++)
            expect(r, count, type, expected + MIDDLE + r * block);
        is_expected("gatherv", name, count);
        free(counts);
        free(own);
    }
    MPI_Type_free(&type);
}

/* The same from and to addresses that are in the type. */
static void absolute(MPI_Comm comm, int rank, int size)
{
    MPI_Datatype type;
    int lengths[] = {3, 5};
    MPI_Aint places[2];
    for (int root = 0; root < size; root++) {
        int one[4] = {0}, other[6] = {0};
        for (int i = 0; i < 5 && rank == root; i++)
            one[i % 3] = 10 + i % 3, other[i] = 20 + i;
        MPI_Get_address(one, &places[0]);
        MPI_Get_address(other, &places[1]);
        MPI_Type_create_hindexed(2, lengths, places, MPI_INT, &type);
        MPI_Type_commit(&type);
        MPI_Bcast(MPI_BOTTOM, 1, type, root, comm);
        MPI_Type_free(&type);
        for (int i = 0; i < 5; i++)
            EXPECT(one[i % 3] == 10 + i % 3 && other[i] == 20 + i, "absolute: %d: %d %d", i, one[i % 3], other[i]);
        EXPECT(one[3] == 0 && other[5] == 0, "absolute: more is written");
    }
}

/* Blocks that are anywhere, as their types say, go from MPI_BOTTOM to MPI_BOTTOM: that is not from a buffer to itself. */
static void from_bottom_to_bottom(MPI_Comm comm, int rank, int size, int waits)
{
    int *from = malloc(sizeof(int) * size), *to = malloc(sizeof(int) * size), counts[64], places[64], one = 1;
    MPI_Datatype out[64], back[64];
    MPI_Request request;
    for (int r = 0; r < size; r++) {
        MPI_Aint address;
        from[r] = 100 * rank + r, to[r] = -1, counts[r] = 1, places[r] = 0;
        MPI_Get_address(&from[r], &address);
        MPI_Type_create_hindexed(1, &one, &address, MPI_INT, &out[r]);
        MPI_Get_address(&to[r], &address);
        MPI_Type_create_hindexed(1, &one, &address, MPI_INT, &back[r]);
        MPI_Type_commit(&out[r]);
        MPI_Type_commit(&back[r]);
    }
    if (waits) {
        MPI_Ialltoallw(MPI_BOTTOM, counts, places, out, MPI_BOTTOM, counts, places, back, comm, &request);
        MPI_Wait(&request, MPI_STATUS_IGNORE);
    } else {
        MPI_Alltoallw(MPI_BOTTOM, counts, places, out, MPI_BOTTOM, counts, places, back, comm);
    }
    for (int r = 0; r < size; r++) {
        EXPECT(to[r] == 100 * r + rank, "from bottom to bottom: %d of %d", to[r], r);
        MPI_Type_free(&out[r]);
        MPI_Type_free(&back[r]);
    }
    free(from);
    free(to);
}

static MPI_Datatype array(int order)
{
    int sizes[] = {6, 7, 8}, parts[] = {3, 4, 5}, starts[] = {2, 1, 3};
    MPI_Datatype type;
    MPI_Type_create_subarray(3, sizes, parts, starts, order, MPI_SHORT, &type);
    return type;
}

static MPI_Datatype distributed(int rank, int size)
{
    int sizes[] = {8, 10}, distributions[] = {MPI_DISTRIBUTE_CYCLIC, MPI_DISTRIBUTE_BLOCK};
    int arguments[] = {MPI_DISTRIBUTE_DFLT_DARG, MPI_DISTRIBUTE_DFLT_DARG}, grid[] = {2, 1};
    MPI_Datatype type;
    (void)rank;
    (void)size;
    MPI_Type_create_darray(2, 1, 2, sizes, distributions, arguments, grid, MPI_ORDER_C, MPI_INT, &type);
    return type;
}

static MPI_Datatype indexed(int blocks, int longest, MPI_Datatype of)
{
    int *lengths = malloc(2 * blocks * sizeof *lengths), *places = lengths + blocks, at = 0;
    MPI_Datatype type;
    for (int i = 0; i < blocks; i++) {
        lengths[i] = i % (longest + 1);
        places[i] = at;
        at += lengths[i] + 1 + i % 2;
    }
    MPI_Type_indexed(blocks, lengths, places, of, &type);
    free(lengths);
    return type;
}

/* A structure of structures, in another order than in memory. */
static MPI_Datatype nested(void)
{
    MPI_Datatype vector, pair, inner, outer;
    int lengths[] = {2, 1, 3};
    MPI_Aint places[] = {40, 0, 16};
    MPI_Type_vector(2, 1, 3, MPI_CHAR, &vector);
    MPI_Type_create_resized(MPI_SHORT_INT, 0, 12, &pair);
    MPI_Type_create_struct(3, lengths, places, (MPI_Datatype[]){vector, MPI_DOUBLE, pair}, &inner);
    MPI_Type_create_hvector(2, 2, 200, inner, &outer);
    MPI_Type_free(&vector);
    MPI_Type_free(&pair);
    MPI_Type_free(&inner);
    return outer;
}

static MPI_Datatype resized(MPI_Datatype bare, MPI_Aint lower, MPI_Aint extent)
{
    MPI_Datatype type;
    MPI_Type_create_resized(bare, lower, extent, &type);
    MPI_Type_free(&bare);
    return type;
}

#define MADE(type, call)                                                        \
    do {                                                                        \
        MPI_Datatype type;                                                      \
        call;                                                                   \
        try(comm, rank, size, #call, type);                                     \
    } while (0)

static void layouts(MPI_Comm comm, int rank, int size)
{
    int fives[] = {5, 0, 9, 14}, lengths[] = {1, 2, 0, 3};
    MPI_Aint bytes[] = {-40, 3, 70, 24};
    MADE(t, MPI_Type_contiguous(7, MPI_INT, &t));
    MADE(t, MPI_Type_contiguous(3, MPI_DOUBLE_INT, &t));
    MADE(t, MPI_Type_vector(9, 1, 2, MPI_DOUBLE, &t));
    MADE(t, MPI_Type_vector(4, 3, -5, MPI_INT, &t));
    MADE(t, MPI_Type_vector(0, 3, 5, MPI_INT, &t));
    MADE(t, MPI_Type_create_hvector(5, 2, 11, MPI_SHORT, &t));
    MADE(t, MPI_Type_create_hvector(3, 1, -64, MPI_DOUBLE, &t));
    MADE(t, MPI_Type_create_indexed_block(4, 4, fives, MPI_FLOAT, &t));
    MADE(t, MPI_Type_create_hindexed(4, lengths, bytes, MPI_DOUBLE, &t));
    MADE(t, MPI_Type_create_hindexed_block(4, 1, bytes, MPI_SHORT_INT, &t));
    MADE(t, MPI_Type_dup(MPI_LONG_INT, &t));
#ifdef HAS_LARGE_COUNTS
    MPI_Count large[] = {5, 0, 9, 14}, large_lengths[] = {1, 2, 0, 3}, sizes[] = {6, 7}, parts[] = {3, 4};
    MPI_Datatype types[] = {MPI_INT, MPI_DOUBLE, MPI_CHAR, MPI_SHORT};
    MADE(t, MPI_Type_vector_c(9, 2, 3, MPI_DOUBLE, &t));
    MADE(t, MPI_Type_create_hvector_c(9, 2, 33, MPI_DOUBLE, &t));
    MADE(t, MPI_Type_indexed_c(4, large_lengths, large, MPI_INT, &t));
    MADE(t, MPI_Type_create_hindexed_c(4, large_lengths, (MPI_Count[]){16, 0, 40, 64}, MPI_INT, &t));
    MADE(t, MPI_Type_create_indexed_block_c(4, 3, large, MPI_INT, &t));
    MADE(t, MPI_Type_create_struct_c(4, large_lengths, (MPI_Count[]){16, 24, 40, 64}, types, &t));
    MADE(t, MPI_Type_create_subarray_c(2, sizes, parts, (MPI_Count[]){1, 2}, MPI_ORDER_FORTRAN, MPI_INT, &t));
    MADE(t, MPI_Type_contiguous_c(5, MPI_FLOAT_INT, &t));
#endif
    try(comm, rank, size, "subarrays in C's order", array(MPI_ORDER_C));
    try(comm, rank, size, "subarrays in Fortran's order", array(MPI_ORDER_FORTRAN));
    try(comm, rank, size, "distributed arrays", distributed(rank, size));
    try(comm, rank, size, "structures of structures", nested());
    try(comm, rank, size, "few blocks", indexed(7, 3, MPI_DOUBLE));
    try(comm, rank, size, "many blocks", indexed(500, 2, MPI_INT));
    try(comm, rank, size, "more blocks than are kept", indexed(7000, 2, MPI_SHORT));
    try(comm, rank, size, "blocks of blocks", indexed(5, 2, MPI_2INT));
    try(comm, rank, size, "elements among one another", resized(indexed(2, 1, MPI_INT), 0, 4));
    try(comm, rank, size, "elements before their address", resized(indexed(4, 2, MPI_INT), -100, 300));
    try(comm, rank, size, "elements that go back", resized(indexed(4, 2, MPI_INT), 0, -80));
    absolute(comm, rank, size);
    for (int waits = 0; waits < 2; waits++)
        from_bottom_to_bottom(comm, rank, size, waits);
}

/* What a type of `blocks` ints at a distance brings from the root, and where. */
static void brings(MPI_Comm comm, int rank, int root, MPI_Datatype type, const char *what, int blocks, int distance)
{
    int data[64];
    for (int i = 0; i < 64; i++)
        data[i] = rank == root ? 100 + i : -1;
    MPI_Bcast(data, 1, type, root, comm);
    for (int i = 0; i < 64; i++) {
        int is_in = i % distance == 0 && i / distance < blocks;
        int right = rank == root || is_in ? 100 + i : -1;
        EXPECT(data[i] == right, "%s, %d at %d: data[%d] is %d, not %d", what, blocks, distance, i, data[i], right);
    }
}

/* Types that live for one call, or for a few: their handles come again, and mean others. */
static void passing(MPI_Comm comm, int rank, int size)
{
    MPI_Datatype lasting, type, line;
    MPI_Type_vector(5, 1, 6, MPI_INT, &lasting);
    MPI_Type_commit(&lasting);
    for (int round = 0; round < 300; round++) {
        int blocks = 2 + round % 5, distance = 2 + round % 7, root = round % size;
        MPI_Type_vector(blocks, 1, distance, round % 2 ? MPI_INT : MPI_FLOAT, &type);
        MPI_Type_commit(&type);
        for (int again = 0; again < (round % 11 ? 1 : 3); again++)
            brings(comm, rank, root, type, "a vector", blocks, distance);
        MPI_Type_free(&type);
        /* The same numbers, of a type whose handle may be that of another before. */
        MPI_Type_create_resized(MPI_INT, 0, distance * sizeof(int), &line);
        MPI_Type_contiguous(3, line, &type);
        MPI_Type_free(&line);
        MPI_Type_commit(&type);
        brings(comm, rank, root, type, "three lines", 3, distance);
        MPI_Type_free(&type);
        if (round % 3 == 0)
            brings(comm, rank, root, lasting, "what lasts", 5, 6);
    }
    MPI_Type_free(&lasting);
}

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    memory = malloc(ROOM);
    expected = malloc(ROOM);
    packed = malloc(MOST);
    on_communicators(layouts);
    on_communicators(passing);
    free(memory);
    free(expected);
    free(packed);
    return finish("layouts");
}
