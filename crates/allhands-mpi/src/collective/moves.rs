//! Collectives that move blocks of one length, as bytes: ranks may describe their data differently.

use super::{Given, Served};
use crate::buffer::{Landing, Part, packed, read, total};
use crate::datatype::Datatype;
use crate::takeover::{Here, Unserved};
use allhands::operation;
use std::borrow::Cow;
use std::ffi::c_int;
use std::slice::from_ref;

/// The input of a call, or of a rank, that has none.
const NOTHING: Cow<'static, [u8]> = Cow::Borrowed(&[]);

impl Given {
    /// All elements of the buffer.
    #[inline]
    pub(super) fn part(&self, here: &Here<'_>) -> Result<Part, Unserved> {
        let datatype = Datatype::of(here, self.datatype)?;
        Part::new(self.start, self.count, datatype)
    }

    /// The buffer with a block of so many elements for each rank.
    #[inline]
    fn blocks(&self, here: &Here<'_>) -> Result<Part, Unserved> {
        // That the count is not negative, and the bytes of all blocks are a number, is checked where the part is made.
        let count = self.count.saturating_mul(here.size as i64);
        Part::new(self.start, count, Datatype::of(here, self.datatype)?)
    }

    /// The block of one rank.
    fn block(&self, here: &Here<'_>, rank: usize) -> Result<Part, Unserved> {
        let first = self.count.saturating_mul(rank as i64);
        self.part(here)?.further(first, self.count)
    }
}

/// `MPI_Barrier`.
pub(crate) fn barrier(here: &Here<'_>) -> Served {
    here.run(operation::barrier())?;
    Ok(0)
}

/// `MPI_Bcast`.
pub(crate) fn broadcast(here: &Here<'_>, buffer: Given, root: c_int) -> Served {
    let (is_root, part) = (here.is_root(root)?, buffer.part(here)?);
    let landing = if is_root {
        Landing::filled(here, from_ref(&part))?
    } else {
        Landing::of(here, from_ref(&part))?
    };
    let parts = if is_root { &[] } else { from_ref(&part) };
    here.carry(NOTHING, (landing, parts), |_, buffer| {
        operation::broadcast(buffer, root as usize)
    })?;
    Ok(part.bytes())
}

/// `MPI_Gather`. Only the root may gather in place, and the others do not know, so its own block is copied.
pub(crate) fn gather(here: &Here<'_>, send: Given, receive: Given, root: c_int) -> Served {
    let is_root = here.is_root(root)?;
    let in_place = is_root && here.abi.is_in_place(send.start);
    let input = if in_place {
        Cow::Owned(packed(here, &[receive.block(here, here.rank)?])?)
    } else {
        read(here, &[send.part(here)?])?
    };
    let whole = if is_root {
        Some(receive.blocks(here)?)
    } else {
        None
    };
    let (parts, bytes) = (whole.as_slice(), input.len());
    let landing = Landing::of(here, parts)?;
    here.carry(input, (landing, parts), |input, output| {
        operation::gather(input, output, root as usize)
    })?;
    Ok(bytes)
}

/// `MPI_Scatter`. Only the root may scatter in place, and the others do not know, so its own block goes nowhere.
pub(crate) fn scatter(here: &Here<'_>, send: Given, receive: Given, root: c_int) -> Served {
    let is_root = here.is_root(root)?;
    let input = if is_root {
        read(here, &[send.blocks(here)?])?
    } else {
        NOTHING
    };
    let in_place = is_root && here.abi.is_in_place(receive.start);
    let own = if in_place {
        None
    } else {
        Some(receive.part(here)?)
    };
    let parts = own.as_slice();
    let landing = match own {
        Some(_) => Landing::of(here, parts)?,
        None => Landing::Staged(vec![0; input.len() / here.size]),
    };
    let bytes = landing.len();
    here.carry(input, (landing, parts), |input, output| {
        operation::scatter(input, output, root as usize)
    })?;
    Ok(bytes)
}

/// `MPI_Allgather`, in place on all ranks or on none.
pub(crate) fn allgather(here: &Here<'_>, send: Given, receive: Given) -> Served {
    let whole = receive.blocks(here)?;
    let parts = from_ref(&whole);
    let block = total(parts) / here.size;
    if here.abi.is_in_place(send.start) {
        let landing = Landing::filled(here, parts)?;
        here.carry(NOTHING, (landing, parts), |_, buffer| {
            operation::allgather_in_place(buffer)
        })?;
    } else {
        let input = read(here, &[send.part(here)?])?;
        let landing = Landing::of(here, parts)?;
        here.carry(input, (landing, parts), |input, output| {
            operation::allgather(input, output)
        })?;
    }
    Ok(block)
}

/// `MPI_Alltoall`, in place on all ranks or on none.
pub(crate) fn alltoall(here: &Here<'_>, send: Given, receive: Given) -> Served {
    let whole = receive.blocks(here)?;
    let parts = from_ref(&whole);
    let block = total(parts) / here.size;
    if here.abi.is_in_place(send.start) {
        let landing = Landing::filled(here, parts)?;
        here.carry(NOTHING, (landing, parts), |_, buffer| {
            operation::all_to_all_in_place(buffer)
        })?;
    } else {
        let input = read(here, &[send.blocks(here)?])?;
        let landing = Landing::of(here, parts)?;
        here.carry(input, (landing, parts), |input, output| {
            operation::all_to_all(input, output)
        })?;
    }
    Ok(block)
}
