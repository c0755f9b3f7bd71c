//! Withdrawal: how messages are taken back, and how a rank leaves.

use super::abi::{self, op};
use super::driver::OfiNetwork;
use super::operation::{Failure, Kind, NONE};
use super::registration::Registrar;
use std::time::{Duration, Instant};

/// How long a message may take to be taken back before the endpoint is closed, which takes back all.
pub(super) const TAKEN_BACK_IN: Duration = Duration::from_millis(50);
/// How long a rank that leaves waits until everything that it has sent is away.
const LINGERS: Duration = Duration::from_secs(5);

impl OfiNetwork {
    /// Takes a message back, with all its parts; whether its memory is touched no more.
    pub(super) fn take_back(&mut self, message: u32) -> bool {
        self.now = Instant::now();
        let mut number = message;
        while number != NONE {
            self.take_part_back(number);
            number = self.operations.at(number).next;
        }
        if self.broken.is_none() {
            self.read_all();
        }
        let since = self.operations.at(message).cancelled;
        let is_late = since.is_some_and(|since| self.now - since >= TAKEN_BACK_IN);
        if is_late && self.uses_memory(message) {
            self.abandon();
        }
        if self.uses_memory(message) {
            return false;
        }
        self.let_go(message);
        true
    }

    pub(super) fn remove_waiting(&mut self, number: u32) {
        let operation = self.operations.at(number);
        let (kind, peer, window) = (operation.kind, operation.peer, operation.goal.window);
        if kind != Kind::Attend {
            self.rails[usize::from(operation.rail)].remove(number, operation);
        }
        if let (Kind::Put, Some(window)) = (kind, window) {
            self.mute(peer, window);
        }
        self.end(number, Err(Failure::Other("it was taken back".into())));
    }

    /// Asks the provider for a message that it has.
    pub(super) fn ask_for(&mut self, number: u32) {
        let context = self.operations.context(number);
        let rail = self.operations.at(number).rail;
        let ep = self.rails[usize::from(rail)].endpoint.ep;
        // SAFETY: the endpoint is open, as it has messages; it has this one, by this context. A provider need not manage, which
        // is seen by that the message does not end.
        unsafe {
            if let Some(cancel) = op!((*ep).ops, abi::EpOps, cancel) {
                let _ = cancel(ep.cast(), context);
            }
        }
    }

    /// Closes all endpoints, which takes back everything: whatever cannot be taken back alone stopped the communicator.
    pub(super) fn abandon(&mut self) {
        let why = "the endpoint was closed, as messages could not be taken back";
        self.broken.get_or_insert_with(|| why.into());
        if !self.close() {
            // Memory of messages would be in use after the calls that they belong to.
            let rank = self.rank;
            eprintln!(
                "allhands: rank {rank} cannot end its messages over libfabric; it ends itself"
            );
            std::process::abort();
        }
    }

    /// Closes all endpoints, and with them ends all messages; whether that was possible. Those that break when they are closed with
    /// messages under way are never used again instead.
    pub(super) fn close(&mut self) -> bool {
        if !self.is_idle() {
            for rail in &mut self.rails {
                rail.endpoint.leave_open();
            }
        }
        if !(0..self.rails.len()).all(|rail| self.shut(rail)) {
            return false;
        }
        self.is_closed = true;
        for rail in &mut self.rails {
            rail.sends.clear();
            rail.receives.clear();
        }
        for peer in &mut self.peers {
            peer.fence.clear();
        }
        let all: Vec<u32> = self.operations.under_way().map(|(n, _)| n).collect();
        self.operations.posted = 0;
        for number in all {
            let why = "its endpoint is closed".to_string();
            self.end(number, Err(Failure::Other(why)));
        }
        for (at, rail) in self.rails.iter_mut().enumerate() {
            self.windows
                .take_regions(at)
                .for_each(Registrar::unregister_window);
            rail.registrar.close();
        }
        self.windows.close();
        true
    }

    /// Closes the endpoint of a rail; whether that was possible.
    fn shut(&mut self, at: usize) -> bool {
        let rail = &mut self.rails[at];
        if rail.endpoint.shut() {
            return true;
        }
        // Some do not close while memory is bound to them; and memory that is unregistered is not touched either.
        let all = self.operations.under_way();
        let its = all.filter(|(_, operation)| usize::from(operation.rail) == at);
        let its: Vec<u32> = its.map(|(number, _)| number).collect();
        for number in its {
            if let Some(place) = self.operations.get(number).place.take() {
                rail.registrar.release(place);
            }
        }
        rail.registrar.unregister_buffers();
        self.windows
            .take_regions(at)
            .for_each(Registrar::unregister_window);
        rail.endpoint.shut()
    }
}

impl Drop for OfiNetwork {
    /// Waits until what was sent is away, and only then leaves.
    fn drop(&mut self) {
        let until = Instant::now() + LINGERS;
        let is_sending = |network: &OfiNetwork| {
            let mut all = network.operations.under_way();
            all.any(|(_, o)| {
                let is_wanted = o.kind != Kind::Signal || o.goal.window.is_some();
                o.kind.is_outgoing() && is_wanted && network.peers[o.peer as usize].lost.is_none()
            })
        };
        while is_sending(self) && Instant::now() < until && self.look().is_ok() {
            if !self.has_found {
                std::thread::yield_now();
            }
        }
        if !self.close() {
            // Nobody knows whether the provider still writes there.
            self.operations.leak();
            std::mem::forget(std::mem::take(&mut self.landings));
            std::mem::forget(std::mem::take(&mut self.windows));
        }
    }
}
