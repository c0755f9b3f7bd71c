//! The arena: the memory of one simulated rank's messages, which finds out who touches what it may not.

use crate::transport::net::tcp::protocol::memory::{Memory, Span};

/// Regions of memory, one for each message.
#[derive(Debug, Default)]
pub struct Arena {
    regions: Vec<Region>,
}

#[derive(Debug)]
struct Region {
    bytes: Vec<u8>,
    /// Whether the message that it is for is under way.
    is_lent: bool,
}

const REGION_BITS: u32 = 32;

impl Arena {
    /// Memory for a message that begins now.
    pub fn lend(&mut self, bytes: Vec<u8>) -> Span {
        let (region, length) = (self.regions.len(), bytes.len());
        let is_lent = true;
        self.regions.push(Region { bytes, is_lent });
        Span {
            address: region << REGION_BITS,
            bytes: length,
        }
    }

    /// Takes the memory of a message back that has ended; what is in it.
    pub fn take_back(&mut self, span: Span) -> Vec<u8> {
        let region = &mut self.regions[span.address >> REGION_BITS];
        region.is_lent = false;
        std::mem::take(&mut region.bytes)
    }

    fn range(&self, span: Span) -> (usize, std::ops::Range<usize>) {
        let region = span.address >> REGION_BITS;
        let begin = span.address & ((1 << REGION_BITS) - 1);
        assert!(
            self.regions[region].is_lent,
            "the memory of a message that is over is touched"
        );
        (region, begin..begin + span.bytes)
    }
}

impl Memory for Arena {
    fn read(&self, from: Span, into: &mut [u8]) {
        let (region, range) = self.range(from);
        into.copy_from_slice(&self.regions[region].bytes[range]);
    }

    fn write(&mut self, into: Span, from: &[u8]) {
        let (region, range) = self.range(into);
        self.regions[region].bytes[range].copy_from_slice(from);
    }
}
