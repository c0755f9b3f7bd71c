//! The send descriptors: a call's own memory for its long messages, where their receivers can reach it.
//!
//! A long message is announced by the offset of its descriptor. In the descriptor's line stands where the message lies: a place
//! in the arena, which every rank maps, or an address of the sender's own memory, which threads read as it is and other
//! processes with the system's help; so whoever reads a message fetches one line of another core's cache before it. A message of several
//! iovecs has them behind the descriptor. Behind the iovecs is room to bounce a message that receivers cannot, or
//! had better not, read where it is.

use crate::transport::TransportError;
use crate::transport::shm::memory::arena::{Arena, Block};
use crate::transport::shm::memory::iovec::{self, Iovec, Pieces};
use crate::transport::shm::protocol::choose::Protocol;
use crate::transport::shm::protocol::copy_protocol::CopyProtocol;
use crate::transport::shm::queue::ring::EAGER_BYTES;
use crate::transport::shm::rendezvous::descriptor::Descriptor;
use crate::transport::shm::rendezvous::sender_assisted::SenderAssist;
use crate::transport::shm::tuning::{BOUNCE_MOST, LONG_BOUNCE_BUFFERS_MOST};
use allhands_core::schedule::{Moving, OpKind, Plan, PlanOp};
use std::sync::Arc;
use std::sync::atomic::{AtomicU16, AtomicU32, AtomicU64, AtomicUsize, Ordering};

/// Marks an address of the sender's own memory; others are offsets in the arena.
const OWN: u64 = 1 << 63;

/// Marks the way of a message whose receiver sends one at the same time.
const EXCHANGED: u16 = 1 << 8;

/// The same of a message whose sender has more to send or copy meanwhile.
const BUSY: u16 = 1 << 9;

/// What a message's sender and receiver do besides.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Besides {
    /// Whether its receiver sends one to its sender at the same time.
    pub(crate) exchanged: bool,
    /// Whether its sender has nothing else to send or copy meanwhile.
    pub(crate) alone: bool,
}

/// What stands before the iovecs of a message.
#[derive(Debug)]
#[repr(C, align(64))]
pub(crate) struct Entry {
    pub(crate) descriptor: Descriptor,
    bytes: AtomicU64,
    /// Where the first iovec lies.
    address: AtomicU64,
    /// The offset of its bounce buffer in the arena; 0: it has none.
    bounce_buffer: AtomicU64,
    iovecs: AtomicU32,
    /// The sender's process.
    process: AtomicU32,
    /// The core on which the sender was.
    core: AtomicU32,
    /// The [`Protocol`] by which the message goes, and [`EXCHANGED`] and [`BUSY`].
    way: AtomicU16,
    /// The [`CopyProtocol`] that the receiver of the last message wanted.
    protocol: AtomicU16,
    pub(crate) assist: SenderAssist,
}

const _: () = assert!(
    std::mem::offset_of!(Entry, assist) == 64,
    "what every receiver reads is one line"
);

#[derive(Debug)]
#[repr(C)]
struct Place {
    address: AtomicU64,
    bytes: AtomicU64,
}

/// An iovec of memory of another rank, as one finds it.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Found {
    /// Memory that the receiver has, too.
    Here(Iovec),
    /// Memory of another process.
    There(Iovec),
}

impl Found {
    /// What another rank has [encoded](encode).
    pub(crate) fn at(arena: &Arena, place: u64, bytes: usize) -> Found {
        let iovec = |address| Iovec { address, bytes };
        let address = (place & !OWN) as usize;
        match place & OWN {
            0 => Found::Here(iovec(arena.at(place))),
            _ if arena.is_shared() => {
                Found::There(iovec(std::ptr::without_provenance_mut(address)))
            }
            // Threads of one process have the same addresses.
            _ => Found::Here(iovec(std::ptr::with_exposed_provenance_mut(address))),
        }
    }

    /// The part of `bytes` bytes from `offset` on, or as many as there are.
    pub(crate) fn piece(self, offset: usize, bytes: usize) -> Found {
        match self {
            Found::Here(iovec) => Found::Here(iovec.piece(offset, bytes)),
            Found::There(iovec) => Found::There(iovec.piece(offset, bytes)),
        }
    }
}

/// Where memory lies, in words that another rank of the arena understands.
pub(crate) fn encode(arena: &Arena, iovec: Iovec) -> u64 {
    match arena.offset_of(iovec.address, iovec.bytes) {
        Some(offset) => offset,
        None => iovec.address.expose_provenance() as u64 | OWN,
    }
}

/// The core on which this thread is, as the system numbers it; it may be another any time.
#[cfg(target_os = "linux")]
pub(crate) fn core() -> u32 {
    // SAFETY: it only tells.
    unsafe { libc::sched_getcpu() as u32 }
}

/// Elsewhere nobody asks: a bounce buffer is used of another process's message alone, which cannot be read there.
#[cfg(not(target_os = "linux"))]
pub(crate) fn core() -> u32 {
    0
}

impl Entry {
    /// The entry at an offset of the arena.
    ///
    /// # Safety
    /// A sender has announced the offset, or owns it, and its send descriptors live.
    pub(crate) unsafe fn at(arena: &Arena, offset: u64) -> &Entry {
        // SAFETY: the caller's promise; it is atomics alone.
        unsafe { &*arena.at(offset).cast::<Entry>() }
    }

    fn place(&self, index: u32) -> *const Place {
        let first = std::ptr::from_ref(self).wrapping_add(1).cast::<Place>();
        first.wrapping_add(index as usize)
    }

    /// The sender's process, as the system numbers it.
    pub(crate) fn process(&self) -> u32 {
        self.process.load(Ordering::Relaxed)
    }

    /// The core on which the sender was, as the system numbers it.
    pub(crate) fn core(&self) -> u32 {
        self.core.load(Ordering::Relaxed)
    }

    /// The message's length in bytes.
    pub(crate) fn bytes(&self) -> u64 {
        self.bytes.load(Ordering::Relaxed)
    }

    /// The copy protocol that the receiver of the last message wanted, if it said so.
    pub(crate) fn protocol(&self) -> Option<CopyProtocol> {
        CopyProtocol::of_word(self.protocol.load(Ordering::Relaxed).into())
    }

    /// Says which copy protocol its receiver wants, if any, to one who has claimed the message and says so before the end of the claim.
    pub(crate) fn set_copy_protocol(&self, protocol: Option<CopyProtocol>) {
        let word = CopyProtocol::word(protocol) as u16;
        if self.protocol.load(Ordering::Relaxed) != word {
            self.protocol.store(word, Ordering::Relaxed);
        }
    }

    /// The protocol by which the message goes: bounced, which it comes by way of the bounce buffer then, pipelined, direct, or assisted.
    pub(crate) fn way(&self) -> Protocol {
        match self.way.load(Ordering::Relaxed) & !(EXCHANGED | BUSY) {
            way if way == Protocol::Bounce as u16 => Protocol::Bounce,
            way if way == Protocol::Assisted as u16 => Protocol::Assisted,
            way if way == Protocol::Pipelined as u16 => Protocol::Pipelined,
            _ => Protocol::Direct,
        }
    }

    /// What the message's sender and receiver do besides.
    pub(crate) fn besides(&self) -> Besides {
        let way = self.way.load(Ordering::Relaxed);
        Besides {
            exchanged: way & EXCHANGED > 0,
            alone: way & BUSY == 0,
        }
    }

    fn set_way(&self, way: Protocol, Besides { exchanged, alone }: Besides) {
        let exchanged = if exchanged { EXCHANGED } else { 0 };
        let busy = if alone { 0 } else { BUSY };
        let way = way as u16 | exchanged | busy;
        self.way.store(way, Ordering::Relaxed);
    }

    /// The memory of its bounce buffer, of which `bytes` bytes from `offset` on are used; none if it has no bounce buffer.
    pub(crate) fn bounced(&self, arena: &Arena, offset: usize, bytes: usize) -> Option<Iovec> {
        let bounce_buffer = self.bounce_buffer.load(Ordering::Relaxed);
        (bounce_buffer > 0).then(|| Iovec {
            address: arena.at(bounce_buffer + offset as u64),
            bytes,
        })
    }

    /// The message's iovec, if there is one alone, to one who has claimed it.
    pub(crate) fn single(&self, arena: &Arena) -> Option<Found> {
        let alone = self.iovecs.load(Ordering::Relaxed) == 1;
        alone.then(|| self.found(arena).next()).flatten()
    }

    /// The message's iovecs, to one who has claimed it.
    pub(crate) fn found<'a>(&'a self, arena: &'a Arena) -> impl Iterator<Item = Found> + 'a {
        let iovecs = self.iovecs.load(Ordering::Relaxed);
        (0..iovecs).map(move |index| {
            if iovecs == 1 {
                let address = self.address.load(Ordering::Relaxed);
                return Found::at(arena, address, self.bytes() as usize);
            }
            // SAFETY: the sender has written this many places behind the entry, which are atomics.
            let place = unsafe { &*self.place(index) };
            let address = place.address.load(Ordering::Relaxed);
            let bytes = place.bytes.load(Ordering::Relaxed) as usize;
            Found::at(arena, address, bytes)
        })
    }

    /// Says where the message lies, before it is posted.
    ///
    /// # Safety
    /// The entry's descriptors have room for so many iovecs.
    unsafe fn write(&self, arena: &Arena, iovecs: impl Iterator<Item = Iovec>) {
        let (mut count, mut total) = (0, 0);
        for iovec in iovecs.filter(|r| r.bytes > 0) {
            // SAFETY: the caller promises the room; places are atomics.
            let place = unsafe { &*self.place(count) };
            let address = encode(arena, iovec);
            if count == 0 {
                self.address.store(address, Ordering::Relaxed);
            }
            place.address.store(address, Ordering::Relaxed);
            place.bytes.store(iovec.bytes as u64, Ordering::Relaxed);
            count += 1;
            total += iovec.bytes as u64;
        }
        self.iovecs.store(count, Ordering::Relaxed);
        self.bytes.store(total, Ordering::Relaxed);
        self.process.store(arena.process(), Ordering::Relaxed);
        self.core.store(core(), Ordering::Relaxed);
    }
}

/// Where an operation's message has its entry and its bounce buffer.
#[derive(Clone, Copy, Debug, Default)]
struct Slot {
    /// Offset in the send descriptors of the entry plus one; 0: the operation sends no long message.
    entry: usize,
    iovecs: usize,
    bounce_buffer: usize,
    bounce_bytes: usize,
}

/// A call's memory for long messages.
#[derive(Debug)]
pub(crate) struct SendDescriptors {
    arena: Arc<Arena>,
    block: Option<Block>,
    slots: Box<[Slot]>,
    /// Bytes of bounce buffers for the longest messages that this rank may use here, once it has asked; 0: none.
    long_bounce_buffers: AtomicUsize,
}

impl SendDescriptors {
    /// The send descriptors of a plan among `ranks` ranks of the arena; no memory at all if the plan sends them nothing long.
    pub(crate) fn new(
        arena: &Arc<Arena>,
        plan: &Plan,
        ranks: u32,
    ) -> Result<SendDescriptors, TransportError> {
        let mut bytes = 0;
        let mut take = |size: usize| {
            let at = bytes;
            bytes += size.next_multiple_of(64);
            at
        };
        let mut slots = vec![Slot::default(); plan.ops.len()].into_boxed_slice();
        for (slot, op) in slots.iter_mut().zip(&plan.ops) {
            let longest = longest(plan, op);
            // What goes to other nodes goes another way.
            if !matches!(op.kind, OpKind::Send { to, .. } if to < ranks) || longest <= EAGER_BYTES {
                continue;
            }
            slot.iovecs = op.source().len();
            slot.entry = take(size_of::<Entry>() + slot.iovecs.max(1) * size_of::<Place>()) + 1;
        }
        // Bounce buffers come last: their pages cost nothing until a message is bounced.
        for (slot, op) in slots.iter_mut().zip(&plan.ops) {
            if slot.entry > 0 && arena.is_shared() {
                slot.bounce_bytes = longest(plan, op);
                slot.bounce_buffer = take(slot.bounce_bytes);
            }
        }
        let block = (bytes > 0).then(|| arena.allocate(bytes)).transpose()?;
        Ok(SendDescriptors {
            arena: Arc::clone(arena),
            block,
            slots,
            long_bounce_buffers: AtomicUsize::new(0),
        })
    }

    fn offset(&self) -> u64 {
        self.block.as_ref().map_or(0, Block::offset)
    }

    /// The offset in the arena of the entry of operation `ticket`, which sends a long message.
    pub(crate) fn entry_offset(&self, ticket: u32) -> u64 {
        let slot = &self.slots[ticket as usize];
        assert!(slot.entry > 0, "the operation has room for a long message");
        self.offset() + slot.entry as u64 - 1
    }

    /// The entry of operation `ticket`.
    pub(crate) fn entry(&self, ticket: u32) -> &Entry {
        // SAFETY: ours, and the block lives as long as `self`.
        unsafe { Entry::at(&self.arena, self.entry_offset(ticket)) }
    }

    /// Writes into the entry of `ticket` that its message lies in `iovecs`, from where it goes in this way, and what its ranks do besides;
    /// the caller posts it.
    pub(crate) fn describe(
        &self,
        ticket: u32,
        (way, besides): (Protocol, Besides),
        iovecs: impl Iterator<Item = Iovec> + Clone,
    ) {
        let most = self.slots[ticket as usize].iovecs.max(1);
        assert!(
            iovecs.clone().count() <= most,
            "as many iovecs as the plan says"
        );
        let slot = &self.slots[ticket as usize];
        let bounce_buffer = match slot.bounce_bytes {
            0 => 0,
            _ => self.offset() + slot.bounce_buffer as u64,
        };
        let entry = self.entry(ticket);
        entry.bounce_buffer.store(bounce_buffer, Ordering::Relaxed);
        entry.set_way(way, besides);
        // SAFETY: just checked.
        unsafe { entry.write(&self.arena, iovecs) };
    }

    /// Writes into the entry of `ticket` that its message of `bytes` bytes is in the bounce buffer; the caller posts it and then
    /// fills the bounce buffer.
    pub(crate) fn describe_bounced(&self, ticket: u32, bytes: usize, besides: Besides) {
        let slot = &self.slots[ticket as usize];
        assert!(
            bytes <= slot.bounce_bytes,
            "a bounce buffer for the longest message"
        );
        let bounce_buffer = Iovec {
            address: self.arena.at(self.offset() + slot.bounce_buffer as u64),
            bytes,
        };
        let entry = self.entry(ticket);
        entry.set_way(Protocol::Bounce, besides);
        // SAFETY: room for one iovec at least.
        unsafe { entry.write(&self.arena, std::iter::once(bounce_buffer)) };
    }

    /// Writes into the entry of `ticket` that its message of `bytes` bytes comes in pipeline buffers; the caller posts it.
    pub(crate) fn describe_pipelined(&self, ticket: u32, bytes: usize, besides: Besides) {
        let entry = self.entry(ticket);
        entry.set_way(Protocol::Pipelined, besides);
        entry.bytes.store(bytes as u64, Ordering::Relaxed);
    }

    /// Copies the message in `iovecs` to the bounce buffer of `ticket`, saying after each piece how much is there.
    ///
    /// # Safety
    /// The iovecs are readable, and [`SendDescriptors::describe_bounced`] was called with their length.
    pub(crate) unsafe fn fill(
        &self,
        ticket: u32,
        iovecs: impl Iterator<Item = Iovec>,
        pieces: Pieces,
    ) {
        let (slot, entry) = (&self.slots[ticket as usize], self.entry(ticket));
        let bounce_buffer = Iovec {
            address: self.arena.at(self.offset() + slot.bounce_buffer as u64),
            bytes: entry.bytes() as usize,
        };
        let filled = |bytes: usize| entry.descriptor.fill(bytes as u64);
        // SAFETY: readable, as promised; the bounce buffer is as long as the message, and no receiver reads what is not yet filled.
        unsafe { iovec::copy_in_pieces(iovecs, bounce_buffer, pieces, filled) };
    }

    /// Whether messages longer than [`BOUNCE_MOST`] may be bounced here: such bounce buffers are few.
    pub(crate) fn may_bounce_long(&self) -> bool {
        if self.long_bounce_buffers.load(Ordering::Relaxed) > 0 {
            return true;
        }
        let long = |slot: &&Slot| slot.bounce_bytes > BOUNCE_MOST;
        let bytes: usize = self.slots.iter().filter(long).map(|s| s.bounce_bytes).sum();
        let in_use = self.arena.long_bounce_buffers();
        if in_use.fetch_add(bytes, Ordering::Relaxed) + bytes > LONG_BOUNCE_BUFFERS_MOST {
            in_use.fetch_sub(bytes, Ordering::Relaxed);
            return false;
        }
        self.long_bounce_buffers.store(bytes, Ordering::Relaxed);
        bytes > 0
    }

    /// The entries of all operations that send long messages.
    pub(crate) fn entries(&self) -> impl Iterator<Item = &Entry> {
        let long = |ticket: &u32| self.slots[*ticket as usize].entry > 0;
        let tickets = (0..self.slots.len() as u32).filter(long);
        tickets.map(|ticket| self.entry(ticket))
    }

    /// Whether no receiver has, or will look for, any of its messages.
    pub(crate) fn is_free(&self) -> bool {
        self.entries().all(|entry| entry.descriptor.is_free())
    }

    /// Leaves the memory as it is, for receivers that may still find it.
    pub(crate) fn abandon(mut self) {
        if let Some(block) = self.block.take() {
            let kept = block.keep();
            debug_assert!(kept.1 > 0, "a block has a length");
        }
    }
}

impl Drop for SendDescriptors {
    fn drop(&mut self) {
        let bytes = *self.long_bounce_buffers.get_mut();
        self.arena
            .long_bounce_buffers()
            .fetch_sub(bytes, Ordering::Relaxed);
    }
}

/// The length in bytes of the longest message of an operation, whose extents may move.
fn longest(plan: &Plan, op: &PlanOp) -> usize {
    match op.moves() {
        true => plan.moving[op.source()]
            .iter()
            .map(Moving::most_bytes)
            .sum(),
        false => op.bytes(),
    }
}
