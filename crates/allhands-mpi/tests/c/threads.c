/* Several threads that call collectives at once, each on communicators of its own. */
#include "check.h"
#include <pthread.h>

enum { THREADS = 4, ROUNDS = 120, MOST = 5000 };

static pthread_mutex_t counting = PTHREAD_MUTEX_INITIALIZER;

#define CHECK(condition, ...)                                                   \
    do {                                                                        \
        if (!(condition)) {                                                     \
            pthread_mutex_lock(&counting);                                      \
            EXPECT(0, __VA_ARGS__);                                             \
            pthread_mutex_unlock(&counting);                                    \
        }                                                                       \
    } while (0)

struct job {
    int number;
    MPI_Comm comm;
};

/* The left one: not commutative. */
static void earlier(void *in, void *inout, int *count, MPI_Datatype *type)
{
    (void)type;
    memcpy(inout, in, *count * sizeof(int));
}

static void round_of_calls(MPI_Comm comm, int thread, int round, MPI_Op op)
{
    int rank, size, count = (round * 97) % MOST, half = count / 2;
    MPI_Comm_rank(comm, &rank);
    MPI_Comm_size(comm, &size);
    int *own = malloc((count + 1) * sizeof *own), *all = malloc((size * count + 1) * sizeof *all);
    MPI_Datatype gaps;
    MPI_Type_vector(half, 1, 2, MPI_INT, &gaps);
    MPI_Type_commit(&gaps);
    for (int i = 0; i < count; i++)
        own[i] = rank + thread + i;
    MPI_Allreduce(own, all, count, MPI_INT, MPI_SUM, comm);
    for (int i = 0; i < count; i++)
        CHECK(all[i] == size * (size - 1) / 2 + size * (thread + i), "thread %d, round %d: sum %d", thread, round, i);
    MPI_Allgather(own, count, MPI_INT, all, count, MPI_INT, comm);
    for (int r = 0; r < size && count > 0; r++)
        CHECK(all[r * count + count - 1] == r + thread + count - 1, "thread %d, round %d: gathered", thread, round);
    int root = round % size;
    MPI_Bcast(own, half > 0, gaps, root, comm);
    for (int i = 0; i < 2 * half; i++)
        CHECK(own[i] == (i % 2 ? rank : root) + thread + i, "thread %d, round %d: bcast %d", thread, round, i);
    MPI_Request requests[3];
    int *sums = malloc((count + 1) * sizeof *sums), *copies = malloc((size * count + 1) * sizeof *copies);
    for (int i = 0; i < count; i++)
        own[i] = rank + thread + i;
    MPI_Iallreduce(own, sums, count, MPI_INT, MPI_SUM, comm, &requests[0]);
    MPI_Ibarrier(comm, &requests[1]);
    MPI_Iallgather(own, count, MPI_INT, copies, count, MPI_INT, comm, &requests[2]);
    if (round % 2)
        MPI_Wait(&requests[2], MPI_STATUS_IGNORE);
    MPI_Waitall(3, requests, MPI_STATUSES_IGNORE);
    for (int i = 0; i < count; i++)
        CHECK(sums[i] == size * (size - 1) / 2 + size * (thread + i), "thread %d, round %d: later sum %d", thread, round, i);
    for (int r = 0; r < size && count > 0; r++)
        CHECK(copies[r * count + count - 1] == r + thread + count - 1, "thread %d, round %d: later gathered", thread, round);
    free(sums);
    free(copies);
    int mine = rank + thread, first = -1;
    MPI_Scan(&mine, &first, 1, MPI_INT, op, comm);
    CHECK(first == thread, "thread %d, round %d: scan %d", thread, round, first);
    MPI_Barrier(comm);
    MPI_Type_free(&gaps);
    free(own);
    free(all);
}

static void *work(void *argument)
{
    const struct job *job = argument;
    MPI_Op op;
    MPI_Op_create(earlier, 0, &op);
    for (int round = 0; round < ROUNDS; round++) {
        round_of_calls(job->comm, job->number, round, op);
        if (round % 20 == 0) {
            MPI_Comm copy, part;
            int rank;
            MPI_Comm_rank(job->comm, &rank);
            MPI_Comm_dup(job->comm, &copy);
            round_of_calls(copy, job->number, round + 1, op);
            MPI_Comm_split(copy, rank / 2, -rank, &part);
            MPI_Comm_free(&copy);
            round_of_calls(part, job->number, round + 2, op);
            MPI_Comm_free(&part);
        }
    }
    MPI_Op_free(&op);
    return NULL;
}

/* What another thread waits for while the first is in a blocking call on the same communicator. */
struct awaited {
    MPI_Request request;
    int rank, size;
};

static void *wait_and_send(void *argument)
{
    struct awaited *awaited = argument;
    MPI_Wait(&awaited->request, MPI_STATUS_IGNORE);
    for (int r = 1; r < awaited->size && awaited->rank == 0; r++)
        MPI_Send(&awaited->rank, 1, MPI_INT, r, 9, MPI_COMM_WORLD);
    return NULL;
}

/* Other ranks come to the barrier, in which the first waits, when its other thread has heard of the end of a call before. */
static void another_thread_waits(void)
{
    int rank, size;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    for (int round = 0; round < 40; round++) {
        pthread_t thread;
        int own = rank + round, sum = -1, token = -1;
        struct awaited awaited = {.rank = rank, .size = size};
        MPI_Barrier(MPI_COMM_WORLD);
        MPI_Iallreduce(&own, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD, &awaited.request);
        pthread_create(&thread, NULL, wait_and_send, &awaited);
        if (rank > 0)
            MPI_Recv(&token, 1, MPI_INT, 0, 9, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        MPI_Barrier(MPI_COMM_WORLD);
        pthread_join(thread, NULL);
        CHECK(sum == size * (size - 1) / 2 + size * round, "another thread: %d", sum);
    }
}

int main(int argc, char **argv)
{
    int provided;
    MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &provided);
    pthread_t threads[THREADS];
    struct job jobs[THREADS];
    /* Where the MPI has no such level, one thread does the same. */
    int number = provided == MPI_THREAD_MULTIPLE ? THREADS : 1;
    for (int t = 0; t < number; t++) {
        jobs[t].number = t;
        MPI_Comm_dup(MPI_COMM_WORLD, &jobs[t].comm);
    }
    for (int t = 1; t < number; t++)
        pthread_create(&threads[t], NULL, work, &jobs[t]);
    work(&jobs[0]);
    for (int t = 1; t < number; t++)
        pthread_join(threads[t], NULL);
    for (int t = 0; t < number; t++)
        MPI_Comm_free(&jobs[t].comm);
    if (number > 1)
        another_thread_waits();
    return finish("threads");
}
