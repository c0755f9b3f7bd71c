//! The board: shared memory where the conductor of `cargo xtask compare` gives turns and ranks write times.
//!
//! The workers of other checkouts map it too; [`Board::map`] tells a layout that is not the same.

use std::fs::File;
use std::io;
use std::os::fd::AsRawFd;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};
use std::time::Duration;

/// The most ranks of a group.
pub const RANKS: usize = 64;
/// The most samples of a turn.
pub const SAMPLES: usize = 4096;

/// A bit of [`Turn::flags`]: write new input before every call.
pub const FRESH: u64 = 1;
/// A bit of [`Turn::flags`]: more ranks than cores, so yield while waiting.
pub const OVERSUBSCRIBED: u64 = 2;
/// A bit of [`Turn::flags`]: many more ranks than cores, so sleep while waiting; a call that a rank begins late does not count.
pub const ASLEEP: u64 = 4;
/// A bit of [`Turn::flags`]: start and end as always, and make no call between.
pub const EMPTY: u64 = 8;

/// What stands in [`Turn::collective`] when the worker shall end; smaller numbers are indices of [`COLLECTIVES`](crate::cell::COLLECTIVES).
pub const QUIT: u32 = 11;
/// What stands there for the calls of a trace, each of which all ranks begin together; the trace's number is in [`Turn::bytes`].
pub const REPLAY: u32 = 12;
/// The same for all calls of a trace one after the other, of which all ranks begin the first together.
pub const REPLAY_AT_ONCE: u32 = 13;

/// Where a board's traces are, each of which has a number: beside it.
#[must_use]
pub fn trace_path(board: &Path, number: u64) -> PathBuf {
    let mut path = board.as_os_str().to_owned();
    path.push(format!(".trace-{number}"));
    path.into()
}

/// One rank's own lines, so that no two ranks write to one line.
#[repr(C, align(128))]
pub struct Rank {
    /// Barriers entered.
    pub epoch: AtomicU64,
    /// When the last call ended.
    pub end_ns: AtomicU64,
    /// 0 until the rank is attached.
    pub pid: AtomicU64,
    /// Results that were wrong in this turn, and the first of them:
    pub wrong: AtomicU64,
    /// its place in the output,
    pub wrong_index: AtomicU64,
    /// what stood there,
    pub wrong_got: AtomicU64,
    /// and what should have.
    pub wrong_expected: AtomicU64,
}

/// What the conductor writes: a turn begins when `turn` (a futex) changes.
#[repr(C, align(128))]
pub struct Turn {
    /// The turn's number.
    pub turn: AtomicU32,
    /// The collective, or [`QUIT`].
    pub collective: AtomicU32,
    /// The size as the user types it.
    pub bytes: AtomicU64,
    /// How long to go on.
    pub budget_ns: AtomicU64,
    /// [`FRESH`] and the others.
    pub flags: AtomicU64,
}

/// What rank 0 writes in barriers.
#[repr(C, align(128))]
pub struct Go {
    /// The barrier that may be left.
    pub go: AtomicU64,
    /// When the next call starts.
    pub start_ns: AtomicU64,
    /// What it counts as, or which of a trace it is.
    pub phase: AtomicU64,
}

/// What rank 0 writes after a turn.
#[repr(C, align(128))]
pub struct Done {
    /// Follows [`Turn::turn`] when all ranks are done; a futex.
    pub done: AtomicU32,
    /// How many of the samples count.
    pub samples: AtomicU32,
}

/// One group: the ranks of one library with one setting.
#[repr(C)]
pub struct Group {
    /// By the conductor.
    pub turn: Turn,
    /// By rank 0.
    pub go: Go,
    /// By rank 0.
    pub done: Done,
    /// By each its own.
    pub ranks: [Rank; RANKS],
    /// By rank 0: times from the start to the last rank's end.
    pub sample_ns: [AtomicU64; SAMPLES],
}

/// The first line; groups follow.
#[repr(C, align(128))]
struct Head {
    /// The size of a group.
    layout: AtomicU64,
}

/// A mapped board.
pub struct Board {
    address: *mut libc::c_void,
    bytes: usize,
}

// SAFETY: what is behind the address is atomics, mapped until the board is dropped.
unsafe impl Send for Board {}
// SAFETY: as above.
unsafe impl Sync for Board {}

impl Board {
    /// The length of a board's file.
    pub const fn bytes(groups: usize) -> usize {
        size_of::<Head>() + groups * size_of::<Group>()
    }

    /// Maps a board; an empty one is given its layout.
    pub fn map(file: &File) -> io::Result<Board> {
        let bytes = file.metadata()?.len() as usize;
        if bytes < Self::bytes(1) {
            return Err(io::Error::other("the board has no group"));
        }
        let (access, shared) = (libc::PROT_READ | libc::PROT_WRITE, libc::MAP_SHARED);
        // SAFETY: a new mapping of an open file at an address of the system's choice.
        let address = unsafe {
            libc::mmap(
                std::ptr::null_mut(),
                bytes,
                access,
                shared,
                file.as_raw_fd(),
                0,
            )
        };
        if address == libc::MAP_FAILED {
            return Err(io::Error::last_os_error());
        }
        let board = Board { address, bytes };
        // SAFETY: the mapping begins with a head, whose bytes are an atomic; pages are aligned enough.
        let head = unsafe { &*address.cast::<Head>() };
        let own = size_of::<Group>() as u64;
        match head
            .layout
            .compare_exchange(0, own, Ordering::AcqRel, Ordering::Acquire)
        {
            Err(other) if other != own => Err(io::Error::other("the board has another layout")),
            Ok(_) | Err(_) => Ok(board),
        }
    }

    /// One group.
    pub fn group(&self, number: usize) -> &Group {
        assert!(
            Self::bytes(number + 1) <= self.bytes,
            "the board has no group {number}"
        );
        // SAFETY: inside of the mapping, by the assertion; all bits are valid in atomics; the head keeps the alignment.
        unsafe { &*self.address.byte_add(Self::bytes(number)).cast::<Group>() }
    }
}

impl Drop for Board {
    fn drop(&mut self) {
        // SAFETY: the mapping made in `map`; groups borrow the board, so none is left.
        unsafe { libc::munmap(self.address, self.bytes) };
    }
}

/// Sleeps until `word` is no longer `seen`, a signal comes, or the time is up; may also return for no reason.
pub fn futex_wait(word: &AtomicU32, seen: u32, limit: Duration) {
    wait(word.as_ptr(), seen, limit);
}

/// Wakes all who sleep on `word`.
pub fn futex_wake(word: &AtomicU32) {
    wake(word.as_ptr());
}

/// As [`futex_wait`], on a number that only grows: the system sees the half of it that changes.
pub fn number_wait(word: &AtomicU64, seen: u64, limit: Duration) {
    wait(lower_half(word), seen as u32, limit);
}

/// Wakes all who sleep on that number.
pub fn number_wake(word: &AtomicU64) {
    wake(lower_half(word));
}

/// Where the half of a number stands that counts units.
fn lower_half(word: &AtomicU64) -> *mut u32 {
    let halves = word.as_ptr().cast::<u32>();
    halves.wrapping_add(usize::from(cfg!(target_endian = "big")))
}

fn wait(word: *mut u32, seen: u32, limit: Duration) {
    let limit = libc::timespec {
        tv_sec: limit.as_secs() as libc::time_t,
        tv_nsec: limit.subsec_nanos().into(),
    };
    // SAFETY: the word is part of an atomic that the caller borrows, and only the system reads it here. Not private: the waker is
    // another process. The time outlives the call.
    unsafe {
        libc::syscall(
            libc::SYS_futex,
            word,
            libc::FUTEX_WAIT,
            seen,
            &raw const limit,
        )
    };
}

fn wake(word: *mut u32) {
    // SAFETY: the system takes the address as a name, and reads nothing there.
    unsafe { libc::syscall(libc::SYS_futex, word, libc::FUTEX_WAKE, i32::MAX) };
}
