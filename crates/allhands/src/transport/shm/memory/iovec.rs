//! Iovecs of real memory, and how bytes go from lists of them to others.

use crate::transport::Combine;
use crate::transport::shm::memory::copy::Distance;
use allhands_core::schedule::Side;

/// The length in bytes of what moves from core to core.
const LINE: usize = 64;

/// An iovec of bytes in memory.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Iovec {
    pub address: *mut u8,
    pub bytes: usize,
}

impl Iovec {
    /// The part of `bytes` bytes from `offset` on, or as many as there are.
    #[inline]
    pub(crate) fn piece(self, offset: usize, bytes: usize) -> Iovec {
        let offset = offset.min(self.bytes);
        Iovec {
            address: self.address.wrapping_add(offset),
            bytes: bytes.min(self.bytes - offset),
        }
    }
}

/// Asks the processor to move what was just written to where other cores find it sooner.
///
/// A hint, which other processors take for nothing; it pays for a few kilobytes that a peer on another core reads at once.
#[inline]
pub(crate) fn pass_on(address: *const u8, bytes: usize) {
    #[cfg(all(target_arch = "x86_64", not(miri)))]
    {
        let first = address as usize & !63;
        let lines = (address as usize + bytes).div_ceil(64) - first / 64;
        for line in 0..lines {
            let at = first + line * 64;
            // SAFETY: CLDEMOTE changes no memory and faults on none; its encoding is a no-operation where it is unknown.
            unsafe {
                std::arch::asm!("cldemote byte ptr [{}]", in(reg) at, options(nostack, preserves_flags));
            }
        }
    }
    #[cfg(not(all(target_arch = "x86_64", not(miri))))]
    let _ = (address, bytes);
}

/// Asks the processor to fetch the lines of `bytes` bytes that are about to be written, all at once: lines that a peer has
/// read come one after another otherwise.
#[inline]
pub(crate) fn claim_lines(address: *mut u8, bytes: usize) {
    #[cfg(all(target_arch = "x86_64", not(miri)))]
    for at in (0..bytes).step_by(64) {
        let line = address.wrapping_add(at);
        // SAFETY: PREFETCHW changes no memory and faults on none; its encoding is a no-operation where it is unknown.
        unsafe {
            std::arch::asm!("prefetchw byte ptr [{}]", in(reg) line, options(nostack, preserves_flags));
        }
    }
    #[cfg(not(all(target_arch = "x86_64", not(miri))))]
    let _ = (address, bytes);
}

/// Makes the lines of memory that was just read from another core this core's own, by a store to each: one that the other core
/// then writes to comes back in one move. Lines that were only read stay in both caches, and a core that writes to such a
/// line has to ask for it while it waits; that takes four to ten times as long.
///
/// # Safety
/// The iovec is writable, by nobody else meanwhile, and nobody wants what is in it.
#[inline]
pub(crate) unsafe fn claim_for_write(iovec: Iovec) {
    let first = iovec.address.align_offset(LINE);
    for at in (first..iovec.bytes).step_by(LINE) {
        // SAFETY: inside the iovec, as the caller promises. Volatile, as the store is not to be left out.
        unsafe { iovec.address.add(at).write_volatile(0) };
    }
}

/// A list of iovecs, read as one iovec.
pub(crate) struct Stream<I> {
    rest: I,
    at: Iovec,
}

impl<I: Iterator<Item = Iovec>> Stream<I> {
    pub(crate) fn new(mut rest: I) -> Stream<I> {
        let none = Iovec {
            address: std::ptr::null_mut(),
            bytes: 0,
        };
        let at = rest.next().unwrap_or(none);
        Stream { rest, at }
    }

    /// Leaves the next `bytes` bytes out.
    #[inline]
    fn skip(&mut self, mut bytes: usize) {
        while bytes > 0 {
            let here = self.next_bytes().min(bytes);
            if here == 0 {
                return;
            }
            self.take(here);
            bytes -= here;
        }
    }

    /// The bytes that follow without a break; 0 only at the end.
    #[inline]
    fn next_bytes(&mut self) -> usize {
        while self.at.bytes == 0 {
            match self.rest.next() {
                Some(next) => self.at = next,
                None => return 0,
            }
        }
        self.at.bytes
    }

    /// The address of the next `bytes` bytes, no more than [`Stream::next_bytes`] said.
    #[inline]
    fn take(&mut self, bytes: usize) -> *mut u8 {
        let address = self.at.address;
        self.at = Iovec {
            address: address.wrapping_add(bytes),
            bytes: self.at.bytes - bytes,
        };
        address
    }
}

/// Copies `from` into `into`, as far as both reach.
///
/// # Safety
/// The iovecs of `from` are readable and those of `into` writable, by nobody else meanwhile; an iovec
/// of one may overlap the iovec of the other that it is copied to.
pub(crate) unsafe fn copy(from: impl Iterator<Item = Iovec>, into: impl Iterator<Item = Iovec>) {
    let (mut from, mut into) = (Stream::new(from), Stream::new(into));
    // SAFETY: as the caller promises.
    unsafe { copy_next(&mut from, &mut into, Distance::Near) };
}

/// Copies `from` from byte `start` on into `into`, as far as both reach.
///
/// # Safety
/// As for [`copy`].
pub(crate) unsafe fn copy_part(from: impl Iterator<Item = Iovec>, start: usize, into: Iovec) {
    let (mut from, mut into) = (Stream::new(from), Stream::new(std::iter::once(into)));
    from.skip(start);
    // SAFETY: as the caller promises.
    unsafe { copy_next(&mut from, &mut into, Distance::Near) };
}

/// As [`copy`], from memory at a distance.
///
/// # Safety
/// As for [`copy`], and memory that is far is apart from all of `into`.
pub(crate) unsafe fn fetch(
    from: impl Iterator<Item = Iovec>,
    into: impl Iterator<Item = Iovec>,
    distance: Distance,
) {
    let (mut from, mut into) = (Stream::new(from), Stream::new(into));
    // SAFETY: as the caller promises.
    unsafe { copy_next(&mut from, &mut into, distance) };
}

/// Copies one iovec into another, as far as both reach.
///
/// # Safety
/// As for [`copy`].
#[inline]
pub(crate) unsafe fn copy_iovec(from: Iovec, into: Iovec) {
    let bytes = from.bytes.min(into.bytes);
    // SAFETY: both iovecs have this many bytes, as the caller promises; near memory may overlap.
    unsafe { Distance::Near.copy(from.address, into.address, bytes) };
}

/// Copies what comes next in `from` to what comes next in `into`, as far as both reach; gives how much that was.
///
/// # Safety
/// As for [`fetch`].
#[inline]
unsafe fn copy_next<F, I>(from: &mut Stream<F>, into: &mut Stream<I>, distance: Distance) -> usize
where
    F: Iterator<Item = Iovec>,
    I: Iterator<Item = Iovec>,
{
    let mut copied = 0;
    loop {
        let bytes = from.next_bytes().min(into.next_bytes());
        if bytes == 0 {
            return copied;
        }
        // SAFETY: both iovecs have this many bytes, as the caller promises; near memory may overlap.
        unsafe { distance.copy(from.take(bytes), into.take(bytes), bytes) };
        copied += bytes;
    }
}

/// How a message is copied to where its receiver reads it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Pieces {
    /// The length of each piece but the last, in bytes.
    pub bytes: usize,
    /// How many bytes behind a piece are claimed with it, before it is copied, as another core has their lines; `None`: none are, nor
    /// its own.
    pub claimed_ahead: Option<usize>,
}

/// Copies `from` into `into`, as far as both reach, in pieces; says after each how many bytes are there.
///
/// # Safety
/// As for [`copy`].
pub(crate) unsafe fn copy_in_pieces(
    from: impl Iterator<Item = Iovec>,
    into: Iovec,
    pieces: Pieces,
    mut filled: impl FnMut(usize),
) {
    let (mut from, mut done, mut claimed) = (Stream::new(from), 0, 0);
    while done < into.bytes {
        if let Some(ahead) = pieces.claimed_ahead {
            let end = done + pieces.bytes + ahead;
            let next = into.piece(claimed, end - claimed);
            claim_lines(next.address, next.bytes);
            claimed += next.bytes;
        }
        let piece = into.piece(done, pieces.bytes);
        // SAFETY: the caller's promise, of a part.
        let copied = unsafe {
            copy_next(
                &mut from,
                &mut Stream::new(std::iter::once(piece)),
                Distance::Near,
            )
        };
        if copied == 0 {
            return;
        }
        done += copied;
        filled(done);
    }
}

/// Writes left ⊕ right into `into`, as far as all three reach.
///
/// # Safety
/// As for [`copy`], and every iovec is an iovec of whole elements, aligned for them; an iovec of `into` is
/// the same as the one it is computed from, or apart from it.
pub(crate) unsafe fn reduce(
    combine: &Combine,
    left: impl Iterator<Item = Iovec>,
    right: impl Iterator<Item = Iovec>,
    into: impl Iterator<Item = Iovec>,
) {
    let (mut left, mut right, mut into) =
        (Stream::new(left), Stream::new(right), Stream::new(into));
    loop {
        let bytes = left
            .next_bytes()
            .min(right.next_bytes())
            .min(into.next_bytes());
        if bytes == 0 {
            return;
        }
        let (l, r, out) = (left.take(bytes), right.take(bytes), into.take(bytes));
        // SAFETY: all iovecs have this many bytes; the least of iovecs of whole elements is whole; the
        // rest is the caller's promise.
        unsafe { combine.run(l, r, out, bytes) };
    }
}

/// Where a message goes that comes in pieces: to memory of the call, or combined with memory of the call.
pub(crate) struct Sink<I> {
    into: Stream<I>,
    reduction: Option<Reduction<I>>,
}

struct Reduction<I> {
    own: Stream<I>,
    combine: Combine,
    side: Side,
}

impl<I: Iterator<Item = Iovec>> Sink<I> {
    /// To `into`, as it comes.
    pub(crate) fn copy(into: I) -> Sink<I> {
        Sink {
            into: Stream::new(into),
            reduction: None,
        }
    }

    /// To `into`, combined with `own`; what comes stands on `side`.
    pub(crate) fn reduce(into: I, own: I, combine: Combine, side: Side) -> Sink<I> {
        Sink {
            into: Stream::new(into),
            reduction: Some(Reduction {
                own: Stream::new(own),
                combine,
                side,
            }),
        }
    }

    /// The sink of what comes behind the first `bytes` bytes, a whole number of [`Sink::grain`]s.
    pub(crate) fn behind(mut self, bytes: usize) -> Sink<I> {
        self.into.skip(bytes);
        if let Some(reduction) = &mut self.reduction {
            reduction.own.skip(bytes);
        }
        self
    }

    /// The number of bytes in which pieces must come, but for the last: whole elements, where they are combined.
    pub(crate) fn grain(&self) -> usize {
        self.reduction
            .as_ref()
            .map_or(1, |r| r.combine.element_bytes().max(1))
    }

    /// Whether what comes is copied and not combined, so that [`Sink::room`] may be used.
    pub(crate) fn copies(&self) -> bool {
        self.reduction.is_none()
    }

    /// The memory that the next bytes go to, at most `most` bytes, and counts it as filled; none at the end.
    pub(crate) fn room(&mut self, most: usize) -> Option<Iovec> {
        debug_assert!(self.copies(), "what is combined is not written to directly");
        let bytes = self.into.next_bytes().min(most);
        (bytes > 0).then(|| Iovec {
            address: self.into.take(bytes),
            bytes,
        })
    }

    /// The memory that all of `bytes` bytes go to, if it is one iovec and nothing is combined.
    pub(crate) fn single(&mut self, bytes: usize) -> Option<Iovec> {
        (self.copies() && self.into.next_bytes() >= bytes).then_some(Iovec {
            address: self.into.at.address,
            bytes,
        })
    }

    /// The memory that the next bytes go to, at most `most` bytes, if they are combined with others than are there: then they may come
    /// there first, and be [fed](Sink::feed) from there.
    pub(crate) fn landing(&mut self, most: usize) -> Option<Iovec> {
        let own = &mut self.reduction.as_mut()?.own;
        let bytes = most.min(self.into.next_bytes()).min(own.next_bytes());
        let address = self.into.at.address;
        (bytes > 0 && address != own.at.address).then_some(Iovec { address, bytes })
    }

    /// Takes the next piece, from memory at a distance.
    ///
    /// # Safety
    /// As for [`copy`] or [`reduce`], of `piece` and the sink's iovecs; a piece is a whole number of [`Sink::grain`]s, and
    /// memory that is far is none of the sink's, and writable if it goes back; or it is the sink's [landing](Sink::landing).
    #[inline]
    pub(crate) unsafe fn feed(&mut self, mut piece: Iovec, distance: Distance) {
        while piece.bytes > 0 {
            let mut bytes = piece.bytes.min(self.into.next_bytes());
            if let Some(reduction) = &mut self.reduction {
                bytes = bytes.min(reduction.own.next_bytes());
            }
            if bytes == 0 {
                return;
            }
            let (from, out) = (piece.address, self.into.take(bytes));
            // SAFETY: all iovecs have this many bytes; the least of iovecs of whole elements is whole; the rest is the
            // caller's promise.
            unsafe {
                match &mut self.reduction {
                    None => distance.copy(from, out, bytes),
                    Some(Reduction { own, combine, side }) => {
                        let own = own.take(bytes);
                        let (left, right) = match side {
                            Side::Left => (from, own),
                            Side::Right => (own, from),
                        };
                        combine.run(left, right, out, bytes);
                        if distance == Distance::Back {
                            claim_for_write(Iovec {
                                address: from,
                                bytes,
                            });
                        }
                    }
                }
            }
            piece = piece.piece(bytes, piece.bytes);
        }
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    fn cut(bytes: &mut [u8], cuts: &[usize]) -> Vec<Iovec> {
        let address = bytes.as_mut_ptr();
        let iovec = |w: &[usize]| Iovec {
            address: address.wrapping_add(w[0]),
            bytes: w[1] - w[0],
        };
        cuts.windows(2).map(iovec).collect()
    }

    unsafe fn minus(_: *const (), l: *const u8, r: *const u8, o: *mut u8, n: usize) {
        for i in 0..n {
            // SAFETY: the caller promises `n` elements of one byte.
            unsafe { *o.add(i) = (*l.add(i)).wrapping_sub(*r.add(i)) };
        }
    }

    #[test]
    fn lines_are_claimed_inside_the_iovec_alone() {
        for (start, bytes) in [(0, 0), (1, 20), (3, 61), (3, 62), (64, 64), (70, 250)] {
            let mut memory = vec![7u8; 512];
            let iovec = Iovec {
                address: memory.as_mut_ptr().wrapping_add(start),
                bytes,
            };
            // SAFETY: inside the vector.
            unsafe { claim_for_write(iovec) };
            let written = |at: usize| (iovec.address as usize - start + at).is_multiple_of(LINE);
            for (at, byte) in memory.iter().enumerate() {
                let inside = (start..start + bytes).contains(&at);
                assert_eq!(*byte == 0, inside && written(at), "{start} {bytes} {at}");
            }
        }
    }

    #[test]
    fn iovecs_cut_differently_meet_element_by_element() {
        let mut a: Vec<u8> = (100..110).collect();
        let mut b: Vec<u8> = (0..10).map(|i| i * 3).collect();
        let mut c = vec![0; 10];
        let a = cut(&mut a, &[0, 3, 3, 10]);
        let b = cut(&mut b, &[0, 1, 5, 9, 10]);
        // SAFETY: `minus` keeps to its iovecs.
        let combine = unsafe { Combine::new(1, minus, std::ptr::null()) };
        for (side, sign) in [(Side::Left, 1), (Side::Right, 255u8)] {
            let into = cut(&mut c, &[0, 7, 10]);
            let mut sink = Sink::reduce(into.into_iter(), b.clone().into_iter(), combine, side);
            for piece in &a {
                // SAFETY: the vectors live and are apart.
                unsafe { sink.feed(*piece, Distance::Near) };
            }
            let right: Vec<u8> = (0..10)
                .map(|i| sign.wrapping_mul(100 + i - 3 * i))
                .collect();
            assert_eq!(c, right);
        }
        let into = cut(&mut c, &[0, 4, 10]);
        // SAFETY: as above.
        unsafe { copy(b.iter().copied(), into.into_iter()) };
        assert_eq!(c, [0, 3, 6, 9, 12, 15, 18, 21, 24, 27]);
    }
}
