/* Nonblocking collectives: every call in place and not, many under way, and what a lawful program may do meanwhile. */
#include "check.h"

enum { MANY = 5, MOST = 40000 };

/* Ranks agree on a communicator in a blocking call. */
static void agree_on(MPI_Comm comm)
{
    MPI_Barrier(comm);
}

static void wait_for(MPI_Request *request)
{
    MPI_Status status;
    int elements = -1, cancelled = -1;
    MPI_Wait(request, &status);
    EXPECT(*request == MPI_REQUEST_NULL, "a request that was waited for is not null");
    MPI_Test_cancelled(&status, &cancelled);
    MPI_Get_count(&status, MPI_BYTE, &elements);
    EXPECT(!cancelled, "a call was cancelled");
}

static void moved(MPI_Comm comm, int rank, int size, int count)
{
    MPI_Request request;
    int root = count % size, n = count;
    int *own = malloc((size * n + 1) * sizeof *own), *all = malloc((size * n + 1) * sizeof *all);
    for (int i = 0; i < n; i++)
        own[i] = rank == root ? 7 * i + count : -1;
    MPI_Ibcast(own, n, MPI_INT, root, comm, &request);
    wait_for(&request);
    for (int i = 0; i < n; i++)
        EXPECT(own[i] == 7 * i + count, "bcast %d: %d", count, i);
    for (int turn = 0; turn < 2; turn++) {
        int in_place = turn;
        for (int i = 0; i < size * n; i++)
            all[i] = -1, own[i] = 1000 * rank + i % (n ? n : 1);
        if (in_place && rank == root)
            memcpy(all + rank * n, own, n * sizeof *own);
        MPI_Igather(in_place && rank == root ? MPI_IN_PLACE : own, n, MPI_INT, all, n, MPI_INT, root, comm, &request);
        wait_for(&request);
        for (int i = 0; rank == root && i < size * n; i++)
            EXPECT(all[i] == 1000 * (i / n) + i % n, "gather %d: %d", count, i);
        for (int i = 0; i < n; i++)
            own[i] = -1;
        MPI_Iscatter(all, n, MPI_INT, in_place && rank == root ? MPI_IN_PLACE : own, n, MPI_INT, root, comm, &request);
        wait_for(&request);
        for (int i = 0; i < n && !(in_place && rank == root); i++)
            EXPECT(own[i] == 1000 * rank + i, "scatter %d: %d is %d", count, i, own[i]);
        for (int i = 0; i < size * n; i++)
            all[i] = in_place && i / n == rank ? 1000 * rank + i % n : -1, own[i] = 1000 * rank + i % n;
        MPI_Iallgather(in_place ? MPI_IN_PLACE : own, n, MPI_INT, all, n, MPI_INT, comm, &request);
        wait_for(&request);
        for (int i = 0; i < size * n; i++)
            EXPECT(all[i] == 1000 * (i / n) + i % n, "allgather %d: %d", count, i);
        for (int i = 0; i < size * n; i++)
            own[i] = all[i] = 100 * rank + i / n;
        MPI_Ialltoall(in_place ? MPI_IN_PLACE : own, n, MPI_INT, all, n, MPI_INT, comm, &request);
        wait_for(&request);
        for (int i = 0; i < size * n; i++)
            EXPECT(all[i] == 100 * (i / n) + rank, "alltoall %d: %d", count, i);
    }
    free(own);
    free(all);
}

static void uneven(MPI_Comm comm, int rank, int size, int count)
{
    MPI_Request request;
    int counts[64], places[64], sent[64], sent_places[64], bytes[64], sent_bytes[64], total = 0, sent_total = 0;
    MPI_Datatype types[64];
    for (int r = 0; r < size; r++) {
        counts[r] = count + r * 3, places[r] = total + r;
        total = places[r] + counts[r];
        sent[r] = count + rank * 3, sent_places[r] = sent_total;
        sent_total += sent[r];
        bytes[r] = places[r] * (int)sizeof(int), sent_bytes[r] = sent_places[r] * (int)sizeof(int);
        types[r] = MPI_INT;
    }
    int root = size - 1, own = counts[rank], most = total > sent_total ? total : sent_total;
    int *from = malloc((most + 1) * sizeof *from), *to = malloc((most + 1) * sizeof *to);
    for (int turn = 0; turn < 4; turn++) {
        for (int i = 0; i < most; i++)
            from[i] = 100 * rank + i % (own ? own : 1), to[i] = -1;
        if (turn == 0)
            MPI_Igatherv(from, own, MPI_INT, to, counts, places, MPI_INT, root, comm, &request);
        else if (turn == 1)
            MPI_Iallgatherv(from, own, MPI_INT, to, counts, places, MPI_INT, comm, &request);
        else if (turn == 2)
            MPI_Ialltoallv(from, sent, sent_places, MPI_INT, to, counts, places, MPI_INT, comm, &request);
        else
            MPI_Ialltoallw(from, sent, sent_bytes, types, to, counts, bytes, types, comm, &request);
        wait_for(&request);
        for (int r = 0; r < size && (turn > 0 || rank == root); r++)
            for (int i = 0; i < counts[r]; i++) {
                int at = turn > 1 ? (rank * (count + r * 3) + i) % (counts[r] ? counts[r] : 1) : i;
                EXPECT(to[places[r] + i] == 100 * r + at, "uneven %d: %d of %d is %d", turn, i, r, to[places[r] + i]);
            }
    }
    for (int i = 0; i < total; i++)
        from[i] = 3 * i, to[i] = -1;
    MPI_Iscatterv(from, counts, places, MPI_INT, to, own, MPI_INT, root, comm, &request);
    wait_for(&request);
    for (int i = 0; i < own; i++)
        EXPECT(to[i] == 3 * (places[rank] + i), "scatterv: %d", i);
    free(from);
    free(to);
}

static void combined(MPI_Comm comm, int rank, int size, int count)
{
    MPI_Request request;
    int n = size * count, counts[64], first = 0, root = count % size;
    double *own = malloc((n + 1) * sizeof *own), *sum = malloc((n + 1) * sizeof *sum);
    double ranks = size * (size - 1) / 2.0, before = rank * (rank - 1) / 2.0;
    for (int r = 0; r < size; r++) {
        counts[r] = r % 2 ? 2 * count : r + 1 < size ? 0 : count;
        first += r < rank ? counts[r] : 0;
    }
    int all = 0;
    for (int r = 0; r < size; r++)
        all += counts[r];
    own = realloc(own, (n + all + 1) * sizeof *own);
    sum = realloc(sum, (n + all + 1) * sizeof *sum);
    for (int in_place = 0; in_place < 2; in_place++) {
#define FILL for (int i = 0; i < n + all; i++) own[i] = rank + i, sum[i] = in_place ? rank + i : -1
#define FROM (in_place ? MPI_IN_PLACE : own)
        FILL;
        MPI_Iallreduce(FROM, sum, n, MPI_DOUBLE, MPI_SUM, comm, &request);
        wait_for(&request);
        for (int i = 0; i < n; i++)
            EXPECT(sum[i] == ranks + (double)size * i, "allreduce %d: %d is %g", count, i, sum[i]);
        FILL;
        MPI_Ireduce(in_place && rank == root ? MPI_IN_PLACE : own, sum, n, MPI_DOUBLE, MPI_MAX, root, comm, &request);
        wait_for(&request);
        for (int i = 0; rank == root && i < n; i++)
            EXPECT(sum[i] == size - 1 + i, "reduce %d: %d is %g", count, i, sum[i]);
        FILL;
        MPI_Ireduce_scatter_block(FROM, sum, count, MPI_DOUBLE, MPI_SUM, comm, &request);
        wait_for(&request);
        for (int i = 0; i < count; i++)
            EXPECT(sum[i] == ranks + (double)size * (rank * count + i), "reduce_scatter_block %d: %d", count, i);
        FILL;
        MPI_Ireduce_scatter(FROM, sum, counts, MPI_DOUBLE, MPI_SUM, comm, &request);
        wait_for(&request);
        for (int i = 0; i < counts[rank]; i++)
            EXPECT(sum[i] == ranks + (double)size * (first + i), "reduce_scatter %d: %d", count, i);
        FILL;
        MPI_Iscan(FROM, sum, n, MPI_DOUBLE, MPI_SUM, comm, &request);
        wait_for(&request);
        for (int i = 0; i < n; i++)
            EXPECT(sum[i] == before + rank + (rank + 1.0) * i, "scan %d: %d is %g", count, i, sum[i]);
        FILL;
        MPI_Iexscan(FROM, sum, n, MPI_DOUBLE, MPI_SUM, comm, &request);
        wait_for(&request);
        for (int i = 0; rank > 0 && i < n; i++)
            EXPECT(sum[i] == before + (double)rank * i, "exscan %d: %d is %g", count, i, sum[i]);
    }
    free(own);
    free(sum);
}

static void every_call(MPI_Comm comm, int rank, int size)
{
    static const int counts[] = {0, 1, 2, 100, 3000};
    agree_on(comm);
    MPI_Request request;
    MPI_Ibarrier(comm, &request);
    wait_for(&request);
    for (unsigned c = 0; c < sizeof counts / sizeof *counts; c++) {
        moved(comm, rank, size, counts[c]);
        uneven(comm, rank, size, counts[c]);
        combined(comm, rank, size, counts[c]);
    }
}

/* Ranks describe the same data by different types, which are freed before the call has ended. */
static void derived_types(MPI_Comm comm, int rank, int size)
{
    enum { ROWS = 40 };
    MPI_Request requests[3];
    int matrix[ROWS][3], gathered[64 * ROWS], root = size - 1, one = 0;
    agree_on(comm);
    for (int i = 0; i < ROWS; i++)
        for (int j = 0; j < 3; j++)
            matrix[i][j] = rank == root ? 10 * i + j : -1;
    MPI_Datatype column, part;
    MPI_Type_vector(ROWS, 1, 3, MPI_INT, &column);
    MPI_Type_commit(&column);
    if (rank % 2)
        MPI_Ibcast(&matrix[0][1], 1, column, root, comm, &requests[0]);
    else {
        MPI_Type_create_resized(MPI_INT, 0, 3 * sizeof(int), &part);
        MPI_Type_commit(&part);
        MPI_Ibcast(&matrix[0][1], ROWS, part, root, comm, &requests[0]);
        MPI_Type_free(&part);
    }
    int whole = ROWS * 2, half = ROWS, zero = 0;
    MPI_Type_create_darray(1, 0, 1, &whole, (int[]){MPI_DISTRIBUTE_BLOCK}, (int[]){MPI_DISTRIBUTE_DFLT_DARG}, (int[]){1},
                           MPI_ORDER_C, MPI_INT, &part);
    MPI_Type_free(&part);
    MPI_Type_create_subarray(1, &whole, &half, &zero, MPI_ORDER_C, MPI_INT, &part);
    MPI_Type_commit(&part);
    int own[2 * ROWS], all[64 * 2 * ROWS];
    for (int i = 0; i < 2 * ROWS; i++)
        own[i] = 1000 * rank + i;
    memset(all, -1, sizeof all);
    MPI_Iallgather(own, 1, part, all, 1, part, comm, &requests[1]);
    MPI_Type_free(&part);
    MPI_Type_free(&column);
    MPI_Iallreduce(&rank, &one, 1, MPI_INT, MPI_MAX, comm, &requests[2]);
    (void)gathered;
    MPI_Waitall(3, requests, MPI_STATUSES_IGNORE);
    for (int i = 0; i < ROWS; i++) {
        EXPECT(matrix[i][1] == 10 * i + 1, "column: %d", i);
        EXPECT(matrix[i][0] == (rank == root ? 10 * i : -1), "beside the column: %d", i);
    }
    for (int i = 0; i < size * 2 * ROWS; i++) {
        int rest = i % (2 * ROWS), expected = rest < ROWS ? 1000 * (i / (2 * ROWS)) + rest : -1;
        EXPECT(all[i] == expected, "subarray: %d is %d", i, all[i]);
    }
    EXPECT(one == size - 1, "the largest rank is %d", one);
}

/* A type that only the MPI can unpack, which is freed before the call has ended. */
static void types_of_the_mpi(MPI_Comm comm, int rank, int size)
{
    enum { WIDTH = 24 };
    MPI_Request request;
    MPI_Datatype spread;
    int sizes = WIDTH, kind = MPI_DISTRIBUTE_CYCLIC, grain = 2, parts = 2, field[WIDTH];
    agree_on(comm);
    MPI_Type_create_darray(2, 1, 1, &sizes, &kind, &grain, &parts, MPI_ORDER_C, MPI_INT, &spread);
    MPI_Type_commit(&spread);
    for (int i = 0; i < WIDTH; i++)
        field[i] = rank == 0 ? i : -1;
    MPI_Ibcast(field, 1, spread, 0, comm, &request);
    MPI_Type_free(&spread);
    wait_for(&request);
    for (int i = 0; i < WIDTH; i++)
        EXPECT(field[i] == (rank == 0 || i / 2 % 2 ? i : -1), "distributed: %d is %d of %d", i, field[i], size);
}

/* More calls of one shape than there are windows, in an order that is not that of their ends, and one rank is late. */
static void many(MPI_Comm comm, int rank, int size)
{
    static double own[MANY][MOST / 10], sum[MANY][MOST / 10];
    static const int lengths[] = {1, 50, 1000, MOST / 10};
    MPI_Request requests[2 * MANY];
    agree_on(comm);
    for (unsigned l = 0; l < sizeof lengths / sizeof *lengths; l++) {
        int n = lengths[l], ended = 0, flag = 0, indices[2 * MANY], index;
        /* Here the blocking call comes after some are under way. */
        if (rank == size - 1) {
            double until = MPI_Wtime() + 0.01;
            while (MPI_Wtime() < until)
                ;
        }
        for (int c = 0; c < MANY; c++) {
            for (int i = 0; i < n; i++)
                own[c][i] = rank + c + i, sum[c][i] = -1;
            MPI_Iallreduce(own[c], sum[c], n, MPI_DOUBLE, MPI_SUM, comm, &requests[2 * c]);
            MPI_Ibarrier(comm, &requests[2 * c + 1]);
        }
        double blocking = -1, mine = rank;
        MPI_Allreduce(&mine, &blocking, 1, MPI_DOUBLE, MPI_MAX, comm);
        EXPECT(blocking == size - 1, "the blocking one: %g", blocking);
        if (l % 2) {
            MPI_Waitany(2 * MANY, requests, &index, MPI_STATUS_IGNORE);
            while (ended >= 0 && ended != MPI_UNDEFINED)
                MPI_Testsome(2 * MANY, requests, &ended, indices, MPI_STATUSES_IGNORE);
        } else {
            for (int c = 2 * MANY - 1; c > MANY; c--)
                MPI_Wait(&requests[c], MPI_STATUS_IGNORE);
            while (!flag)
                MPI_Testall(2 * MANY, requests, &flag, MPI_STATUSES_IGNORE);
        }
        for (int c = 0; c < MANY; c++)
            for (int i = 0; i < n; i++)
                EXPECT(sum[c][i] == size * (size - 1) / 2 + (double)size * (c + i), "many: %d of %d is %g", i, c, sum[c][i]);
    }
}

/* So many shapes, all under way at once, that their windows do not all fit. */
static void many_shapes(MPI_Comm comm, int rank, int size)
{
    enum { SHAPES = 150 };
    static int own[SHAPES], sum[SHAPES][SHAPES];
    MPI_Request requests[SHAPES];
    agree_on(comm);
    for (int i = 0; i < SHAPES; i++)
        own[i] = rank + i;
    for (int c = 0; c < SHAPES; c++)
        MPI_Iallreduce(own, sum[c], c + 1, MPI_INT, MPI_SUM, comm, &requests[c]);
    int token = 0;
    if (rank == 0 && size > 1)
        MPI_Recv(&token, 1, MPI_INT, size - 1, 8, comm, MPI_STATUS_IGNORE);
    else if (rank == size - 1 && size > 1)
        MPI_Send(&token, 1, MPI_INT, 0, 8, comm);
    MPI_Waitall(SHAPES, requests, MPI_STATUSES_IGNORE);
    for (int c = 0; c < SHAPES; c++)
        for (int i = 0; i <= c; i++)
            EXPECT(sum[c][i] == size * (size - 1) / 2 + size * i, "shape %d: %d is %d", c, i, sum[c][i]);
}

/* A rank that has less to send is ahead: it begins a second long call while the other, who knows nothing of it, still sends in
   the first. */
static void ahead(MPI_Comm comm, int rank, int size)
{
    enum { MOST_BYTES = 6 << 20, LEAST_BYTES = 1 << 20, TURNS = 6 };
    char *out = malloc(MOST_BYTES), *in = malloc(MOST_BYTES);
    char *outs = malloc((size_t)size * MOST_BYTES), *ins = malloc((size_t)size * MOST_BYTES);
    agree_on(comm);
    for (int turn = 0; turn < TURNS && size == 2; turn++) {
        int bytes = MOST_BYTES - turn * 500009, peer = 1 - rank, is_first = turn % 2 == rank;
        int length[2] = {is_first ? LEAST_BYTES : bytes, is_first ? bytes : LEAST_BYTES};
        int sent[2] = {0}, received[2] = {0}, at[2] = {0};
        MPI_Request requests[2];
        sent[peer] = length[0], received[peer] = length[1];
        memset(out, rank + turn, length[0]);
        for (int to = 0; to < size; to++)
            memset(outs + (size_t)to * bytes, 10 * rank + to + turn, bytes);
        MPI_Ialltoallv(out, sent, at, MPI_BYTE, in, received, at, MPI_BYTE, comm, &requests[0]);
        if (!is_first)
            wait_for(&requests[0]);
        MPI_Ialltoall(outs, bytes, MPI_BYTE, ins, bytes, MPI_BYTE, comm, &requests[1]);
        MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
        for (int place = 0; place < length[1]; place += 509)
            EXPECT(in[place] == peer + turn, "first, turn %d: %d", turn, in[place]);
        for (int from = 0; from < size; from++)
            for (int place = 0; place < bytes; place += 509) {
                int value = ins[(size_t)from * bytes + place];
                EXPECT(value == 10 * from + rank + turn, "second, turn %d: %d", turn, value);
            }
    }
    free(out), free(in), free(outs), free(ins);
}

/* A rank waits in a message that its peer sends only after a collective to which the first must contribute meanwhile; and
   to begin a call does not wait for a rank that comes when it has got a message. */
static void messages_between(MPI_Comm comm, int rank, int size)
{
    enum { LONG = 200000 };
    int token = rank, calls = 4;
    double *data = malloc(LONG * sizeof *data), *sum = malloc(LONG * sizeof *sum), small[4] = {0};
    MPI_Request requests[4];
    agree_on(comm);
    for (int round = 0; round < 6 && size > 1; round++) {
        int n = round < 3 ? 1 + 100 * round : LONG;
        for (int i = 0; i < n; i++)
            data[i] = rank == 0 ? i + round : rank;
        /* The last rank begins only when the first has begun all of its own. */
        if (rank == size - 1)
            MPI_Recv(&token, 1, MPI_INT, 0, 1, comm, MPI_STATUS_IGNORE);
        if (round % 2)
            for (int c = 0; c < calls; c++)
                MPI_Ibcast(c ? small + c : data, c ? 1 : n, MPI_DOUBLE, 0, comm, &requests[c]);
        else
            for (int c = 0; c < calls; c++)
                MPI_Iallreduce(data, sum, c ? 0 : n, MPI_DOUBLE, MPI_SUM, comm, &requests[c]);
        if (rank == 0) {
            MPI_Send(&token, 1, MPI_INT, size - 1, 1, comm);
            /* It comes when the others have waited for their part of the calls. */
            for (int r = 1; r < size; r++)
                MPI_Recv(&token, 1, MPI_INT, r, 2, comm, MPI_STATUS_IGNORE);
        }
        MPI_Waitall(calls, requests, MPI_STATUSES_IGNORE);
        if (rank > 0)
            MPI_Send(&token, 1, MPI_INT, 0, 2, comm);
        for (int i = 0; i < n; i++) {
            double expected = round % 2 ? i + round : i + round + size * (size - 1) / 2;
            double got = round % 2 ? data[i] : sum[i];
            EXPECT(got == expected, "round %d: %d is %g", round, i, got);
        }
    }
    free(data);
    free(sum);
}

/* Communicators that are freed while a call is under way. */
static void freed_meanwhile(MPI_Comm comm, int rank, int size)
{
    MPI_Comm copy;
    MPI_Request request;
    static int sums[20];
    agree_on(comm);
    int rounds = 20;
#ifdef OPEN_MPI
    /* Its own calls go on with the communicator that is gone. */
    if (getenv("ALLHANDS_NODES"))
        rounds = 0;
#endif
    for (int round = 0; round < rounds; round++) {
        MPI_Comm_dup(comm, &copy);
        agree_on(copy);
        sums[round] = -1;
        if (rank == size - 1) {
            double until = MPI_Wtime() + 0.001;
            while (MPI_Wtime() < until)
                ;
        }
        MPI_Iallreduce(&rank, &sums[round], 1, MPI_INT, MPI_SUM, copy, &request);
        MPI_Comm_free(&copy);
        wait_for(&request);
        EXPECT(sums[round] == size * (size - 1) / 2, "freed communicator: %d", sums[round]);
    }
}

/* The left one: not commutative, so the MPI combines; and freed at once. */
static void earlier(void *in, void *inout, int *count, MPI_Datatype *type)
{
    (void)type;
    memcpy(inout, in, *count * sizeof(int));
}

static void operators_of_the_user(MPI_Comm comm, int rank, int size)
{
    MPI_Op op;
    MPI_Request request;
    int own = rank + 3, first = -1;
    (void)size;
    agree_on(comm);
    MPI_Op_create(earlier, 0, &op);
    MPI_Iallreduce(&own, &first, 1, MPI_INT, op, comm, &request);
    MPI_Op_free(&op);
    wait_for(&request);
    EXPECT(first == 3, "the first is %d", first);
}

/* Null requests beside those of calls that are under way, in all that takes several. */
static void null_requests(MPI_Comm comm, int rank, int size)
{
    int sum[3], index, flag, ended, indices[4], token = rank, got = -1;
    MPI_Request requests[4];
    agree_on(comm);
    for (int round = 0; round < 12; round++) {
        sum[0] = sum[1] = -1;
        if (rank == round % size) {
            double until = MPI_Wtime() + 0.002;
            while (MPI_Wtime() < until)
                ;
        }
        requests[0] = MPI_REQUEST_NULL;
        MPI_Iallreduce(&rank, &sum[0], 1, MPI_INT, MPI_SUM, comm, &requests[1]);
        MPI_Irecv(&got, 1, MPI_INT, (rank + size - 1) % size, 4, comm, &requests[2]);
        MPI_Iallreduce(&rank, &sum[1], 1, MPI_INT, MPI_MAX, comm, &requests[3]);
        MPI_Send(&token, 1, MPI_INT, (rank + 1) % size, 4, comm);
        if (round % 4 == 0)
            MPI_Waitall(4, requests, MPI_STATUSES_IGNORE);
        for (int r = 0; round % 4 == 1 && r < 3; r++)
            MPI_Waitany(4, requests, &index, MPI_STATUS_IGNORE);
        for (int r = 0; round % 4 == 2 && r < 3; r += ended)
            MPI_Waitsome(4, requests, &ended, indices, MPI_STATUSES_IGNORE);
        for (flag = 0; round % 4 == 3 && !flag;)
            MPI_Testall(4, requests, &flag, MPI_STATUSES_IGNORE);
        EXPECT(sum[0] == size * (size - 1) / 2 && sum[1] == size - 1, "with null requests, %d: %d and %d", round, sum[0], sum[1]);
        EXPECT(got == (rank + size - 1) % size, "with null requests: %d", got);
        for (int r = 0; r < 4; r++)
            EXPECT(requests[r] == MPI_REQUEST_NULL, "request %d is left", r);
    }
}

/* The first call of all on a communicator is a nonblocking one: the ranks have not agreed on anything. */
static void first_of_all(MPI_Comm comm, int rank, int size)
{
    MPI_Comm copy;
    MPI_Request request;
    int sum = -1;
    MPI_Comm_dup(comm, &copy);
    MPI_Iallreduce(&rank, &sum, 1, MPI_INT, MPI_SUM, copy, &request);
    wait_for(&request);
    EXPECT(sum == size * (size - 1) / 2, "first of all: %d", sum);
    MPI_Comm_free(&copy);
}

/* Whether calls on one machine are taken over: natively ranks that call differently wait for ever. */
static int is_taken_over(void)
{
#if defined(OPEN_MPI)
    int has_hook = 1;
#elif defined(MPI_ABI_VERSION)
    int has_hook = 0;
#else
    int has_hook = library_says("MPICH") && library_says(" 5.");
#endif
    return has_hook && getenv("LD_PRELOAD") && !getenv("ALLHANDS_NODES");
}

/* Ranks that call differently are told so, at the latest by the request. */
static void mistakes(void)
{
    int rank, size, own = 1, sum = -1, code = MPI_SUCCESS;
    MPI_Comm copy;
    MPI_Request request = MPI_REQUEST_NULL;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    if (size < 2 || !is_taken_over())
        return;
    MPI_Comm_dup(MPI_COMM_WORLD, &copy);
    MPI_Comm_set_errhandler(copy, MPI_ERRORS_RETURN);
    /* Requests of ours have no communicator, so an error of theirs goes to one of these. */
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
    agree_on(copy);
    if (rank == 0)
        code = MPI_Iallreduce(&own, &sum, 1, MPI_INT, MPI_SUM, copy, &request);
    else
        code = MPI_Iallreduce(&own, &sum, 1, MPI_INT, MPI_MAX, copy, &request);
    if (code == MPI_SUCCESS)
        code = MPI_Wait(&request, MPI_STATUS_IGNORE);
    EXPECT(code != MPI_SUCCESS, "a rank that calls differently is not told");
    MPI_Comm_free(&copy);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_ARE_FATAL);
}

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    on_communicators(first_of_all);
    on_communicators(every_call);
    on_communicators(derived_types);
    on_communicators(types_of_the_mpi);
    on_communicators(many);
    on_communicators(many_shapes);
    on_communicators(ahead);
    on_communicators(messages_between);
    on_communicators(null_requests);
    on_communicators(freed_meanwhile);
    on_communicators(operators_of_the_user);
    mistakes();
    return finish("nonblocking");
}
