//! The network between nodes: the point-to-point messages of the MPI that the process has loaded.
//!
//! They go through a duplicate of the world that no program sees ([`World`]), in which each communicator has tags of its own.
//! Errors of the MPI come back as codes, as the duplicate's error handler says so, and are handed to the handler of the
//! communicator whose call failed.
//!
//! It owns that duplicate, who has which tags there, the messages under way, and the times of messages between nodes. Agreement makes a
//! communicator's [`MpiNetwork`] and hands it to ours, which alone sends by it; recovery has what failed calls left taken off. It never
//! sends on a program's communicator.

mod constants;
mod medium;
mod requests;
mod traffic;
mod world;

pub(crate) use traffic::Traffic;
pub(crate) use world::{Claim, World, lot};

use crate::abi::Abi;
use crate::context::library::{Library, poll};
use crate::native::functions::Native;
use allhands::transport::net::{Ended, Network, NetworkError, Notice, Ticket};
use requests::Requests;
use std::ffi::{CStr, c_char, c_int};
use std::sync::Arc;
use std::sync::atomic::{AtomicI32, Ordering};

/// The ticket of a message that was copied has this and its length.
const COPIED: u64 = 1 << 63;

/// An error of the MPI.
#[derive(Clone, Copy, Debug)]
struct Failure {
    code: c_int,
}

/// The last of them in this process; 0 is none.
static LAST: AtomicI32 = AtomicI32::new(0);

/// The code of the last error of a message, which is then forgotten.
pub(crate) fn failure() -> Option<c_int> {
    match LAST.swap(0, Ordering::Relaxed) {
        0 => None,
        code => Some(code),
    }
}

impl Failure {
    /// Remembers the code, and gives what the MPI says of it.
    fn into_error(self, native: &Native) -> NetworkError {
        LAST.store(self.code, Ordering::Relaxed);
        // Longer than any MPI's MPI_MAX_ERROR_STRING.
        let (mut text, mut length) = ([0 as c_char; 4096], 0);
        // SAFETY: a code of this MPI, room for the text, and a number.
        unsafe { (native.error_string)(self.code, text.as_mut_ptr(), &raw mut length) };
        text[text.len() - 1] = 0;
        // SAFETY: the last byte is zero, so the text ends inside.
        let text = unsafe { CStr::from_ptr(text.as_ptr()) };
        NetworkError::Other(format!("the MPI says: {}", text.to_string_lossy()))
    }
}

/// One communicator's messages.
pub(crate) struct MpiNetwork {
    native: &'static Native,
    abi: &'static Abi,
    traffic: Arc<Traffic>,
    requests: Requests,
}

impl MpiNetwork {
    /// The network of a communicator whose ranks are these of the world, with the tags that it has claimed.
    pub(crate) fn new(world: &Arc<World>, claim: Claim, ranks: Box<[c_int]>) -> Option<MpiNetwork> {
        let library = Library::get()?;
        let (native, abi) = (&library.native, library.abi.as_ref()?);
        Some(MpiNetwork {
            native,
            abi,
            requests: Requests::new(native, abi, world.constants),
            traffic: Arc::new(Traffic::new((native, abi), world, claim, ranks)),
        })
    }

    /// What goes through it.
    pub(crate) fn traffic(&self) -> Arc<Traffic> {
        Arc::clone(&self.traffic)
    }

    /// The rank in the world, and the tag there.
    fn address(&self, peer: u32, tag: u32) -> Result<(c_int, c_int), NetworkError> {
        let ranks = &self.traffic.ranks;
        let rank = ranks.get(peer as usize).copied().ok_or_else(|| {
            NetworkError::Other(format!("there is no rank {peer} among {}", ranks.len()))
        })?;
        Ok((rank, self.traffic.claim.tag(tag)))
    }

    /// Remembers that messages may be left over, so that nobody else gets the tags.
    #[cold]
    fn failed(&mut self, failure: Failure) -> NetworkError {
        self.traffic.claim.keep(true);
        failure.into_error(self.native)
    }

    /// Begins to send; the number of the message's slot.
    ///
    /// # Safety
    /// As [`Network::send`].
    unsafe fn send_from(
        &mut self,
        rank: c_int,
        tag: c_int,
        from: *const u8,
        bytes: usize,
    ) -> Result<usize, NetworkError> {
        let (native, byte, comm) = (self.native, self.abi.byte, self.traffic.world.comm);
        let begun = match (c_int::try_from(bytes), native.isend_c) {
            (Ok(count), _) => self.requests.begin(Some(bytes), |request| {
                // SAFETY: readable and left alone until the message has ended, as the caller promises; a request to write.
                unsafe { (native.isend)(from, count, byte, rank, tag, comm, request) }
            }),
            (Err(_), Some(isend)) => self.requests.begin(Some(bytes), |request| {
                // SAFETY: as above.
                unsafe { isend(from, bytes as i64, byte, rank, tag, comm, request) }
            }),
            (Err(_), None) => return Err(MpiNetwork::too_long(bytes)),
        };
        match begun {
            Ok(slot) => Ok(slot),
            Err(failure) => Err(self.failed(failure)),
        }
    }

    fn too_long(bytes: usize) -> NetworkError {
        NetworkError::Other(format!(
            "a message of {bytes} bytes is longer than an int can say, and this MPI has no MPI_Isend_c"
        ))
    }
}

// SAFETY: memory goes to MPI_Isend and MPI_Irecv with its length, and the MPI has ended with it when MPI_Test or MPI_Testsome
// says that the message is complete; only then do `test` and `cancel` say so.
unsafe impl Network for MpiNetwork {
    fn tags(&self) -> u32 {
        self.traffic.claim.tags()
    }

    unsafe fn send(
        &mut self,
        to: u32,
        tag: u32,
        from: *const u8,
        bytes: usize,
    ) -> Result<Ticket, NetworkError> {
        let (rank, tag) = self.address(to, tag)?;
        let copies = bytes > 0 && bytes <= self.traffic.world.copied_most;
        if let Some(mut copy) = copies.then(|| self.requests.spare(bytes)).flatten() {
            // SAFETY: readable for that many bytes, as the caller promises; the copy is ours, and no shorter.
            unsafe { std::ptr::copy_nonoverlapping(from, copy.as_mut_ptr(), bytes) };
            // SAFETY: the copy stays where it is until the message has ended.
            let slot = unsafe { self.send_from(rank, tag, copy.as_ptr(), bytes)? };
            self.traffic.count(to, true, true);
            self.requests.keep(slot, copy);
            return Ok(Ticket(COPIED | bytes as u64));
        }
        // SAFETY: the caller's promise.
        let slot = unsafe { self.send_from(rank, tag, from, bytes)? };
        self.traffic.count(to, true, true);
        self.requests.note_peer(slot, to);
        Ok(Ticket(slot as u64))
    }

    unsafe fn receive(
        &mut self,
        from: u32,
        tag: u32,
        into: *mut u8,
        bytes: usize,
    ) -> Result<Ticket, NetworkError> {
        let (rank, tag) = self.address(from, tag)?;
        let (native, byte, comm) = (self.native, self.abi.byte, self.traffic.world.comm);
        let begun = match (c_int::try_from(bytes), native.irecv_c) {
            (Ok(count), _) => self.requests.begin(None, |request| {
                // SAFETY: writable and left alone until the message has ended, as the caller promises; a request to write.
                unsafe { (native.irecv)(into, count, byte, rank, tag, comm, request) }
            }),
            (Err(_), Some(irecv)) => self.requests.begin(None, |request| {
                // SAFETY: as above.
                unsafe { irecv(into, bytes as i64, byte, rank, tag, comm, request) }
            }),
            (Err(_), None) => return Err(MpiNetwork::too_long(bytes)),
        };
        match begun {
            Ok(slot) => {
                self.traffic.count(from, false, true);
                self.requests.note_peer(slot, from);
                Ok(Ticket(slot as u64))
            }
            Err(failure) => Err(self.failed(failure)),
        }
    }

    fn test(&mut self, ticket: Ticket) -> Result<Option<Ended>, NetworkError> {
        if ticket.0 & COPIED != 0 {
            return Ok(Some(Ended::Whole((ticket.0 & !COPIED) as usize)));
        }
        match self.requests.take(ticket.0 as usize) {
            Ok(ended) => Ok(ended),
            Err(failure) => Err(self.failed(failure)),
        }
    }

    fn progress(&mut self) -> Result<(), NetworkError> {
        if !self.requests.are_any() {
            poll();
            return Ok(());
        }
        match self.requests.progress() {
            Ok(()) => Ok(()),
            Err(failure) => Err(self.failed(failure)),
        }
    }

    fn cancel(&mut self, ticket: Ticket) -> bool {
        // The peer's half may come all the same.
        self.traffic.claim.keep(true);
        let is_over = ticket.0 & COPIED != 0 || self.requests.cancel(ticket.0 as usize);
        for (peer, sends) in self.requests.withdrawn() {
            self.traffic.count(peer, sends, false);
        }
        if !is_over {
            // The receiver may wait for the end of what it sends itself; no call is under way here besides this one.
            self.traffic.drain();
        }
        is_over
    }

    /// Of all that may be said only what others may have to wait for is worth a message to each rank.
    fn notify(&mut self, to: u32, notice: &Notice) {
        let Some(rank) = self.traffic.ranks.get(to as usize).copied() else {
            return;
        };
        if !notice.must_come() {
            return;
        }
        let spare = self.requests.spare(Notice::BYTES);
        let mut copy = spare.unwrap_or_else(|| vec![0; Notice::BYTES].into());
        copy[..Notice::BYTES].copy_from_slice(&notice.0);
        let tag = self.traffic.claim.notices();
        // SAFETY: the copy stays where it is until the message has ended.
        if let Ok(slot) = unsafe { self.send_from(rank, tag, copy.as_ptr(), Notice::BYTES) } {
            self.traffic.count(to, true, true);
            self.requests.keep(slot, copy);
        }
    }

    fn hear(&mut self) -> Option<(u32, Notice)> {
        let (tag, mut room) = (self.traffic.claim.notices(), Vec::new());
        let teller = self.traffic.take(tag, &mut room)?;
        Some((teller, Notice(*room.first_chunk()?)))
    }
}
