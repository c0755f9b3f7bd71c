//! Segments: runs of real memory, and how bytes go from lists of them to others.

use crate::transport::Combine;
use allhands_core::schedule::Side;

/// A run of bytes in memory.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Segment {
    pub address: *mut u8,
    pub bytes: usize,
}

/// A list of segments, read as one run.
pub(crate) struct Stream<I> {
    rest: I,
    at: Segment,
}

impl<I: Iterator<Item = Segment>> Stream<I> {
    pub(crate) fn new(mut rest: I) -> Stream<I> {
        let none = Segment {
            address: std::ptr::null_mut(),
            bytes: 0,
        };
        let at = rest.next().unwrap_or(none);
        Stream { rest, at }
    }

    /// The bytes that follow without a break; 0 only at the end.
    #[inline]
    fn run(&mut self) -> usize {
        while self.at.bytes == 0 {
            match self.rest.next() {
                Some(next) => self.at = next,
                None => return 0,
            }
        }
        self.at.bytes
    }

    /// The address of the next `bytes` bytes, no more than [`Stream::run`] said.
    #[inline]
    fn take(&mut self, bytes: usize) -> *mut u8 {
        let address = self.at.address;
        self.at = Segment {
            address: address.wrapping_add(bytes),
            bytes: self.at.bytes - bytes,
        };
        address
    }
}

/// Copies `from` into `into`, as far as both reach.
///
/// # Safety
/// The segments of `from` are readable and those of `into` writable, by nobody else meanwhile; a run
/// of one may overlap the run of the other that it is copied to.
pub(crate) unsafe fn copy(
    from: impl Iterator<Item = Segment>,
    into: impl Iterator<Item = Segment>,
) {
    let (mut from, mut into) = (Stream::new(from), Stream::new(into));
    loop {
        let bytes = from.run().min(into.run());
        if bytes == 0 {
            return;
        }
        // SAFETY: both runs have this many bytes, as the caller promises; `copy` allows overlap.
        unsafe { std::ptr::copy(from.take(bytes), into.take(bytes), bytes) };
    }
}

/// Writes left ⊕ right into `into`, as far as all three reach.
///
/// # Safety
/// As for [`copy`], and every segment is a run of whole elements, aligned for them; a run of `into` is
/// the same as the one it is computed from, or apart from it.
pub(crate) unsafe fn reduce(
    combine: &Combine,
    left: impl Iterator<Item = Segment>,
    right: impl Iterator<Item = Segment>,
    into: impl Iterator<Item = Segment>,
) {
    let (mut left, mut right, mut into) =
        (Stream::new(left), Stream::new(right), Stream::new(into));
    loop {
        let bytes = left.run().min(right.run()).min(into.run());
        if bytes == 0 {
            return;
        }
        let (l, r, out) = (left.take(bytes), right.take(bytes), into.take(bytes));
        // SAFETY: all runs have this many bytes; the least of runs of whole elements is whole; the
        // rest is the caller's promise.
        unsafe { combine.run(l, r, out, bytes) };
    }
}

/// [`reduce`] with the operand that came in on `side`.
///
/// # Safety
/// As for [`reduce`].
pub(crate) unsafe fn reduce_on(
    combine: &Combine,
    side: Side,
    incoming: impl Iterator<Item = Segment>,
    own: impl Iterator<Item = Segment>,
    into: impl Iterator<Item = Segment>,
) {
    // SAFETY: passed on.
    unsafe {
        match side {
            Side::Left => reduce(combine, incoming, own, into),
            Side::Right => reduce(combine, own, incoming, into),
        }
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    fn cut(bytes: &mut [u8], cuts: &[usize]) -> Vec<Segment> {
        let address = bytes.as_mut_ptr();
        let segment = |w: &[usize]| Segment {
            address: address.wrapping_add(w[0]),
            bytes: w[1] - w[0],
        };
        cuts.windows(2).map(segment).collect()
    }

    unsafe fn minus(_: *const (), l: *const u8, r: *const u8, o: *mut u8, n: usize) {
        for i in 0..n {
            // SAFETY: the caller promises `n` elements of one byte.
            unsafe { *o.add(i) = (*l.add(i)).wrapping_sub(*r.add(i)) };
        }
    }

    #[test]
    fn runs_cut_differently_meet_element_by_element() {
        let mut a: Vec<u8> = (100..110).collect();
        let mut b: Vec<u8> = (0..10).map(|i| i * 3).collect();
        let mut c = vec![0; 10];
        let a = cut(&mut a, &[0, 3, 3, 10]);
        let b = cut(&mut b, &[0, 1, 5, 9, 10]);
        // SAFETY: `minus` keeps to its runs.
        let combine = unsafe { Combine::new(1, minus, std::ptr::null()) };
        for (side, sign) in [(Side::Left, 1), (Side::Right, 255u8)] {
            let into = cut(&mut c, &[0, 7, 10]);
            let (a, b) = (a.iter().copied(), b.iter().copied());
            // SAFETY: the vectors live and are apart.
            unsafe { reduce_on(&combine, side, a, b, into.into_iter()) };
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
