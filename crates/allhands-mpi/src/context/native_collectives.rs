//! Native collectives: what ranks exchange by the MPI's own calls, while they agree on whether there are to be ours.

use crate::abi::{Abi, Handle};
use crate::context::library::Library;
use std::ffi::c_int;

/// Calls of the native MPI while ranks come together, each of which may say that it failed.
pub(crate) struct NativeCollectives<'a> {
    pub(crate) library: &'a Library,
    pub(crate) abi: &'a Abi,
}

impl NativeCollectives<'_> {
    /// Gives every rank of a communicator what its rank 0 has.
    pub(crate) fn broadcast<T: Copy>(&self, value: &mut [T], comm: Handle) -> Option<()> {
        let bytes = c_int::try_from(size_of_val(value)).ok()?;
        let start = value.as_mut_ptr().cast();
        // SAFETY: so many bytes to read or write, of plain numbers, as all callers' are.
        let error = unsafe { (self.library.native.bcast)(start, bytes, self.abi.byte, 0, comm) };
        (error == 0).then_some(())
    }

    /// What every rank of a communicator has, by rank.
    pub(crate) fn allgather<T: Copy>(&self, value: T, size: usize, comm: Handle) -> Option<Vec<T>> {
        let bytes = size_of::<T>() as c_int;
        let (mut all, byte) = (vec![value; size], self.abi.byte);
        let (own, room) = ((&raw const value).cast(), all.as_mut_ptr().cast());
        // SAFETY: so many bytes of each rank to read, and room for those of all; plain numbers, as all callers' are.
        let error =
            unsafe { (self.library.native.allgather)(own, bytes, byte, room, bytes, byte, comm) };
        (error == 0).then_some(all)
    }

    /// Whether all ranks of a communicator say yes.
    pub(crate) fn all(&self, yes: bool, size: usize, comm: Handle) -> Option<bool> {
        let answers = self.allgather(u8::from(yes), size, comm)?;
        Some(answers.iter().all(|answer| *answer == 1))
    }
}
