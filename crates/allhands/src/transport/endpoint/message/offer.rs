//! The offer: the payload of a cell that announces a long message.

/// The payload of a cell that announces a long message.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub(crate) struct Offer {
    /// Where its entry lies in the arena.
    pub(crate) entry: u64,
    pub(crate) bytes: usize,
}
