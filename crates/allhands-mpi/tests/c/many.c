/* Many communicators at the same time, each used a little: what they take of memory stays small. */
#include "check.h"

#define COMMUNICATORS 1500

static MPI_Comm comms[COMMUNICATORS];

/* Kilobytes of this process; of pages that others have, too, its share. */
static long kilobytes(void)
{
    char line[256];
    long found = -1;
    FILE *file = fopen("/proc/self/smaps_rollup", "r");
    while (file && fgets(line, sizeof line, file))
        sscanf(line, "Pss: %ld", &found);
    if (file)
        fclose(file);
    return found;
}

/* Kilobytes that all ranks take now and did not take before. */
static long grown(long before)
{
    long own = kilobytes() - before, all = own;
    PMPI_Barrier(MPI_COMM_WORLD);
    PMPI_Allreduce(&own, &all, 1, MPI_LONG, MPI_SUM, MPI_COMM_WORLD);
    return all;
}

static void use(int turn)
{
    for (int i = 0; i < COMMUNICATORS; i++) {
        int size, one = i + turn, sum = 0;
        MPI_Comm_size(comms[i], &size);
        MPI_Barrier(comms[i]);
        MPI_Allreduce(&one, &sum, 1, MPI_INT, MPI_SUM, comms[i]);
        EXPECT(sum == size * one, "communicator %d: the sum of %d is %d", i, one, sum);
    }
}

int main(int argc, char **argv)
{
    int rank;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Barrier(MPI_COMM_WORLD);
    /* The most kilobytes that they may take, if a number is given. */
    long before = kilobytes(), most = argc > 1 ? atol(argv[1]) : 0;
    for (int i = 0; i < COMMUNICATORS; i++) {
        if (i % 2)
            MPI_Comm_dup(MPI_COMM_WORLD, &comms[i]);
        else
            MPI_Comm_split(MPI_COMM_WORLD, rank / 2, rank, &comms[i]);
    }
    long made = grown(before);
    use(0);
    long used = grown(before);
    use(1);
    use(2);
    long again = grown(before);
    EXPECT(!most || again <= most, "%d communicators take %ld KB, and may take %ld", COMMUNICATORS, again, most);
    if (rank == 0)
        printf("%d communicators: %ld KB made, %ld KB used once, %ld KB used thrice\n", COMMUNICATORS, made, used, again);
    for (int i = 0; i < COMMUNICATORS; i++)
        MPI_Comm_free(&comms[i]);
    long left = grown(before);
    if (rank == 0)
        printf("%ld KB left when they are freed\n", left);
    return finish("many");
}
