//! Runs: displacements at equal distances, as those are that move together and came together.

use crate::pattern::digits::Move;
use crate::schedule::{Blocks, Space};
use alloc::vec;
use alloc::vec::Vec;

/// Runs of `width` displacements, `stride` apart, and one of `rest` after them.
pub(super) struct Run {
    pub(super) first: u32,
    pub(super) width: u32,
    pub(super) stride: u32,
    times: u32,
    rest: u32,
}

impl Run {
    pub(super) fn count(&self) -> u32 {
        self.width * self.times + self.rest
    }

    /// The blocks at its displacements, of which the first and the distance in `space` are given.
    pub(super) fn sets(&self, space: Space, first: u32, stride: i32) -> Vec<Blocks> {
        let rest = first.wrapping_add_signed(stride * self.times as i32);
        vec![
            Blocks::strided(space, first, self.width, stride, self.times),
            Blocks::new(space, rest, self.rest),
        ]
    }
}

/// The displacements with digit value `this` whose last lower nonzero digit is `last` (or that have none): those that end
/// here as one run, and the runs that go on.
pub(super) fn runs(p: u32, radix: u32, this: Move, last: Option<Move>) -> (Run, Run) {
    let width = last.map_or(1, |last| radix.pow(last.step));
    let first = this.distance + last.map_or(0, |last| last.distance);
    let ends = Run {
        first,
        width: width.min(p.saturating_sub(first)),
        stride: 0,
        times: 1,
        rest: 0,
    };
    // From one value of the higher digits to the next.
    let cycle = u64::from(radix.pow(this.step)) * u64::from(radix);
    let next = u64::from(first) + cycle;
    let (room, whole) = (u64::from(p).saturating_sub(next), u64::from(width));
    let times = match room.checked_sub(whole) {
        Some(rest) => rest / cycle + 1,
        None => 0,
    };
    let goes_on = Run {
        first: next.min(u64::from(p)) as u32,
        width,
        stride: cycle as u32,
        times: times as u32,
        rest: room.saturating_sub(times * cycle).min(whole) as u32,
    };
    (ends, goes_on)
}
