//! Manners: the ways in which a long message comes to its receiver, and which of them takes least, here and now.
//!
//! The lines of a stage go to its reader and back. Either both make them their own before they write there: the sender claims
//! the lines of the piece that comes next, the reader [takes over](crate::transport::shm::memory::iovec::take_over) what it has read. Or neither does, and
//! copies are left to the string moves of the processor, some of which write whole lines without fetching them. And what does
//! not fit a core's own cache may be better read from the sender's memory. Which takes least is a matter of the processor,
//! of its caches, and of how far apart the cores are, which in a virtual machine changes while a program runs: on one processor
//! lines take a third of what strings do where cores are far apart, on another strings take a quarter less where they are near. So
//! the reader of a thousand messages tries each on a few and keeps to the best. The first of these few count nothing: the caches
//! still hold what the manner before has left there, and a stage that is new is not yet mapped.
//!
//! ```text
//!  message  0 ··· 7     8 ····· 15     16 ······································ 1023
//!           by lines    by strings     the one whose middle time was least, untimed
//! ```

use crate::transport::shm::protocol::send_descriptors::{LONG_STAGE_MOST, STAGE_MOST};
use crate::transport::shm::queue::ring::MEDIUM_BYTES;
use std::time::Instant;

/// How a long message comes to its receiver.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub(crate) enum Manner {
    /// By way of a stage whose lines are claimed, and taken over.
    Lines = 1,
    /// By way of a stage whose lines are left to the processor.
    Strings,
    /// Read from the sender's memory.
    Direct,
}

/// The manners of messages that are staged in any case.
const SHORT: &[Manner] = &[Manner::Lines, Manner::Strings];
/// The manners of longer ones, the first of which needs no stage: a call that is made once touches none.
const LONG: &[Manner] = &[Manner::Direct, Manner::Lines, Manner::Strings];

/// Messages after which all are tried again: what the trial costs is then little.
const PERIOD: usize = 1024;

/// Longer messages that come before the first trial: a stage that is new is mapped page by page, which takes as long as ten of
/// them, and few programs that send some megabytes send them more often than this.
const LATE: usize = 128;

/// Messages on which each is tried.
const TRIED: usize = 8;

/// The last of them, which count.
const COUNTED: usize = 4;

/// The fewest times of each from which one is chosen.
const SAMPLES_LEAST: usize = 3;

/// Lengths, by powers of two, that are tried by themselves, from [`MEDIUM_BYTES`] to [`LONG_STAGE_MOST`].
const LENGTHS: usize = (LONG_STAGE_MOST / MEDIUM_BYTES).ilog2() as usize;

/// What a rank knows of the long messages that one other sends to it.
#[derive(Clone, Debug)]
pub(crate) struct Manners {
    /// By length; those that are copied, and those that are combined.
    trials: [[Trial; 2]; LENGTHS],
}

/// What is known of messages of about one length.
#[derive(Clone, Debug)]
struct Trial {
    manners: &'static [Manner],
    /// How many messages have come in this period.
    message: usize,
    chosen: Manner,
    /// Of each manner.
    times: [Times; LONG.len()],
}

/// The times of the last messages of a manner.
#[derive(Clone, Copy, Debug, Default)]
struct Times {
    all_ns: [u64; COUNTED],
    /// Of all.
    count: usize,
}

/// A message under way.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Timed {
    place: (usize, usize),
    /// The manner that is wanted.
    pub(crate) manner: Manner,
    /// When it began, if its time counts.
    begun: Option<Instant>,
}

impl Timed {
    /// Whether its time counts.
    pub(crate) fn counts(self) -> bool {
        self.begun.is_some()
    }
}

impl Manner {
    /// What stands for a manner in a word; 0 for none.
    pub(crate) fn word(manner: Option<Manner>) -> u64 {
        manner.map_or(0, |manner| manner as u64)
    }

    /// The manner that a word stands for.
    pub(crate) fn of_word(word: u64) -> Option<Manner> {
        LONG.iter().copied().find(|manner| *manner as u64 == word)
    }
}

impl Default for Manners {
    fn default() -> Manners {
        let of = |length| {
            let is_long = MEDIUM_BYTES << length >= STAGE_MOST;
            let trial = Trial::new(if is_long { LONG } else { SHORT });
            [trial.clone(), trial]
        };
        Manners {
            trials: std::array::from_fn(of),
        }
    }
}

impl Manners {
    /// The manner that is wanted of the next message, of so many bytes, which is combined or not. It comes `staged` or not, and
    /// the one before it was wanted in the manner `last`: what that one has left is part of what this one takes. None
    /// for lengths that come in one manner alone.
    pub(crate) fn begin(
        &mut self,
        (bytes, combined): (usize, bool),
        staged: bool,
        last: Option<Manner>,
    ) -> Option<Timed> {
        if !(MEDIUM_BYTES + 1..=LONG_STAGE_MOST).contains(&bytes) {
            return None;
        }
        let length = ((bytes - 1) / MEDIUM_BYTES).ilog2() as usize;
        let place = (length, usize::from(combined));
        let (manner, tries) = self.trials[place.0][place.1].next();
        let as_wanted = last == Some(manner) && staged == (manner != Manner::Direct);
        Some(Timed {
            place,
            manner,
            begun: (tries && as_wanted).then(Instant::now),
        })
    }

    /// Notes that the message has been read.
    pub(crate) fn end(&mut self, timed: Timed) {
        if let Some(begun) = timed.begun {
            let (length, combined) = timed.place;
            let time_ns = begun.elapsed().as_nanos() as u64;
            self.trials[length][combined].note(timed.manner, time_ns);
        }
    }
}

impl Trial {
    fn new(manners: &'static [Manner]) -> Trial {
        let is_late = manners[0] == Manner::Direct;
        Trial {
            manners,
            message: if is_late { PERIOD - LATE } else { 0 },
            chosen: manners[0],
            times: [Times::default(); LONG.len()],
        }
    }

    /// The manner of the next message, and whether it is one on which a manner is tried.
    fn next(&mut self) -> (Manner, bool) {
        let message = self.message;
        self.message = (message + 1) % PERIOD;
        if let Some(manner) = self.manners.get(message / TRIED) {
            return (*manner, true);
        }
        if message == self.manners.len() * TRIED {
            self.choose();
        }
        (self.chosen, false)
    }

    fn note(&mut self, manner: Manner, time_ns: u64) {
        self.times[manner as usize - 1].note(time_ns);
    }

    /// Chooses for the rest of the period, among those of which there are times enough.
    fn choose(&mut self) {
        let times = std::mem::take(&mut self.times);
        let middle_ns = |manner: &Manner| {
            let middle_ns = times[*manner as usize - 1].middle_ns()?;
            Some((middle_ns, *manner))
        };
        let known = self.manners.iter().filter_map(middle_ns);
        if let Some((_, manner)) = known.min_by_key(|(middle_ns, _)| *middle_ns) {
            self.chosen = manner;
        }
    }
}

impl Times {
    fn note(&mut self, time_ns: u64) {
        self.all_ns[self.count % COUNTED] = time_ns;
        self.count += 1;
    }

    fn middle_ns(mut self) -> Option<u64> {
        let count = self.count.min(COUNTED);
        let all = &mut self.all_ns[..count];
        all.sort_unstable();
        (count >= SAMPLES_LEAST).then(|| all[count / 2])
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    /// The manners of a period's messages whose times are given, on one stage.
    fn period(trial: &mut Trial, time_ns: impl Fn(Manner) -> u64) -> Vec<Manner> {
        let mut last = None;
        let one = |_| {
            let (manner, tries) = trial.next();
            if tries && last == Some(manner) {
                trial.note(manner, time_ns(manner));
            }
            last = Some(manner);
            manner
        };
        (0..PERIOD).map(one).collect()
    }

    #[test]
    fn the_best_is_kept_until_another_is() {
        for manners in [SHORT, LONG] {
            let mut trial = Trial::new(manners);
            while trial.message > 0 {
                assert_eq!(trial.next(), (Manner::Direct, false));
            }
            for best in [manners, manners].concat() {
                let all = period(&mut trial, |manner| 20 - u64::from(manner == best));
                let (tried, rest) = all.split_at(manners.len() * TRIED);
                for manner in manners {
                    assert_eq!(tried.iter().filter(|m| *m == manner).count(), TRIED);
                }
                assert!(rest.iter().all(|manner| *manner == best), "{best:?}");
            }
        }
    }

    #[test]
    fn without_times_the_choice_stays() {
        let mut trial = Trial::new(LONG);
        (0..LATE + PERIOD).for_each(|_| _ = trial.next());
        assert_eq!(trial.chosen, Manner::Direct);
        // A sender that has no room for a stage: of the others there are no times.
        (0..TRIED).for_each(|_| trial.note(Manner::Direct, 1000));
        (0..PERIOD).for_each(|_| _ = trial.next());
        assert_eq!(trial.chosen, Manner::Direct);
    }

    #[test]
    fn one_slow_message_decides_nothing() {
        let mut times = Times::default();
        for time_ns in [10, 10_000, 11, 12] {
            times.note(time_ns);
        }
        assert_eq!(times.middle_ns(), Some(12));
        for time_ns in [7, 8, 7] {
            times.note(time_ns);
        }
        assert_eq!(times.middle_ns(), Some(8), "the first are left out");
    }

    #[test]
    fn every_length_that_may_be_staged_has_its_trial() {
        let mut manners = Manners::default();
        let first = |manners: &mut Manners, bytes| {
            let timed = manners.begin((bytes, false), true, None);
            timed
                .inspect(|timed| manners.end(*timed))
                .map(|timed| timed.manner)
        };
        for (bytes, manner) in [
            (0, None),
            (MEDIUM_BYTES, None),
            (MEDIUM_BYTES + 1, Some(Manner::Lines)),
            (STAGE_MOST, Some(Manner::Lines)),
            (STAGE_MOST + 1, Some(Manner::Direct)),
            (LONG_STAGE_MOST, Some(Manner::Direct)),
            (LONG_STAGE_MOST + 1, None),
            (usize::MAX, None),
        ] {
            assert_eq!(first(&mut manners, bytes), manner, "{bytes}");
        }
    }

    #[test]
    fn a_word_stands_for_a_manner() {
        for manner in [
            None,
            Some(Manner::Lines),
            Some(Manner::Strings),
            Some(Manner::Direct),
        ] {
            assert_eq!(Manner::of_word(Manner::word(manner)), manner);
        }
        assert_eq!(Manner::of_word(77), None);
    }
}
