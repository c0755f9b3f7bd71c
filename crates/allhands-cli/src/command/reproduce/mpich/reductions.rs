//! The statements of T 5: the fastest allreduce on a Cray T3E, and its lead on a Myrinet cluster and an IBM SP.

use super::super::statement::{Claim, KB, MB, statement};
use super::Statement;
use super::testbed::{On, Place};
use allhands_core::call::Collective;
use allhands_core::cost::formula::Miss;
use allhands_core::pattern::binary_blocks::delta_expo_max;

const TREE: &[&str] = &["reduce-broadcast"];
const RECURSIVE_DOUBLING: &[&str] = &["recursive-doubling"];
const HALVING: &[&str] = &["rabenseifner"];
const BLOCKS: &[&str] = &["binary-blocks"];
const RING: &[&str] = &["ring"];

/// The others of T 5's five, for each of four.
const BUT_DOUBLING: &[&str] = &["reduce-broadcast", "rabenseifner", "binary-blocks", "ring"];
const BUT_TREE: &[&str] = &[
    "recursive-doubling",
    "rabenseifner",
    "binary-blocks",
    "ring",
];
const BUT_RING: &[&str] = &[
    "reduce-broadcast",
    "recursive-doubling",
    "rabenseifner",
    "binary-blocks",
];
const BUT_BLOCKS: &[&str] = &[
    "reduce-broadcast",
    "recursive-doubling",
    "rabenseifner",
    "ring",
];
const BUT_HALVING: &[&str] = &[
    "reduce-broadcast",
    "recursive-doubling",
    "binary-blocks",
    "ring",
];
/// Those for long vectors (T 5.1 to 5.3).
const NEW: &[&str] = &["rabenseifner", "binary-blocks", "ring"];

const OTHERS: &[u32] = &[3, 5, 6, 7, 9, 12, 17, 24, 33, 48, 65, 96, 100, 129];
const ALL: &[u32] = &[
    3, 4, 6, 8, 11, 16, 17, 24, 32, 33, 48, 64, 65, 96, 100, 128, 129,
];
/// More than 32, and no power of two, where binary blocks and halving are one algorithm (T 5.2).
const MANY: &[u32] = &[
    34, 36, 40, 44, 48, 52, 56, 60, 63, 72, 80, 96, 100, 112, 120, 127,
];

const ALLREDUCE: Collective = Collective::Allreduce;
const T3E: On = On::T3e;
const MYRINET: On = On::Myrinet;
const SP: On = On::Sp;

/// T 5.4's rule for binary blocks: δ expo,max < lg(bytes)/2 − 2.5.
fn exponents_are_close(place: Place) -> bool {
    2 * delta_expo_max(place.ranks) + 5 < place.bytes.ilog2()
}

/// Why trees are behind.
const ONE_WAY: Miss = Miss::Model(
    "by T's own costs (4.5) a reduce and a broadcast take twice the steps of recursive doubling; a message of one way may take half \
    of an exchange (T 3's ratios), but T does not print them of this machine, and the model has none",
);

/// Why halving is not ahead everywhere.
const NO_LOWER_END: Miss =
    Miss::Differs("T says below 32 KB and no lower end; at 4 KB recursive doubling is ahead");

/// Why the ring is not ahead everywhere.
const NO_CONSTANTS: Miss = Miss::Model(
    "binary blocks lose little with 10, which is 8 and 2; how far the ring leads, α, β and γ say, which T does not print",
);

/// A vector of figure 15.
const MIDDLE: (u64, u64) = (32 * KB, 32 * KB);

/// Figures 14 and 15.
const ON_T3E: &[Statement] = &[
    statement(
        ("figure 14", T3E, ALLREDUCE),
        "doubling over the others, to 32 B",
        [RECURSIVE_DOUBLING, BUT_DOUBLING],
        ALL,
        (8, 32),
        Claim::Ahead,
    ),
    statement(
        ("figure 14", T3E, ALLREDUCE),
        "tree over the others, to 1 KB",
        [TREE, BUT_TREE],
        OTHERS,
        (64, KB),
        Claim::Ahead,
    )
    .missing(ONE_WAY),
    statement(
        ("figure 14", T3E, ALLREDUCE),
        "ring over the others, some of p < 32",
        [RING, BUT_RING],
        &[3, 5, 6, 7, 9, 10, 11, 12, 17, 24],
        (2 * KB, MB),
        Claim::AtBestAbove(1.01),
    )
    .percent(1),
    statement(
        ("figure 14", T3E, ALLREDUCE),
        "blocks over the others, in general",
        [BLOCKS, BUT_BLOCKS],
        MANY,
        (16 * KB, 256 * KB),
        Claim::Ahead,
    )
    .when(exponents_are_close)
    .percent(80),
    statement(
        ("figure 14", T3E, ALLREDUCE),
        "halving over the others, 33 ranks",
        [HALVING, BUT_HALVING],
        &[33],
        (4 * KB, 16 * KB),
        Claim::Ahead,
    )
    .missing(NO_LOWER_END),
    statement(
        ("T 5.2", T3E, ALLREDUCE),
        "blocks over halving, in many cases",
        [BLOCKS, HALVING],
        OTHERS,
        (16 * KB, 256 * KB),
        Claim::Ahead,
    )
    .percent(50),
    statement(
        ("T 5.3", T3E, ALLREDUCE),
        "halving and blocks over ring, many ranks",
        [&["rabenseifner", "binary-blocks"], RING],
        MANY,
        (2 * KB, 16 * KB),
        Claim::Ahead,
    ),
    statement(
        ("figure 15", T3E, ALLREDUCE),
        "new over tree",
        [NEW, TREE],
        ALL,
        MIDDLE,
        Claim::Ahead,
    ),
    statement(
        ("figure 15", T3E, ALLREDUCE),
        "halving over blocks",
        [HALVING, BLOCKS],
        &[33, 65, 66, 97, 129, 130, 131],
        MIDDLE,
        Claim::Ahead,
    ),
    statement(
        ("figure 15", T3E, ALLREDUCE),
        "ring over halving and blocks",
        [RING, &["rabenseifner", "binary-blocks"]],
        &[3, 5, 7, 9, 10, 11, 17],
        MIDDLE,
        Claim::Ahead,
    )
    .missing(NO_CONSTANTS),
];

/// Figures 16 and 17, with a process a node.
const ON_CLUSTERS: &[Statement] = &[
    statement(
        ("figure 16", SP, ALLREDUCE),
        "new by IBM's (a tree), a process a node",
        [NEW, TREE],
        &[8, 16, 32, 64],
        (4 * KB, 128 * KB),
        Claim::Between(1.5, 3.0),
    )
    .percent(80),
    statement(
        ("figure 17", MYRINET, ALLREDUCE),
        "new by old, a process a node",
        [NEW, TREE],
        &[8, 16, 32, 64, 128],
        (32 * KB, 4 * MB),
        Claim::Between(2.0, 5.0),
    )
    .percent(80),
];

/// All of them.
pub const STATEMENTS: &[&[Statement]] = &[ON_T3E, ON_CLUSTERS];
