//! Connecting: which connections are made, what becomes of what a lost one carried, and who is lost.

use super::watch::ANSWERED_WITHIN;
use super::{Action, Rank};
use crate::transport::net::tcp::protocol::connection::{Connection, Inbound, Outbound, Phase};
use crate::transport::net::tcp::protocol::handshake::{Handshake, Nonce};
use crate::transport::net::tcp::protocol::matching::Destination;
use crate::transport::net::tcp::protocol::memory::Memory;
use crate::transport::net::tcp::protocol::peer::{Loss, Peer, Presence, Rail};
use std::time::Duration;

/// How long an attempt lasts at least that ends when a rank is given up: the kernel asks again after a second.
pub(super) const LEAST_ATTEMPT: Duration = Duration::from_millis(1250);
/// For how many times its patience a rank tries to connect to another one on a host of which it hears something.
const MORE_PATIENCE: u32 = 10;
/// How long an accepted one may take until its other end has proved itself.
const GREETED_WITHIN: Duration = Duration::from_secs(2);
/// What passes between two attempts over a rail, at first and at most.
const FIRST_PAUSE: Duration = Duration::from_millis(10);
const LONGEST_PAUSE: Duration = Duration::from_secs(1);
/// For how long messages with a rank that has left wait: what it has said of it should come first.
const LEFT_FOR: Duration = Duration::from_secs(1);
/// How often each connection over a rail may be refused until nobody is taken to listen there any more: who has left may have
/// said so over a connection of its own, which is looked at between attempts.
const REFUSALS: u32 = 2;
/// A connection that was there for so long led to a rank that does not look, which is waited for anew when it is lost.
const WAITED_FOR: Duration = Duration::from_secs(1);
/// How many accepted connections may be unproved, beyond what the job itself could make at once.
const STRANGERS: u32 = 64;
/// How many connections a rank may make over a rail, beyond those that both ends make: some may be lost at its end alone.
const MORE_CONNECTIONS: u32 = 64;

impl<M: Memory> Rank<M> {
    /// Says that a connection was accepted; its number, which may be that of one that is closed for it: what is asked for
    /// comes first. If there are too many of which nobody knows whose they are, the one that has said nothing for longest goes,
    /// so that they keep nobody out.
    pub fn accepted(&mut self, nonce: &Nonce) -> u32 {
        let of_ranks = self.job.ranks.saturating_mul(self.job.rails);
        let job = of_ranks.saturating_mul(self.settings.connections);
        if self.strangers >= STRANGERS.saturating_add(job) {
            let all = self.connections.iter();
            let strangers = all.filter(|(_, connection)| connection.peer.is_none());
            let oldest = strangers.min_by_key(|(_, connection)| connection.deadline);
            if let Some(at) = oldest.map(|(at, _)| at) {
                self.close(at, Loss::Silent);
            }
        }
        self.strangers += 1;
        let phase = Phase::Greeting(Handshake::listen(nonce));
        self.add(None, 0, phase)
    }

    pub(super) fn add(&mut self, peer: Option<u32>, rail: u32, phase: Phase) -> u32 {
        let deadline = match (&phase, peer) {
            // The kernel asks again and again, so that one long attempt is worth more than several short ones.
            (Phase::Connecting, Some(peer)) => {
                let to = &self.peers[peer as usize];
                let now = self.now;
                // Who has been silent over one rail for long has little time to answer over the others.
                let silent = to.rails.iter().filter(|rail| rail.is_silent);
                let asks_since = silent.filter_map(|rail| rail.asks_since).min();
                let until = match asks_since {
                    Some(since) => since + ANSWERED_WITHIN,
                    None => to.without_since.unwrap_or(now) + self.settings.patience,
                };
                until.max(now + LEAST_ATTEMPT)
            }
            _ => self.now + GREETED_WITHIN,
        };
        self.wake_by(deadline);
        self.connections.insert(Connection {
            peer,
            rail,
            phase,
            is_own: peer.is_some(),
            is_watch: false,
            begun: self.now,
            deadline,
            outbound: Outbound::default(),
            inbound: Inbound::default(),
        })
    }

    pub(super) fn wake_by(&mut self, deadline: Duration) {
        self.deadline = self.deadline.min(deadline);
    }

    /// Says that a connection that was asked for is there.
    pub fn connected(&mut self, at: u32, nonce: &Nonce) {
        let Some(connection) = self.connections.get_mut(at) else {
            return;
        };
        if connection.is_watch {
            self.watch_answered(at);
        } else if let (Phase::Connecting, Some(peer)) = (&connection.phase, connection.peer) {
            let (handshake, hello) = Handshake::ask(&self.job, peer, connection.rail, nonce);
            connection.phase = Phase::Greeting(handshake);
            // A rank that is there answers when it looks, which may be much later; who listens no more has its system say so.
            connection.deadline = Duration::MAX;
            connection.outbound.greet(hello);
            self.list(at);
        }
    }

    /// Both ends of a connection know each other.
    pub(super) fn open(&mut self, at: u32, peer: u32, rail: u32) {
        let Some(connection) = self.connections.get_mut(at) else {
            return;
        };
        let to = &mut self.peers[peer as usize];
        let of_rail = &mut to.rails[rail as usize];
        match connection.is_own {
            true => of_rail.begun -= 1,
            false => self.strangers -= 1,
        }
        (connection.peer, connection.rail) = (Some(peer), rail);
        connection.phase = Phase::Open;
        of_rail.open += 1;
        (of_rail.failures, of_rail.loss) = (0, None);
        (of_rail.is_silent, of_rail.is_unanswered) = (false, false);
        of_rail.asks_since = None;
        of_rail.is_told = false;
        let most = 2 * self.settings.connections + MORE_CONNECTIONS;
        let is_too_many = of_rail.open > most;
        to.open.push(at);
        to.without_since = None;
        self.report.opened += 1;
        if to.loss().is_some() {
            return self.close(at, Loss::Closed);
        }
        if is_too_many {
            return self.close(at, Loss::Connections(most));
        }
        self.grant_all(peer);
        self.schedule(peer);
        if self.is_leaving {
            self.say_leave(at);
        }
        self.list(at);
    }

    /// Says that a connection is lost, or could not be made; the driver has closed it.
    pub fn lost(&mut self, at: u32, loss: Loss) {
        let Some(mut connection) = self.connections.remove(at) else {
            return;
        };
        let rail = connection.rail;
        self.unload(at, rail, connection.outbound.counted_bytes);
        if connection.outbound.doubted_since.is_some() {
            self.count_doubts(connection.peer, rail);
        }
        match (&connection.phase, connection.peer) {
            (_, Some(peer)) if connection.is_watch => self.watch_lost(peer, rail, loss),
            (Phase::Open, Some(peer)) => {
                self.report.lost += 1;
                let to = &mut self.peers[peer as usize];
                to.open.retain(|other| *other != at);
                let of_rail = &mut to.rails[rail as usize];
                of_rail.open -= 1;
                of_rail.loss = (of_rail.is_unanswered || !loss.is_silence()).then_some(loss);
                of_rail.is_silent = loss.is_silence();
                of_rail.next = self.now + FIRST_PAUSE;
                self.end_answered_watch(peer, rail);
                let is_whole = self.take_back(peer, &mut connection.outbound);
                self.lost_open(peer, rail, loss, is_whole);
            }
            (Phase::Connecting | Phase::Greeting(_) | Phase::Watching, Some(peer)) => {
                let to = &mut self.peers[peer as usize];
                let was_there = matches!(connection.phase, Phase::Greeting(_));
                if was_there && self.now.saturating_sub(connection.begun) >= WAITED_FOR {
                    to.without_since = Some(self.now);
                }
                let of_rail = &mut to.rails[rail as usize];
                of_rail.begun -= 1;
                if loss == Loss::Refused {
                    // Its system has answered.
                    of_rail.heard = Some(self.now);
                }
                let pause = FIRST_PAUSE * (1 << of_rail.failures.min(7));
                of_rail.failures += 1;
                of_rail.is_silent |= was_there && loss.is_silence();
                // One that was answered before must have another one that is not.
                let is_tried = !was_there || of_rail.is_unanswered || !loss.is_silence();
                of_rail.loss = is_tried.then_some(loss);
                of_rail.next = self.now + pause.min(LONGEST_PAUSE);
                self.judge(peer, loss);
            }
            (_, None) => {
                self.strangers -= 1;
                self.report.refused += 1;
            }
        }
    }

    /// Closes a connection.
    pub(super) fn close(&mut self, at: u32, loss: Loss) {
        if self.connections.get(at).is_some() {
            self.actions.push_back(Action::Close { connection: at });
            self.lost(at, loss);
        }
    }

    /// Takes back what a connection has not acknowledged; whether all of it is still there.
    fn take_back(&mut self, peer: u32, outbound: &mut Outbound) -> bool {
        let mut is_whole = true;
        for (frame, was_written) in outbound.take_unacknowledged() {
            if frame.is_gone {
                is_whole = false;
                continue;
            }
            if let Some(send) = frame.send()
                && was_written
            {
                match self.sends.get_mut(send) {
                    Some(send) => send.unwritten += 1,
                    // Its memory is the user's again.
                    None => continue,
                }
            }
            self.report.resent += 1;
            self.peers[peer as usize].queue.push_back(frame);
        }
        is_whole
    }

    /// A rank has been silent: attempts to connect to it last no longer than those that are made now would.
    fn hurry(&mut self, peer: u32) {
        let asks_since = self.peers[peer as usize].rails.iter();
        let Some(asks_since) = asks_since.filter_map(|rail| rail.asks_since).min() else {
            return;
        };
        let until = (asks_since + ANSWERED_WITHIN).max(self.now + LEAST_ATTEMPT);
        let of_peer = |(_, it): &(u32, &mut Connection)| {
            it.peer == Some(peer) && !it.is_watch && matches!(it.phase, Phase::Connecting)
        };
        for (_, connection) in self.connections.iter_mut().filter(of_peer) {
            connection.deadline = connection.deadline.min(until);
        }
        self.wake_by(until);
    }

    /// What follows when an open connection was lost.
    fn lost_open(&mut self, peer: u32, rail: u32, loss: Loss, is_whole: bool) {
        let to = &mut self.peers[peer as usize];
        match to.presence {
            Presence::Lost(_) | Presence::Gone(_) => return,
            Presence::Leaving => {
                if to.open.is_empty() {
                    let until = self.now + LEFT_FOR;
                    to.presence = Presence::Gone(until);
                    self.wake_by(until);
                }
                return;
            }
            Presence::Here => {}
        }
        let is_unanswered = to.open.is_empty() && to.rails.iter().all(|rail| rail.is_unanswered);
        if !is_whole || loss.is_fault() || is_unanswered {
            return self.lose(peer, loss);
        }
        if to.open.is_empty() && loss.is_silence() {
            self.hurry(peer);
        }
        let to = &self.peers[peer as usize];
        if to.rails[rail as usize].open == 0 && !to.open.is_empty() {
            self.warn(peer, rail, loss);
        }
        self.tend(peer);
        self.schedule(peer);
    }

    /// Says that a rail leads to a host no more, once for all ranks there.
    fn warn(&mut self, peer: u32, rail: u32, loss: Loss) {
        let is_told = |rank: &u32| self.peers[*rank as usize].rails[rail as usize].is_told;
        let is_known = self.host(peer).iter().any(is_told);
        self.peers[peer as usize].rails[rail as usize].is_told = true;
        if !is_known {
            self.actions.push_back(Action::Warn { peer, rail, loss });
        }
    }

    /// Whether a rank is to be given up to which a connection could not be made.
    fn judge(&mut self, peer: u32, loss: Loss) {
        let now = self.now;
        let to = &mut self.peers[peer as usize];
        // Attempts over several rails may overlap for ever: one that has failed does not wait for the next.
        let is_tried = to
            .rails
            .iter()
            .any(|rail| rail.begun > 0 && rail.failures == 0 && !rail.is_unanswered);
        let is_greeted = |(_, other): (u32, &Connection)| {
            other.peer == Some(peer) && matches!(other.phase, Phase::Greeting(_))
        };
        let is_tried = is_tried || self.connections.iter().any(is_greeted);
        if to.presence != Presence::Here || !to.open.is_empty() || is_tried {
            return;
        }
        let refusals = REFUSALS * self.settings.connections;
        let is_refused = |rail: &Rail| rail.loss == Some(Loss::Refused) && rail.failures > refusals;
        let is_refused = to.rails.iter().all(is_refused);
        let is_silent = to.is_silent();
        let since = *to.without_since.get_or_insert(now);
        let (waited, patience) = (now.saturating_sub(since), self.settings.patience);
        // What is heard of its host shows that it answers, if late.
        let is_heard = waited < MORE_PATIENCE * patience
            && loss.is_silence()
            && (0..self.job.rails).any(|rail| self.has_heard(peer, rail, patience));
        if is_refused || !is_heard && (is_silent || waited >= patience) {
            return self.lose(peer, loss);
        }
        self.tend(peer);
    }

    /// Gives a rank up, and if its host answers no more, all that are there: every message from or to them fails from now on.
    pub(super) fn lose(&mut self, peer: u32, loss: Loss) {
        let is_heard =
            (0..self.job.rails).any(|rail| self.has_heard(peer, rail, self.settings.patience));
        if loss.is_silence() && !is_heard {
            for other in self.host(peer).to_vec() {
                let is_here = self.peers[other as usize].presence == Presence::Here;
                if other != peer && is_here {
                    self.lose_one(other, loss);
                }
            }
        }
        self.lose_one(peer, loss);
    }

    fn lose_one(&mut self, peer: u32, loss: Loss) {
        let to = &mut self.peers[peer as usize];
        to.presence = Presence::Lost(loss);
        let is_its = |(_, connection): &(u32, &Connection)| connection.peer == Some(peer);
        let all: Vec<u32> = self
            .connections
            .iter()
            .filter(is_its)
            .map(|(at, _)| at)
            .collect();
        all.into_iter().for_each(|at| self.close(at, loss));
        // What is missing among its notices does not come any more.
        self.let_hear(peer, u64::MAX);
        let to = &mut self.peers[peer as usize];
        for mut frame in to.queue.drain(..) {
            frame.recycle(&mut self.buffers);
        }
        to.cutting.clear();
        to.waiting.clear();
        to.held.clear();
        to.withdrawn.clear();
        to.grants.clear();
        let messages = &self.messages;
        let is_unasked = |at: &u32| {
            let message = messages.get(*at);
            // One that is whole may still be asked for.
            message.is_some_and(|message| match message.destination {
                Destination::Unknown => !message.is_whole,
                Destination::Nowhere => true,
                Destination::Memory(_) => false,
            })
        };
        let unasked: Vec<u32> = to.matching.under_way().filter(is_unasked).collect();
        for at in unasked {
            to.matching
                .remove(&mut self.messages, at, &mut self.buffers);
        }
    }

    /// Makes connections to a rank that is waited for, as many as there shall be.
    pub(super) fn tend(&mut self, peer: u32) {
        let (now, grace) = (self.now, self.settings.grace);
        let to = &mut self.peers[peer as usize];
        if to.presence != Presence::Here {
            return;
        }
        if !to.is_owed() && to.receives == 0 {
            to.without_since = None;
            return;
        }
        if to.open.is_empty() {
            let since = *to.without_since.get_or_insert(now);
            // The other end is the one that has something to send.
            if !to.is_owed() && now < since + grace {
                return self.wake_by(since + grace);
            }
        } else if !to.is_owed() {
            return;
        }
        for rail in 0..self.job.rails {
            self.connect(peer, rail);
        }
    }

    /// Makes connections over a rail, or notes when the next is due.
    fn connect(&mut self, peer: u32, rail: u32) {
        let wanted = self.settings.connections;
        let of_rail = self.peers[peer as usize].rails[rail as usize];
        if of_rail.open + of_rail.begun >= wanted {
            return;
        }
        if self.now < of_rail.next {
            return self.wake_by(of_rail.next);
        }
        for _ in of_rail.open + of_rail.begun..wanted {
            let connection = self.add(Some(peer), rail, Phase::Connecting);
            self.peers[peer as usize].rails[rail as usize].begun += 1;
            self.actions.push_back(Action::Connect {
                connection,
                peer,
                rail,
            });
        }
    }

    /// Does what is due by now.
    pub(super) fn look_at_clock(&mut self) {
        let now = self.now;
        self.deadline = Duration::MAX;
        let is_new = |connection: &Connection| !matches!(connection.phase, Phase::Open);
        let mut overdue = Vec::new();
        let mut next = Duration::MAX;
        for (at, connection) in self.connections.iter().filter(|(_, c)| is_new(c)) {
            match connection.deadline {
                deadline if deadline <= now => overdue.push(at),
                deadline => next = next.min(deadline),
            }
        }
        self.wake_by(next);
        self.advance_line(false);
        overdue
            .into_iter()
            .for_each(|at| self.close(at, Loss::Silent));
        for peer in 0..self.job.ranks {
            self.watch(peer);
            match self.peers[peer as usize].presence {
                Presence::Gone(until) if until <= now => self.lose(peer, Loss::Left),
                Presence::Gone(until) => self.wake_by(until),
                Presence::Here if self.is_waited_for(peer) => self.tend(peer),
                Presence::Here | Presence::Leaving | Presence::Lost(_) => {}
            }
        }
    }

    fn is_waited_for(&self, peer: u32) -> bool {
        let peer: &Peer = &self.peers[peer as usize];
        peer.is_owed() || peer.receives > 0
    }
}
