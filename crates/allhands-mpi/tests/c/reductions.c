/* Collectives that combine: every type with every operator that the standard lets it have. */
#include "combine.h"

static const int counts[] = {0, 1, 700};

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
ORDERED(f80, long double)
ARITHMETIC(f80, long double)
KIND(c32, float complex, -1)
ARITHMETIC(c32, float complex)
KIND(c64, double complex, -1)
ARITHMETIC(c64, double complex)
KIND(c80, long double complex, -1)
ARITHMETIC(c80, long double complex)
KIND(truth, bool, 0)
LOGIC(truth, bool)

PAIR(float_int, float)
MINLOC(float_int)
MAXLOC(float_int)
PAIR(two_int, int)
MINLOC(two_int)
MAXLOC(two_int)
PAIR(double_int, double)
MINLOC(double_int)
MAXLOC(double_int)
PAIR(short_int, short)
MINLOC(short_int)
MAXLOC(short_int)
PAIR(long_int, long)
MINLOC(long_int)
MAXLOC(long_int)
PAIR(long_double_int, long double)
MINLOC(long_double_int)
MAXLOC(long_double_int)
/* In Fortran the index is of the value's type. */
PAIR_OF(two_float, float, float)
MINLOC(two_float)
MAXLOC(two_float)
PAIR_OF(two_double, double, double)
MINLOC(two_double)
MAXLOC(two_double)

/* Fortran's true is 1 with some compilers and -1 with others, of which an operator makes 1. */
static void fill_fortran_truth(void *data, int rank, int count)
{
    for (int i = 0; i < count; i++)
        ((int32_t *)data)[i] = (rank + i) % 3 != 0;
}

static int equal_fortran_truth(const void *one, const void *other)
{
    return !*(const int32_t *)one == !*(const int32_t *)other;
}

LOGIC(fortran_truth, int32_t)

/* A few types, which is enough for a communicator that is the third of its kind. */
static void combine_some(MPI_Comm comm, int rank, int size)
{
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
    RUN_ORDERED(MPI_LONG_DOUBLE, f80, long double);
    RUN_ARITHMETIC(MPI_LONG_DOUBLE, f80, long double);
    RUN_ARITHMETIC(MPI_C_LONG_DOUBLE_COMPLEX, c80, long double complex);
    RUN_PLACES(MPI_FLOAT_INT, float_int);
    RUN_PLACES(MPI_2INT, two_int);
    RUN_PLACES(MPI_DOUBLE_INT, double_int);
    RUN_PLACES(MPI_SHORT_INT, short_int);
    RUN_PLACES(MPI_LONG_INT, long_int);
    RUN_PLACES(MPI_LONG_DOUBLE_INT, long_double_int);
}

/* Fortran's types, as far as the MPI has them and they are as long as C's. */
static void combine_fortrans(MPI_Comm comm, int rank, int size)
{
#define IF_LIKE(mpi_type, c_type, run)                                          \
    do {                                                                        \
        int bytes = 0;                                                          \
        if (mpi_type != MPI_DATATYPE_NULL)                                      \
            MPI_Type_size(mpi_type, &bytes);                                    \
        if (bytes == sizeof(c_type)) {                                          \
            run;                                                                \
        }                                                                       \
    } while (0)
    IF_LIKE(MPI_INTEGER, int32_t, RUN_WORD(MPI_INTEGER, i32, int32_t));
    IF_LIKE(MPI_INTEGER1, int8_t, RUN_WORD(MPI_INTEGER1, i8, int8_t));
    IF_LIKE(MPI_INTEGER2, int16_t, RUN_WORD(MPI_INTEGER2, i16, int16_t));
    IF_LIKE(MPI_INTEGER4, int32_t, RUN_WORD(MPI_INTEGER4, i32, int32_t));
    IF_LIKE(MPI_INTEGER8, int64_t, RUN_WORD(MPI_INTEGER8, i64, int64_t));
    IF_LIKE(MPI_REAL, float, RUN_ARITHMETIC(MPI_REAL, f32, float));
    IF_LIKE(MPI_REAL4, float, RUN_ARITHMETIC(MPI_REAL4, f32, float));
    IF_LIKE(MPI_REAL8, double, RUN_ORDERED(MPI_REAL8, f64, double));
    IF_LIKE(MPI_DOUBLE_PRECISION, double, RUN_ARITHMETIC(MPI_DOUBLE_PRECISION, f64, double));
    IF_LIKE(MPI_COMPLEX, float complex, RUN_ARITHMETIC(MPI_COMPLEX, c32, float complex));
    IF_LIKE(MPI_DOUBLE_COMPLEX, double complex, RUN_ARITHMETIC(MPI_DOUBLE_COMPLEX, c64, double complex));
    IF_LIKE(MPI_LOGICAL, int32_t, RUN_LOGIC(MPI_LOGICAL, fortran_truth, int32_t));
    IF_LIKE(MPI_2INTEGER, struct two_int, RUN_PLACES(MPI_2INTEGER, two_int));
    IF_LIKE(MPI_2REAL, struct two_float, RUN_PLACES(MPI_2REAL, two_float));
    IF_LIKE(MPI_2DOUBLE_PRECISION, struct two_double, RUN_PLACES(MPI_2DOUBLE_PRECISION, two_double));
}

static void reductions(MPI_Comm comm, int rank, int size)
{
    /* All types on the world and on the first communicator that is derived from it. */
    static int communicators;
    if (communicators++ % 2 == 0 && communicators < 4)
        combine(comm, rank, size), combine_fortrans(comm, rank, size);
    else
        combine_some(comm, rank, size);
}

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    on_communicators(reductions);
    return finish("reductions");
}
