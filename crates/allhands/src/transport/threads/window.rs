//! The window: memory of every rank that peers write and read, and the flags that say when.
//!
//! A window set belongs to one plan on all ranks. The first rank that asks allocates the windows and
//! flags of all, so a put never waits for its target. Who holds it keeps it alive, also after an error.
//!
//! Ordering: a notify is a releasing addition to the flag, a satisfied wait an acquiring load of it.
//! Every addition continues the release sequences of those before it, so a wait that sees `count`
//! notifications sees what each of their senders had put before.

use crate::transport::AlignedBytes;
use crate::transport::TransportError;
use std::sync::atomic::{AtomicU64, Ordering};

/// The flags of a rank start on cache lines of their own.
#[repr(align(64))]
struct FlagLine([AtomicU64; 8]);

/// The windows and flags of all ranks for one plan.
pub(crate) struct WindowSet {
    memory: Box<[AlignedBytes]>,
    flags: Box<[Box<[FlagLine]>]>,
    bytes: usize,
    credits: Box<[u32]>,
}

impl WindowSet {
    pub(crate) fn new(ranks: u32, bytes: usize, credits: &[u32]) -> WindowSet {
        let line = |line: &[u32]| {
            FlagLine(std::array::from_fn(|at| {
                AtomicU64::new(u64::from(line.get(at).copied().unwrap_or(0)))
            }))
        };
        WindowSet {
            memory: (0..ranks).map(|_| AlignedBytes::zeroed(bytes)).collect(),
            flags: (0..ranks)
                .map(|_| credits.chunks(8).map(line).collect())
                .collect(),
            bytes,
            credits: credits.into(),
        }
    }

    /// Whether rank `rank` asks for the window that this is.
    pub(crate) fn fits(
        &self,
        rank: u32,
        key: u64,
        bytes: usize,
        credits: &[u32],
    ) -> Result<(), TransportError> {
        if self.bytes == bytes && *self.credits == *credits {
            return Ok(());
        }
        Err(TransportError::WindowDiffers {
            rank,
            key,
            bytes: self.bytes,
            flags: self.credits.len(),
            wanted_bytes: bytes,
            wanted_flags: credits.len(),
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

    /// How often a flag of `rank` has been raised, its first credits included.
    pub(crate) fn raised(&self, rank: u32, flag: u16) -> u64 {
        self.flag(rank, flag).load(Ordering::Acquire)
    }
}
