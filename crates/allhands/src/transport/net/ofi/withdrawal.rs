//! Withdrawal: how messages are taken back, and how a rank leaves.

use super::abi::{self, op};
use super::driver::OfiNetwork;
use super::operation::{Failure, Stage};
use std::time::{Duration, Instant};

/// How long a message may take to be taken back before the endpoint is closed, which takes back all.
const TAKEN_BACK_IN: Duration = Duration::from_millis(50);
/// How long a rank that leaves waits until everything that it has sent is away.
const LINGERS: Duration = Duration::from_secs(5);

impl OfiNetwork {
    /// Takes a message back; whether its memory is touched no more.
    pub(super) fn take_back(&mut self, number: u32) -> bool {
        self.now = Instant::now();
        let now = self.now;
        let operation = self.operations.get(number);
        let is_first = operation.cancelled.is_none();
        let since = *operation.cancelled.get_or_insert(now);
        match operation.stage {
            Stage::Waiting => self.remove_waiting(number),
            Stage::Posted if is_first => self.ask_for(number),
            Stage::Posted | Stage::Free | Stage::Over => {}
        }
        if self.broken.is_none() {
            self.read_all();
        }
        if self.operations.get(number).uses_memory() && now - since >= TAKEN_BACK_IN {
            self.abandon();
        }
        let operation = self.operations.get(number);
        if operation.uses_memory() {
            return false;
        }
        operation.is_held = false;
        self.settle(number);
        true
    }

    pub(super) fn remove_waiting(&mut self, number: u32) {
        let operation = self.operations.get(number);
        let peer = operation.peer as usize;
        match operation.is_send {
            true => {
                self.sends.retain(|other| *other != number);
                self.peers[peer].waiting -= 1;
            }
            false => self.receives.retain(|other| *other != number),
        }
        self.end(number, Err(Failure::Other("it was taken back".into())));
    }

    /// Asks the provider for a message that it has.
    pub(super) fn ask_for(&mut self, number: u32) {
        let context = self.operations.context(number);
        let ep = self.endpoint.ep;
        // SAFETY: the endpoint is open, as it has messages; it has this one, by this context. A provider need not manage, which
        // is seen by that the message does not end.
        unsafe {
            if let Some(cancel) = op!((*ep).ops, abi::EpOps, cancel) {
                let _ = cancel(ep.cast(), context);
            }
        }
    }

    /// Closes the endpoint, which takes back everything: whatever cannot be taken back alone stopped the communicator.
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

    /// Closes the endpoint, and with it ends all messages; whether that was possible.
    pub(super) fn close(&mut self) -> bool {
        if !self.endpoint.shut() {
            // Some do not close while memory is bound to them; and memory that is unregistered is not touched either.
            let all: Vec<u32> = self.operations.under_way().map(|(n, _)| n).collect();
            for number in all {
                if let Some(place) = self.operations.get(number).place.take() {
                    self.registrar.release(place);
                }
            }
            self.registrar.unregister_buffers();
            if !self.endpoint.shut() {
                return false;
            }
        }
        self.sends.clear();
        self.receives.clear();
        let all: Vec<u32> = self.operations.under_way().map(|(n, _)| n).collect();
        self.operations.posted = 0;
        for number in all {
            let why = "its endpoint is closed".to_string();
            self.end(number, Err(Failure::Other(why)));
        }
        self.registrar.close();
        true
    }
}

impl Drop for OfiNetwork {
    /// Waits until what was sent is away, and only then leaves.
    fn drop(&mut self) {
        let until = Instant::now() + LINGERS;
        let is_sending = |network: &OfiNetwork| {
            let mut all = network.operations.under_way();
            all.any(|(_, o)| o.is_send && network.peers[o.peer as usize].lost.is_none())
        };
        while is_sending(self) && Instant::now() < until && self.look().is_ok() {
            if !self.has_found {
                std::thread::yield_now();
            }
        }
        if !self.close() {
            // Nobody knows whether the provider still writes there.
            self.operations.leak();
        }
    }
}
