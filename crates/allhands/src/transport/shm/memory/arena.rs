//! The arena: memory that every rank of a node maps, handed out from its start and never moved.
//!
//! Places in it are offsets, as each process maps it where it likes. Handing out is one addition to a counter in the arena
//! itself: no lock that a killed process could hold. All fresh memory is zeros: long pieces that are given back return their
//! pages to the system, short ones are cleared. The process that gave a piece back hands it out again. Pieces of some kilobytes
//! share pages; all others start on one.

use crate::transport::TransportError;
use std::collections::BTreeMap;
use std::ptr::NonNull;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

/// Bytes at the start that belong to the roll of ranks.
pub(crate) const ROLL_BYTES: u64 = 64 << 10;
/// Where the counter stands.
const COUNTER: u64 = ROLL_BYTES;
/// What is handed out starts here.
pub(crate) const START: u64 = ROLL_BYTES + PAGE;
/// Bytes from there on that belong to the shared segment of the world, and are not handed out, in a memory file.
const FIRST_BYTES: u64 = 1 << 31;
/// All but small pieces are whole pages, as only those can be given back to the system.
const PAGE: u64 = 4096;
/// The longest piece that keeps its pages when it is given back: to have the system take them, and bring others when they
/// are touched, costs microseconds a page and interrupts every core; to clear them does not.
const CLEARED_MOST: u64 = 64 << 10;
/// The longest piece that shares pages with others: communicators and windows are many, and most of them short.
const SMALL_MOST: u64 = 8 << 10;
/// What small pieces begin at, and are as long as: two lines, as a core that fetches one may fetch the other.
const UNIT: u64 = 128;
/// What a process takes at once for small pieces; pages that are not used cost nothing.
const CHUNK_BYTES: u64 = 256 << 10;
/// The address space that is asked for, most first.
const SIZES: [usize; 5] = [1 << 36, 1 << 34, 1 << 32, 1 << 30, 1 << 28];

/// Memory that all ranks of a node can reach.
#[derive(Debug)]
pub struct Arena {
    base: NonNull<u8>,
    bytes: u64,
    /// Whether other processes map it too.
    shared: bool,
    /// This process, as the system numbers it: to ask for it is a system call.
    process: u32,
    /// What this process has given back, by size.
    free: Mutex<BTreeMap<u64, Vec<u64>>>,
    /// Where this process's next small pieces are, and where they end.
    chunk: Mutex<(u64, u64)>,
    /// Bytes of this process's bounce buffers for the longest messages.
    long_bounce_buffers: AtomicUsize,
    /// What the ranks have agreed on of the protocols of long messages, in words that [`Arena`] does not understand.
    protocols: [AtomicU64; 3],
}

// SAFETY: plain memory whose address does not change; what is done to it is each user's argument. The list is locked.
unsafe impl Send for Arena {}
// SAFETY: as above.
unsafe impl Sync for Arena {}

impl Arena {
    /// Bytes of this process's bounce buffers for the longest messages.
    pub(crate) fn long_bounce_buffers(&self) -> &AtomicUsize {
        &self.long_bounce_buffers
    }

    /// The words that [`Arena::set_protocols`] has set; zeros at first.
    pub(crate) fn protocols(&self) -> [u64; 3] {
        [0, 1, 2].map(|at: usize| self.protocols[at].load(Ordering::Relaxed))
    }

    /// Sets what this process knows of the protocols of long messages.
    pub(crate) fn set_protocols(&self, words: [u64; 3]) {
        for (place, word) in self.protocols.iter().zip(words) {
            place.store(word, Ordering::Relaxed);
        }
    }

    /// Memory for the threads of this process.
    ///
    /// # Errors
    /// [`TransportError::NoMemory`] if the system gives none.
    pub fn private() -> Result<Arc<Arena>, TransportError> {
        use rustix::mm::{MapFlags, ProtFlags, mmap_anonymous};
        let (protection, flags) = (
            ProtFlags::READ | ProtFlags::WRITE,
            MapFlags::PRIVATE | MapFlags::NORESERVE,
        );
        let mut last = rustix::io::Errno::NOMEM;
        for bytes in SIZES {
            // SAFETY: a new mapping at an address that the system chooses touches nothing that exists.
            match unsafe { mmap_anonymous(std::ptr::null_mut(), bytes, protection, flags) } {
                Ok(base) => return Ok(Arc::new(Arena::new(base.cast(), bytes, false))),
                Err(error) => last = error,
            }
        }
        Err(TransportError::NoMemory {
            why: last.to_string(),
        })
    }

    /// The segment that the processes of a node share, mapped at `base` for `bytes` bytes.
    ///
    /// # Safety
    /// The mapping is readable and writable, shared, initially zeros, used through arenas and the roll alone, and stays
    /// for the life of the process.
    pub(crate) unsafe fn shared(base: *mut u8, bytes: usize) -> Arc<Arena> {
        Arc::new(Arena::new(base, bytes, true))
    }

    fn new(base: *mut u8, bytes: usize, shared: bool) -> Arena {
        Arena {
            base: NonNull::new(base).expect("no mapping lies at address zero"),
            bytes: bytes as u64,
            shared,
            process: std::process::id(),
            free: Mutex::default(),
            chunk: Mutex::default(),
            long_bounce_buffers: AtomicUsize::new(0),
            protocols: Default::default(),
        }
    }

    /// The process that has mapped it here, as the system numbers it.
    pub(crate) fn process(&self) -> u32 {
        self.process
    }

    /// Whether other processes map it too.
    pub(crate) fn is_shared(&self) -> bool {
        self.shared
    }

    /// The address of an offset.
    #[inline]
    pub(crate) fn at(&self, offset: u64) -> *mut u8 {
        debug_assert!(offset <= self.bytes, "an offset lies in the arena");
        self.base.as_ptr().wrapping_add(offset as usize)
    }

    /// The offset of `bytes` bytes at `address`, if they lie in the arena.
    #[inline]
    pub(crate) fn offset_of(&self, address: *const u8, bytes: usize) -> Option<u64> {
        let offset = (address as usize).wrapping_sub(self.base.as_ptr() as usize) as u64;
        (offset < self.bytes && bytes as u64 <= self.bytes - offset).then_some(offset)
    }

    /// The first `bytes` bytes of a segment, which belong to all ranks from the beginning.
    ///
    /// # Errors
    /// [`TransportError::NoMemory`] if so many are not kept, or not mapped.
    pub(crate) fn reserve_first(&self, bytes: usize) -> Result<u64, TransportError> {
        let bytes = (bytes as u64).next_multiple_of(PAGE);
        if bytes > FIRST_BYTES || START + FIRST_BYTES > self.bytes {
            return Err(TransportError::NoMemory {
                why: format!(
                    "{bytes} bytes for all ranks do not fit {} that are mapped",
                    self.bytes
                ),
            });
        }
        Ok(START)
    }

    /// Where handing out starts.
    fn first(&self) -> u64 {
        START + if self.shared { FIRST_BYTES } else { 0 }
    }

    /// `bytes` zeros that start on a page, or, if they are few, at a multiple of two lines.
    ///
    /// # Errors
    /// [`TransportError::NoMemory`] if the arena has no more.
    pub(crate) fn allocate(self: &Arc<Self>, bytes: usize) -> Result<Block, TransportError> {
        let size = Arena::size_of(bytes);
        let is_small = size <= SMALL_MOST;
        let again = {
            let mut free = self.free.lock().unwrap_or_else(PoisonError::into_inner);
            free.get_mut(&size).and_then(Vec::pop)
        };
        let offset = match again {
            Some(offset) => offset,
            None if is_small => self.carve(size)?,
            None => self.extend(size)?,
        };
        Ok(Block {
            arena: Arc::clone(self),
            offset,
            bytes: size,
        })
    }

    /// The length of the piece that is handed out for `bytes` bytes.
    pub(crate) fn size_of(bytes: usize) -> u64 {
        let bytes = (bytes as u64).max(1);
        let unit = if bytes <= SMALL_MOST { UNIT } else { PAGE };
        bytes.next_multiple_of(unit)
    }

    /// A small piece that nobody has had.
    fn carve(&self, size: u64) -> Result<u64, TransportError> {
        let mut chunk = self.chunk.lock().unwrap_or_else(PoisonError::into_inner);
        if chunk.1 - chunk.0 < size {
            // What is left of the last one, less than a small piece, is nobody's: its page is used by others anyway.
            let start = self.extend(CHUNK_BYTES)?;
            *chunk = (start, start + CHUNK_BYTES);
        }
        let offset = chunk.0;
        chunk.0 += size;
        Ok(offset)
    }

    fn extend(&self, size: u64) -> Result<u64, TransportError> {
        // SAFETY: the counter is in the arena, aligned, and only ever accessed as this atomic.
        let counter = unsafe { &*self.at(COUNTER).cast::<AtomicU64>() };
        let order = Ordering::Relaxed;
        let first = self.first();
        let room = |used: u64| {
            used.checked_add(size)
                .filter(|end| first + end <= self.bytes)
        };
        match counter.fetch_update(order, order, room) {
            Ok(used) => Ok(first + used),
            Err(used) => Err(TransportError::NoMemory {
                why: format!(
                    "{size} bytes are wanted and {} of {} are left",
                    self.bytes - first - used,
                    self.bytes
                ),
            }),
        }
    }

    /// Takes a piece back: it reads as zeros again.
    fn give_back(&self, offset: u64, bytes: u64) {
        if bytes <= CLEARED_MOST || !self.release(offset, bytes) {
            // SAFETY: a piece inside the mapping that its one owner gives up.
            unsafe { std::ptr::write_bytes(self.at(offset), 0, bytes as usize) };
        }
        let mut free = self.free.lock().unwrap_or_else(PoisonError::into_inner);
        free.entry(bytes).or_default().push(offset);
    }

    /// Returns pages to the system that their owner gives up; whether they read as zeros now.
    fn release(&self, offset: u64, bytes: u64) -> bool {
        use rustix::mm::{Advice, madvise};
        let advice = if self.shared {
            Advice::LinuxRemove
        } else {
            Advice::LinuxDontNeed
        };
        // SAFETY: whole pages inside the mapping that their one owner gives up.
        unsafe { madvise(self.at(offset).cast(), bytes as usize, advice) }.is_ok()
    }
}

impl Drop for Arena {
    fn drop(&mut self) {
        if !self.shared {
            // SAFETY: mapped in `private`, and whoever uses the memory holds the arena.
            let done =
                unsafe { rustix::mm::munmap(self.base.as_ptr().cast(), self.bytes as usize) };
            debug_assert!(done.is_ok(), "the mapping is ours");
        }
    }
}

/// A piece of an arena; given back when dropped.
#[derive(Debug)]
pub(crate) struct Block {
    arena: Arc<Arena>,
    offset: u64,
    bytes: u64,
}

impl Block {
    /// The piece that another process, or another handle, has handed out.
    ///
    /// # Safety
    /// The piece was handed out with this size and nobody else gives it back.
    pub(crate) unsafe fn adopt(arena: Arc<Arena>, offset: u64, bytes: u64) -> Block {
        Block {
            arena,
            offset,
            bytes,
        }
    }

    /// Leaves the piece as it is for others; gives where it is and how long.
    pub(crate) fn keep(self) -> (u64, u64) {
        let kept = (self.offset, self.bytes);
        // The reference to the arena goes, the piece stays handed out.
        let mut this = std::mem::ManuallyDrop::new(self);
        // SAFETY: `this` is never touched again, so the field is dropped once.
        unsafe { std::ptr::drop_in_place(&raw mut this.arena) };
        kept
    }

    /// The first byte.
    pub(crate) fn address(&self) -> *mut u8 {
        self.arena.at(self.offset)
    }

    /// Where it lies in the arena.
    pub(crate) fn offset(&self) -> u64 {
        self.offset
    }

    /// Its length in bytes.
    #[cfg(test)]
    pub(crate) fn bytes(&self) -> u64 {
        self.bytes
    }
}

impl Drop for Block {
    fn drop(&mut self) {
        self.arena.give_back(self.offset, self.bytes);
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    #[test]
    fn memory_is_apart_zero_and_used_again() {
        let arena = Arena::private().unwrap();
        let (a, b) = (arena.allocate(10).unwrap(), arena.allocate(9000).unwrap());
        assert_eq!((a.bytes(), b.bytes()), (128, 12288));
        assert!(b.offset().is_multiple_of(4096));
        assert!(a.offset() + a.bytes() <= b.offset());
        // SAFETY: the block is as long.
        unsafe { std::ptr::write_bytes(b.address(), 7, 12288) };
        let place = b.offset();
        drop(b);
        let again = arena.allocate(12288).unwrap();
        assert_eq!(again.offset(), place);
        // SAFETY: as above.
        assert!((0..12288).all(|i| unsafe { again.address().add(i).read() } == 0));
        let at = arena.offset_of(again.address().wrapping_add(8), 12280);
        assert_eq!(at, Some(place + 8));
        assert_eq!(arena.offset_of((&raw const arena).cast(), 1), None);
    }

    #[test]
    fn small_pieces_share_pages() {
        let arena = Arena::private().unwrap();
        let pieces: Vec<Block> = (0..5000).map(|_| arena.allocate(700).unwrap()).collect();
        let mut places: Vec<u64> = pieces.iter().map(Block::offset).collect();
        assert!(places.windows(2).all(|pair| pair[0] + 768 <= pair[1]));
        let all = places.last().unwrap() - places[0];
        assert!(all < 5000 * 800, "{all} bytes for 5000 pieces of 768");
        // SAFETY: the block is as long.
        unsafe { std::ptr::write_bytes(pieces[7].address(), 7, 768) };
        drop(pieces);
        let again: Vec<Block> = (0..5000).map(|_| arena.allocate(768).unwrap()).collect();
        let mut places_again: Vec<u64> = again.iter().map(Block::offset).collect();
        places_again.sort_unstable();
        places.sort_unstable();
        assert_eq!(places_again, places);
        // SAFETY: as above.
        let is_zero =
            |block: &Block| (0..768).all(|i| unsafe { block.address().add(i).read() } == 0);
        assert!(again.iter().all(is_zero));
    }

    #[test]
    fn too_much_is_an_error() {
        let arena = Arena::private().unwrap();
        let error = arena.allocate(1 << 45).unwrap_err();
        assert!(error.to_string().contains("memory"), "{error}");
    }
}
