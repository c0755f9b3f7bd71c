//! The copies: how this machine's cores copy memory that is in nobody's cache, as two of them have measured it at the same time.
//!
//! Such a copy waits for lines of both sides. The library's copy leaves them to the processor, which on some does well and on others asks
//! for the lines to be written only as it comes to them: on a Cascade Lake a broadcast of 4 MB by eight ranks on two cores takes 3.3 ms
//! so, and 2.5 ms where both sides are asked for ahead.

use super::{GAIN_LEAST, TIME_MOST_US};
use crate::operator::Max;
use crate::transport::shm::memory::copy::{self, Distance};
use crate::{Communicator, Error, operation};
use std::time::{Duration, Instant};

/// The rounds in which both ways are measured, one after the other.
const ROUNDS: usize = 2;

/// Pairs of buffers that are copied in turn: all together are not in the caches when their turn comes.
const PAIRS: usize = 8;

/// The bytes of a copy.
const BYTES: usize = 1 << 20;

/// The bit of what is still to be measured that stands for this.
pub(super) const LACKS_COPIES: u64 = 1 << 63;

/// How a line begins that says how such copies are made.
pub(super) const COPY: &str = "copy";
const LIBRARY: &str = "library";
const AHEAD: &str = "ahead";

/// How copies of memory in nobody's cache are made.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Copies {
    /// The middle times of 1 MB in microseconds by the library and with both sides asked for ahead.
    pub us: [f64; 2],
    /// Whether both sides are asked for ahead.
    pub ahead: bool,
}

impl Copies {
    /// As `copy ahead library=222.400 ahead=142.000`.
    pub(super) fn line(&self) -> String {
        let [library, ahead] = self.us;
        let chosen = if self.ahead { AHEAD } else { LIBRARY };
        format!("{COPY} {chosen} {LIBRARY}={library:.3} {AHEAD}={ahead:.3}\n")
    }

    /// What a line says that begins so.
    pub(super) fn parse(line: &str) -> Option<Copies> {
        let mut words = line.strip_prefix(COPY)?.strip_prefix(' ')?.split(' ');
        let ahead = match words.next()? {
            AHEAD => true,
            LIBRARY => false,
            _ => return None,
        };
        let mut time = |name: &str| {
            let us = words.next()?.strip_prefix(name)?.strip_prefix('=')?;
            let us: f64 = us.parse().ok()?;
            (0.0..=TIME_MOST_US).contains(&us).then_some(us)
        };
        let us = [time(LIBRARY)?, time(AHEAD)?];
        words.next().is_none().then_some(Copies { us, ahead })
    }

    /// What follows from the times of each round: the library unless both say that the other way gains.
    fn of(rounds: [[f64; 2]; ROUNDS]) -> Copies {
        let gains = |[library, ahead]: &[f64; 2]| ahead * GAIN_LEAST < *library;
        let [one, other] = rounds;
        Copies {
            us: [0, 1].map(|way: usize| one[way].min(other[way])),
            ahead: rounds.iter().all(gains),
        }
    }
}

/// Measures with the ranks of `comm`, all of which call this and copy at the same time; nothing is found out where that takes longer
/// than `budget`. How copies are made is afterwards as it was.
pub(super) fn measure(comm: &Communicator, budget: Duration) -> Result<Option<Copies>, Error> {
    let before = copy::asks_both_ahead();
    let rounds = rounds(comm, budget);
    copy::ask_both_ahead(before);
    Ok(rounds?.map(Copies::of))
}

/// The times of each round, by the library and with both sides asked for ahead.
fn rounds(comm: &Communicator, budget: Duration) -> Result<Option<[[f64; 2]; ROUNDS]>, Error> {
    let since = Instant::now();
    let [from, mut into] = [1_u8, 2].map(|byte| vec![byte; PAIRS * BYTES]);
    let mut rounds = [[0.0; 2]; ROUNDS];
    for round in &mut rounds {
        for (time_us, ahead) in round.iter_mut().zip([false, true]) {
            copy::ask_both_ahead(ahead);
            let mut times_ns = Vec::new();
            for (from, into) in from.chunks(BYTES).zip(into.chunks_mut(BYTES)) {
                comm.barrier()?;
                let begun = Instant::now();
                // SAFETY: both have as many bytes, and are nobody else's.
                unsafe { Distance::Cold.copy(from.as_ptr(), into.as_mut_ptr(), BYTES) };
                times_ns.push(begun.elapsed().as_nanos() as u64);
            }
            // Both ranks go by the later one's clock.
            times_ns.push(since.elapsed().as_nanos() as u64);
            let mut later_ns = [0; PAIRS + 1];
            comm.run(operation::allreduce(&times_ns, &mut later_ns, &Max))?;
            let [times_ns @ .., elapsed_ns] = &mut later_ns;
            if Duration::from_nanos(*elapsed_ns) > budget {
                return Ok(None);
            }
            times_ns.sort_unstable();
            *time_us = times_ns[PAIRS / 2] as f64 / 1e3;
        }
    }
    std::hint::black_box(&into);
    Ok(Some(rounds))
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    #[test]
    fn what_gains_in_both_rounds_is_chosen() {
        let of = |one, other| Copies::of([[222.0, one], [222.0, other]]).ahead;
        assert!(of(142.0, 200.0));
        assert!(!of(142.0, 220.0) && !of(220.0, 142.0) && !of(220.0, 220.0));
    }

    #[test]
    fn a_line_is_read_as_it_was_written() {
        for ahead in [false, true] {
            let copies = Copies {
                us: [222.25, 142.125],
                ahead,
            };
            let line = copies.line();
            assert_eq!(Copies::parse(line.trim_end()), Some(copies));
            for (from, to) in [
                ("copy ", "copies "),
                ("=222.250", "=-1"),
                ("=222.250", "=NaN"),
                ("library=", "bounce="),
                ("142.125", "142.125 more"),
            ] {
                let other = line.trim_end().replacen(from, to, 1);
                assert_eq!(Copies::parse(&other), None, "{other}");
            }
        }
    }

    #[test]
    fn what_takes_longer_than_its_budget_finds_out_nothing() {
        for (budget, finds) in [(Duration::MAX, true), (Duration::ZERO, false)] {
            let found = crate::threads::run(2, |comm| measure(&comm, budget).unwrap());
            for copies in found.unwrap() {
                assert_eq!(copies.is_some(), finds);
                assert!(copies.is_none_or(|copies| copies.us.iter().all(|us| *us > 0.0)));
            }
        }
    }
}
