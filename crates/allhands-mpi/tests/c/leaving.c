/* Collectives in the last moments: in a handler of atexit, in the destructor of a POSIX key, and in the delete callback of an attribute
   of MPI_COMM_SELF, by rank 0 alone, while the others make them as always, or by all ranks. */
#define _POSIX_C_SOURCE 200112L
#include "check.h"
#include <pthread.h>

enum { ROUNDS = 20 };

/* Some calls with which all ranks must deal alike, and two derived types, of which each is looked up more than once. */
static void calls(void)
{
    int rank, size;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    MPI_Comm copy;
    MPI_Comm_dup(MPI_COMM_WORLD, &copy);
    MPI_Datatype types[2];
    MPI_Type_vector(3, 1, 2, MPI_INT, &types[0]);
    MPI_Type_vector(2, 1, 3, MPI_INT, &types[1]);
    MPI_Type_commit(&types[0]);
    MPI_Type_commit(&types[1]);
    for (int round = 0; round < ROUNDS; round++) {
        MPI_Comm comm = round % 2 ? copy : MPI_COMM_WORLD;
        int own = rank + round, sum = -1, data[6];
        MPI_Allreduce(&own, &sum, 1, MPI_INT, MPI_SUM, comm);
        EXPECT(sum == size * (size - 1) / 2 + size * round, "round %d: the sum is %d", round, sum);
        for (int i = 0; i < 6; i++)
            data[i] = rank == round % size ? round + i : -1;
        MPI_Bcast(data, 1, types[round / 2 % 2], round % size, comm);
        int last = round / 2 % 2 ? 3 : 4;
        EXPECT(data[0] == round && data[last] == round + last, "round %d: the data is %d and %d", round, data[0], data[last]);
        MPI_Barrier(comm);
    }
    MPI_Type_free(&types[0]);
    MPI_Type_free(&types[1]);
    MPI_Comm_free(&copy);
}

static void say(int rank)
{
    if (rank == 0)
        printf("leaving: %s\n", wrong ? "WRONG" : "right");
    fflush(stdout);
}

static void at_exit(void)
{
    calls();
    say(0);
    MPI_Finalize();
    if (wrong)
        _Exit(1);
}

static void of_key(void *value)
{
    (void)value;
    calls();
}

static void *in_thread(void *key)
{
    calls();
    pthread_setspecific(*(pthread_key_t *)key, key);
    return NULL;
}

static int delete_attribute(MPI_Comm comm, int key, void *value, void *state)
{
    int finalized = -1;
    (void)comm, (void)key, (void)value, (void)state;
    MPI_Finalized(&finalized);
    EXPECT(finalized == 0, "the MPI has ended before the attribute of MPI_COMM_SELF has");
    calls();
    return MPI_SUCCESS;
}

int main(int argc, char **argv)
{
    const char *how = argc > 1 ? argv[1] : "";
    int rank, level;
    pthread_key_t key;
    MPI_Init_thread(&argc, &argv, strcmp(how, "key") ? MPI_THREAD_SINGLE : MPI_THREAD_SERIALIZED, &level);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    calls();
    if (!strcmp(how, "atexit")) {
        if (rank == 0) {
            atexit(at_exit);
            return 0;
        }
        calls();
    } else if (!strcmp(how, "key")) {
        pthread_t thread;
        if (rank == 0) {
            pthread_key_create(&key, of_key);
            pthread_create(&thread, NULL, in_thread, &key);
            pthread_join(thread, NULL);
        } else {
            calls();
            calls();
        }
        say(rank);
    } else {
        int number;
        if (rank == 0 || !strcmp(how, "self")) {
            MPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, delete_attribute, &number, NULL);
            MPI_Comm_set_attr(MPI_COMM_SELF, number, NULL);
        } else
            calls();
    }
    MPI_Finalize();
    if (how[0] == 's')
        say(rank);
    return wrong != 0;
}
