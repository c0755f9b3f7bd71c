/* Collectives that combine: every type with every operator that the standard lets it have, and operators of the user. */
#include "check.h"
#include <complex.h>
#include <stdbool.h>

#if defined(MPICH_NUMVERSION) && MPICH_NUMVERSION < 40100000
#define IS_MPICH_4_0 1
#else
#define IS_MPICH_4_0 0
#endif

static const int counts[] = {0, 1, 700};
#define EACH(n) (sizeof(n) / sizeof(n)[0])

/* A type: its size, how the value of a rank at a place is written, and how two are combined. */
struct kind {
    const char *name;
    MPI_Datatype type;
    size_t bytes;
    void (*fill)(void *data, int rank, int count);
    int (*is_equal)(const void *one, const void *other);
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

INTEGER(i8, int8_t, -1)
INTEGER(i16, int16_t, -1)
INTEGER(i32, int32_t, -1)
INTEGER(i64, int64_t, -1)
INTEGER(u8, uint8_t, 0)
INTEGER(u16, uint16_t, 0)
INTEGER(u32, uint32_t, 0)
INTEGER(u64, uint64_t, 0)
KIND(f32, float, -1)
ORDERED(f32, float)
ARITHMETIC(f32, float)
KIND(f64, double, -1)
ORDERED(f64, double)
ARITHMETIC(f64, double)
KIND(f80, long double, -1)
ARITHMETIC(f80, long double)
KIND(c32, float complex, -1)
ARITHMETIC(c32, float complex)
KIND(c64, double complex, -1)
ARITHMETIC(c64, double complex)
KIND(truth, bool, 0)
LOGIC(truth, bool)

#define PAIR(name, value_type)                                                  \
    struct name {                                                               \
        value_type value;                                                       \
        int index;                                                              \
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

PAIR(float_int, float)
MINLOC(float_int)
MAXLOC(float_int)
PAIR(two_int, int)
MINLOC(two_int)
MAXLOC(two_int)
PAIR(double_int, double)
MINLOC(double_int)
PAIR(short_int, short)
MAXLOC(short_int)

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
        char *in = malloc(bytes), *out = malloc(bytes);
#define CALL(name, elements, call, first, from, to, results)                    \
    kind->fill(in, rank, elements);                                             \
    memset(out, 0x55, bytes);                                                   \
    if (in_place)                                                               \
        memcpy(out, in, bytes);                                                 \
    call;                                                                       \
    if ((to) > (from))                                                          \
        is_result(kind, operation, name, out, first, from, to, results)
        memset(in, 0, bytes);
        const void *from = in_place ? MPI_IN_PLACE : in;
        MPI_Datatype type = kind->type;
        MPI_Op op = operation->op;
        CALL("allreduce", count, MPI_Allreduce(from, out, count, type, op, comm), 0, 0, size, count);
        for (int root = 0; root < size; root++) {
            /* MPICH 4.0 itself reads at MPI_IN_PLACE then, if the call passes through. */
            from = in_place && rank == root && !(IS_MPICH_4_0 && root > 0) ? MPI_IN_PLACE : in;
            CALL("reduce", count, MPI_Reduce(from, out, count, type, op, root, comm), 0, 0,
                 rank == root ? size : 0, count);
        }
        from = in_place ? MPI_IN_PLACE : in;
        CALL("scan", count, MPI_Scan(from, out, count, type, op, comm), 0, 0, rank + 1, count);
        CALL("exscan", count, MPI_Exscan(from, out, count, type, op, comm), 0, 0, rank, count);
        if (rank == 0 && count > 0)
            EXPECT(memcmp(out, in_place ? in : out, kind->bytes) == 0, "exscan: rank 0 has a result");
        CALL("reduce_scatter_block", count * size,
             MPI_Reduce_scatter_block(from, out, count, type, op, comm), rank * count, 0, size, count);
        CALL("reduce_scatter", all_lengths, MPI_Reduce_scatter(from, out, lengths, type, op, comm), first, 0, size,
             lengths[rank]);
        free(in);
        free(out);
    }
    free(lengths);
}

/* A few types, which is enough for a communicator that is the third of its kind. */
static void combine_some(MPI_Comm comm, int rank, int size)
{
#define RUN(mpi_type, kind_name, c_type, mpi_op, op_name)                       \
    do {                                                                        \
        struct kind kind = {#mpi_type, mpi_type, sizeof(c_type), fill_##kind_name, equal_##kind_name}; \
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
#define RUN_WORD(t, k, c) RUN_ORDERED(t, k, c); RUN_ARITHMETIC(t, k, c); RUN_BITS(t, k, c)
    RUN_INTEGER(MPI_INT, i32, int32_t);
    RUN_ARITHMETIC(MPI_DOUBLE, f64, double);
}

static void combine(MPI_Comm comm, int rank, int size)
{
    RUN_INTEGER(MPI_SIGNED_CHAR, i8, int8_t);
    RUN_INTEGER(MPI_UNSIGNED_CHAR, u8, uint8_t);
    RUN_INTEGER(MPI_SHORT, i16, int16_t);
    RUN_INTEGER(MPI_UNSIGNED_SHORT, u16, uint16_t);
    RUN_INTEGER(MPI_INT, i32, int32_t);
    RUN_INTEGER(MPI_UNSIGNED, u32, uint32_t);
    RUN_INTEGER(MPI_LONG, i64, int64_t);
    RUN_INTEGER(MPI_UNSIGNED_LONG, u64, uint64_t);
    RUN_INTEGER(MPI_LONG_LONG, i64, int64_t);
    RUN_INTEGER(MPI_UNSIGNED_LONG_LONG, u64, uint64_t);
    RUN_INTEGER(MPI_INT8_T, i8, int8_t);
    RUN_INTEGER(MPI_INT16_T, i16, int16_t);
    RUN_INTEGER(MPI_INT32_T, i32, int32_t);
    RUN_INTEGER(MPI_INT64_T, i64, int64_t);
    RUN_INTEGER(MPI_UINT8_T, u8, uint8_t);
    RUN_INTEGER(MPI_UINT16_T, u16, uint16_t);
    RUN_INTEGER(MPI_UINT32_T, u32, uint32_t);
    RUN_INTEGER(MPI_UINT64_T, u64, uint64_t);
    RUN_WORD(MPI_AINT, i64, int64_t);
    RUN_WORD(MPI_OFFSET, i64, int64_t);
    RUN_WORD(MPI_COUNT, i64, int64_t);
    RUN_BITS(MPI_BYTE, u8, uint8_t);
    RUN_LOGIC(MPI_C_BOOL, truth, bool);
    RUN_ORDERED(MPI_FLOAT, f32, float);
    RUN_ARITHMETIC(MPI_FLOAT, f32, float);
    RUN_ORDERED(MPI_DOUBLE, f64, double);
    RUN_ARITHMETIC(MPI_DOUBLE, f64, double);
    RUN_ARITHMETIC(MPI_C_FLOAT_COMPLEX, c32, float complex);
    RUN_ARITHMETIC(MPI_C_DOUBLE_COMPLEX, c64, double complex);
    RUN(MPI_FLOAT_INT, float_int, struct float_int, MPI_MINLOC, minloc);
    RUN(MPI_FLOAT_INT, float_int, struct float_int, MPI_MAXLOC, maxloc);
    RUN(MPI_2INT, two_int, struct two_int, MPI_MINLOC, minloc);
    RUN(MPI_2INT, two_int, struct two_int, MPI_MAXLOC, maxloc);
    /* What passes through. */
    RUN_ARITHMETIC(MPI_LONG_DOUBLE, f80, long double);
    RUN(MPI_DOUBLE_INT, double_int, struct double_int, MPI_MINLOC, minloc);
    RUN(MPI_SHORT_INT, short_int, struct short_int, MPI_MAXLOC, maxloc);
}

/* Affine maps x -> slope x + offset modulo 65537, the left one first: associative, and not commutative. */
struct map {
    uint32_t slope, offset;
};

static void fill_map(void *data, int rank, int count)
{
    for (int i = 0; i < count; i++)
        ((struct map *)data)[i] = (struct map){3 + rank + i % 3, 1 + 2 * rank + i % 5};
}

static int equal_map(const void *one, const void *other)
{
    return memcmp(one, other, sizeof(struct map)) == 0;
}

static void map_compose(const void *left, void *right)
{
    const struct map *a = left;
    struct map *b = right;
    *b = (struct map){(uint64_t)a->slope * b->slope % 65537, ((uint64_t)a->offset * b->slope + b->offset) % 65537};
}

static void compose(void *in, void *inout, int *count, MPI_Datatype *type)
{
    (void)type;
    for (int i = 0; i < *count; i++)
        map_compose((struct map *)in + i, (struct map *)inout + i);
}

static void largest(void *in, void *inout, int *count, MPI_Datatype *type)
{
    (void)type;
    for (int i = 0; i < *count; i++)
        i32_max((int32_t *)in + i, (int32_t *)inout + i);
}

static void users_operators(MPI_Comm comm, int rank, int size)
{
    MPI_Datatype map_type;
    MPI_Op composition, maximum;
    MPI_Type_contiguous(2, MPI_UINT32_T, &map_type);
    MPI_Type_commit(&map_type);
    MPI_Op_create(compose, 0, &composition);
    MPI_Op_create(largest, 1, &maximum);
    struct kind map = {"maps", map_type, sizeof(struct map), fill_map, equal_map};
    struct operation then = {"composition", composition, map_compose};
    struct kind ints = {"MPI_INT", MPI_INT, sizeof(int32_t), fill_i32, equal_i32};
    struct operation larger = {"the user's maximum", maximum, i32_max};
    for (size_t c = 0; c < EACH(counts); c++) {
        try(comm, rank, size, &map, &then, counts[c]);
        try(comm, rank, size, &ints, &larger, counts[c]);
    }
    MPI_Op_free(&composition);
    MPI_Op_free(&maximum);
    MPI_Type_free(&map_type);
}

static void reductions(MPI_Comm comm, int rank, int size)
{
    /* All types on the world and on the first communicator that is derived from it. */
    static int communicators;
    if (communicators++ % 2 == 0 && communicators < 4)
        combine(comm, rank, size);
    else
        combine_some(comm, rank, size);
    users_operators(comm, rank, size);
}

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    on_communicators(reductions);
    return verdict("reductions");
}
