//! Collectives that move blocks of their own lengths, as bytes.

use super::here::Here;
use super::mistake::Side;
use super::{Given, Served};
use crate::abi::{Handle, Handles};
use crate::buffer::part::{Landing, Numbers, Part, packed, read};
use crate::context::call::Reason;
use crate::context::unserved::Unserved;
use allhands::operation;
use std::borrow::Cow;
use std::ffi::c_int;

/// The type of every block, or the list of their types.
#[derive(Clone, Copy)]
pub(crate) enum Types {
    /// One for all; displacements count its extents.
    One(Handle),
    /// A list of handles; displacements count bytes.
    Each(Handles),
}

/// A buffer of blocks as MPI describes it.
#[derive(Clone, Copy)]
pub(crate) struct Lists {
    pub(crate) start: *const u8,
    pub(crate) counts: Numbers,
    pub(crate) displacements: Numbers,
    pub(crate) types: Types,
}

impl Lists {
    /// The block of one rank.
    fn block(&self, here: &Here<'_>, rank: usize, side: Side) -> Result<Part, Unserved> {
        let (count, displacement) = (self.counts.at(rank)?, self.displacements.at(rank)?);
        here.is_a_place(self.start, count)?;
        match self.types {
            Types::One(datatype) => {
                let datatype = side.datatype(here, datatype)?;
                let distance = datatype.extent.wrapping_mul(displacement as isize);
                Part::new(self.start.wrapping_offset(distance), count, datatype)
            }
            Types::Each(list) if !list.is_null() => {
                // SAFETY: the user hands in a list of as many handles as there are ranks.
                let handle = unsafe { here.abi.handle_at(list, rank) };
                let start = self.start.wrapping_offset(displacement as isize);
                Part::new(start, count, side.datatype(here, handle)?)
            }
            Types::Each(_) => Err(Unserved::Pass(Reason::Arguments)),
        }
    }

    /// The blocks of all ranks.
    fn blocks(&self, here: &Here<'_>, side: Side) -> Result<Vec<Part>, Unserved> {
        let ranks = 0..here.size;
        ranks.map(|rank| self.block(here, rank, side)).collect()
    }

    /// Complains if this rank's block is also the other buffer, and the native MPI does; types differ as they may.
    fn is_apart_from(&self, here: &Here<'_>, other: Given) -> Result<(), Unserved> {
        let block = self.block(here, here.rank, Side::Receive)?;
        match block.begins_at(other.start) {
            true => here.mind_aliases(),
            false => Ok(()),
        }
    }
}

/// The lengths of blocks in bytes.
fn lengths(parts: &[Part]) -> Vec<usize> {
    parts.iter().map(Part::bytes).collect()
}

/// `MPI_Gatherv`. As the root alone knows whether it gathers in place, its own block is then copied.
pub(crate) fn gatherv(here: &Here<'_>, send: Given, receive: Lists, root: c_int) -> Served {
    let is_root = here.is_root(root)?;
    let input = if is_root && here.abi.is_in_place(send.start) {
        Cow::Owned(packed(
            here.packer(),
            &[receive.block(here, here.rank, Side::Receive)?],
        )?)
    } else {
        read(here.packer(), &[send.part(here, Side::Send)?])?
    };
    let mut parts = if is_root {
        receive.blocks(here, Side::Receive)?
    } else {
        Vec::new()
    };
    if is_root && !here.abi.is_in_place(send.start) {
        receive.is_apart_from(here, send)?;
        // Of others only they know what they send.
        let own = parts[here.rank].clone();
        parts[here.rank] = own.first_bytes(input.len())?;
    }
    let (landing, counts) = (here.roomy_landing(&parts)?, lengths(&parts));
    let bytes = input.len();
    here.carry(input, (landing, &parts), |input, output| {
        operation::gather_v(input, output, &counts, root as usize)
    })?;
    Ok(bytes)
}

/// `MPI_Scatterv`. As the root alone knows whether it scatters in place, its own block then goes nowhere.
pub(crate) fn scatterv(here: &Here<'_>, send: Lists, receive: Given, root: c_int) -> Served {
    let is_root = here.is_root(root)?;
    let blocks = if is_root {
        send.blocks(here, Side::Send)?
    } else {
        Vec::new()
    };
    let (input, counts) = (read(here.packer(), &blocks)?, lengths(&blocks));
    let own = if !is_root {
        Some(receive.part(here, Side::Receive)?)
    } else if here.abi.is_in_place(receive.start) {
        None
    } else {
        send.is_apart_from(here, receive)?;
        let own = receive.part(here, Side::Receive)?;
        Some(own.first_bytes(counts[here.rank])?)
    };
    let parts = own.as_slice();
    let landing = match own {
        Some(_) => here.roomy_landing(parts)?,
        None => Landing::Staged(vec![0; counts[here.rank]]),
    };
    let bytes = landing.len();
    here.carry(input, (landing, parts), |input, output| {
        operation::scatter_v(input, &counts, output, root as usize)
    })?;
    Ok(bytes)
}

/// `MPI_Allgatherv`.
pub(crate) fn allgatherv(here: &Here<'_>, send: Given, receive: Lists) -> Served {
    let parts = receive.blocks(here, Side::Receive)?;
    let input = if here.abi.is_in_place(send.start) {
        Cow::Owned(packed(here.packer(), &parts[here.rank..=here.rank])?)
    } else {
        receive.is_apart_from(here, send)?;
        read(here.packer(), &[send.part(here, Side::Send)?])?
    };
    let (landing, bytes) = (here.landing(&parts)?, input.len());
    here.carry(input, (landing, &parts), |input, output| {
        operation::allgather_v(input, output, &lengths(&parts))
    })?;
    Ok(bytes)
}

/// `MPI_Alltoallv` and `MPI_Alltoallw`; in place the blocks that come replace those that go.
pub(crate) fn alltoallv(here: &Here<'_>, send: Lists, receive: Lists) -> Served {
    let mut incoming = receive.blocks(here, Side::Receive)?;
    let (input, outgoing) = if here.abi.is_in_place(send.start) {
        (
            Cow::Owned(packed(here.packer(), &incoming)?),
            lengths(&incoming),
        )
    } else {
        let blocks = send.blocks(here, Side::Send)?;
        let pairs = blocks.iter().zip(&incoming);
        if pairs.into_iter().any(|(out, back)| out.is_same(back)) {
            here.mind_aliases()?;
        }
        (read(here.packer(), &blocks)?, lengths(&blocks))
    };
    // Of others only they know what they send.
    if incoming[here.rank].bytes() > outgoing[here.rank] {
        incoming[here.rank] = incoming[here.rank]
            .clone()
            .first_bytes(outgoing[here.rank])?;
    }
    let (landing, bytes) = (here.roomy_landing(&incoming)?, input.len());
    here.carry(input, (landing, &incoming), |input, output| {
        operation::alltoall_v(input, &outgoing, output, &lengths(&incoming))
    })?;
    Ok(bytes)
}
