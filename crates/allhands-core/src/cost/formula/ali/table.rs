//! The lines of C's tables 1 to 5.

use super::{Case, Cells, Model, no_x};
use crate::call::Collective::{self, Allgather, Allreduce, Barrier, Broadcast, Reduce};
use crate::cost::formula::{Form, Miss, Ranks};

/// A line as printed, for every p, without X and x; entries alter what differs.
const fn model(
    table: u32,
    name: &'static str,
    cells: Cells,
    algorithm: &'static str,
    time_us: fn(&Case<'_>) -> f64,
) -> Model {
    Model {
        table,
        name,
        cells,
        form: Form::Printed,
        collective: collective(table),
        algorithm,
        parameters: "",
        hybrid: false,
        domain: Ranks::All,
        time_us,
        most_x_us: no_x,
        miss: None,
    }
}

/// What a table is about.
const fn collective(table: u32) -> Collective {
    match table {
        1 => Barrier,
        2 => Broadcast,
        3 => Allgather,
        4 => Reduce,
        _ => Allreduce,
    }
}

impl Model {
    const fn only(self, domain: Ranks) -> Model {
        Model { domain, ..self }
    }

    const fn with(self, parameters: &'static str) -> Model {
        Model { parameters, ..self }
    }

    /// With an X of up to so much.
    const fn spread(self, most_x_us: fn(&Case<'_>) -> f64) -> Model {
        Model { most_x_us, ..self }
    }

    const fn hybrid(self) -> Model {
        Model {
            hybrid: true,
            ..self
        }
    }

    const fn missing(self, miss: Miss) -> Model {
        let miss = Some(miss);
        Model { miss, ..self }
    }

    const fn corrected(self, what: &'static str) -> Model {
        let form = Form::Corrected(what);
        Model { form, ..self }
    }
}

use Cells::{One, Two};
use Ranks::{NotPowersOfTwo, PowersOfTwo};

const FOLD_CROSSES: &str = "ranks 8 to 15 fold onto the other Cell and get the result from there; a host whose partners are none has no \
     round to wait for: L2 + max(3 L1, ⌈lg(p − 8)⌉ L1 + L2)";
const FOLD_WAITS: &str = "those onto whom nobody folds are a round ahead, and their notifications wait: with h = p − 2^⌊lg p⌋, \
     max(⌊lg p⌋ + 1, ⌈lg h⌉ + 2) L";
const NOT_ALL_CROSS: &str = "on no path does every round cross the BIF: with 16 SPEs at most two of four do, with 10 to 14 three (C 7.2 finds \
     its model above the measurement too, and has another reason, the pipelining of messages)";
const LESS_DEEP: &str = "a binomial tree is ⌊lg p⌋ deep, and the part on the other Cell ⌊lg(p − 8)⌋; notifications from several children \
     overlap";
const ROOT_IS_BUSY: &str =
    "notifications inside the Cell and across it are under way at the same time: 2 L2 + (p − 2) g1";
const AT_ONCE: &str =
    "the SPEs of both Cells get at the same time, so the longer of the two counts, not the sum";
const DEGREES: &str = "q = 3 is for 8 SPEs alone: by the sum of section 4 it is (lg p − 1) + … + 1";
const ONE_GAP_LESS: &str = "q1 = 7 is 5 by the sum of section 4: (4 − 1 − 1) + (3 − 1) + (2 − 1)";
const TWICE_L1: &str = "2 L(1) a round is one by sections 4 and 5: the data and an acknowledgement";
const WHOLE_VECTOR: &str =
    "the broadcast's m is the whole vector, of which the sum's m is a p-th part";

const GAP_HAS_LATENCY: Miss = Miss::Model(
    "g, the mean time of those that get at once by how many they are (C 3.3), has a share of the latency in it, which each gap counts \
     again",
);
const FEWER_GET: Miss = Miss::Model(
    "g1 is measured while all 15 others get (C 3.3, 7.1), of which there are fewer in this tree, where each waits for less",
);
const COPIED_BACK: Miss = Miss::Differs(
    "of two SPEs, each combines elsewhere what the other still gets, and copies it back, as the vector is in place; with more rounds \
     the vector is where it shall be after the last",
);

/// Every line of the tables, each corrected one behind the one as printed.
pub const MODELS: &[Model] = &[
    model(
        1,
        "recursive doubling",
        One,
        "recursive-doubling",
        super::barrier_doubling_one,
    )
    .only(PowersOfTwo),
    model(
        1,
        "recursive doubling",
        One,
        "recursive-doubling",
        super::barrier_doubling_one_folded,
    )
    .only(NotPowersOfTwo),
    model(
        1,
        "recursive doubling",
        One,
        "recursive-doubling",
        super::barrier_doubling_one_folded_corrected,
    )
    .only(NotPowersOfTwo)
    .corrected(FOLD_WAITS),
    model(
        1,
        "recursive doubling",
        Two,
        "recursive-doubling",
        super::barrier_doubling_two,
    )
    .only(PowersOfTwo),
    model(
        1,
        "recursive doubling",
        Two,
        "recursive-doubling",
        super::barrier_doubling_two_folded,
    )
    .only(NotPowersOfTwo),
    model(
        1,
        "recursive doubling",
        Two,
        "recursive-doubling",
        super::barrier_doubling_two_folded_corrected,
    )
    .only(NotPowersOfTwo)
    .corrected(FOLD_CROSSES),
    model(1, "Bruck", One, "dissemination", super::barrier_bruck_one),
    model(1, "Bruck", Two, "dissemination", super::barrier_bruck_two),
    model(
        1,
        "Bruck",
        Two,
        "dissemination",
        super::barrier_bruck_two_corrected,
    )
    .corrected(NOT_ALL_CROSS),
    model(
        1,
        "gather-broadcast",
        One,
        "gather-broadcast",
        super::barrier_gather_one,
    ),
    model(
        1,
        "gather-broadcast",
        One,
        "gather-broadcast",
        super::barrier_gather_one_corrected,
    )
    .corrected(LESS_DEEP),
    model(
        1,
        "gather-broadcast",
        Two,
        "gather-broadcast",
        super::barrier_gather_two,
    ),
    model(
        1,
        "gather-broadcast",
        Two,
        "gather-broadcast",
        super::barrier_gather_two_corrected,
    )
    .corrected(LESS_DEEP),
    model(1, "one-to-all", One, "one-to-all", super::barrier_all_one).spread(super::x_of_all_one),
    model(1, "one-to-all", Two, "one-to-all", super::barrier_all_two).spread(super::x_of_all_two),
    model(
        1,
        "one-to-all",
        Two,
        "one-to-all",
        super::barrier_all_two_corrected,
    )
    .spread(super::x_of_all_two)
    .corrected(ROOT_IS_BUSY),
    model(2, "one-to-all", One, "one-to-all", super::broadcast_all_one)
        .spread(super::x_of_all_one)
        .missing(GAP_HAS_LATENCY),
    model(2, "one-to-all", Two, "one-to-all", super::broadcast_all_two).spread(super::x_of_all_two),
    model(
        2,
        "one-to-all",
        Two,
        "one-to-all",
        super::broadcast_all_two_corrected,
    )
    .spread(super::x_of_all_two)
    .corrected(AT_ONCE)
    .missing(GAP_HAS_LATENCY),
    model(
        2,
        "binomial simple",
        One,
        "binomial",
        super::broadcast_simple_one,
    )
    .with("order=simple")
    .spread(super::x_of_simple_one),
    model(
        2,
        "binomial simple",
        One,
        "binomial",
        super::broadcast_simple_one_corrected,
    )
    .with("order=simple")
    .spread(super::x_of_simple_one)
    .corrected(DEGREES),
    model(
        2,
        "binomial opt",
        One,
        "binomial",
        super::broadcast_ordered_one,
    )
    .only(PowersOfTwo),
    model(
        2,
        "binomial simple",
        Two,
        "binomial",
        super::broadcast_simple_two,
    )
    .with("order=simple")
    .spread(super::x_of_simple_two),
    model(
        2,
        "binomial simple",
        Two,
        "binomial",
        super::broadcast_simple_two_corrected,
    )
    .with("order=simple")
    .spread(super::x_of_simple_two)
    .corrected(ONE_GAP_LESS)
    .missing(FEWER_GET),
    model(2, "binomial opt", Two, "binomial", super::tree_two),
    model(
        2,
        "segmented binomial",
        One,
        "segmented-binomial",
        super::broadcast_segmented_one,
    )
    .only(PowersOfTwo),
    model(
        2,
        "segmented binomial",
        Two,
        "segmented-binomial",
        super::broadcast_segmented_two,
    )
    .only(PowersOfTwo),
    model(
        2,
        "hybrid segmented binomial",
        Two,
        "hybrid-segmented-binomial",
        super::broadcast_hybrid_segmented,
    )
    .only(PowersOfTwo),
    model(
        3,
        "recursive doubling",
        One,
        "recursive-doubling",
        super::allgather_doubling_one,
    )
    .only(PowersOfTwo),
    model(
        3,
        "recursive doubling",
        Two,
        "recursive-doubling",
        super::allgather_doubling_two,
    )
    .only(PowersOfTwo),
    model(3, "hybrid", Two, "hybrid", super::allgather_hybrid)
        .only(PowersOfTwo)
        .hybrid(),
    model(4, "binomial", One, "binomial", super::reduce_tree_one),
    model(4, "binomial", Two, "binomial", super::reduce_tree_two),
    model(
        4,
        "reduce-scatter, gather",
        One,
        "rabenseifner",
        super::halves_and_back_one,
    )
    .with("distance=halving")
    .only(PowersOfTwo),
    model(
        4,
        "reduce-scatter, gather",
        Two,
        "rabenseifner",
        super::reduce_scatter_gather_two,
    )
    .with("distance=halving")
    .only(PowersOfTwo),
    model(
        5,
        "recursive doubling",
        One,
        "recursive-doubling",
        super::allreduce_doubling_one,
    )
    .only(PowersOfTwo),
    model(
        5,
        "recursive doubling",
        One,
        "recursive-doubling",
        super::allreduce_doubling_one_corrected,
    )
    .only(PowersOfTwo)
    .corrected(TWICE_L1)
    .missing(COPIED_BACK),
    model(
        5,
        "recursive doubling",
        Two,
        "recursive-doubling",
        super::allreduce_doubling_two,
    )
    .only(PowersOfTwo),
    model(
        5,
        "recursive doubling",
        Two,
        "recursive-doubling",
        super::allreduce_doubling_two_corrected,
    )
    .only(PowersOfTwo)
    .corrected(TWICE_L1),
    model(
        5,
        "reduce-scatter, allgather",
        One,
        "rabenseifner",
        super::halves_and_back_one,
    )
    .with("distance=halving")
    .only(PowersOfTwo),
    model(
        5,
        "reduce-scatter, allgather",
        Two,
        "rabenseifner",
        super::allreduce_halves_two,
    )
    .with("distance=halving")
    .only(PowersOfTwo),
    model(
        5,
        "reduce-scatter, gather, bcast",
        One,
        "reduce-scatter-gather-broadcast",
        super::allreduce_broadcast_one,
    )
    .only(PowersOfTwo),
    model(
        5,
        "reduce-scatter, gather, bcast",
        One,
        "reduce-scatter-gather-broadcast",
        super::allreduce_broadcast_one_corrected,
    )
    .only(PowersOfTwo)
    .corrected(WHOLE_VECTOR),
    model(
        5,
        "reduce-scatter, gather, bcast",
        Two,
        "reduce-scatter-gather-broadcast",
        super::allreduce_broadcast_two,
    )
    .only(PowersOfTwo),
    model(
        5,
        "reduce-scatter, gather, bcast",
        Two,
        "reduce-scatter-gather-broadcast",
        super::allreduce_broadcast_two_corrected,
    )
    .only(PowersOfTwo)
    .corrected(WHOLE_VECTOR),
    model(5, "hybridA", Two, "hybrid-a", super::allreduce_hybrid_a)
        .only(PowersOfTwo)
        .hybrid(),
    model(5, "hybridB", Two, "hybrid-b", super::allreduce_hybrid_b)
        .only(PowersOfTwo)
        .hybrid(),
];
