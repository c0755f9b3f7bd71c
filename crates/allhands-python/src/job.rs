//! A job: a collective call with its types erased, which can wait and travel until it is made.

use crate::element::{Element, with_element};
use crate::operator::{BuiltIn, Operator};
use allhands::half::{bf16, f16};
use allhands::num_complex::Complex;
use allhands::operator as operators;
use allhands::{
    BitAnd, BitOr, BitXor, LogicalAnd, LogicalOr, LogicalXor, Max, Min, Operation, Product, Sum,
    operation,
};

/// One side of a call: where its elements are, and how many.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Side {
    pub(crate) start: *mut u8,
    pub(crate) elements: usize,
}

impl Side {
    /// No elements.
    pub(crate) const NONE: Side = Side {
        start: std::ptr::null_mut(),
        elements: 0,
    };

    /// The elements, to be read.
    ///
    /// # Safety
    /// They are there, aligned, and nobody writes them while the result lives.
    unsafe fn read<'a, T>(self) -> &'a [T] {
        match self.elements {
            0 => &[],
            // SAFETY: promised by the caller.
            elements => unsafe { std::slice::from_raw_parts(self.start.cast(), elements) },
        }
    }

    /// The elements, to be written.
    ///
    /// # Safety
    /// They are there, aligned, and nobody else touches them while the result lives.
    unsafe fn write<'a, T>(self) -> &'a mut [T] {
        match self.elements {
            0 => &mut [],
            // SAFETY: promised by the caller.
            elements => unsafe { std::slice::from_raw_parts_mut(self.start.cast(), elements) },
        }
    }
}

/// Which call it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Form {
    Barrier,
    Broadcast,
    Scatter,
    Gather,
    Allgather,
    Alltoall,
    Reduce,
    Allreduce,
    ReduceScatter,
    Scan,
    Exscan,
}

impl Form {
    /// By its number, as `allhands._types` has them.
    pub(crate) fn of_number(number: usize) -> Option<Form> {
        const ALL: [Form; 11] = [
            Form::Barrier,
            Form::Broadcast,
            Form::Scatter,
            Form::Gather,
            Form::Allgather,
            Form::Alltoall,
            Form::Reduce,
            Form::Allreduce,
            Form::ReduceScatter,
            Form::Scan,
            Form::Exscan,
        ];
        ALL.get(number).copied()
    }
}

/// How long blocks are, where they have lengths of their own.
#[derive(Clone, Debug, Default)]
pub(crate) enum Counts {
    #[default]
    Equal,
    /// Of each rank; empty where the root alone knows.
    Blocks(Vec<usize>),
    /// To each rank, and from each.
    Exchange(Vec<usize>, Vec<usize>),
}

/// A call.
pub(crate) struct Job {
    pub(crate) form: Form,
    pub(crate) element: Element,
    pub(crate) input: Side,
    pub(crate) output: Side,
    /// Whether the output has the input, too; of a scatter, or a reduce-scatter, in place the input is the whole.
    pub(crate) is_in_place: bool,
    pub(crate) root: usize,
    pub(crate) counts: Counts,
    pub(crate) operator: Option<Operator>,
    pub(crate) algorithm: Option<String>,
}

// SAFETY: who makes a job keeps its memory until the call has ended, on whatever thread that is.
unsafe impl Send for Job {}
// SAFETY: as above; a shared reference lets nobody touch the memory but the one call.
unsafe impl Sync for Job {}

/// An operator that does not combine elements of a type.
pub(crate) struct NoSuchOperator(pub(crate) &'static str, pub(crate) &'static str);

impl Job {
    /// A call of two sides: in place without the first one, where a form has an input that its output can have, too.
    pub(crate) fn of_sides(
        form: Form,
        element: Element,
        input: Option<Side>,
        output: Option<Side>,
    ) -> Job {
        let has_own = !matches!(form, Form::Broadcast | Form::Scatter | Form::Barrier);
        Job {
            form,
            element,
            input: input.unwrap_or(Side::NONE),
            output: output.unwrap_or(Side::NONE),
            is_in_place: input.is_none() && has_own,
            root: 0,
            counts: Counts::Equal,
            operator: None,
            algorithm: None,
        }
    }

    /// The operation.
    ///
    /// # Safety
    /// Both sides are memory of their elements, aligned for these, that nobody else touches while the operation, and the call that is made
    /// of it, last; they are apart.
    pub(crate) unsafe fn operation(&self) -> Result<Operation<'_>, NoSuchOperator> {
        // SAFETY: the caller's promise.
        let operation = unsafe {
            match &self.operator {
                None => with_element!(self.element, T => self.moves::<T>()),
                Some(Operator::BuiltIn(operator)) => {
                    let found = self.reduces_by(*operator);
                    found.ok_or(NoSuchOperator(operator.name(), self.element.name()))?
                }
                Some(Operator::Function(function)) => {
                    let (kernel, signature, is_commutative) = function.kernel();
                    let bytes = self.bytes();
                    let reduction = bytes.reduces::<u8, _>(&operators::BitOr);
                    reduction.combined_by(kernel, signature, is_commutative)
                }
            }
        };
        Ok(match &self.algorithm {
            Some(name) => operation.algorithm(name),
            None => operation,
        })
    }

    /// The same call of bytes, for operators that know by themselves how many each element has.
    fn bytes(&self) -> Bytes<'_> {
        Bytes {
            job: self,
            each: self.element.bytes(),
        }
    }

    /// # Safety
    /// As [`Job::operation`].
    unsafe fn moves<'a, T: allhands::element::Element>(&'a self) -> Operation<'a> {
        let root = self.root;
        // SAFETY: the caller's promise; of the two sides one is empty where they would be the same memory.
        let (input, output) = unsafe { (self.input.read::<T>(), self.output.write::<T>()) };
        match (self.form, self.is_in_place, &self.counts) {
            (Form::Broadcast, ..) => operation::broadcast(output, root),
            (Form::Scatter, true, _) => operation::scatter_in_place(output, root),
            (Form::Scatter, _, Counts::Blocks(counts)) => {
                operation::scatter_v(input, counts, output, root)
            }
            (Form::Scatter, ..) => operation::scatter(input, output, root),
            (Form::Gather, true, _) => operation::gather_in_place(output, root),
            (Form::Gather, _, Counts::Blocks(counts)) => {
                operation::gather_v(input, output, counts, root)
            }
            (Form::Gather, ..) => operation::gather(input, output, root),
            (Form::Allgather, true, _) => operation::allgather_in_place(output),
            (Form::Allgather, _, Counts::Blocks(counts)) => {
                operation::allgather_v(input, output, counts)
            }
            (Form::Allgather, ..) => operation::allgather(input, output),
            (Form::Alltoall, true, _) => operation::alltoall_in_place(output),
            (Form::Alltoall, _, Counts::Exchange(send, receive)) => {
                operation::alltoall_v(input, send, output, receive)
            }
            (Form::Alltoall, ..) => operation::alltoall(input, output),
            _ => operation::barrier(),
        }
    }

    /// # Safety
    /// As [`Job::operation`].
    unsafe fn reduces<'a, T, O>(&'a self, operator: &'a O) -> Operation<'a>
    where
        T: allhands::element::Element,
        O: operators::Operator<T>,
    {
        // SAFETY: the caller's promise; of the two sides one is empty where they would be the same memory.
        let (input, output) = unsafe { (self.input.read::<T>(), self.output.write::<T>()) };
        reduction(self, (input, output), operator)
    }

    /// # Safety
    /// As [`Job::operation`].
    unsafe fn reduces_by(&self, operator: BuiltIn) -> Option<Operation<'_>> {
        macro_rules! of {
            ($operator:expr, $T:ty: $($O:ident)*) => {
                match $operator {
                    // SAFETY: the caller's promise.
                    $(BuiltIn::$O => Some(unsafe { self.reduces::<$T, _>(&$O) }),)*
                    #[allow(unreachable_patterns, reason = "integers have all operators")]
                    _ => None,
                }
            };
        }
        macro_rules! integer {
            ($T:ty) => {
                of!(operator, $T: Sum Product Min Max BitAnd BitOr BitXor LogicalAnd LogicalOr LogicalXor)
            };
        }
        match self.element {
            Element::I8 => integer!(i8),
            Element::I16 => integer!(i16),
            Element::I32 => integer!(i32),
            Element::I64 => integer!(i64),
            Element::U8 => integer!(u8),
            Element::U16 => integer!(u16),
            Element::U32 => integer!(u32),
            Element::U64 => integer!(u64),
            Element::F16 => of!(operator, f16: Sum Product Min Max),
            Element::BF16 => of!(operator, bf16: Sum Product Min Max),
            Element::F32 => of!(operator, f32: Sum Product Min Max),
            Element::F64 => of!(operator, f64: Sum Product Min Max),
            Element::C64 => of!(operator, Complex<f32>: Sum Product),
            Element::C128 => of!(operator, Complex<f64>: Sum Product),
            Element::Bool => {
                of!(operator.of_truth_values(), u8: LogicalAnd LogicalOr LogicalXor)
            }
        }
    }
}

/// A call whose elements are taken for bytes.
struct Bytes<'a> {
    job: &'a Job,
    each: usize,
}

impl<'a> Bytes<'a> {
    /// # Safety
    /// As [`Job::operation`].
    unsafe fn reduces<T, O>(&self, operator: &'a O) -> Operation<'a>
    where
        T: allhands::element::Element,
        O: operators::Operator<T>,
    {
        let wide = |side: Side| Side {
            elements: side.elements * self.each,
            ..side
        };
        let (input, output) = (wide(self.job.input), wide(self.job.output));
        // SAFETY: the caller's promise: so many bytes.
        let sides = unsafe { (input.read::<T>(), output.write::<T>()) };
        reduction(self.job, sides, operator)
    }
}

/// A reduction of elements of one type. Counts are whole elements, which a function's kernel has of bytes.
fn reduction<'a, T, O>(
    job: &'a Job,
    (input, output): (&'a [T], &'a mut [T]),
    operator: &'a O,
) -> Operation<'a>
where
    T: allhands::element::Element,
    O: operators::Operator<T>,
{
    let root = job.root;
    match (job.form, job.is_in_place, &job.counts) {
        (Form::Reduce, true, _) => operation::reduce_in_place(output, operator, root),
        (Form::Reduce, ..) => operation::reduce(input, output, operator, root),
        (Form::ReduceScatter, true, _) => operation::reduce_scatter_in_place(output, operator),
        (Form::ReduceScatter, _, Counts::Blocks(counts)) => {
            let each = job.element.bytes() / size_of::<T>();
            let counts: Vec<usize> = counts.iter().map(|count| count * each).collect();
            operation::reduce_scatter_v(input, &counts, output, operator)
        }
        (Form::ReduceScatter, ..) => operation::reduce_scatter(input, output, operator),
        (Form::Scan, true, _) => operation::scan_in_place(output, operator),
        (Form::Scan, ..) => operation::scan(input, output, operator),
        (Form::Exscan, true, _) => operation::exscan_in_place(output, operator),
        (Form::Exscan, ..) => operation::exscan(input, output, operator),
        (_, true, _) => operation::allreduce_in_place(output, operator),
        (..) => operation::allreduce(input, output, operator),
    }
}
