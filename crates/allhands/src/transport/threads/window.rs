//! The window: memory of every rank that peers write and read, and the flags that say when.
//!
//! A window set belongs to one plan on all ranks. The first rank that asks allocates the windows and
//! flags of all, so a put never waits for its target. Who holds it keeps it alive, also after an error.
//!
//! Flags start at zero; a credit is what the waiting rank adds for itself. Any rank may wait for a flag of any other: once one
//! does for a peer's, every notification rings all ranks.
//!
//! Ordering: a notify is a releasing addition to the flag, a satisfied wait an acquiring load of it.
//! Every addition continues the release sequences of those before it, so a wait that sees `count`
//! notifications sees what each of their senders had put before.

use crate::transport::AlignedBytes;
use crate::transport::TransportError;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering, fence};

/// The flags of a rank start on cache lines of their own.
#[repr(align(64))]
struct FlagLine([AtomicU64; 8]);

/// The windows and flags of all ranks for one plan.
pub(crate) struct WindowSet {
    memory: Box<[AlignedBytes]>,
    flags: Box<[Box<[FlagLine]>]>,
    bytes: usize,
    flags_each: u16,
    /// Whether some rank waits for a flag of a peer.
    watched: AtomicBool,
}

impl WindowSet {
    pub(crate) fn new(ranks: u32, bytes: usize, flags: u16) -> WindowSet {
        let line = |_| FlagLine(std::array::from_fn(|_| AtomicU64::new(0)));
        WindowSet {
            memory: (0..ranks).map(|_| AlignedBytes::zeroed(bytes)).collect(),
            flags: (0..ranks)
                .map(|_| (0..flags.div_ceil(8)).map(line).collect())
                .collect(),
            bytes,
            flags_each: flags,
            watched: AtomicBool::new(false),
        }
    }

    /// Says that some rank waits for a flag of a peer; before it looks at it for the first time.
    pub(crate) fn set_watched(&self) {
        self.watched.store(true, Ordering::Relaxed);
        fence(Ordering::SeqCst);
    }

    /// Whether some rank may wait for a flag of a peer; to be asked after a notification. A rank that says so only
    /// afterwards sees the notification when it looks.
    pub(crate) fn is_watched(&self) -> bool {
        fence(Ordering::SeqCst);
        self.watched.load(Ordering::Relaxed)
    }

    /// Whether rank `rank` asks for the window that this is.
    pub(crate) fn fits(
        &self,
        rank: u32,
        key: u64,
        bytes: usize,
        flags: u16,
    ) -> Result<(), TransportError> {
        if self.bytes == bytes && self.flags_each == flags {
            return Ok(());
        }
        Err(TransportError::WindowDiffers {
            rank,
            key,
            bytes: self.bytes,
            flags: usize::from(self.flags_each),
            wanted_bytes: bytes,
            wanted_flags: usize::from(flags),
        })
    }

    /// Where the window of `rank` starts.
    pub(crate) fn base(&self, rank: u32) -> *mut u8 {
        self.memory[rank as usize].address()
    }

    fn flag(&self, rank: u32, flag: u16) -> &AtomicU64 {
        &self.flags[rank as usize][usize::from(flag / 8)].0[usize::from(flag % 8)]
    }

    /// Raises a flag of `rank` by one.
    pub(crate) fn notify(&self, rank: u32, flag: u16) {
        self.flag(rank, flag).fetch_add(1, Ordering::Release);
    }

    /// How often a flag of `rank` has been raised.
    pub(crate) fn raised(&self, rank: u32, flag: u16) -> u64 {
        self.flag(rank, flag).load(Ordering::Acquire)
    }
}
