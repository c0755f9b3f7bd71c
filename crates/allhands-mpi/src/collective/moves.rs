//! Collectives that move blocks of one length, as bytes: ranks may describe their data differently.

use super::here::Here;
use super::mistake::Side;
use super::{Given, Served};
use crate::buffer::part::{Landing, Part, packed, read, total};
use crate::context::unserved::Unserved;
use allhands::operation;
use std::borrow::Cow;
use std::ffi::c_int;
use std::slice::from_ref;

/// The input of a call, or of a rank, that has none.
const NOTHING: Cow<'static, [u8]> = Cow::Borrowed(&[]);

impl Given {
    /// All elements of the buffer.
    #[inline]
    pub(super) fn part(&self, here: &Here<'_>, side: Side) -> Result<Part, Unserved> {
        here.is_a_place(self.start, self.count)?;
        let datatype = side.datatype(here, self.datatype)?;
        Part::new(self.start, self.count, datatype)
    }

    /// The buffer with a block of so many elements for each rank.
    #[inline]
    fn blocks(&self, here: &Here<'_>, side: Side) -> Result<Part, Unserved> {
        here.is_a_place(self.start, self.count)?;
        // That the count is not negative, and the bytes of all blocks are a number, is checked where the part is made.
        let count = self.count.saturating_mul(here.size as i64);
        Part::new(self.start, count, side.datatype(here, self.datatype)?)
    }

    /// The buffer of one rank's block alone.
    fn block(&self, here: &Here<'_>, rank: usize) -> Result<Given, Unserved> {
        let extent = here.datatype(self.datatype)?.extent;
        let first = self.count.saturating_mul(rank as i64);
        let distance = extent.wrapping_mul(first as isize);
        let start = self.start.wrapping_offset(distance);
        Ok(Given { start, ..*self })
    }

    /// The blocks in which so many bytes of each rank are received: all of them in one part if they fill their blocks.
    fn room_for(&self, here: &Here<'_>, sent: usize) -> Result<Vec<Part>, Unserved> {
        let whole = self.blocks(here, Side::Receive)?;
        if whole.bytes() == sent * here.size {
            return Ok(vec![whole]);
        }
        let blocks = (0..here.size).map(|rank| self.block(here, rank)?.part(here, Side::Receive));
        blocks.map(|block| block?.first_bytes(sent)).collect()
    }
}

/// `MPI_Barrier`.
pub(crate) fn barrier(here: &Here<'_>) -> Served {
    here.run(operation::barrier())?;
    Ok(0)
}

/// `MPI_Bcast`.
pub(crate) fn broadcast(here: &Here<'_>, buffer: Given, root: c_int) -> Served {
    let (is_root, part) = (here.is_root(root)?, buffer.part(here, Side::Send)?);
    let landing = if is_root {
        here.filled_landing(from_ref(&part))?
    } else {
        here.landing(from_ref(&part))?
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
    let own = if in_place {
        here.is_a_place(receive.start, receive.count)?;
        receive.block(here, here.rank)?.part(here, Side::Receive)?
    } else {
        send.part(here, Side::Send)?
    };
    let parts = match is_root {
        true => receive.room_for(here, own.bytes())?,
        false => Vec::new(),
    };
    if is_root && !in_place {
        here.are_apart(send, receive.block(here, here.rank)?)?;
    }
    let input = if in_place {
        Cow::Owned(packed(here.packer(), from_ref(&own))?)
    } else {
        read(here.packer(), from_ref(&own))?
    };
    let landing = here.landing(&parts)?;
    here.carry(input, (landing, &parts), |input, output| {
        operation::gather(input, output, root as usize)
    })?;
    Ok(own.bytes())
}

/// `MPI_Scatter`. Only the root may scatter in place, and the others do not know, so its own block goes nowhere.
pub(crate) fn scatter(here: &Here<'_>, send: Given, receive: Given, root: c_int) -> Served {
    let is_root = here.is_root(root)?;
    let whole = match is_root {
        true => Some(send.blocks(here, Side::Send)?),
        false => None,
    };
    let block = whole.as_ref().map(|whole| whole.bytes() / here.size);
    let in_place = is_root && here.abi.is_in_place(receive.start);
    let own = match (in_place, block) {
        (true, _) => None,
        (false, None) => Some(receive.part(here, Side::Receive)?),
        (false, Some(block)) => {
            let own = receive.part(here, Side::Receive)?.first_bytes(block)?;
            here.are_apart(send.block(here, here.rank)?, receive)?;
            Some(own)
        }
    };
    let input = match &whole {
        Some(whole) => read(here.packer(), from_ref(whole))?,
        None => NOTHING,
    };
    let parts = own.as_slice();
    let landing = match own {
        Some(_) => here.roomy_landing(parts)?,
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
    here.is_a_place(receive.start, receive.count)?;
    if here.abi.is_in_place(send.start) {
        let whole = receive.blocks(here, Side::Receive)?;
        let parts = from_ref(&whole);
        let landing = here.filled_landing(parts)?;
        here.carry(NOTHING, (landing, parts), |_, buffer| {
            operation::allgather_in_place(buffer)
        })?;
        return Ok(total(parts) / here.size);
    }
    let own = send.part(here, Side::Send)?;
    let parts = receive.room_for(here, own.bytes())?;
    here.are_apart(send, receive.block(here, here.rank)?)?;
    let (input, landing) = (read(here.packer(), from_ref(&own))?, here.landing(&parts)?);
    here.carry(input, (landing, &parts), |input, output| {
        operation::allgather(input, output)
    })?;
    Ok(own.bytes())
}

/// `MPI_Alltoall`, in place on all ranks or on none.
pub(crate) fn alltoall(here: &Here<'_>, send: Given, receive: Given) -> Served {
    here.is_a_place(receive.start, receive.count)?;
    if here.abi.is_in_place(send.start) {
        let whole = receive.blocks(here, Side::Receive)?;
        let parts = from_ref(&whole);
        let landing = here.filled_landing(parts)?;
        here.carry(NOTHING, (landing, parts), |_, buffer| {
            operation::alltoall_in_place(buffer)
        })?;
        return Ok(total(parts) / here.size);
    }
    let whole = send.blocks(here, Side::Send)?;
    let block = whole.bytes() / here.size;
    let parts = receive.room_for(here, block)?;
    if total(&parts) != receive.blocks(here, Side::Receive)?.bytes() {
        here.may_be_shorter(block, receive.part(here, Side::Receive)?.bytes())?;
    }
    here.are_apart(send, receive)?;
    let (input, landing) = (
        read(here.packer(), from_ref(&whole))?,
        here.landing(&parts)?,
    );
    here.carry(input, (landing, &parts), |input, output| {
        operation::alltoall(input, output)
    })?;
    Ok(block)
}
