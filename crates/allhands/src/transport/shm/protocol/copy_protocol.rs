//! Copy protocols: the ways in which a long message comes to its receiver, and which of them takes least, here and now.
//!
//! The lines of a bounce buffer go to its reader and back. Either both make them their own before they write there: the sender claims
//! the lines of the piece that comes next, the reader [claims for writing](crate::transport::shm::memory::iovec::claim_for_write) what it has read. Or neither does, and
//! copies are left to the string moves of the processor, some of which write whole lines without fetching them. Or nothing is
//! bounced: the receiver reads the sender's memory, alone or with the sender's assistance. Which takes least is a matter of the processor,
//! of its caches, and of how far apart the cores are, which in a virtual machine changes while a program runs: on one processor
//! lines take a third of what strings do where cores are far apart, on another strings take a quarter less where they are near. And
//! it is a matter of the program: memory that its sender has not written since the last message is in the receiver's cache, and
//! one read of it takes less than two copies; memory that was just written has to come from the sender's cache line by line. So
//! the reader of a thousand messages tries each protocol on a few and keeps to the best, and does so more seldom the more often that is
//! the same. The first of the few count nothing: the caches still hold what the copy protocol before has left there, and a bounce
//! buffer that is new is not yet mapped.
//!
//! ```text
//!  message  0 ··· 7     8 ····· 15     16 ··· 23     24 ································ 1023
//!           by lines    by strings     direct        the one whose middle time was least, untimed
//! ```
//!
//! Of two ranks that send to each other both try the same, as they have received equally many messages; the time of one is
//! that of its copy to pipeline buffers, if it makes one, and of its reading.

use super::choose::Protocol;
use crate::transport::shm::tuning::{
    BOUNCE_MOST, LONG_BOUNCE_MOST, MEDIUM_ALWAYS_MOST, TRIAL_ASSISTED_LEAST,
    TRIAL_COMBINED_ASSISTED_LEAST, TRIAL_COUNTED, TRIAL_DIRECT_GAIN, TRIAL_LATE, TRIAL_PERIOD,
    TRIAL_PERIOD_MOST, TRIAL_SAMPLES_LEAST, TRIAL_TRIED,
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
    /// Read from the sender's memory with its assistance.
    Assisted,
    /// By way of pipeline buffers.
    Pipelined,
}

/// Those of messages that go one way.
const ONE_WAY: &[CopyProtocol] = &[
    CopyProtocol::Lines,
    CopyProtocol::Strings,
    CopyProtocol::Direct,
];
/// Those of the longer ones, and of those that are combined.
const ASSISTED: &[CopyProtocol] = &[
    CopyProtocol::Lines,
    CopyProtocol::Strings,
    CopyProtocol::Direct,
    CopyProtocol::Assisted,
];
/// Those of messages that two ranks exchange.
const EXCHANGED: &[CopyProtocol] = &[CopyProtocol::Pipelined, CopyProtocol::Direct];

/// Lengths, by powers of two, that are tried by themselves, from [`MEDIUM_ALWAYS_MOST`] to [`LONG_BOUNCE_MOST`].
const LENGTHS: usize = (LONG_BOUNCE_MOST / MEDIUM_ALWAYS_MOST).ilog2() as usize;

/// What is known of a long message before it is copied.
#[derive(Clone, Copy, Debug)]
pub(crate) struct LongMessage {
    pub(crate) bytes: usize,
    /// Whether its receiver combines it with what it has.
    pub(crate) combined: bool,
    /// Whether its receiver sends one to its sender at the same time.
    pub(crate) exchanged: bool,
}

impl LongMessage {
    /// Which trial it belongs to: by length, and by kind.
    fn place(self) -> Option<(usize, usize)> {
        let length = ((self.bytes.checked_sub(1)?) / MEDIUM_ALWAYS_MOST).checked_ilog2()? as usize;
        let kind = 2 * usize::from(self.exchanged) + usize::from(self.combined);
        (length < LENGTHS).then_some((length, kind))
    }
}

/// What a rank knows of the long messages that one other sends to it.
#[derive(Clone, Debug)]
pub(crate) struct CopyProtocols {
    /// By length and kind.
    trials: [[Trial; 4]; LENGTHS],
}

/// What is known of messages of about one length and kind.
#[derive(Clone, Debug)]
struct Trial {
    protocols: &'static [CopyProtocol],
    /// How many messages have come in this period.
    message: usize,
    /// How many come in it.
    period: usize,
    /// None before the first trial.
    chosen: Option<CopyProtocol>,
    /// What copies have taken of a message that is exchanged, so far.
    spent_ns: u64,
    /// Whether that message's time does not count.
    is_spoilt: bool,
    /// Of each copy protocol.
    times: [Times; 5],
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
    /// The copy protocol that is wanted, if one was tried.
    pub(crate) protocol: Option<CopyProtocol>,
    /// When it began, if its time counts, and what it took before.
    begun: Option<(Instant, u64)>,
}

impl CopyProtocol {
    /// What stands for a copy protocol in a word; 0 for none.
    pub(crate) fn word(protocol: Option<CopyProtocol>) -> u64 {
        protocol.map_or(0, |protocol| protocol as u64)
    }

    /// The copy protocol that a word stands for.
    pub(crate) fn of_word(word: u64) -> Option<CopyProtocol> {
        let mut all = ASSISTED.iter().chain(EXCHANGED).copied();
        all.find(|protocol| *protocol as u64 == word)
    }

    /// Whether a message that goes by `protocol` comes by this one.
    pub(crate) fn is_by(self, protocol: Protocol) -> bool {
        protocol
            == match self {
                CopyProtocol::Lines | CopyProtocol::Strings => Protocol::Bounce,
                CopyProtocol::Direct => Protocol::Direct,
                CopyProtocol::Assisted => Protocol::Assisted,
                CopyProtocol::Pipelined => Protocol::Pipelined,
            }
    }

    /// By which protocol a message of an exchange goes that comes by this one.
    pub(crate) fn of_exchange(self) -> Option<Protocol> {
        let protocols = [Protocol::Pipelined, Protocol::Direct];
        protocols.into_iter().find(|p| self.is_by(*p))
    }
}

impl Default for CopyProtocols {
    fn default() -> CopyProtocols {
        let of = |length, kind| {
            let least = MEDIUM_ALWAYS_MOST << length;
            let assisted_least = match kind & 1 > 0 {
                true => TRIAL_COMBINED_ASSISTED_LEAST,
                false => TRIAL_ASSISTED_LEAST,
            };
            let protocols = match kind & 2 > 0 {
                true => EXCHANGED,
                false if least >= assisted_least => ASSISTED,
                false => ONE_WAY,
            };
            Trial::new(protocols, least >= BOUNCE_MOST)
        };
        CopyProtocols {
            trials: std::array::from_fn(|length| std::array::from_fn(|kind| of(length, kind))),
        }
    }
}

impl CopyProtocols {
    fn trial(&mut self, (length, kind): (usize, usize)) -> &mut Trial {
        &mut self.trials[length][kind]
    }

    /// By which copy protocol the next message should come; none before the first trial, and for lengths that are not tried.
    pub(crate) fn wanted(&mut self, message: LongMessage) -> Option<CopyProtocol> {
        self.trial(message.place()?).now().0
    }

    /// Now, if the time counts that the next message takes.
    pub(crate) fn start(&mut self, message: LongMessage) -> Option<Instant> {
        let tries = self.trial(message.place()?).now().1;
        tries.then(Instant::now)
    }

    /// Notes that a copy is made that is part of the next message, and was begun at `start`.
    pub(crate) fn spend(&mut self, message: LongMessage, start: Option<Instant>) {
        if let (Some(start), Some(place)) = (start, message.place()) {
            self.trial(place).spent_ns += start.elapsed().as_nanos() as u64;
        }
    }

    /// Says that the next message's time does not count.
    pub(crate) fn spoil(&mut self, message: LongMessage) {
        if let Some(place) = message.place() {
            self.trial(place).is_spoilt = true;
        }
    }

    /// Goes on to the next message, which comes by `protocol`; one that goes one way was wanted by the copy protocol
    /// `last`: what that one has left is part of what this one takes. None for lengths that are not tried.
    pub(crate) fn begin(
        &mut self,
        message: LongMessage,
        protocol: Protocol,
        last: Option<CopyProtocol>,
    ) -> Option<Timed> {
        let place = message.place()?;
        let trial = self.trial(place);
        let spent_ns = std::mem::take(&mut trial.spent_ns);
        let is_spoilt = std::mem::take(&mut trial.is_spoilt);
        let (wanted, tries) = trial.next();
        let as_wanted = wanted.is_some_and(|wanted| wanted.is_by(protocol))
            && (message.exchanged || last == wanted);
        Some(Timed {
            place,
            protocol: wanted,
            begun: (tries && as_wanted && !is_spoilt).then(|| (Instant::now(), spent_ns)),
        })
    }

    /// Notes that the message has been read.
    pub(crate) fn end(&mut self, timed: Timed) {
        if let (Some((begun, spent_ns)), Some(protocol)) = (timed.begun, timed.protocol) {
            let time_ns = spent_ns + begun.elapsed().as_nanos() as u64;
            self.trial(timed.place).note(protocol, time_ns);
        }
    }
}

impl Trial {
    fn new(protocols: &'static [CopyProtocol], is_late: bool) -> Trial {
        Trial {
            protocols,
            message: match is_late {
                true => TRIAL_PERIOD - TRIAL_LATE,
                false => 0,
            },
            period: TRIAL_PERIOD,
            chosen: None,
            spent_ns: 0,
            is_spoilt: false,
            times: Default::default(),
        }
    }

    /// The copy protocol of the next message, and whether it is one on which a copy protocol is tried.
    fn now(&self) -> (Option<CopyProtocol>, bool) {
        match self.protocols.get(self.message / TRIAL_TRIED) {
            Some(protocol) => (Some(*protocol), true),
            None => (self.chosen, false),
        }
    }

    /// The same, and goes on to the one after it.
    fn next(&mut self) -> (Option<CopyProtocol>, bool) {
        let now = self.now();
        self.message += 1;
        if self.message == self.protocols.len() * TRIAL_TRIED + 1 {
            // The last message that is tried ends after it has begun.
            self.choose();
            return (self.chosen, false);
        }
        if self.message >= self.period {
            self.message = 0;
        }
        now
    }

    fn note(&mut self, protocol: CopyProtocol, time_ns: u64) {
        self.times[protocol as usize - 1].note(time_ns);
    }

    /// Chooses for the rest of the period, among those of which there are times enough.
    fn choose(&mut self) {
        let times = std::mem::take(&mut self.times);
        let middle_ns = |protocol: &CopyProtocol| {
            let middle_ns = times[*protocol as usize - 1].middle_ns()?;
            // A sender whose memory is read waits for the end of that, which is not in its receiver's time.
            let waits = matches!(protocol, CopyProtocol::Direct | CopyProtocol::Assisted);
            let more_ns = if waits {
                middle_ns / TRIAL_DIRECT_GAIN
            } else {
                0
            };
            Some((middle_ns + more_ns, *protocol))
        };
        let known = self.protocols.iter().filter_map(middle_ns);
        if let Some((_, protocol)) = known.min_by_key(|(middle_ns, _)| *middle_ns) {
            self.period = match self.chosen == Some(protocol) {
                true => TRIAL_PERIOD_MOST.min(2 * self.period),
                false => TRIAL_PERIOD,
            };
            self.chosen = Some(protocol);
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
    fn period(
        trial: &mut Trial,
        time_ns: impl Fn(CopyProtocol) -> u64,
    ) -> Vec<Option<CopyProtocol>> {
        let mut all = Vec::new();
        while all.is_empty() || trial.message > 0 {
            let (protocol, tries) = trial.next();
            if tries && all.last() == Some(&protocol) {
                protocol.iter().for_each(|p| trial.note(*p, time_ns(*p)));
            }
            all.push(protocol);
        }
        all
    }

    #[test]
    fn the_best_is_kept_until_another_is() {
        for (protocols, is_late) in [(ONE_WAY, false), (ASSISTED, true), (EXCHANGED, true)] {
            let mut trial = Trial::new(protocols, is_late);
            while trial.message > 0 {
                assert_eq!(trial.next(), (None, false), "as measured at the start");
            }
            for best in [protocols, protocols].concat() {
                let all = period(&mut trial, |protocol| {
                    200 - 20 * u64::from(protocol == best)
                });
                let (tried, rest) = all.split_at(protocols.len() * TRIAL_TRIED);
                for protocol in protocols {
                    let those = tried.iter().filter(|m| **m == Some(*protocol));
                    assert_eq!(those.count(), TRIAL_TRIED);
                }
                let kept = rest.iter().all(|protocol| *protocol == Some(best));
                assert!(kept, "{best:?}");
            }
        }
    }

    #[test]
    fn what_is_best_again_and_again_is_tried_more_seldom() {
        let mut trial = Trial::new(EXCHANGED, false);
        let steady = |protocol| 200 - 20 * u64::from(protocol == CopyProtocol::Direct);
        let lengths = [0; 6].map(|_| period(&mut trial, steady).len() / TRIAL_PERIOD);
        assert_eq!(lengths, [1, 2, 4, 8, 8, 8]);
        let other = |protocol| 200 - 20 * u64::from(protocol == CopyProtocol::Pipelined);
        period(&mut trial, other);
        assert_eq!(trial.period, TRIAL_PERIOD);
    }

    #[test]
    fn without_times_the_choice_stays() {
        let mut trial = Trial::new(ASSISTED, true);
        (0..TRIAL_LATE + TRIAL_PERIOD).for_each(|_| _ = trial.next());
        assert_eq!(trial.chosen, None);
        // A sender that has no room for a bounce buffer: of the others there are no times.
        (0..TRIAL_TRIED).for_each(|_| trial.note(CopyProtocol::Direct, 1000));
        (0..TRIAL_PERIOD).for_each(|_| _ = trial.next());
        assert_eq!(trial.chosen, Some(CopyProtocol::Direct));
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
    fn every_length_and_kind_has_its_trial() {
        let mut protocols = CopyProtocols::default();
        let mut first = |bytes, combined, exchanged| {
            let message = LongMessage {
                bytes,
                combined,
                exchanged,
            };
            let wanted = protocols.wanted(message);
            let timed = protocols.begin(message, Protocol::Bounce, None);
            assert_eq!(timed.and_then(|timed| timed.protocol), wanted);
            timed.map(|timed| timed.protocol)
        };
        let (lines, pipelined) = (CopyProtocol::Lines, CopyProtocol::Pipelined);
        for (bytes, one_way, exchanged) in [
            (0, None, None),
            (MEDIUM_ALWAYS_MOST, None, None),
            (
                MEDIUM_ALWAYS_MOST + 1,
                Some(Some(lines)),
                Some(Some(pipelined)),
            ),
            (BOUNCE_MOST, Some(Some(lines)), Some(Some(pipelined))),
            (BOUNCE_MOST + 1, Some(None), Some(None)),
            (LONG_BOUNCE_MOST, Some(None), Some(None)),
            (LONG_BOUNCE_MOST + 1, None, None),
            (usize::MAX, None, None),
        ] {
            for combined in [false, true] {
                assert_eq!(first(bytes, combined, false), one_way, "{bytes}");
                assert_eq!(first(bytes, combined, true), exchanged, "{bytes}");
            }
        }
    }

    #[test]
    fn an_exchange_takes_what_both_its_copies_take() {
        let mut protocols = CopyProtocols::default();
        let message = LongMessage {
            bytes: 1 << 16,
            combined: false,
            exchanged: true,
        };
        let mut one = |came, (copy_ns, read_ns): (u64, u64)| {
            let place = message.place().unwrap();
            protocols.trial(place).spent_ns += copy_ns;
            let timed = protocols.begin(message, came, None).unwrap();
            let timed = Timed {
                begun: timed
                    .begun
                    .map(|(_, spent_ns)| (Instant::now(), spent_ns + read_ns)),
                ..timed
            };
            protocols.end(timed);
            protocols.wanted(message)
        };
        let ms = 1_000_000;
        let mut wanted = Some(CopyProtocol::Pipelined);
        for _ in 0..=2 * TRIAL_TRIED {
            wanted = match wanted {
                Some(CopyProtocol::Pipelined) => one(Protocol::Pipelined, (600 * ms, 600 * ms)),
                _ => one(Protocol::Direct, (0, 900 * ms)),
            };
        }
        assert_eq!(wanted, Some(CopyProtocol::Direct));
    }

    #[test]
    fn a_word_stands_for_a_copy_protocol() {
        for protocol in [
            None,
            Some(CopyProtocol::Lines),
            Some(CopyProtocol::Strings),
            Some(CopyProtocol::Direct),
            Some(CopyProtocol::Assisted),
            Some(CopyProtocol::Pipelined),
        ] {
            assert_eq!(
                CopyProtocol::of_word(CopyProtocol::word(protocol)),
                protocol
            );
        }
        assert_eq!(CopyProtocol::of_word(77), None);
    }
}
