//! The cursor of one strand of a schedule, for a run that is told when operations are done.

use super::super::{Dependence, Item};
use super::{Lane, Pipeline, Place, over};
use alloc::vec;
use alloc::vec::Vec;
use core::ops::Range;

/// What a strand does next.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Next {
    /// A step begins: these operations start.
    Step(Range<u32>),
    /// A repeat begins, whose body has so many operations.
    Repeat(usize),
    /// Operation `at` of the body of the present repeat starts this iteration.
    Iteration { at: u32, iteration: u32 },
    /// This item is over.
    Over(usize),
    /// Nothing, until an operation is done.
    Wait,
    /// Nothing any more.
    End,
}

/// What a lane waits for, and who waits for it.
#[derive(Clone, Debug, Default)]
struct Waiting {
    /// How many of its next iteration's waits, from the first on, are known to be over.
    met: usize,
    /// The lanes that wait for it.
    others: Vec<u32>,
}

/// Where a strand stands.
#[derive(Clone, Debug, Default)]
pub(crate) struct StrandCursor {
    place: Place,
    /// Operations of the present step that are not done; lanes of the present repeat that have not been through all iterations.
    open: usize,
    /// How often the present repeat runs, and whether it has a window.
    times: u32,
    has_window: bool,
    lanes: Vec<Lane>,
    waiting: Vec<Waiting>,
    to_try: ToTry,
}

impl StrandCursor {
    /// The item at which it stands: so many are over.
    pub(crate) fn item(&self) -> usize {
        self.place.item as usize
    }

    /// Whether an await for the first `items` items is over.
    pub(crate) fn has_passed(&self, items: u32) -> bool {
        self.place.has_passed(0, items)
    }

    /// Goes one further along `items`, the strand's, and says how.
    pub(crate) fn next(&mut self, items: &[Item]) -> Next {
        let Some(item) = items.get(self.item()) else {
            return Next::End;
        };
        if !self.place.has_begun {
            self.place.has_begun = true;
            return self.begin(item);
        }
        if let Some((at, iteration)) = self.iteration(item) {
            return Next::Iteration { at, iteration };
        }
        if self.open > 0 {
            return Next::Wait;
        }
        let over = self.item();
        self.place = Place::before(over as u32 + 1);
        Next::Over(over)
    }

    fn begin(&mut self, item: &Item) -> Next {
        match item {
            Item::Step { start, end } => {
                self.open = item.ops().len();
                Next::Step(*start..*end)
            }
            Item::Repeat {
                times,
                window,
                waits,
                ..
            } => {
                self.begin_repeat([*times, *window], waits);
                Next::Repeat(waits.len())
            }
        }
    }

    fn begin_repeat(&mut self, [times, window]: [u32; 2], waits: &[Vec<Dependence>]) {
        let lanes = waits.len();
        (self.times, self.has_window) = (times, window > 0);
        self.open = if times > 0 { lanes } else { 0 };
        self.lanes = vec![Lane::default(); lanes];
        self.waiting = vec![Waiting::default(); lanes];
        for (at, waits) in (0..).zip(waits) {
            for wait in waits {
                self.waiting[wait.op as usize].others.push(at);
            }
        }
        self.to_try = ToTry::all(lanes);
    }

    /// The next lane, in the order of the body, that may start, and its iteration, which is under way from now on.
    fn iteration(&mut self, item: &Item) -> Option<(u32, u32)> {
        let Item::Repeat {
            times,
            window,
            waits,
            ..
        } = item
        else {
            return None;
        };
        let pipeline = Pipeline {
            times: *times,
            window: *window,
            over: over(*window, &self.lanes),
            waits,
        };
        while let Some(at) = self.to_try.pop() {
            let met = &mut self.waiting[at].met;
            if pipeline.may_start(&self.lanes, at, met) {
                *met = 0;
                self.lanes[at].is_under_way = true;
                return Some((at as u32, self.lanes[at].done));
            }
        }
        None
    }

    /// An operation of the present item is done, in a repeat the iteration of this lane; says whether the strand has to be asked
    /// what it does next.
    pub(crate) fn done(&mut self, lane: Option<u32>) -> bool {
        let Some(at) = lane else {
            self.open -= 1;
            return self.open == 0;
        };
        let lane = &mut self.lanes[at as usize];
        lane.end();
        self.open -= usize::from(lane.done == self.times);
        // The lane may go on, and so may those that wait for it: in a window, which may move on, any.
        match self.has_window {
            true => self.to_try.fill(self.lanes.len()),
            false => {
                self.to_try.push(at as usize);
                let others = &self.waiting[at as usize].others;
                others.iter().for_each(|at| self.to_try.push(*at as usize));
            }
        }
        true
    }
}

/// The lanes that may start now and could not before: a set, as a body may have very many, of which few are told of at once.
#[derive(Clone, Debug, Default)]
struct ToTry {
    words: Vec<u64>,
    /// All words before this one are zero.
    first: usize,
}

impl ToTry {
    fn all(lanes: usize) -> ToTry {
        let mut all = ToTry::default();
        all.fill(lanes);
        all
    }

    /// Puts in all of so many lanes.
    fn fill(&mut self, lanes: usize) {
        self.words.clear();
        self.words.resize(lanes.div_ceil(64), u64::MAX);
        if let Some(last) = self.words.last_mut().filter(|_| !lanes.is_multiple_of(64)) {
            *last = (1 << (lanes % 64)) - 1;
        }
        self.first = 0;
    }

    fn push(&mut self, lane: usize) {
        self.words[lane / 64] |= 1 << (lane % 64);
        self.first = self.first.min(lane / 64);
    }

    /// Takes the first one.
    fn pop(&mut self) -> Option<usize> {
        while let Some(word) = self.words.get_mut(self.first) {
            if *word != 0 {
                let bit = word.trailing_zeros() as usize;
                *word &= *word - 1;
                return Some(self.first * 64 + bit);
            }
            self.first += 1;
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lanes_that_may_start_are_told_once_and_in_order() {
        for lanes in [0, 1, 63, 64, 65, 200] {
            let mut all = ToTry::all(lanes);
            let order: Vec<usize> = core::iter::from_fn(|| all.pop()).collect();
            assert_eq!(order, (0..lanes).collect::<Vec<_>>());
        }
        let mut some = ToTry::all(130);
        while some.pop().is_some() {}
        [129, 3, 70, 3].iter().for_each(|lane| some.push(*lane));
        let order: Vec<usize> = core::iter::from_fn(|| some.pop()).collect();
        assert_eq!(order, vec![3, 70, 129]);
    }
}
