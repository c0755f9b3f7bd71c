/* The worker of `cargo xtask compare` on an MPI: `worker BOARD GROUP` under that MPI's mpiexec.
 *
 * crates/allhands/examples/compare_worker/main.rs is the same program on Allhands, with the same names: what is
 * changed in one is changed in the other. (But for `--passing`, of which it has nothing.)
 */
#define _GNU_SOURCE
#include "board.h"

#include <fcntl.h>
#include <linux/futex.h>
#include <mpi.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

enum { WARM_CALLS = 5, WARM_NS = 2000000, LEAST_SAMPLES = 5, PASSING_TURNS = 5, PASSING_CALLS = 1000000 };

/* A rank's place at the board. */
struct place {
    struct board_group *group;
    int rank, ranks;
    uint64_t epoch; /* barriers entered */
    int oversubscribed;
};

/* A turn's call and buffers. */
struct work {
    int collective, rank, ranks;
    uint64_t elements; /* of a block or of the whole vector, as `bytes` is meant */
    uint64_t *input, *output;
    uint64_t inputs, outputs;
    int *counts; /* of reduce-scatter's blocks */
};

static _Noreturn void fail(const char *what)
{
    fprintf(stderr, "compare worker: %s\n", what);
    exit(2);
}

static uint64_t now_ns(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec * 1000000000 + (uint64_t)t.tv_nsec;
}

/* The neutral start and finish: they use nothing of the library under test. */

static void relax(const struct place *p)
{
    if (p->oversubscribed)
        sched_yield();
    else
#if defined(__x86_64__)
        __builtin_ia32_pause();
#elif defined(__aarch64__)
        __asm__ volatile("yield");
#endif
}

/* Rank 0 returns when all have come, the others at once. */
static void assemble(struct place *p)
{
    p->epoch += 1;
    atomic_store_explicit(&p->group->ranks[p->rank].epoch, p->epoch, memory_order_release);
    for (int r = 1; p->rank == 0 && r < p->ranks; r++)
        while (atomic_load_explicit(&p->group->ranks[r].epoch, memory_order_acquire) < p->epoch)
            relax(p);
}

/* Rank 0 lets the others go; they return when it has. */
static void release(struct place *p)
{
    if (p->rank == 0)
        atomic_store_explicit(&p->group->go, p->epoch, memory_order_release);
    else
        while (atomic_load_explicit(&p->group->go, memory_order_acquire) < p->epoch)
            relax(p);
}

/* All ranks leave at the same time, which rank 0 sets; gives that time, and the phase that rank 0 chose. */
static uint64_t start(struct place *p, uint64_t *phase)
{
    assemble(p);
    if (p->rank == 0) {
        p->group->phase = *phase;
        p->group->start_ns = now_ns() + (p->oversubscribed ? 4000 * (uint64_t)p->ranks : 3000);
    }
    release(p);
    *phase = p->group->phase;
    uint64_t start_ns = p->group->start_ns;
    while (now_ns() < start_ns)
        relax(p);
    return start_ns;
}

/* Notes the end; gives rank 0 the time from the start to the last rank's end. */
static uint64_t finish(struct place *p, uint64_t start_ns)
{
    p->group->ranks[p->rank].end_ns = now_ns();
    assemble(p);
    uint64_t longest = 0;
    for (int r = 0; p->rank == 0 && r < p->ranks; r++) {
        uint64_t took = p->group->ranks[r].end_ns - start_ns;
        longest = took > longest ? took : longest;
    }
    release(p);
    return longest;
}

/* The data: every value differs by rank, place and iteration, and sums have a closed form. */

static uint64_t value(uint64_t rank, uint64_t index, uint64_t iteration)
{
    return (index + 1) * 0x9e3779b97f4a7c15 + (rank + 1) * 0xbf58476d1ce4e5b9 + iteration * 0x94d049bb133111eb;
}

/* The sum of `value` over ranks 0 .. ranks. */
static uint64_t sum(uint64_t ranks, uint64_t index, uint64_t iteration)
{
    uint64_t others = ranks * (ranks - 1) / 2 * 0xbf58476d1ce4e5b9;
    return ranks * value(0, index, iteration) + others;
}

/* Where reduce-scatter's block of `rank` begins. */
static uint64_t cut(const struct work *w, uint64_t rank)
{
    uint64_t ranks = (uint64_t)w->ranks, more = w->elements % ranks;
    return rank * (w->elements / ranks) + (rank < more ? rank : more);
}

static uint64_t expected(const struct work *w, uint64_t at, uint64_t iteration)
{
    uint64_t rank = (uint64_t)w->rank, ranks = (uint64_t)w->ranks;
    uint64_t block = at / w->elements, index = at % w->elements;
    switch (w->collective) {
    case BROADCAST: return value(0, index, iteration);
    case SCATTER: return value(0, rank * w->elements + index, iteration);
    case GATHER:
    case ALLGATHER: return value(block, index, iteration);
    case ALLTOALL: return value(block, rank * w->elements + index, iteration);
    case REDUCE_SCATTER: return sum(ranks, cut(w, rank) + index, iteration);
    case REDUCE:
    case ALLREDUCE: return sum(ranks, index, iteration);
    case SCAN: return sum(rank + 1, index, iteration);
    case EXSCAN: return sum(rank, index, iteration);
    default: return 0;
    }
}

/* The bytes of a buffer of so many elements: whole pages, and one at least. */
static size_t page_bytes(uint64_t elements)
{
    return (elements ? elements * 8 + 4095 : 4096) / 4096 * 4096;
}

/* Whole pages, all touched, so that no call pays for them. They come from the system in every turn and go back to it: where
 * pages lie in the caches makes megabytes twice as slow or not, and no group shall keep that for all its turns. */
static uint64_t *pages(uint64_t elements)
{
    size_t bytes = page_bytes(elements);
    void *buffer = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (buffer == MAP_FAILED)
        fail("out of memory");
    memset(buffer, 0, bytes);
    return buffer;
}

static void prepare(struct work *w)
{
    uint64_t ranks = (uint64_t)w->ranks, all = ranks * w->elements, one = w->elements;
    int root = w->rank == 0;
    w->counts = malloc(sizeof(int) * ranks);
    for (uint64_t r = 0; r < ranks; r++)
        w->counts[r] = (int)(cut(w, r + 1) - cut(w, r));
    switch (w->collective) {
    case BARRIER: w->inputs = 0, w->outputs = 0; break;
    case BROADCAST: w->inputs = 0, w->outputs = one; break;
    case SCATTER: w->inputs = root ? all : 0, w->outputs = one; break;
    case GATHER: w->inputs = one, w->outputs = root ? all : 0; break;
    case ALLGATHER: w->inputs = one, w->outputs = all; break;
    case ALLTOALL: w->inputs = all, w->outputs = all; break;
    case REDUCE_SCATTER: w->inputs = one, w->outputs = (uint64_t)w->counts[w->rank]; break;
    case REDUCE: w->inputs = one, w->outputs = root ? one : 0; break;
    default: w->inputs = one, w->outputs = one; break;
    }
    w->input = pages(w->inputs);
    w->output = pages(w->outputs);
}

static void discard(struct work *w)
{
    munmap(w->input, page_bytes(w->inputs));
    munmap(w->output, page_bytes(w->outputs));
    free(w->counts);
}

static void fill(struct work *w, uint64_t iteration)
{
    uint64_t rank = (uint64_t)w->rank;
    int in_output = w->collective == BROADCAST && w->rank == 0;
    uint64_t *to = in_output ? w->output : w->input;
    uint64_t elements = in_output ? w->outputs : w->inputs;
    for (uint64_t i = 0; i < elements; i++)
        to[i] = value(rank, i, iteration);
}

static void call(struct work *w)
{
    const MPI_Comm comm = MPI_COMM_WORLD;
    const MPI_Datatype u64 = MPI_UINT64_T;
    const int n = (int)w->elements;
    uint64_t *in = w->input, *out = w->output;
    int status = 0;
    switch (w->collective) {
    case BARRIER: status = MPI_Barrier(comm); break;
    case BROADCAST: status = MPI_Bcast(out, n, u64, 0, comm); break;
    case SCATTER: status = MPI_Scatter(in, n, u64, out, n, u64, 0, comm); break;
    case GATHER: status = MPI_Gather(in, n, u64, out, n, u64, 0, comm); break;
    case ALLGATHER: status = MPI_Allgather(in, n, u64, out, n, u64, comm); break;
    case ALLTOALL: status = MPI_Alltoall(in, n, u64, out, n, u64, comm); break;
    case REDUCE_SCATTER:
        if (w->elements % (uint64_t)w->ranks == 0)
            status = MPI_Reduce_scatter_block(in, out, w->counts[0], u64, MPI_SUM, comm);
        else
            status = MPI_Reduce_scatter(in, out, w->counts, u64, MPI_SUM, comm);
        break;
    case REDUCE: status = MPI_Reduce(in, out, n, u64, MPI_SUM, 0, comm); break;
    case ALLREDUCE: status = MPI_Allreduce(in, out, n, u64, MPI_SUM, comm); break;
    case SCAN: status = MPI_Scan(in, out, n, u64, MPI_SUM, comm); break;
    case EXSCAN: status = MPI_Exscan(in, out, n, u64, MPI_SUM, comm); break;
    default: fail("a collective that this worker does not know");
    }
    if (status != MPI_SUCCESS)
        fail("a call failed");
}

/* Notes wrong elements: all are looked at, or one of each block. */
static void check(const struct work *w, struct board_rank *own, uint64_t iteration, int in_full, uint64_t filled)
{
    /* The first rank's result of an exclusive scan is undefined. */
    if (w->outputs == 0 || (w->collective == EXSCAN && w->rank == 0))
        return;
    uint64_t block = w->collective == REDUCE_SCATTER ? w->outputs : w->elements;
    uint64_t first = in_full ? 0 : iteration * 2654435761 % block;
    for (uint64_t at = first; at < w->outputs; at += in_full ? 1 : block) {
        uint64_t right = expected(w, at, filled);
        if (w->output[at] == right)
            continue;
        if (own->wrong == 0) {
            own->wrong_index = at;
            own->wrong_got = w->output[at];
            own->wrong_expected = right;
        }
        own->wrong += 1;
    }
}

/* Rank 0's choice of what the next call counts as. */
static uint64_t choose_phase(uint64_t calls, uint64_t samples, uint64_t elapsed, uint64_t budget_ns)
{
    if (samples == 0 && (calls < WARM_CALLS || elapsed < WARM_NS) && elapsed < 4 * budget_ns)
        return WARM;
    int enough = elapsed >= budget_ns && samples + 1 >= LEAST_SAMPLES;
    if (enough || samples + 1 >= BOARD_SAMPLES || elapsed >= 8 * budget_ns)
        return LAST;
    return TIMED;
}

static void take_turn(struct place *p)
{
    struct board_group *group = p->group;
    struct board_rank *own = &group->ranks[p->rank];
    struct work work = {.collective = (int)group->collective, .rank = p->rank, .ranks = p->ranks};
    /* A barrier has no elements; one keeps `expected` free of a case. */
    work.elements = group->bytes / 8 ? group->bytes / 8 : 1;
    int fresh = (group->flags & BOARD_FRESH) != 0;
    p->oversubscribed = (group->flags & BOARD_OVERSUBSCRIBED) != 0;
    own->wrong = 0;
    prepare(&work);
    uint64_t samples = 0, phase = WARM, begin_ns = now_ns();
    for (uint64_t iteration = 0; phase != LAST; iteration++) {
        uint64_t filled = fresh ? iteration : 0;
        if (filled == iteration)
            fill(&work, iteration);
        if (p->rank == 0)
            phase = choose_phase(iteration, samples, now_ns() - begin_ns, group->budget_ns);
        uint64_t start_ns = start(p, &phase);
        call(&work);
        uint64_t longest = finish(p, start_ns);
        if (p->rank == 0 && phase != WARM)
            group->sample_ns[samples++] = longest;
        check(&work, own, iteration, iteration == 0 || phase == LAST, filled);
    }
    discard(&work);
    assemble(p);
    release(p);
    if (p->rank == 0) {
        group->samples = (uint32_t)samples;
        group->done = group->turn;
        syscall(SYS_futex, &group->done, FUTEX_WAKE, 1, NULL, NULL, 0);
    }
}

static struct board_group *attach(const char *path, size_t number)
{
    int file = open(path, O_RDWR | O_CLOEXEC);
    struct stat status;
    if (file < 0 || fstat(file, &status) != 0)
        fail("the board cannot be opened");
    struct board *board = mmap(NULL, (size_t)status.st_size, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    if (board == MAP_FAILED || board->layout != sizeof(struct board_group))
        fail("the board has another layout");
    return &board->groups[number];
}

/* `worker --passing`: the time of a call that the drop-in leaves to the MPI, as its communicator has one rank. */
static void time_passing(void)
{
    int rank, nothing = 0;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    uint64_t least_ns = UINT64_MAX;
    for (int turn = 0; turn < PASSING_TURNS; turn++) {
        uint64_t begin_ns = now_ns();
        for (int call = 0; call < PASSING_CALLS; call++)
            MPI_Bcast(&nothing, 1, MPI_INT, 0, MPI_COMM_SELF);
        uint64_t took_ns = now_ns() - begin_ns;
        least_ns = took_ns < least_ns ? took_ns : least_ns;
    }
    if (rank == 0)
        printf("%.2f\n", (double)least_ns / PASSING_CALLS);
}

int main(int argc, char **argv)
{
    if (argc == 2 && strcmp(argv[1], "--passing") == 0) {
        MPI_Init(&argc, &argv);
        time_passing();
        MPI_Finalize();
        return 0;
    }
    if (argc != 3)
        fail("type: worker BOARD GROUP (cargo xtask compare does)");
    MPI_Init(&argc, &argv);
    struct place place = {.group = attach(argv[1], strtoul(argv[2], NULL, 10))};
    MPI_Comm_rank(MPI_COMM_WORLD, &place.rank);
    MPI_Comm_size(MPI_COMM_WORLD, &place.ranks);
    place.group->ranks[place.rank].pid = (uint64_t)getpid();
    for (uint32_t seen = 0;;) {
        /* Asleep, so that a group that waits takes no time from the one that runs. */
        while (place.group->turn == seen)
            syscall(SYS_futex, &place.group->turn, FUTEX_WAIT, seen, NULL, NULL, 0);
        seen = place.group->turn;
        if (place.group->collective == QUIT)
            break;
        take_turn(&place);
    }
    MPI_Finalize();
    return 0;
}
