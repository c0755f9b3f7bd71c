//! Memory of messages as it lies in this process.

use super::protocol::{Memory, Span};

/// Addresses are those that were exposed when a message began.
#[derive(Debug)]
pub(super) struct UserMemory;

impl Memory for UserMemory {
    fn read(&self, from: Span, into: &mut [u8]) {
        debug_assert_eq!(from.bytes, into.len());
        let address: *const u8 = std::ptr::with_exposed_provenance(from.address);
        // SAFETY: the machine reads parts of the memory of sends and puts that have neither ended nor were cancelled, which is readable
        // and written by nobody, as `Network::send` and `Network::put` ask; its own buffer is another.
        unsafe { std::ptr::copy_nonoverlapping(address, into.as_mut_ptr(), into.len()) };
    }

    fn write(&mut self, into: Span, from: &[u8]) {
        debug_assert_eq!(into.bytes, from.len());
        let address: *mut u8 = std::ptr::with_exposed_provenance_mut(into.address);
        // SAFETY: the machine writes parts of the memory of receives that have neither ended nor were cancelled, and of windows that
        // are not withdrawn, which is writable and used by nobody else, as `Network::receive` and `Network::expose` ask.
        unsafe { std::ptr::copy_nonoverlapping(from.as_ptr(), address, from.len()) };
    }
}
