//! Readiness: which operation of a rank may run when, told which are done; the one place that says so.
//!
//! ```text
//! strand 0   step {a b} ──▶ repeat {c d} ──▶ step {e}      a and b start together, c when both are done;
//! strand 1   step {await strand 0 items 2} ──▶ …           d's iterations when what each waits for is done
//! ```
//!
//! - The items of a strand run one after another. The operations of a step start together, and it is over when all are done.
//! - In a repeat each operation goes through its iterations one by one ([`Pipeline::may_start`]); the repeat is over when each
//!   has been through all of them.
//! - Strands run side by side; an await is done when the strand that it names has been through so many items.
//! - An operation without bytes is left out, unless it is one that never has any ([`is_left_out`]).
//!
//! Nothing here moves data or knows what moves them. [`progress`](crate::progress) asks about plans, one operation at a time, as
//! engines are polled; a run that is told when an operation is done (symbolic, or one that walks a cost model) has a
//! [`StrandCursor`] for each strand of a schedule.

use super::Dependence;

mod strand;

pub(crate) use strand::{Next, StrandCursor};

/// How far a strand has come: so many items are over, and the next may have begun.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Place {
    /// The item at which it stands.
    pub(crate) item: u32,
    /// Whether that has begun.
    pub(crate) has_begun: bool,
}

impl Place {
    /// In front of an item.
    #[inline(always)]
    pub(crate) fn before(item: u32) -> Place {
        Place {
            item,
            has_begun: false,
        }
    }

    /// Whether an await for the first `items` items is over, where the first one of the strand is `first`.
    #[inline]
    pub(crate) fn has_passed(self, first: u32, items: u32) -> bool {
        self.item - first >= items
    }
}

/// Whether an operation of so many bytes is left out, at both ends of a message alike: both compute that it is empty. A token
/// (a message of no blocks, a notification, a wait) has none in any call, and is for that alone that it comes.
#[inline(always)]
pub(crate) fn is_left_out(bytes: u64, is_token: bool) -> bool {
    bytes == 0 && !is_token
}

/// An operation of a repeat's body, on its way through the iterations.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Lane {
    /// The iterations that are done.
    pub(crate) done: u32,
    /// Whether an iteration is under way.
    pub(crate) is_under_way: bool,
}

impl Lane {
    /// Ends the iteration that is under way.
    #[inline(always)]
    pub(crate) fn end(&mut self) {
        self.done += 1;
        self.is_under_way = false;
    }
}

/// A repeat: how often its body runs, how many iterations may be under way, and what each operation waits for.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Pipeline<'a> {
    pub(crate) times: u32,
    /// 0: any number of iterations.
    pub(crate) window: u32,
    /// How many iterations were over not long ago: what is over since makes room when that is asked again.
    pub(crate) over: u32,
    /// By operation of the body.
    pub(crate) waits: &'a [alloc::vec::Vec<Dependence>],
}

/// How many iterations are over of a body, if a window counts them: it may have very many operations.
#[inline]
pub(crate) fn over(window: u32, lanes: &[Lane]) -> u32 {
    let all = || lanes.iter().map(|lane| lane.done).min();
    (window > 0).then(all).flatten().unwrap_or(0)
}

impl Pipeline<'_> {
    /// Whether operation `at` of the body may start its next iteration: it has one, the one before is done, the window has room for
    /// it, and the iterations of other operations that it waits for are done. Of these, as many as `met` are known to be so, from
    /// the first on; it counts further, as what is done stays so and of very many none need be looked at again.
    #[inline(always)]
    pub(crate) fn may_start(self, lanes: &[Lane], at: usize, met: &mut usize) -> bool {
        let Lane { done, is_under_way } = lanes[at];
        if is_under_way || done == self.times || !self.has_room(done) {
            return false;
        }
        let is_met =
            |wait: &Dependence| done < wait.back || lanes[wait.op as usize].done > done - wait.back;
        let open = &self.waits[at][*met..];
        let unmet = open.iter().position(|wait| !is_met(wait));
        *met += unmet.unwrap_or(open.len());
        unmet.is_none()
    }

    /// Whether an iteration is near enough to the oldest one that is not over.
    #[inline]
    fn has_room(self, iteration: u32) -> bool {
        self.window == 0 || iteration < self.window || iteration - self.window < self.over
    }
}

#[cfg(test)]
mod tests;
