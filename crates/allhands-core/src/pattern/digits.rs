//! Base-r digits of block numbers: the steps of the Bruck algorithms (T 4.1.2, T 4.3, Q 5.1.2, Q 5.1.3).
//!
//! Step i handles digit position i. In the alltoall, every block whose number (the distance it still has to go)
//! has digit d ≠ 0 there travels d·r^i ranks; in the allgather, a rank that holds the r^i blocks from its own on gets
//! the next ones from the ranks d·r^i ahead. The r − 1 moves of a step use r − 1 ports at once.
//!
//! Q prints k^j for the distance; with k ports it is (k+1)^j.

use super::math::{ceil_log, power, power_at_most};
use alloc::vec::Vec;
use core::ops::Range;

/// One of the up to radix − 1 moves of a step.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Move {
    /// The step, which is the digit position, 0..[`steps`].
    pub step: u32,
    /// The digit value, 1..radix; `digit - 1` is the port it may use.
    pub digit: u32,
    /// How far the message travels round the ring of ranks: `digit`·radix^`step`, below p.
    pub distance: u32,
}

/// The number of steps: ⌈log_radix p⌉.
///
/// # Panics
/// If `p` is 0 or `radix` is below 2.
pub fn steps(p: u32, radix: u32) -> u32 {
    ceil_log(radix, p)
}

/// The moves of one step, by rising digit: those whose distance is below `p`, as longer ones would carry nothing.
///
/// # Panics
/// If `p` is 0 or `radix` is below 2.
pub fn moves(p: u32, radix: u32, step: u32) -> impl DoubleEndedIterator<Item = Move> {
    assert!(
        p >= 1 && radix >= 2,
        "no digits of {p} ranks in base {radix}"
    );
    let width = power_at_most(radix, step, p);
    let digits = ((p - 1) / width).min(radix - 1);
    (1..=digits).map(move |digit| Move {
        step,
        digit,
        distance: digit * width,
    })
}

/// Digit number `step` of `number` in base `radix`.
pub fn digit_of(number: u32, radix: u32, step: u32) -> u32 {
    // Below the radix, so it fits; a number has zeros above its highest digit.
    (u64::from(number) / u64::from(radix).saturating_pow(step) % u64::from(radix)) as u32
}

/// How many block numbers below `p` have the digit value of `this` at its step: what one rank sends in the
/// alltoall, in blocks.
pub fn blocks_with_digit(p: u32, radix: u32, this: Move) -> u32 {
    let width = power(radix, this.step);
    let cycle = width * u64::from(radix);
    let rest = u64::from(p) % cycle;
    let partial = rest.saturating_sub(u64::from(this.distance)).min(width);
    // At most p, so it fits.
    (u64::from(p) / cycle * width + partial) as u32
}

/// The block numbers below `p` that have the digit value of `this` at its step, as maximal contiguous runs, rising.
pub fn runs_with_digit(p: u32, radix: u32, this: Move) -> impl Iterator<Item = Range<u32>> {
    let width = power(radix, this.step);
    let cycle = width * u64::from(radix);
    let bound = u64::from(p);
    let start = u64::from(this.distance);
    // Both ends are at most p, so they fit.
    (0..bound.saturating_sub(start).div_ceil(cycle)).map(move |turn| {
        let first = start + turn * cycle;
        first as u32..(first + width).min(bound) as u32
    })
}

/// How many blocks a rank holds before `step` of the allgather: its own and those of the ranks ahead of it.
pub fn gathered_before(p: u32, radix: u32, step: u32) -> u32 {
    power_at_most(radix, step, p)
}

/// How many blocks `this` move carries in the allgather: the first of what the sender holds. The receiver puts them
/// at `this.distance`, counted in blocks from its own.
pub fn gathered_by(p: u32, radix: u32, this: Move) -> u32 {
    gathered_before(p, radix, this.step).min(p - this.distance)
}

/// A message of the allgather on several ports.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Gathered {
    /// How far behind the receiver's own its blocks stand: from the rank so far ahead.
    pub distance: u32,
    /// The blocks it carries: the first of what the sender holds.
    pub blocks: u32,
}

/// The messages of one step of the allgather on `ports` ports. The last step, which takes only what is missing, spreads that evenly
/// over the ports of as many rounds as its moves take, so that no port carries a whole power of the radix while another has nothing.
///
/// # Panics
/// If `p` or `ports` is 0, or `radix` is below 2.
pub fn gathered(p: u32, radix: u32, ports: u32, step: u32) -> Vec<Gathered> {
    let moves: Vec<Move> = moves(p, radix, step).collect();
    if ports == 1 || step + 1 < steps(p, radix) {
        let message = |this: &Move| Gathered {
            distance: this.distance,
            blocks: gathered_by(p, radix, *this),
        };
        return moves.iter().map(message).collect();
    }
    let held = gathered_before(p, radix, step);
    let most = (moves.len() as u32).div_ceil(ports) * ports;
    let each = (p - held).div_ceil(most).max(1);
    let message = |distance| Gathered {
        distance,
        blocks: each.min(p - distance),
    };
    (held..p).step_by(each as usize).map(message).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::vec;

    fn all_moves(p: u32, radix: u32) -> Vec<Move> {
        (0..steps(p, radix))
            .flat_map(|step| moves(p, radix, step))
            .collect()
    }

    #[test]
    fn every_block_travels_exactly_its_number() {
        for p in 1..=100 {
            for radix in (2..=7).chain([p.max(2), p + 3]) {
                let mut travelled = vec![0; p as usize];
                for this in all_moves(p, radix) {
                    let mut count = 0;
                    let mut end = None;
                    for run in runs_with_digit(p, radix, this) {
                        assert!(!run.is_empty() && end.is_none_or(|end| end < run.start));
                        end = Some(run.end);
                        for block in run {
                            assert_eq!(digit_of(block, radix, this.step), this.digit);
                            travelled[block as usize] += this.distance;
                            count += 1;
                        }
                    }
                    assert!(count > 0 && this.distance < p);
                    assert_eq!(count, blocks_with_digit(p, radix, this));
                }
                assert!(travelled.into_iter().eq(0..p), "p = {p}, radix = {radix}");
            }
        }
    }

    #[test]
    fn the_allgather_fills_every_place_once() {
        for p in 1..=100 {
            for radix in (2..=7).chain([p.max(2), p + 3]) {
                let mut held = 1;
                for step in 0..steps(p, radix) {
                    assert_eq!(held, gathered_before(p, radix, step));
                    for this in moves(p, radix, step) {
                        assert_eq!(this.distance, held);
                        held += gathered_by(p, radix, this);
                    }
                }
                assert_eq!(held, p);
            }
        }
    }

    #[test]
    fn ports_share_the_last_step() {
        for p in 1..=100 {
            for (radix, ports) in [(2, 1), (3, 2), (4, 3), (5, 4), (5, 2), (4, 1), (2, 3)] {
                let mut held = 1;
                for step in 0..steps(p, radix) {
                    let messages = gathered(p, radix, ports, step);
                    let before = held;
                    for message in &messages {
                        assert_eq!(message.distance, held);
                        assert!((1..=before).contains(&message.blocks));
                        held += message.blocks;
                    }
                    let rounds = moves(p, radix, step).count().div_ceil(ports as usize);
                    assert_eq!(messages.len().div_ceil(ports as usize), rounds);
                    if ports + 1 == radix && step + 1 == steps(p, radix) {
                        let most = messages.iter().map(|m| m.blocks).max();
                        assert_eq!(most, Some((p - before).div_ceil(ports)), "p = {p}");
                    }
                }
                assert_eq!(held, p);
            }
        }
        let last: Vec<_> = gathered(5, 3, 2, 1)
            .iter()
            .map(|m| (m.distance, m.blocks))
            .collect();
        assert_eq!(last, [(3, 1), (4, 1)]);
    }

    #[test]
    fn six_ranks_as_in_thakur() {
        let counts: Vec<u32> = all_moves(6, 2)
            .iter()
            .map(|&this| blocks_with_digit(6, 2, this))
            .collect();
        assert_eq!(counts, [3, 2, 2]);
        let gathered: Vec<u32> = all_moves(6, 2)
            .iter()
            .map(|&this| gathered_by(6, 2, this))
            .collect();
        assert_eq!(gathered, [1, 2, 2]);
    }

    #[test]
    fn huge_worlds_do_not_overflow() {
        let p = u32::MAX;
        for radix in [2, 3, 1 << 16, u32::MAX] {
            let last = steps(p, radix) - 1;
            let this = moves(p, radix, last).next_back().unwrap();
            assert!(blocks_with_digit(p, radix, this) >= 1);
            assert_eq!(gathered_by(p, radix, this), p - this.distance);
        }
    }
}
