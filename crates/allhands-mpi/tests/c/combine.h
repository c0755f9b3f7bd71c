/* Reductions of any type with any operator, compared with what one rank alone makes of all inputs. */
#ifndef COMBINE_H
#define COMBINE_H

#include "check.h"
#include <complex.h>
#include <stdbool.h>

#define EACH(n) (sizeof(n) / sizeof(n)[0])

/* A type: its extent, how the value of a rank at a place is written, and how two are combined. */
struct kind {
    const char *name;
    MPI_Datatype type;
    size_t bytes;
    void (*fill)(void *data, int rank, int count);
    int (*is_equal)(const void *one, const void *other);
    /* From where an element is to its address, where bytes are before that. */
    size_t origin;
};

struct operation {
    const char *name;
    MPI_Op op;
    void (*combine)(const void *left, void *right);
};

/*
 * Values are small, so that sums and products are exact in floating point, whatever their order, and sums do not
 * overflow: Open MPI's of unsigned chars then stop at the largest.
 */
#define VALUE(rank, i, lowest) ((((rank) * 7 + (i) * 3) % 5) + ((i) % 2 ? 0 : (lowest)))

#define KIND(name, c_type, lowest)                                                   \
    static void fill_##name(void *data, int rank, int count)                    \
    {                                                                           \
        for (int i = 0; i < count; i++)                                         \
            ((c_type *)data)[i] = (c_type)VALUE(rank, i, lowest);                       \
    }                                                                           \
    static int equal_##name(const void *one, const void *other)                 \
    {                                                                           \
        return *(const c_type *)one == *(const c_type *)other;                  \
    }

#define OPERATION(type_name, c_type, op_name, expression)                       \
    static void type_name##_##op_name(const void *left, void *right)            \
    {                                                                           \
        c_type a = *(const c_type *)left, b = *(c_type *)right;                 \
        *(c_type *)right = (c_type)(expression);                                \
    }

#define ORDERED(name, c_type)                                                   \
    OPERATION(name, c_type, max, a > b ? a : b)                                 \
    OPERATION(name, c_type, min, a < b ? a : b)
#define ARITHMETIC(name, c_type)                                                \
    OPERATION(name, c_type, sum, a + b)                                         \
    OPERATION(name, c_type, prod, a * b)
#define BITS(name, c_type)                                                      \
    OPERATION(name, c_type, band, a & b)                                        \
    OPERATION(name, c_type, bor, a | b)                                         \
    OPERATION(name, c_type, bxor, a ^ b)
#define LOGIC(name, c_type)                                                     \
    OPERATION(name, c_type, land, a && b)                                       \
    OPERATION(name, c_type, lor, a || b)                                        \
    OPERATION(name, c_type, lxor, !a != !b)
#define INTEGER(name, c_type, lowest)                                                \
    KIND(name, c_type, lowest)                                                  \
    ORDERED(name, c_type)                                                       \
    ARITHMETIC(name, c_type)                                                    \
    BITS(name, c_type)                                                          \
    LOGIC(name, c_type)

#define PAIR(name, value_type) PAIR_OF(name, value_type, int)
#define PAIR_OF(name, value_type, index_type)                                   \
    struct name {                                                               \
        value_type value;                                                       \
        index_type index;                                                       \
    };                                                                          \
    static void fill_##name(void *data, int rank, int count)                    \
    {                                                                           \
        for (int i = 0; i < count; i++)                                         \
            ((struct name *)data)[i] = (struct name){(value_type)VALUE(rank, i, -1), rank + i}; \
    }                                                                           \
    static int equal_##name(const void *one, const void *other)                 \
    {                                                                           \
        const struct name *a = one, *b = other;                                 \
        return a->value == b->value && a->index == b->index;                    \
    }

#define MINLOC(name)                                                            \
    OPERATION(name, struct name, minloc,                                        \
              (a.value < b.value || (a.value == b.value && a.index <= b.index)) ? a : b)
#define MAXLOC(name)                                                            \
    OPERATION(name, struct name, maxloc,                                        \
              (a.value > b.value || (a.value == b.value && a.index <= b.index)) ? a : b)

static void is_result(const struct kind *kind, const struct operation *operation, const char *call,
                      const char *result, int first, int from, int to, int count)
{
    /* Ranks from to before, combined in their order, at places from first. */
    char *own = malloc((first + count + 1) * kind->bytes), *all = malloc((first + count + 1) * kind->bytes);
    kind->fill(all, to - 1, first + count);
    for (int r = to - 1; r-- > from;) {
        kind->fill(own, r, first + count);
        for (int i = 0; i < first + count; i++)
            operation->combine(own + i * kind->bytes, all + i * kind->bytes);
    }
    for (int i = 0; i < count; i++)
        if (!kind->is_equal(result + i * kind->bytes, all + (first + i) * kind->bytes)) {
            EXPECT(0, "%s of %s with %s: element %d of %d", call, kind->name, operation->name, i, count);
            break;
        }
    free(own);
    free(all);
}

static void try(MPI_Comm comm, int rank, int size, const struct kind *kind, const struct operation *operation,
                int count)
{
    size_t bytes = (size_t)(count * size + size * size + 1) * kind->bytes;
    int *lengths = malloc(size * sizeof *lengths), all_lengths = 0, first = 0;
    for (int r = 0; r < size; r++) {
        lengths[r] = count + r;
        first += r < rank ? lengths[r] : 0;
        all_lengths += lengths[r];
    }
    for (int in_place = 0; in_place < 2; in_place++) {
        char *in = malloc(bytes), *out = malloc(bytes), *to = out + kind->origin, *own = in + kind->origin;
#define CALL(name, elements, call, first, begin, end, results)                    \
    kind->fill(in, rank, elements);                                             \
    memset(out, 0x55, bytes);                                                   \
    if (in_place)                                                               \
        memcpy(out, in, bytes);                                                 \
    call;                                                                       \
    if ((end) > (begin))                                                       \
        is_result(kind, operation, name, out, first, begin, end, results)
        memset(in, 0, bytes);
        const void *from = in_place ? MPI_IN_PLACE : own;
        MPI_Datatype type = kind->type;
        MPI_Op op = operation->op;
        CALL("allreduce", count, MPI_Allreduce(from, to, count, type, op, comm), 0, 0, size, count);
        for (int root = 0; root < size; root++) {
            from = in_place && rank == root ? MPI_IN_PLACE : own;
            CALL("reduce", count, MPI_Reduce(from, to, count, type, op, root, comm), 0, 0,
                 rank == root ? size : 0, count);
        }
        from = in_place ? MPI_IN_PLACE : own;
        CALL("scan", count, MPI_Scan(from, to, count, type, op, comm), 0, 0, rank + 1, count);
        CALL("exscan", count, MPI_Exscan(from, to, count, type, op, comm), 0, 0, rank, count);
        if (rank == 0 && count > 0)
            EXPECT(memcmp(out, in_place ? in : out, kind->bytes) == 0, "exscan: rank 0 has a result");
        CALL("reduce_scatter_block", count * size,
             MPI_Reduce_scatter_block(from, to, count, type, op, comm), rank * count, 0, size, count);
        CALL("reduce_scatter", all_lengths, MPI_Reduce_scatter(from, to, lengths, type, op, comm), first, 0, size,
             lengths[rank]);
        free(in);
        free(out);
    }
    free(lengths);
}

#define RUN(mpi_type, kind_name, c_type, mpi_op, op_name)                       \
    do {                                                                        \
        struct kind kind = {#mpi_type, mpi_type, sizeof(c_type), fill_##kind_name, equal_##kind_name, 0}; \
        struct operation operation = {#mpi_op, mpi_op, kind_name##_##op_name};  \
        for (size_t c = 0; c < EACH(counts); c++)                               \
            try(comm, rank, size, &kind, &operation, counts[c]);                \
    } while (0)
#define RUN_ORDERED(t, k, c) RUN(t, k, c, MPI_MAX, max); RUN(t, k, c, MPI_MIN, min)
#define RUN_ARITHMETIC(t, k, c) RUN(t, k, c, MPI_SUM, sum); RUN(t, k, c, MPI_PROD, prod)
#define RUN_BITS(t, k, c) RUN(t, k, c, MPI_BAND, band); RUN(t, k, c, MPI_BOR, bor); RUN(t, k, c, MPI_BXOR, bxor)
#define RUN_LOGIC(t, k, c) RUN(t, k, c, MPI_LAND, land); RUN(t, k, c, MPI_LOR, lor); RUN(t, k, c, MPI_LXOR, lxor)
#define RUN_INTEGER(t, k, c)                                                    \
    RUN_ORDERED(t, k, c); RUN_ARITHMETIC(t, k, c); RUN_BITS(t, k, c); RUN_LOGIC(t, k, c)
#define RUN_PLACES(t, k) RUN(t, k, struct k, MPI_MINLOC, minloc); RUN(t, k, struct k, MPI_MAXLOC, maxloc)
#define RUN_WORD(t, k, c) RUN_ORDERED(t, k, c); RUN_ARITHMETIC(t, k, c); RUN_BITS(t, k, c)

#endif
