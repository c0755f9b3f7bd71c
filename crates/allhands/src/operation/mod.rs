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

mod typed;

pub use typed::Operation;
pub(crate) use typed::{CallShape, Counts};

use crate::element::Element;
use crate::operator::Operator;
use allhands_core::call::Collective;
use typed::Buffer;

/// No rank leaves before every rank has entered.
#[inline]
pub fn barrier() -> Operation<'static> {
    Operation::new::<u8>(
        Collective::Barrier,
        Counts::Block,
        Buffer::NONE,
        Buffer::NONE,
    )
}

/// The root's `buffer` reaches every rank's.
#[inline]
pub fn broadcast<T: Element>(buffer: &mut [T], root: usize) -> Operation<'_> {
    let whole = Buffer::write(buffer);
    Operation::new::<T>(Collective::Broadcast, Counts::Vector, Buffer::NONE, whole)
        .rooted(root)
        .in_place()
}

/// Block `r` of the root's `input` reaches the `output` of rank `r`; other ranks give an empty input.
#[inline]
pub fn scatter<'a, T: Element>(input: &'a [T], output: &'a mut [T], root: usize) -> Operation<'a> {
    let (input, output) = (Buffer::read(input), Buffer::write(output));
    Operation::new::<T>(Collective::Scatter, Counts::Block, input, output).rooted(root)
}

/// [`scatter`] where the root's own block stays in its `buffer` of all blocks; other ranks give a buffer of one block.
#[inline]
pub fn scatter_in_place<T: Element>(buffer: &mut [T], root: usize) -> Operation<'_> {
    whole_in_place::<T>(Collective::Scatter, Counts::Block, buffer).rooted(root)
}

/// [`scatter`] with a block of `counts[r]` elements for rank `r`; only the root gives counts (others an empty slice).
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
#[inline]
pub fn gather<'a, T: Element>(input: &'a [T], output: &'a mut [T], root: usize) -> Operation<'a> {
    let (input, output) = (Buffer::read(input), Buffer::write(output));
    Operation::new::<T>(Collective::Gather, Counts::Block, input, output).rooted(root)
}

/// [`gather`] where the root's own block already stands in its `buffer` of all blocks; other ranks give one block.
#[inline]
pub fn gather_in_place<T: Element>(buffer: &mut [T], root: usize) -> Operation<'_> {
    whole_in_place::<T>(Collective::Gather, Counts::Block, buffer).rooted(root)
}

/// [`gather`] with a block of `counts[r]` elements from rank `r`; only the root gives counts (others an empty slice).
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
#[inline]
pub fn allgather<'a, T: Element>(input: &'a [T], output: &'a mut [T]) -> Operation<'a> {
    let (input, output) = (Buffer::read(input), Buffer::write(output));
    Operation::new::<T>(Collective::Allgather, Counts::Block, input, output)
}

/// [`allgather`] where each rank's block already stands at its place in `buffer`.
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
#[inline]
pub fn alltoall<'a, T: Element>(input: &'a [T], output: &'a mut [T]) -> Operation<'a> {
    let (input, output) = (Buffer::read(input), Buffer::write(output));
    Operation::new::<T>(Collective::Alltoall, Counts::Block, input, output)
}

/// [`alltoall`] where the received blocks replace the sent ones.
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

/// [`reduce`] where the result replaces the root's `buffer`; the buffers of other ranks keep their values.
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

/// The reduction of all inputs reaches every `output`.
#[inline]
pub fn allreduce<'a, T: Element, O: Operator<T>>(
    input: &'a [T],
    output: &'a mut [T],
    operator: &'a O,
) -> Operation<'a> {
    vector::<T, O>(Collective::Allreduce, input, output, operator)
}

/// [`allreduce`] where the result replaces the input.
#[inline]
pub fn allreduce_in_place<'a, T: Element, O: Operator<T>>(
    buffer: &'a mut [T],
    operator: &'a O,
) -> Operation<'a> {
    vector_in_place::<T, O>(Collective::Allreduce, buffer, operator)
}

/// Block `r` of the reduction of all inputs reaches the `output` of rank `r`.
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

/// Rank `r` gets the reduction of the inputs of ranks `0..=r`.
#[inline]
pub fn scan<'a, T: Element, O: Operator<T>>(
    input: &'a [T],
    output: &'a mut [T],
    operator: &'a O,
) -> Operation<'a> {
    vector::<T, O>(Collective::Scan, input, output, operator)
}

/// [`scan`] where the result replaces the input.
#[inline]
pub fn scan_in_place<'a, T: Element, O: Operator<T>>(
    buffer: &'a mut [T],
    operator: &'a O,
) -> Operation<'a> {
    vector_in_place::<T, O>(Collective::Scan, buffer, operator)
}

/// Rank `r` gets the reduction of the inputs of ranks `0..r`; the output of rank 0 is left as it is.
#[inline]
pub fn exscan<'a, T: Element, O: Operator<T>>(
    input: &'a [T],
    output: &'a mut [T],
    operator: &'a O,
) -> Operation<'a> {
    vector::<T, O>(Collective::Exscan, input, output, operator)
}

/// [`exscan`] where the result replaces the input.
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
