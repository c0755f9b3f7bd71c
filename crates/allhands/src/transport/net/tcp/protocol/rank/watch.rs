//! Watching: how a rank finds out that the system at the other end of a connection is gone.
//!
//! A connection is doubted while something that the other end's system should have answered is not, or it has said that there is
//! no room. (A kernel that was told so asks again ever more seldom, at last every two minutes.) A rank that has doubted one for a
//! while makes another connection, over which nothing is said: the other end's system answers it whether or not its rank looks
//! at anything, and a system that is gone does not. Who is not waited for has no connection that is doubted, or an idle one, for
//! which the kernel asks every second; so nobody watches all.

use super::connect::LEAST_ATTEMPT;
use super::{Action, Rank};
use crate::transport::net::tcp::protocol::connection::Phase;
use crate::transport::net::tcp::protocol::memory::Memory;
use crate::transport::net::tcp::protocol::peer::{Loss, Presence};
use std::time::Duration;

/// For how long a connection is doubted before it is watched over.
const DOUBTED_FOR: Duration = Duration::from_millis(250);
/// How long a watch may take until it is answered: the kernel asks twice meanwhile.
pub(super) const ANSWERED_WITHIN: Duration = Duration::from_millis(2500);
/// What passes after a watch that was answered, and closed, and after one that could not be made at all.
const PAUSE: Duration = Duration::from_secs(1);
const SHORT_PAUSE: Duration = Duration::from_millis(100);

impl<M: Memory> Rank<M> {
    /// Says whether the other end's system leaves something unanswered that went over a connection, or has no room for more, as
    /// far as it has said.
    pub fn doubted(&mut self, at: u32, is_doubted: bool) {
        let now = self.now;
        let Some(connection) = self.connections.get_mut(at) else {
            return;
        };
        let (peer, rail) = (connection.peer, connection.rail);
        let since = &mut connection.outbound.doubted_since;
        match (is_doubted, *since) {
            (true, None) => {
                *since = Some(now);
                self.count_doubts(peer, rail);
                self.wake_by(now + DOUBTED_FOR);
            }
            (false, Some(_)) => {
                *since = None;
                self.count_doubts(peer, rail);
                self.stop_watching(peer, rail);
            }
            (true, Some(_)) | (false, None) => {}
        }
    }

    /// Says that the other end's system was heard over a connection a moment ago.
    pub fn answered(&mut self, at: u32) {
        let now = self.now;
        let connection = self.connections.get(at);
        if let Some((Some(peer), rail)) = connection.map(|it| (it.peer, it.rail)) {
            self.peers[peer as usize].rails[rail as usize].heard = Some(now);
        }
    }

    /// Whether the host of a rank was heard over a rail within the last so long, by whatever connection to a rank there.
    pub(super) fn has_heard(&self, peer: u32, rail: u32, within: Duration) -> bool {
        let since = self.now.saturating_sub(within);
        let heard = |peer: &u32| self.peers[*peer as usize].rails[rail as usize].heard;
        self.host(peer)
            .iter()
            .any(|peer| heard(peer).is_some_and(|heard| heard > since))
    }

    /// Watches over those connections of a rank that have been doubted for long, or notes when that is due.
    pub(super) fn watch(&mut self, peer: u32) {
        let to = &self.peers[peer as usize];
        if !matches!(to.presence, Presence::Here | Presence::Leaving) {
            return;
        }
        for rail in 0..self.job.rails {
            let of_rail = &self.peers[peer as usize].rails[rail as usize];
            let (is_watched, next) = (of_rail.watch.is_some(), of_rail.watch_next);
            if let (false, Some(since)) = (is_watched, of_rail.doubted_since) {
                match next.max(since + DOUBTED_FOR) {
                    due if due <= self.now => self.begin_watch(peer, rail),
                    due => self.wake_by(due),
                }
            }
        }
    }

    /// Those connections over a rail that are doubted.
    fn doubted_ones(&self, peer: u32, rail: u32) -> impl Iterator<Item = (u32, Duration)> {
        let all = self.connections.iter();
        let of_rail = all.filter(move |(_, it)| (it.peer, it.rail) == (Some(peer), rail));
        let carry = of_rail.filter(|(_, it)| !it.is_watch);
        carry.filter_map(|(at, it)| Some((at, it.outbound.doubted_since?)))
    }

    /// Finds out since when a connection of a rail has been doubted, which changes seldom.
    pub(super) fn count_doubts(&mut self, peer: Option<u32>, rail: u32) {
        if let Some(peer) = peer {
            let since = self.doubted_ones(peer, rail).map(|(_, since)| since).min();
            self.peers[peer as usize].rails[rail as usize].doubted_since = since;
        }
    }

    fn begin_watch(&mut self, peer: u32, rail: u32) {
        let connection = self.add(Some(peer), rail, Phase::Connecting);
        let of_rail = &mut self.peers[peer as usize].rails[rail as usize];
        let since = *of_rail.asks_since.get_or_insert(self.now);
        let deadline = (since + ANSWERED_WITHIN).max(self.now + LEAST_ATTEMPT);
        self.wake_by(deadline);
        if let Some(watch) = self.connections.get_mut(connection) {
            (watch.is_watch, watch.deadline) = (true, deadline);
        }
        self.peers[peer as usize].rails[rail as usize].watch = Some(connection);
        self.actions.push_back(Action::Connect {
            connection,
            peer,
            rail,
        });
    }

    /// A watch is answered: the other end's system is there.
    pub(super) fn watch_answered(&mut self, at: u32) {
        let Some(watch) = self.connections.get_mut(at) else {
            return;
        };
        watch.phase = Phase::Watching;
        watch.deadline = Duration::MAX;
        let (peer, rail) = (watch.peer, watch.rail);
        self.answered(at);
        if let Some(peer) = peer {
            self.peers[peer as usize].rails[rail as usize].asks_since = None;
        }
        self.stop_watching(peer, rail);
    }

    /// Ends the watch over a rail of which no connection is doubted any more.
    fn stop_watching(&mut self, peer: Option<u32>, rail: u32) {
        let Some(peer) = peer else {
            return;
        };
        let of_rail = &mut self.peers[peer as usize].rails[rail as usize];
        if of_rail.doubted_since.is_some() {
            return;
        }
        (of_rail.is_unanswered, of_rail.asks_since) = (false, None);
        if let Some(watch) = of_rail.watch.take() {
            self.close(watch, Loss::Closed);
        }
    }

    /// Ends a watch that was answered when the last connection is lost that was doubted.
    pub(super) fn end_answered_watch(&mut self, peer: u32, rail: u32) {
        let watch = self.peers[peer as usize].rails[rail as usize].watch;
        let watch = watch.and_then(|at| self.connections.get(at));
        if watch.is_some_and(|it| matches!(it.phase, Phase::Watching)) {
            self.stop_watching(Some(peer), rail);
        }
    }

    /// A watch has ended, and that may say that the other end's system is gone.
    pub(super) fn watch_lost(&mut self, peer: u32, rail: u32, loss: Loss) {
        let is_heard = self.has_heard(peer, rail, ANSWERED_WITHIN);
        let now = self.now;
        let of_rail = &mut self.peers[peer as usize].rails[rail as usize];
        of_rail.watch = None;
        if !loss.is_silence() || is_heard {
            (of_rail.is_unanswered, of_rail.asks_since) = (false, None);
            of_rail.watch_next = now + PAUSE;
            return self.wake_by(now + PAUSE);
        }
        // Who could not ask has not waited for an answer.
        if of_rail
            .asks_since
            .is_some_and(|since| now < since + ANSWERED_WITHIN)
        {
            of_rail.watch_next = now + SHORT_PAUSE;
            return self.wake_by(now + SHORT_PAUSE);
        }
        of_rail.is_unanswered = true;
        let doubted: Vec<u32> = self.doubted_ones(peer, rail).map(|(at, _)| at).collect();
        if doubted.is_empty() {
            return self.judge_unanswered((peer, rail), loss);
        }
        for at in doubted {
            self.close(at, Loss::Silent);
        }
    }

    /// Gives a rank up that has no connection, if no rail leads to its system any more.
    fn judge_unanswered(&mut self, (peer, rail): (u32, u32), loss: Loss) {
        let to = &mut self.peers[peer as usize];
        to.rails[rail as usize].loss = Some(loss);
        if to.presence == Presence::Here && to.open.is_empty() && to.is_silent() {
            self.lose(peer, loss);
        }
    }
}
