/* The board: shared memory where the conductor of `cargo xtask compare` gives turns and ranks write times.
 *
 * The same layout stands in crates/allhands/examples/compare_worker/board.rs; `layout` tells one that is not.
 */
#ifndef BOARD_H
#define BOARD_H

#include <stdatomic.h>
#include <stdint.h>

enum { BOARD_RANKS = 64, BOARD_SAMPLES = 4096 };

/* Bits of `flags`. */
enum {
    BOARD_FRESH = 1,   /* write new input before every call */
    BOARD_OVERSUBSCRIBED = 2, /* more ranks than cores: yield while waiting */
};

enum collective {
    BARRIER, BROADCAST, SCATTER, GATHER, ALLGATHER, ALLTOALL, REDUCE_SCATTER, REDUCE, ALLREDUCE, SCAN, EXSCAN,
    QUIT, /* no collective: the worker ends */
};

/* What one call counts as. */
enum phase { WARM, TIMED, LAST /* timed too */ };

/* One rank's own lines, so that no two ranks write to one line. */
struct board_rank {
    _Alignas(128) _Atomic uint64_t epoch; /* barriers entered */
    _Atomic uint64_t end_ns;              /* when the last call ended */
    _Atomic uint64_t pid;                 /* 0 until the rank is attached */
    _Atomic uint64_t wrong;               /* results that were wrong in this turn, and the first of them: */
    _Atomic uint64_t wrong_index, wrong_got, wrong_expected;
};

/* One group: the ranks of one library with one setting. */
struct board_group {
    /* By the conductor: a turn begins when `turn` (a futex) changes. */
    _Alignas(128) _Atomic uint32_t turn;
    _Atomic uint32_t collective;
    _Atomic uint64_t bytes, budget_ns, flags;
    /* By rank 0, in barriers. */
    _Alignas(128) _Atomic uint64_t go;
    _Atomic uint64_t start_ns, phase;
    /* By rank 0: `done` (a futex) follows `turn` when all ranks are done. */
    _Alignas(128) _Atomic uint32_t done;
    _Atomic uint32_t samples;
    struct board_rank ranks[BOARD_RANKS];
    _Atomic uint64_t sample_ns[BOARD_SAMPLES];
};

struct board {
    _Alignas(128) _Atomic uint64_t layout; /* the size of a group */
    struct board_group groups[];
};

#endif
