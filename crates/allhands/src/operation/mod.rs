//! An operation: one rank's call of a collective on typed buffers, before it is started.
//!
//! The methods of [`Communicator`](crate::Communicator) make operations and run them at once. Made by the functions here, an
//! operation can also be started without waiting, repeated, or given an algorithm by name:
//!
//! ```
//! use allhands::{Sum, operation, threads};
//!
//! let sums = threads::run(4, |comm| -> Result<Vec<u64>, allhands::Error> {
//!     let input = [comm.rank() as u64; 3];
//!     let mut output = [0; 3];
//!     comm.run(operation::allreduce(&input, &mut output, &Sum).algorithm("ring"))?;
//!     Ok(output.to_vec())
//! })?;
//! assert_eq!(sums[2].as_ref().unwrap(), &[6, 6, 6]);
//! # Ok::<(), allhands::Error>(())
//! ```
//!
//! # Lengths and types
//!
//! Lengths, counts and displacements are numbers of elements. All ranks give elements of one type, the same root and the same operator.
//! Where a rank has nothing to send or to receive its buffer is empty, `&[]` or `&mut []`. Blocks stand one after another, in the order
//! of ranks. What a function here says of lengths is checked when the operation is run or started: each rank checks what it gives, and where
//! ranks differ, the one that receives finds it. The method of the same name says which [`Error`](crate::Error) comes of it.
//!
//! # Algorithms
//!
//! `allhands list COLLECTIVE` prints the names that [`Operation::algorithm`] takes, their parameters and where each is from;
//! `allhands explain` says which one serves a call that names none. The methods' pages cite papers as PAPERS.md in the repository does,
//! by a letter and a section, table or figure:
//!
//! - T: R. Thakur, R. Rabenseifner, W. Gropp: *Optimization of Collective Communication Operations in MPICH*, 2005.
//! - Q: Y. Qian, A. Afsahi: *Efficient shared memory and RDMA based collectives on multi-rail QsNet II SMP clusters*, 2008.
//! - C: Q. Ali, S. P. Midkiff, V. S. Pai: *Modeling Advanced Collective Communication Algorithms on Cell-based Systems*, 2010.
//! - B: G. Almási and others: *Optimization of MPI Collective Communication on BlueGene/L Systems*, 2005.

mod typed;

pub use typed::Operation;
pub(crate) use typed::{CallShape, Counts};

use crate::element::Element;
use crate::operator::Operator;
use allhands_core::call::Collective;
use typed::Buffer;

/// No rank leaves before every rank has entered; there are no buffers.
///
/// An example, and the errors: [`Communicator::barrier`](crate::Communicator::barrier).
#[inline]
pub fn barrier() -> Operation<'static> {
    Operation::new::<u8>(
        Collective::Barrier,
        Counts::Block,
        Buffer::NONE,
        Buffer::NONE,
    )
}

/// The root's `buffer` reaches every rank's; it is equally long on every rank.
///
/// An example, and the errors: [`Communicator::broadcast`](crate::Communicator::broadcast).
#[inline]
pub fn broadcast<T: Element>(buffer: &mut [T], root: usize) -> Operation<'_> {
    let whole = Buffer::write(buffer);
    Operation::new::<T>(Collective::Broadcast, Counts::Vector, Buffer::NONE, whole)
        .rooted(root)
        .in_place()
}

/// Block `r` of the root's `input` reaches the `output` of rank `r`; other ranks give an empty input.
///
/// `output` is one block, equally long on every rank; the root's `input` is as many blocks as there are ranks.
///
/// An example, and the errors: [`Communicator::scatter`](crate::Communicator::scatter).
#[inline]
pub fn scatter<'a, T: Element>(input: &'a [T], output: &'a mut [T], root: usize) -> Operation<'a> {
    let (input, output) = (Buffer::read(input), Buffer::write(output));
    Operation::new::<T>(Collective::Scatter, Counts::Block, input, output).rooted(root)
}

/// [`scatter`] where the root's own block stays in its `buffer` of all blocks; other ranks give a buffer of one block.
///
/// The root's `buffer` is as many blocks as there are ranks, and is left as it is.
///
/// An example, and the errors: [`Communicator::scatter_in_place`](crate::Communicator::scatter_in_place).
#[inline]
pub fn scatter_in_place<T: Element>(buffer: &mut [T], root: usize) -> Operation<'_> {
    whole_in_place::<T>(Collective::Scatter, Counts::Block, buffer).rooted(root)
}

/// [`scatter`] with a block of `counts[r]` elements for rank `r`; only the root gives counts (others an empty slice).
///
/// The root's `input` is as long as the sum of its counts, and the `output` of rank `r` is `counts[r]` elements, so a rank must know
/// how much it gets.
///
/// An example, and the errors: [`Communicator::scatter_v`](crate::Communicator::scatter_v).
#[inline]
pub fn scatter_v<'a, T: Element>(
    input: &'a [T],
    counts: &[usize],
    output: &'a mut [T],
    root: usize,
) -> Operation<'a> {
    let (input, output) = (Buffer::read(input), Buffer::write(output));
    Operation::new::<T>(Collective::Scatter, known(counts), input, output).rooted(root)
}

/// The `input` of rank `r` reaches the root's `output` as block `r`; other ranks give an empty output.
///
/// `input` is one block, equally long on every rank; the root's `output` is as many blocks as there are ranks.
///
/// An example, and the errors: [`Communicator::gather`](crate::Communicator::gather).
#[inline]
pub fn gather<'a, T: Element>(input: &'a [T], output: &'a mut [T], root: usize) -> Operation<'a> {
    let (input, output) = (Buffer::read(input), Buffer::write(output));
    Operation::new::<T>(Collective::Gather, Counts::Block, input, output).rooted(root)
}

/// [`gather`] where the root's own block already stands in its `buffer` of all blocks; other ranks give one block.
///
/// The root's `buffer` is as many blocks as there are ranks; a `buffer` of another rank is only read.
///
/// An example, and the errors: [`Communicator::gather_in_place`](crate::Communicator::gather_in_place).
#[inline]
pub fn gather_in_place<T: Element>(buffer: &mut [T], root: usize) -> Operation<'_> {
    whole_in_place::<T>(Collective::Gather, Counts::Block, buffer).rooted(root)
}

/// [`gather`] with a block of `counts[r]` elements from rank `r`; only the root gives counts (others an empty slice).
///
/// The `input` of rank `r` is `counts[r]` elements, and the root's `output` as long as the sum of its counts.
///
/// An example, and the errors: [`Communicator::gather_v`](crate::Communicator::gather_v).
#[inline]
pub fn gather_v<'a, T: Element>(
    input: &'a [T],
    output: &'a mut [T],
    counts: &[usize],
    root: usize,
) -> Operation<'a> {
    let (input, output) = (Buffer::read(input), Buffer::write(output));
    Operation::new::<T>(Collective::Gather, known(counts), input, output).rooted(root)
}

#[inline(always)]
fn known(counts: &[usize]) -> Counts {
    if counts.is_empty() {
        Counts::Own
    } else {
        Counts::Blocks(counts.to_vec())
    }
}

/// The `input` of rank `r` reaches every rank's `output` as block `r`.
///
/// `input` is one block, equally long on every rank, and `output` as many blocks as there are ranks.
///
/// An example, and the errors: [`Communicator::allgather`](crate::Communicator::allgather).
#[inline]
pub fn allgather<'a, T: Element>(input: &'a [T], output: &'a mut [T]) -> Operation<'a> {
    let (input, output) = (Buffer::read(input), Buffer::write(output));
    Operation::new::<T>(Collective::Allgather, Counts::Block, input, output)
}

/// [`allgather`] where each rank's block already stands at its place in `buffer`, which is as many equal blocks as there are ranks.
///
/// An example, and the errors: [`Communicator::allgather_in_place`](crate::Communicator::allgather_in_place).
#[inline]
pub fn allgather_in_place<T: Element>(buffer: &mut [T]) -> Operation<'_> {
    Operation::new::<T>(
        Collective::Allgather,
        Counts::Block,
        Buffer::NONE,
        Buffer::write(buffer),
    )
    .in_place()
}

/// [`allgather`] with a block of `counts[r]` elements from rank `r`; every rank gives all counts.
///
/// The `input` of rank `r` is `counts[r]` elements, and `output` as long as the sum of all counts.
///
/// An example, and the errors: [`Communicator::allgather_v`](crate::Communicator::allgather_v).
#[inline]
pub fn allgather_v<'a, T: Element>(
    input: &'a [T],
    output: &'a mut [T],
    counts: &[usize],
) -> Operation<'a> {
    let (input, output) = (Buffer::read(input), Buffer::write(output));
    Operation::new::<T>(
        Collective::Allgather,
        Counts::Blocks(counts.to_vec()),
        input,
        output,
    )
}

/// Block `d` of the `input` of rank `s` reaches the `output` of rank `d` as block `s`.
///
/// `input` and `output` are as many blocks as there are ranks, all of one length, which is the same on every rank.
///
/// An example, and the errors: [`Communicator::alltoall`](crate::Communicator::alltoall).
#[inline]
pub fn alltoall<'a, T: Element>(input: &'a [T], output: &'a mut [T]) -> Operation<'a> {
    let (input, output) = (Buffer::read(input), Buffer::write(output));
    Operation::new::<T>(Collective::Alltoall, Counts::Block, input, output)
}

/// [`alltoall`] where the received blocks replace the sent ones; `buffer` is as many equal blocks as there are ranks.
///
/// An example, and the errors: [`Communicator::alltoall_in_place`](crate::Communicator::alltoall_in_place).
#[inline]
pub fn alltoall_in_place<T: Element>(buffer: &mut [T]) -> Operation<'_> {
    Operation::new::<T>(
        Collective::Alltoall,
        Counts::Block,
        Buffer::NONE,
        Buffer::write(buffer),
    )
    .in_place()
}

/// [`alltoall`] with blocks of their own lengths: `send[d]` elements to rank `d`, `receive[s]` from rank `s`, packed in rank order.
///
/// `send` and `receive` have a number for each rank; `input` is as long as the sum of `send`, `output` as that of `receive`.
///
/// An example, and the errors: [`Communicator::alltoall_v`](crate::Communicator::alltoall_v).
#[inline]
pub fn alltoall_v<'a, T: Element>(
    input: &'a [T],
    send: &[usize],
    output: &'a mut [T],
    receive: &[usize],
) -> Operation<'a> {
    let (input, output) = (Buffer::read(input), Buffer::write(output));
    let counts = Counts::Exchange {
        send: send.to_vec(),
        receive: receive.to_vec(),
    };
    Operation::new::<T>(Collective::Alltoall, counts, input, output)
}

/// The reduction of all inputs reaches the root's `output`; other ranks give an empty output.
///
/// `input` is equally long on every rank, and the root's `output` as long.
///
/// An example, and the errors: [`Communicator::reduce`](crate::Communicator::reduce).
#[inline]
pub fn reduce<'a, T: Element, O: Operator<T>>(
    input: &'a [T],
    output: &'a mut [T],
    operator: &'a O,
    root: usize,
) -> Operation<'a> {
    let (input, output) = (Buffer::read(input), Buffer::write(output));
    Operation::new::<T>(Collective::Reduce, Counts::Vector, input, output)
        .rooted(root)
        .reducing::<T, O>(operator)
}

/// [`reduce`] where the result replaces the root's `buffer`; the buffers of other ranks, as long as the root's, keep their values.
///
/// An example, and the errors: [`Communicator::reduce_in_place`](crate::Communicator::reduce_in_place).
#[inline]
pub fn reduce_in_place<'a, T: Element, O: Operator<T>>(
    buffer: &'a mut [T],
    operator: &'a O,
    root: usize,
) -> Operation<'a> {
    whole_in_place::<T>(Collective::Reduce, Counts::Vector, buffer)
        .rooted(root)
        .reducing::<T, O>(operator)
}

/// The reduction of all inputs reaches every `output`; both are of one length, which is the same on every rank.
///
/// An example, and the errors: [`Communicator::allreduce`](crate::Communicator::allreduce).
#[inline]
pub fn allreduce<'a, T: Element, O: Operator<T>>(
    input: &'a [T],
    output: &'a mut [T],
    operator: &'a O,
) -> Operation<'a> {
    vector::<T, O>(Collective::Allreduce, input, output, operator)
}

/// [`allreduce`] where the result replaces the input; `buffer` is equally long on every rank.
///
/// An example, and the errors: [`Communicator::allreduce_in_place`](crate::Communicator::allreduce_in_place).
#[inline]
pub fn allreduce_in_place<'a, T: Element, O: Operator<T>>(
    buffer: &'a mut [T],
    operator: &'a O,
) -> Operation<'a> {
    vector_in_place::<T, O>(Collective::Allreduce, buffer, operator)
}

/// Block `r` of the reduction of all inputs reaches the `output` of rank `r`.
///
/// `output` is one block, equally long on every rank, and `input` as many blocks as there are ranks.
///
/// An example, and the errors: [`Communicator::reduce_scatter`](crate::Communicator::reduce_scatter).
#[inline]
pub fn reduce_scatter<'a, T: Element, O: Operator<T>>(
    input: &'a [T],
    output: &'a mut [T],
    operator: &'a O,
) -> Operation<'a> {
    let (input, output) = (Buffer::read(input), Buffer::write(output));
    Operation::new::<T>(Collective::ReduceScatter, Counts::Block, input, output)
        .reducing::<T, O>(operator)
}

/// [`reduce_scatter`] where the result replaces the rank's own block of `buffer`; the other blocks keep their values.
///
/// `buffer` is as many equal blocks as there are ranks.
///
/// An example, and the errors: [`Communicator::reduce_scatter_in_place`](crate::Communicator::reduce_scatter_in_place).
#[inline]
pub fn reduce_scatter_in_place<'a, T: Element, O: Operator<T>>(
    buffer: &'a mut [T],
    operator: &'a O,
) -> Operation<'a> {
    let whole = Buffer::write(buffer);
    Operation::new::<T>(
        Collective::ReduceScatter,
        Counts::Block,
        whole,
        Buffer::NONE,
    )
    .in_place()
    .reducing::<T, O>(operator)
}

/// [`reduce_scatter`] with a block of `counts[r]` elements for rank `r`; every rank gives all counts.
///
/// `input` is as long as the sum of all counts, and the `output` of rank `r` is `counts[r]` elements.
///
/// An example, and the errors: [`Communicator::reduce_scatter_v`](crate::Communicator::reduce_scatter_v).
#[inline]
pub fn reduce_scatter_v<'a, T: Element, O: Operator<T>>(
    input: &'a [T],
    counts: &[usize],
    output: &'a mut [T],
    operator: &'a O,
) -> Operation<'a> {
    let (input, output) = (Buffer::read(input), Buffer::write(output));
    let counts = Counts::Blocks(counts.to_vec());
    Operation::new::<T>(Collective::ReduceScatter, counts, input, output).reducing::<T, O>(operator)
}

/// Rank `r` gets the reduction of the inputs of ranks `0..=r`; input and output are of one length, which is the same on every rank.
///
/// An example, and the errors: [`Communicator::scan`](crate::Communicator::scan).
#[inline]
pub fn scan<'a, T: Element, O: Operator<T>>(
    input: &'a [T],
    output: &'a mut [T],
    operator: &'a O,
) -> Operation<'a> {
    vector::<T, O>(Collective::Scan, input, output, operator)
}

/// [`scan`] where the result replaces the input; `buffer` is equally long on every rank.
///
/// An example, and the errors: [`Communicator::scan_in_place`](crate::Communicator::scan_in_place).
#[inline]
pub fn scan_in_place<'a, T: Element, O: Operator<T>>(
    buffer: &'a mut [T],
    operator: &'a O,
) -> Operation<'a> {
    vector_in_place::<T, O>(Collective::Scan, buffer, operator)
}

/// Rank `r` gets the reduction of the inputs of ranks `0..r`; the output of rank 0 is left as it is.
///
/// Input and output are of one length, which is the same on every rank, on rank 0 too.
///
/// An example, and the errors: [`Communicator::exscan`](crate::Communicator::exscan).
#[inline]
pub fn exscan<'a, T: Element, O: Operator<T>>(
    input: &'a [T],
    output: &'a mut [T],
    operator: &'a O,
) -> Operation<'a> {
    vector::<T, O>(Collective::Exscan, input, output, operator)
}

/// [`exscan`] where the result replaces the input; `buffer` is equally long on every rank, and that of rank 0 is left as it is.
///
/// An example, and the errors: [`Communicator::exscan_in_place`](crate::Communicator::exscan_in_place).
#[inline]
pub fn exscan_in_place<'a, T: Element, O: Operator<T>>(
    buffer: &'a mut [T],
    operator: &'a O,
) -> Operation<'a> {
    vector_in_place::<T, O>(Collective::Exscan, buffer, operator)
}

/// A call in place whose one buffer is input, output or both, as the rank's part in it says.
#[inline(always)]
fn whole_in_place<T: Element>(
    collective: Collective,
    counts: Counts,
    buffer: &mut [T],
) -> Operation<'_> {
    let whole = Buffer::write(buffer);
    Operation::new::<T>(collective, counts, whole, whole).in_place()
}

#[inline(always)]
fn vector<'a, T: Element, O: Operator<T>>(
    collective: Collective,
    input: &'a [T],
    output: &'a mut [T],
    operator: &'a O,
) -> Operation<'a> {
    let (input, output) = (Buffer::read(input), Buffer::write(output));
    Operation::new::<T>(collective, Counts::Vector, input, output).reducing::<T, O>(operator)
}

#[inline(always)]
fn vector_in_place<'a, T: Element, O: Operator<T>>(
    collective: Collective,
    buffer: &'a mut [T],
    operator: &'a O,
) -> Operation<'a> {
    let whole = Buffer::write(buffer);
    Operation::new::<T>(collective, Counts::Vector, Buffer::NONE, whole)
        .in_place()
        .reducing::<T, O>(operator)
}
