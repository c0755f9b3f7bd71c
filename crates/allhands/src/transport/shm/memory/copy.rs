//! Far memory: lines that another core has written, and how to copy them sooner than one waits for each.
//!
//! A copy as the system's library makes it asks for the next few lines. Those that are asked for ahead, into the second-level
//! cache, come while it works: for tens of kilobytes a sixth to a quarter sooner. Near memory is slower so, and reductions
//! are no faster.
//!
//! Where a call moves more than the last-level caches hold, what is written goes past them: no line is fetched only to be
//! overwritten, and what is still to be read stays.
//!
//! A copy of memory that is in nobody's cache asks for the lines that it writes as well, on a machine where that takes less: the library
//! leaves these to the processor.
//!
//! And no copy is left to the library where that would move strings slowly ([`alias`]).

use crate::transport::shm::memory::iovec::{self, Iovec};
use crate::transport::shm::memory::page_aliasing;
use crate::transport::shm::tuning::{
    ALIASING_LEAST, COPY_AHEAD, COPY_AHEAD_LEAST, COPY_CLAIMING_LEAST, COPY_IN_PLACE_LEAST,
    COPY_IN_PLACE_MOST,
};
use std::sync::atomic::{AtomicBool, Ordering};

/// Whose cache the memory is in that is read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Distance {
    /// This core's, as likely as not.
    Near,
    /// Another core's.
    Far,
    /// Another core's, as likely as not, who writes there next and wants nothing that is in it: [claimed for writing](iovec::claim_for_write) line by
    /// line, each as soon as it is copied, and so zeroed here and there.
    Back,
    /// Nobody's, and what is written there is in none either: lines of both sides are asked for ahead where that was
    /// [measured to take less](asks_both_ahead).
    Cold,
    /// Nobody's for long: what is written through the caches would drive out what is still read.
    Beyond,
}

impl Distance {
    /// Copies `bytes` bytes.
    ///
    /// # Safety
    /// `from` is readable and `into` writable, by nobody else meanwhile; far memory is no part of `into`, and what goes back is
    /// writable, too.
    #[inline]
    pub(crate) unsafe fn copy(self, from: *const u8, into: *mut u8, bytes: usize) {
        #[cfg(target_arch = "x86_64")]
        if self == Distance::Cold
            && bytes >= COPY_AHEAD_LEAST
            && asks_both_ahead()
            && is_apart(from, into, bytes)
            && is_wide()
        {
            // SAFETY: the processor has these instructions, and both are apart; the rest is the caller's promise.
            return unsafe { copy_far::<false, true>(from, into, bytes, COPY_AHEAD) };
        }
        #[cfg(target_arch = "x86_64")]
        if self == Distance::Far {
            if (COPY_IN_PLACE_LEAST..=COPY_IN_PLACE_MOST).contains(&bytes) {
                // SAFETY: the caller's promise, and there are at least 8 bytes.
                return unsafe { copy_short(from, into, bytes) };
            }
            if bytes >= COPY_AHEAD_LEAST && is_wide() {
                // SAFETY: the processor has these instructions; the rest is the caller's promise.
                return unsafe { copy_far::<false, false>(from, into, bytes, COPY_AHEAD) };
            }
        }
        if self == Distance::Back {
            // SAFETY: the caller's promise.
            return unsafe { copy_back(from.cast_mut(), into, bytes) };
        }
        #[cfg(target_arch = "x86_64")]
        if self == Distance::Beyond
            && bytes >= COPY_AHEAD_LEAST
            && is_apart(from, into, bytes)
            && is_wide()
        {
            // SAFETY: the processor has these instructions, and both are apart; the rest is the caller's promise.
            return unsafe { stream::<false>(from, std::ptr::null_mut(), into, bytes) };
        }
        #[cfg(target_arch = "x86_64")]
        if bytes >= ALIASING_LEAST
            && page_aliasing::is_4k_aliased(from, into)
            && is_apart(from, into, bytes)
            && is_wide()
        {
            // Of a short one nothing is asked for ahead: behind it may be what its writer is still writing.
            let ahead = if bytes >= COPY_AHEAD_LEAST {
                COPY_AHEAD
            } else {
                0
            };
            // SAFETY: the processor has these instructions, and both are apart; the rest is the caller's promise.
            return unsafe { copy_far::<false, false>(from, into, bytes, ahead) };
        }
        // SAFETY: the caller's promise.
        unsafe { std::ptr::copy(from, into, bytes) };
    }
}

/// Whether cold copies ask for the lines of both sides ahead, as it was measured on this machine, which is the same for all of the process.
static BOTH_AHEAD: AtomicBool = AtomicBool::new(false);

/// Says whether they do.
pub(crate) fn ask_both_ahead(ahead: bool) {
    BOTH_AHEAD.store(ahead, Ordering::Relaxed);
}

/// Whether they do.
pub(crate) fn asks_both_ahead() -> bool {
    BOTH_AHEAD.load(Ordering::Relaxed)
}

/// Copies what is then claimed for writing.
///
/// # Safety
/// As for [`Distance::copy`].
unsafe fn copy_back(from: *mut u8, into: *mut u8, bytes: usize) {
    #[cfg(target_arch = "x86_64")]
    if bytes >= COPY_CLAIMING_LEAST && is_wide() {
        // SAFETY: the processor has these instructions; the rest is the caller's promise.
        return unsafe { copy_far::<true, false>(from, into, bytes, COPY_AHEAD) };
    }
    let iovec = Iovec {
        address: from,
        bytes,
    };
    // SAFETY: the caller's promise.
    unsafe {
        std::ptr::copy(from, into, bytes);
        iovec::claim_for_write(iovec);
    }
}

#[cfg(target_arch = "x86_64")]
fn is_apart(from: *const u8, into: *const u8, bytes: usize) -> bool {
    from.addr().abs_diff(into.addr()) >= bytes
}

/// Copies `from` into `buffer` as near memory, and into `past` past the caches, and reads it once.
///
/// # Safety
/// All three have so many bytes and are apart; the first is readable and the others writable, by nobody else meanwhile.
pub(crate) unsafe fn copy_twice(from: *const u8, buffer: *mut u8, past: *mut u8, bytes: usize) {
    #[cfg(target_arch = "x86_64")]
    if bytes >= COPY_AHEAD_LEAST && is_wide() {
        // SAFETY: the processor has these instructions; the rest is the caller's promise.
        return unsafe { stream::<true>(from, buffer, past, bytes) };
    }
    // SAFETY: the caller's promise.
    unsafe {
        Distance::Near.copy(from, buffer, bytes);
        Distance::Beyond.copy(from, past, bytes);
    }
}

/// Copies past the caches: to memory, without fetching first what is overwritten; and what was read to `near`, too, if `TWICE`.
///
/// # Safety
/// As for [`copy_twice`], of at least a line, and the processor has AVX2. `near` is used only if `TWICE`.
#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2")]
unsafe fn stream<const TWICE: bool>(from: *const u8, near: *mut u8, past: *mut u8, bytes: usize) {
    use std::arch::x86_64::{
        __m256i, _mm_sfence, _mm256_loadu_si256, _mm256_storeu_si256, _mm256_stream_si256,
    };
    let first = past.align_offset(64);
    let end = first + (bytes - first) / 64 * 64;
    for (start, stop) in [(0, first), (end, bytes)] {
        // SAFETY: the bytes before the first whole line, and those after the last.
        unsafe {
            std::ptr::copy_nonoverlapping(from.add(start), past.add(start), stop - start);
            if TWICE {
                std::ptr::copy_nonoverlapping(from.add(start), near.add(start), stop - start);
            }
        }
    }
    for at in (first..end).step_by(64) {
        // SAFETY: the line lies within the bytes of all, as the caller promises, and is aligned where it is streamed.
        unsafe {
            let (source, target) = (from.add(at).cast::<__m256i>(), past.add(at).cast());
            let (low, high) = (
                _mm256_loadu_si256(source),
                _mm256_loadu_si256(source.add(1)),
            );
            if TWICE {
                let near = near.add(at).cast::<__m256i>();
                _mm256_storeu_si256(near, low);
                _mm256_storeu_si256(near.add(1), high);
            }
            _mm256_stream_si256(target, low);
            _mm256_stream_si256(target.add(1), high);
        }
    }
    // Orders these stores before whatever says that they are there.
    _mm_sfence();
}

/// # Safety
/// As for [`Distance::copy`] of far memory, of at least [`COPY_IN_PLACE_LEAST`] bytes.
#[cfg(target_arch = "x86_64")]
#[inline(always)]
unsafe fn copy_short(from: *const u8, into: *mut u8, bytes: usize) {
    use std::arch::x86_64::{__m128i, _mm_loadu_si128, _mm_storeu_si128};
    let word = |at: usize| {
        // SAFETY: 8 bytes from `at` on lie within the bytes of both.
        unsafe {
            let value = from.add(at).cast::<u64>().read_unaligned();
            into.add(at).cast::<u64>().write_unaligned(value);
        }
    };
    let vector = |at: usize| {
        // SAFETY: 16 bytes from `at` on lie within the bytes of both.
        unsafe {
            let value = _mm_loadu_si128(from.add(at).cast::<__m128i>());
            _mm_storeu_si128(into.add(at).cast(), value);
        }
    };
    if bytes < 16 {
        word(0);
        return word(bytes - 8);
    }
    let mut at = 0;
    while at + 16 <= bytes {
        vector(at);
        at += 16;
    }
    if at < bytes {
        vector(bytes - 16);
    }
}

#[cfg(target_arch = "x86_64")]
#[inline]
fn is_wide() -> bool {
    crate::kernel::InstructionSet::best() >= crate::kernel::InstructionSet::Avx2
}

/// Copies with lines asked for `ahead` bytes ahead, those of the target, too, if `BOTH`; claims each for writing if `BACK`.
///
/// # Safety
/// As for [`Distance::copy`], and the processor has AVX2.
#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2")]
unsafe fn copy_far<const BACK: bool, const BOTH: bool>(
    from: *const u8,
    into: *mut u8,
    bytes: usize,
    ahead: usize,
) {
    use std::arch::x86_64::{
        __m256i, _MM_HINT_ET0, _MM_HINT_T1, _mm_prefetch, _mm256_loadu_si256, _mm256_storeu_si256,
    };
    let lines = bytes / 64 * 64;
    for at in (0..lines).step_by(64) {
        // SAFETY: the line lies within the bytes of both, as the caller promises; a prefetch faults on no address.
        unsafe {
            _mm_prefetch::<_MM_HINT_T1>(from.wrapping_add(at + ahead).cast());
            if BOTH {
                _mm_prefetch::<_MM_HINT_ET0>(into.wrapping_add(at + ahead).cast());
            }
            let (source, target) = (from.add(at).cast::<__m256i>(), into.add(at).cast());
            let (low, high) = (
                _mm256_loadu_si256(source),
                _mm256_loadu_si256(source.add(1)),
            );
            _mm256_storeu_si256(target, low);
            _mm256_storeu_si256(target.add(1), high);
            if BACK {
                from.add(at).cast_mut().write_volatile(0);
            }
        }
    }
    // SAFETY: the rest of the bytes.
    unsafe { std::ptr::copy(from.add(lines), into.add(lines), bytes - lines) };
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    #[test]
    fn far_copies_are_copies() {
        let from: Vec<u8> = (0..40_000).map(|i| (i * 31 % 251) as u8).collect();
        for (start, bytes) in [
            (0, 4096),
            (2, 9000),
            (1, COPY_AHEAD_LEAST - 1),
            (3, COPY_AHEAD_LEAST + 1),
            (17, 39_983),
            (64, 30_000),
        ] {
            for distance in [Distance::Near, Distance::Far, Distance::Beyond] {
                let mut into = vec![0; from.len() + 1];
                // SAFETY: both vectors are long enough, and apart.
                unsafe {
                    distance.copy(from.as_ptr().add(start), into.as_mut_ptr().add(1), bytes);
                }
                assert_eq!(into[1..=bytes], from[start..start + bytes]);
                assert!(into[0] == 0 && into[bytes + 1..].iter().all(|b| *b == 0));
            }
        }
    }

    #[test]
    fn copies_that_ask_for_both_sides_ahead_are_copies() {
        let bytes = COPY_AHEAD_LEAST + 100;
        let from: Vec<u8> = (0..bytes + 1).map(|i| (i * 31 % 251) as u8).collect();
        let mut into = vec![0; bytes + 2];
        ask_both_ahead(true);
        // SAFETY: both vectors are long enough, and apart.
        unsafe { Distance::Cold.copy(from.as_ptr().add(1), into.as_mut_ptr().add(1), bytes) };
        ask_both_ahead(false);
        assert!(into[1..=bytes] == from[1..] && into[0] == 0 && into[bytes + 1] == 0);
    }

    #[test]
    fn what_is_copied_twice_is_in_both_places() {
        let from: Vec<u8> = (0..60_000).map(|i| (i * 31 % 251) as u8).collect();
        for (start, bytes) in [
            (0, 100),
            (1, COPY_AHEAD_LEAST - 1),
            (3, COPY_AHEAD_LEAST),
            (17, 39_983),
            (64, 48 << 10),
        ] {
            let (mut buffer, mut past) = (vec![0; from.len() + 3], vec![0; from.len() + 5]);
            // SAFETY: all three vectors are long enough, and apart.
            unsafe {
                let (buffer, past) = (buffer.as_mut_ptr().add(3), past.as_mut_ptr().add(5));
                copy_twice(from.as_ptr().add(start), buffer, past, bytes);
            }
            for (into, place) in [(&buffer, 3), (&past, 5)] {
                assert_eq!(into[place..place + bytes], from[start..start + bytes]);
                assert!(into[..place].iter().all(|b| *b == 0));
                assert!(into[place + bytes..].iter().all(|b| *b == 0));
            }
        }
    }

    #[test]
    fn what_goes_back_is_copied_and_every_line_of_it_written() {
        for (start, bytes) in [(0, 64), (3, 500), (0, 4096), (17, 9001), (64, 30_000)] {
            let mut from: Vec<u8> = (0..32_768).map(|i| (i * 31 % 251) as u8 + 1).collect();
            let (before, mut into) = (from.clone(), vec![0u8; from.len()]);
            // SAFETY: both vectors are long enough, and apart.
            unsafe {
                let (from, into) = (from.as_mut_ptr().add(start), into.as_mut_ptr().add(1));
                Distance::Back.copy(from, into, bytes);
            }
            let end = start + bytes;
            assert_eq!(into[1..=bytes], before[start..end]);
            assert_eq!((into[0], into[bytes + 1]), (0, 0));
            assert_eq!(from[..start], before[..start]);
            assert_eq!(from[end..], before[end..]);
            let written = from.iter().filter(|b| **b == 0).count();
            assert!(
                written >= bytes / 64 && written <= bytes / 64 + 1,
                "{start} {bytes}"
            );
        }
    }

    #[test]
    fn what_overlaps_is_moved() {
        let mut memory: Vec<u8> = (0..80_000).map(|i| (i * 31 % 251) as u8).collect();
        let before = memory.clone();
        let start = memory.as_mut_ptr();
        // SAFETY: inside the vector.
        unsafe { Distance::Beyond.copy(start, start.add(100), 70_000) };
        assert_eq!(memory[100..70_100], before[..70_000]);
        assert_eq!(memory[70_100..], before[70_100..]);
    }
}
