//! The times of calls on a paper's testbed, each simulated once.

use allhands_core::call::Collective;
use std::cell::RefCell;
use std::collections::BTreeMap;

/// Which machine, or part of one, a call is on.
pub trait On: Copy + Ord {
    /// Its name in a row.
    fn name(self) -> &'static str;
}

/// A call: on which machine, which, and among how many ranks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Place<O> {
    pub on: O,
    pub collective: Collective,
    pub ranks: u32,
    /// The size as the paper counts it.
    pub bytes: u64,
}

/// Machines on which algorithms are timed.
pub trait Testbed<O> {
    /// The time of an algorithm as it is typed, in microseconds.
    ///
    /// # Errors
    /// If there is no such algorithm, or it does not serve the call.
    fn time_us(&self, place: Place<O>, algorithm: &'static str) -> anyhow::Result<f64>;
}

/// What was timed already: the place, and the algorithm as it is typed.
pub struct Times<O>(RefCell<BTreeMap<(Place<O>, &'static str), f64>>);

impl<O> Default for Times<O> {
    fn default() -> Times<O> {
        Times(RefCell::default())
    }
}

impl<O: On> Times<O> {
    /// What is known, or what `timed` gives, in microseconds.
    ///
    /// # Errors
    /// That of `timed`.
    pub fn or_else(
        &self,
        (place, algorithm): (Place<O>, &'static str),
        timed: impl FnOnce() -> anyhow::Result<f64>,
    ) -> anyhow::Result<f64> {
        let known = self.0.borrow().get(&(place, algorithm)).copied();
        if let Some(us) = known {
            return Ok(us);
        }
        let us = timed()?;
        self.0.borrow_mut().insert((place, algorithm), us);
        Ok(us)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    impl On for () {
        fn name(self) -> &'static str {
            "nowhere"
        }
    }

    #[test]
    fn what_is_known_is_not_timed_again() {
        let place = |ranks| Place {
            on: (),
            collective: Collective::Barrier,
            ranks,
            bytes: 0,
        };
        let times = Times::default();
        let timed = |ranks, us: f64| times.or_else((place(ranks), "direct"), || Ok(us)).ok();
        assert_eq!(timed(2, 1.0), Some(1.0));
        assert_eq!(timed(2, 5.0), Some(1.0));
        assert_eq!(timed(3, 5.0), Some(5.0));
        let failed = times.or_else((place(4), "direct"), || anyhow::bail!("no"));
        assert!(failed.is_err() && timed(4, 2.0) == Some(2.0));
    }
}
