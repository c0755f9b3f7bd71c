//! The statements of T 4: MPICH's new algorithms beside its old ones and IBM's, on a Myrinet cluster and on an IBM SP.

use super::super::statement::{Claim, KB, MB, statement};
use super::Statement;
use super::testbed::{On, Place};
use allhands_core::call::Collective;
use allhands_core::cost::formula::Miss;

const RECURSIVE_DOUBLING: &[&str] = &["recursive-doubling"];
const RING: &[&str] = &["ring"];
const BRUCK: &[&str] = &["bruck"];
const BINOMIAL: &[&str] = &["binomial"];
const SCATTERED: &[&str] = &["scattered"];
const PAIRWISE: &[&str] = &["pairwise"];
const RABENSEIFNER: &[&str] = &["rabenseifner"];
const HALVING: &[&str] = &["recursive-halving"];
/// Van de Geijn's broadcast, with the better of the two allgathers that T 4.2 names.
const VAN_DE_GEIJN: &[&str] = &[
    "scatter-allgather:allgather=recursive-doubling",
    "scatter-allgather:allgather=ring",
];
/// The old reduce-scatter (T 4.4).
const REDUCE_SCATTERV: &[&str] = &["reduce-scatterv"];
/// For operators that do not commute (T 4.4).
const IN_RANK_ORDER: &[&str] = &["pairwise:order=ranks"];

/// The number of nodes in nearly all of T's figures.
const NODES: &[u32] = &[64];
/// Of figure 10's long messages.
const HALF: &[u32] = &[32];
/// As many as can be below that, and no power of two: T says nothing of how many its cutoffs were found with.
const ODD: &[u32] = &[63];

/// A cutoff of T's holds for all numbers of processes, from 8 on for broadcasts, or for all that are no powers of two.
const CUTOFFS: &[u32] = &[8, 16, 32, 64];
const ODD_CUTOFFS: &[u32] = &[6, 12, 24, 48];

const POWERS: &[u32] = &[4, 8, 16, 32, 64];
const OTHERS: &[u32] = &[
    3, 5, 6, 7, 9, 11, 12, 13, 15, 17, 20, 24, 31, 33, 40, 48, 63,
];

const ALLGATHER: Collective = Collective::Allgather;
const BROADCAST: Collective = Collective::Broadcast;
const ALLTOALL: Collective = Collective::Alltoall;
const REDUCE_SCATTER: Collective = Collective::ReduceScatter;
const REDUCE: Collective = Collective::Reduce;
const ALLREDUCE: Collective = Collective::Allreduce;

const MYRINET: On = On::Myrinet;
const SP: On = On::Sp;

/// Figure 3's 16 bytes a process.
fn of_16_bytes_each(place: Place) -> bool {
    place.bytes == 16 * u64::from(place.ranks).next_power_of_two()
}

/// Why broadcasts cross elsewhere.
const ONE_CUTOFF: Miss = Miss::Model(
    "MPICH has one cutoff for all machines; on the models one machine's lies below it and the other's above, by their α/β",
);

/// Why all at once stays ahead.
const ALL_AT_ONCE: Miss = Miss::Model(
    "messages that meet at a link or a receiver cost no more here than their turns, so that all posted at once fill links better \
    than pairs that wait for each other",
);

/// Why operators that do not commute cross elsewhere.
const IN_ORDER: Miss = Miss::Differs(
    "by T's own costs, (p - 1)α beside lg p α, recursive doubling wins to several KB where α is thousands of bytes' worth; T does \
    not say how 512 B was found",
);

/// Figures 3 to 5.
const ALLGATHERS: &[Statement] = &[
    statement(
        ("figure 3", MYRINET, ALLGATHER),
        "Bruck over recursive doubling",
        [BRUCK, RECURSIVE_DOUBLING],
        OTHERS,
        (64, KB),
        Claim::Ahead,
    )
    .when(of_16_bytes_each),
    statement(
        ("figure 3", MYRINET, ALLGATHER),
        "recursive doubling over Bruck",
        [RECURSIVE_DOUBLING, BRUCK],
        POWERS,
        (64, KB),
        Claim::Ahead,
    )
    .when(of_16_bytes_each)
    .fitted(),
    statement(
        ("figure 4", MYRINET, ALLGATHER),
        "new over old, short",
        [RECURSIVE_DOUBLING, RING],
        NODES,
        (KB, 64 * KB),
        Claim::Ahead,
    ),
    statement(
        ("figure 5", MYRINET, ALLGATHER),
        "recursive doubling over ring, medium",
        [RECURSIVE_DOUBLING, RING],
        NODES,
        (128 * KB, 256 * KB),
        Claim::Ahead,
    )
    .fitted(),
    statement(
        ("figure 5", MYRINET, ALLGATHER),
        "ring over recursive doubling, long",
        [RING, RECURSIVE_DOUBLING],
        NODES,
        (512 * KB, 8 * MB),
        Claim::Ahead,
    ),
    statement(
        ("figure 5", SP, ALLGATHER),
        "ring over recursive doubling, long",
        [RING, RECURSIVE_DOUBLING],
        NODES,
        (512 * KB, 8 * MB),
        Claim::Ahead,
    )
    .fitted(),
    statement(
        ("figure 5", MYRINET, ALLGATHER),
        "ring, from bytes",
        [RING, RECURSIVE_DOUBLING],
        CUTOFFS,
        (KB, 8 * MB),
        Claim::FromBytes(512 * KB),
    )
    .fitted(),
    statement(
        ("figure 5", SP, ALLGATHER),
        "ring, from bytes",
        [RING, RECURSIVE_DOUBLING],
        CUTOFFS,
        (KB, 8 * MB),
        Claim::FromBytes(512 * KB),
    )
    .fitted(),
    statement(
        ("T 4.1.3", MYRINET, ALLGATHER),
        "Bruck over ring, short, odd",
        [BRUCK, RING],
        ODD,
        (KB, 64 * KB),
        Claim::Ahead,
    ),
    statement(
        ("T 4.1.3", MYRINET, ALLGATHER),
        "ring over Bruck, long, odd",
        [RING, BRUCK],
        ODD,
        (128 * KB, 8 * MB),
        Claim::Ahead,
    ),
    statement(
        ("T 4.1.3", MYRINET, ALLGATHER),
        "ring where not 2^n, from bytes",
        [RING, BRUCK],
        ODD_CUTOFFS,
        (KB, 8 * MB),
        Claim::FromBytes(80 * KB),
    )
    .fitted(),
    statement(
        ("T 4.1.3", SP, ALLGATHER),
        "ring where not 2^n, from bytes",
        [RING, BRUCK],
        ODD_CUTOFFS,
        (KB, 8 * MB),
        Claim::FromBytes(80 * KB),
    )
    .fitted(),
];

/// Figure 6.
const BROADCASTS: &[Statement] = &[
    statement(
        ("figure 6", MYRINET, BROADCAST),
        "new over binomial, long",
        [VAN_DE_GEIJN, BINOMIAL],
        NODES,
        (16 * KB, 4 * MB),
        Claim::Ahead,
    ),
    statement(
        ("T 4.2", MYRINET, BROADCAST),
        "binomial over new, short",
        [BINOMIAL, VAN_DE_GEIJN],
        NODES,
        (64, 8 * KB),
        Claim::Ahead,
    )
    .missing(ONE_CUTOFF),
    statement(
        ("figure 6", SP, BROADCAST),
        "new over IBM's (a binomial tree), long",
        [VAN_DE_GEIJN, BINOMIAL],
        NODES,
        (16 * KB, 4 * MB),
        Claim::Ahead,
    ),
    statement(
        ("T 4.2", MYRINET, BROADCAST),
        "new by binomial at best, (lg p)/2",
        [VAN_DE_GEIJN, BINOMIAL],
        NODES,
        (32 * KB, 4 * MB),
        Claim::AtBest(3.0),
    ),
    statement(
        ("T 4.2", MYRINET, BROADCAST),
        "new by binomial grows with p",
        [VAN_DE_GEIJN, BINOMIAL],
        &[8, 16, 32, 64],
        (4 * MB, 4 * MB),
        Claim::Grows,
    ),
    statement(
        ("T 4.2", MYRINET, BROADCAST),
        "new over binomial, from ranks",
        [VAN_DE_GEIJN, BINOMIAL],
        &[2, 4, 8, 16, 32],
        (4 * MB, 4 * MB),
        Claim::FromRanks(8),
    ),
    statement(
        ("T 4.2", MYRINET, BROADCAST),
        "new over binomial, from bytes",
        [VAN_DE_GEIJN, BINOMIAL],
        CUTOFFS,
        (KB, MB),
        Claim::FromBytes(12 * KB),
    )
    .missing(ONE_CUTOFF),
    statement(
        ("T 4.2", SP, BROADCAST),
        "new over binomial, from bytes",
        [VAN_DE_GEIJN, BINOMIAL],
        CUTOFFS,
        (KB, MB),
        Claim::FromBytes(12 * KB),
    )
    .missing(ONE_CUTOFF),
];

/// Figure 8; its number of nodes is not told and taken to be that of the others.
const ALLTOALLS: &[Statement] = &[
    statement(
        ("figure 8", MYRINET, ALLTOALL),
        "Bruck over the old one, short",
        [BRUCK, SCATTERED],
        NODES,
        (1, 256),
        Claim::Ahead,
    )
    .fitted(),
    statement(
        ("figure 8", SP, ALLTOALL),
        "Bruck over the old one, short",
        [BRUCK, SCATTERED],
        NODES,
        (1, 256),
        Claim::Ahead,
    ),
    statement(
        ("T 4.3", MYRINET, ALLTOALL),
        "the old one over Bruck, medium",
        [SCATTERED, BRUCK],
        NODES,
        (512, 32 * KB),
        Claim::Ahead,
    )
    .fitted(),
    statement(
        ("T 4.3", SP, ALLTOALL),
        "the old one over Bruck, medium",
        [SCATTERED, BRUCK],
        NODES,
        (512, 32 * KB),
        Claim::Ahead,
    ),
    statement(
        ("T 4.3", MYRINET, ALLTOALL),
        "the old one over pairwise, medium",
        [SCATTERED, PAIRWISE],
        NODES,
        (512, 32 * KB),
        Claim::Ahead,
    ),
    statement(
        ("T 4.3", MYRINET, ALLTOALL),
        "the old one over Bruck, from bytes",
        [SCATTERED, BRUCK],
        CUTOFFS,
        (16, 4 * KB),
        Claim::FromBytes(256),
    )
    .fitted(),
    statement(
        ("T 4.3", SP, ALLTOALL),
        "the old one over Bruck, from bytes",
        [SCATTERED, BRUCK],
        CUTOFFS,
        (16, 4 * KB),
        Claim::FromBytes(256),
    ),
    statement(
        ("T 4.3", MYRINET, ALLTOALL),
        "pairwise over the old one, long",
        [PAIRWISE, SCATTERED],
        NODES,
        (64 * KB, 256 * KB),
        Claim::Ahead,
    )
    .missing(ALL_AT_ONCE),
    statement(
        ("T 4.3", MYRINET, ALLTOALL),
        "pairwise over the old one, from bytes",
        [PAIRWISE, SCATTERED],
        CUTOFFS,
        (2 * KB, 256 * KB),
        Claim::FromBytes(32 * KB),
    )
    .missing(ALL_AT_ONCE),
];

/// Figure 10, and the cutoffs of T 4.4.
const REDUCE_SCATTERS: &[Statement] = &[
    statement(
        ("figure 10", SP, REDUCE_SCATTER),
        "new over IBM's (the old one), short",
        [HALVING, REDUCE_SCATTERV],
        NODES,
        (512, 64 * KB),
        Claim::Ahead,
    ),
    statement(
        ("figure 10", MYRINET, REDUCE_SCATTER),
        "new by old, several times",
        [PAIRWISE, REDUCE_SCATTERV],
        HALF,
        (512 * KB, 4 * MB),
        Claim::Between(2.0, 10.0),
    ),
    statement(
        ("T 4.4", MYRINET, REDUCE_SCATTER),
        "halving over pairwise, short",
        [HALVING, PAIRWISE],
        HALF,
        (512, 256 * KB),
        Claim::Ahead,
    )
    .fitted(),
    statement(
        ("T 4.4", MYRINET, REDUCE_SCATTER),
        "pairwise over halving, long",
        [PAIRWISE, HALVING],
        HALF,
        (512 * KB, 8 * MB),
        Claim::Ahead,
    ),
    statement(
        ("T 4.4", MYRINET, REDUCE_SCATTER),
        "pairwise over halving, from bytes",
        [PAIRWISE, HALVING],
        CUTOFFS,
        (512, 8 * MB),
        Claim::FromBytes(512 * KB),
    )
    .fitted(),
    statement(
        ("T 4.4", MYRINET, REDUCE_SCATTER),
        "in order: doubling over pairwise, short",
        [RECURSIVE_DOUBLING, IN_RANK_ORDER],
        HALF,
        (256, 256),
        Claim::Ahead,
    ),
    statement(
        ("T 4.4", MYRINET, REDUCE_SCATTER),
        "in order: pairwise over doubling, long",
        [IN_RANK_ORDER, RECURSIVE_DOUBLING],
        HALF,
        (512, 4 * MB),
        Claim::Ahead,
    )
    .missing(IN_ORDER),
    statement(
        ("T 4.4", MYRINET, REDUCE_SCATTER),
        "in order: pairwise, from bytes",
        [IN_RANK_ORDER, RECURSIVE_DOUBLING],
        CUTOFFS,
        (256, 64 * KB),
        Claim::FromBytes(512),
    )
    .missing(IN_ORDER),
];

/// Figure 11, and what T 4.5 says of reduce and allreduce.
const REDUCES: &[Statement] = &[
    statement(
        ("figure 11", MYRINET, REDUCE),
        "new by old, in some cases",
        [RABENSEIFNER, BINOMIAL],
        NODES,
        (4 * KB, 4 * MB),
        Claim::AtBestAbove(2.0),
    ),
    statement(
        ("T 4.5", MYRINET, REDUCE),
        "binomial over Rabenseifner, short",
        [BINOMIAL, RABENSEIFNER],
        NODES,
        (8, 2 * KB),
        Claim::Ahead,
    ),
    statement(
        ("T 4.5", MYRINET, REDUCE),
        "Rabenseifner over binomial, long",
        [RABENSEIFNER, BINOMIAL],
        NODES,
        (4 * KB, 4 * MB),
        Claim::Ahead,
    ),
    statement(
        ("T 4.5", MYRINET, REDUCE),
        "Rabenseifner, from bytes",
        [RABENSEIFNER, BINOMIAL],
        CUTOFFS,
        (256, MB),
        Claim::FromBytes(2 * KB),
    ),
    statement(
        ("T 4.5", MYRINET, ALLREDUCE),
        "doubling over Rabenseifner, short",
        [RECURSIVE_DOUBLING, RABENSEIFNER],
        NODES,
        (8, 256),
        Claim::Ahead,
    ),
    statement(
        ("T 4.5", MYRINET, ALLREDUCE),
        "Rabenseifner over doubling, long",
        [RABENSEIFNER, RECURSIVE_DOUBLING],
        NODES,
        (64 * KB, 4 * MB),
        Claim::Ahead,
    ),
];

/// All of them.
pub const STATEMENTS: &[&[Statement]] =
    &[ALLGATHERS, BROADCASTS, ALLTOALLS, REDUCE_SCATTERS, REDUCES];
