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

use crate::element::{ArrivalCheck, Element, TypeSignature, arrival_check};
use crate::error::Error;
use crate::kernel::Kernel;
use crate::operator::{Operator, OperatorSignature};
use allhands_core::call::{Alias, Call, Collective};
use allhands_core::schedule::Layout;
use std::marker::PhantomData;

/// A buffer with its type erased.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Buffer {
    /// The first byte.
    pub(crate) start: *mut u8,
    /// The number of elements.
    pub(crate) elements: usize,
}

impl Buffer {
    const NONE: Buffer = Buffer {
        start: std::ptr::null_mut(),
        elements: 0,
    };

    fn read<T>(slice: &[T]) -> Buffer {
        Buffer {
            start: slice.as_ptr().cast_mut().cast(),
            elements: slice.len(),
        }
    }

    fn write<T>(slice: &mut [T]) -> Buffer {
        Buffer {
            start: slice.as_mut_ptr().cast(),
            elements: slice.len(),
        }
    }
}

/// How long the blocks are, as this rank was told.
#[derive(Clone, Debug)]
enum Counts {
    /// Every rank has a vector of the same length.
    Vector,
    /// Every rank (or pair of ranks) has a block of the same length.
    Block,
    /// Rank `r` has a block of `counts[r]` elements.
    Blocks(Vec<usize>),
    /// This rank has a block of its own length; only the root knows all.
    Own,
    /// This rank sends `send[d]` elements to rank `d` and receives `receive[s]` from rank `s`.
    Exchange {
        send: Vec<usize>,
        receive: Vec<usize>,
    },
}

/// What travels: the type, and what checks a received value.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ElementKind {
    pub(crate) bytes: usize,
    pub(crate) signature: TypeSignature,
    /// What arrived bytes must pass to be values; `None` where every bit pattern is one.
    pub(crate) check: Option<ArrivalCheck>,
}

impl ElementKind {
    fn of<T: Element>() -> ElementKind {
        ElementKind {
            bytes: size_of::<T>(),
            signature: TypeSignature::of::<T>(),
            check: arrival_check::<T>(),
        }
    }
}

/// How contributions are combined.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Reduction<'a> {
    pub(crate) kernel: Kernel<'a>,
    pub(crate) signature: OperatorSignature,
    pub(crate) commutative: bool,
}

/// A collective on typed buffers, ready to be started.
#[must_use = "an operation does nothing until a communicator runs it"]
#[derive(Clone, Debug)]
pub struct Operation<'a> {
    pub(crate) collective: Collective,
    pub(crate) root: usize,
    pub(crate) in_place: bool,
    pub(crate) element: ElementKind,
    pub(crate) reduction: Option<Reduction<'a>>,
    pub(crate) input: Buffer,
    pub(crate) output: Buffer,
    pub(crate) algorithm: Option<String>,
    counts: Counts,
    borrowed: PhantomData<&'a mut ()>,
}

// SAFETY: an operation borrows its buffers for 'a as `&[T]` and `&mut [T]` with `T: Send + Sync`, and its kernel
// borrows an operator that is `Sync`; its raw pointers are used only while that borrow lasts.
unsafe impl Send for Operation<'_> {}

impl<'a> Operation<'a> {
    fn new<T: Element>(
        collective: Collective,
        counts: Counts,
        input: Buffer,
        output: Buffer,
    ) -> Operation<'a> {
        Operation {
            collective,
            root: 0,
            in_place: false,
            element: ElementKind::of::<T>(),
            reduction: None,
            input,
            output,
            algorithm: None,
            counts,
            borrowed: PhantomData,
        }
    }

    fn rooted(self, root: usize) -> Operation<'a> {
        Operation { root, ..self }
    }

    fn in_place(self) -> Operation<'a> {
        Operation {
            in_place: true,
            ..self
        }
    }

    fn reducing<T: Element, O: Operator<T>>(self, operator: &'a O) -> Operation<'a> {
        let (signature, commutative) = (operator.signature(), operator.commutative());
        Operation {
            reduction: Some(Reduction {
                kernel: Kernel::of::<T, O>(operator),
                signature,
                commutative,
            }),
            ..self
        }
    }

    /// Serves this call with the named algorithm, `NAME` or `NAME:key=value,…`, instead of the policy's choice.
    ///
    /// Every rank must name the same.
    pub fn algorithm(self, name: &str) -> Operation<'a> {
        Operation {
            algorithm: Some(name.to_string()),
            ..self
        }
    }

    /// Whether blocks have lengths of their own.
    pub(crate) fn irregular(&self) -> bool {
        matches!(
            self.counts,
            Counts::Blocks(_) | Counts::Own | Counts::Exchange { .. }
        )
    }

    /// The call and the layout on a rank of a communicator, once the buffers are checked.
    pub(crate) fn check(&self, rank: usize, ranks: usize) -> Result<(Call, Layout), Error> {
        let collective = self.collective;
        if self.root >= ranks {
            return Err(Error::NoSuchRoot {
                collective,
                root: self.root,
                ranks,
            });
        }
        let call = Call {
            collective,
            ranks: ranks as u32,
            root: self.root as u32,
            commutative: self.reduction.is_none_or(|r| r.commutative),
            in_place: self.in_place,
        };
        let layout = self.layout(rank, ranks)?;
        self.check_lengths(&call, rank, &layout)?;
        Ok((call, layout))
    }

    fn layout(&self, rank: usize, ranks: usize) -> Result<Layout, Error> {
        let own_counts = |counts: &Vec<usize>| {
            if counts.len() == ranks {
                return Ok(());
            }
            let (got, collective) = (counts.len(), self.collective);
            Err(Error::Length {
                collective,
                what: "counts",
                got,
                expected: ranks,
                why: "one count a rank",
            })
        };
        Ok(match &self.counts {
            Counts::Vector => Layout::Even(self.output.elements.max(self.input.elements)),
            Counts::Block => Layout::Regular(self.block(rank, ranks)?),
            Counts::Blocks(counts) => {
                own_counts(counts)?;
                Layout::Blocks(counts.clone())
            }
            Counts::Own => {
                let elements = if self.collective == Collective::Gather {
                    self.input
                } else {
                    self.output
                }
                .elements;
                Layout::Own {
                    rank: rank as u32,
                    elements,
                }
            }
            Counts::Exchange { send, receive } => {
                own_counts(send)?;
                own_counts(receive)?;
                Layout::Exchange {
                    rank: rank as u32,
                    send: send.clone(),
                    receive: receive.clone(),
                }
            }
        })
    }

    /// The length of a block, from the buffer that holds just one of them or one a rank.
    fn block(&self, rank: usize, ranks: usize) -> Result<usize, Error> {
        let at_root = rank == self.root;
        let (one, many) = match self.collective {
            Collective::Gather | Collective::Allgather if !self.in_place => {
                (Some(self.input), None)
            }
            Collective::Scatter | Collective::ReduceScatter if !self.in_place => {
                (Some(self.output), None)
            }
            Collective::Gather if !at_root => (Some(self.input), None),
            Collective::Scatter if !at_root => (Some(self.output), None),
            Collective::Scatter | Collective::ReduceScatter => (None, Some(self.input)),
            _ => (None, Some(self.output)),
        };
        if let Some(one) = one {
            return Ok(one.elements);
        }
        let got = many.unwrap_or(Buffer::NONE).elements;
        if !got.is_multiple_of(ranks) {
            let (collective, expected) = (self.collective, got / ranks * ranks);
            return Err(Error::Length {
                collective,
                what: "buffer",
                got,
                expected,
                why: "a block of the same length for each rank",
            });
        }
        Ok(got / ranks)
    }

    fn check_lengths(&self, call: &Call, rank: usize, layout: &Layout) -> Result<(), Error> {
        let rank = rank as u32;
        let total = |blocks: u32, unit: &dyn Fn(u32) -> u64| -> usize {
            (0..blocks)
                .map(|b| layout.elements(unit(b), blocks.max(1)).unwrap_or(0))
                .sum()
        };
        let vector = matches!(layout, Layout::Even(_));
        let sides = [
            (
                "input",
                self.input.elements,
                call.input_blocks(rank, 1),
                true,
            ),
            (
                "output",
                self.output.elements,
                call.output_blocks(rank, 1),
                false,
            ),
        ];
        for (what, got, blocks, is_input) in sides {
            // In place only the larger of two spaces that share memory has a length to check.
            let inner = match call.alias(rank) {
                Alias::Apart => false,
                Alias::InputInOutput { .. } => is_input,
                Alias::OutputInInput { .. } => !is_input,
            };
            if inner || (self.in_place && blocks == 0) {
                continue;
            }
            let expected = match (vector, blocks, layout) {
                (true, 0, _) => 0,
                (true, _, Layout::Even(n)) => *n,
                _ if is_input => total(blocks, &|b| call.input_unit(rank, b)),
                _ => total(blocks, &|b| call.output_unit(rank, b)),
            };
            if got != expected {
                let collective = self.collective;
                let why = "from the lengths of the other buffer and the counts";
                return Err(Error::Length {
                    collective,
                    what,
                    got,
                    expected,
                    why,
                });
            }
        }
        Ok(())
    }
}

/// No rank leaves before every rank has entered.
pub fn barrier() -> Operation<'static> {
    Operation::new::<u8>(
        Collective::Barrier,
        Counts::Block,
        Buffer::NONE,
        Buffer::NONE,
    )
}

/// The root's `buffer` reaches every rank's.
pub fn broadcast<T: Element>(buffer: &mut [T], root: usize) -> Operation<'_> {
    let whole = Buffer::write(buffer);
    Operation::new::<T>(Collective::Broadcast, Counts::Vector, Buffer::NONE, whole)
        .rooted(root)
        .in_place()
}

/// Block `r` of the root's `input` reaches the `output` of rank `r`; other ranks give an empty input.
pub fn scatter<'a, T: Element>(input: &'a [T], output: &'a mut [T], root: usize) -> Operation<'a> {
    let (input, output) = (Buffer::read(input), Buffer::write(output));
    Operation::new::<T>(Collective::Scatter, Counts::Block, input, output).rooted(root)
}

/// [`scatter`] where the root's own block stays in its `buffer` of all blocks; other ranks give a buffer of one block.
pub fn scatter_in_place<T: Element>(buffer: &mut [T], root: usize) -> Operation<'_> {
    whole_in_place::<T>(Collective::Scatter, Counts::Block, buffer).rooted(root)
}

/// [`scatter`] with a block of `counts[r]` elements for rank `r`; only the root gives counts (others an empty slice).
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
pub fn gather<'a, T: Element>(input: &'a [T], output: &'a mut [T], root: usize) -> Operation<'a> {
    let (input, output) = (Buffer::read(input), Buffer::write(output));
    Operation::new::<T>(Collective::Gather, Counts::Block, input, output).rooted(root)
}

/// [`gather`] where the root's own block already stands in its `buffer` of all blocks; other ranks give one block.
pub fn gather_in_place<T: Element>(buffer: &mut [T], root: usize) -> Operation<'_> {
    whole_in_place::<T>(Collective::Gather, Counts::Block, buffer).rooted(root)
}

/// [`gather`] with a block of `counts[r]` elements from rank `r`; only the root gives counts (others an empty slice).
pub fn gather_v<'a, T: Element>(
    input: &'a [T],
    output: &'a mut [T],
    counts: &[usize],
    root: usize,
) -> Operation<'a> {
    let (input, output) = (Buffer::read(input), Buffer::write(output));
    Operation::new::<T>(Collective::Gather, known(counts), input, output).rooted(root)
}

fn known(counts: &[usize]) -> Counts {
    if counts.is_empty() {
        Counts::Own
    } else {
        Counts::Blocks(counts.to_vec())
    }
}

/// The `input` of rank `r` reaches every rank's `output` as block `r`.
pub fn allgather<'a, T: Element>(input: &'a [T], output: &'a mut [T]) -> Operation<'a> {
    let (input, output) = (Buffer::read(input), Buffer::write(output));
    Operation::new::<T>(Collective::Allgather, Counts::Block, input, output)
}

/// [`allgather`] where each rank's block already stands at its place in `buffer`.
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
pub fn all_to_all<'a, T: Element>(input: &'a [T], output: &'a mut [T]) -> Operation<'a> {
    let (input, output) = (Buffer::read(input), Buffer::write(output));
    Operation::new::<T>(Collective::Alltoall, Counts::Block, input, output)
}

/// [`all_to_all`] where the received blocks replace the sent ones.
pub fn all_to_all_in_place<T: Element>(buffer: &mut [T]) -> Operation<'_> {
    Operation::new::<T>(
        Collective::Alltoall,
        Counts::Block,
        Buffer::NONE,
        Buffer::write(buffer),
    )
    .in_place()
}

/// [`all_to_all`] with blocks of their own lengths: `send[d]` elements to rank `d`, `receive[s]` from rank `s`, packed in rank order.
pub fn all_to_all_v<'a, T: Element>(
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
pub fn allreduce<'a, T: Element, O: Operator<T>>(
    input: &'a [T],
    output: &'a mut [T],
    operator: &'a O,
) -> Operation<'a> {
    vector::<T, O>(Collective::Allreduce, input, output, operator)
}

/// [`allreduce`] where the result replaces the input.
pub fn allreduce_in_place<'a, T: Element, O: Operator<T>>(
    buffer: &'a mut [T],
    operator: &'a O,
) -> Operation<'a> {
    vector_in_place::<T, O>(Collective::Allreduce, buffer, operator)
}

/// Block `r` of the reduction of all inputs reaches the `output` of rank `r`.
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
pub fn scan<'a, T: Element, O: Operator<T>>(
    input: &'a [T],
    output: &'a mut [T],
    operator: &'a O,
) -> Operation<'a> {
    vector::<T, O>(Collective::Scan, input, output, operator)
}

/// [`scan`] where the result replaces the input.
pub fn scan_in_place<'a, T: Element, O: Operator<T>>(
    buffer: &'a mut [T],
    operator: &'a O,
) -> Operation<'a> {
    vector_in_place::<T, O>(Collective::Scan, buffer, operator)
}

/// Rank `r` gets the reduction of the inputs of ranks `0..r`; the output of rank 0 is left as it is.
pub fn exscan<'a, T: Element, O: Operator<T>>(
    input: &'a [T],
    output: &'a mut [T],
    operator: &'a O,
) -> Operation<'a> {
    vector::<T, O>(Collective::Exscan, input, output, operator)
}

/// [`exscan`] where the result replaces the input.
pub fn exscan_in_place<'a, T: Element, O: Operator<T>>(
    buffer: &'a mut [T],
    operator: &'a O,
) -> Operation<'a> {
    vector_in_place::<T, O>(Collective::Exscan, buffer, operator)
}

/// A call in place whose one buffer is input, output or both, as the rank's part in it says.
fn whole_in_place<T: Element>(
    collective: Collective,
    counts: Counts,
    buffer: &mut [T],
) -> Operation<'_> {
    let whole = Buffer::write(buffer);
    Operation::new::<T>(collective, counts, whole, whole).in_place()
}

fn vector<'a, T: Element, O: Operator<T>>(
    collective: Collective,
    input: &'a [T],
    output: &'a mut [T],
    operator: &'a O,
) -> Operation<'a> {
    let (input, output) = (Buffer::read(input), Buffer::write(output));
    Operation::new::<T>(collective, Counts::Vector, input, output).reducing::<T, O>(operator)
}

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
