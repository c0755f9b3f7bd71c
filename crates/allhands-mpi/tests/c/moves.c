/* Collectives that move data: counts, roots, in place, types that differ among ranks, and types with gaps. */
#include "check.h"

enum { MOST = 3000 };
static const int counts[] = {0, 1, 7, 1000, 3000};
#define EACH(n) (sizeof(n) / sizeof(n)[0])

/* The value that rank `from` has for rank `to` at place `i`. */
static int value(int from, int to, int i)
{
    return from * 1000003 + to * 10007 + i * 31 + 5;
}

static int *filled(int from, int to, int count)
{
    int *data = malloc((count + 1) * sizeof *data);
    for (int i = 0; i < count; i++)
        data[i] = value(from, to, i);
    return data;
}

static int *blank(int count)
{
    int *data = malloc((count + 1) * sizeof *data);
    for (int i = 0; i <= count; i++)
        data[i] = -1;
    return data;
}

static void is_block(const int *block, int from, int to, int count, const char *what)
{
    for (int i = 0; i < count; i++)
        if (block[i] != value(from, to, i)) {
            EXPECT(0, "%s: block of %d for %d, %d of %d: %d", what, from, to, i, count, block[i]);
            return;
        }
}

static void bcast(MPI_Comm comm, int rank, int size, int count)
{
    for (int root = 0; root < size; root++) {
        int *data = rank == root ? filled(root, 0, count) : blank(count);
        MPI_Bcast(data, count, MPI_INT, root, comm);
        is_block(data, root, 0, count, "bcast");
        free(data);
    }
}

static void gather_and_scatter(MPI_Comm comm, int rank, int size, int count)
{
    for (int root = 0; root < size; root++)
        for (int in_place = 0; in_place < 2; in_place++) {
            int *own = filled(rank, 0, count), *all = blank(size * count);
            int here = in_place && rank == root;
            if (here)
                memcpy(all + rank * count, own, count * sizeof *own);
            MPI_Gather(here ? MPI_IN_PLACE : own, count, MPI_INT, all, count, MPI_INT, root, comm);
            for (int r = 0; r < size && rank == root; r++)
                is_block(all + r * count, r, 0, count, "gather");
            EXPECT(rank == root || all[0] == -1, "gather: written on a rank that is not the root");
            free(own);
            own = blank(count);
            for (int r = 0; r < size && rank == root; r++)
                for (int i = 0; i < count; i++)
                    all[r * count + i] = value(root, r, i);
            MPI_Scatter(all, count, MPI_INT, here ? MPI_IN_PLACE : (void *)own, count, MPI_INT, root, comm);
            if (!here)
                is_block(own, root, rank, count, "scatter");
            free(own);
            free(all);
        }
}

static void allgather_and_alltoall(MPI_Comm comm, int rank, int size, int count)
{
    for (int in_place = 0; in_place < 2; in_place++) {
        int *own = filled(rank, 0, count), *all = blank(size * count), *to = blank(size * count);
        memcpy(all + rank * count, own, count * sizeof *own);
        MPI_Allgather(in_place ? MPI_IN_PLACE : own, count, MPI_INT, all, count, MPI_INT, comm);
        for (int r = 0; r < size; r++)
            is_block(all + r * count, r, 0, count, "allgather");
        for (int r = 0; r < size; r++)
            for (int i = 0; i < count; i++)
                all[r * count + i] = value(rank, r, i);
        memcpy(to, all, size * count * sizeof *to);
        MPI_Alltoall(in_place ? MPI_IN_PLACE : all, count, MPI_INT, to, count, MPI_INT, comm);
        for (int r = 0; r < size; r++)
            is_block(to + r * count, r, rank, count, "alltoall");
        free(own);
        free(all);
        free(to);
    }
}

/* Blocks of lengths of their own, in the reverse order and with gaps between them. */
static void uneven(MPI_Comm comm, int rank, int size, int count)
{
    int *lengths = malloc(size * sizeof *lengths), *places = malloc(size * sizeof *places), room = 0;
    for (int r = size; r-- > 0;) {
        lengths[r] = count + r;
        places[r] = room;
        room += lengths[r] + 3;
    }
    int mine = lengths[rank], *own = filled(rank, 0, mine);
    for (int root = -1; root < size; root++)
        for (int in_place = 0; in_place < 2; in_place++) {
            int *all = blank(room), *back = blank(mine), everywhere = root < 0;
            int here = in_place && (everywhere || rank == root);
            memcpy(all + places[rank], own, mine * sizeof *own);
            const void *from = here ? MPI_IN_PLACE : own;
            if (everywhere)
                MPI_Allgatherv(from, mine, MPI_INT, all, lengths, places, MPI_INT, comm);
            else
                MPI_Gatherv(from, mine, MPI_INT, all, lengths, places, MPI_INT, root, comm);
            for (int r = 0; r < size && (everywhere || rank == root); r++) {
                is_block(all + places[r], r, 0, lengths[r], "gatherv");
                EXPECT(all[places[r] + lengths[r]] == -1, "gatherv: a gap is written");
            }
            if (!everywhere) {
                for (int r = 0; r < size; r++)
                    for (int i = 0; i < lengths[r]; i++)
                        all[places[r] + i] = value(root, r, i);
                MPI_Scatterv(all, lengths, places, MPI_INT, here ? MPI_IN_PLACE : (void *)back, mine,
                             MPI_INT, root, comm);
                if (!here)
                    is_block(back, root, rank, mine, "scatterv");
            }
            free(all);
            free(back);
        }
    free(own);
    free(lengths);
    free(places);
}

/* Every pair has a length of its own; with displacements of elements, and of bytes. */
static void alltoallv_and_w(MPI_Comm comm, int rank, int size, int count)
{
    int *lists = malloc(6 * size * sizeof *lists);
    int *sent = lists, *to = lists + size, *received = lists + 2 * size, *from = lists + 3 * size;
    int *to_bytes = lists + 4 * size, *from_bytes = lists + 5 * size, room = 0, space = 0;
    MPI_Datatype *types = malloc(size * sizeof *types);
    for (int r = 0; r < size; r++) {
        sent[r] = count + (rank + 2 * r) % 4;
        received[r] = count + (r + 2 * rank) % 4;
        to[r] = room;
        from[r] = space;
        to_bytes[r] = 4 * room;
        from_bytes[r] = 4 * space;
        room += sent[r] + 1;
        space += received[r] + r;
        types[r] = MPI_INT;
    }
    int *out = blank(room);
    for (int r = 0; r < size; r++)
        for (int i = 0; i < sent[r]; i++)
            out[to[r] + i] = value(rank, r, i);
    for (int w = 0; w < 2; w++) {
        int *in = blank(space);
        if (w)
            MPI_Alltoallw(out, sent, to_bytes, types, in, received, from_bytes, types, comm);
        else
            MPI_Alltoallv(out, sent, to, MPI_INT, in, received, from, MPI_INT, comm);
        for (int r = 0; r < size; r++)
            is_block(in + from[r], r, rank, received[r], w ? "alltoallw" : "alltoallv");
        free(in);
    }
    /* In place, both ranks of a pair have the same length. */
    int *in = blank(size * (count + 2 * size));
    for (int w = 0; w < 2; w++) {
        room = 0;
        for (int r = 0; r < size; r++) {
            received[r] = count + (rank + r) % 3;
            from[r] = room;
            from_bytes[r] = 4 * room;
            for (int i = 0; i < received[r]; i++)
                in[room + i] = value(rank, r, i);
            room += received[r] + 1;
        }
        if (w)
            MPI_Alltoallw(MPI_IN_PLACE, NULL, NULL, NULL, in, received, from_bytes, types, comm);
        else
            MPI_Alltoallv(MPI_IN_PLACE, NULL, NULL, MPI_INT, in, received, from, MPI_INT, comm);
        for (int r = 0; r < size; r++)
            is_block(in + from[r], r, rank, received[r], "alltoallv in place");
    }
    free(in);
    free(out);
    free(types);
    free(lists);
}

/* Ranks describe the same data differently: every second element of twice as many, ints, or bytes. */
static void different_types(MPI_Comm comm, int rank, int size, int count)
{
    MPI_Datatype gaps, pair;
    MPI_Type_vector(count, 1, 2, MPI_INT, &gaps);
    MPI_Type_create_resized(gaps, 0, 8 * (MPI_Aint)count, &pair);
    MPI_Type_commit(&pair);
    for (int root = 0; root < size; root++) {
        int has_gaps = (rank + root) % 2, step = has_gaps ? 2 : 1;
        int *data = blank(2 * count), *all = blank(2 * count * size), *packed = malloc((count + 1) * sizeof(int));
        for (int i = 0; i < count && rank == root; i++)
            data[step * i] = value(root, 0, i);
        if (has_gaps)
            MPI_Bcast(data, 1, pair, root, comm);
        else
            MPI_Bcast(data, count, MPI_INT, root, comm);
        for (int i = 0; i < count; i++)
            packed[i] = data[step * i];
        is_block(packed, root, 0, count, "bcast of different types");
        EXPECT(!has_gaps || count == 0 || data[1] == -1, "bcast: a gap is written");
        for (int i = 0; i < count; i++)
            data[step * i] = value(rank, 0, i);
        MPI_Datatype type = has_gaps ? pair : MPI_INT;
        int own = has_gaps ? 1 : count;
        MPI_Allgather(data, own, type, all, own, type, comm);
        for (int r = 0; r < size; r++) {
            for (int i = 0; i < count; i++)
                packed[i] = all[step * (r * count + i)];
            is_block(packed, r, 0, count, "allgather of different types");
        }
        /* The root describes its blocks as vectors with gaps, the others theirs as ints. */
        MPI_Gather(data, own, type, all, 1, pair, root, comm);
        for (int r = 0; r < size && rank == root; r++) {
            for (int i = 0; i < count; i++)
                packed[i] = all[2 * (r * count + i)];
            is_block(packed, r, 0, count, "gather of different types");
        }
        for (int i = 0; i < count; i++)
            packed[i] = -1;
        MPI_Scatter(all, 1, pair, packed, count, MPI_INT, root, comm);
        for (int i = 0; i < count; i++)
            EXPECT(packed[i] == value(rank, 0, i), "scatter of different types: %d", packed[i]);
        for (int r = 0; r < size; r++)
            for (int i = 0; i < count; i++)
                all[step * (r * count + i)] = value(rank, r, i);
        int *in = blank(2 * count * size);
        MPI_Alltoall(all, own, type, in, 1, pair, comm);
        for (int r = 0; r < size; r++) {
            for (int i = 0; i < count; i++)
                packed[i] = in[2 * (r * count + i)];
            is_block(packed, r, rank, count, "alltoall of different types");
        }
        MPI_Alltoall(MPI_IN_PLACE, 0, MPI_INT, all, own, type, comm);
        for (int r = 0; r < size; r++) {
            for (int i = 0; i < count; i++)
                packed[i] = all[step * (r * count + i)];
            is_block(packed, r, rank, count, "alltoall in place of different types");
        }
        free(in);
        free(data);
        free(all);
        free(packed);
    }
    MPI_Type_free(&gaps);
    MPI_Type_free(&pair);
}

/* A type of as many bytes as its extent whose parts are in another order, and pairs with padding. */
static void odd_types(MPI_Comm comm, int rank, int size)
{
    MPI_Datatype swapped;
    int lengths[] = {1, 1}, places[] = {1, 0};
    MPI_Type_indexed(2, lengths, places, MPI_INT, &swapped);
    MPI_Type_commit(&swapped);
    for (int root = 0; root < size; root++) {
        int data[2] = {rank == root ? 1 : 0, rank == root ? 2 : 0};
        if (rank == root)
            MPI_Bcast(data, 1, swapped, root, comm);
        else
            MPI_Bcast(data, 2, MPI_INT, root, comm);
        int first = rank == root ? 1 : 2;
        EXPECT(data[0] == first && data[1] == 3 - first, "bcast of swapped ints: %d %d", data[0], data[1]);
        struct {
            double value;
            int index;
            int padding;
        } pairs[2] = {{rank == root ? 1.5 : 0, root, 77}, {rank == root ? 2.5 : 0, root, 78}};
        MPI_Bcast(pairs, 2, MPI_DOUBLE_INT, root, comm);
        EXPECT(pairs[1].value == 2.5 && pairs[1].index == root && pairs[1].padding == 78, "bcast of pairs");
    }
    MPI_Type_free(&swapped);
}

static void moves(MPI_Comm comm, int rank, int size)
{
    for (int round = 0; round < 3; round++)
        MPI_Barrier(comm);
    for (size_t c = 0; c < EACH(counts); c++) {
        bcast(comm, rank, size, counts[c]);
        gather_and_scatter(comm, rank, size, counts[c]);
        allgather_and_alltoall(comm, rank, size, counts[c]);
        uneven(comm, rank, size, counts[c]);
        alltoallv_and_w(comm, rank, size, counts[c]);
        /* With none, native MPIs hang where a rank says no elements, and another one element of no bytes. */
        if (counts[c] > 0)
            different_types(comm, rank, size, counts[c]);
    }
    odd_types(comm, rank, size);
}

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    on_communicators(moves);
    return finish("moves");
}
