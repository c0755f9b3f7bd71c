//! 4 KiB aliasing: where a copy goes so little behind the place that its source has in a page that string moves mind.
//!
//! Some processors move strings (`rep movsb`) fifteen times as slowly where the target's place in its page is one to 31 bytes
//! behind the source's, as if each byte might be read again: 64 KB in 23 µs, not 1.4. The system's library copies with
//! them from some kilobytes on, and so does the kernel, which takes 490 µs for a megabyte of another process's memory then,
//! not 100. Buffers that a program has from one `malloc` and the next are often apart so.

use std::hint::black_box;
use std::sync::OnceLock;
use std::time::{Duration, Instant};

/// The bytes of a page.
pub(crate) const PAGE_BYTES: usize = 4 << 10;

/// The least distance, in places of a page, that is well.
const APART: usize = 32;

/// Whether a copy from here to there may be slow.
#[inline]
pub(crate) fn is_4k_aliased(from: *const u8, into: *const u8) -> bool {
    let behind = into.addr().wrapping_sub(from.addr()) % PAGE_BYTES;
    behind > 0 && behind < APART
}

/// Whether this machine's string moves mind, as a few show once.
pub(crate) fn are_slow() -> bool {
    static SLOW: OnceLock<bool> = OnceLock::new();
    *SLOW.get_or_init(|| {
        const BYTES: usize = 2 * PAGE_BYTES;
        const TRIES: usize = 5;
        let (from, mut into) = (vec![1u8; BYTES], vec![0u8; BYTES + 2 * PAGE_BYTES]);
        let same = from.as_ptr().addr().wrapping_sub(into.as_ptr().addr()) % PAGE_BYTES;
        let mut least = |start: usize| {
            let tries = (0..TRIES).map(|_| {
                let begin = Instant::now();
                move_string(black_box(&from), &mut into[start..start + BYTES]);
                begin.elapsed()
            });
            tries.min().unwrap_or(Duration::ZERO)
        };
        // The first ones also bring the memory here.
        let [_, apart, alias] = [same, same, same + APART / 2].map(&mut least);
        alias > 4 * apart
    })
}

#[cfg(all(target_arch = "x86_64", not(miri)))]
fn move_string(from: &[u8], into: &mut [u8]) {
    assert_eq!(from.len(), into.len(), "as much as there is");
    // SAFETY: both slices have this many bytes and are apart; the direction flag is clear, as everywhere.
    unsafe {
        std::arch::asm!(
            "rep movsb",
            inout("rcx") from.len() => _,
            inout("rsi") from.as_ptr() => _,
            inout("rdi") into.as_mut_ptr() => _,
            options(nostack, preserves_flags),
        );
    }
}

/// Elsewhere there are no such moves.
#[cfg(not(all(target_arch = "x86_64", not(miri))))]
fn move_string(from: &[u8], into: &mut [u8]) {
    into.copy_from_slice(from);
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    #[test]
    fn places_are_compared_within_pages() {
        let at = |address: usize| std::ptr::without_provenance::<u8>(address);
        for (from, into, expected) in [
            (4096, 4096, false),
            (4096, 8192, false),
            (4096, 8193, true),
            (4096 + 4090, 3 * 4096 + 5, true),
            (4096, 4096 + 31, true),
            (4096, 4096 + 32, false),
            (8192 + 8, 4096, false),
            (8192, 4096 + 8, true),
        ] {
            assert_eq!(is_4k_aliased(at(from), at(into)), expected, "{from} {into}");
        }
    }

    #[test]
    fn strings_are_moved_as_they_are() {
        let from: Vec<u8> = (0..=255).cycle().take(5000).collect();
        let mut into = vec![0; 5000];
        move_string(&from, &mut into);
        assert_eq!(from, into);
        // Whatever the answer is, it stays.
        assert_eq!(are_slow(), are_slow());
    }
}
