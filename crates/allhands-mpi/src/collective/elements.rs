//! The elements of a reduction: how they stand in a user's memory, and how in ours and in that of other ranks.

use super::here::Here;
use crate::buffer::part::{Part, pack, unpack};
use crate::context::unserved::Unserved;
use crate::datatype::{Datatype, TypeMap};
use std::ffi::c_int;

/// Elements of one type, in the way in which ranks hand them to one another: the same on all, as they have the same type.
pub(crate) struct Elements<'a> {
    pub(super) datatype: &'a Datatype,
    pub(super) shape: Shape<'a>,
    /// The bytes of an element among ranks.
    pub(crate) bytes: usize,
}

#[derive(Clone, Copy)]
pub(super) enum Shape<'a> {
    /// As in the user's memory, where they begin so many bytes behind their addresses, and have no gaps.
    Together(isize),
    /// As in the user's memory, gaps and all.
    Spread(&'a TypeMap),
    /// Packed.
    Packed,
}

impl<'a> Elements<'a> {
    /// The elements of a type.
    pub(super) fn of(datatype: &'a Datatype) -> Elements<'a> {
        let extent = usize::try_from(datatype.extent).unwrap_or(0);
        // Where gaps are most of it, to take the bytes out of them and put them back costs less than to move the gaps.
        let is_mostly_data = extent <= 2 * datatype.bytes && datatype.is_in_extent();
        let (shape, bytes) = match (datatype.in_one_piece(2), datatype.map()) {
            (Some(offset), _) => (Shape::Together(offset), datatype.bytes),
            (None, Some(map)) if is_mostly_data => (Shape::Spread(map), extent),
            (None, _) => (Shape::Packed, datatype.bytes),
        };
        Elements {
            datatype,
            shape,
            bytes,
        }
    }

    /// How many bytes behind their addresses elements begin, if they are in the user's memory as they are among ranks.
    pub(crate) fn together(&self) -> Option<isize> {
        match self.shape {
            Shape::Together(offset) => Some(offset),
            Shape::Spread(_) | Shape::Packed => None,
        }
    }

    /// What elements are aligned to, at most, if they follow one another in an array.
    fn alignment(&self) -> usize {
        match self.bytes {
            0 => 1,
            bytes => (1 << bytes.trailing_zeros()).min(align_of::<u128>()),
        }
    }

    /// Where elements are in the user's memory, if they are there as they are among ranks.
    #[inline]
    pub(super) fn direct(&self, start: *mut u8) -> Option<*mut u8> {
        let first = start.wrapping_offset(self.together()?);
        first
            .addr()
            .is_multiple_of(self.alignment())
            .then_some(first)
    }

    /// Copies the user's elements to where they are as among ranks.
    pub(super) fn read(
        &self,
        here: &Here<'_>,
        from: *mut u8,
        count: usize,
        into: &mut Words,
    ) -> Result<(), Unserved> {
        let into = into.bytes(count * self.bytes);
        match self.shape {
            Shape::Spread(map) => {
                let extent = self.datatype.extent;
                // SAFETY: the user's elements are there, as their type says, and there is room for their extents.
                unsafe { map.copy(from, into.as_mut_ptr(), extent, count) };
                Ok(())
            }
            Shape::Together(_) | Shape::Packed => pack(
                here.packer(),
                &Part::new(from, count as i64, self.datatype.clone())?,
                into,
            ),
        }
    }

    /// Copies elements from where they are as among ranks to the user's memory.
    pub(super) fn write(
        &self,
        here: &Here<'_>,
        from: &mut Words,
        into: *mut u8,
        count: usize,
    ) -> Result<(), Unserved> {
        let from = from.bytes(count * self.bytes);
        match self.shape {
            Shape::Spread(map) => {
                let extent = self.datatype.extent;
                // SAFETY: the user has room for the elements, as their type says, and all of their extents are there.
                unsafe { map.copy(from.as_ptr(), into, extent, count) };
                Ok(())
            }
            Shape::Together(_) | Shape::Packed => unpack(
                here.packer(),
                &Part::new(into, count as i64, self.datatype.clone())?,
                from,
            ),
        }
    }

    /// The most elements of which `bytes` bytes have room, but one at least, and not more than an `int` counts.
    pub(super) fn portion(&self, bytes: usize) -> usize {
        (bytes / self.bytes.max(1)).clamp(1, c_int::MAX as usize)
    }
}

/// Memory of ours that is aligned for elements of any type.
pub(crate) struct Words(Vec<u128>);

impl Words {
    /// So many bytes of zeros.
    pub(crate) fn of(bytes: usize) -> Words {
        Words(vec![0; bytes.div_ceil(size_of::<u128>())])
    }

    pub(super) fn len(&self) -> usize {
        size_of_val(&self.0[..])
    }

    pub(super) fn start(&mut self) -> *mut u8 {
        self.0.as_mut_ptr().cast()
    }

    /// The first bytes; it has at least so many.
    pub(crate) fn bytes(&mut self, bytes: usize) -> &mut [u8] {
        assert!(bytes <= self.len(), "room for what was counted");
        // SAFETY: memory of at least so many bytes, which are numbers, borrowed as this value is.
        unsafe { std::slice::from_raw_parts_mut(self.start(), bytes) }
    }
}
