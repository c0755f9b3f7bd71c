//! Copy protocols: the ways in which a long message comes to its receiver, and which of them takes least, here and now.
//!
//! The lines of a bounce buffer go to its reader and back. Either both make them their own before they write there: the sender claims
//! the lines of the piece that comes next, the reader [claims for writing](crate::transport::shm::memory::iovec::claim_for_write) what it has read. Or neither does, and
//! copies are left to the string moves of the processor, some of which write whole lines without fetching them; or they are made in
//! pieces so short that the library moves no strings, and loads and stores vectors. Or nothing is
//! bounced: the receiver reads the sender's memory, alone or with the sender's assistance. Or, of the longest, parts of it go through a few
//! pipeline buffers, which stay in the cores' caches, as a bounce buffer of as many bytes does not. Which takes least is a matter of the processor,
//! of its caches, and of how far apart the cores are, which in a virtual machine changes while a program runs: on one processor
//! lines take a third of what strings do where cores are far apart, on another strings take a quarter less where they are near, and
//! vectors a tenth less than these as long as a message fits a core's own cache. And
//! it is a matter of the program: memory that its sender has not written since the last message is in the receiver's cache, and
//! one read of it takes less than two copies; memory that was just written has to come from the sender's cache line by line. So
//! the reader of a thousand messages tries each protocol on a few that come by it, and keeps to the best, and does so more seldom the more often that is
//! the same. The first of the few count nothing: the caches still hold what the copy protocol before has left there, and a bounce
//! buffer that is new is not yet mapped.
//!
//! ```text
//!  message  0 ··· 7     8 ····· 15     16 ···· 23     24 ··· 31     32 ······················· 1023
//!           by lines    by strings     by vectors     direct        the one whose middle time was least, untimed
//! ```
//!
//! Of two ranks that send to each other one leads: it tries and chooses, by what all of its call takes if that has one exchange, and
//! otherwise by the time since the last one: pipeline buffers take room in the caches from whatever else the call copies, and have
//! ranks wait in other places. The other sends as the leader's last message came.

use super::choose::Protocol;
use super::trial::{Times, Trial, Tried};
use crate::transport::shm::tuning::{
    BOUNCE_MOST, LONG_BOUNCE_MOST, MEDIUM_ALWAYS_MOST, ONE_WAY_PIPELINED_BEYOND,
    TRIAL_ASSISTED_LEAST, TRIAL_COMBINED_ASSISTED_LEAST, TRIAL_DIRECT_GAIN, TRIAL_EXCHANGED_LATE,
    TRIAL_LATE, TRIAL_OWN_COPY, TRIAL_PIPELINED_GAIN,
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
    /// As [`CopyProtocol::Strings`], in pieces so short that none are moved.
    Vectors,
}

/// Those of messages that go one way.
const ONE_WAY: &[CopyProtocol] = &[
    CopyProtocol::Lines,
    CopyProtocol::Strings,
    CopyProtocol::Vectors,
    CopyProtocol::Direct,
];
/// Those of the longer ones, and of those that are combined.
const ASSISTED: &[CopyProtocol] = &[
    CopyProtocol::Lines,
    CopyProtocol::Strings,
    CopyProtocol::Vectors,
    CopyProtocol::Direct,
    CopyProtocol::Assisted,
];
/// Those of the longest.
const LONGEST: &[CopyProtocol] = &[
    CopyProtocol::Lines,
    CopyProtocol::Strings,
    CopyProtocol::Vectors,
    CopyProtocol::Direct,
    CopyProtocol::Assisted,
    CopyProtocol::Pipelined,
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
    /// Whether each of the two copies what it sends within its own memory as well.
    pub(crate) copied: bool,
    /// Whether its sender has nothing else to send or copy meanwhile, which makes a difference to one that goes one way.
    pub(crate) alone: bool,
}

/// The kinds of messages that are tried by themselves.
const KINDS: usize = 6;

/// The one of those that go one way and whose sender has more to send or copy: it assists nobody, and what it copies to a bounce buffer
/// keeps it from that.
const BUSY: usize = 5;

impl LongMessage {
    /// Which trial it belongs to: by length, and by kind.
    fn place(self) -> Option<(usize, usize)> {
        let length = ((self.bytes.checked_sub(1)?) / MEDIUM_ALWAYS_MOST).checked_ilog2()? as usize;
        let kind = match (self.exchanged, self.combined, self.copied) {
            (false, false, _) if !self.alone => BUSY,
            (false, false, _) => 0,
            (false, true, _) => 1,
            (true, false, false) => 2,
            (true, true, _) => 3,
            (true, false, true) => 4,
        };
        (length < LENGTHS).then_some((length, kind))
    }
}

/// What a rank knows of the long messages that one other sends to it.
#[derive(Clone, Debug)]
pub(crate) struct CopyProtocols {
    /// Whether this rank chooses for exchanges with the other.
    leads: bool,
    /// The message that goes one way and of which the first part has come, and not the last.
    pub(crate) in_parts: Option<Timed>,
    /// By length and kind.
    trials: [[Trial<CopyProtocol>; KINDS]; LENGTHS],
}

/// A message under way.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Timed {
    place: (usize, usize),
    /// The copy protocol that is wanted, if one was tried.
    pub(crate) protocol: Option<CopyProtocol>,
    /// When it began, if its time counts.
    begun: Option<Instant>,
    /// Of how many bytes, how many its sender had bounced by then.
    ahead: (usize, usize),
}

impl CopyProtocol {
    /// What stands for a copy protocol in a word; 0 for none.
    pub(crate) fn word(protocol: Option<CopyProtocol>) -> u64 {
        protocol.map_or(0, |protocol| protocol as u64)
    }

    /// The copy protocol that a word stands for.
    pub(crate) fn of_word(word: u64) -> Option<CopyProtocol> {
        let mut all = LONGEST.iter().copied();
        all.find(|protocol| *protocol as u64 == word)
    }

    /// Whether a message that goes by `protocol` comes by this one.
    pub(crate) fn is_by(self, protocol: Protocol) -> bool {
        protocol
            == match self {
                CopyProtocol::Lines | CopyProtocol::Strings | CopyProtocol::Vectors => {
                    Protocol::Bounce
                }
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

impl CopyProtocols {
    /// Of messages from a rank with which this one exchanges them by its own choice if it `leads`, as one of the two does.
    pub(crate) fn new(leads: bool) -> CopyProtocols {
        let of = |length, kind| {
            let least = MEDIUM_ALWAYS_MOST << length;
            let protocols = match kind {
                0 if least < TRIAL_ASSISTED_LEAST => ONE_WAY,
                1 if least < TRIAL_COMBINED_ASSISTED_LEAST => ONE_WAY,
                0 | 1 if least >= ONE_WAY_PIPELINED_BEYOND => LONGEST,
                0 | 1 => ASSISTED,
                BUSY => ONE_WAY,
                _ => EXCHANGED,
            };
            let late = match least >= BOUNCE_MOST {
                true => TRIAL_LATE,
                false if protocols == EXCHANGED => TRIAL_EXCHANGED_LATE,
                false => 0,
            };
            Trial::new(protocols, late)
        };
        CopyProtocols {
            leads,
            in_parts: None,
            trials: std::array::from_fn(|length| std::array::from_fn(|kind| of(length, kind))),
        }
    }

    fn trial(&mut self, (length, kind): (usize, usize)) -> &mut Trial<CopyProtocol> {
        &mut self.trials[length][kind]
    }

    /// By which copy protocol the next message should come; none before the first trial, and for lengths that are not tried.
    pub(crate) fn wanted(&mut self, message: LongMessage) -> Option<CopyProtocol> {
        let follows = self.follows(message);
        let trial = self.trial(message.place()?);
        match follows {
            true => trial.chosen,
            false => trial.now().0,
        }
    }

    /// Whether the other rank chooses for this one.
    fn follows(&self, message: LongMessage) -> bool {
        message.exchanged && !self.leads
    }

    /// Now, if the time counts that the next message takes.
    pub(crate) fn start(&mut self, message: LongMessage) -> Option<Instant> {
        let follows = self.follows(message);
        let tries = self.trial(message.place()?).now().1;
        (tries && !follows).then(Instant::now)
    }

    /// Goes on to the next message, which comes by `protocol`; one that goes one way was wanted by the copy protocol
    /// `last`: what that one has left is part of what this one takes. Its time counts, if it does, from `since`. None for lengths that
    /// are not tried.
    pub(crate) fn begin(
        &mut self,
        message: LongMessage,
        (protocol, last): (Protocol, Option<CopyProtocol>),
        since: impl FnOnce() -> Option<Instant>,
    ) -> Option<Timed> {
        let (place, follows) = (message.place()?, self.follows(message));
        let trial = self.trial(place);
        if follows {
            let came = trial.ways.iter().find(|p| p.is_by(protocol));
            trial.chosen = came.copied();
            return None;
        }
        let is_as = |wanted: CopyProtocol| {
            wanted.is_by(protocol) && (message.exchanged || last == Some(wanted))
        };
        let ((wanted, tries), as_wanted) = trial.next(is_as);
        Some(Timed {
            place,
            protocol: wanted,
            begun: (tries && as_wanted).then(since).flatten(),
            ahead: (0, message.bytes),
        })
    }

    /// Notes that what is timed of a message is over.
    pub(crate) fn end(&mut self, timed: Timed) {
        if let (Some(begun), Some(protocol)) = (timed.begun, timed.protocol) {
            let time_ns = begun.elapsed().as_nanos() as u64;
            let more_ns = timed.more_ns(time_ns);
            self.trial(timed.place).note(protocol, time_ns + more_ns);
        }
    }
}

impl Timed {
    /// One of which so many bytes were there before the time counts.
    pub(crate) fn after(self, bytes: usize) -> Timed {
        Timed {
            ahead: (bytes, self.ahead.1),
            ..self
        }
    }

    /// What the sender takes besides the `time_ns` of its receiver: a copy to a bounce buffer takes as long as that from it, and is part
    /// of the receiver's time as far as the sender had not made it before. And what else the sender has to copy comes after that. The first
    /// part of a message in pipeline buffers is seen when all of it is there.
    fn more_ns(&self, time_ns: u64) -> u64 {
        let (there, of) = self.ahead;
        let is_bounced = |protocol: CopyProtocol| protocol.is_by(Protocol::Bounce);
        match self.protocol {
            Some(CopyProtocol::Pipelined) => time_ns * there as u64 / of as u64,
            Some(protocol) if self.place.1 == BUSY && is_bounced(protocol) => {
                time_ns * there.max(of / TRIAL_OWN_COPY) as u64 / of as u64
            }
            _ => 0,
        }
    }
}

impl Tried for CopyProtocol {
    fn place(self) -> usize {
        self as usize - 1
    }

    fn cost_ns(
        self,
        protocols: &'static [CopyProtocol],
        chosen: Option<CopyProtocol>,
        times: &Times,
    ) -> Option<u64> {
        let is_exchanged = protocols == EXCHANGED;
        // The times of an exchange are of two ranks and vary much, where memory is read more than where buffers are
        // passed on. What was not chosen is to take less almost every time.
        let is_other = chosen.is_some_and(|chosen| chosen != self);
        let middle_ns = times.middle_ns(is_exchanged && is_other)?;
        let more_ns = match self {
            // The time of an exchange has all of its call, but not of the other rank's, nor what comes after, which finds its
            // memory driven out of the caches.
            CopyProtocol::Pipelined if is_exchanged => middle_ns / TRIAL_PIPELINED_GAIN,
            CopyProtocol::Direct if is_exchanged => 0,
            // A sender whose memory is read waits for the end of that, which is not in its receiver's time.
            CopyProtocol::Direct | CopyProtocol::Assisted => middle_ns / TRIAL_DIRECT_GAIN,
            _ => 0,
        };
        Some(middle_ns + more_ns)
    }
}

#[cfg(all(test, not(loom)))]
mod tests;
