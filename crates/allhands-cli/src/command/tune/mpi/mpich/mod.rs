//! MPICH: its algorithms, and the control variables that force them.

mod files;

use super::kind::Kind;
use super::record::Hello;
use super::variant::{Value, Variant};
pub use files::files;

type Parameters = &'static [(&'static str, i64)];

/// What has to hold of a call, besides, for an algorithm that is called without a fallback.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Needs {
    Nothing,
    /// An element for each rank, of a power of two of them.
    Elements,
    /// As many ranks as a power of two.
    PowerOfTwo,
}

/// An algorithm in one setting: its parameters as the tree has them, and as control variables.
struct Row {
    kind: Kind,
    algorithm: &'static str,
    parameters: Parameters,
    variables: &'static [&'static str],
    needs: Needs,
}

const fn row(kind: Kind, algorithm: &'static str) -> Row {
    Row {
        kind,
        algorithm,
        parameters: &[],
        variables: &[],
        needs: Needs::Nothing,
    }
}

const fn with(row: Row, parameters: Parameters, variables: &'static [&'static str]) -> Row {
    Row {
        parameters,
        variables,
        ..row
    }
}

const fn needs(row: Row, needs: Needs) -> Row {
    Row { needs, ..row }
}

const TREE: &[&str] = &["BCAST_TREE_KVAL"];
const PIPELINE: &[&str] = &["BCAST_TREE_KVAL", "BCAST_TREE_PIPELINE_CHUNK_SIZE"];
const RECEXCH: &[&str] = &["ALLREDUCE_RECEXCH_KVAL"];
const MULTIPLYING: &[&str] = &["ALLREDUCE_RECURSIVE_MULTIPLYING_KVAL"];
const REDUCTION_TREE: &[&str] = &["ALLREDUCE_TREE_KVAL", "ALLREDUCE_TREE_PIPELINE_CHUNK_SIZE"];

const ROWS: &[Row] = &[
    with(
        row(Kind::Barrier, "k_dissemination"),
        &[("k", 2)],
        &["BARRIER_DISSEM_KVAL"],
    ),
    with(
        row(Kind::Barrier, "k_dissemination"),
        &[("k", 4)],
        &["BARRIER_DISSEM_KVAL"],
    ),
    with(
        row(Kind::Barrier, "recexch"),
        &[("k", 2)],
        &["BARRIER_RECEXCH_KVAL"],
    ),
    row(Kind::Bcast, "binomial"),
    row(Kind::Bcast, "scatter_recursive_doubling_allgather"),
    row(Kind::Bcast, "scatter_ring_allgather"),
    with(row(Kind::Bcast, "tree"), &[("k", 2)], TREE),
    with(row(Kind::Bcast, "tree"), &[("k", 4)], TREE),
    with(
        row(Kind::Bcast, "pipelined_tree"),
        &[("k", 1), ("chunk_size", 8192)],
        PIPELINE,
    ),
    with(
        row(Kind::Bcast, "pipelined_tree"),
        &[("k", 1), ("chunk_size", 32_768)],
        PIPELINE,
    ),
    with(
        row(Kind::Bcast, "pipelined_tree"),
        &[("k", 1), ("chunk_size", 131_072)],
        PIPELINE,
    ),
    with(
        row(Kind::Bcast, "pipelined_tree"),
        &[("k", 2), ("chunk_size", 32_768)],
        PIPELINE,
    ),
    with(
        row(Kind::Allgather, "k_brucks"),
        &[("k", 2)],
        &["ALLGATHER_BRUCKS_KVAL"],
    ),
    with(
        row(Kind::Allgather, "k_brucks"),
        &[("k", 4)],
        &["ALLGATHER_BRUCKS_KVAL"],
    ),
    row(Kind::Allgather, "brucks"),
    needs(
        row(Kind::Allgather, "recursive_doubling"),
        Needs::PowerOfTwo,
    ),
    row(Kind::Allgather, "ring"),
    with(
        row(Kind::Allgather, "recexch_doubling"),
        &[("k", 2)],
        &["ALLGATHER_RECEXCH_KVAL"],
    ),
    with(
        row(Kind::Allgather, "recexch_halving"),
        &[("k", 2)],
        &["ALLGATHER_RECEXCH_KVAL"],
    ),
    row(Kind::Alltoall, "brucks"),
    with(
        row(Kind::Alltoall, "k_brucks"),
        &[("k", 4)],
        &["ALLTOALL_BRUCKS_KVAL"],
    ),
    row(Kind::Alltoall, "pairwise"),
    row(Kind::Alltoall, "scattered"),
    row(Kind::ReduceScatter, "recursive_halving"),
    row(Kind::ReduceScatter, "pairwise"),
    row(Kind::ReduceScatter, "recursive_doubling"),
    row(Kind::ReduceScatterBlock, "recursive_halving"),
    row(Kind::ReduceScatterBlock, "pairwise"),
    row(Kind::ReduceScatterBlock, "recursive_doubling"),
    row(Kind::Reduce, "binomial"),
    needs(row(Kind::Reduce, "reduce_scatter_gather"), Needs::Elements),
    row(Kind::Allreduce, "recursive_doubling"),
    with(
        row(Kind::Allreduce, "recursive_multiplying"),
        &[("k", 3)],
        MULTIPLYING,
    ),
    with(
        row(Kind::Allreduce, "recursive_multiplying"),
        &[("k", 4)],
        MULTIPLYING,
    ),
    needs(
        row(Kind::Allreduce, "reduce_scatter_allgather"),
        Needs::Elements,
    ),
    needs(row(Kind::Allreduce, "ring"), Needs::Elements),
    with(row(Kind::Allreduce, "recexch"), &[("k", 2)], RECEXCH),
    needs(
        with(
            row(Kind::Allreduce, "k_reduce_scatter_allgather"),
            &[("k", 2)],
            RECEXCH,
        ),
        Needs::Elements,
    ),
    with(
        row(Kind::Allreduce, "tree"),
        &[("k", 2), ("chunk_size", 0)],
        REDUCTION_TREE,
    ),
    with(
        row(Kind::Allreduce, "tree"),
        &[("k", 2), ("chunk_size", 32_768)],
        REDUCTION_TREE,
    ),
    row(Kind::Scan, "recursive_doubling"),
    row(Kind::Scan, "nb"),
    row(Kind::Gather, "nb"),
    row(Kind::Scatter, "nb"),
    row(Kind::Exscan, "nb"),
];

/// What the tree wants to know of an algorithm, and variables have fixed: each is the library's default.
const FIXED: &[(Kind, &str, &[&str])] = &[
    (
        Kind::Bcast,
        "tree",
        &[
            "tree_type=kary",
            "is_non_blocking=1",
            "topo_overhead=200",
            "topo_diff_groups=10",
            "topo_diff_switches=8",
            "topo_same_switches=5",
        ],
    ),
    (
        Kind::Bcast,
        "pipelined_tree",
        &["tree_type=kary", "is_non_blocking=1", "recv_pre_posted=0"],
    ),
    (
        Kind::Allreduce,
        "tree",
        &["tree_type=knomial_1", "buffer_per_child=0"],
    ),
    (Kind::Allreduce, "recexch", &["single_phase_recv=0"]),
    (
        Kind::Allreduce,
        "k_reduce_scatter_allgather",
        &["single_phase_recv=0"],
    ),
    (Kind::Barrier, "recexch", &["single_phase_recv=0"]),
    (
        Kind::Allgather,
        "recexch_doubling",
        &["single_phase_recv=0"],
    ),
    (Kind::Allgather, "recexch_halving", &["single_phase_recv=0"]),
];

/// Collectives that have algorithms of their own in a host's shared memory.
const IN_SHARED_MEMORY: [Kind; 4] = [Kind::Barrier, Kind::Bcast, Kind::Reduce, Kind::Allreduce];

/// The composition that knows no hosts, by its number and its name.
const FLAT: [(Kind, i64, &str); 4] = [
    (Kind::Barrier, 2, "beta"),
    (Kind::Bcast, 3, "gamma"),
    (Kind::Reduce, 3, "gamma"),
    (Kind::Allreduce, 2, "beta"),
];

/// The variants of a collective.
pub fn variants(hello: &Hello, kind: Kind) -> Vec<Variant> {
    let fits = |row: &&Row| {
        let is_open = row.needs != Needs::PowerOfTwo || hello.ranks.is_power_of_two();
        row.kind == kind && is_open
    };
    let upper = kind.name().to_uppercase();
    let variant = |row: &Row| {
        let mut forced = Vec::new();
        if is_on_one_host(hello) && IN_SHARED_MEMORY.contains(&kind) {
            let name = format!("MPIR_CVAR_{upper}_POSIX_INTRA_ALGORITHM");
            forced.push((name, Value::Named("mpir")));
        }
        if let Some((_, number, _)) = flat(hello, kind) {
            forced.push((
                format!("MPIR_CVAR_{upper}_COMPOSITION"),
                Value::Number(number),
            ));
        }
        for (variable, (_, number)) in row.variables.iter().zip(row.parameters) {
            forced.push((format!("MPIR_CVAR_{variable}"), Value::Number(*number)));
        }
        let name = format!("MPIR_CVAR_{upper}_INTRA_ALGORITHM");
        forced.push((name, Value::Named(row.algorithm)));
        Variant {
            kind,
            algorithm: row.algorithm,
            parameters: row.parameters,
            forced,
        }
    };
    ROWS.iter().filter(fits).map(variant).collect()
}

fn is_on_one_host(hello: &Hello) -> bool {
    hello.hosts == 1
}

/// The composition that has to be forced so that an algorithm runs between all ranks.
fn flat(hello: &Hello, kind: Kind) -> Option<(Kind, i64, &'static str)> {
    let has_both = hello.hosts > 1 && hello.ranks > hello.hosts;
    FLAT.into_iter().find(|row| has_both && row.0 == kind)
}

/// Collectives of which the tree cannot tell sizes, or of which not all ranks are sure to know them: with `MPI_IN_PLACE` the root of a
/// gather need not say how much it sends, nor all but the root of a scatter.
pub fn is_one_for_all(kind: Kind) -> bool {
    match kind {
        Kind::Barrier | Kind::Gather | Kind::Scatter | Kind::Scan | Kind::Exscan => true,
        Kind::Bcast
        | Kind::Allgather
        | Kind::Alltoall
        | Kind::ReduceScatter
        | Kind::ReduceScatterBlock
        | Kind::Reduce
        | Kind::Allreduce => false,
    }
}
