//! Buffers: a user's memory as bytes in the order of the type signature, where it is or packed.

use crate::abi::{Handle, Named};
use crate::takeover::{Here, Reason, Unserved};
use std::borrow::Cow;
use std::ffi::c_int;

/// What data is described by: a type's handle, the bytes of one element, and whether they are in one piece.
#[derive(Clone, Copy)]
pub(crate) struct Datatype {
    pub(crate) handle: Handle,
    pub(crate) bytes: usize,
    /// The distance from one element to the next.
    pub(crate) extent: isize,
    is_contiguous: bool,
}

impl Datatype {
    /// What a handle stands for.
    #[inline]
    pub(crate) fn of(here: &Here<'_>, register: usize) -> Result<Datatype, Unserved> {
        let handle = here.abi.handle(register);
        let named = here.abi.named(handle);
        match named {
            Some(type_) if type_.is_contiguous() && type_.bytes > 0 => Ok(Datatype {
                handle,
                bytes: type_.bytes,
                extent: type_.bytes as isize,
                is_contiguous: true,
            }),
            _ => Datatype::asked(here, handle, named),
        }
    }

    fn asked(here: &Here<'_>, handle: Handle, named: Option<&Named>) -> Result<Datatype, Unserved> {
        if handle == here.abi.datatype_null {
            return Err(Unserved::Pass(Reason::Arguments));
        }
        let native = &here.library.native;
        let (mut bytes, mut lower, mut extent) = (0i64, 0i64, 0i64);
        // SAFETY: asks about a type that the caller of MPI handed in, with numbers to write to.
        let error = unsafe {
            match (native.type_size_x)(handle, &raw mut bytes) {
                0 => (native.type_get_extent_x)(handle, &raw mut lower, &raw mut extent),
                error => error,
            }
        };
        if error != 0 {
            return Err(Unserved::Pass(Reason::Arguments));
        }
        let bytes = usize::try_from(bytes).map_err(|_| Unserved::Pass(Reason::Arguments))?;
        Ok(Datatype {
            handle,
            bytes,
            extent: extent as isize,
            is_contiguous: named.is_some_and(Named::is_contiguous),
        })
    }
}

/// Some elements in a user's memory.
#[derive(Clone, Copy)]
pub(crate) struct Part {
    pub(crate) start: *mut u8,
    pub(crate) count: usize,
    pub(crate) datatype: Datatype,
}

impl Part {
    /// `count` elements at `start`.
    #[inline]
    pub(crate) fn new(start: *const u8, count: i64, datatype: Datatype) -> Result<Part, Unserved> {
        let wrong = Unserved::Pass(Reason::Arguments);
        let Ok(count) = usize::try_from(count) else {
            return Err(wrong);
        };
        if count.checked_mul(datatype.bytes).is_none() {
            return Err(wrong);
        }
        // Only a derived type can hold addresses of its own.
        if start.is_null() && count > 0 && datatype.is_contiguous {
            return Err(wrong);
        }
        let start = start.cast_mut();
        Ok(Part {
            start,
            count,
            datatype,
        })
    }

    /// So many elements that begin `displacement` elements further on.
    pub(crate) fn further(&self, displacement: i64, count: i64) -> Result<Part, Unserved> {
        let distance = self.datatype.extent.wrapping_mul(displacement as isize);
        Part::new(self.start.wrapping_offset(distance), count, self.datatype)
    }

    /// The bytes of all elements, without gaps.
    #[inline]
    pub(crate) fn bytes(&self) -> usize {
        self.count * self.datatype.bytes
    }
}

/// The bytes of all parts.
#[inline]
pub(crate) fn total(parts: &[Part]) -> usize {
    parts.iter().map(Part::bytes).sum()
}

/// Where the bytes of the parts are, if they follow one another in memory without gaps.
#[inline]
fn in_one_piece(parts: &[Part]) -> Option<*mut u8> {
    let mut filled = parts.iter().filter(|part| part.bytes() > 0);
    let Some(first) = filled.next() else {
        return Some(std::ptr::NonNull::dangling().as_ptr());
    };
    let mut end = first.start.wrapping_add(first.bytes());
    if !first.datatype.is_contiguous {
        return None;
    }
    for part in filled {
        if !part.datatype.is_contiguous || part.start != end {
            return None;
        }
        end = part.start.wrapping_add(part.bytes());
    }
    Some(first.start)
}

/// What the parts hold, to be sent.
///
/// The memory is the user's, who leaves it alone until the call is over, for which the result is made.
pub(crate) fn read<'b>(here: &Here<'_>, parts: &[Part]) -> Result<Cow<'b, [u8]>, Unserved> {
    match in_one_piece(parts) {
        // SAFETY: the user says that so many bytes are there, and leaves them alone during the call.
        Some(start) => Ok(Cow::Borrowed(unsafe {
            std::slice::from_raw_parts(start, total(parts))
        })),
        None => Ok(Cow::Owned(packed(here, parts)?)),
    }
}

/// A copy of what the parts hold.
pub(crate) fn packed(here: &Here<'_>, parts: &[Part]) -> Result<Vec<u8>, Unserved> {
    let mut bytes = vec![0; total(parts)];
    let mut rest = &mut bytes[..];
    for part in parts {
        let (own, further) = rest.split_at_mut(part.bytes());
        pack(here, part, own)?;
        rest = further;
    }
    Ok(bytes)
}

/// Room for what the parts will hold.
pub(crate) enum Landing {
    /// The user's own memory.
    Direct(*mut u8, usize),
    /// Bytes that are unpacked when the call is over.
    Staged(Vec<u8>),
}

impl Landing {
    /// Room for what the parts will hold; it has no contents yet where it is not theirs.
    #[inline]
    pub(crate) fn of(here: &Here<'_>, parts: &[Part]) -> Result<Landing, Unserved> {
        here.look(parts, None)?;
        match in_one_piece(parts) {
            Some(start) => Ok(Landing::Direct(start, total(parts))),
            None => Ok(Landing::Staged(vec![0; total(parts)])),
        }
    }

    /// The same with what the parts hold now.
    pub(crate) fn filled(here: &Here<'_>, parts: &[Part]) -> Result<Landing, Unserved> {
        here.look(parts, None)?;
        match in_one_piece(parts) {
            Some(start) => Ok(Landing::Direct(start, total(parts))),
            None => Ok(Landing::Staged(packed(here, parts)?)),
        }
    }

    /// Its bytes.
    #[inline]
    pub(crate) fn bytes(&mut self) -> &mut [u8] {
        match self {
            // SAFETY: the user says that so many bytes are there, and leaves them alone during the call, for which this
            // value is made; it hands them out once at a time.
            Landing::Direct(start, bytes) => unsafe {
                std::slice::from_raw_parts_mut(*start, *bytes)
            },
            Landing::Staged(bytes) => bytes,
        }
    }

    /// Brings the bytes to where the parts are.
    #[inline]
    pub(crate) fn deliver(self, here: &Here<'_>, parts: &[Part]) -> Result<(), Unserved> {
        match self {
            Landing::Direct(..) => Ok(()),
            Landing::Staged(bytes) => place(here, parts, &bytes),
        }
    }
}

/// Brings bytes to where the parts are.
pub(crate) fn place(here: &Here<'_>, parts: &[Part], bytes: &[u8]) -> Result<(), Unserved> {
    let mut rest = bytes;
    for part in parts {
        let (own, further) = rest.split_at(part.bytes());
        unpack(here, part, own)?;
        rest = further;
    }
    Ok(())
}

/// Bytes that are packed by one call, which counts them in an `int`.
const MOST_AT_ONCE: usize = 1 << 30;

/// Packs the elements of a part.
fn pack(here: &Here<'_>, part: &Part, into: &mut [u8]) -> Result<(), Unserved> {
    if part.datatype.is_contiguous {
        // SAFETY: the user's elements are there, in one piece, and the copy is ours.
        unsafe { std::ptr::copy_nonoverlapping(part.start, into.as_mut_ptr(), into.len()) };
        return Ok(());
    }
    in_portions(part, |from, count, at, bytes| {
        let (room, mut position) = (into[at..at + bytes].as_mut_ptr(), 0);
        let handle = part.datatype.handle;
        let (count, bytes) = (count as c_int, bytes as c_int);
        // SAFETY: the user's elements are there, and there is room for their bytes.
        unsafe {
            let pack = here.library.native.pack;
            pack(
                from,
                count,
                handle,
                room,
                bytes,
                &raw mut position,
                here.handle,
            )
        }
    })
}

/// Unpacks the elements of a part.
fn unpack(here: &Here<'_>, part: &Part, from: &[u8]) -> Result<(), Unserved> {
    if part.datatype.is_contiguous {
        // SAFETY: the user has room for the elements, in one piece, and the bytes are ours.
        unsafe { std::ptr::copy_nonoverlapping(from.as_ptr(), part.start, from.len()) };
        return Ok(());
    }
    in_portions(part, |into, count, at, bytes| {
        let (packed, mut position) = (from[at..at + bytes].as_ptr(), 0);
        let handle = part.datatype.handle;
        let (count, bytes) = (count as c_int, bytes as c_int);
        // SAFETY: the user has room for the elements, and their bytes are there.
        unsafe {
            let unpack = here.library.native.unpack;
            unpack(
                packed,
                bytes,
                &raw mut position,
                into,
                count,
                handle,
                here.handle,
            )
        }
    })
}

/// Calls `step` with the address, the number of elements, the place of their bytes, and their number, for portions that can
/// be packed at once.
fn in_portions(
    part: &Part,
    mut step: impl FnMut(*mut u8, usize, usize, usize) -> c_int,
) -> Result<(), Unserved> {
    let Datatype { bytes, extent, .. } = part.datatype;
    if bytes == 0 {
        return Ok(());
    }
    if bytes > c_int::MAX as usize {
        return Err(Unserved::LongElement(bytes));
    }
    let portion = (MOST_AT_ONCE / bytes).clamp(1, c_int::MAX as usize);
    let mut done = 0;
    while done < part.count {
        let count = portion.min(part.count - done);
        let address = part
            .start
            .wrapping_offset(extent.wrapping_mul(done as isize));
        let error = step(address, count, done * bytes, count * bytes);
        if error != 0 {
            return Err(Unserved::Native(error));
        }
        done += count;
    }
    Ok(())
}

/// A list of counts or displacements, of the small or the large kind.
#[derive(Clone, Copy)]
pub(crate) enum Numbers {
    Int(*const c_int),
    Long(*const i64),
}

impl Numbers {
    /// The number at an index; the list has so many, as the call says.
    #[inline]
    pub(crate) fn at(self, index: usize) -> Result<i64, Unserved> {
        match self {
            Numbers::Int(list) if !list.is_null() => {
                // SAFETY: the user hands in a list of as many numbers as there are ranks.
                Ok(i64::from(unsafe { list.add(index).read() }))
            }
            // SAFETY: as above.
            Numbers::Long(list) if !list.is_null() => Ok(unsafe { list.add(index).read() }),
            Numbers::Int(_) | Numbers::Long(_) => Err(Unserved::Pass(Reason::Arguments)),
        }
    }
}
