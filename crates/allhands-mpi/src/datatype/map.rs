//! The type map: where the bytes of an element are, in the order in which they are packed, as few runs.

/// Blocks of bytes at equal distances.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Run {
    /// From the element's address to the first block.
    pub(crate) offset: isize,
    /// The bytes of a block.
    pub(crate) bytes: usize,
    /// From one block to the next; of no meaning where there is only one.
    pub(crate) stride: isize,
    pub(crate) blocks: usize,
}

impl Run {
    /// One block.
    pub(crate) fn block(offset: isize, bytes: usize) -> Run {
        Run {
            offset,
            bytes,
            stride: 0,
            blocks: 1,
        }
    }

    fn at(self, offset: isize) -> Run {
        let offset = self.offset.wrapping_add(offset);
        Run { offset, ..self }
    }

    /// Where the block would be that follows the last one; of one block, `next` may be anywhere.
    fn continues(&self, next: &Run) -> Option<isize> {
        if self.bytes != next.bytes {
            return None;
        }
        let stride = match self.blocks {
            1 => next.offset.wrapping_sub(self.offset),
            _ => self.stride,
        };
        let end = stride.wrapping_mul(self.blocks as isize);
        let is_next = self.offset.wrapping_add(end) == next.offset;
        (is_next && (next.blocks == 1 || next.stride == stride)).then_some(stride)
    }
}

/// Where the bytes of an element are.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct TypeMap {
    runs: Vec<Run>,
    bytes: usize,
}

/// The most runs of a map: what has more is packed by the MPI.
pub(crate) const MOST_RUNS: usize = 4096;

/// The most runs that are each taken through many elements, rather than each element through all runs.
const FEW_RUNS: usize = 8;

/// The elements that a run is taken through at a time, so that the next finds them in a near cache.
const PORTION: usize = 512;

impl TypeMap {
    /// The map of one block.
    pub(crate) fn block(bytes: usize) -> TypeMap {
        let mut map = TypeMap::default();
        map.push(Run::block(0, bytes));
        map
    }

    /// The bytes of an element.
    pub(crate) fn bytes(&self) -> usize {
        self.bytes
    }

    /// Where the only block is, if there is one alone.
    pub(crate) fn single(&self) -> Option<isize> {
        match self.runs[..] {
            [
                Run {
                    offset, blocks: 1, ..
                },
            ] => Some(offset),
            _ => None,
        }
    }

    /// From the first to past the last byte; nothing if there are none.
    pub(crate) fn span(&self) -> Option<(isize, isize)> {
        let ends = self.runs.iter().map(|run| {
            let last = run.stride.wrapping_mul(run.blocks as isize - 1);
            let (low, high) = (last.min(0), last.max(0));
            let bytes = run.bytes as isize;
            (
                run.offset.wrapping_add(low),
                run.offset.wrapping_add(high).wrapping_add(bytes),
            )
        });
        ends.reduce(|a, b| (a.0.min(b.0), a.1.max(b.1)))
    }

    fn push(&mut self, run: Run) -> Option<()> {
        if run.bytes == 0 || run.blocks == 0 {
            return Some(());
        }
        let bytes = run.bytes.checked_mul(run.blocks)?;
        self.bytes = self.bytes.checked_add(bytes)?;
        if let Some(last) = self.runs.last_mut() {
            let is_adjacent = last.offset.wrapping_add(last.bytes as isize) == run.offset;
            if last.blocks == 1 && run.blocks == 1 && is_adjacent {
                last.bytes += run.bytes;
                return Some(());
            }
            if let Some(stride) = last.continues(&run) {
                (last.stride, last.blocks) = (stride, last.blocks + run.blocks);
                return Some(());
            }
        }
        (self.runs.len() < MOST_RUNS).then(|| self.runs.push(run))
    }

    /// Puts `count` copies of a map behind what is there, the first at `offset`; `None`: that were too many runs.
    pub(crate) fn place(
        &mut self,
        map: &TypeMap,
        offset: isize,
        count: usize,
        stride: isize,
    ) -> Option<()> {
        if count == 0 || map.runs.is_empty() {
            return Some(());
        }
        if let [run] = map.runs[..] {
            let is_dense = stride == run.bytes as isize;
            let follows = stride == run.stride.wrapping_mul(run.blocks as isize);
            let whole = match run.blocks {
                1 if is_dense => Some(Run::block(run.offset, run.bytes.checked_mul(count)?)),
                1 => Some(Run {
                    stride,
                    blocks: count,
                    ..run
                }),
                _ if follows => Some(Run {
                    blocks: run.blocks.checked_mul(count)?,
                    ..run
                }),
                _ => None,
            };
            if let Some(whole) = whole {
                return self.push(whole.at(offset));
            }
        }
        for copy in 0..count {
            let distance = offset.wrapping_add(stride.wrapping_mul(copy as isize));
            for run in &map.runs {
                self.push(run.at(distance))?;
            }
        }
        Some(())
    }

    /// Calls `step` for every run of blocks of so many elements: from the first element to the first block, from one block
    /// to the next, from the packed bytes' beginning to those of the block, from these to the next's, a block's bytes, and
    /// the number of blocks.
    #[inline]
    fn each(
        &self,
        extent: isize,
        count: usize,
        mut step: impl FnMut(isize, isize, usize, usize, usize, usize),
    ) {
        if let [run] = self.runs[..]
            && extent == run.stride.wrapping_mul(run.blocks as isize)
        {
            step(
                run.offset,
                run.stride,
                0,
                run.bytes,
                run.bytes,
                run.blocks * count,
            );
            return;
        }
        let are_single = self.runs.iter().all(|run| run.blocks == 1);
        if self.runs.len() <= FEW_RUNS && are_single {
            for first in (0..count).step_by(PORTION) {
                let elements = PORTION.min(count - first);
                let (from, mut to) = (extent.wrapping_mul(first as isize), first * self.bytes);
                for run in &self.runs {
                    let offset = from.wrapping_add(run.offset);
                    step(offset, extent, to, self.bytes, run.bytes, elements);
                    to += run.bytes;
                }
            }
            return;
        }
        let mut to = 0;
        for element in 0..count {
            let from = extent.wrapping_mul(element as isize);
            for run in &self.runs {
                let offset = from.wrapping_add(run.offset);
                step(offset, run.stride, to, run.bytes, run.bytes, run.blocks);
                to += run.bytes * run.blocks;
            }
        }
    }

    /// Packs so many elements, which are `extent` bytes apart.
    ///
    /// # Safety
    /// The elements can be read, and there is room for their bytes apart from them.
    pub(crate) unsafe fn pack(&self, from: *const u8, extent: isize, count: usize, into: *mut u8) {
        self.each(
            extent,
            count,
            |offset, stride, at, packed_stride, bytes, blocks| {
                let (from, into) = (from.wrapping_offset(offset), into.wrapping_add(at));
                // SAFETY: blocks of the elements, and of the room for them, as the caller promises.
                unsafe {
                    copy_blocks(
                        (from, stride),
                        (into, packed_stride as isize),
                        bytes,
                        blocks,
                    )
                }
            },
        );
    }

    /// Unpacks so many elements, which are `extent` bytes apart.
    ///
    /// # Safety
    /// There is room for the elements, and their bytes can be read apart from it.
    pub(crate) unsafe fn unpack(
        &self,
        from: *const u8,
        into: *mut u8,
        extent: isize,
        count: usize,
    ) {
        self.each(
            extent,
            count,
            |offset, stride, at, packed_stride, bytes, blocks| {
                let (from, into) = (from.wrapping_add(at), into.wrapping_offset(offset));
                // SAFETY: as in `pack`.
                unsafe {
                    copy_blocks(
                        (from, packed_stride as isize),
                        (into, stride),
                        bytes,
                        blocks,
                    )
                }
            },
        );
    }

    /// Copies so many elements, which are `extent` bytes apart on both sides, and leaves what is between their bytes.
    ///
    /// # Safety
    /// The elements can be read, and there is room for them apart.
    pub(crate) unsafe fn copy(&self, from: *const u8, into: *mut u8, extent: isize, count: usize) {
        self.each(extent, count, |offset, stride, _, _, bytes, blocks| {
            let (from, into) = (from.wrapping_offset(offset), into.wrapping_offset(offset));
            // SAFETY: as in `pack`.
            unsafe { copy_blocks((from, stride), (into, stride), bytes, blocks) }
        });
    }
}

/// Copies blocks, each side with its first block and the distance from one to the next.
///
/// # Safety
/// The blocks can be read, and there is room for them apart.
#[inline]
unsafe fn copy_blocks(
    (from, from_stride): (*const u8, isize),
    (into, into_stride): (*mut u8, isize),
    bytes: usize,
    blocks: usize,
) {
    macro_rules! sized {
        ($($size:literal)*) => {
            match bytes {
                // SAFETY: the caller's promise; blocks of just this many bytes.
                $($size => unsafe {
                    copy_sized::<$size>((from, from_stride), (into, into_stride), blocks)
                },)*
                _ => for block in 0..blocks as isize {
                    let from = from.wrapping_offset(from_stride.wrapping_mul(block));
                    let into = into.wrapping_offset(into_stride.wrapping_mul(block));
                    // SAFETY: as above.
                    unsafe { std::ptr::copy_nonoverlapping(from, into, bytes) };
                },
            }
        };
    }
    sized!(1 2 4 8 12 16 24 32 64)
}

/// The same for blocks of a length that the compiler knows, so that it needs no call for each.
///
/// # Safety
/// As for [`copy_blocks`].
#[inline]
unsafe fn copy_sized<const BYTES: usize>(
    (mut from, from_stride): (*const u8, isize),
    (mut into, into_stride): (*mut u8, isize),
    blocks: usize,
) {
    for _ in 0..blocks {
        // SAFETY: the caller's promise; arrays of bytes are aligned anywhere.
        unsafe {
            into.cast::<[u8; BYTES]>()
                .write(from.cast::<[u8; BYTES]>().read())
        };
        from = from.wrapping_offset(from_stride);
        into = into.wrapping_offset(into_stride);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn placed(map: &TypeMap, copies: &[(isize, usize, isize)]) -> TypeMap {
        let mut all = TypeMap::default();
        for (offset, count, stride) in copies {
            all.place(map, *offset, *count, *stride).unwrap();
        }
        all
    }

    #[test]
    fn copies_that_follow_one_another_are_one_run() {
        let double = TypeMap::block(8);
        assert_eq!(placed(&double, &[(0, 5, 8)]), TypeMap::block(40));
        assert_eq!(placed(&double, &[(8, 1, 8), (16, 2, 8)]).single(), Some(8));
        let column = placed(&double, &[(0, 5, 80)]);
        assert_eq!(column.runs.len(), 1);
        assert_eq!(placed(&column, &[(0, 3, 400)]).runs.len(), 1);
        assert_eq!(placed(&column, &[(0, 3, 8)]).runs.len(), 3);
        assert_eq!(
            placed(&double, &[(0, 1, 0), (24, 1, 0), (48, 1, 0)])
                .runs
                .len(),
            1
        );
        assert_eq!(placed(&column, &[(0, 0, 8)]), TypeMap::default());
        assert_eq!(column.span(), Some((0, 328)));
        assert_eq!(placed(&double, &[(16, 3, -8)]).span(), Some((0, 24)));
    }

    #[test]
    fn a_map_has_no_more_runs_than_it_may() {
        let pair = placed(&TypeMap::block(3), &[(0, 1, 0), (7, 1, 0), (9, 1, 0)]);
        let mut all = TypeMap::default();
        assert!(all.place(&pair, 0, 100_000, 20).is_none());
    }

    #[test]
    fn elements_come_back_from_where_they_were_packed_to() {
        let (byte, word, odd) = (TypeMap::block(1), TypeMap::block(4), TypeMap::block(7));
        let mut mixed = placed(&word, &[(4, 3, 12), (0, 1, 0)]);
        mixed.place(&odd, 44, 2, 9).unwrap();
        let maps = [
            (placed(&byte, &[(0, 1, 0), (3, 1, 0), (2, 1, 0)]), 5),
            (placed(&word, &[(8, 3, -8)]), 24),
            (placed(&word, &[(0, 4, 16)]), 64),
            (mixed, 64),
            (placed(&TypeMap::block(64), &[(0, 2, 100)]), 190),
        ];
        for (map, extent) in maps {
            let count = 700;
            let memory: Vec<u8> = (0..extent as usize * count)
                .map(|i| (i % 251) as u8)
                .collect();
            let (mut packed, mut back) = (vec![0; map.bytes() * count], vec![0; memory.len()]);
            let mut copy = back.clone();
            // SAFETY: all bytes of the maps are in the elements' extents, for which there is room, as for what is packed.
            unsafe {
                map.pack(memory.as_ptr(), extent, count, packed.as_mut_ptr());
                map.unpack(packed.as_ptr(), back.as_mut_ptr(), extent, count);
                map.copy(memory.as_ptr(), copy.as_mut_ptr(), extent, count);
            }
            assert_eq!(back, copy);
            let mut at = 0;
            let mut is_data = vec![false; memory.len()];
            for element in 0..count {
                for run in &map.runs {
                    for byte in 0..run.bytes * run.blocks {
                        let block = run.stride * (byte / run.bytes) as isize;
                        let place = extent * element as isize + run.offset + block;
                        let place = place as usize + byte % run.bytes;
                        assert_eq!(packed[at], memory[place]);
                        (at, is_data[place]) = (at + 1, true);
                    }
                }
            }
            let kept = |i: usize| if is_data[i] { memory[i] } else { 0 };
            assert!((0..memory.len()).all(|i| back[i] == kept(i)));
        }
    }
}
