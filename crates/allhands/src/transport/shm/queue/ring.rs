//! The ring: a lock-free queue of short messages from one rank to another.
//!
//! A cell holds its number in the sequence, a header and a payload; number, header and the first 32 payload bytes share a
//! cache line, so a short message is one line that moves from core to core, once. The consumer never writes to a cell: it
//! gives cells back in bulk, by a count on a line of its own that the producer reads only when it has run out of cells.
//!
//! The first messages of a ring, one lap, go each in a line elsewhere ([`Early`]).
//!
//! A message in a medium buffer may be shown before all of it is there: the upper bits of its number say how many bytes are.

mod early;
mod side;

pub(crate) use early::Early;
pub(crate) use side::{Consumer, Producer};

use crate::transport::shm::memory::page_aliasing::PAGE_BYTES;
use crate::transport::shm::queue::buffers::{self, HandedBack, MEDIUM_BUFFERS};
use crate::transport::shm::rendezvous::receiver_initiated::ReadyToReceive;
use crate::transport::shm::sync::{AtomicU64, Ordering, UnsafeCell};
use side::has_room;
use std::mem::MaybeUninit;

/// The longest payload of a cell in bytes: a kilobyte and a little more.
pub const EAGER_BYTES: usize = 1024 + 32;

/// The bytes of a payload that share a line with its cell's number.
pub(crate) const FIRST_LINE: usize = 64 - std::mem::offset_of!(Cell, payload);

/// Cells of a ring.
#[cfg(not(loom))]
pub(crate) const CELLS: u64 = 8;
/// Cells of a ring; few, so that the model checker sees it full.
#[cfg(loom)]
pub(crate) const CELLS: u64 = 2;

/// How many cells the next message is ahead, in the circle of all: odd, so that it comes by each.
const STRIDE: u64 = 5;
const _: () = assert!(
    STRIDE % 2 == 1 && CELLS.is_power_of_two(),
    "each cell has its turn once in a lap"
);

/// The longest payload of a medium buffer in bytes.
#[cfg(not(loom))]
pub(crate) const MEDIUM_BYTES: usize = 16 << 10;
/// The longest payload of a medium buffer in bytes; short, as the model checker makes them anew all the time.
#[cfg(loom)]
pub(crate) const MEDIUM_BYTES: usize = 64;
/// Messages after which the consumer tells the producer that their cells are free.
const BULK: u64 = CELLS / 2;

/// From this bit on a cell's number says how many bytes of the message's medium buffer are there.
const FILLED: u32 = 48;
/// The bits below.
const NUMBER: u64 = (1 << FILLED) - 1;
const _: () = assert!(
    MEDIUM_BYTES < 1 << (64 - FILLED),
    "a medium buffer's bytes can be said"
);

/// When the consumer is shown a message in a medium buffer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Shown {
    /// When all of it is there.
    Whole,
    /// Before, so that it reads while the producer writes.
    AsItComes,
}

/// What a cell carries.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub(crate) enum Kind {
    /// The payload is the message.
    Eager,
    /// The payload is the code of the medium buffer that the message is in.
    Medium,
    /// The payload says in which pipeline buffer the message is, and the message's length.
    Pipelined,
    /// The payload says where a descriptor of the message lies, and the message's length.
    Rendezvous,
}

/// What is said about a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(C)]
pub(crate) struct Header {
    /// The sequence number of the call.
    pub call: u64,
    /// The hash of the signatures of this call and all before it.
    pub signature: u64,
    /// The length of the payload in bytes.
    pub bytes: u16,
    /// The channel.
    pub channel: u16,
    /// The sender.
    pub from: u16,
    /// What the payload is.
    pub kind: Kind,
}

/// The payload, aligned for every element type.
#[derive(Debug)]
#[repr(C, align(32))]
pub(crate) struct Payload([MaybeUninit<u8>; EAGER_BYTES]);

/// A message's place: in a ring's cell, or in an inbox's.
#[derive(Debug)]
#[repr(C, align(64))]
pub(crate) struct Cell {
    /// In a ring the number of the message in it, counted from 1, and how much of its medium buffer is [filled](FILLED); zero at
    /// first.
    pub(crate) number: AtomicU64,
    pub(crate) header: UnsafeCell<MaybeUninit<Header>>,
    pub(crate) payload: UnsafeCell<Payload>,
    /// Who reads the end of a payload fetches ahead what comes next there: not lines that the next message is written to.
    _apart: [MaybeUninit<u8>; CELLS_APART_BYTES],
}

/// The bytes between two cells; the model checker has no caches.
const CELLS_APART_BYTES: usize = if cfg!(loom) { 0 } else { 1 << 10 };

/// A queue with one producer and one consumer; zeros are an empty one.
#[derive(Debug)]
#[repr(C, align(128))]
pub(crate) struct Ring {
    /// Medium buffers that the consumer has handed back.
    medium_buffers_back: HandedBack,
    /// Pipeline buffers that it has.
    pub(crate) pipeline_buffers_back: HandedBack,
    cells: [Cell; CELLS as usize],
    medium_buffers: [UnsafeCell<MediumBuffer>; MEDIUM_BUFFERS as usize],
    /// To the producer, to write its next long message where the consumer wants it.
    pub(crate) ready_to_receive: ReadyToReceive,
}

/// The payload of a longer message, on pages that cost nothing before they are used.
#[derive(Debug)]
#[repr(C, align(128))]
struct MediumBuffer {
    payload: [MaybeUninit<u8>; MEDIUM_BYTES],
    /// No two medium buffers have parts of one page: who reads the end of one fetches ahead what comes next there, and takes it from a
    /// peer that is writing.
    _apart: [MaybeUninit<u8>; MEDIUM_BUFFERS_APART_BYTES],
}

/// The bytes between two medium buffers; the model checker has no caches.
const MEDIUM_BUFFERS_APART_BYTES: usize = if cfg!(loom) { 0 } else { PAGE_BYTES };

impl MediumBuffer {
    #[cfg(any(test, loom))]
    fn new() -> MediumBuffer {
        MediumBuffer {
            payload: [MaybeUninit::uninit(); MEDIUM_BYTES],
            _apart: [MaybeUninit::uninit(); MEDIUM_BUFFERS_APART_BYTES],
        }
    }
}

// SAFETY: header and payload of a cell are accessed only by the side whose turn it is: `push` and
// `front` say why.
unsafe impl Sync for Ring {}
// SAFETY: a ring holds plain bytes.
unsafe impl Send for Ring {}

impl Cell {
    #[cfg(any(test, loom))]
    pub(crate) fn new() -> Cell {
        Cell {
            number: AtomicU64::new(0),
            header: UnsafeCell::new(MaybeUninit::uninit()),
            payload: UnsafeCell::new(Payload([MaybeUninit::uninit(); EAGER_BYTES])),
            _apart: [MaybeUninit::uninit(); CELLS_APART_BYTES],
        }
    }
}

impl Ring {
    #[cfg(any(test, loom))]
    pub(crate) fn new() -> Ring {
        Ring {
            medium_buffers_back: HandedBack::new(),
            pipeline_buffers_back: HandedBack::new(),
            cells: std::array::from_fn(|_| Cell::new()),
            medium_buffers: std::array::from_fn(|_| UnsafeCell::new(MediumBuffer::new())),
            ready_to_receive: ReadyToReceive::new(),
        }
    }

    /// Appends a message whose payload `fill` writes; `false`, and nothing happens, if the ring is full.
    ///
    /// # Safety
    /// Only the ring's one producer calls this, with its side as earlier calls left it (new, and of this ring, at
    /// first). `fill` initializes `header.bytes` bytes, at most [`EAGER_BYTES`].
    #[inline]
    pub(crate) unsafe fn push(
        &self,
        side: &mut Producer,
        header: Header,
        fill: impl FnOnce(*mut u8),
    ) -> bool {
        debug_assert!(
            header.bytes as usize <= EAGER_BYTES,
            "a payload fits its cell"
        );
        // SAFETY: the side of this ring.
        if !unsafe { has_room(side) } {
            return false;
        }
        if side.position < CELLS {
            // SAFETY: passed on; there is room.
            unsafe { self.push_early(side, header, fill) };
            return true;
        }
        let cell = self.cell(side.position);
        cell.payload.with_mut(|at| fill(at.cast::<u8>()));
        // SAFETY: the consumer has given the cell's last message back, or there was none, and does not touch the cell
        // before it sees the number below. Only the producer, which we are, writes cells.
        cell.header.with_mut(|at| unsafe { (*at).write(header) });
        side.position += 1;
        // Release: whoever sees the number sees header and payload.
        cell.number.store(side.position & NUMBER, Ordering::Release);
        if side.passes_on {
            let bytes = std::mem::offset_of!(Cell, payload) + usize::from(header.bytes);
            crate::transport::shm::memory::iovec::pass_on(std::ptr::from_ref(cell).cast(), bytes);
            let longest = side.longest_lately(bytes);
            self.claim_next(side, longest);
        }
        true
    }

    /// Fetches the lines that the next message will be written to, if it is as long as the longest of the last few, among which
    /// are those of barriers: the consumer has read what was there, and is not yet looking for the next.
    #[inline]
    fn claim_next(&self, side: &Producer, bytes: usize) {
        if side.position != side.free {
            let next = self.cell(side.position);
            crate::transport::shm::memory::iovec::claim_lines(
                std::ptr::from_ref(next).cast_mut().cast(),
                bytes,
            );
        }
    }

    /// The cell of the message at `position`. Who reads one fetches ahead what comes behind it: the next message is somewhere else.
    #[inline]
    fn cell(&self, position: u64) -> &Cell {
        &self.cells[(position * STRIDE % CELLS) as usize]
    }

    /// Appends a message of more than a cell's payload, which `fill` writes; as [`Ring::push`] otherwise. `None` if no medium buffer
    /// is there: the consumer may have them all and need this very message before it gives one back. `back` is the ring of
    /// the same two ranks the other way.
    ///
    /// # Safety
    /// As for [`Ring::push`], with [`MEDIUM_BYTES`] in the place of [`EAGER_BYTES`], and the header's kind is [`Kind::Medium`].
    /// What `fill` tells to be there it does not touch again.
    #[inline]
    pub(crate) unsafe fn push_medium(
        &self,
        back: &Ring,
        side: &mut Producer,
        (header, shown): (Header, Shown),
        fill: impl FnOnce(*mut u8, &dyn Fn(usize)),
    ) -> Option<bool> {
        debug_assert!(
            header.bytes as usize <= MEDIUM_BYTES && header.kind == Kind::Medium,
            "a payload fits its medium buffer"
        );
        // SAFETY: the side of this ring.
        if !unsafe { has_room(side) } {
            return Some(false);
        }
        let code = side.medium_buffers.take(&self.medium_buffers_back)?;
        let is_early = side.position < CELLS;
        // The medium buffer is ours alone: ours from the start, or its last message was read, by us or by the consumer before it
        // handed it back.
        let buffer = self.buffer(back, code).with_mut(|at| at.cast::<u8>());
        // SAFETY: as in `push`; a payload has room for a code and is aligned for it.
        let write = |at: *mut u64| unsafe { at.write(code) };
        // SAFETY: as above.
        let head = |at: *mut MaybeUninit<Header>| unsafe { (*at).write(header) };
        if is_early {
            // SAFETY: the side of this ring.
            let line = &unsafe { side.early.get() }.lines[side.position as usize];
            line.header.with_mut(head);
            line.payload.with_mut(|at| write(at.cast()));
        } else {
            let cell = self.cell(side.position);
            cell.header.with_mut(head);
            cell.payload.with_mut(|at| write(at.cast()));
        }
        // SAFETY: the side of this ring.
        let shown_at = unsafe { self.number(side.early, side.position) };
        side.position += 1;
        let number = side.position & NUMBER;
        // Release: whoever sees the number sees header, code and so much of the payload.
        let show = |bytes: usize| {
            let filled = (bytes as u64) << FILLED;
            shown_at.store(filled | number, Ordering::Release);
        };
        match shown {
            Shown::Whole => fill(buffer, &|_| {}),
            Shown::AsItComes => {
                show(0);
                fill(buffer, &show);
            }
        }
        show(header.bytes as usize);
        if shown == Shown::AsItComes && !is_early {
            // The cell's line alone: to claim a medium buffer's takes longer than what it saves, while the consumer still reads.
            self.claim_next(side, std::mem::offset_of!(Cell, payload) + size_of::<u64>());
        }
        Some(true)
    }

    fn buffer<'a>(&'a self, back: &'a Ring, code: u64) -> &'a UnsafeCell<MediumBuffer> {
        let medium_buffers = u64::from(MEDIUM_BUFFERS);
        let of = if code < medium_buffers { self } else { back };
        &of.medium_buffers[(code % medium_buffers) as usize]
    }

    /// Shows the medium buffer of a message of this ring to `read`.
    ///
    /// # Safety
    /// Only the ring's one consumer calls this, with the payload of a message of that kind, which [`Ring::front`] showed and
    /// which is not released.
    #[inline]
    pub(crate) unsafe fn read_medium<R>(
        &self,
        back: &Ring,
        payload: *const u8,
        read: impl FnOnce(*const u8) -> R,
    ) -> (u64, R) {
        // SAFETY: the payload of this kind is a code, which the producer wrote; the medium buffer is ours since the message is.
        let code = unsafe { payload.cast::<u64>().read() };
        (code, self.buffer(back, code).with(|at| read(at.cast())))
    }

    /// How many bytes are there of the message in a medium buffer that [`Ring::front`] shows.
    ///
    /// # Safety
    /// The side is of this ring.
    pub(crate) unsafe fn filled(&self, side: &Consumer) -> usize {
        // SAFETY: the caller's promise.
        let number = unsafe { self.number(side.early, side.position) };
        // Acquire: pairs with the producer's release.
        (number.load(Ordering::Acquire) >> FILLED) as usize
    }

    /// Keeps the medium buffer of a message that was read for `side`, the other way, or hands it back.
    ///
    /// # Safety
    /// As for [`Ring::read_medium`], which gave the code; nobody reads the medium buffer any more.
    pub(crate) unsafe fn release_medium(&self, side: &mut Producer, code: u64) {
        if side.medium_buffers.has_room() {
            side.medium_buffers.keep(buffers::mirrored(code));
        } else {
            self.medium_buffers_back.put(code);
        }
    }

    /// Shows the oldest message to `read`, which gets the header and the address of the payload.
    ///
    /// # Safety
    /// Only the ring's one consumer calls this, with its side as its calls of
    /// [`Ring::release`] left it (new, and of this ring, at first). The payload is readable until that message is released.
    #[inline]
    pub(crate) unsafe fn front<R>(
        &self,
        side: &Consumer,
        read: impl FnOnce(Header, *const u8) -> R,
    ) -> Option<R> {
        let position = side.position;
        if position < CELLS {
            // SAFETY: passed on.
            let (header, payload) = unsafe { self.front_early(side) }?;
            return Some(read(header, payload));
        }
        let cell = self.cell(position);
        // Acquire: pairs with the producer's release.
        if (cell.number.load(Ordering::Acquire) ^ (position + 1)) & NUMBER != 0 {
            return None;
        }
        // SAFETY: the number says that this message is in the cell, so the producer has initialized the header, and it
        // touches the cell no more until the consumer, which we are, has given it back.
        let header = cell.header.with(|at| unsafe { (*at).assume_init_read() });
        Some(cell.payload.with(|at| read(header, at.cast())))
    }

    /// Gives the cell of the message that [`Ring::front`] showed back to the producer; whether the producer can see it
    /// now, as it sees several at once.
    ///
    /// # Safety
    /// Only the ring's one consumer calls this, with its side, after `front` showed it a message.
    #[inline]
    pub(crate) unsafe fn release(&self, side: &mut Consumer, kind: Kind) -> bool {
        side.position += 1;
        // Medium buffers and pipeline buffers are few: the producer is told of each, as it may wait for one.
        let seen =
            matches!(kind, Kind::Medium | Kind::Pipelined) || side.position.is_multiple_of(BULK);
        if seen {
            // SAFETY: the side of this ring.
            let returned = &unsafe { side.early.get() }.returned;
            // Release: our reads come before the producer's next writes.
            returned.0.store(side.position, Ordering::Release);
        }
        seen
    }
}

#[cfg(all(test, loom))]
mod models;

#[cfg(all(test, not(loom)))]
mod tests;
