//! The table of names: texts that a rank's signatures number, where every peer can read them.

use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};

/// The longest text in bytes; a longer one is cut.
const LONGEST: usize = 56;
/// How many texts; what comes later is called [`LATER`].
const MOST: usize = 64;
/// What stands for the names beyond the table.
const LATER: &str = "one of too many to name";

/// How many stand apart from later ones.
const FIRST: usize = 2;

/// Texts that one rank writes, each once, and all ranks read; zeros are an empty table.
#[derive(Debug)]
#[repr(C)]
pub(crate) struct Names {
    known: AtomicU32,
    first: [Text; FIRST],
}

/// The texts behind the first ones; zeros at first.
#[derive(Debug)]
#[repr(C)]
pub(crate) struct Later([Text; MOST - FIRST]);

#[derive(Debug)]
#[repr(C)]
struct Text {
    bytes: AtomicU64,
    words: [AtomicU64; LONGEST / 8],
}

impl Names {
    fn place<'a>(&'a self, later: &'a Later, number: usize) -> &'a Text {
        self.first
            .get(number)
            .unwrap_or_else(|| &later.0[number - FIRST])
    }

    /// The number of `name`, which is new or known. Only the owner calls this, once for a plan.
    pub(crate) fn number(&self, later: &Later, name: &str) -> u32 {
        let name = &name.as_bytes()[..name.len().min(LONGEST)];
        let known = self.known.load(Ordering::Relaxed) as usize;
        let found = (0..known).find(|at| self.place(later, *at).get() == name);
        found.unwrap_or_else(|| {
            if known < MOST {
                self.place(later, known).set(name);
                // Release: whoever sees the number sees the text.
                self.known.store(known as u32 + 1, Ordering::Release);
            }
            known
        }) as u32
    }

    /// The text of a number that [`Names::number`] gave.
    pub(crate) fn text(&self, later: &Later, number: u32) -> String {
        let known = self.known.load(Ordering::Acquire);
        if number >= known {
            return LATER.to_string();
        }
        String::from_utf8_lossy(&self.place(later, number as usize).get()).into_owned()
    }
}

impl Text {
    fn set(&self, text: &[u8]) {
        for (word, bytes) in self.words.iter().zip(text.chunks(8)) {
            let mut padded = [0; 8];
            padded[..bytes.len()].copy_from_slice(bytes);
            word.store(u64::from_le_bytes(padded), Ordering::Relaxed);
        }
        self.bytes.store(text.len() as u64, Ordering::Relaxed);
    }

    fn get(&self) -> Vec<u8> {
        let words = self.words.iter().map(|w| w.load(Ordering::Relaxed));
        let mut text: Vec<u8> = words.flat_map(u64::to_le_bytes).collect();
        text.truncate(self.bytes.load(Ordering::Relaxed) as usize);
        text
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    #[test]
    fn names_are_kept_once_and_cut() {
        // SAFETY: zeros are an empty table: it is atomics alone.
        let (names, later): (Names, Later) = unsafe { std::mem::zeroed() };
        let number = |name: &str| names.number(&later, name);
        let text = |number: u32| names.text(&later, number);
        let long = "x".repeat(100);
        let numbers = ["ring", "bruck:radix=4", "ring", "", &long].map(number);
        assert_eq!(numbers, [0, 1, 0, 2, 3]);
        assert_eq!(text(1), "bruck:radix=4");
        assert_eq!(text(2), "");
        assert_eq!(text(3).len(), LONGEST);
        for other in 0..100 {
            number(&other.to_string());
        }
        assert_eq!(text(number("the last")), LATER);
        assert_eq!(number("ring"), 0);
    }
}
