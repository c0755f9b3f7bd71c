/* Operators of the user, commutative or not, on predefined types and on derived ones of every layout. */
#include "combine.h"

/* Affine maps x -> slope x + offset modulo 65537, the left one first: associative, and not commutative. */
static void then(const uint32_t left[2], uint32_t right[2])
{
    right[1] = ((uint64_t)left[1] * right[0] + right[1]) % 65537;
    right[0] = (uint64_t)left[0] * right[0] % 65537;
}

/* Sums of both, modulo 65537: commutative. */
static void plus(const uint32_t left[2], uint32_t right[2])
{
    for (int i = 0; i < 2; i++)
        right[i] = (left[i] + right[i]) % 65537;
}

static int own_rank;

/*
 * Whether results are compared with the native ones, which are right only for some: MPICH's and Intel's reduce-scatters of
 * elements with gaps are not, nor any where an element begins before its address, nor MPICH's with elements among one
 * another, and Open MPI calls operators with nothing.
 */
static int is_verified;

/* What is between the bytes of an element is what was there, or what this rank has put there. */
static int is_kept(const void *gap, size_t bytes)
{
    for (size_t i = 0; i < bytes; i++) {
        unsigned char byte = ((const unsigned char *)gap)[i];
        if (byte != 0x55 && byte != 0x60 + own_rank)
            return 0;
    }
    return 1;
}

/* A place for a map: where its two numbers are, in an element of some words. */
#define PLACE(name, words, slope, offset, origin_words)                         \
    static void get_##name(const void *element, uint32_t map[2])                \
    {                                                                           \
        const uint32_t *word = element;                                         \
        map[0] = word[slope];                                                   \
        map[1] = word[offset];                                                  \
    }                                                                           \
    static void put_##name(void *element, const uint32_t map[2])                \
    {                                                                           \
        uint32_t *word = element;                                               \
        word[slope] = map[0];                                                   \
        word[offset] = map[1];                                                  \
    }                                                                           \
    static void fill_##name(void *data, int rank, int count)                    \
    {                                                                           \
        memset(data, 0x60 + rank, (size_t)count * 4 * words);                   \
        for (int i = 0; i < count; i++)                                         \
            put_##name((uint32_t *)data + i * words,                            \
                       (uint32_t[]){3 + rank + i % 3, 1 + 2 * rank + i % 5});   \
    }                                                                           \
    static int equal_##name(const void *one, const void *other)                 \
    {                                                                           \
        uint32_t a[2], b[2];                                                    \
        get_##name(one, a);                                                     \
        get_##name(other, b);                                                   \
        for (int w = 0; w < words; w++)                                         \
            if (w != slope && w != offset && !is_kept((const uint32_t *)one + w, 4)) \
                return 0;                                                       \
        return a[0] == b[0] && a[1] == b[1];                                    \
    }                                                                           \
    static void name##_then(const void *left, void *right)                      \
    {                                                                           \
        uint32_t a[2], b[2];                                                    \
        get_##name(left, a);                                                    \
        get_##name(right, b);                                                   \
        then(a, b);                                                             \
        put_##name(right, b);                                                   \
    }                                                                           \
    static void name##_plus(const void *left, void *right)                      \
    {                                                                           \
        uint32_t a[2], b[2];                                                    \
        get_##name(left, a);                                                    \
        get_##name(right, b);                                                   \
        plus(a, b);                                                             \
        put_##name(right, b);                                                   \
    }                                                                           \
    enum { name##_words = words, name##_origin = 4 * origin_words };            \
    static MPI_Datatype type_##name(void)                                       \
    {                                                                           \
        MPI_Datatype bare, type;                                                \
        int lengths[] = {1, 1};                                                 \
        MPI_Aint places[] = {4 * (slope - origin_words), 4 * (offset - origin_words)}; \
        MPI_Type_create_hindexed(2, lengths, places, MPI_UINT32_T, &bare);      \
        MPI_Type_create_resized(bare, -4 * origin_words, 4 * words, &type);     \
        MPI_Type_free(&bare);                                                   \
        MPI_Type_commit(&type);                                                 \
        return type;                                                            \
    }

PLACE(plain, 2, 0, 1, 0)
PLACE(swapped, 2, 1, 0, 0)
PLACE(spread, 3, 0, 2, 0)
PLACE(sparse, 14, 1, 12, 0)
PLACE(before, 2, 0, 1, 2)
PLACE(around, 9, 0, 7, 3)

/* What the operators below are called with, and what they do with an element. */
static const struct kind *current;
static void (*combine_current)(const void *left, void *right);

static void each(const char *in, char *inout, MPI_Count count, MPI_Datatype type)
{
    EXPECT(type == current->type, "%s: the operator has another type", current->name);
    EXPECT(count > 0 || is_verified, "%s: the operator has %lld elements", current->name, (long long)count);
    in -= current->origin;
    inout -= current->origin;
    for (MPI_Count i = 0; i < count; i++)
        combine_current(in + i * current->bytes, inout + i * current->bytes);
}

static void user(void *in, void *inout, int *count, MPI_Datatype *type)
{
    each(in, inout, *count, *type);
}

#ifdef HAS_LARGE_COUNTS
static void user_large(void *in, void *inout, MPI_Count *count, MPI_Datatype *type)
{
    each(in, inout, *count, *type);
}
#endif

static void try_with(MPI_Comm comm, int rank, int size, const struct kind *kind, int is_commutative,
                     void (*combine)(const void *, void *), int most)
{
    static const int counts[] = {0, 1, 3, 700};
    MPI_Op ops[2];
    int n = 0;
    MPI_Op_create(user, is_commutative, &ops[n++]);
#ifdef HAS_LARGE_COUNTS
    MPI_Op_create_c(user_large, is_commutative, &ops[n++]);
#endif
    current = kind;
    combine_current = combine;
    for (int i = 0; i < n; i++) {
        struct operation operation = {is_commutative ? "a commutative operator" : "an ordered operator", ops[i], combine};
        for (size_t c = 0; c < EACH(counts); c++)
            if (counts[c] <= most)
                try(comm, rank, size, kind, &operation, counts[c]);
        MPI_Op_free(&ops[i]);
    }
}

/* An element that is longer than what fits anywhere at once. */
enum { LONG_WORDS = 20000 };

static void fill_long(void *data, int rank, int count)
{
    for (int i = 0; i < count; i++)
        for (int w = 0; w < LONG_WORDS; w += 2) {
            uint32_t *map = (uint32_t *)data + i * LONG_WORDS + w;
            map[0] = 3 + rank + (i + w) % 3;
            map[1] = 1 + 2 * rank + w % 5;
        }
}

static int equal_long(const void *one, const void *other)
{
    return memcmp(one, other, 4 * LONG_WORDS) == 0;
}

static void long_then(const void *left, void *right)
{
    for (int w = 0; w < LONG_WORDS; w += 2)
        then((const uint32_t *)left + w, (uint32_t *)right + w);
}

/* A predefined type whose elements have gaps, and one that is aligned more than others. */
struct long_double_int {
    long double value;
    int index;
};

static void fill_longest(void *data, int rank, int count)
{
    memset(data, 0x60 + rank, count * sizeof(struct long_double_int));
    for (int i = 0; i < count; i++) {
        struct long_double_int *element = (struct long_double_int *)data + i;
        element->value = (rank * 7 + i * 3) % 11;
        element->index = rank;
    }
}

static int equal_longest(const void *one, const void *other)
{
    const struct long_double_int *a = one, *b = other;
    return a->value == b->value && a->index == b->index && is_kept(&a->index + 1, sizeof *a - sizeof a->value - 4);
}

/* The larger one; of equal ones the left one. */
static void longest_larger(const void *left, void *right)
{
    const struct long_double_int *a = left;
    struct long_double_int *b = right;
    if (a->value >= b->value) {
        b->value = a->value;
        b->index = a->index;
    }
}

#define VALUES(name, c_type)                                                    \
    static void fill_##name(void *data, int rank, int count)                    \
    {                                                                           \
        for (int i = 0; i < count; i++)                                         \
            ((c_type *)data)[i] = 1 + (rank * 7 + i * 3) % 5;                   \
    }                                                                           \
    static int equal_##name(const void *one, const void *other)                 \
    {                                                                           \
        return *(const c_type *)one == *(const c_type *)other;                  \
    }                                                                           \
    static void name##_left(const void *left, void *right)                      \
    {                                                                           \
        *(c_type *)right = *(const c_type *)left;                               \
    }                                                                           \
    static void name##_sum(const void *left, void *right)                       \
    {                                                                           \
        *(c_type *)right += *(const c_type *)left;                              \
    }

VALUES(int, int)
VALUES(double, double)
VALUES(char, char)

static void predefined(MPI_Comm comm, int rank, int size)
{
#define TRY(mpi_type, name, c_type)                                             \
    do {                                                                        \
        struct kind kind = {#mpi_type, mpi_type, sizeof(c_type), fill_##name, equal_##name, 0}; \
        try_with(comm, rank, size, &kind, 0, name##_left, 700);                 \
        try_with(comm, rank, size, &kind, 1, name##_sum, 700);                  \
    } while (0)
    TRY(MPI_INT, int, int);
    TRY(MPI_DOUBLE, double, double);
    TRY(MPI_CHAR, char, char);
    if (is_verified)
        return;
    struct kind longest = {"MPI_LONG_DOUBLE_INT", MPI_LONG_DOUBLE_INT, sizeof(struct long_double_int),
                           fill_longest, equal_longest, 0};
    try_with(comm, rank, size, &longest, 0, longest_larger, 700);
}

/* Columns of a matrix: each element's numbers are among those of the others. */
static void columns(MPI_Comm comm, int rank, int size)
{
    enum { COLUMNS = 50 };
    MPI_Datatype bare;
    struct kind kind = {"columns", MPI_DATATYPE_NULL, 4, NULL, NULL, 0};
    MPI_Type_vector(2, 1, COLUMNS, MPI_UINT32_T, &bare);
    MPI_Type_create_resized(bare, 0, 4, &kind.type);
    MPI_Type_commit(&kind.type);
    uint32_t own[2 * COLUMNS], all[2 * COLUMNS] = {0};
    for (int c = 0; c < COLUMNS; c++) {
        own[c] = 3 + rank + c % 3;
        own[c + COLUMNS] = 1 + 2 * rank + c % 5;
    }
    MPI_Op sum;
    void columns_sum(void *in, void *inout, int *count, MPI_Datatype *type);
    MPI_Op_create(columns_sum, 1, &sum);
    MPI_Allreduce(own, all, COLUMNS, kind.type, sum, comm);
    for (int c = 0; c < COLUMNS; c++) {
        uint32_t slope = size * (3 + c % 3) + size * (size - 1) / 2, offset = size * (1 + c % 5) + size * (size - 1);
        EXPECT(all[c] == slope && all[c + COLUMNS] == offset, "column %d: %u %u", c, all[c], all[c + COLUMNS]);
    }
    MPI_Op_free(&sum);
    MPI_Type_free(&bare);
    MPI_Type_free(&kind.type);
}

void columns_sum(void *in, void *inout, int *count, MPI_Datatype *type)
{
    (void)type;
    for (int i = 0; i < *count; i++)
        for (int row = 0; row < 2; row++)
            ((uint32_t *)inout)[i + row * 50] += ((uint32_t *)in)[i + row * 50];
}

static void operators(MPI_Comm comm, int rank, int size)
{
    own_rank = rank;
    predefined(comm, rank, size);
#define TRY_PLACE(name)                                                         \
    do {                                                                        \
        struct kind kind = {#name, type_##name(), 4 * name##_words, fill_##name, equal_##name, name##_origin}; \
        try_with(comm, rank, size, &kind, 0, name##_then, 700);                 \
        try_with(comm, rank, size, &kind, 1, name##_plus, 700);                 \
        MPI_Type_free(&kind.type);                                              \
    } while (0)
    TRY_PLACE(plain);
    if (!is_verified) {
        TRY_PLACE(swapped);
        TRY_PLACE(spread);
        TRY_PLACE(sparse);
        TRY_PLACE(before);
        TRY_PLACE(around);
        columns(comm, rank, size);
    }
    struct kind element = {"long elements", MPI_DATATYPE_NULL, 4 * LONG_WORDS, fill_long, equal_long, 0};
    MPI_Type_contiguous(LONG_WORDS, MPI_UINT32_T, &element.type);
    MPI_Type_commit(&element.type);
    try_with(comm, rank, size, &element, 0, long_then, 1);
    MPI_Type_free(&element.type);
}

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    is_verified = getenv("ALLHANDS_VERIFY") != NULL;
    on_communicators(operators);
    return finish("operators");
}
