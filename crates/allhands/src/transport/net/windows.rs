//! Windows between nodes: memory that ranks of other nodes put into, and flags that they raise.

use std::fmt;

/// A window as its owner's network describes it to the ranks that put into it; what it says is the network's matter.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Descriptor(pub [u8; Descriptor::BYTES]);

impl Descriptor {
    /// The length in bytes.
    pub const BYTES: usize = 32;

    /// One of so many words, of which it has four.
    pub(crate) fn of_words(words: [u64; 4]) -> Descriptor {
        let mut bytes = [0; Descriptor::BYTES];
        for (bytes, word) in bytes.as_chunks_mut().0.iter_mut().zip(words) {
            *bytes = word.to_le_bytes();
        }
        Descriptor(bytes)
    }

    /// What it was made of.
    pub(crate) fn words(&self) -> [u64; 4] {
        let mut words = [0; 4];
        for (word, bytes) in words.iter_mut().zip(self.0.as_chunks().0) {
            *word = u64::from_le_bytes(*bytes);
        }
        words
    }
}

/// A window of this rank's that others can put into.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Exposed {
    /// Its number, which no other window of this rank's network has, or had.
    pub number: u64,
    /// What those that put into it need to know.
    pub descriptor: Descriptor,
}

/// What keeps the memory of a window in its place as long as it is there.
pub struct WindowMemory(#[allow(dead_code, reason = "it is there to be dropped")] Box<dyn Send>);

impl WindowMemory {
    /// Whatever does so; memory that outlives the network needs nothing, which is `()`.
    pub fn new(keeper: impl Send + 'static) -> WindowMemory {
        WindowMemory(Box::new(keeper))
    }
}

impl fmt::Debug for WindowMemory {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("WindowMemory")
    }
}

/// A window of another rank.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RemoteWindow {
    /// As its owner has described it.
    pub descriptor: Descriptor,
    /// What the network counts of what this rank has put there; 0 at first.
    pub count: u64,
}

impl RemoteWindow {
    /// One into which this rank has put nothing.
    #[must_use]
    pub fn new(descriptor: Descriptor) -> RemoteWindow {
        let count = 0;
        RemoteWindow { descriptor, count }
    }
}

/// In which call a flag is raised: its number, and what it is signed with.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SignedCall {
    /// The number.
    pub call: u64,
    /// The hash of that call and all before it; 0 differs from nothing.
    pub signature: u64,
}

/// A flag of this rank's that another one has raised: all that it had put into the window before is there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Raised {
    /// Who.
    pub from: u32,
    /// The number of the window.
    pub window: u64,
    /// Which flag.
    pub flag: u16,
    /// In which call.
    pub by: SignedCall,
}
