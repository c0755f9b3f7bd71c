//! Lower bounds: what no algorithm can beat, beside what one was counted to cost.

use crate::call::{Call, Collective};

/// How many blocks, or pieces of one, make up the call's `bytes`: the whole vector where it is cut, one block a rank or pair otherwise.
#[must_use]
pub fn blocks_of_bytes(call: &Call, parts: u32) -> u32 {
    let pieces = call.pieces(parts);
    match call.collective {
        Collective::Barrier
        | Collective::Scatter
        | Collective::Gather
        | Collective::Allgather
        | Collective::Alltoall => pieces,
        Collective::ReduceScatter => call.ranks * pieces,
        Collective::Broadcast
        | Collective::Reduce
        | Collective::Allreduce
        | Collective::Scan
        | Collective::Exscan => parts,
    }
}

/// ⌈log_(ports+1) ranks⌉: in every step, who knows something can tell `ports` others.
///
/// Some rank depends on all ranks, or all ranks on one, in every collective.
#[must_use]
pub fn steps(collective: Collective, ranks: u32, ports: u32) -> u32 {
    // Every collective has a rank that depends on all, or one that all depend on.
    match collective {
        Collective::Barrier
        | Collective::Broadcast
        | Collective::Scatter
        | Collective::Gather
        | Collective::Allgather
        | Collective::Alltoall
        | Collective::ReduceScatter
        | Collective::Reduce
        | Collective::Allreduce
        | Collective::Scan
        | Collective::Exscan => {
            let (mut reached, mut steps) = (1u64, 0);
            while reached < u64::from(ranks) {
                reached *= u64::from(ports) + 1;
                steps += 1;
            }
            steps
        }
    }
}

/// What some rank must send or receive, in multiples of the call's `bytes`.
#[must_use]
pub fn volume(collective: Collective, ranks: u32) -> f64 {
    let p = f64::from(ranks);
    if ranks < 2 {
        return 0.0;
    }
    match collective {
        Collective::Barrier => 0.0,
        Collective::Broadcast | Collective::Reduce | Collective::Scan | Collective::Exscan => 1.0,
        Collective::Scatter | Collective::Gather | Collective::Allgather | Collective::Alltoall => {
            p - 1.0
        }
        Collective::ReduceScatter => (p - 1.0) / p,
        Collective::Allreduce => 2.0 * (p - 1.0) / p,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rounds_grow_with_the_logarithm_to_the_base_of_ports_plus_one() {
        let rounds = |p, k| steps(Collective::Allgather, p, k);
        assert_eq!(
            [1, 2, 3, 4, 5, 8, 9].map(|p| rounds(p, 1)),
            [0, 1, 2, 2, 3, 3, 4]
        );
        assert_eq!([9, 10, 27].map(|p| rounds(p, 2)), [2, 3, 3]);
    }
}
