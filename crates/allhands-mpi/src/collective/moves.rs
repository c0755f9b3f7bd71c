//! Collectives that move blocks of one length, as bytes: ranks may describe their data differently.

use super::{Given, Served};
use crate::buffer::{Landing, Part, packed, read, total};
use crate::datatype::Datatype;
use crate::takeover::{Here, Unserved};
use allhands::operation;
use std::borrow::Cow;
use std::ffi::c_int;
use std::slice::from_ref;

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
    let mut landing = if is_root {
        Landing::filled(here, from_ref(&part))?
    } else {
        Landing::of(here, from_ref(&part))?
    };
    here.run(operation::broadcast(landing.bytes(), root as usize))?;
    if !is_root {
        landing.deliver(here, from_ref(&part))?;
    }
    Ok(part.bytes())
}

/// `MPI_Gather`. Only the root may gather in place, and the others do not know, so its own block is copied.
pub(crate) fn gather(here: &Here<'_>, send: Given, receive: Given, root: c_int) -> Served {
    let is_root = here.is_root(root)?;
    let in_place = is_root && here.abi.is_in_place(send.start);
    let input: Cow<'_, [u8]> = if in_place {
        Cow::Owned(packed(here, &[receive.block(here, here.rank)?])?)
    } else {
        read(here, &[send.part(here)?])?
    };
    let whole = if is_root {
        Some(receive.blocks(here)?)
    } else {
        None
    };
    let parts = whole.as_slice();
    let mut landing = Landing::of(here, parts)?;
    here.run(operation::gather(&input, landing.bytes(), root as usize))?;
    landing.deliver(here, parts)?;
    Ok(input.len())
}

/// `MPI_Scatter`. Only the root may scatter in place, and the others do not know, so its own block goes nowhere.
pub(crate) fn scatter(here: &Here<'_>, send: Given, receive: Given, root: c_int) -> Served {
    let is_root = here.is_root(root)?;
    let input: Cow<'_, [u8]> = if is_root {
        read(here, &[send.blocks(here)?])?
    } else {
        Cow::Borrowed(&[])
    };
    let in_place = is_root && here.abi.is_in_place(receive.start);
    let own = if in_place {
        None
    } else {
        Some(receive.part(here)?)
    };
    let parts = own.as_slice();
    let mut landing = match own {
        Some(_) => Landing::of(here, parts)?,
        None => Landing::Staged(vec![0; input.len() / here.size]),
    };
    here.run(operation::scatter(&input, landing.bytes(), root as usize))?;
    let bytes = landing.bytes().len();
    landing.deliver(here, parts)?;
    Ok(bytes)
}

/// `MPI_Allgather`, in place on all ranks or on none.
pub(crate) fn allgather(here: &Here<'_>, send: Given, receive: Given) -> Served {
    let whole = receive.blocks(here)?;
    let parts = from_ref(&whole);
    let block = total(parts) / here.size;
    if here.abi.is_in_place(send.start) {
        let mut landing = Landing::filled(here, parts)?;
        here.run(operation::allgather_in_place(landing.bytes()))?;
        landing.deliver(here, parts)?;
    } else {
        let input = read(here, &[send.part(here)?])?;
        let mut landing = Landing::of(here, parts)?;
        here.run(operation::allgather(&input, landing.bytes()))?;
        landing.deliver(here, parts)?;
    }
    Ok(block)
}

/// `MPI_Alltoall`, in place on all ranks or on none.
pub(crate) fn alltoall(here: &Here<'_>, send: Given, receive: Given) -> Served {
    let whole = receive.blocks(here)?;
    let parts = from_ref(&whole);
    let block = total(parts) / here.size;
    if here.abi.is_in_place(send.start) {
        let mut landing = Landing::filled(here, parts)?;
        here.run(operation::all_to_all_in_place(landing.bytes()))?;
        landing.deliver(here, parts)?;
    } else {
        let input = read(here, &[send.blocks(here)?])?;
        let mut landing = Landing::of(here, parts)?;
        here.run(operation::all_to_all(&input, landing.bytes()))?;
        landing.deliver(here, parts)?;
    }
    Ok(block)
}
