//! Collectives that combine: predefined operators on predefined types, which are the same on every rank.

use super::{Given, Served};
use crate::abi::{Number, Operator as Named};
use crate::buffer::{Datatype, Numbers, Part};
use crate::takeover::{Here, Reason, Unserved};
use allhands::element::Element;
use allhands::operator::Operator;
use allhands::{
    BitAnd, BitOr, BitXor, LogicalAnd, LogicalOr, LogicalXor, Max, MaxLoc, Min, MinLoc, Pair,
    Product, Sum, operation,
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

/// A reduction whose types are known: aligned memory of whole elements, input and output apart.
struct Job<'a> {
    form: Form<'a>,
    input: *const u8,
    input_elements: usize,
    output: *mut u8,
    output_elements: usize,
}

/// The number that a reduction combines, its bytes, and the operator; a reason where there is no kernel.
fn kernel(
    here: &Here<'_>,
    datatype: usize,
    operator: usize,
) -> Result<(Number, usize, Named), Unserved> {
    let operator = here.abi.operator(here.abi.handle(operator));
    let operator = operator.ok_or(Unserved::Pass(Reason::UserOperator))?;
    let none = Unserved::Pass(Reason::NoKernel);
    let Some(named) = here.abi.named(here.abi.handle(datatype)) else {
        return Err(none);
    };
    let bytes = Datatype::of(here, datatype)?.bytes;
    match named.number(bytes) {
        Some(number) if operator.serves(named.class, number) => Ok((number, bytes, operator)),
        _ => Err(none),
    }
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
    let wrong = |_| Unserved::Pass(Reason::Arguments);
    let each = |rank| {
        counts
            .at(rank)
            .and_then(|n| usize::try_from(n).map_err(wrong))
    };
    let counts: Vec<usize> = (0..here.size).map(each).collect::<Result<_, _>>()?;
    let receive = Given {
        start: receive,
        count: counts[here.rank] as i64,
        datatype,
    };
    serve(here, Form::Uneven(&counts), send, receive, op)
}

/// `MPI_Scan`.
pub(crate) fn scan(here: &Here<'_>, send: *const u8, receive: Given, op: usize) -> Served {
    serve(here, Form::Scan, send, receive, op)
}

/// `MPI_Exscan`.
pub(crate) fn exscan(here: &Here<'_>, send: *const u8, receive: Given, op: usize) -> Served {
    serve(here, Form::Exscan, send, receive, op)
}

/// Memory of whole words, which every number that we combine is aligned in.
fn words(bytes: usize) -> Vec<u64> {
    vec![0; bytes.div_ceil(size_of::<u64>())]
}

fn serve(here: &Here<'_>, form: Form<'_>, send: *const u8, receive: Given, op: usize) -> Served {
    let (number, bytes, operator) = kernel(here, receive.datatype, op)?;
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
    let (from, to) = (
        if in_place { receive.start } else { send },
        receive.start.cast_mut(),
    );
    let is_missing = |start: *const u8, elements: usize| start.is_null() && elements > 0;
    inputs.checked_mul(bytes).ok_or_else(wrong)?;
    if is_missing(from, inputs) || is_missing(to, outputs) {
        return Err(wrong());
    }
    let datatype = Datatype::of(here, receive.datatype)?;
    here.look(&[Part::new(to, outputs as i64, datatype)?], Some(number))?;
    let is_aligned = |start: *const u8| (start as usize).is_multiple_of(bytes.min(8));
    // The result must not go where the input stands, unless the form says that it may.
    let keeps = from == to.cast_const();
    let mut copy = Vec::new();
    let input = if (keeps || !is_aligned(from)) && !matches!(form, Form::AllreduceInPlace) {
        copy = words(inputs * bytes);
        // SAFETY: the user's elements are there, and there is as much room.
        unsafe { std::ptr::copy_nonoverlapping(from, copy.as_mut_ptr().cast(), inputs * bytes) };
        copy.as_ptr().cast()
    } else {
        from
    };
    let mut stage = Vec::new();
    let output = if is_aligned(to) {
        to
    } else {
        stage = words(outputs * bytes);
        let start = stage.as_mut_ptr().cast::<u8>();
        // Also what the call leaves as it is: rank 0's result of an exclusive scan.
        // SAFETY: the user has so many bytes there, and there is as much room.
        unsafe { std::ptr::copy_nonoverlapping(to, start, outputs * bytes) };
        start
    };
    let job = Job {
        form,
        input,
        input_elements: inputs,
        output,
        output_elements: outputs,
    };
    job.combine(here, number, operator)?;
    if !stage.is_empty() {
        // SAFETY: the user has room for the result, which is in the stage.
        unsafe { std::ptr::copy_nonoverlapping(stage.as_ptr().cast(), to, outputs * bytes) };
    }
    drop(copy);
    Ok(inputs * bytes)
}

/// Runs a job with the operator's own type, where it serves the elements.
macro_rules! with {
    ($job:ident, $here:ident, $operator:ident, $type:ty: $($name:ident)*) => {
        match $operator {
            $(Named::$name => $job.run::<$type, _>($here, $name),)*
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

    fn run<T: Element, O: Operator<T>>(&self, here: &Here<'_>, op: O) -> Result<(), Unserved> {
        let whole = |start: *const u8, elements: usize| -> *const T {
            if elements == 0 {
                std::ptr::NonNull::dangling().as_ptr()
            } else {
                start.cast()
            }
        };
        let output = whole(self.output, self.output_elements).cast_mut();
        // SAFETY: so many elements that the user, who leaves them alone during the call, or `serve` has room for; aligned;
        // apart from the input, but where there is none; every bit pattern is a value of the types in `combine`.
        let output = unsafe { std::slice::from_raw_parts_mut(output, self.output_elements) };
        if let Form::AllreduceInPlace = self.form {
            return here.run(operation::allreduce_in_place(output, &op));
        }
        let input = whole(self.input, self.input_elements);
        // SAFETY: as above.
        let input = unsafe { std::slice::from_raw_parts(input, self.input_elements) };
        here.run(match self.form {
            Form::Allreduce | Form::AllreduceInPlace => operation::allreduce(input, output, &op),
            Form::Reduce(root) => operation::reduce(input, output, &op, root),
            Form::Blocks => operation::reduce_scatter(input, output, &op),
            Form::Uneven(counts) => operation::reduce_scatter_v(input, counts, output, &op),
            Form::Scan => operation::scan(input, output, &op),
            Form::Exscan => operation::exscan(input, output, &op),
        })
    }
}
