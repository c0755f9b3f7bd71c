//! The table of formulas: which algorithm each is about, and where it is exact.

use super::Relation::{AtLeast, AtMost, Between, Equal, UpTo};
use super::{Bound, Form, Formula, Ranks, qian, thakur};
use crate::call::Collective::{
    self, Allgather, Allreduce, Alltoall, Barrier, Broadcast, Gather, Reduce, ReduceScatter,
    Scatter,
};

const ONE_PORT: &[u32] = &[1];
const PORTS: &[u32] = &[1, 2, 3, 4];

/// A formula for one port, every p, exact everywhere; entries alter what differs.
const fn formula(
    section: &'static str,
    name: &'static str,
    collective: Collective,
    algorithm: &'static str,
    time_us: fn(&super::Case<'_>) -> f64,
) -> Formula {
    Formula {
        name,
        section,
        form: Form::Printed,
        collective,
        algorithm,
        parameters: "",
        ports: ONE_PORT,
        one_way: false,
        domain: Ranks::All,
        exact: Ranks::All,
        bound: None,
        time_us,
    }
}

impl Formula {
    const fn with(self, parameters: &'static str) -> Formula {
        Formula { parameters, ..self }
    }

    const fn corrected(self, what: &'static str) -> Formula {
        let form = Form::Corrected(what);
        Formula { form, ..self }
    }

    /// Given, and exact, for these ranks only.
    const fn only(self, ranks: Ranks) -> Formula {
        Formula {
            domain: ranks,
            exact: ranks,
            ..self
        }
    }

    /// Exact for these ranks; elsewhere a bound.
    const fn exact(self, exact: Ranks, bound: Bound) -> Formula {
        let bound = Some(bound);
        Formula {
            exact,
            bound,
            ..self
        }
    }

    const fn multi_port(self) -> Formula {
        Formula {
            ports: PORTS,
            ..self
        }
    }

    const fn telling_one_way(self) -> Formula {
        Formula {
            one_way: true,
            ..self
        }
    }
}

/// A bound without a γ term of its own.
const fn bound(
    messages: super::Relation,
    bytes: super::Relation,
    work: super::Relation,
    why: &'static str,
) -> Bound {
    Bound {
        messages,
        bytes,
        work,
        why,
    }
}

const LG_IS_CEILED: &str = "lg p is a number of steps: ⌈lg p⌉";
const PART_STEP: &str = "lg p counts a part of the last step, which takes a whole message";
const APPROXIMATE: &str = "the approximation leaves out the terms in 1/p and takes fα = fβ = 1";
const FOLDED: &str = "ranks beyond a power of two fold in first and get the result last: ⌊lg p⌋ + 2 steps, ⌊lg p⌋ + 1 reductions";

/// Every formula that the papers print for one algorithm.
pub const FORMULAS: &[Formula] = &[
    formula("T 4.1", "Tring", Allgather, "ring", thakur::ring),
    formula(
        "T 4.1.1",
        "Trec_dbl",
        Allgather,
        "recursive-doubling",
        thakur::rec_dbl,
    )
    .only(Ranks::PowersOfTwo),
    formula(
        "T 4.1.1",
        "2⌊lg p⌋ steps",
        Allgather,
        "recursive-doubling",
        thakur::rec_dbl_not_power_of_two,
    )
    .only(Ranks::NotPowersOfTwo)
    .exact(Ranks::Nowhere, REC_DBL_ALLGATHER),
    formula(
        "T 4.1.1",
        "2⌊lg p⌋ steps",
        Allgather,
        "recursive-doubling",
        thakur::rec_dbl_not_power_of_two_corrected,
    )
    .only(Ranks::NotPowersOfTwo)
    .corrected("2⌊lg p⌋, and one step more for odd p")
    .exact(
        Ranks::Nowhere,
        bound(
            AtMost,
            AtLeast,
            Equal,
            "the number of further steps hangs on the binary digits of p",
        ),
    ),
    formula("T 4.1.2", "Tbruck", Allgather, "bruck", thakur::bruck),
    formula(
        "T 4.1.2",
        "⌈lg p⌉ steps",
        Barrier,
        "dissemination",
        thakur::dissemination,
    ),
    formula(
        "T 4.2",
        "Ttree",
        Broadcast,
        "binomial",
        thakur::tree_broadcast,
    ),
    formula("T 4.2", "scatter", Scatter, "binomial", thakur::scatter)
        .exact(Ranks::PowersOfTwo, bound(AtLeast, Equal, Equal, PART_STEP)),
    formula(
        "T 4.2",
        "scatter",
        Scatter,
        "binomial",
        thakur::scatter_corrected,
    )
    .corrected(LG_IS_CEILED),
    formula(
        "T 4.2",
        "Tvandegeijn",
        Broadcast,
        "scatter-allgather",
        thakur::vandegeijn,
    )
    .with("allgather=ring")
    .exact(Ranks::PowersOfTwo, bound(AtLeast, Equal, Equal, PART_STEP)),
    formula(
        "T 4.2",
        "Tvandegeijn",
        Broadcast,
        "scatter-allgather",
        thakur::vandegeijn_corrected,
    )
    .with("allgather=ring")
    .corrected(LG_IS_CEILED),
    formula("T 4.3", "Tbruck", Alltoall, "bruck", thakur::bruck_alltoall).only(Ranks::PowersOfTwo),
    formula(
        "T 4.3",
        "Tbruck",
        Alltoall,
        "bruck",
        thakur::bruck_alltoall_not_power_of_two,
    )
    .only(Ranks::NotPowersOfTwo)
    .exact(Ranks::Nowhere, BRUCK_ALLTOALL),
    formula(
        "T 4.3",
        "Tbruck",
        Alltoall,
        "bruck",
        thakur::bruck_alltoall_floor,
    )
    .corrected("n/2 lg p is n/2 ⌊lg p⌋")
    .exact(Ranks::PowersOfTwo, BRUCK_ALLTOALL),
    formula(
        "T 4.3",
        "Tbruck",
        Alltoall,
        "bruck",
        thakur::bruck_alltoall_counted,
    )
    .corrected("the blocks with a bit set, counted"),
    formula(
        "T 4.3",
        "Tlong",
        Alltoall,
        "pairwise",
        thakur::long_alltoall,
    )
    .exact(
        Ranks::Nowhere,
        bound(
            Equal,
            AtMost,
            Equal,
            "n includes the block that a rank keeps",
        ),
    ),
    formula(
        "T 4.3",
        "Tlong",
        Alltoall,
        "pairwise",
        thakur::long_alltoall_corrected,
    )
    .corrected("nβ is (p−1)/p nβ: a rank sends itself nothing"),
    formula(
        "T 4.4",
        "Told",
        ReduceScatter,
        "reduce-scatterv",
        thakur::old_reduce_scatter,
    )
    .exact(
        Ranks::PowersOfTwo,
        bound(AtLeast, AtLeast, AtLeast, PART_STEP),
    ),
    formula(
        "T 4.4",
        "Told",
        ReduceScatter,
        "reduce-scatterv",
        thakur::old_reduce_scatter_corrected,
    )
    .corrected(LG_IS_CEILED),
    formula(
        "T 4.4",
        "Trec_half",
        ReduceScatter,
        "recursive-halving",
        thakur::rec_half,
    )
    .only(Ranks::PowersOfTwo),
    formula(
        "T 4.4",
        "Trec_half",
        ReduceScatter,
        "recursive-halving",
        thakur::rec_half_not_power_of_two,
    )
    .only(Ranks::NotPowersOfTwo)
    .exact(Ranks::Nowhere, REC_HALF),
    formula(
        "T 4.4",
        "Tshort",
        ReduceScatter,
        "recursive-doubling",
        thakur::short_reduce_scatter,
    )
    .only(Ranks::PowersOfTwo),
    formula(
        "T 4.4",
        "Tlong",
        ReduceScatter,
        "pairwise",
        thakur::long_reduce_scatter,
    ),
    formula("T 4.5", "Ttree", Reduce, "binomial", thakur::tree_reduce),
    formula(
        "T 4.5",
        "Trabenseifner",
        Reduce,
        "rabenseifner",
        thakur::rabenseifner,
    )
    .only(Ranks::PowersOfTwo),
    formula(
        "T 4.5",
        "Ttree + Ttree",
        Allreduce,
        "reduce-broadcast",
        thakur::reduce_broadcast,
    ),
    formula(
        "T 4.5",
        "Trec−dbl",
        Allreduce,
        "recursive-doubling",
        thakur::rec_dbl_allreduce,
    )
    .exact(Ranks::PowersOfTwo, bound(AtLeast, AtLeast, AtLeast, FOLDED)),
    formula(
        "T 4.5",
        "Trabenseifner",
        Allreduce,
        "rabenseifner",
        thakur::rabenseifner,
    )
    .only(Ranks::PowersOfTwo),
    formula(
        "T 5.1",
        "Tall,h&d",
        Allreduce,
        "rabenseifner",
        thakur::all_hd_power_of_two,
    )
    .telling_one_way()
    .only(Ranks::PowersOfTwo),
    formula(
        "T 5.1",
        "Tall,h&d ≃",
        Allreduce,
        "rabenseifner",
        thakur::all_hd_power_of_two_approximate,
    )
    .only(Ranks::PowersOfTwo)
    .exact(Ranks::Nowhere, bound(Equal, AtMost, AtMost, APPROXIMATE)),
    formula(
        "T 5.1",
        "Tall,h&d",
        Allreduce,
        "rabenseifner",
        thakur::all_hd_not_power_of_two,
    )
    .telling_one_way()
    .only(Ranks::NotPowersOfTwo),
    formula(
        "T 5.1",
        "Tall,h&d ≃",
        Allreduce,
        "rabenseifner",
        thakur::all_hd_not_power_of_two_approximate,
    )
    .telling_one_way()
    .only(Ranks::NotPowersOfTwo)
    .exact(Ranks::Nowhere, bound(AtMost, AtMost, AtMost, APPROXIMATE)),
    formula(
        "T 5.1",
        "Tred,h&d",
        Reduce,
        "rabenseifner",
        thakur::red_hd_power_of_two,
    )
    .telling_one_way()
    .only(Ranks::PowersOfTwo),
    formula(
        "T 5.1",
        "Tred,h&d ≃",
        Reduce,
        "rabenseifner",
        thakur::red_hd_power_of_two_approximate,
    )
    .telling_one_way()
    .only(Ranks::PowersOfTwo)
    .exact(Ranks::Nowhere, bound(AtMost, AtMost, AtMost, APPROXIMATE)),
    formula(
        "T 5.1",
        "Tred,h&d",
        Reduce,
        "rabenseifner",
        thakur::red_hd_not_power_of_two,
    )
    .telling_one_way()
    .only(Ranks::NotPowersOfTwo),
    formula(
        "T 5.1",
        "Tred,h&d ≃",
        Reduce,
        "rabenseifner",
        thakur::red_hd_not_power_of_two_approximate,
    )
    .telling_one_way()
    .only(Ranks::NotPowersOfTwo)
    .exact(Ranks::Nowhere, bound(AtMost, AtMost, AtMost, APPROXIMATE)),
    formula("T 5.3", "Tall,ring", Allreduce, "ring", thakur::all_ring).telling_one_way(),
    formula("T 5.3", "Tred,ring", Reduce, "ring", thakur::red_ring).telling_one_way(),
    formula(
        "Q 5.1.1",
        "sum in (1)",
        Gather,
        "binomial",
        qian::tree_gather_sum,
    )
    .multi_port()
    .exact(Ranks::PowersOfRadix, TREE_SUM),
    formula("Q 5.1.1", "(1)", Gather, "binomial", qian::equation_1)
        .multi_port()
        .exact(Ranks::PowersOfRadixOrOnePort, TREE_GATHER),
    formula("Q 5.1.1", "(2)", Gather, "direct", qian::equation_2).multi_port(),
    formula("Q 5.1.2", "(2)", Allgather, "direct", qian::equation_2).multi_port(),
    formula(
        "Q 5.1.2",
        "(3)",
        Allgather,
        "standard-exchange",
        qian::equation_3,
    )
    .multi_port()
    .only(Ranks::PowersOfRadix),
    formula(
        "Q 5.1.2",
        "(4)",
        Allgather,
        "standard-exchange",
        qian::equation_4,
    )
    .multi_port()
    .only(Ranks::NotPowersOfRadix)
    .exact(Ranks::Nowhere, STANDARD_EXCHANGE),
    formula("Q 5.1.2", "(1)", Allgather, "bruck", qian::equation_1)
        .multi_port()
        .exact(Ranks::PowersOfRadixOrOnePort, BRUCK_ALLGATHER),
    formula("Q 5.1.3", "(2)", Alltoall, "direct", qian::equation_2).multi_port(),
    formula(
        "Q 5.1.3",
        "(5)",
        Alltoall,
        "standard-exchange",
        qian::equation_5,
    )
    .multi_port()
    .only(Ranks::PowersOfRadix),
    formula("Q 5.1.3", "(5)", Alltoall, "bruck", qian::equation_5)
        .multi_port()
        .only(Ranks::PowersOfRadix),
];

const REC_DBL_ALLGATHER: Bound = bound(
    Between(50, 150),
    AtLeast,
    Equal,
    "the paper bounds the steps by 2⌊lg p⌋; for odd p the last rank needs one more, and data that \
     the missing ranks would have brought travel apart",
);

const BRUCK_ALLTOALL: Bound = bound(
    Equal,
    AtMost,
    Equal,
    "at most half of the blocks have a given bit, fewer if p is no multiple of twice its weight: 6 ranks move 7 \
     blocks, not 8",
);

const REC_HALF: Bound = bound(
    Equal,
    UpTo(120),
    UpTo(120),
    "approximate by its own text: the halves are uneven, worst where a quarter of the kept ranks work for a neighbour \
     too: messages of 3/5, 2/5, 1/5, 1/10, … of the vector, with the first whole one 12/5 n for the formula's 2n",
);

const TREE_SUM: Bound = bound(
    Equal,
    AtMost,
    Equal,
    "the sum stands for a full tree of (k+1)^⌈log N⌉ ranks; the last level is not full",
);

const TREE_GATHER: Bound = bound(
    Equal,
    AtLeast,
    Equal,
    "the root takes in N−1 blocks by k ports at once only if the k messages of each step are equally long",
);

const STANDARD_EXCHANGE: Bound = bound(
    AtMost,
    AtLeast,
    Equal,
    "the steps leave room for k corrections after each; the ports share N−1 blocks evenly only without corrections",
);

const BRUCK_ALLGATHER: Bound = bound(
    Equal,
    AtLeast,
    Equal,
    "the blocks missing in the last step do not always divide by k: a port carries the larger share",
);
