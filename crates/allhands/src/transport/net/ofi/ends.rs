//! Ends: what the provider says of messages that have ended or failed.

use super::abi::{self, CqEntry, CqError};
use super::driver::OfiNetwork;
use super::library::Library;
use super::operation::{Failure, Stage};
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
        let end = match operation.is_send {
            true => Ended::Whole(operation.bytes),
            false if self.layout.differ(entry.tag, operation.tag) => Ended::Differs,
            false if entry.len > operation.bytes => Ended::TooLong,
            false => Ended::Whole(entry.len),
        };
        let is_wanted = operation.is_held && operation.cancelled.is_none();
        if let (Ended::Whole(bytes), false, true, Some(Place::Buffer(buffer))) =
            (end, operation.is_send, is_wanted, &operation.place)
        {
            // SAFETY: memory of a receive that has neither ended nor was cancelled, which is writable and used by nobody else, as
            // `Network::receive` asks, and no shorter than this; the buffer is ours.
            unsafe { ptr::copy_nonoverlapping(buffer.memory, operation.memory, bytes) };
        }
        let is_first = is_wanted && !operation.is_send && operation.is_first;
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
        let is_first = is_wanted && !operation.is_send && operation.is_first && end.is_ok();
        if let (Err(Failure::Other(why)), Some(Ok(_)), None) =
            (&end, &operation.end, operation.cancelled)
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
        let says = self.library().says(error);
        if error == abi::ECANCELED && is_cancelled {
            return Failure::Other("it was taken back".into());
        }
        match abi::is_loss(error) {
            true => {
                self.lose(LostRank {
                    rank: peer,
                    host: self.words.host(peer).map(String::from),
                    cause: LossCause::Provider(says.clone()),
                });
                Failure::Lost(says)
            }
            false => Failure::Other(format!(
                "libfabric cannot exchange a message with rank {peer}: {says}"
            )),
        }
    }

    /// The provider has a message no more.
    pub(super) fn end(&mut self, number: u32, end: Result<Ended, Failure>) {
        let operation = self.operations.get(number);
        operation.stage = Stage::Over;
        operation.end.get_or_insert(end);
        self.settle(number);
    }
}
