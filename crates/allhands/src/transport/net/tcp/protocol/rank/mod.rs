//! The rank: the machine that a driver or a simulation drives.
//!
//! Its parts: `send` and `receive` (messages), `put` (windows), `retire` (tags that are used no more), `line` (in which order long messages leave), `arrive` (what comes in), `transmit` (what goes out), `loads` (which rail carries how much), `connect` (who is
//! reached how, and who is lost), `watch` (whose system answers no more).

mod arrive;
mod connect;
mod line;
mod loads;
mod put;
mod receive;
mod retire;
mod send;
#[cfg(test)]
mod tests;
mod transmit;
mod watch;

use super::buffers::Buffers;
use super::connection::Connection;
use super::frames::Outgoing;
use super::handshake::Job;
use super::matching::{End, Incoming};
use super::memory::{Memory, Span};
use super::peer::{Credit, Heard, Loss, LostPeer, Peer, Presence};
use super::settings::Settings;
use super::slots::Slots;
use super::stripe::Way;
use super::windows::Windows;
use line::Line;
use loads::Load;
use retire::Retired;
use std::collections::VecDeque;
use std::time::Duration;

pub use super::connection::Piece;
pub use super::windows::Raised;

/// A message of the user's, until [`Rank::test`] has said how it ended or [`Rank::cancel`] that it is over.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Message {
    /// One that is sent.
    Send(u32),
    /// One that is received.
    Receive(u32),
    /// None, but the wait for what a rank puts or raises.
    Peer(u32),
}

/// What the driver is to do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Action {
    /// Make a connection, and say how that went.
    Connect {
        /// Its number.
        connection: u32,
        /// To whom.
        peer: u32,
        /// Over which rail.
        rail: u32,
    },
    /// Close a connection, which is forgotten already.
    Close {
        /// Its number.
        connection: u32,
    },
    /// Say that the last connection over a rail to a host is lost, and that the other rails go on.
    Warn {
        /// A rank there.
        peer: u32,
        /// The rail.
        rail: u32,
        /// Why.
        loss: Loss,
    },
}

/// Where the next bytes of a connection go.
#[derive(Debug)]
pub enum Target<'a> {
    /// To the protocol: [`Rank::arrived`].
    Protocol,
    /// To memory of the machine, then [`Rank::landed`].
    Own(&'a mut [u8]),
    /// To memory of the user's, then [`Rank::landed`].
    Users(Span),
    /// Nobody wants so many bytes; [`Rank::arrived`] takes them.
    Nowhere(usize),
}

/// What has happened so far.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Report {
    /// Connections that were opened.
    pub opened: u64,
    /// Open connections that were lost.
    pub lost: u64,
    /// Connections of others that were refused: strangers, replays, garbage.
    pub refused: u64,
    /// How often connections could not be accepted, as this process had no descriptor or memory for them.
    pub unaccepted: u64,
    /// Frames that were sent again over another connection.
    pub resent: u64,
    /// Messages that came before their receives, and were copied.
    pub unexpected: u64,
    /// Messages that had begun to come before their receives, of which as much was copied as was there.
    pub moved: u64,
    /// Messages that waited at this rank for a grant.
    pub waited: u64,
}

/// One rank's part of the protocol.
#[derive(Debug)]
pub struct Rank<M> {
    job: Job,
    settings: Settings,
    memory: M,
    now: Duration,
    peers: Vec<Peer>,
    /// The ranks of each host, and by rank the number of its host.
    hosts: Vec<Vec<u32>>,
    host_of: Vec<u32>,
    connections: Slots<Connection>,
    sends: Slots<Outgoing>,
    messages: Slots<Incoming>,
    buffers: Buffers,
    /// What each rail carries, the connections whose systems are asked for that, and ways, for a moment.
    loads: Box<[Load]>,
    measured: Vec<u32>,
    ways: Vec<Way>,
    /// Connections that may have something to write.
    ready: VecDeque<u32>,
    /// The connection that was written last, and of which message.
    leaving: Option<(u32, u32)>,
    /// Long messages that have not begun to leave.
    line: Line,
    actions: VecDeque<Action>,
    heard: VecDeque<Heard>,
    /// Sends whose frames are all written, for a moment.
    written: Vec<u32>,
    /// Sends of which frames were acknowledged, one for each, for a moment.
    acknowledged: Vec<u32>,
    /// When there is something to do though nothing happens.
    deadline: Duration,
    /// Accepted connections of whoever has not proved who it is.
    strangers: u32,
    /// Tags with which nothing is exchanged any more.
    retired: Retired,
    /// What other ranks put into.
    windows: Windows,
    is_leaving: bool,
    report: Report,
}

impl<M: Memory> Rank<M> {
    /// The machine of the job's rank; messages are in this memory.
    #[must_use]
    pub fn new(job: Job, settings: Settings, memory: M) -> Rank<M> {
        Rank {
            peers: (0..job.ranks).map(|_| Peer::new(job.rails)).collect(),
            loads: (0..job.rails).map(|_| Load::default()).collect(),
            measured: Vec::new(),
            ways: Vec::new(),
            hosts: (0..job.ranks).map(|rank| vec![rank]).collect(),
            host_of: (0..job.ranks).collect(),
            job,
            settings,
            memory,
            now: Duration::ZERO,
            connections: Slots::default(),
            sends: Slots::default(),
            messages: Slots::default(),
            buffers: Buffers::default(),
            ready: VecDeque::new(),
            leaving: None,
            line: Line::default(),
            actions: VecDeque::new(),
            heard: VecDeque::new(),
            written: Vec::new(),
            acknowledged: Vec::new(),
            deadline: Duration::MAX,
            strangers: 0,
            retired: Retired::default(),
            windows: Windows::default(),
            is_leaving: false,
            report: Report::default(),
        }
    }

    /// Says on which host each rank is; without, each is on one of its own.
    pub fn set_hosts(&mut self, host_of: Vec<u32>) {
        let hosts = host_of.iter().max().map_or(0, |last| *last as usize + 1);
        self.hosts = vec![Vec::new(); hosts];
        for (rank, host) in (0..).zip(&host_of) {
            self.hosts[*host as usize].push(rank);
        }
        self.host_of = host_of;
    }

    /// The ranks of a rank's host.
    pub fn host(&self, rank: u32) -> &[u32] {
        &self.hosts[self.host_of[rank as usize] as usize]
    }

    /// Says that it is `now`, since any moment that stays the same.
    pub fn at(&mut self, now: Duration) {
        self.now = now;
        if now >= self.deadline {
            self.look_at_clock();
        }
    }

    /// When [`at`](Rank::at) is to be called at the latest.
    #[must_use]
    pub fn deadline(&self) -> Option<Duration> {
        (self.deadline < Duration::MAX).then_some(self.deadline)
    }

    /// How a message ended, if it has; it is forgotten then.
    ///
    /// # Errors
    /// The lost peer because of which it cannot end; it is still to be cancelled.
    pub fn test(&mut self, message: Message) -> Result<Option<End>, LostPeer> {
        let (peer, end) = match message {
            Message::Send(at) => match self.sends.get(at) {
                Some(send) => (send.peer, send.end),
                None => return Ok(None),
            },
            Message::Receive(at) => match self.messages.get(at) {
                Some(incoming) => (incoming.peer, incoming.end),
                None => return Ok(None),
            },
            Message::Peer(peer) => (peer, None),
        };
        if end.is_some() {
            self.forget(message, peer);
            return Ok(end);
        }
        match self.peers[peer as usize].loss() {
            Some(loss) => Err(LostPeer { rank: peer, loss }),
            None => Ok(None),
        }
    }

    /// Ends a message that is not wanted any more: its memory is not touched from now on. A message of which something was
    /// sent, and that is taken back here, never ends at its receiver.
    pub fn cancel(&mut self, message: Message) {
        match message {
            Message::Send(at) => self.cancel_send(at),
            Message::Receive(at) => self.cancel_receive(at),
            Message::Peer(peer) => self.peers[peer as usize].receives -= 1,
        }
    }

    fn forget(&mut self, message: Message, peer: u32) {
        match message {
            Message::Send(at) => _ = self.sends.remove(at),
            Message::Receive(at) => {
                let matching = &mut self.peers[peer as usize].matching;
                matching.remove(&mut self.messages, at, &mut self.buffers);
            }
            Message::Peer(_) => {}
        }
    }

    /// What the driver is to do next.
    pub fn action(&mut self) -> Option<Action> {
        self.actions.pop_front()
    }

    /// The next notice that has come, and whose it is.
    pub fn hear(&mut self) -> Option<Heard> {
        let heard = self.heard.pop_front()?;
        self.peers[heard.0 as usize].unheard -= 1;
        Some(heard)
    }

    /// What has happened so far.
    #[must_use]
    pub fn report(&self) -> Report {
        self.report
    }

    /// Why a rank is lost, if it is.
    #[must_use]
    pub fn loss(&self, rank: u32) -> Option<Loss> {
        self.peers[rank as usize].loss()
    }

    /// A rail over which the host of a rank answers no more, and why that is known, if there is one.
    #[must_use]
    pub fn silent_rail(&self, rank: u32) -> Option<(u32, Loss)> {
        let mut rails = (0..).zip(&self.peers[rank as usize].rails);
        rails.find_map(|(number, rail)| {
            let loss = rail.loss.unwrap_or(Loss::Silent);
            let is_silent = rail.is_silent || rail.loss.is_some_and(|loss| loss.is_silence());
            (rail.open == 0 && is_silent).then_some((number, loss))
        })
    }

    /// Whether there is a connection to a rank.
    #[must_use]
    pub fn is_connected(&self, to: u32) -> bool {
        !self.peers[to as usize].open.is_empty()
    }

    /// The credit between this rank and another.
    #[must_use]
    pub fn credit(&self, with: u32) -> Credit {
        self.peers[with as usize].credit
    }

    /// The memory of messages.
    pub fn memory_mut(&mut self) -> &mut M {
        &mut self.memory
    }

    /// Messages that were begun, and neither ended nor cancelled, and those that nobody has asked for.
    #[must_use]
    pub fn messages_under_way(&self) -> usize {
        self.sends.count() + self.messages.count()
    }

    /// Says that nothing more will be sent. What waits goes out first: until [`is_drained`](Rank::is_drained) says so.
    pub fn leave(&mut self) {
        self.is_leaving = true;
        self.advance_line(true);
        for peer in 0..self.job.ranks {
            self.schedule(peer);
            for at in 0..self.peers[peer as usize].open.len() {
                let connection = self.peers[peer as usize].open[at];
                self.say_leave(connection);
            }
        }
    }

    /// Whether everything was written that can be.
    #[must_use]
    pub fn is_drained(&self) -> bool {
        let is_gone = |peer: &Peer| peer.presence != Presence::Here && peer.open.is_empty();
        let peer_is = |peer: &Peer| peer.queue.is_empty() || is_gone(peer);
        let connections_are = || {
            let mut all = self.connections.iter();
            all.all(|(_, connection)| connection.outbound.is_drained())
        };
        self.peers.iter().all(peer_is) && connections_are()
    }
}
