//! The buffers of a call: what goes in, and what must come out.

use super::super::kind::Kind;
use super::library::Buffers;
use std::ffi::c_int;

/// What no result is.
const POISON: f64 = -1.0;
/// How many elements are looked at one by one; of more, one of so many.
const ALL: usize = 1 << 15;
const STRIDE: usize = 61;

/// What a rank puts in: small whole numbers, of which sums are exact.
fn value(rank: usize, index: usize) -> f64 {
    ((7 * rank + index) % 101) as f64
}

/// The buffers of a rank, filled.
pub fn prepare(kind: Kind, bytes: u64, (rank, ranks): (usize, usize)) -> Buffers {
    let elements = kind.elements(bytes, ranks);
    let whole = elements * ranks;
    let [input, output] = match kind {
        Kind::Barrier => [0, 0],
        Kind::Bcast => [0, elements],
        Kind::Scatter => [if rank == 0 { whole } else { 0 }, elements],
        Kind::Gather => [elements, if rank == 0 { whole } else { 0 }],
        Kind::Allgather => [elements, whole],
        Kind::Alltoall => [whole, whole],
        Kind::ReduceScatter | Kind::ReduceScatterBlock => [whole, elements],
        Kind::Reduce | Kind::Allreduce | Kind::Scan | Kind::Exscan => [elements, elements],
    };
    let mut buffers = Buffers {
        input: (0..input).map(|index| value(rank, index)).collect(),
        output: vec![POISON; output],
        elements,
        counts: vec![elements as c_int; ranks],
    };
    renew(kind, &mut buffers, rank);
    buffers
}

/// Makes a result that is there already one that is not.
pub fn renew(kind: Kind, buffers: &mut Buffers, rank: usize) {
    for (index, element) in buffers.output.iter_mut().enumerate() {
        *element = match kind {
            Kind::Bcast if rank == 0 => value(0, index),
            _ => POISON,
        };
    }
}

/// Whether what has come out is right.
pub fn is_right(kind: Kind, buffers: &Buffers, (rank, ranks): (usize, usize)) -> bool {
    let output = &buffers.output;
    let step = if output.len() <= ALL { 1 } else { STRIDE };
    let last = output.len().checked_sub(1);
    let looked_at = (0..output.len()).step_by(step).chain(last);
    let n = buffers.elements.max(1);
    let sum = |ranks: std::ops::Range<usize>, index| ranks.map(|r| value(r, index)).sum::<f64>();
    for index in looked_at {
        let expected = match kind {
            Kind::Barrier => continue,
            Kind::Bcast => value(0, index),
            Kind::Scatter => value(0, rank * n + index),
            Kind::Gather | Kind::Allgather => value(index / n, index % n),
            Kind::Alltoall => value(index / n, rank * n + index % n),
            Kind::ReduceScatter | Kind::ReduceScatterBlock => sum(0..ranks, rank * n + index),
            // Elsewhere than on the root, and before the first rank, nothing is said of the result.
            Kind::Reduce if rank > 0 => continue,
            Kind::Exscan if rank == 0 => continue,
            Kind::Reduce | Kind::Allreduce => sum(0..ranks, index),
            Kind::Scan => sum(0..rank + 1, index),
            Kind::Exscan => sum(0..rank, index),
        };
        if output[index] != expected {
            return false;
        }
    }
    true
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What a library would make of the inputs.
    fn done(kind: Kind, buffers: &[Buffers], rank: usize) -> Vec<f64> {
        let (ranks, n) = (buffers.len(), buffers[rank].elements);
        let input = |rank: usize, index: usize| buffers[rank].input[index];
        let sum = |of: std::ops::Range<usize>, index: usize| -> f64 {
            of.map(|rank| input(rank, index)).sum()
        };
        match kind {
            Kind::Barrier => Vec::new(),
            Kind::Bcast => buffers[0].output.clone(),
            Kind::Scatter => (0..n).map(|i| input(0, rank * n + i)).collect(),
            Kind::Gather if rank > 0 => Vec::new(),
            Kind::Gather | Kind::Allgather => {
                buffers.iter().flat_map(|b| b.input.clone()).collect()
            }
            Kind::Alltoall => (0..ranks * n)
                .map(|i| input(i / n, rank * n + i % n))
                .collect(),
            Kind::ReduceScatter | Kind::ReduceScatterBlock => {
                (0..n).map(|i| sum(0..ranks, rank * n + i)).collect()
            }
            Kind::Reduce | Kind::Allreduce => (0..n).map(|i| sum(0..ranks, i)).collect(),
            Kind::Scan => (0..n).map(|i| sum(0..rank + 1, i)).collect(),
            Kind::Exscan => (0..n).map(|i| sum(0..rank, i)).collect(),
        }
    }

    #[test]
    fn right_results_are_right_and_others_are_not() {
        for kind in Kind::ALL {
            let ranks = 5;
            let all: Vec<Buffers> = (0..ranks).map(|r| prepare(kind, 400, (r, ranks))).collect();
            for rank in 0..ranks {
                let mut own = prepare(kind, 400, (rank, ranks));
                let says_nothing = kind == Kind::Barrier
                    || (kind == Kind::Reduce && rank > 0)
                    || (kind == Kind::Gather && rank > 0)
                    || (kind == Kind::Exscan && rank == 0)
                    || (kind == Kind::Bcast && rank == 0);
                assert_eq!(
                    is_right(kind, &own, (rank, ranks)),
                    says_nothing,
                    "{kind:?}"
                );
                own.output = done(kind, &all, rank);
                assert!(is_right(kind, &own, (rank, ranks)), "{kind:?} {rank}");
            }
        }
    }
}
