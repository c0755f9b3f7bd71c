//! Memory: where messages are, as far as the protocol must know.

/// Memory of a message: an address that means something to the driver's [`Memory`], and a length.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Span {
    /// Where it begins.
    pub address: usize,
    /// How long it is.
    pub bytes: usize,
}

impl Span {
    /// The part of it that begins at `offset` and has `bytes` bytes.
    #[must_use]
    pub fn part(self, offset: usize, bytes: usize) -> Span {
        debug_assert!(offset + bytes <= self.bytes);
        let address = self.address.wrapping_add(offset);
        Span { address, bytes }
    }
}

/// The memory of messages under way, as far as the protocol copies it.
pub trait Memory {
    /// Copies from a message that is sent; both are as long.
    fn read(&self, from: Span, into: &mut [u8]);

    /// Copies to a message that is received; both are as long.
    fn write(&mut self, into: Span, from: &[u8]);
}
