//! The entry points: the names that a program calls instead of its MPI's.
//!
//! It owns the symbols that the dynamic linker finds before the MPI's, in C, with large counts and in Fortran, all from one table
//! of calls, and their profiling names. Programs and tools call it, and nothing of this crate does. It never holds a lock or keeps
//! anything where the native MPI is called, as that may leave by `longjmp`.

mod c;
mod fortran;
mod profiling;
mod session;
mod table;
mod through;
mod waitall;

use profiling::twins;

use crate::abi::Handle;
use crate::buffer::part::Numbers;
use crate::collective::{Given, Lists, Types};
use crate::context::library::{Library, NO_MPI};
use crate::dispatch::lifetime;
use crate::report::counts::REPORT;
use std::ffi::{c_int, c_void};

type In = *const u8;
type Out = *mut u8;

fn given(start: In, count: i64, datatype: Handle) -> Given {
    Given {
        start,
        count,
        datatype,
    }
}

fn lists(start: In, counts: Numbers, displacements: Numbers, types: Types) -> Lists {
    Lists {
        start,
        counts,
        displacements,
        types,
    }
}

/// Begins, by the function that a name goes on to, and brings the ranks that share a node together; once, as a tool behind this
/// library calls `PMPI_Init` in between.
fn begin(call: impl FnOnce(&Library) -> c_int) -> c_int {
    let Some(library) = Library::get() else {
        return NO_MPI;
    };
    let code = call(library);
    if code == 0 {
        lifetime::begin(library);
    }
    code
}

/// Ends by the function that a name goes on to; in it, or before it, the report is written and all memory that ranks share is given
/// back.
fn end(call: impl FnOnce(&Library) -> c_int) -> c_int {
    let Some(library) = Library::get() else {
        return NO_MPI;
    };
    lifetime::before_finalize(library);
    call(library)
}

twins! {
    /// `MPI_Init`, after which the ranks that share a node are brought together.
    MPI_Init PMPI_Init (argc: *mut c_int, argv: *mut c_void) = begin() of init
}

twins! {
    /// `MPI_Init_thread`, after which the ranks that share a node are brought together.
    MPI_Init_thread PMPI_Init_thread (
        argc: *mut c_int,
        argv: *mut c_void,
        required: c_int,
        provided: *mut c_int
    ) = begin() of init_thread
}

twins! {
    /// `MPI_Finalize`, in which, or before which, the report is written and all memory that ranks share is given back.
    MPI_Finalize PMPI_Finalize () = end() of finalize
}

/// `MPI_Abort`, before which the report is written.
///
/// # Safety
/// As the standard says of the call.
#[unsafe(no_mangle)]
#[allow(non_snake_case)]
pub unsafe extern "C" fn MPI_Abort(comm: Handle, code: c_int) -> c_int {
    let Some(library) = Library::get() else {
        return NO_MPI;
    };
    REPORT.write("MPI_Abort", true);
    // SAFETY: the caller's arguments, as they came.
    unsafe { (library.native.abort)(comm, code) }
}
