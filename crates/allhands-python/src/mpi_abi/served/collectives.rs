//! Collectives by their MPI names.

use super::{Given, count, given};
use crate::element::Element;
use crate::interrupt;
use crate::job::{Counts, Form, Job, Side};
use crate::mpi_abi::handles::{IN_PLACE, Word, element, objects, operator};
use crate::mpi_abi::{Class, Wrong, code};
use crate::operator::Operator;
use std::ffi::c_int;

/// Makes a call.
///
/// # Safety
/// The sides are memory of so many elements that nobody else touches until this returns; the input is read alone, and is apart from the output, or
/// is the same, or says that the call is in place.
unsafe fn call(
    comm: Word,
    form: Form,
    (input, output): (Option<Given>, Option<Given>),
    (root, counts): (usize, Counts),
    operator: Option<Operator>,
) -> Result<(), Wrong> {
    let comm = objects().comm(comm)?;
    let is_same = |side: &Given| output.is_some_and(|output| side.0 == output.0 && side.1 > 0);
    let input = input.filter(|side| side.0.addr() != IN_PLACE && !is_same(side));
    let found = input.or(output).map(|side| side.2);
    // Types of one length may differ in name, as bytes and what they hold do.
    let element = found.unwrap_or(Element::U8);
    let side = |(start, elements, kind): Given| Side {
        start,
        elements: elements * kind.bytes() / element.bytes(),
    };
    let job = Job {
        root,
        counts,
        operator,
        ..Job::of_sides(form, element, input.map(side), output.map(side))
    };
    // SAFETY: the caller's promise.
    let operation = unsafe { job.operation() };
    let operation = operation.map_err(|wrong| {
        let says = format!("{} does not combine {}", wrong.0, wrong.1);
        Wrong::new(Class::Operator, says)
    })?;
    interrupt::begin();
    Ok(comm.lock().run(operation)?)
}

#[unsafe(no_mangle)]
pub extern "C" fn MPIABI_Barrier(comm: Word) -> c_int {
    // SAFETY: there is no memory.
    code(unsafe { call(comm, Form::Barrier, (None, None), (0, Counts::Equal), None) })
}

/// # Safety
/// As `MPI_Bcast`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn MPIABI_Bcast(
    buffer: *mut u8,
    elements: c_int,
    datatype: Word,
    root: c_int,
    comm: Word,
) -> c_int {
    let called = || {
        let says = || format!("the root is {root}: right would be a rank");
        let root = usize::try_from(root).map_err(|_| Wrong::new(Class::Root, says()))?;
        let output = given(buffer, elements, datatype)?;
        // SAFETY: MPI's promise.
        unsafe {
            call(
                comm,
                Form::Broadcast,
                (None, Some(output)),
                (root, Counts::Equal),
                None,
            )
        }
    };
    code(called())
}

/// # Safety
/// As `MPI_Allreduce`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn MPIABI_Allreduce(
    input: *const u8,
    output: *mut u8,
    elements: c_int,
    datatype: Word,
    op: Word,
    comm: Word,
) -> c_int {
    let called = || {
        let sides = (
            Some(given(input, elements, datatype)?),
            Some(given(output, elements, datatype)?),
        );
        let operator = Some(Operator::BuiltIn(operator(op)?));
        // SAFETY: MPI's promise.
        unsafe { call(comm, Form::Allreduce, sides, (0, Counts::Equal), operator) }
    };
    code(called())
}

/// # Safety
/// As `MPI_Allgather`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn MPIABI_Allgather(
    input: *const u8,
    input_elements: c_int,
    input_type: Word,
    output: *mut u8,
    output_elements: c_int,
    output_type: Word,
    comm: Word,
) -> c_int {
    let called = || {
        let size = objects().comm(comm)?.size();
        let (start, each, kind) = given(output, output_elements, output_type)?;
        let input = match input.addr() {
            IN_PLACE => None,
            _ => Some(given(input, input_elements, input_type)?),
        };
        let sides = (input, Some((start, each * size, kind)));
        // SAFETY: MPI's promise.
        unsafe { call(comm, Form::Allgather, sides, (0, Counts::Equal), None) }
    };
    code(called())
}

/// # Safety
/// As `MPI_Alltoall`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn MPIABI_Alltoall(
    input: *const u8,
    input_elements: c_int,
    input_type: Word,
    output: *mut u8,
    output_elements: c_int,
    output_type: Word,
    comm: Word,
) -> c_int {
    let called = || {
        let size = objects().comm(comm)?.size();
        let (start, each, kind) = given(output, output_elements, output_type)?;
        let source = match input.addr() {
            IN_PLACE => None,
            _ => {
                let (start, each, kind) = given(input, input_elements, input_type)?;
                Some((start, each * size, kind))
            }
        };
        let sides = (source, Some((start, each * size, kind)));
        // SAFETY: MPI's promise.
        unsafe { call(comm, Form::Alltoall, sides, (0, Counts::Equal), None) }
    };
    code(called())
}

/// # Safety
/// As `MPI_Reduce_scatter`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn MPIABI_Reduce_scatter(
    input: *const u8,
    output: *mut u8,
    counts: *const c_int,
    datatype: Word,
    op: Word,
    comm: Word,
) -> c_int {
    let called = || {
        let found = objects().comm(comm)?;
        // SAFETY: MPI's promise: one for each rank.
        let given = unsafe { std::slice::from_raw_parts(counts, found.size()) };
        let counts = given
            .iter()
            .map(|each| count(*each))
            .collect::<Result<Vec<usize>, Wrong>>()?;
        let own = counts[found.rank()];
        let counts = match counts.iter().all(|each| *each == own) {
            true => (Counts::Equal, own * found.size()),
            false => {
                let all = counts.iter().sum();
                (Counts::Blocks(counts), all)
            }
        };
        // SAFETY: MPI's promise.
        unsafe { reduce_scatter(comm, (input, output), counts, own, (datatype, op)) }
    };
    code(called())
}

/// # Safety
/// As `MPI_Reduce_scatter_block`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn MPIABI_Reduce_scatter_block(
    input: *const u8,
    output: *mut u8,
    elements: c_int,
    datatype: Word,
    op: Word,
    comm: Word,
) -> c_int {
    let called = || {
        let (own, size) = (count(elements)?, objects().comm(comm)?.size());
        // SAFETY: MPI's promise.
        unsafe {
            reduce_scatter(
                comm,
                (input, output),
                (Counts::Equal, own * size),
                own,
                (datatype, op),
            )
        }
    };
    code(called())
}

/// # Safety
/// As `MPI_Reduce_scatter`.
unsafe fn reduce_scatter(
    comm: Word,
    (input, output): (*const u8, *mut u8),
    (counts, all): (Counts, usize),
    own: usize,
    (datatype, op): (Word, Word),
) -> Result<(), Wrong> {
    let (kind, operator) = (element(datatype)?, Some(Operator::BuiltIn(operator(op)?)));
    if input.addr() != IN_PLACE && !std::ptr::eq(input, output) {
        let sides = (
            Some((input.cast_mut(), all, kind)),
            Some((output, own, kind)),
        );
        // SAFETY: the caller's promise.
        return unsafe { call(comm, Form::ReduceScatter, sides, (0, counts), operator) };
    }
    // MPI's result is at the start of what was the input; where ours is differs, and so it is copied.
    let mut block = vec![0u128; (own * kind.bytes()).div_ceil(16)];
    let sides = (
        Some((output, all, kind)),
        Some((block.as_mut_ptr().cast(), own, kind)),
    );
    // SAFETY: the caller's promise; the block has room for so many.
    unsafe {
        call(comm, Form::ReduceScatter, sides, (0, counts), operator)?;
        std::ptr::copy_nonoverlapping(block.as_ptr().cast::<u8>(), output, own * kind.bytes());
    }
    Ok(())
}
