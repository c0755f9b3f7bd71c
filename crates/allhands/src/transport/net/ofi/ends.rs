//! Ends: what the provider says of messages that have ended or failed.

use super::abi::{self, CqEntry, CqError};
use super::driver::OfiNetwork;
use super::library::Library;
use super::operation::{Failure, Kind, Stage};
use super::registration::Place;
use crate::transport::net::{Ended, LossCause, LostRank};
use std::ffi::c_int;
use std::ptr;

/// How many ends are read at once, and how often in one look.
const ENTRIES: usize = 16;
const MOST_READS: usize = 16;

impl OfiNetwork {
    /// Reads what has ended on all rails.
    pub(super) fn read_all(&mut self) {
        for rail in 0..self.rails.len() {
            self.read_rail(rail);
        }
    }

    fn read_rail(&mut self, rail: usize) {
        let nothing = CqEntry {
            op_context: ptr::null_mut(),
            flags: 0,
            len: 0,
            buf: ptr::null_mut(),
            data: 0,
            tag: 0,
        };
        for _ in 0..MOST_READS {
            let mut entries = [nothing; ENTRIES];
            let endpoint = &mut self.rails[rail].endpoint;
            let read = endpoint.read(&mut entries);
            if read > 0 {
                self.has_found = true;
                for entry in &entries[..(read as usize).min(ENTRIES)] {
                    self.ended(entry);
                }
                if read as usize == ENTRIES {
                    continue;
                }
                return;
            }
            match -read as c_int {
                0 | abi::EAGAIN => return,
                abi::EAVAIL => match endpoint.read_error() {
                    Some(error) => {
                        self.has_found = true;
                        self.failed(&error);
                    }
                    None => return,
                },
                error => {
                    let says = endpoint.library.says(error);
                    let why = format!("libfabric cannot say what has ended: {says}");
                    self.broken.get_or_insert(why);
                    return;
                }
            }
        }
    }

    /// A message has ended well.
    pub(super) fn ended(&mut self, entry: &CqEntry) {
        // SAFETY: the provider gives back what it was given, which is one of ours.
        let Some(number) = (unsafe { self.operations.of_context(entry.op_context) }) else {
            return;
        };
        let operation = self.operations.get(number);
        let is_outgoing = operation.kind.is_outgoing();
        let end = match operation.kind {
            Kind::Send | Kind::Put | Kind::Signal => Ended::Whole(operation.bytes),
            Kind::Listen | Kind::Attend => Ended::Whole(entry.len),
            Kind::Receive if self.layout.differ(entry.tag, operation.tag) => Ended::Differs,
            Kind::Receive if entry.len > operation.bytes => Ended::TooLong,
            Kind::Receive => Ended::Whole(entry.len),
        };
        let is_wanted = operation.is_held && operation.cancelled.is_none();
        if let (Ended::Whole(bytes), false, true, Some(Place::Buffer(buffer))) =
            (end, is_outgoing, is_wanted, &operation.place)
        {
            let bytes = bytes.min(operation.bytes);
            // SAFETY: memory of a receive that has neither ended nor was cancelled, which is writable and used by nobody else, as
            // `Network::receive` asks, or ours for a signal, and no shorter than this; the buffer is ours.
            unsafe { ptr::copy_nonoverlapping(buffer.memory, operation.memory, bytes) };
        }
        if operation.kind == Kind::Listen {
            self.signal_came(number, entry.len);
            return;
        }
        let is_first = is_wanted && !is_outgoing && operation.is_first;
        self.operations.posted -= 1;
        self.end(number, Ok(end));
        if is_first && self.rails.len() > 1 {
            self.first_came(number, entry.tag);
        }
    }

    /// A message has failed.
    pub(super) fn failed(&mut self, error: &CqError) {
        // SAFETY: as above.
        let Some(number) = (unsafe { self.operations.of_context(error.op_context) }) else {
            let says = self.library().says(error.err);
            let why = format!("libfabric failed in something that no message asked for: {says}");
            self.broken.get_or_insert(why);
            return;
        };
        let operation = self.operations.at(number);
        if operation.kind == Kind::Listen {
            let says = self.library().says(error.err);
            self.end(number, Err(Failure::Other(says.clone())));
            let why = format!("libfabric cannot receive signals about windows: {says}");
            self.broken.get_or_insert(why);
            return;
        }
        self.operations.posted -= 1;
        let operation = self.operations.at(number);
        // Some say whose it was, and who calls differently is to hear of that rather.
        let is_it = (error.tag ^ operation.tag) & !self.layout.ignored() == 0;
        let tag = if is_it { error.tag } else { 0 };
        // Some providers give the negative of it.
        let end = match error.err.saturating_abs() {
            abi::ETRUNC if self.layout.differ(tag, operation.tag) => Ok(Ended::Differs),
            abi::ETRUNC => Ok(Ended::TooLong),
            reason => Err(self.failure(number, reason)),
        };
        let operation = self.operations.get(number);
        let is_wanted = operation.is_held && operation.cancelled.is_none();
        let is_received = operation.kind == Kind::Receive;
        let is_promised = operation.kind != Kind::Signal;
        let is_first = is_wanted && is_received && operation.is_first && end.is_ok();
        if let (Err(Failure::Other(why)), Some(Ok(_)), None, true) =
            (&end, &operation.end, operation.cancelled, is_promised)
        {
            // Whoever sent it was told that it is away.
            self.broken.get_or_insert(why.clone());
        }
        self.end(number, end);
        if is_first && self.rails.len() > 1 {
            self.first_came(number, tag);
        }
    }

    /// Libfabric, which all rails have in common.
    fn library(&self) -> Library {
        self.rails[0].endpoint.library
    }

    /// Why a message with some rank failed, which may be lost.
    pub(super) fn failure(&mut self, number: u32, error: c_int) -> Failure {
        let operation = self.operations.at(number);
        let (peer, is_cancelled) = (operation.peer, operation.cancelled.is_some());
        let kind = operation.kind;
        // Word that a window is wanted no more, or gone, may go to a rank that has left, for which nobody waits.
        let is_word = kind == Kind::Signal && operation.goal.window.is_none();
        let says = self.library().says(error);
        if error == abi::ECANCELED && is_cancelled {
            return Failure::Other("it was taken back".into());
        }
        match abi::is_loss(error) {
            true if is_word => Failure::Lost(says),
            true => {
                self.lose(LostRank {
                    rank: peer,
                    host: self.words.host(peer).map(String::from),
                    cause: LossCause::Provider(says.clone()),
                });
                Failure::Lost(says)
            }
            false => Failure::Other(match kind {
                Kind::Put => format!("libfabric cannot put into a window of rank {peer}: {says}"),
                _ => format!("libfabric cannot exchange a message with rank {peer}: {says}"),
            }),
        }
    }

    /// The provider has a message no more.
    pub(super) fn end(&mut self, number: u32, end: Result<Ended, Failure>) {
        let operation = self.operations.get(number);
        operation.stage = Stage::Over;
        let (kind, peer, goal) = (operation.kind, operation.peer, operation.goal);
        if let Err(failure) = &end {
            let is_flag = kind == Kind::Signal && goal.window.is_some();
            if let (Failure::Other(why), true) = (failure, is_flag || kind == Kind::Put)
                && operation.cancelled.is_none()
            {
                // Whoever waits for what was put waits for ever, unless all end.
                self.broken.get_or_insert(why.clone());
            }
            if let (Kind::Put, Some(window)) = (kind, goal.window) {
                self.mute(peer, window);
            }
        }
        self.operations.get(number).end.get_or_insert(end);
        self.settle(number);
        if kind == Kind::Put {
            self.put_ended(peer, goal.stretch);
        }
    }
}
