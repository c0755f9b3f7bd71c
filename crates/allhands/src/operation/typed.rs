//! The typed call: buffers with their types erased, and the checks before they meet a plan.

use crate::element::{ArrivalCheck, Element, TypeSignature, arrival_check};
use crate::error::Error;
use crate::kernel::Kernel;
use crate::operator::{Operator, OperatorSignature};
use allhands_core::call::{Alias, Call, Collective};
use allhands_core::schedule::Layout;
use std::any::TypeId;
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
    pub(super) const NONE: Buffer = Buffer {
        start: std::ptr::null_mut(),
        elements: 0,
    };

    #[inline(always)]
    pub(super) fn read<T>(slice: &[T]) -> Buffer {
        Buffer {
            start: slice.as_ptr().cast_mut().cast(),
            elements: slice.len(),
        }
    }

    #[inline(always)]
    pub(super) fn write<T>(slice: &mut [T]) -> Buffer {
        Buffer {
            start: slice.as_mut_ptr().cast(),
            elements: slice.len(),
        }
    }
}

/// How long the blocks are, as this rank was told.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Counts {
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
    /// The type, as this process knows it.
    pub(crate) id: TypeId,
    /// What ranks compare, of elements of so many bytes; a function, as only a new plan asks for it.
    signature: fn(usize) -> TypeSignature,
    /// What arrived bytes must pass to be values; `None` where every bit pattern is one.
    pub(crate) check: Option<ArrivalCheck>,
}

impl ElementKind {
    #[inline(always)]
    fn of<T: Element>() -> ElementKind {
        ElementKind {
            bytes: size_of::<T>(),
            id: TypeId::of::<T>(),
            signature: |_| TypeSignature::of::<T>(),
            check: arrival_check::<T>(),
        }
    }

    /// Elements of so many bytes that have no type here.
    fn opaque(bytes: usize) -> ElementKind {
        /// What stands for their types.
        struct Opaque;
        ElementKind {
            bytes,
            id: TypeId::of::<Opaque>(),
            signature: TypeSignature::opaque,
            check: None,
        }
    }

    /// What ranks compare.
    pub(crate) fn signature(&self) -> TypeSignature {
        (self.signature)(self.bytes)
    }
}

/// How contributions are combined.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Reduction<'a> {
    pub(crate) kernel: Kernel<'a>,
    pub(crate) signature: OperatorSignature,
    pub(crate) commutative: bool,
}

/// What two calls of one rank have in common that one plan serves, besides the lengths of irregular blocks and the
/// algorithm's name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct CallShape {
    pub(crate) collective: Collective,
    in_place: bool,
    commutative: bool,
    root: usize,
    input: usize,
    output: usize,
    element: TypeId,
    element_bytes: usize,
    operator: u32,
}

impl CallShape {
    /// A number that shapes which differ mostly differ in.
    #[inline]
    pub(crate) fn digest(&self) -> u32 {
        let kind = (self.collective as usize) << 8 | usize::from(self.in_place);
        let words = [kind, self.root, self.input, self.output, self.element_bytes];
        let mixed = words.iter().fold(self.operator as usize, |mixed, word| {
            (mixed ^ word)
                .wrapping_mul(0x9e37_79b9_7f4a_7c15)
                .rotate_left(29)
        });
        mixed as u32
    }
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
    #[inline(always)]
    pub(super) fn new<T: Element>(
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

    #[inline(always)]
    pub(super) fn rooted(self, root: usize) -> Operation<'a> {
        Operation { root, ..self }
    }

    #[inline(always)]
    pub(super) fn in_place(self) -> Operation<'a> {
        Operation {
            in_place: true,
            ..self
        }
    }

    #[inline(always)]
    pub(super) fn reducing<T: Element, O: Operator<T>>(self, operator: &'a O) -> Operation<'a> {
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

    /// A reduction of bytes as one of elements that have no type here: `kernel` says how many bytes each has, and combines
    /// them; lengths that were given in bytes are whole elements.
    ///
    /// It is for reductions on behalf of another library, whose types and operators are known while the program runs.
    ///
    /// ```
    /// use allhands::{BitOr, kernel::Kernel, operation, operator::OperatorSignature, threads};
    ///
    /// /// The longer of two words of three letters that end with spaces; of words of one length the left one.
    /// unsafe fn longer(_: *const (), left: *const u8, right: *const u8, out: *mut u8, words: usize) {
    ///     for word in 0..words {
    ///         // SAFETY: the caller has so many words.
    ///         unsafe {
    ///             let (left, right) = (left.add(3 * word).cast(), right.add(3 * word).cast());
    ///             let letters = |word: *const [u8; 3]| word.read().iter().filter(|c| **c != b' ').count();
    ///             let longer = if letters(left) >= letters(right) { left } else { right };
    ///             out.add(3 * word).cast::<[u8; 3]>().write(longer.read());
    ///         }
    ///     }
    /// }
    ///
    /// let words = threads::run(3, |comm| {
    ///     let (mine, mut longest) = ([b"a  ", b"bc ", b"de "][comm.rank()], [0; 3]);
    ///     // SAFETY: `longer` reads and writes so many elements of three bytes.
    ///     let kernel = unsafe { Kernel::from_raw_parts(3, longer, std::ptr::null()) };
    ///     let signature = OperatorSignature::user("longer", false);
    ///     let reduction = operation::allreduce(mine, &mut longest, &BitOr);
    ///     comm.run(reduction.combined_by(kernel, signature, false)).map(|()| longest)
    /// })?;
    /// assert_eq!(words[2].as_ref().unwrap(), b"bc ");
    /// # Ok::<(), allhands::Error>(())
    /// ```
    pub fn combined_by(
        mut self,
        kernel: Kernel<'a>,
        signature: OperatorSignature,
        commutative: bool,
    ) -> Operation<'a> {
        let bytes = kernel.element_bytes();
        // What has another type than bytes has as many.
        let elements = |length: usize| length * self.element.bytes / bytes.max(1);
        self.input.elements = elements(self.input.elements);
        self.output.elements = elements(self.output.elements);
        if let Counts::Blocks(counts) = &mut self.counts {
            counts
                .iter_mut()
                .for_each(|count| *count = elements(*count));
        }
        Operation {
            element: ElementKind::opaque(bytes),
            reduction: Some(Reduction {
                kernel,
                signature,
                commutative,
            }),
            ..self
        }
    }

    /// What decides which plan serves this call, where blocks have no lengths of their own and no algorithm is named.
    #[inline(always)]
    pub(crate) fn shape(&self) -> CallShape {
        let (operator, commutative) = match &self.reduction {
            Some(reduction) => (reduction.signature.code(), reduction.commutative),
            None => (0, true),
        };
        CallShape {
            collective: self.collective,
            in_place: self.in_place,
            commutative,
            root: self.root,
            input: self.input.elements,
            output: self.output.elements,
            element: self.element.id,
            element_bytes: self.element.bytes,
            operator,
        }
    }

    /// The lengths of blocks, where they have lengths of their own, as this rank was told.
    #[inline(always)]
    pub(crate) fn lengths(&self) -> Option<&Counts> {
        match &self.counts {
            Counts::Vector | Counts::Block => None,
            lengths => Some(lengths),
        }
    }

    /// Whether blocks have lengths of their own.
    pub(crate) fn irregular(&self) -> bool {
        self.lengths().is_some()
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
        // A sum that wraps could be the length of a buffer.
        let total = |blocks: u32, unit: &dyn Fn(u32) -> u64| -> usize {
            (0..blocks)
                .map(|b| layout.elements(unit(b), blocks.max(1), 1).unwrap_or(0))
                .fold(0, usize::saturating_add)
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
            let inner = match call.alias(rank, 1) {
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
                _ if is_input => total(blocks, &|b| call.input_unit(rank, b, 1)),
                _ => total(blocks, &|b| call.output_unit(rank, b, 1)),
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
