//! The line: how long two cores take to hand a cache line to and fro, which on a virtual machine changes while it runs.
//!
//! What a short message takes is a few of these trips, for every library, but not as many for each: two runs can be compared
//! cell by cell only where the trip took as long.

use crate::statistics::{median, quantile};
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Instant;

/// How often the line goes to and fro: a millisecond between cores that lie far from one another.
const TRIPS: u32 = 2000;

/// A word with its line, and the next one, to itself.
#[repr(align(128))]
struct Word(AtomicU32);

/// The trips that were measured.
#[derive(Debug, Default)]
pub struct Line {
    /// In nanoseconds, all of them.
    trips_ns: Vec<f64>,
    /// How many were there when the last cell began.
    begun: usize,
}

impl Line {
    /// Measures a trip now.
    pub fn measure(&mut self) {
        self.trips_ns.extend(round_trip_ns());
    }

    /// Begins a cell.
    pub fn begin(&mut self) {
        self.begun = self.trips_ns.len();
    }

    /// The median since the cell began, in nanoseconds; none where nothing was measured.
    pub fn median_ns(&self) -> Option<f64> {
        let since = &self.trips_ns[self.begun..];
        (!since.is_empty()).then(|| median(since))
    }

    /// What to tell the user.
    pub fn verdict(&self) -> String {
        let at = |q| quantile(&self.trips_ns, q);
        match self.trips_ns.len() {
            0 => "there are no two cores to hand a line to and fro".to_owned(),
            count => format!(
                "a line went to and fro between two cores in {:.0} ns (median of {count} turns; 5 % below {:.0}, 5 % above {:.0})",
                at(0.5),
                at(0.05),
                at(0.95)
            ),
        }
    }
}

/// How long a line takes to and fro between the first two of the cores that this process may use.
fn round_trip_ns() -> Option<f64> {
    let [here, there] = first_cores()?;
    let word = Word(AtomicU32::new(0));
    let begin = std::thread::scope(|scope| {
        let answer = || {
            pin(there);
            // Odd is for this side, even for the other.
            (0..TRIPS).for_each(|trip| hand_over(&word, 2 * trip + 1));
        };
        scope.spawn(answer);
        let ask = || {
            pin(here);
            hand_over(&word, 0);
            let begin = Instant::now();
            (1..TRIPS).for_each(|trip| hand_over(&word, 2 * trip));
            begin.elapsed()
        };
        // A thread of its own: the conductor's may run anywhere afterwards.
        scope.spawn(ask).join().ok()
    })?;
    Some(begin.as_nanos() as f64 / f64::from(TRIPS - 1))
}

/// Waits until the word has this value, and raises it.
fn hand_over(word: &Word, value: u32) {
    while word.0.load(Ordering::Acquire) != value {
        std::hint::spin_loop();
    }
    word.0.store(value + 1, Ordering::Release);
}

/// The first two cores that this process may use.
fn first_cores() -> Option<[usize; 2]> {
    // SAFETY: a set is plain bits, of which none is an empty one.
    let mut set: libc::cpu_set_t = unsafe { std::mem::zeroed() };
    // SAFETY: it writes into a set of the length it is told.
    let failed = unsafe { libc::sched_getaffinity(0, size_of::<libc::cpu_set_t>(), &mut set) };
    if failed != 0 {
        return None;
    }
    // SAFETY: below the number of cores that a set has room for.
    let is_allowed = |core: &usize| unsafe { libc::CPU_ISSET(*core, &set) };
    let mut cores = (0..libc::CPU_SETSIZE as usize).filter(is_allowed);
    Some([cores.next()?, cores.next()?])
}

/// Keeps this thread on a core; where the system does not want that, the trip is measured wherever it runs.
fn pin(core: usize) {
    // SAFETY: as above.
    let mut set: libc::cpu_set_t = unsafe { std::mem::zeroed() };
    // SAFETY: the core comes from a set of this type.
    unsafe { libc::CPU_SET(core, &mut set) };
    // SAFETY: it reads a set of the length it is told.
    unsafe { libc::sched_setaffinity(0, size_of::<libc::cpu_set_t>(), &set) };
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_trip_takes_longer_than_an_instruction_and_cells_begin_anew() {
        let mut line = Line::default();
        assert!(line.verdict().contains("no two cores"));
        line.measure();
        if first_cores().is_some() {
            assert!(line.median_ns().expect("measured") > 1.0);
            assert!(line.verdict().contains("median of 1 turns"));
        }
        line.begin();
        assert_eq!(line.median_ns(), None);
    }
}
