/* What the test programs share: communicators of all kinds, and counting what is wrong. */
#ifndef CHECK_H
#define CHECK_H

#include <mpi.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Open MPI says 3.1. */
#if MPI_VERSION >= 4
#define HAS_LARGE_COUNTS 1
#endif
/* But has sessions from 5 on. */
#if MPI_VERSION >= 4 || (defined(OPEN_MPI) && OMPI_MAJOR_VERSION >= 5)
#define HAS_SESSIONS 1
#endif

static int wrong;

/* Whether the library that is loaded, which the standard ABI does not tell, says such a word of itself. */
static inline int library_says(const char *word)
{
    char version[MPI_MAX_LIBRARY_VERSION_STRING];
    int length;
    MPI_Get_library_version(version, &length);
    return strstr(version, word) != NULL;
}

/* Intel's library of the standard ABI ends the program after a mistake, whatever it is told to do. */
static inline int returns_errors(void)
{
#ifdef MPI_ABI_VERSION
    return !library_says("Intel");
#else
    return 1;
#endif
}

#define EXPECT(condition, ...) EXPECT_IN(MPI_COMM_WORLD, condition, __VA_ARGS__)
#define EXPECT_IN(comm, condition, ...)                                         \
    do {                                                                        \
        if (!(condition) && wrong++ < 20) {                                     \
            int rank_;                                                          \
            MPI_Comm_rank(comm, &rank_);                                        \
            fprintf(stderr, "%s:%d: rank %d: ", __FILE__, __LINE__, rank_);     \
            fprintf(stderr, __VA_ARGS__);                                       \
            fputc('\n', stderr);                                                \
        }                                                                       \
    } while (0)

/* Runs `test` on the world, on communicators derived from it in several ways, and on one rank alone. */
static inline void on_communicators(void (*test)(MPI_Comm comm, int rank, int size))
{
    int rank, size;
    MPI_Comm comms[6];
    MPI_Group world, rotated;
    int n = 0;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    comms[n++] = MPI_COMM_WORLD;
    comms[n++] = MPI_COMM_SELF;
    MPI_Comm_dup(MPI_COMM_WORLD, &comms[n++]);
    MPI_Comm_split(MPI_COMM_WORLD, 0, -rank, &comms[n++]);
    MPI_Comm_split(MPI_COMM_WORLD, rank % 2, 0, &comms[n++]);
    int *order = (int *)malloc(size * sizeof *order);
    for (int i = 0; i < size; i++)
        order[i] = (i + 1) % size;
    MPI_Comm_group(MPI_COMM_WORLD, &world);
    MPI_Group_incl(world, size, order, &rotated);
    MPI_Comm_create(MPI_COMM_WORLD, rotated, &comms[n++]);
    for (int i = 0; i < n; i++) {
        int own_rank, own_size;
        MPI_Comm_rank(comms[i], &own_rank);
        MPI_Comm_size(comms[i], &own_size);
        test(comms[i], own_rank, own_size);
        if (i > 1)
            MPI_Comm_free(&comms[i]);
    }
    MPI_Group_free(&world);
    MPI_Group_free(&rotated);
    free(order);
}

/* Says whether anything was wrong, on any rank, and ends. */
static inline int finish(const char *name)
{
    int all = wrong, own = wrong, rank;
    MPI_Allreduce(&own, &all, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    if (rank == 0)
        printf("%s: %s\n", name, all ? "WRONG" : "right");
    MPI_Finalize();
    return all || wrong ? 1 : 0;
}

#endif
