//! Notices: what ranks of different nodes tell one another when something is wrong, or has taken long.

use crate::transport::net::Notice;
use crate::transport::shm::failure::fault::{Fault, WORDS};
use crate::transport::shm::failure::member::Stamp;

/// The longest name of an algorithm in bytes; a longer one is cut.
const NAME_BYTES: usize = 56;

const STOPS: u32 = Notice::STOPS as u32;
const REFUSES: u32 = Notice::REFUSES as u32;
const COMES: u32 = Notice::COMES as u32;
const REPEATS: u32 = Notice::REPEATS as u32;

/// Words of bits for the ranks of a node that have not come to a call.
pub(crate) const MISSING: usize = WORDS - 6;

/// What one rank tells another; ranks have the numbers of the communicator.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Word {
    /// What stopped the communicator, from which call on, who found it, and the names of the algorithms in its stamps.
    Stopped(u64, (u32, Fault), [String; 2]),
    /// The teller makes no further call, after so many, and so many messages to this rank that are no part of a call.
    Left {
        entered: u64,
        panicked: bool,
        frames: u64,
    },
    /// The teller has waited in a call for some time; this is what it calls, with its algorithm, and which ranks of its node have
    /// not come to it.
    Waits(u64, Stamp, String, [u64; MISSING]),
    /// What the teller has refused since its last call, as [`Refusals`](crate::transport::shm::failure::refusals) has it, and the number of its next one: it
    /// wants to know what others make as that.
    Refuses(u64, u64),
    /// The teller has come to a call, with this stamp. Its algorithm has no name here.
    Comes(u64, Stamp),
}

impl Word {
    pub(crate) fn notice(&self) -> Notice {
        let mut notice = Notice([0; Notice::BYTES]);
        let mut words = Vec::with_capacity(2 + WORDS);
        let mut names = ["", ""];
        match self {
            Word::Stopped(first, (finder, fault), of) => {
                words.extend([u64::from(*finder) << 32 | u64::from(Notice::STOPS), *first]);
                words.extend(fault.words());
                names = [&of[0], &of[1]];
            }
            Word::Left {
                entered,
                panicked,
                frames,
            } => words.extend([2, *entered, u64::from(*panicked), *frames]),
            Word::Waits(call, stamp, name, missing) => {
                words.extend([3, *call, stamp.hash]);
                words.extend(stamp.words);
                words.extend(missing);
                names[0] = name;
            }
            Word::Refuses(call, refusals) => {
                words.extend([u64::from(REFUSES), *call, *refusals]);
            }
            Word::Comes(call, stamp) => {
                words.extend([u64::from(COMES), *call, stamp.hash]);
                words.extend(stamp.words);
            }
        }
        let (numbers, texts) = notice.0.split_at_mut(Notice::BYTES - 2 * (NAME_BYTES + 1));
        for (bytes, word) in numbers.chunks_exact_mut(8).zip(words) {
            bytes.copy_from_slice(&word.to_le_bytes());
        }
        for (bytes, name) in texts.chunks_exact_mut(NAME_BYTES + 1).zip(names) {
            let length = name.len().min(NAME_BYTES);
            bytes[0] = length as u8;
            bytes[1..=length].copy_from_slice(&name.as_bytes()[..length]);
        }
        notice
    }

    /// The notice of a fault that has been told before, in a notice that must come.
    pub(crate) fn repeated(&self) -> Notice {
        let mut notice = self.notice();
        if notice.0[0] == Notice::STOPS {
            notice.0[0] = Notice::REPEATS;
        }
        notice
    }

    /// What a notice says; nothing, if it is none that this version gives.
    pub(crate) fn from_notice(notice: &Notice) -> Option<Word> {
        let (numbers, texts) = notice.0.split_at(Notice::BYTES - 2 * (NAME_BYTES + 1));
        let mut words = [0; 2 + WORDS];
        for (word, bytes) in words.iter_mut().zip(numbers.as_chunks().0) {
            *word = u64::from_le_bytes(*bytes);
        }
        let name = |at: usize| {
            let bytes = &texts[at * (NAME_BYTES + 1)..][..NAME_BYTES + 1];
            let length = usize::from(bytes[0]).min(NAME_BYTES);
            String::from_utf8_lossy(&bytes[1..=length]).into_owned()
        };
        let [kind, rest @ ..] = words;
        let stamp = || Stamp {
            hash: rest[1],
            words: [rest[2], rest[3], rest[4], rest[5]],
        };
        match kind as u32 {
            STOPS | REPEATS => {
                let fault = Fault::from_words(rest.last_chunk()?)?;
                let found = ((kind >> 32) as u32, fault);
                Some(Word::Stopped(rest[0], found, [name(0), name(1)]))
            }
            2 => Some(Word::Left {
                entered: rest[0],
                panicked: rest[1] != 0,
                frames: rest[2],
            }),
            3 => {
                let missing = std::array::from_fn(|at| rest[6 + at]);
                Some(Word::Waits(rest[0], stamp(), name(0), missing))
            }
            REFUSES => Some(Word::Refuses(rest[0], rest[1])),
            COMES => Some(Word::Comes(rest[0], stamp())),
            _ => None,
        }
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    #[test]
    fn a_word_comes_out_of_its_notice() {
        let stamp = |n: u64| Stamp {
            hash: n,
            words: [n + 1, n + 2, n + 3, n + 4],
        };
        let fault = Fault::Mismatch {
            rank: 3,
            other: 70_000,
            mine: stamp(5),
            theirs: Some(stamp(u64::MAX - 9)),
        };
        let names = ["ring".to_string(), "x".repeat(NAME_BYTES)];
        let words = [
            Word::Stopped(1 << 40, (70_001, fault), names),
            Word::Left {
                entered: 1 << 50,
                panicked: true,
                frames: 1 << 60,
            },
            Word::Waits(7, stamp(8), String::new(), [u64::MAX - 3; MISSING]),
            Word::Refuses(9, u64::MAX - 1),
            Word::Comes(10, stamp(11)),
        ];
        for word in words {
            let must = !matches!(word, Word::Left { .. } | Word::Waits(..));
            assert_eq!(word.notice().must_come(), must);
            let is_stop = matches!(word, Word::Stopped(..));
            assert_eq!(word.repeated().must_come(), must && !is_stop);
            assert_eq!(Word::from_notice(&word.repeated()).as_ref(), Some(&word));
            assert_eq!(Word::from_notice(&word.notice()), Some(word));
        }
        let long = Word::Waits(7, stamp(8), "y".repeat(100), [0; MISSING]);
        let Some(Word::Waits(7, _, cut, _)) = Word::from_notice(&long.notice()) else {
            panic!("it is what it was");
        };
        assert_eq!(cut, "y".repeat(NAME_BYTES));
        assert_eq!(Word::from_notice(&Notice([255; Notice::BYTES])), None);
    }
}
