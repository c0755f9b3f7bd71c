//! Presets: the rules of T as MPICH had them in 2005, those measured on a Cray T3E, and Q's two on QsNetII clusters.
//!
//! Rules are tried in the order in which they stand; the last one of each collective always applies.

use super::rule::Condition::{
    Above, Below, BlockUpTo, CloseExponents, Commutative, Exactly, FewerRanks, From, MoreRanks,
    NotCommutative, NotPowerOfTwo, PowerOfTwo, RanksIn, SizeUnknown, UpTo, UserOperator,
};
use super::rule::{Condition, Rule, Take};
use crate::call::Collective;

const KB: u64 = 1024;

const fn rule(
    collective: Collective,
    when: &'static [Condition],
    name: &'static str,
    parameters: &'static str,
    citation: &'static str,
) -> Rule {
    Rule {
        collective,
        when,
        take: Take::Algorithm { name, parameters },
        citation,
    }
}

const MPICH: &str = "not in T: what MPICH does";
const WHEN_UNSUITABLE: &str = "what serves every call, where the rule before does not";

/// `mpich-2005`: T's cutoffs; where T gives none, MPICH's practice, and marked so.
pub const MPICH_2005: &[Rule] = &[
    rule(Collective::Barrier, &[], "dissemination", "", MPICH),
    rule(
        Collective::Broadcast,
        &[Below(12 * KB)],
        "binomial",
        "",
        "T 4.2",
    ),
    rule(
        Collective::Broadcast,
        &[FewerRanks(8)],
        "binomial",
        "",
        "T 4.2",
    ),
    rule(
        Collective::Broadcast,
        &[PowerOfTwo, Below(512 * KB)],
        "scatter-allgather",
        "allgather=recursive-doubling",
        "T 4.2; the cutoff of its allgather is not in T: MPICH's",
    ),
    rule(
        Collective::Broadcast,
        &[],
        "scatter-allgather",
        "allgather=ring",
        "T 4.2; the cutoff of its allgather is not in T: MPICH's",
    ),
    rule(Collective::Scatter, &[SizeUnknown], "direct", "", MPICH),
    rule(Collective::Scatter, &[], "binomial", "", MPICH),
    rule(Collective::Gather, &[SizeUnknown], "direct", "", MPICH),
    rule(Collective::Gather, &[], "binomial", "", MPICH),
    rule(
        Collective::Allgather,
        &[PowerOfTwo, Below(512 * KB)],
        "recursive-doubling",
        "",
        "T 4.1.3",
    ),
    rule(
        Collective::Allgather,
        &[NotPowerOfTwo, Below(80 * KB)],
        "bruck",
        "",
        "T 4.1.3",
    ),
    rule(Collective::Allgather, &[], "ring", "", "T 4.1.3"),
    rule(Collective::Alltoall, &[SizeUnknown], "scattered", "", MPICH),
    rule(Collective::Alltoall, &[UpTo(256)], "bruck", "", "T 4.3"),
    rule(
        Collective::Alltoall,
        &[UpTo(32 * KB)],
        "scattered",
        "",
        "T 4.3",
    ),
    rule(Collective::Alltoall, &[], "pairwise", "", "T 4.3"),
    rule(
        Collective::ReduceScatter,
        &[Commutative, Below(512 * KB)],
        "recursive-halving",
        "",
        "T 4.4",
    ),
    rule(
        Collective::ReduceScatter,
        &[Commutative],
        "pairwise",
        "",
        "T 4.4",
    ),
    rule(
        Collective::ReduceScatter,
        &[NotCommutative, From(512)],
        "pairwise",
        "order=ranks",
        "T 4.4",
    ),
    rule(
        Collective::ReduceScatter,
        &[],
        "recursive-doubling",
        "",
        "T 4.4",
    ),
    rule(Collective::Reduce, &[UserOperator], "binomial", "", "T 4.5"),
    rule(Collective::Reduce, &[UpTo(2 * KB)], "binomial", "", "T 4.5"),
    rule(
        Collective::Reduce,
        &[Above(2 * KB)],
        "rabenseifner",
        "",
        "T 4.5",
    ),
    rule(Collective::Reduce, &[], "binomial", "", WHEN_UNSUITABLE),
    rule(
        Collective::Allreduce,
        &[UserOperator],
        "recursive-doubling",
        "",
        "T 4.5",
    ),
    rule(
        Collective::Allreduce,
        &[UpTo(2 * KB)],
        "recursive-doubling",
        "",
        "T 4.5; the cutoff is not in T: MPICH's",
    ),
    rule(
        Collective::Allreduce,
        &[Above(2 * KB)],
        "rabenseifner",
        "",
        "T 4.5",
    ),
    rule(
        Collective::Allreduce,
        &[],
        "recursive-doubling",
        "",
        WHEN_UNSUITABLE,
    ),
    rule(Collective::Scan, &[], "recursive-doubling", "", MPICH),
    rule(Collective::Exscan, &[], "recursive-doubling", "", MPICH),
];

/// The algorithms among which T 5 seeks the fastest allreduce.
const T5_ALLREDUCES: &[&str] = &[
    "reduce-broadcast",
    "recursive-doubling",
    "rabenseifner",
    "binary-blocks",
    "ring",
];

/// `t3e`: the fastest allreduce on a Cray T3E 900 (T 5.4, figures 14 and 15); other collectives as [`MPICH_2005`].
pub const T3E: &[Rule] = &[
    rule(
        Collective::Allreduce,
        &[UpTo(32)],
        "recursive-doubling",
        "",
        "T 5.4",
    ),
    rule(
        Collective::Allreduce,
        &[UpTo(KB), NotPowerOfTwo],
        "reduce-broadcast",
        "",
        "T 5.4",
    ),
    rule(
        Collective::Allreduce,
        &[
            Exactly(32 * KB),
            RanksIn(&[3..=3, 5..=5, 7..=7, 9..=11, 17..=17]),
        ],
        "ring",
        "",
        "T 5.4, figure 15",
    ),
    rule(
        Collective::Allreduce,
        &[
            Exactly(32 * KB),
            RanksIn(&[33..=33, 65..=66, 97..=97, 128..=131]),
        ],
        "rabenseifner",
        "",
        "T 5.4, figure 15",
    ),
    rule(
        Collective::Allreduce,
        &[MoreRanks(32), From(16 * KB), CloseExponents],
        "binary-blocks",
        "",
        "T 5.4",
    ),
    rule(
        Collective::Allreduce,
        &[RanksIn(&[33..=33]), Below(32 * KB)],
        "rabenseifner",
        "",
        "T 5.4",
    ),
    Rule {
        collective: Collective::Allreduce,
        when: &[],
        take: Take::Fastest(T5_ALLREDUCES),
        citation: "T 5.4 gives no rule here: the least predicted time (T 3, T 5)",
    },
    rule(
        Collective::Allreduce,
        &[],
        "recursive-doubling",
        "",
        WHEN_UNSUITABLE,
    ),
];

const ONE_RAIL: &str = "Q 3.1; up to 4 KB on one rail";

/// `qsnet`: the fastest of Q's algorithms on four nodes of four processors with two rails (Q 7); other collectives as
/// [`MPICH_2005`].
///
/// All with the paper's k, the two rails. Among four nodes Bruck's algorithm on two ports then sends the messages of the direct one.
pub const QSNET: &[Rule] = &[
    rule(
        Collective::Gather,
        &[BlockUpTo(256)],
        "binomial",
        "ports=2",
        "Q 7.2",
    ),
    rule(Collective::Gather, &[], "direct", "ports=2", "Q 7.2"),
    rule(
        Collective::Allgather,
        &[BlockUpTo(256)],
        "smp-gather-broadcast",
        "",
        "Q 7.4",
    ),
    rule(
        Collective::Allgather,
        &[BlockUpTo(8 * KB)],
        "smp-bruck",
        "ports=2",
        "Q 7.4",
    ),
    rule(
        Collective::Allgather,
        &[BlockUpTo(8 * KB)],
        "smp-bruck",
        "ports=2,between=messages",
        "Q 7.4; not in Q: by messages where nobody can put to another node",
    ),
    rule(Collective::Allgather, &[], "direct", "ports=2", "Q 7.4"),
    rule(
        Collective::Alltoall,
        &[BlockUpTo(64)],
        "bruck",
        "ports=2",
        "Q 7.3",
    ),
    rule(Collective::Alltoall, &[], "direct", "ports=2", "Q 7.3"),
];

/// `elan`: what Q compares with, the algorithms of Quadrics' own library (Q 3.1); other collectives as [`MPICH_2005`].
pub const ELAN: &[Rule] = &[
    rule(
        Collective::Gather,
        &[BlockUpTo(2 * KB)],
        "smp-gather",
        "inter=binomial",
        ONE_RAIL,
    ),
    rule(
        Collective::Gather,
        &[BlockUpTo(4 * KB)],
        "binomial",
        "",
        ONE_RAIL,
    ),
    rule(Collective::Gather, &[SizeUnknown], "direct", "", MPICH),
    rule(
        Collective::Gather,
        &[],
        "binomial",
        "",
        "Q 3.1: by messages on all rails; that they go along the tree is not said",
    ),
    rule(
        Collective::Allgather,
        &[BlockUpTo(2 * KB)],
        "smp-gather-broadcast",
        "inter=binomial",
        ONE_RAIL,
    ),
    rule(
        Collective::Allgather,
        &[BlockUpTo(32 * KB)],
        "smp-gather-broadcast",
        "intra=messages,inter=binomial",
        ONE_RAIL,
    ),
    rule(Collective::Allgather, &[], "ring", "", "Q 3.1"),
    rule(
        Collective::Alltoall,
        &[BlockUpTo(2 * KB)],
        "hierarchical",
        "intra=shared-memory,inter=pairwise",
        "Q 3.1: shared memory as in the gather",
    ),
    rule(
        Collective::Alltoall,
        &[BlockUpTo(8 * KB)],
        "pairwise",
        "",
        "Q 3.1",
    ),
    rule(Collective::Alltoall, &[], "permission-to-send", "", "Q 3.1"),
];
