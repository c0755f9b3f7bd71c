//! Far first: who passes on which blocks when ranks serve the farthest first, as many blocks at a time as are allowed.
//!
//! What a rank has of the ranks before it, it names by how far before: its own block is 0. In a step with skip d it sends blocks to the
//! rank d further on, where each is d further back. Skips halve: all numbers below p come to be, each by its bits, the highest first.
//! While a message may hold all that a rank has, it does. After that, what was there and what came go on apart, one after the other,
//! each as a tree of its own.
//!
//! ```text
//! p = 8, at most 2     skip 4: 0      skip 2: 0 4      then skip 1: 0 4      and skip 1: 2 6
//! ```

use alloc::vec::Vec;

/// One step, the same for all ranks: `count` blocks that are `first`, `first + stride`, … back go `skip` ranks on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Step {
    /// From a rank to the one that gets its blocks.
    pub skip: u32,
    /// How far back the first block is, before the step.
    pub first: u32,
    /// From each block to the next.
    pub stride: u32,
    /// The number of blocks.
    pub count: u32,
}

/// The steps by which the blocks of `p` ranks reach all, with at most `most` blocks in a message.
///
/// # Panics
/// If `p` or `most` is 0.
#[must_use]
pub fn steps(p: u32, most: u32) -> Vec<Step> {
    assert!(p > 0 && most > 0, "blocks of {p} ranks, {most} at a time");
    let mut steps = Vec::new();
    let own = Step {
        skip: p.next_power_of_two() / 2,
        first: 0,
        stride: p.next_power_of_two(),
        count: 1,
    };
    go_on(p, (most, true), own, &mut steps);
    steps
}

/// Spreads the blocks that `held` names, with its skip and all smaller ones; `together`: they have not been parted.
fn go_on(p: u32, (most, together): (u32, bool), held: Step, steps: &mut Vec<Step>) {
    let Step {
        skip,
        first,
        stride,
        count,
    } = held;
    if skip == 0 {
        return;
    }
    // Those that would be p back are where they began.
    let room = (p - first).saturating_sub(skip).div_ceil(stride);
    let sent = Step {
        count: count.min(room),
        ..held
    };
    if sent.count > 0 {
        steps.push(sent);
    }
    let skip = skip / 2;
    if together && count + sent.count <= most {
        let all = Step {
            skip,
            stride: stride / 2,
            count: count + sent.count,
            first,
        };
        return go_on(p, (most, true), all, steps);
    }
    go_on(p, (most, false), Step { skip, ..held }, steps);
    let came = Step {
        skip,
        first: first + held.skip,
        ..sent
    };
    if came.count > 0 {
        go_on(p, (most, false), came, steps);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::collections::BTreeSet;

    #[test]
    fn every_block_comes_once_and_is_there_before_it_goes() {
        for p in 1..=130 {
            for most in [1, 2, 3, 4, 8, 16, p] {
                let (mut held, mut most_at_once) = (BTreeSet::from([0]), 0);
                let steps = steps(p, most);
                for step in &steps {
                    most_at_once = most_at_once.max(step.count);
                    for block in 0..step.count {
                        let back = step.first + block * step.stride;
                        assert!(held.contains(&back), "p = {p}, {most}: {step:?}");
                        assert!(held.insert(back + step.skip));
                    }
                }
                assert!(held.into_iter().eq(0..p), "p = {p}, {most}");
                assert!(most_at_once <= most);
                if most >= p {
                    assert_eq!(steps.len() as u32, p.next_power_of_two().ilog2());
                }
            }
        }
    }

    #[test]
    fn eight_ranks_as_in_the_figure() {
        let all: Vec<_> = steps(8, 2)
            .iter()
            .map(|s| (s.skip, s.first, s.stride, s.count))
            .collect();
        assert_eq!(
            all,
            [(4, 0, 8, 1), (2, 0, 4, 2), (1, 0, 4, 2), (1, 2, 4, 2)]
        );
    }
}
