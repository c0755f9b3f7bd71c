//! Exchanges: neighbours on the ring, partners of the pairwise algorithms, and rounds of direct ones.

use super::math::{add_mod, is_power_of_two, sub_mod};
use core::ops::Range;

/// The two peers of one rank in one step; equal where the two exchange with one another.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Peers {
    /// The rank it sends to.
    pub to: u32,
    /// The rank it receives from.
    pub from: u32,
}

/// The ring shifted by `distance`: to `rank` + `distance`, from `rank` − `distance` (mod p).
///
/// Distance 1 is the ring itself (T 4.1); distance i is step i of the scattered (T 4.3) and direct algorithms and
/// of the pairwise reduce-scatter (T 4.4).
///
/// # Panics
/// If `rank` is not below `p`.
pub fn shifted(p: u32, rank: u32, distance: u32) -> Peers {
    assert!(rank < p, "rank {rank} of {p}");
    Peers {
        to: add_mod(rank, distance, p),
        from: sub_mod(rank, distance, p),
    }
}

/// Step `step`, 1 ≤ `step` < `p`, of the pairwise exchange (T 4.3): `rank` XOR `step` where `p` is a power of two,
/// the ring shifted by `step` otherwise.
///
/// # Panics
/// If `rank` is not below `p`, or `step` is not from 1 to `p` − 1.
pub fn pairwise(p: u32, rank: u32, step: u32) -> Peers {
    assert!(
        1 <= step && step < p,
        "step {step} of a pairwise exchange of {p}"
    );
    assert!(rank < p, "rank {rank} of {p}");
    if is_power_of_two(p) {
        Peers {
            to: rank ^ step,
            from: rank ^ step,
        }
    } else {
        shifted(p, rank, step)
    }
}

/// The number of rounds of a direct algorithm with `ports` ports: ⌈(p − 1)/ports⌉ (Q 5.1.1, 5.1.2).
///
/// # Panics
/// If `p` or `ports` is 0.
pub fn direct_rounds(p: u32, ports: u32) -> u32 {
    (p - 1).div_ceil(ports)
}

/// The distances served at once in round `round`, counted from 0, of a direct algorithm: `round`·`ports` + 1 up to
/// (`round` + 1)·`ports`, as far as they are below `p` (Q 5.1.2).
///
/// # Panics
/// If `round` is not below [`direct_rounds`].
pub fn direct_distances(p: u32, ports: u32, round: u32) -> Range<u32> {
    assert!(
        round < direct_rounds(p, ports),
        "round {round} of {}",
        direct_rounds(p, ports)
    );
    let first = round * ports + 1;
    first..first.saturating_add(ports).min(p)
}

/// The blocks that one rank sends and receives in one step on the ring.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RingBlocks {
    /// The block it sends to `rank` + 1.
    pub send: u32,
    /// The block it receives from `rank` − 1.
    pub receive: u32,
}

/// Step `step`, 0 ≤ `step` < p − 1, of the ring allgather (T 4.1): a rank passes on what came last, its own first.
///
/// # Panics
/// If `rank` is not below `p`.
pub fn ring_allgather(p: u32, rank: u32, step: u32) -> RingBlocks {
    let send = shifted(p, rank, step).from;
    RingBlocks {
        send,
        receive: sub_mod(send, 1, p),
    }
}

/// Step `step`, 0 ≤ `step` < p − 1, of the ring reduce-scatter: partial results walk round the ring, and the last to
/// arrive at a rank is its own block.
///
/// # Panics
/// If `rank` is not below `p`.
pub fn ring_reduce_scatter(p: u32, rank: u32, step: u32) -> RingBlocks {
    // One position behind the allgather, so that the walk of block b starts at b + 1 and ends at b.
    let send = sub_mod(shifted(p, rank, step).from, 1, p);
    RingBlocks {
        send,
        receive: sub_mod(send, 1, p),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::{vec, vec::Vec};

    #[test]
    fn pairwise_meets_every_other_rank_once() {
        for p in 2..=70 {
            let mut met = vec![0; (p * p) as usize];
            for step in 1..p {
                for rank in 0..p {
                    let peers = pairwise(p, rank, step);
                    assert_eq!(pairwise(p, peers.to, step).from, rank);
                    assert!(!p.is_power_of_two() || peers.to == peers.from);
                    met[(rank * p + peers.to) as usize] += 1;
                }
            }
            for (pair, count) in met.into_iter().enumerate() {
                let own = pair as u32 / p == pair as u32 % p;
                assert_eq!(count, u32::from(!own));
            }
        }
    }

    #[test]
    fn direct_rounds_serve_every_distance_once() {
        for p in 1..=70 {
            for ports in 1..=8 {
                let served: Vec<u32> = (0..direct_rounds(p, ports))
                    .flat_map(|round| direct_distances(p, ports, round))
                    .collect();
                assert!(served.into_iter().eq(1..p));
                assert!(
                    (0..direct_rounds(p, ports))
                        .all(|round| direct_distances(p, ports, round).len() as u32 <= ports)
                );
            }
        }
    }

    #[test]
    fn the_ring_gathers_everything() {
        for p in 1..=64 {
            for rank in 0..p {
                let mut held = vec![false; p as usize];
                held[rank as usize] = true;
                for step in 0..p - 1 {
                    let blocks = ring_allgather(p, rank, step);
                    let before = ring_allgather(p, shifted(p, rank, 1).from, step);
                    assert_eq!(before.send, blocks.receive);
                    assert!(held[blocks.send as usize]);
                    assert!(!core::mem::replace(
                        &mut held[blocks.receive as usize],
                        true
                    ));
                }
                assert!(held.into_iter().all(|once| once));
            }
        }
    }

    #[test]
    fn the_ring_reduces_every_contribution_once() {
        for p in 1..=64_u32 {
            // partial[rank][block]: the set of contributions, as a bit mask.
            let mut partial: Vec<Vec<u64>> =
                (0..p).map(|rank| vec![1 << rank; p as usize]).collect();
            for step in 0..p - 1 {
                let before = partial.clone();
                for rank in 0..p {
                    let blocks = ring_reduce_scatter(p, rank, step);
                    let from = shifted(p, rank, 1).from;
                    assert_eq!(ring_reduce_scatter(p, from, step).send, blocks.receive);
                    let arriving = before[from as usize][blocks.receive as usize];
                    let here = &mut partial[rank as usize][blocks.receive as usize];
                    assert_eq!(*here & arriving, 0);
                    *here |= arriving;
                }
            }
            for rank in 0..p {
                assert_eq!(partial[rank as usize][rank as usize].count_ones(), p);
            }
        }
    }
}
