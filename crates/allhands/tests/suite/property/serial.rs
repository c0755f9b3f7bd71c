//! The serial definition: what each rank has before a call and must have after it.

use super::{Case, mix};
use allhands::element::Element;
use allhands::operator::Operator;
use allhands_core::call::Collective;

/// How an element is made of a number.
pub type Value<T> = fn(u64) -> T;

/// What rank `rank` has as its block number `block`.
fn block<T>(case: &Case, rank: usize, block: usize, value: Value<T>) -> Vec<T> {
    let elements = match case.collective() {
        Collective::Scatter | Collective::ReduceScatter => case.count(block, 0),
        Collective::Alltoall => case.count(rank, block),
        Collective::Gather | Collective::Allgather => case.count(rank, 0),
        Collective::Barrier
        | Collective::Broadcast
        | Collective::Reduce
        | Collective::Allreduce
        | Collective::Scan
        | Collective::Exscan => case.elements,
    };
    (0..elements)
        .map(|i| value(mix(rank as u64, block as u64, i as u64)))
        .collect()
}

/// What rank `rank` gives to the call: its blocks, one behind the other.
pub fn input<T>(case: &Case, rank: usize, value: Value<T>) -> Vec<T> {
    let blocks = match case.collective() {
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
    (0..blocks)
        .flat_map(|b| block(case, rank, b, value))
        .collect()
}

/// What rank `rank` must get; `None` where it is undefined.
pub fn expected<T: Element, O: Operator<T>>(
    case: &Case,
    rank: usize,
    value: Value<T>,
    operator: &O,
) -> Option<Vec<T>> {
    let block = |rank: usize, number: usize| block(case, rank, number, value);
    let fold = |ranks: std::ops::Range<usize>, number: usize| -> Vec<T> {
        let first = block(ranks.start, number);
        ranks.skip(1).fold(first, |sum, rank| {
            let next = block(rank, number);
            let pairs = sum.iter().zip(&next);
            pairs.map(|(a, b)| operator.combine(a, b)).collect()
        })
    };
    let (p, root) = (case.ranks, case.root);
    match case.collective() {
        Collective::Barrier => Some(vec![]),
        Collective::Broadcast => Some(block(root, 0)),
        Collective::Scatter => Some(block(root, rank)),
        Collective::Gather if rank != root => Some(vec![]),
        Collective::Gather | Collective::Allgather => {
            Some((0..p).flat_map(|r| block(r, 0)).collect())
        }
        Collective::Alltoall => Some((0..p).flat_map(|r| block(r, rank)).collect()),
        Collective::ReduceScatter => Some(fold(0..p, rank)),
        Collective::Reduce if rank != root => Some(vec![]),
        Collective::Reduce | Collective::Allreduce => Some(fold(0..p, 0)),
        Collective::Scan => Some(fold(0..rank + 1, 0)),
        Collective::Exscan if rank == 0 => None,
        Collective::Exscan => Some(fold(0..rank, 0)),
    }
}
