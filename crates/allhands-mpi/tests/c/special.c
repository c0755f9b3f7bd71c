/* Special values: a NaN anywhere makes the largest and the smallest a NaN, with the lowest index of one; truth values of any bits
   are true. */
#include "check.h"
#include <math.h>

enum { LENGTHS = 4 };
static const int lengths[LENGTHS] = {1, 7, 64, 5000};

/* As MPI_FLOAT_INT has it. */
typedef struct {
    float value;
    int index;
} pair;

static void extremes(MPI_Comm comm, int rank, int size)
{
    if (size < 2)
        return;
    for (int l = 0; l < LENGTHS; l++) {
        int n = lengths[l];
        double *a = malloc(n * sizeof *a), *b = malloc(n * sizeof *b);
        float *f = malloc(n * sizeof *f), *g = malloc(n * sizeof *g);
        pair *p = malloc(n * sizeof *p), *q = malloc(n * sizeof *q);
        for (int who = 0; who < size; who++) {
            /* At place i rank `who` has a NaN, if i is even, and the last rank too. */
            for (int i = 0; i < n; i++) {
                int is_nan = i % 2 == 0 && (rank == who || rank == size - 1);
                a[i] = is_nan ? (i % 4 ? -NAN : NAN) : rank * 3 - i;
                f[i] = is_nan ? NAN : (float)(i - rank);
                p[i].value = is_nan ? NAN : (float)(rank % 2 ? 9 + rank : -rank);
                p[i].index = rank;
            }
            MPI_Op ops[2] = {MPI_MAX, MPI_MIN}, places[2] = {MPI_MAXLOC, MPI_MINLOC};
            for (int o = 0; o < 2; o++) {
                MPI_Allreduce(a, b, n, MPI_DOUBLE, ops[o], comm);
                MPI_Allreduce(f, g, n, MPI_FLOAT, ops[o], comm);
                MPI_Allreduce(p, q, n, MPI_FLOAT_INT, places[o], comm);
                for (int i = 0; i < n; i++) {
                    EXPECT_IN(comm, !!isnan(b[i]) == (i % 2 == 0), "op %d, %d of %d doubles: %g", o, i, n, b[i]);
                    EXPECT_IN(comm, !!isnan(g[i]) == (i % 2 == 0), "op %d, %d of %d floats: %g", o, i, n, g[i]);
                    EXPECT_IN(comm, !!isnan(q[i].value) == (i % 2 == 0), "op %d, %d of %d pairs: %g", o, i, n, q[i].value);
                    EXPECT_IN(comm, i % 2 || q[i].index == who, "op %d, %d of %d pairs: a NaN of rank %d", o, i, n, q[i].index);
                }
                MPI_Scan(a, b, n, MPI_DOUBLE, ops[o], comm);
                for (int i = 0; i < n; i++)
                    EXPECT_IN(comm, !!isnan(b[i]) == (i % 2 == 0 && (rank >= who || rank == size - 1)), "scan %d: %g", i, b[i]);
            }
        }
        free(a), free(b), free(f), free(g), free(p), free(q);
    }
}

/* All but zero is true, and true is 1. */
static void truths(MPI_Comm comm, int rank, int size, MPI_Datatype type)
{
    enum { N = 5, LONG = 3000 };
    static const unsigned char kinds[N] = {0, 1, 2, 128, 255};
    unsigned char mine[LONG], all[LONG];
    if (size < 2)
        return;
    /* Place i has kind i % 5 on even ranks, and i / 5 % 5 on odd ones. */
    for (int n = 25; n <= LONG; n += LONG - 25) {
        for (int i = 0; i < n; i++)
            mine[i] = kinds[rank % 2 ? i / 5 % 5 : i % 5];
        MPI_Op ops[3] = {MPI_LAND, MPI_LOR, MPI_LXOR};
        for (int o = 0; o < 3; o++) {
            MPI_Allreduce(mine, all, n, type, ops[o], comm);
            for (int i = 0; i < n; i++) {
                int even = i % 5 != 0, odd = i / 5 % 5 != 0, evens = (size + 1) / 2, odds = size / 2;
                int right = o == 0 ? even && odd : o == 1 ? even || odd : (even * evens + odd * odds) % 2;
                EXPECT_IN(comm, all[i] == right, "op %d, %d of %d: %d instead of %d", o, i, n, all[i], right);
            }
        }
    }
}

static void c_truths(MPI_Comm comm, int rank, int size)
{
    truths(comm, rank, size, MPI_C_BOOL);
#ifdef MPI_CXX_BOOL
    if (MPI_CXX_BOOL != MPI_DATATYPE_NULL)
        truths(comm, rank, size, MPI_CXX_BOOL);
#endif
}

int main(void)
{
    MPI_Init(NULL, NULL);
    on_communicators(extremes);
    on_communicators(c_truths);
    return finish("special");
}
