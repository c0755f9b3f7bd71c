//! Copy protocols: the ways in which a long message comes to its receiver, and which of them takes least, here and now.
//!
//! The lines of a bounce buffer go to its reader and back. Either both make them their own before they write there: the sender claims
//! the lines of the piece that comes next, the reader [claims for writing](crate::transport::shm::memory::iovec::claim_for_write) what it has read. Or neither does, and
//! copies are left to the string moves of the processor, some of which write whole lines without fetching them. And what does
//! not fit a core's own cache may be better read from the sender's memory. Which takes least is a matter of the processor,
//! of its caches, and of how far apart the cores are, which in a virtual machine changes while a program iovecs: on one processor
//! lines take a third of what strings do where cores are far apart, on another strings take a quarter less where they are near. So
//! the reader of a thousand messages tries each on a few and keeps to the best. The first of these few count nothing: the caches
//! still hold what the copy protocol before has left there, and a bounce buffer that is new is not yet mapped.
//!
//! ```text
//!  message  0 ··· 7     8 ····· 15     16 ······································ 1023
//!           by lines    by strings     the one whose middle time was least, untimed
//! ```

use crate::transport::shm::queue::ring::MEDIUM_BYTES;
use crate::transport::shm::tuning::{
    BOUNCE_MOST, LONG_BOUNCE_MOST, TRIAL_COUNTED, TRIAL_LATE, TRIAL_PERIOD, TRIAL_SAMPLES_LEAST,
    TRIAL_TRIED,
};
use std::time::Instant;

/// How a long message comes to its receiver.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub(crate) enum CopyProtocol {
    /// By way of a bounce buffer whose lines are claimed by its writer, and then by its reader.
    Lines = 1,
    /// By way of a bounce buffer whose lines are left to the processor.
    Strings,
    /// Read from the sender's memory.
    Direct,
}

/// The copy protocols of messages that are bounced at first.
const SHORT: &[CopyProtocol] = &[
    CopyProtocol::Lines,
    CopyProtocol::Strings,
    CopyProtocol::Direct,
];
/// The copy protocols of longer ones, the first of which needs no bounce buffer: a call that is made once touches none.
const LONG: &[CopyProtocol] = &[
    CopyProtocol::Direct,
    CopyProtocol::Lines,
    CopyProtocol::Strings,
];

/// Lengths, by powers of two, that are tried by themselves, from [`MEDIUM_BYTES`] to [`LONG_BOUNCE_MOST`].
const LENGTHS: usize = (LONG_BOUNCE_MOST / MEDIUM_BYTES).ilog2() as usize;

/// What a rank knows of the long messages that one other sends to it.
#[derive(Clone, Debug)]
pub(crate) struct CopyProtocols {
    /// By length; those that are copied, and those that are combined.
    trials: [[Trial; 2]; LENGTHS],
}

/// What is known of messages of about one length.
#[derive(Clone, Debug)]
struct Trial {
    protocols: &'static [CopyProtocol],
    /// How many messages have come in this period.
    message: usize,
    chosen: CopyProtocol,
    /// Of each copy protocol.
    times: [Times; LONG.len()],
}

/// The times of the last messages of a copy protocol.
#[derive(Clone, Copy, Debug, Default)]
struct Times {
    all_ns: [u64; TRIAL_COUNTED],
    /// Of all.
    count: usize,
}

/// A message under way.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Timed {
    place: (usize, usize),
    /// The copy protocol that is wanted.
    pub(crate) protocol: CopyProtocol,
    /// When it began, if its time counts.
    begun: Option<Instant>,
}

impl Timed {
    /// Whether its time counts.
    pub(crate) fn counts(self) -> bool {
        self.begun.is_some()
    }
}

impl CopyProtocol {
    /// What stands for a copy protocol in a word; 0 for none.
    pub(crate) fn word(protocol: Option<CopyProtocol>) -> u64 {
        protocol.map_or(0, |protocol| protocol as u64)
    }

    /// The copy protocol that a word stands for.
    pub(crate) fn of_word(word: u64) -> Option<CopyProtocol> {
        LONG.iter()
            .copied()
            .find(|protocol| *protocol as u64 == word)
    }
}

impl Default for CopyProtocols {
    fn default() -> CopyProtocols {
        let of = |length| {
            let is_long = MEDIUM_BYTES << length >= BOUNCE_MOST;
            let trial = Trial::new(if is_long { LONG } else { SHORT });
            [trial.clone(), trial]
        };
        CopyProtocols {
            trials: std::array::from_fn(of),
        }
    }
}

impl CopyProtocols {
    /// The copy protocol that is wanted of the next message, of so many bytes, which is combined or not. It comes `bounced` or not, and
    /// the one before it was wanted in the copy protocol `last`: what that one has left is part of what this one takes. None
    /// for lengths that come in one copy protocol alone.
    pub(crate) fn begin(
        &mut self,
        (bytes, combined): (usize, bool),
        bounced: bool,
        last: Option<CopyProtocol>,
    ) -> Option<Timed> {
        if !(MEDIUM_BYTES + 1..=LONG_BOUNCE_MOST).contains(&bytes) {
            return None;
        }
        let length = ((bytes - 1) / MEDIUM_BYTES).ilog2() as usize;
        let place = (length, usize::from(combined));
        let (protocol, tries) = self.trials[place.0][place.1].next();
        let as_wanted = last == Some(protocol) && bounced == (protocol != CopyProtocol::Direct);
        Some(Timed {
            place,
            protocol,
            begun: (tries && as_wanted).then(Instant::now),
        })
    }

    /// Notes that the message has been read.
    pub(crate) fn end(&mut self, timed: Timed) {
        if let Some(begun) = timed.begun {
            let (length, combined) = timed.place;
            let time_ns = begun.elapsed().as_nanos() as u64;
            self.trials[length][combined].note(timed.protocol, time_ns);
        }
    }
}

impl Trial {
    fn new(protocols: &'static [CopyProtocol]) -> Trial {
        let is_late = protocols[0] == CopyProtocol::Direct;
        Trial {
            protocols,
            message: if is_late {
                TRIAL_PERIOD - TRIAL_LATE
            } else {
                0
            },
            chosen: protocols[0],
            times: [Times::default(); LONG.len()],
        }
    }

    /// The copy protocol of the next message, and whether it is one on which a copy protocol is tried.
    fn next(&mut self) -> (CopyProtocol, bool) {
        let message = self.message;
        self.message = (message + 1) % TRIAL_PERIOD;
        if let Some(protocol) = self.protocols.get(message / TRIAL_TRIED) {
            return (*protocol, true);
        }
        if message == self.protocols.len() * TRIAL_TRIED {
            self.choose();
        }
        (self.chosen, false)
    }

    fn note(&mut self, protocol: CopyProtocol, time_ns: u64) {
        self.times[protocol as usize - 1].note(time_ns);
    }

    /// Chooses for the rest of the period, among those of which there are times enough.
    fn choose(&mut self) {
        let times = std::mem::take(&mut self.times);
        let middle_ns = |protocol: &CopyProtocol| {
            let middle_ns = times[*protocol as usize - 1].middle_ns()?;
            Some((middle_ns, *protocol))
        };
        let known = self.protocols.iter().filter_map(middle_ns);
        if let Some((_, protocol)) = known.min_by_key(|(middle_ns, _)| *middle_ns) {
            self.chosen = protocol;
        }
    }
}

impl Times {
    fn note(&mut self, time_ns: u64) {
        self.all_ns[self.count % TRIAL_COUNTED] = time_ns;
        self.count += 1;
    }

    fn middle_ns(mut self) -> Option<u64> {
        let count = self.count.min(TRIAL_COUNTED);
        let all = &mut self.all_ns[..count];
        all.sort_unstable();
        (count >= TRIAL_SAMPLES_LEAST).then(|| all[count / 2])
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    /// The copy protocols of a period's messages whose times are given, in one bounce buffer.
    fn period(trial: &mut Trial, time_ns: impl Fn(CopyProtocol) -> u64) -> Vec<CopyProtocol> {
        let mut last = None;
        let one = |_| {
            let (protocol, tries) = trial.next();
            if tries && last == Some(protocol) {
                trial.note(protocol, time_ns(protocol));
            }
            last = Some(protocol);
            protocol
        };
        (0..TRIAL_PERIOD).map(one).collect()
    }

    #[test]
    fn the_best_is_kept_until_another_is() {
        for protocols in [SHORT, LONG] {
            let mut trial = Trial::new(protocols);
            while trial.message > 0 {
                assert_eq!(trial.next(), (CopyProtocol::Direct, false));
            }
            for best in [protocols, protocols].concat() {
                let all = period(&mut trial, |protocol| 20 - u64::from(protocol == best));
                let (tried, rest) = all.split_at(protocols.len() * TRIAL_TRIED);
                for protocol in protocols {
                    assert_eq!(tried.iter().filter(|m| *m == protocol).count(), TRIAL_TRIED);
                }
                assert!(rest.iter().all(|protocol| *protocol == best), "{best:?}");
            }
        }
    }

    #[test]
    fn without_times_the_choice_stays() {
        let mut trial = Trial::new(LONG);
        (0..TRIAL_LATE + TRIAL_PERIOD).for_each(|_| _ = trial.next());
        assert_eq!(trial.chosen, CopyProtocol::Direct);
        // A sender that has no room for a bounce buffer: of the others there are no times.
        (0..TRIAL_TRIED).for_each(|_| trial.note(CopyProtocol::Direct, 1000));
        (0..TRIAL_PERIOD).for_each(|_| _ = trial.next());
        assert_eq!(trial.chosen, CopyProtocol::Direct);
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
    fn every_length_that_may_be_bounced_has_its_trial() {
        let mut protocols = CopyProtocols::default();
        let first = |protocols: &mut CopyProtocols, bytes| {
            let timed = protocols.begin((bytes, false), true, None);
            timed
                .inspect(|timed| protocols.end(*timed))
                .map(|timed| timed.protocol)
        };
        for (bytes, protocol) in [
            (0, None),
            (MEDIUM_BYTES, None),
            (MEDIUM_BYTES + 1, Some(CopyProtocol::Lines)),
            (BOUNCE_MOST, Some(CopyProtocol::Lines)),
            (BOUNCE_MOST + 1, Some(CopyProtocol::Direct)),
            (LONG_BOUNCE_MOST, Some(CopyProtocol::Direct)),
            (LONG_BOUNCE_MOST + 1, None),
            (usize::MAX, None),
        ] {
            assert_eq!(first(&mut protocols, bytes), protocol, "{bytes}");
        }
    }

    #[test]
    fn a_word_stands_for_a_copy_protocol() {
        for protocol in [
            None,
            Some(CopyProtocol::Lines),
            Some(CopyProtocol::Strings),
            Some(CopyProtocol::Direct),
        ] {
            assert_eq!(
                CopyProtocol::of_word(CopyProtocol::word(protocol)),
                protocol
            );
        }
        assert_eq!(CopyProtocol::of_word(77), None);
    }
}
