//! A peer: all that concerns one other rank.

use super::frame::{FrameError, NOTICE_BYTES};
use super::frames::Frame;
use super::handshake::HandshakeError;
use super::matching::{Key, Map, Matching};
use super::settings::Settings;
use super::stripe::Extents;
use std::collections::{BTreeMap, VecDeque};
use std::time::Duration;

/// Why a connection, or a rank, is lost.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Loss {
    /// Nobody listens there any more.
    #[error("nobody listens there any more")]
    Refused,
    /// The connection was closed or reset by the other end.
    #[error("the connection was closed by the other end")]
    Closed,
    /// The other end has not acknowledged anything for too long.
    #[error("the other end does not answer")]
    Silent,
    /// The rank has left, and closed its connections.
    #[error("it has left")]
    Left,
    /// The other end is none of this job.
    #[error("{0}")]
    Handshake(#[from] HandshakeError),
    /// What came is none of this protocol.
    #[error("{0}")]
    Frame(#[from] FrameError),
    /// What came over an encrypted connection is not what was sent.
    #[error("what came was changed on its way")]
    Changed,
    /// The rank makes ever more connections.
    #[error("it has made more than {0} connections over one rail")]
    Connections(u32),
    /// The rank reads, but never says so.
    #[error("it has acknowledged nothing of {0} bytes")]
    Unacknowledged(u64),
    /// There is no way to the other end's host, as the system says.
    #[error("{}", std::io::Error::from_raw_os_error(*.0))]
    Unreachable(i32),
    /// The system says so.
    #[error("{}", std::io::Error::from_raw_os_error(*.0))]
    System(i32),
    /// This end has no descriptor, or no memory, for a connection.
    #[error("{}", std::io::Error::from_raw_os_error(*.0))]
    Shortage(i32),
}

impl Loss {
    /// Whether nothing of the other end has answered, not even its system.
    #[must_use]
    pub fn is_silence(&self) -> bool {
        matches!(self, Loss::Silent | Loss::Unreachable(_))
    }

    /// Whether the rank itself is broken, so that no other connection to it is worth anything.
    #[must_use]
    pub fn is_fault(&self) -> bool {
        matches!(
            self,
            Loss::Frame(_) | Loss::Connections(_) | Loss::Unacknowledged(_)
        )
    }
}

/// A rank that cannot be reached any more.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("rank {rank} is lost: {loss}")]
pub struct LostPeer {
    /// Which.
    pub rank: u32,
    /// Why.
    pub loss: Loss,
}

/// Whether a peer is there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Presence {
    /// As far as is known.
    Here,
    /// It has said that it leaves.
    Leaving,
    /// It has left; messages fail from then on, so that what it has said of it comes first.
    Gone(Duration),
    /// It cannot be reached.
    Lost(Loss),
}

/// The connections over one rail.
#[derive(Clone, Copy, Debug, Default)]
pub struct Rail {
    /// Those that are open.
    pub open: u32,
    /// Those that this rank is making.
    pub begun: u32,
    /// How often one could not be made since one was open.
    pub failures: u32,
    /// Why not.
    pub loss: Option<Loss>,
    /// When the next may be made.
    pub next: Duration,
    /// Since when a connection has been doubted, the one that has been for longest, if any is.
    pub doubted_since: Option<Duration>,
    /// A connection that watches over doubted ones.
    pub watch: Option<u32>,
    /// Since when one after another was made that was not answered, if one was.
    pub asks_since: Option<Duration>,
    /// Whether that was for long enough.
    pub is_unanswered: bool,
    /// When the next is made.
    pub watch_next: Duration,
    /// Whether the last open connection was lost as the other end's system has ceased to answer.
    pub is_silent: bool,
    /// Whether it was said that nothing goes over it any more.
    pub is_told: bool,
    /// When that system was last heard.
    pub heard: Option<Duration>,
}

/// Credit for messages that nobody has asked for, in both directions; counts of bytes that only grow.
#[derive(Clone, Copy, Debug, Default)]
pub struct Credit {
    /// What messages to the peer have cost.
    pub spent: u64,
    /// What it has given back.
    pub given_back: u64,
    /// What messages from the peer have cost.
    pub taken: u64,
    /// What was or is to be given back to it, and how much of that was said.
    pub returned: u64,
    /// See `returned`.
    pub said: u64,
    /// By how much it may exceed its bound, as credit may have been given back to it twice.
    pub tolerated: u64,
}

/// One other rank.
#[derive(Debug)]
pub struct Peer {
    /// Whether it is there.
    pub presence: Presence,
    /// Its open connections.
    pub open: Vec<u32>,
    /// By rail.
    pub rails: Box<[Rail]>,
    /// Frames that no connection has yet.
    pub queue: VecDeque<Frame>,
    /// Messages of which something is left to be cut.
    pub cutting: VecDeque<u32>,
    /// Messages that wait for a grant.
    pub waiting: Map<Key, u32>,
    /// How many of these, and of those that were taken back, are announced and not granted.
    pub announced: u32,
    /// Messages that may not be announced yet, as too many are; some may have been granted meanwhile.
    pub held: VecDeque<u32>,
    /// Messages that were taken back after they were announced, until they are granted.
    pub withdrawn: Map<Key, ()>,
    /// Grants that came before their messages.
    pub grants: Map<Key, ()>,
    /// How many messages there were to it, by tag.
    pub sent: Map<u32, u64>,
    /// Messages from it.
    pub matching: Matching,
    /// How many grants of messages that nobody wants it may not have had.
    pub unanswered: u32,
    /// Receives that wait for it, and waits for what it puts.
    pub receives: u32,
    /// Since when it has been waited for without a connection.
    pub without_since: Option<Duration>,
    /// The credit between it and this rank.
    pub credit: Credit,
    /// How many notices there were to it.
    pub notices: u64,
    /// Notices that came before others with lower numbers.
    pub early: BTreeMap<u64, Box<[u8; NOTICE_BYTES]>>,
    /// Which notices of it came, and how many of them nobody has heard.
    pub heard: Extents,
    /// See `heard`.
    pub unheard: u32,
}

impl Peer {
    /// One of whom nothing is known.
    #[must_use]
    pub fn new(rails: u32) -> Peer {
        Peer {
            presence: Presence::Here,
            open: Vec::new(),
            rails: (0..rails).map(|_| Rail::default()).collect(),
            queue: VecDeque::new(),
            cutting: VecDeque::new(),
            waiting: Map::default(),
            announced: 0,
            held: VecDeque::new(),
            withdrawn: Map::default(),
            grants: Map::default(),
            sent: Map::default(),
            matching: Matching::default(),
            unanswered: 0,
            receives: 0,
            without_since: None,
            credit: Credit::default(),
            notices: 0,
            early: BTreeMap::new(),
            heard: Extents::default(),
            unheard: 0,
        }
    }

    /// Why messages from and to it fail.
    #[must_use]
    pub fn loss(&self) -> Option<Loss> {
        match self.presence {
            Presence::Lost(loss) => Some(loss),
            Presence::Here | Presence::Leaving | Presence::Gone(_) => None,
        }
    }

    /// Whether its system was there, and answers no more over any rail, as far as each was tried last.
    #[must_use]
    pub fn is_silent(&self) -> bool {
        let is_lost = |rail: &Rail| rail.loss.is_some_and(|loss| loss.is_silence());
        self.rails.iter().all(is_lost) && self.rails.iter().any(|rail| rail.is_silent)
    }

    /// Whether there is something that must go to it.
    #[must_use]
    pub fn is_owed(&self) -> bool {
        !self.queue.is_empty() || !self.cutting.is_empty() || !self.waiting.is_empty()
    }

    /// The number of the next message to it with a tag.
    pub fn next_number(&mut self, tag: u32) -> u64 {
        let sent = self.sent.entry(tag).or_default();
        *sent += 1;
        *sent - 1
    }

    /// Whether a message that costs so much may be sent without a grant.
    #[must_use]
    pub fn has_credit(&self, cost: u64, settings: &Settings) -> bool {
        let all = u64::from(settings.unexpected_bytes) + self.credit.given_back;
        self.credit.spent + cost <= all
    }

    /// What is left for messages from it that nobody has asked for.
    #[must_use]
    pub fn credit_left(&self, settings: &Settings) -> u64 {
        let kept = self.credit.taken - self.credit.returned;
        (u64::from(settings.unexpected_bytes) + self.credit.tolerated).saturating_sub(kept)
    }

    /// Notes that a message from it is thrown away, which may have been before.
    pub fn take_unwanted(&mut self, cost: u64, settings: &Settings) {
        let credit = &mut self.credit;
        credit.taken += cost;
        let most = u64::from(settings.unexpected_bytes);
        credit.tolerated = (credit.tolerated + cost).min(most);
    }

    /// Gives credit back; what is to be said of it, if enough has come together.
    pub fn give_back(&mut self, cost: u64, settings: &Settings) -> Option<u64> {
        let credit = &mut self.credit;
        credit.returned += cost;
        let is_much = credit.returned - credit.said >= u64::from(settings.unexpected_bytes) / 4;
        is_much.then(|| {
            credit.said = credit.returned;
            credit.returned
        })
    }
}

/// A notice that was heard, and whose it is.
pub type Heard = (u32, Box<[u8; NOTICE_BYTES]>);
