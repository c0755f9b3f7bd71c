//! Collectives that combine: with an operator and a type that are the same on every rank.

use super::acceptance::ACCEPTANCE;
use super::elements::{Elements, Words};
use super::here::Here;
use super::local::Local;
use super::mistake::Side;
use super::{Given, Served};
use crate::abi::{Handle, Number, Operator as Named};
use crate::buffer::part::{Numbers, Part};
use crate::collective::kept::Kept;
use crate::context::call::Reason;
use crate::context::unserved::Unserved;
use crate::datatype::{Datatype, Likeness};
use allhands::element::Element;
use allhands::operator::Operator;
use allhands::{
    BitAnd, BitOr, BitXor, LogicalAnd, LogicalOr, LogicalXor, Max, MaxLoc, Min, MinLoc, Operation,
    Pair, Product, Sum, operation,
};
use num_complex::Complex;
use std::ffi::c_int;

/// What is done with the vectors.
#[derive(Clone, Copy)]
enum Form<'a> {
    Allreduce,
    AllreduceInPlace,
    Reduce(usize),
    /// Blocks of one length.
    Blocks,
    /// A block of so many elements for each rank.
    Uneven(&'a [usize]),
    Scan,
    Exscan,
}

/// Who combines the elements.
enum Way {
    /// A kernel of ours.
    Kernel(Number, Named),
    /// The MPI, with this operator, which is commutative or not.
    Local(Handle, bool),
}

impl Way {
    /// Who combines elements of a type with an operator; what the standard forbids is for the native MPI to complain of.
    fn of(here: &Here<'_>, datatype: &Datatype, operator: usize) -> Result<Way, Unserved> {
        let handle = here.abi.handle(operator);
        let Some(operator) = here.abi.operator(handle) else {
            return Way::users(here, datatype, handle);
        };
        let named = here.abi.named(datatype.handle);
        let named = named.filter(|named| operator.combines(named.class));
        if let Some(number) = named.and_then(|named| named.number(datatype.bytes)) {
            return Ok(Way::Kernel(number, operator));
        }
        let (library, abi) = (here.library, here.abi);
        let is_accepted = || ACCEPTANCE.of(library, abi, handle, datatype.handle);
        if datatype.is_predefined() && datatype.bytes > 0 && is_accepted() {
            return Ok(Way::Local(handle, true));
        }
        Err(Unserved::Pass(Reason::NoKernel))
    }

    fn users(here: &Here<'_>, datatype: &Datatype, handle: Handle) -> Result<Way, Unserved> {
        if !here.abi.is_users_operator(handle) {
            return Err(Unserved::Pass(Reason::Arguments));
        }
        if datatype.bytes == 0 {
            // What the user's function does with nothing is not ours to know.
            return Err(Unserved::Pass(Reason::NoKernel));
        }
        let mut is_commutative = 0;
        // SAFETY: asks about an operator that the caller of MPI handed in, with a number to write to.
        let error =
            unsafe { (here.library.native.op_commutative)(handle, &raw mut is_commutative) };
        match error {
            0 => Ok(Way::Local(handle, is_commutative != 0)),
            _ => Err(Unserved::Pass(Reason::Arguments)),
        }
    }
}

/// A reduction: elements as they are among ranks, input and output apart, aligned for their type.
pub(super) struct Job<'a> {
    form: Form<'a>,
    input: *const u8,
    inputs: usize,
    output: *mut u8,
    outputs: usize,
}

/// `MPI_Allreduce`, in place on all ranks or on none.
pub(crate) fn allreduce(here: &Here<'_>, send: *const u8, receive: Given, op: usize) -> Served {
    let in_place = here.abi.is_in_place(send);
    let form = if in_place {
        Form::AllreduceInPlace
    } else {
        Form::Allreduce
    };
    serve(here, form, send, receive, op)
}

/// `MPI_Reduce`. Only the root may reduce in place, and the others do not know, so its vector is then copied.
pub(crate) fn reduce(
    here: &Here<'_>,
    send: *const u8,
    receive: Given,
    op: usize,
    root: c_int,
) -> Served {
    let is_root = here.is_root(root)?;
    let receive = Given {
        // What stands there on other ranks means nothing.
        start: if is_root {
            receive.start
        } else {
            std::ptr::null()
        },
        ..receive
    };
    serve(here, Form::Reduce(root as usize), send, receive, op)
}

/// `MPI_Reduce_scatter_block`.
pub(crate) fn reduce_scatter_block(
    here: &Here<'_>,
    send: *const u8,
    receive: Given,
    op: usize,
) -> Served {
    serve(here, Form::Blocks, send, receive, op)
}

/// `MPI_Reduce_scatter`.
pub(crate) fn reduce_scatter(
    here: &Here<'_>,
    send: *const u8,
    (receive, counts): (*const u8, Numbers),
    datatype: usize,
    op: usize,
) -> Served {
    /// Counts that need no memory of their own.
    const FEW: usize = 16;
    let wrong = |_| Unserved::Pass(Reason::Arguments);
    let (mut few, mut many) = ([0; FEW], Vec::new());
    let all: &mut [usize] = match here.size {
        size @ ..=FEW => &mut few[..size],
        size => {
            many.resize(size, 0);
            &mut many
        }
    };
    for (rank, count) in all.iter_mut().enumerate() {
        *count = usize::try_from(counts.at(rank)?).map_err(wrong)?;
    }
    let counts = &*all;
    let receive = Given {
        start: receive,
        count: counts[here.rank] as i64,
        datatype,
    };
    serve(here, Form::Uneven(counts), send, receive, op)
}

/// `MPI_Scan`.
pub(crate) fn scan(here: &Here<'_>, send: *const u8, receive: Given, op: usize) -> Served {
    serve(here, Form::Scan, send, receive, op)
}

/// `MPI_Exscan`.
pub(crate) fn exscan(here: &Here<'_>, send: *const u8, receive: Given, op: usize) -> Served {
    serve(here, Form::Exscan, send, receive, op)
}

fn serve(here: &Here<'_>, form: Form<'_>, send: *const u8, receive: Given, op: usize) -> Served {
    let datatype = Side::Send.datatype(here, receive.datatype)?;
    let way = Way::of(here, &datatype, op)?;
    let wrong = || Unserved::Pass(Reason::Arguments);
    let count = usize::try_from(receive.count).map_err(|_| wrong())?;
    let inputs = match form {
        Form::Blocks => count.checked_mul(here.size).ok_or_else(wrong)?,
        Form::Uneven(counts) => counts.iter().sum(),
        _ => count,
    };
    let outputs = match form {
        Form::Reduce(root) if root != here.rank => 0,
        _ => count,
    };
    let in_place = here.abi.is_in_place(send);
    let from = if in_place { receive.start } else { send };
    here.is_a_place(receive.start, outputs as i64)?;
    if in_place && matches!(form, Form::Reduce(root) if root != here.rank) {
        here.is_a_place(send, count as i64)?;
    }
    // That buffers are there, and their bytes are a number, is checked where parts are made.
    let bytes = Part::new(from, inputs as i64, datatype.clone())?.bytes();
    let output = Part::new(receive.start, outputs as i64, datatype.clone())?;
    if !in_place && output.begins_at(from) && inputs > 0 {
        here.mind_aliases()?;
    }
    let elements = Elements::of(&datatype);
    let sides = Sides {
        form,
        from: from.cast_mut(),
        inputs,
        to: receive.start.cast_mut(),
        outputs,
    };
    if here.is_begun_only() && (matches!(way, Way::Local(..)) || elements.together().is_none()) {
        // The user may free operator and type before the end.
        return Err(Unserved::Pass(Reason::Combined));
    }
    match way {
        Way::Kernel(number, operator) => {
            here.look(&[output], Likeness::of_number(number))?;
            sides.run(here, &elements, |job| job.combine(here, number, operator))?;
        }
        Way::Local(operator, is_commutative) => {
            let named = here.abi.operator(operator);
            here.look(&[output], datatype.likeness(here.abi, named.is_none()))?;
            let local = Local::new(here, &elements, operator, is_commutative);
            let name = named.map_or("the user's", Named::name);
            sides.run(here, &elements, |job| local.run(job, name))?;
        }
    }
    Ok(bytes)
}

/// The two sides of a reduction, as the user has them.
struct Sides<'a> {
    form: Form<'a>,
    from: *mut u8,
    inputs: usize,
    to: *mut u8,
    outputs: usize,
}

impl Sides<'_> {
    /// Runs a job where the user's elements are, or on copies.
    #[inline]
    fn run(
        &self,
        here: &Here<'_>,
        elements: &Elements<'_>,
        run: impl FnOnce(&Job<'_>) -> Result<(), Unserved>,
    ) -> Result<(), Unserved> {
        let stays = matches!(self.form, Form::AllreduceInPlace);
        // The result must not go where the input stands, unless the form says that it may.
        let is_free = self.from != self.to;
        let mut copy = Words::of(0);
        let input = match elements.direct(self.from) {
            _ if stays => std::ptr::null_mut(),
            Some(input) if is_free => input,
            _ => {
                copy = Words::of(self.inputs * elements.bytes);
                elements.read(here, self.from, self.inputs, &mut copy)?;
                copy.start()
            }
        };
        let mut stage = None;
        let output = match elements.direct(self.to) {
            Some(output) => output,
            None => {
                let stage = stage.insert(Words::of(self.outputs * elements.bytes));
                // The first rank's result of an exclusive scan is what was there.
                if stays || matches!(self.form, Form::Exscan) {
                    elements.read(here, self.to, self.outputs, stage)?;
                }
                stage.start()
            }
        };
        run(&Job {
            form: self.form,
            input,
            inputs: self.inputs,
            output,
            outputs: self.outputs,
        })?;
        if here.is_begun_only() {
            here.keep(Kept::elements(
                elements,
                copy,
                stage,
                (self.to, self.outputs),
            ));
            return Ok(());
        }
        if let Some(mut stage) = stage {
            elements.write(here, &mut stage, self.to, self.outputs)?;
        }
        drop(copy);
        Ok(())
    }
}

/// Runs a job with the operator's own type, where it serves the elements.
macro_rules! with {
    ($job:ident, $here:ident, $operator:ident, $type:ty: $($name:ident)*) => {
        match $operator {
            $(Named::$name => $job.run::<$type, _>($here, &$name),)*
            #[allow(unreachable_patterns)]
            _ => Err(Unserved::Pass(Reason::NoKernel)),
        }
    };
}

impl Job<'_> {
    fn combine(&self, here: &Here<'_>, number: Number, op: Named) -> Result<(), Unserved> {
        macro_rules! integer {
            ($type:ty) => {
                with!(self, here, op, $type: Max Min Sum Product LogicalAnd BitAnd LogicalOr BitOr LogicalXor BitXor)
            };
        }
        match number {
            Number::I8 => integer!(i8),
            Number::I16 => integer!(i16),
            Number::I32 => integer!(i32),
            Number::I64 => integer!(i64),
            Number::U8 => integer!(u8),
            Number::U16 => integer!(u16),
            Number::U32 => integer!(u32),
            Number::U64 => integer!(u64),
            Number::F32 => with!(self, here, op, f32: Max Min Sum Product),
            Number::F64 => with!(self, here, op, f64: Max Min Sum Product),
            Number::C32 => with!(self, here, op, Complex<f32>: Sum Product),
            Number::C64 => with!(self, here, op, Complex<f64>: Sum Product),
            Number::FloatInt => with!(self, here, op, Pair<f32, i32>: MaxLoc MinLoc),
            Number::TwoInt => with!(self, here, op, Pair<i32, i32>: MaxLoc MinLoc),
        }
    }

    fn run<T: Element, O: Operator<T>>(
        &self,
        here: &Here<'_>,
        op: &'static O,
    ) -> Result<(), Unserved> {
        here.run(self.operation::<T, O>(op, 1))
    }

    /// The operation on elements that are each so many of the kernel's.
    #[inline]
    pub(super) fn operation<'b, T: Element, O: Operator<T>>(
        &self,
        op: &'b O,
        unit: usize,
    ) -> Operation<'b> {
        let whole = |start: *const u8, elements: usize| -> (*const T, usize) {
            if elements == 0 {
                (std::ptr::NonNull::dangling().as_ptr(), 0)
            } else {
                (start.cast(), elements * unit)
            }
        };
        let (output, outputs) = whole(self.output, self.outputs);
        // SAFETY: so many elements that the user, who leaves them alone during the call, or `Sides::run` has room for;
        // aligned; apart from the input, but where there is none; every bit pattern is a value of the types in `combine`.
        let output = unsafe { std::slice::from_raw_parts_mut(output.cast_mut(), outputs) };
        if let Form::AllreduceInPlace = self.form {
            return operation::allreduce_in_place(output, op);
        }
        let (input, inputs) = whole(self.input, self.inputs);
        // SAFETY: as above.
        let input = unsafe { std::slice::from_raw_parts(input, inputs) };
        match self.form {
            Form::Allreduce | Form::AllreduceInPlace => operation::allreduce(input, output, op),
            Form::Reduce(root) => operation::reduce(input, output, op, root),
            Form::Blocks => operation::reduce_scatter(input, output, op),
            Form::Uneven(counts) if unit == 1 => {
                operation::reduce_scatter_v(input, counts, output, op)
            }
            Form::Uneven(counts) => {
                let counts: Vec<usize> = counts.iter().map(|count| count * unit).collect();
                operation::reduce_scatter_v(input, &counts, output, op)
            }
            Form::Scan => operation::scan(input, output, op),
            Form::Exscan => operation::exscan(input, output, op),
        }
    }
}
