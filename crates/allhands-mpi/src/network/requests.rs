//! Requests: the messages of one communicator that are under way, in the arrays that MPI wants.

use super::constants::{Constants, MOST_STATUS_BYTES, UNDEFINED};
use super::{Failure, failure};
use crate::abi::{Abi, Family, Handle};
use crate::context::say;
use crate::native::functions::Native;
use allhands::transport::net::Ended;
use std::ffi::c_int;
use std::time::{Duration, Instant};

/// How many messages there is room for at first.
const SLOTS: usize = 16;

/// How many messages that have not ended are asked about one after another.
const AT_ONCE: usize = 2;

/// The most memory for copies.
const COPIES: usize = 16 << 20;

/// How long a message may take to be over once it is not wanted any more.
const PATIENCE: Duration = Duration::from_secs(2);

/// What is known of a message.
#[derive(Clone, Copy, Debug)]
enum Slot {
    /// There is none.
    Free,
    /// A send of so many bytes.
    Sending(usize),
    /// A send of a copy, about which nobody asks.
    Copied,
    Receiving,
    Ended(Ended),
    Failed(c_int),
    /// Not wanted any more, since then, be it one that is sent.
    Cancelled(Instant, bool),
}

/// The messages under way.
pub(super) struct Requests {
    native: &'static Native,
    abi: &'static Abi,
    constants: Constants,
    slots: Vec<Slot>,
    /// By slot: the copy that is sent.
    copies: Vec<Option<Box<[u8]>>>,
    /// Copies that have been sent, to be used again, and the bytes of all there are.
    spare: Vec<Box<[u8]>>,
    copied_bytes: usize,
    /// An error of a copy that was sent.
    failed: Option<Failure>,
    /// As many handles, one after another, each of the ABI's size.
    handles: Vec<u64>,
    /// The numbers of those that `MPI_Testsome` says have ended.
    indices: Vec<c_int>,
    statuses: Vec<[u64; MOST_STATUS_BYTES / 8]>,
    /// By slot: the rank at the other end.
    peers: Vec<u32>,
    /// At the other ends of messages that were cancelled, and so never were: ranks, and whether they were sent to.
    withdrawn: Vec<(u32, bool)>,
    /// No slot below is free.
    lowest: usize,
    /// No slot from here on is used.
    top: usize,
    /// How many handles the MPI still has to end.
    pending: usize,
    /// The slot that is asked about next.
    turn: usize,
}

impl Requests {
    pub(super) fn new(
        native: &'static Native,
        abi: &'static Abi,
        constants: Constants,
    ) -> Requests {
        let mut requests = Requests {
            native,
            abi,
            constants,
            slots: Vec::new(),
            copies: Vec::new(),
            spare: Vec::new(),
            copied_bytes: 0,
            failed: None,
            handles: Vec::new(),
            indices: Vec::new(),
            statuses: Vec::new(),
            peers: Vec::new(),
            withdrawn: Vec::new(),
            lowest: 0,
            top: 0,
            pending: 0,
            turn: 0,
        };
        requests.grow(SLOTS);
        requests
    }

    /// Whether the MPI has any message of ours under way.
    pub(super) fn are_any(&self) -> bool {
        self.pending > 0
    }

    fn grow(&mut self, slots: usize) {
        let bytes = slots * self.constants.request_bytes;
        self.slots.resize(slots, Slot::Free);
        self.copies.resize(slots, None);
        self.handles.resize(bytes.div_ceil(size_of::<u64>()), 0);
        self.indices.resize(slots, 0);
        self.statuses.resize(slots, [0; MOST_STATUS_BYTES / 8]);
        self.peers.resize(slots, 0);
    }

    /// Where the handle of a slot stands.
    fn handle(&mut self, slot: usize) -> *mut Handle {
        assert!(slot < self.slots.len(), "there is a handle for each slot");
        let start = self.handles.as_mut_ptr().cast::<u8>();
        start
            .wrapping_add(slot * self.constants.request_bytes)
            .cast()
    }

    /// Writes "no request" to where the handle of a slot stands.
    fn clear(&mut self, slot: usize) {
        let (at, null) = (self.handle(slot), self.constants.request_null);
        // SAFETY: inside the array, which is aligned for the larger of the two sizes, and so is each place for its own.
        unsafe {
            match self.constants.request_bytes {
                4 => at.cast::<u32>().write(null as u32),
                _ => at.cast::<usize>().write(null),
            }
        }
    }

    /// Begins a message with `begin`, which the MPI gives the handle of; the number of its slot.
    ///
    /// `sends` is the length of a message that is sent.
    pub(super) fn begin(
        &mut self,
        sends: Option<usize>,
        begin: impl FnOnce(*mut Handle) -> c_int,
    ) -> Result<usize, Failure> {
        let free = |slot: &Slot| matches!(slot, Slot::Free);
        let slot = match self.slots[self.lowest..].iter().position(free) {
            Some(distance) => self.lowest + distance,
            None => {
                let slot = self.slots.len();
                self.grow(2 * slot);
                slot
            }
        };
        self.clear(slot);
        match begin(self.handle(slot)) {
            0 => {}
            code => {
                self.clear(slot);
                return Err(Failure { code });
            }
        }
        self.slots[slot] = sends.map_or(Slot::Receiving, Slot::Sending);
        self.lowest = slot + 1;
        for between in self.top..slot {
            self.clear(between);
        }
        self.top = self.top.max(slot + 1);
        self.pending += 1;
        Ok(slot)
    }

    /// Notes which rank is at the other end of a message.
    pub(super) fn note_peer(&mut self, slot: usize, peer: u32) {
        self.peers[slot] = peer;
    }

    /// The messages that were cancelled since this was asked last: ranks, and whether they were sent to.
    pub(super) fn withdrawn(&mut self) -> Vec<(u32, bool)> {
        std::mem::take(&mut self.withdrawn)
    }

    /// Memory for a copy of so many bytes; `None` if so much is in use that it is better to wait.
    pub(super) fn spare(&mut self, bytes: usize) -> Option<Box<[u8]>> {
        let fitting = (0..self.spare.len()).filter(|at| self.spare[*at].len() >= bytes);
        if let Some(at) = fitting.min_by_key(|at| self.spare[*at].len()) {
            return Some(self.spare.swap_remove(at));
        }
        let bytes = bytes.next_power_of_two();
        if self.copied_bytes + bytes > COPIES {
            return None;
        }
        self.copied_bytes += bytes;
        Some(vec![0; bytes].into())
    }

    /// Keeps a copy until the message in this slot, which sends it, is away.
    pub(super) fn keep(&mut self, slot: usize, copy: Box<[u8]>) {
        self.slots[slot] = Slot::Copied;
        self.copies[slot] = Some(copy);
    }

    /// Asks the MPI about one message.
    fn ask(&mut self, slot: usize) {
        let (mut flag, mut status) = (0, [0u64; MOST_STATUS_BYTES / 8]);
        let (test, handle) = (self.native.test, self.handle(slot));
        // SAFETY: the handle of a message under way, and room for a number and a status.
        let code = unsafe { test(handle, &raw mut flag, status.as_mut_ptr().cast()) };
        if code != 0 || flag != 0 {
            self.end(slot, code, status.as_ptr().cast());
        }
    }

    /// Notes that the MPI has ended a message, with a code, and a status that says how much came.
    fn end(&mut self, slot: usize, code: c_int, status: *const u8) {
        self.pending -= 1;
        if let Slot::Copied = self.slots[slot] {
            self.spare.extend(self.copies[slot].take());
            if code != 0 {
                self.failed = Some(Failure { code });
            }
            self.release(slot);
            return;
        }
        self.slots[slot] = match (code, self.slots[slot]) {
            // Nobody asks how.
            (code, Slot::Cancelled(_, sends)) => {
                let mut flag = 0;
                // SAFETY: the status of a message that has ended, and a number to write to.
                let asked = unsafe { (self.native.test_cancelled)(status, &raw mut flag) };
                if code == 0 && asked == 0 && flag != 0 {
                    self.withdrawn.push((self.peers[slot], sends));
                }
                Slot::Ended(Ended::Whole(0))
            }
            (0, Slot::Sending(bytes)) => Slot::Ended(Ended::Whole(bytes)),
            (0, _) => {
                let mut bytes = 0;
                // SAFETY: the status of a message that has ended, and a number to write to.
                let code =
                    unsafe { (self.native.get_elements_x)(status, self.abi.byte, &raw mut bytes) };
                match (code, usize::try_from(bytes)) {
                    (0, Ok(bytes)) => Slot::Ended(Ended::Whole(bytes)),
                    (code, _) => Slot::Failed(code.max(self.abi.err_other)),
                }
            }
            (code, _) if self.class(code) == self.abi.err_truncate => Slot::Ended(Ended::TooLong),
            (code, _) => Slot::Failed(code),
        };
    }

    fn class(&self, code: c_int) -> c_int {
        let mut class = code;
        // SAFETY: a code of this MPI, and a number to write to.
        unsafe { (self.native.error_class)(code, &raw mut class) };
        class
    }

    /// Has the MPI take all messages further.
    pub(super) fn progress(&mut self) -> Result<(), Failure> {
        match self.abi.family {
            Family::Mpich | Family::Standard => self.test_by_turns(),
            Family::OpenMpi => self.test_some()?,
        }
        self.failed.take().map_or(Ok(()), Err)
    }

    /// Asks about one message after another, in each call from where it stopped in the last one, until some are found that have not
    /// ended. Each of those takes all messages further.
    ///
    /// MPICH hands an error that `MPI_Testsome` finds to the handler of `MPI_COMM_SELF`, which ends the program by default, and
    /// one that `MPI_Test` finds to that of the duplicate.
    fn test_by_turns(&mut self) {
        let (mut waits, top) = (0, self.top);
        for _ in 0..top {
            let slot = self.turn.min(top - 1);
            self.turn = if slot + 1 < top { slot + 1 } else { 0 };
            if matches!(
                self.slots[slot],
                Slot::Free | Slot::Ended(_) | Slot::Failed(_)
            ) {
                continue;
            }
            let pending = self.pending;
            self.ask(slot);
            waits += usize::from(self.pending == pending);
            if waits == AT_ONCE {
                break;
            }
        }
    }

    /// Asks about all messages at once.
    fn test_some(&mut self) -> Result<(), Failure> {
        let mut ended = 0;
        let (top, handles) = (self.top as c_int, self.handles.as_mut_ptr().cast());
        let (indices, statuses) = (self.indices.as_mut_ptr(), self.statuses.as_mut_ptr().cast());
        // SAFETY: so many handles, each of a message under way or of none, and room for as many numbers and statuses.
        let code =
            unsafe { (self.native.testsome)(top, handles, &raw mut ended, indices, statuses) };
        let in_status = code != 0 && self.class(code) == self.constants.err_in_status;
        if code != 0 && !in_status {
            return Err(Failure { code });
        }
        if ended == UNDEFINED {
            return Ok(());
        }
        for number in 0..usize::try_from(ended).unwrap_or(0) {
            let slot = self.indices[number] as usize;
            let start = self.statuses.as_ptr().cast::<u8>();
            let status = start.wrapping_add(number * self.constants.status_bytes);
            let code = match in_status {
                // SAFETY: inside the array of statuses, of which none is longer than the places there; aligned for an int, as
                // is the length of every status.
                true => unsafe {
                    status
                        .wrapping_add(self.constants.error_at)
                        .cast::<c_int>()
                        .read()
                },
                false => 0,
            };
            self.end(slot, code, status);
        }
        Ok(())
    }

    /// How a message ended, if it has; its slot is then free.
    pub(super) fn take(&mut self, slot: usize) -> Result<Option<Ended>, Failure> {
        match self.slots.get(slot) {
            Some(Slot::Ended(ended)) => {
                let ended = *ended;
                self.release(slot);
                Ok(Some(ended))
            }
            Some(Slot::Failed(code)) => Err(Failure { code: *code }),
            _ => Ok(None),
        }
    }

    fn release(&mut self, slot: usize) {
        self.slots[slot] = Slot::Free;
        self.lowest = self.lowest.min(slot);
        while self.top > 0 && matches!(self.slots[self.top - 1], Slot::Free) {
            self.top -= 1;
        }
    }

    /// Ends a message that is not wanted any more; whether it is over.
    ///
    /// An MPI need not be able to cancel what is sent. If the message does not end by itself either, the job is ended.
    pub(super) fn cancel(&mut self, slot: usize) -> bool {
        let since = match self.slots.get(slot) {
            None | Some(Slot::Free | Slot::Copied) => return true,
            Some(Slot::Ended(_) | Slot::Failed(_)) => {
                self.release(slot);
                return true;
            }
            Some(Slot::Cancelled(since, _)) => *since,
            Some(begun @ (Slot::Sending(_) | Slot::Receiving)) => {
                let sends = matches!(begun, Slot::Sending(_));
                let (cancel, handle) = (self.native.cancel, self.handle(slot));
                // SAFETY: the handle of a message under way. If it cannot be cancelled it is to end by itself.
                unsafe { cancel(handle) };
                let now = Instant::now();
                self.slots[slot] = Slot::Cancelled(now, sends);
                now
            }
        };
        self.ask(slot);
        if matches!(self.slots[slot], Slot::Ended(_)) {
            self.release(slot);
            return true;
        }
        if since.elapsed() > PATIENCE {
            let code = failure().unwrap_or(self.abi.err_other);
            let why = format_args!(
                "a message of a call that failed is still under way after {} s, and its memory cannot be given back",
                PATIENCE.as_secs()
            );
            say::abort(self.native, self.abi.comm_world, code, why);
        }
        false
    }
}

impl Drop for Requests {
    /// Waits for copies that are on their way: a receiver wants each of them, unless a call has failed.
    fn drop(&mut self) {
        let begin = Instant::now();
        let are_left = |requests: &Requests| requests.copies.iter().any(Option::is_some);
        while are_left(self) && begin.elapsed() < PATIENCE {
            if self.progress().is_err() {
                break;
            }
        }
        for copy in self.copies.iter_mut().filter_map(Option::take) {
            // The MPI may read it for ever.
            std::mem::forget(copy);
        }
    }
}
