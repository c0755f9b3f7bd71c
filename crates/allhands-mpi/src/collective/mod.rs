//! The collectives: a call's arguments as MPI has them, served by a communicator of ours.
//!
//! It owns what each collective does with its arguments: which bytes or elements it moves or combines, what MPIs mind in them,
//! what a nonblocking call keeps until its end, and the comparison with the native result. Dispatch makes a [`here::Here`] for each
//! call and hands it in. It never finds out whether a call may be served on a communicator, never calls the native collective by
//! itself, and keeps nothing from one call to the next but what the MPI has said of operators.

mod acceptance;
mod elements;
pub(crate) mod here;
pub(crate) mod kept;
mod local;
mod mistake;
mod moves;
mod reduce;
mod uneven;
pub(crate) mod verify;

pub(crate) use elements::{Elements, Words};
pub(crate) use moves::{allgather, alltoall, barrier, broadcast, gather, scatter};
pub(crate) use reduce::{allreduce, exscan, reduce, reduce_scatter, reduce_scatter_block, scan};
pub(crate) use uneven::{Lists, Types, allgatherv, alltoallv, gatherv, scatterv};

use crate::context::unserved::Unserved;

/// What serving a call gives: the number of bytes that this rank had.
pub(crate) type Served = Result<usize, Unserved>;

/// A buffer as MPI describes it: its address, the number of elements and their type.
#[derive(Clone, Copy)]
pub(crate) struct Given {
    pub(crate) start: *const u8,
    pub(crate) count: i64,
    pub(crate) datatype: usize,
}
