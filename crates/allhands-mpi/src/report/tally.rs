//! The tally: how many calls of one kind there were, and how long they took.

use std::sync::OnceLock;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Instant;

/// Calls, and their time.
#[derive(Debug)]
pub(crate) struct Count {
    calls: AtomicU64,
    nanoseconds: AtomicU64,
}

impl Count {
    /// None yet.
    pub(crate) const fn new() -> Count {
        Count {
            calls: AtomicU64::new(0),
            nanoseconds: AtomicU64::new(0),
        }
    }

    /// Counts a call; exactly also where several threads do.
    #[inline]
    pub(crate) fn add(&self, since: Option<Instant>, exactly: bool) {
        add(&self.calls, 1, exactly);
        if let Some(since) = since {
            add(
                &self.nanoseconds,
                since.elapsed().as_nanos() as u64,
                exactly,
            );
        }
    }

    /// The calls and their seconds, if there were any.
    pub(crate) fn read(&self) -> Option<(u64, f64)> {
        let calls = self.calls.load(Ordering::Relaxed);
        let time = self.nanoseconds.load(Ordering::Relaxed);
        (calls > 0).then_some((calls, time as f64 * 1e-9))
    }
}

#[inline]
fn add(count: &AtomicU64, more: u64, exactly: bool) {
    match exactly {
        true => {
            count.fetch_add(more, Ordering::Relaxed);
        }
        // A locked instruction would wait until the call's last message has gone to the other core.
        false => count.store(count.load(Ordering::Relaxed) + more, Ordering::Relaxed),
    }
}

/// The calls of one kind and class of sizes that one algorithm served.
#[derive(Debug)]
pub(crate) struct Tally {
    /// With its parameters; `None`: it was not known when the call was counted.
    pub(crate) algorithm: Option<String>,
    count: Count,
    /// How many of them the native MPI made, too.
    verified: AtomicU64,
    next: Tallies,
}

impl Tally {
    /// Counts a call.
    #[inline]
    pub(crate) fn add(&self, verified: bool, since: Option<Instant>, exactly: bool) {
        self.count.add(since, exactly);
        if verified {
            add(&self.verified, 1, exactly);
        }
    }

    /// The calls and their seconds, if there were any.
    pub(crate) fn read(&self) -> Option<(u64, f64)> {
        self.count.read()
    }

    /// How many of the calls the native MPI made, too.
    pub(crate) fn verified(&self) -> u64 {
        self.verified.load(Ordering::Relaxed)
    }
}

/// A tally for each algorithm, of which there are few; one is never taken away, so that who has found it keeps it.
#[derive(Debug)]
pub(crate) struct Tallies(OnceLock<Box<Tally>>);

impl Tallies {
    /// None yet.
    pub(crate) const fn new() -> Tallies {
        Tallies(OnceLock::new())
    }

    /// The one of an algorithm.
    pub(crate) fn of(&self, algorithm: Option<String>) -> &Tally {
        let mut tallies = self;
        loop {
            let tally = tallies.0.get_or_init(|| {
                Box::new(Tally {
                    algorithm: algorithm.clone(),
                    count: Count::new(),
                    verified: AtomicU64::new(0),
                    next: Tallies::new(),
                })
            });
            if tally.algorithm == algorithm {
                return tally;
            }
            tallies = &tally.next;
        }
    }

    /// All of them.
    pub(crate) fn all(&self) -> impl Iterator<Item = &Tally> {
        std::iter::successors(self.0.get(), |tally| tally.next.0.get()).map(|tally| &**tally)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_algorithm_has_one_tally() {
        let tallies = Tallies::new();
        for algorithm in ["ring", "binomial", "ring"] {
            tallies
                .of(Some(algorithm.into()))
                .add(algorithm == "ring", None, true);
        }
        tallies.of(None).add(false, Some(Instant::now()), false);
        let all: Vec<_> = tallies.all().collect();
        let calls: Vec<_> = all.iter().map(|t| t.read().map(|read| read.0)).collect();
        assert_eq!(calls, [Some(2), Some(1), Some(1)]);
        assert_eq!(all[0].verified(), 2);
        assert_eq!(all[1].algorithm.as_deref(), Some("binomial"));
    }
}
