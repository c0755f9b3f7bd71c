//! The MPI's way to combine: `MPI_Reduce_local`, for operators of the user and types that have no kernel here.
//!
//! It serves every operator, of whatever language and of either kind of count, as the MPI knows how to call it, and takes the
//! type's own handle, as the user's function may look at it.

use super::elements::{Elements, Shape, Words};
use super::here::Here;
use super::reduce::Job;
use crate::abi::Handle;
use crate::buffer::part::{Part, pack, unpack};
use crate::context::unserved::Unserved;
use allhands::BitOr;
use allhands::kernel::Kernel;
use allhands::operator::OperatorSignature;
use std::cell::{Cell, RefCell};
use std::ffi::c_int;

/// An operator of the MPI on elements of a type.
pub(super) struct Local<'a> {
    here: &'a Here<'a>,
    elements: &'a Elements<'a>,
    operator: Handle,
    is_commutative: bool,
    /// Where elements are put that the operator must not, or cannot, take where they are.
    room: RefCell<[Words; 2]>,
    /// What the MPI said first, if something was wrong.
    error: Cell<c_int>,
}

/// The bytes of elements that are put elsewhere at a time.
const ROOM: usize = 32 << 10;

impl<'a> Local<'a> {
    pub(super) fn new(
        here: &'a Here<'a>,
        elements: &'a Elements<'a>,
        operator: Handle,
        is_commutative: bool,
    ) -> Local<'a> {
        Local {
            here,
            elements,
            operator,
            is_commutative,
            room: RefCell::new([Words::of(0), Words::of(0)]),
            error: Cell::new(0),
        }
    }

    /// Runs a reduction; ranks know the operator by its name.
    pub(super) fn run(&self, job: &Job<'_>, name: &str) -> Result<(), Unserved> {
        // SAFETY: `combine` takes this value for what it is, and reads and writes whole elements of the type. The library's
        // communicators have no thread in the background, so a kernel is called in this rank's own call alone.
        let kernel = unsafe {
            let context = std::ptr::from_ref(self).cast();
            Kernel::from_raw_parts(self.elements.bytes, combine, context)
        };
        let signature = OperatorSignature::user(name, self.is_commutative);
        let operation = job.operation::<u8, _>(&BitOr, self.elements.bytes);
        // The kernel is of this call alone.
        self.here.do_not_cache();
        let ended = self
            .here
            .run(operation.combined_by(kernel, signature, self.is_commutative));
        match self.error.get() {
            0 => ended,
            error => Err(Unserved::Native(error)),
        }
    }

    /// Has the MPI combine: `inout = left ⊕ inout`, of elements at these addresses.
    fn call(&self, left: *const u8, inout: *mut u8, count: usize) {
        let (handle, count) = (self.elements.datatype.handle, count as c_int);
        // SAFETY: so many elements to read and to write, apart, as `combine` sees to.
        let error = unsafe {
            let reduce_local = self.here.library.native.reduce_local;
            reduce_local(left, inout, count, handle, self.operator)
        };
        if self.error.get() == 0 {
            self.error.set(error);
        }
    }

    /// Combines elements that stand among ranks as in a user's memory, their first bytes so many bytes behind their addresses.
    ///
    /// # Safety
    /// As for [`combine`].
    unsafe fn in_place(
        &self,
        left: *const u8,
        right: *const u8,
        out: *mut u8,
        count: usize,
        offset: isize,
    ) {
        let bytes = count * self.elements.bytes;
        if out.cast_const() != left {
            // SAFETY: the caller's promise.
            unsafe { std::ptr::copy(right, out, bytes) };
            self.call(
                left.wrapping_offset(-offset),
                out.wrapping_offset(-offset),
                count,
            );
        } else if self.is_commutative && out.cast_const() != right {
            self.call(
                right.wrapping_offset(-offset),
                out.wrapping_offset(-offset),
                count,
            );
        } else {
            let room = &mut self.room.borrow_mut()[0];
            if bytes > room.len() {
                *room = Words::of(bytes);
            }
            let copy = room.start();
            // SAFETY: the caller's promise, and there is room for as many.
            unsafe { std::ptr::copy_nonoverlapping(right, copy, bytes) };
            self.call(
                left.wrapping_offset(-offset),
                copy.wrapping_offset(-offset),
                count,
            );
            // SAFETY: as above.
            unsafe { std::ptr::copy_nonoverlapping(copy, out, bytes) };
        }
    }

    /// Combines elements that stand packed among ranks.
    ///
    /// # Safety
    /// As for [`combine`].
    unsafe fn unpacked(
        &self,
        left: *const u8,
        right: *const u8,
        out: *mut u8,
        count: usize,
    ) -> Result<(), Unserved> {
        let datatype = self.elements.datatype;
        let (low, span) = datatype.span();
        // So that elements' addresses are aligned for any type.
        let low = low & !(align_of::<u128>() as isize - 1);
        let above = (datatype.span().0 - low) as usize + span;
        let distance = usize::try_from(datatype.extent).unwrap_or(0);
        let bytes = above + (count - 1) * distance;
        let mut room = self.room.borrow_mut();
        for words in room.iter_mut().filter(|words| words.len() < bytes) {
            *words = Words::of(bytes);
        }
        let [one, other] = &mut *room;
        let address = |words: &mut Words| words.start().wrapping_offset(-low);
        let (one, other) = (address(one), address(other));
        let part = |start: *mut u8| Part::new(start, count as i64, datatype.clone());
        let packed = count * self.elements.bytes;
        // SAFETY: the caller's promise.
        let (left, right) = unsafe {
            (
                std::slice::from_raw_parts(left, packed),
                std::slice::from_raw_parts(right, packed),
            )
        };
        unpack(self.here.packer(), &part(one)?, left)?;
        unpack(self.here.packer(), &part(other)?, right)?;
        self.call(one, other, count);
        // SAFETY: the caller's promise; the other slices are not used any more.
        let out = unsafe { std::slice::from_raw_parts_mut(out, packed) };
        pack(self.here.packer(), &part(other)?, out)
    }
}

/// Combines runs of elements as they stand among ranks.
///
/// # Safety
/// The context is a [`Local`]; so many of its elements can be read at `left` and `right`, and there is room for them at `out`,
/// which is apart from each or the same; all is aligned for elements.
unsafe fn combine(
    context: *const (),
    left: *const u8,
    right: *const u8,
    out: *mut u8,
    elements: usize,
) {
    // SAFETY: the caller's promise; the context outlives the call, as `Local::run` waits for its end.
    let local = unsafe { &*context.cast::<Local<'_>>() };
    let kind = local.elements;
    let portion = match kind.shape {
        // Elements of which many may have been put elsewhere at a time.
        Shape::Together(_) | Shape::Spread(_) if out.cast_const() != left => c_int::MAX as usize,
        Shape::Together(_) | Shape::Spread(_) => kind.portion(ROOM),
        // Bytes of several elements may be anywhere among one another.
        Shape::Packed if !kind.datatype.is_in_extent() => 1,
        Shape::Packed => (ROOM / kind.datatype.extent.unsigned_abs().max(1)).max(1),
    };
    for first in (0..elements).step_by(portion) {
        let count = portion.min(elements - first);
        let at = first * kind.bytes;
        let (left, right) = (left.wrapping_add(at), right.wrapping_add(at));
        let out = out.wrapping_add(at);
        let offset = match kind.shape {
            Shape::Together(offset) => offset,
            Shape::Spread(_) => 0,
            Shape::Packed => {
                // SAFETY: the caller's promise for this portion.
                let done = unsafe { local.unpacked(left, right, out, count) };
                if let Err(Unserved::Native(error)) = done
                    && local.error.get() == 0
                {
                    local.error.set(error);
                }
                continue;
            }
        };
        // SAFETY: as above.
        unsafe { local.in_place(left, right, out, count, offset) };
    }
}
