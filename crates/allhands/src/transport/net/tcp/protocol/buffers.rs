//! Buffers: memory of the machine's own, which is used again and again.

use std::ops::{Deref, DerefMut};

/// The most bytes of one size that are kept for later, and the most buffers.
const MOST_BYTES: usize = 4 << 20;
const MOST: usize = 256;

/// Some bytes.
#[derive(Debug)]
pub struct Buffer {
    /// As many as a power of two.
    memory: Box<[u8]>,
    bytes: usize,
}

/// Buffers that nobody uses now, by the power of two of their size.
#[derive(Debug, Default)]
pub struct Buffers {
    free: [Vec<Buffer>; 23],
}

impl Buffers {
    /// A buffer of so many bytes, with anything in it.
    pub fn take(&mut self, bytes: usize) -> Buffer {
        let all = bytes.next_power_of_two();
        let free = self.free.get_mut(all.ilog2() as usize);
        let free = free.and_then(Vec::pop).map(|buffer| buffer.memory);
        let memory = free.unwrap_or_else(|| vec![0; all].into());
        Buffer { memory, bytes }
    }

    /// Takes a buffer back.
    pub fn give(&mut self, buffer: Buffer) {
        let class = buffer.memory.len().ilog2() as usize;
        if let Some(free) = self.free.get_mut(class)
            && free.len() < MOST.min(MOST_BYTES >> class)
        {
            free.push(buffer);
        }
    }
}

impl Deref for Buffer {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        &self.memory[..self.bytes]
    }
}

impl DerefMut for Buffer {
    fn deref_mut(&mut self) -> &mut [u8] {
        &mut self.memory[..self.bytes]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_buffer_comes_back_for_as_many_bytes_or_fewer() {
        let mut buffers = Buffers::default();
        for (first, second) in [
            (100, 128),
            (128, 65),
            (1, 1),
            (5000, 4097),
            (1 << 20, 600_000),
        ] {
            let buffer = buffers.take(first);
            assert_eq!(buffer.len(), first);
            let address = buffer.as_ptr();
            buffers.give(buffer);
            let again = buffers.take(second);
            assert_eq!((again.as_ptr(), again.len()), (address, second));
        }
        assert!(buffers.take(0).is_empty());
    }

    #[test]
    fn few_are_kept() {
        let mut buffers = Buffers::default();
        let many: Vec<Buffer> = (0..300).map(|_| buffers.take(10)).collect();
        many.into_iter().for_each(|buffer| buffers.give(buffer));
        let huge = buffers.take(1 << 26);
        buffers.give(huge);
        let kept: usize = buffers.free.iter().map(Vec::len).sum();
        assert_eq!(kept, MOST);
    }
}
