//! The serial definition: what each rank has before a call and must have after it.

use super::{Case, mix};
use allhands::element::Element;
use allhands::operator::Operator;
use allhands_core::call::Collective;

/// How an element is made of a number.
pub type Value<T> = fn(u64) -> T;

/// The element `at` of what rank `rank` has as its block number `block`.
fn element<T>(rank: usize, block: usize, at: usize, value: Value<T>) -> T {
    value(mix(rank as u64, block as u64, at as u64))
}

/// How many elements rank `rank` has in its block number `block`.
fn length(case: &Case, rank: usize, block: usize) -> usize {
    match case.collective() {
        Collective::Scatter | Collective::ReduceScatter => case.count(block, 0),
        Collective::Alltoall => case.count(rank, block),
        Collective::Gather | Collective::Allgather => case.count(rank, 0),
        Collective::Barrier
        | Collective::Broadcast
        | Collective::Reduce
        | Collective::Allreduce
        | Collective::Scan
        | Collective::Exscan => case.elements,
    }
}

/// Blocks one behind the other, each as a rank and its number.
fn blocks<T>(case: &Case, blocks: impl Iterator<Item = (usize, usize)>, value: Value<T>) -> Vec<T> {
    let mut all = Vec::new();
    for (rank, number) in blocks {
        let places = 0..length(case, rank, number);
        all.extend(places.map(|at| element(rank, number, at, value)));
    }
    all
}

/// What rank `rank` gives to the call: its blocks, one behind the other.
pub fn input<T>(case: &Case, rank: usize, value: Value<T>) -> Vec<T> {
    let count = match case.collective() {
        Collective::Barrier => 0,
        Collective::Broadcast | Collective::Scatter if rank != case.root => 0,
        Collective::Scatter | Collective::Alltoall | Collective::ReduceScatter => case.ranks,
        Collective::Broadcast
        | Collective::Gather
        | Collective::Allgather
        | Collective::Reduce
        | Collective::Allreduce
        | Collective::Scan
        | Collective::Exscan => 1,
    };
    blocks(case, (0..count).map(|number| (rank, number)), value)
}

/// What rank `rank` must get; `None` where it is undefined.
pub fn expected<T: Element, O: Operator<T>>(
    case: &Case,
    rank: usize,
    value: Value<T>,
    operator: &O,
) -> Option<Vec<T>> {
    let block = |rank: usize, number: usize| blocks(case, [(rank, number)].into_iter(), value);
    // Element by element, as that needs no memory; every rank has as many in a block that is combined.
    let fold = |ranks: std::ops::Range<usize>, number: usize| -> Vec<T> {
        let sum = |at: usize| {
            let first = element(ranks.start, number, at, value);
            (ranks.start + 1..ranks.end).fold(first, |sum, rank| {
                operator.combine(&sum, &element(rank, number, at, value))
            })
        };
        (0..length(case, ranks.start, number)).map(sum).collect()
    };
    let (p, root) = (case.ranks, case.root);
    match case.collective() {
        Collective::Barrier => Some(vec![]),
        Collective::Broadcast => Some(block(root, 0)),
        Collective::Scatter => Some(block(root, rank)),
        Collective::Gather if rank != root => Some(vec![]),
        Collective::Gather | Collective::Allgather => {
            Some(blocks(case, (0..p).map(|from| (from, 0)), value))
        }
        Collective::Alltoall => Some(blocks(case, (0..p).map(|from| (from, rank)), value)),
        Collective::ReduceScatter => Some(fold(0..p, rank)),
        Collective::Reduce if rank != root => Some(vec![]),
        Collective::Reduce | Collective::Allreduce => Some(fold(0..p, 0)),
        Collective::Scan => Some(fold(0..rank + 1, 0)),
        Collective::Exscan if rank == 0 => None,
        Collective::Exscan => Some(fold(0..rank, 0)),
    }
}
