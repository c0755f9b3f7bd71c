//! Buffers: a user's memory as bytes in the order of the type signature, where it is or packed.

use crate::abi::Handle;
use crate::buffer::staging::Staging;
use crate::context::call::Reason;
use crate::context::library::Library;
use crate::context::mistake::Mistake;
use crate::context::unserved::Unserved;
use crate::datatype::Datatype;
use std::borrow::Cow;
use std::ffi::c_int;

/// Some elements in a user's memory.
#[derive(Clone)]
pub(crate) struct Part {
    start: *mut u8,
    count: usize,
    datatype: Datatype,
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
        if start.is_null() && count > 0 && !datatype.may_be_absolute() {
            return Err(Unserved::Wrong(Mistake::Null(count)));
        }
        // Elements at no address have addresses of their own.
        let start = std::ptr::with_exposed_provenance_mut(start.expose_provenance());
        Ok(Part {
            start,
            count,
            datatype,
        })
    }

    /// Makes sure that the part can be packed and unpacked when the user has freed its type; gives what is to be freed then.
    pub(crate) fn outlive_type(&mut self, library: &Library) -> Result<Option<Handle>, Unserved> {
        if self.datatype.map().is_some() || self.in_one_piece().is_some() {
            // Our own loops know all.
            return Ok(None);
        }
        let mut copy = 0;
        // SAFETY: the user's type, and room for another handle.
        let error = unsafe { (library.native.type_dup)(self.datatype.handle, &raw mut copy) };
        if error != 0 {
            return Err(Unserved::Native(error));
        }
        self.datatype.handle = copy;
        Ok(Some(copy))
    }

    /// Whether there are elements, and they begin at an address. (`MPI_BOTTOM` is none: types say where its elements are.)
    pub(crate) fn begins_at(&self, start: *const u8) -> bool {
        self.bytes() > 0 && !start.is_null() && start == self.start.cast_const()
    }

    /// Whether it is the same memory as another part.
    pub(crate) fn is_same(&self, other: &Part) -> bool {
        self.begins_at(other.start) && self.bytes() == other.bytes()
    }

    /// The elements that hold the first so many bytes.
    pub(crate) fn first_bytes(mut self, bytes: usize) -> Result<Part, Unserved> {
        let (element, room) = (self.datatype.bytes.max(1), self.bytes());
        if bytes > room || !bytes.is_multiple_of(element) {
            return Err(Unserved::Wrong(Mistake::TooLong { sent: bytes, room }));
        }
        self.count = bytes / element;
        Ok(self)
    }

    /// Where the bytes of all elements are, if they are in one piece.
    #[inline]
    fn in_one_piece(&self) -> Option<*mut u8> {
        let offset = self.datatype.in_one_piece(self.count)?;
        Some(self.start.wrapping_offset(offset))
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
    let start = first.in_one_piece()?;
    let mut end = start.wrapping_add(first.bytes());
    for part in filled {
        if part.in_one_piece()? != end {
            return None;
        }
        end = end.wrapping_add(part.bytes());
    }
    Some(start)
}

/// What the parts hold, to be sent.
///
/// The memory is the user's, who leaves it alone until the call is over, for which the result is made.
pub(crate) fn read(packer: Packer<'_>, parts: &[Part]) -> Result<Cow<'static, [u8]>, Unserved> {
    match in_one_piece(parts) {
        // SAFETY: the user says that so many bytes are there, and leaves them alone during the call.
        Some(start) => Ok(Cow::Borrowed(unsafe {
            std::slice::from_raw_parts(start, total(parts))
        })),
        None => Ok(Cow::Owned(packed(packer, parts)?)),
    }
}

/// A copy of what the parts hold.
pub(crate) fn packed(packer: Packer<'_>, parts: &[Part]) -> Result<Vec<u8>, Unserved> {
    let mut bytes = vec![0; total(parts)];
    let mut rest = &mut bytes[..];
    for part in parts {
        let (own, further) = rest.split_at_mut(part.bytes());
        pack(packer, part, own)?;
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
    /// The same, where less may come than there is room for.
    Roomy(Staging),
}

impl Landing {
    /// Room for what the parts will hold; it has no contents yet where it is not theirs.
    #[inline]
    pub(crate) fn of(parts: &[Part]) -> Landing {
        match in_one_piece(parts) {
            Some(start) => Landing::Direct(start, total(parts)),
            None => Landing::Staged(vec![0; total(parts)]),
        }
    }

    /// The same where blocks may be shorter than the parts.
    pub(crate) fn roomy(parts: &[Part]) -> Landing {
        match in_one_piece(parts) {
            Some(start) => Landing::Direct(start, total(parts)),
            None => Landing::Roomy(Staging::of(total(parts))),
        }
    }

    /// The same with what the parts hold now.
    pub(crate) fn filled(packer: Packer<'_>, parts: &[Part]) -> Result<Landing, Unserved> {
        match in_one_piece(parts) {
            Some(start) => Ok(Landing::Direct(start, total(parts))),
            None => Ok(Landing::Staged(packed(packer, parts)?)),
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
            Landing::Roomy(staging) => staging.bytes_mut(),
        }
    }

    /// The number of its bytes.
    pub(crate) fn len(&self) -> usize {
        match self {
            Landing::Direct(_, bytes) => *bytes,
            Landing::Staged(bytes) => bytes.len(),
            Landing::Roomy(staging) => staging.bytes().len(),
        }
    }

    /// Brings the bytes to where the parts are.
    #[inline]
    pub(crate) fn deliver(self, packer: Packer<'_>, parts: &[Part]) -> Result<(), Unserved> {
        match self {
            Landing::Direct(..) => Ok(()),
            Landing::Staged(bytes) => place(packer, parts, &bytes),
            Landing::Roomy(mut staging) => {
                if staging.has_gaps() {
                    // What has not come is in the parts already.
                    staging.fill_gaps(&packed(packer, parts)?);
                }
                place(packer, parts, staging.bytes())
            }
        }
    }
}

/// The MPI's own way to pack and unpack, for what our loops cannot.
#[derive(Clone, Copy)]
pub(crate) struct Packer<'a> {
    pub(crate) library: &'a Library,
    /// A communicator on which the bytes might be sent.
    pub(crate) comm: Handle,
}

/// Brings bytes to where the parts are.
pub(crate) fn place(packer: Packer<'_>, parts: &[Part], bytes: &[u8]) -> Result<(), Unserved> {
    let mut rest = bytes;
    for part in parts {
        let (own, further) = rest.split_at(part.bytes());
        unpack(packer, part, own)?;
        rest = further;
    }
    Ok(())
}

/// Bytes that are packed by one call, which counts them in an `int`.
const MOST_AT_ONCE: usize = 1 << 30;

/// Packs the elements of a part.
pub(crate) fn pack(packer: Packer<'_>, part: &Part, into: &mut [u8]) -> Result<(), Unserved> {
    if let Some(start) = part.in_one_piece() {
        // SAFETY: the user's elements are there, in one piece, and the copy is ours.
        unsafe { std::ptr::copy_nonoverlapping(start, into.as_mut_ptr(), into.len()) };
        return Ok(());
    }
    if let Some(map) = part.datatype.map() {
        let (start, extent) = (part.start.cast_const(), part.datatype.extent);
        // SAFETY: the user's elements are there, as their type says, and there is room for their bytes.
        unsafe { map.pack(start, extent, part.count, into.as_mut_ptr()) };
        return Ok(());
    }
    in_portions(part, |from, count, at, bytes| {
        let (room, mut position) = (into[at..at + bytes].as_mut_ptr(), 0);
        let handle = part.datatype.handle;
        let (count, bytes) = (count as c_int, bytes as c_int);
        // SAFETY: the user's elements are there, and there is room for their bytes.
        unsafe {
            let pack = packer.library.native.pack;
            pack(
                from,
                count,
                handle,
                room,
                bytes,
                &raw mut position,
                packer.comm,
            )
        }
    })
}

/// Unpacks the elements of a part.
pub(crate) fn unpack(packer: Packer<'_>, part: &Part, from: &[u8]) -> Result<(), Unserved> {
    if let Some(start) = part.in_one_piece() {
        // SAFETY: the user has room for the elements, in one piece, and the bytes are ours.
        unsafe { std::ptr::copy_nonoverlapping(from.as_ptr(), start, from.len()) };
        return Ok(());
    }
    if let Some(map) = part.datatype.map() {
        // SAFETY: the user has room for the elements, as their type says, and their bytes are there.
        unsafe { map.unpack(from.as_ptr(), part.start, part.datatype.extent, part.count) };
        return Ok(());
    }
    in_portions(part, |into, count, at, bytes| {
        let (packed, mut position) = (from[at..at + bytes].as_ptr(), 0);
        let handle = part.datatype.handle;
        let (count, bytes) = (count as c_int, bytes as c_int);
        // SAFETY: the user has room for the elements, and their bytes are there.
        unsafe {
            let unpack = packer.library.native.unpack;
            unpack(
                packed,
                bytes,
                &raw mut position,
                into,
                count,
                handle,
                packer.comm,
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
    let (bytes, extent) = (part.datatype.bytes, part.datatype.extent);
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
