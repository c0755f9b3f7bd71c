//! Watching: how a rank finds out that the system at the other end of a full connection is gone.
//!
//! A kernel that has something to send, and was told that there is no room, asks again ever more seldom, at last every two
//! minutes. So a rank whose connection has been full for a while makes another one, over which nothing is said: the other
//! end's system answers it whether or not its rank looks at anything, and a system that is gone does not.

use super::{Action, Rank};
use crate::transport::net::tcp::protocol::connection::Phase;
use crate::transport::net::tcp::protocol::memory::Memory;
use crate::transport::net::tcp::protocol::peer::{Loss, Presence};
use std::time::Duration;

/// For how long a connection is full before it is watched over.
const FULL_FOR: Duration = Duration::from_millis(250);
/// What passes after a watch that was answered, and closed.
const PAUSE: Duration = Duration::from_secs(1);
/// How many watches, one after another, are not answered by a system that is gone.
const MOST_UNANSWERED: u32 = 2;

impl<M: Memory> Rank<M> {
    /// Says whether the socket of a connection has bytes for which the other end's system has no room, as far as it has said.
    pub fn full(&mut self, at: u32, is_full: bool) {
        let now = self.now;
        let Some(connection) = self.connections.get_mut(at) else {
            return;
        };
        let (peer, rail) = (connection.peer, connection.rail);
        let since = &mut connection.outbound.full_since;
        match (is_full, *since) {
            (true, None) => {
                *since = Some(now);
                self.wake_by(now + FULL_FOR);
            }
            (false, Some(_)) => {
                *since = None;
                self.stop_watching(peer, rail);
            }
            (true, Some(_)) | (false, None) => {}
        }
    }

    /// Watches over those connections of a rank that have been full for long, or notes when that is due.
    pub(super) fn watch(&mut self, peer: u32) {
        let to = &self.peers[peer as usize];
        if !matches!(to.presence, Presence::Here | Presence::Leaving) {
            return;
        }
        for rail in 0..self.job.rails {
            let of_rail = &self.peers[peer as usize].rails[rail as usize];
            let (is_watched, next) = (of_rail.watch.is_some(), of_rail.watch_next);
            if let (false, Some(since)) = (is_watched, self.full_since(peer, rail)) {
                match next.max(since + FULL_FOR) {
                    due if due <= self.now => self.begin_watch(peer, rail),
                    due => self.wake_by(due),
                }
            }
        }
    }

    /// Since when a connection of a rail has been full, the one that has been for longest.
    fn full_since(&self, peer: u32, rail: u32) -> Option<Duration> {
        let open = self.peers[peer as usize].open.iter();
        let open = open.filter_map(|at| self.connections.get(*at));
        let of_rail = open.filter(|connection| connection.rail == rail);
        of_rail.filter_map(|it| it.outbound.full_since).min()
    }

    fn begin_watch(&mut self, peer: u32, rail: u32) {
        let connection = self.add(Some(peer), rail, Phase::Connecting);
        if let Some(watch) = self.connections.get_mut(connection) {
            watch.is_watch = true;
        }
        self.peers[peer as usize].rails[rail as usize].watch = Some(connection);
        self.actions.push_back(Action::Connect {
            connection,
            peer,
            rail,
        });
    }

    /// A connection is full no more.
    pub(super) fn stop_watching(&mut self, peer: Option<u32>, rail: u32) {
        let Some(peer) = peer else {
            return;
        };
        if self.full_since(peer, rail).is_some() {
            return;
        }
        let of_rail = &mut self.peers[peer as usize].rails[rail as usize];
        of_rail.unanswered = 0;
        if let Some(watch) = of_rail.watch.take() {
            self.close(watch, Loss::Closed);
        }
    }

    /// A watch has ended, and that may say that the other end's system is gone.
    pub(super) fn watch_lost(&mut self, peer: u32, rail: u32, loss: Loss) {
        let of_rail = &mut self.peers[peer as usize].rails[rail as usize];
        of_rail.watch = None;
        if matches!(loss, Loss::Refused | Loss::Closed | Loss::Shortage(_)) {
            of_rail.unanswered = 0;
            let next = self.now + PAUSE;
            of_rail.watch_next = next;
            return self.wake_by(next);
        }
        of_rail.unanswered += 1;
        if of_rail.unanswered < MOST_UNANSWERED {
            return self.wake_by(self.now);
        }
        let open = self.peers[peer as usize].open.clone();
        for at in open {
            let connection = self.connections.get(at);
            if connection.is_some_and(|it| it.rail == rail && it.outbound.full_since.is_some()) {
                self.close(at, Loss::Silent);
            }
        }
        self.peers[peer as usize].rails[rail as usize].unanswered = 0;
    }
}
