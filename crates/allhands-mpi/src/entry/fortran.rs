//! The Fortran entry points, for MPIs whose Fortran does not come through the C names.
//!
//! Every call has the names that compilers make of `MPI_X` (mpif.h, and the module `mpi`), and the one by which Open MPI's module
//! `mpi_f08` calls what serves mpif.h. All arguments are addresses, handles are numbers, and the error code comes last. Where the
//! MPI's Fortran does call the C names, the call is handed on as it came, and is seen there; what has no buffer in MPICH's `mpi_f08`
//! does not.

use super::profiling::ARE_SERVED;
use super::table::table;
use super::{In, Out, given, lists};
use crate::abi::{Family, Fortran, Handles};
use crate::buffer::part::Numbers;
use crate::collective::{self, Types};
use crate::context::call::Call;
use crate::context::library::{Library, NO_MPI};
use crate::dispatch::call_cache::Asked;
use crate::dispatch::lifetime;
use crate::dispatch::nonblocking::{self, Place};
use crate::dispatch::takeover::{Passed, take};
use crate::native::object::Next;
use crate::report::counts::REPORT;
use std::ffi::{CStr, c_int, c_void};

/// An argument that is a number: a count, a rank, or a handle.
type Number = *const c_int;

/// The type of an argument.
macro_rules! argument {
    (send) => {
        In
    };
    (receive) => {
        Out
    };
    ($number:ident) => {
        Number
    };
}

/// An argument as the collectives take it.
macro_rules! converted {
    ($fortran:ident send $value:ident) => {
        $fortran.address($value)
    };
    ($fortran:ident receive $value:ident) => {
        $fortran.address($value.cast_const())
    };
    ($fortran:ident count $value:ident) => {
        i64::from(number($value))
    };
    ($fortran:ident rank $value:ident) => {
        number($value)
    };
    ($fortran:ident list $value:ident) => {
        Numbers::Int($value)
    };
    ($fortran:ident types $value:ident) => {
        Handles::Fortran($value)
    };
    ($fortran:ident datatype $value:ident) => {
        $fortran.datatype(number($value))
    };
    ($fortran:ident op $value:ident) => {
        $fortran.operator(number($value))
    };
    ($fortran:ident comm $value:ident) => {
        $fortran.communicator(number($value))
    };
}

/// The number at an address that Fortran hands in.
fn number(address: Number) -> c_int {
    // SAFETY: Fortran hands in the address of a number that lives as long as the call.
    unsafe { address.read() }
}

/// Stores an error code where Fortran wants it; in `mpi_f08` it may be left out.
///
/// # Safety
/// The address is null, or that of a number that nobody else uses now.
unsafe fn store(code: c_int, into: *mut c_int) {
    if !into.is_null() {
        // SAFETY: the caller's promise.
        unsafe { into.write(code) };
    }
}

/// The name of a function as the linker wants it.
macro_rules! name {
    ($name:ident) => {
        match CStr::from_bytes_with_nul(concat!(stringify!($name), "\0").as_bytes()) {
            Ok(name) => name,
            Err(_) => panic!("a name holds no zero"),
        }
    };
}

/// Declares, for a function here, the entry points that call it with the next function of their own name.
macro_rules! names {
    ($inner:ident [] $arguments:tt) => {};
    ($inner:ident [$first:ident $($rest:ident)*] ($($name:ident: $type:ty),* $(,)?)) => {
        #[doc = concat!("`", stringify!($first), "`, of Fortran.")]
        ///
        /// # Safety
        /// As the standard says of the call.
        #[unsafe(no_mangle)]
        #[allow(non_snake_case)]
        pub unsafe extern "C-unwind" fn $first($($name: $type,)* error: *mut c_int) {
            static NEXT: Next = Next::new(const { name!($first) });
            // SAFETY: the caller's arguments, as they came.
            unsafe { $inner(&NEXT, $($name,)* error) };
        }
        names!($inner [$($rest)*] ($($name: $type),*));
    };
}

/// The native function of a name as one that takes these arguments and an error code.
macro_rules! native {
    ($next:ident ($($type:ty),* $(,)?)) => {
        $next.get().map(|address: *mut c_void| {
            // SAFETY: what Fortran calls by this name takes these arguments.
            unsafe {
                std::mem::transmute::<*mut c_void, unsafe extern "C-unwind" fn($($type,)* *mut c_int)>(address)
            }
        })
    };
}

/// Serves a call, blocking or not, or hands it to the native MPI.
macro_rules! served {
    ([] $call:ident $comm:ident ($($kind:ident $value:expr),*) $serve:expr, $native:expr) => {
        take(Asked::new(Call::$call)$(.$kind($value))*, $comm, $serve, $native)
    };
    ([$request:ident] $call:ident $comm:ident $values:tt $serve:expr, $native:expr) => {
        nonblocking::take(Call::$call, $comm, Place::Fortran($request), $serve, $native)
    };
}

/// Declares the entry points of calls, each blocking and not.
macro_rules! entries {
    ($(
        $call:ident: $small:ident $native:ident $large:tt $fortran:tt,
        $begun:ident: $begun_small:ident $begun_native:ident $begun_large:tt $begun_fortran:tt,
        $arguments:tt => |$here:ident| $serve:expr;
    )*) => {$(
        entries!(@inner [] $call $native $arguments $here $serve);
        entries!(@names $native $fortran $arguments);
        entries!(@inner [request] $begun $begun_native $arguments $here $serve);
        entries!(@begun_names $begun_native $begun_fortran $arguments);
    )*};
    (@names $native:ident $names:tt ($($name:ident: $kind:ident),*)) => {
        names!($native $names ($($name: argument!($kind)),*));
    };
    (@begun_names $native:ident $names:tt ($($name:ident: $kind:ident),*)) => {
        names!($native $names ($($name: argument!($kind),)* request: *mut c_int));
    };
    (@inner [$($request:ident)?] $call:ident $native:ident
        ($($name:ident: $kind:ident),*) $here:ident $serve:expr) => {
        /// Takes a call over, or hands it to the next function of the name that it came by.
        ///
        /// # Safety
        /// As the standard says of the call.
        // As many as the call has.
        #[allow(clippy::too_many_arguments)]
        unsafe fn $native(
            next: &Next,
            $($name: argument!($kind),)*
            $($request: *mut c_int,)?
            error: *mut c_int,
        ) {
            let native = native!(next ($(argument!($kind),)* $(request_type!($request))?));
            let Some(fortran) = direct() else {
                match native {
                    // SAFETY: the caller's arguments, as they came.
                    Some(native) => unsafe { native($($name,)* $($request,)? error) },
                    // SAFETY: the caller's own.
                    None => unsafe { store(NO_MPI, error) },
                }
                return;
            };
            let comm = fortran.communicator(number(entries!(@comm $($name)*)));
            let code = served!(
                [$($request)?] $call comm ($($kind converted!(fortran $kind $name)),*)
                |$here| {
                    $(#[allow(unused_variables)] let $name = converted!(fortran $kind $name);)*
                    $serve
                },
                |_: &Library| {
                    let mut code = NO_MPI;
                    if let Some(native) = native {
                        // SAFETY: the caller's arguments, as they came, and a number to write to.
                        unsafe { native($($name,)* $($request,)? &raw mut code) };
                    }
                    passed(code)
                }
            );
            // SAFETY: the caller's own.
            unsafe { store(code, error) };
        }
    };
    // The communicator is the last argument of every call.
    (@comm $only:ident) => { $only };
    (@comm $first:ident $($rest:ident)+) => { entries!(@comm $($rest)+) };
}

/// A call that was handed on with this code: the MPI's Fortran calls the profiling name of C.
fn passed(code: c_int) -> Passed {
    Passed {
        code,
        came_again: ARE_SERVED,
    }
}

/// The type of a request's place.
macro_rules! request_type {
    ($request:ident) => {
        *mut c_int
    };
}

/// What is known of the Fortran of an MPI whose Fortran passes the C names by.
fn direct() -> Option<&'static Fortran> {
    Library::get()?.abi.as_ref()?.fortran.as_ref()
}

table!(entries);

/// `MPI_Barrier` of `mpi_f08`, which in MPICH, unlike calls with buffers, passes the C name by.
///
/// # Safety
/// As the standard says of the call.
unsafe fn barrier_f08(next: &Next, comm: Number, error: *mut c_int) {
    let abi = Library::get().and_then(|library| library.abi.as_ref());
    let native = native!(next(Number));
    if abi.is_some_and(|abi| abi.family == Family::Mpich) {
        // Handles are the same numbers in both languages.
        let (handle, comm) = (comm, number(comm) as usize);
        let code = take(Asked::new(Call::Barrier), comm, collective::barrier, |_| {
            let mut code = NO_MPI;
            if let Some(native) = native {
                // SAFETY: the caller's arguments, as they came, and a number to write to.
                unsafe { native(handle, &raw mut code) };
            }
            passed(code)
        });
        // SAFETY: the caller's own.
        unsafe { store(code, error) };
    } else if let Some(native) = native {
        // SAFETY: the caller's arguments, as they came.
        unsafe { native(comm, error) };
    } else {
        // SAFETY: the caller's own.
        unsafe { store(NO_MPI, error) };
    }
}

names!(barrier_f08 [mpi_barrier_f08_] (comm: Number));

/// `MPI_Ibarrier` of `mpi_f08`, of which the same is true.
///
/// # Safety
/// As the standard says of the call.
unsafe fn ibarrier_f08(next: &Next, comm: Number, request: *mut c_int, error: *mut c_int) {
    let abi = Library::get().and_then(|library| library.abi.as_ref());
    let native = native!(next(Number, *mut c_int));
    if abi.is_some_and(|abi| abi.family == Family::Mpich) {
        // Handles are the same numbers in both languages.
        let (handle, comm) = (comm, number(comm) as usize);
        let code = nonblocking::take(
            Call::Ibarrier,
            comm,
            Place::C(request.cast()),
            collective::barrier,
            |_| {
                let mut code = NO_MPI;
                if let Some(native) = native {
                    // SAFETY: the caller's arguments, as they came, and a number to write to.
                    unsafe { native(handle, request, &raw mut code) };
                }
                passed(code)
            },
        );
        // SAFETY: the caller's own.
        unsafe { store(code, error) };
    } else if let Some(native) = native {
        // SAFETY: the caller's arguments, as they came.
        unsafe { native(comm, request, error) };
    } else {
        // SAFETY: the caller's own.
        unsafe { store(NO_MPI, error) };
    }
}

names!(ibarrier_f08 [mpi_ibarrier_f08_] (comm: Number, request: *mut c_int));

/// `MPI_Waitall` of `mpi_f08`, of which the same is true.
///
/// # Safety
/// As the standard says of the call.
unsafe fn waitall_f08(
    next: &Next,
    count: Number,
    requests: *mut c_int,
    statuses: *mut c_int,
    error: *mut c_int,
) {
    if let Some(library) = Library::get() {
        // SAFETY: the caller's list, of numbers as MPICH's C has them.
        unsafe { nonblocking::see_to(library, number(count), requests.cast()) };
    }
    match native!(next(Number, *mut c_int, *mut c_int)) {
        // SAFETY: the caller's arguments, as they came.
        Some(native) => unsafe { native(count, requests, statuses, error) },
        // SAFETY: the caller's own.
        None => unsafe { store(NO_MPI, error) },
    }
}

names!(waitall_f08 [mpi_waitall_f08_] (count: Number, requests: *mut c_int, statuses: *mut c_int));

/// Begins: the native call, after which the ranks that share a node are brought together.
///
/// Some bindings call the C names, which have then done so already, and some do not; it happens once.
///
/// # Safety
/// As the standard says of the call.
unsafe fn begin(next: &Next, error: *mut c_int) {
    let mut code = NO_MPI;
    if let Some(native) = native!(next()) {
        // SAFETY: a number to write to.
        unsafe { native(&raw mut code) };
    }
    // SAFETY: the caller's own.
    unsafe { begun(code, error) };
}

/// The same, with a level of threads.
///
/// # Safety
/// As the standard says of the call.
unsafe fn begin_with_threads(
    next: &Next,
    required: Number,
    provided: *mut c_int,
    error: *mut c_int,
) {
    let mut code = NO_MPI;
    if let Some(native) = native!(next(Number, *mut c_int)) {
        // SAFETY: the caller's arguments, as they came, and a number to write to.
        unsafe { native(required, provided, &raw mut code) };
    }
    // SAFETY: the caller's own.
    unsafe { begun(code, error) };
}

/// Brings ranks together if the native call succeeded.
///
/// # Safety
/// `error` is null, or the address of a number that nobody else uses now.
unsafe fn begun(code: c_int, error: *mut c_int) {
    if code == 0
        && let Some(library) = Library::get()
    {
        lifetime::begin(library);
    }
    // SAFETY: the caller's promise.
    unsafe { store(code, error) };
}

/// Ends: the report is written and all memory that ranks share is given back, in the native call or before it.
///
/// # Safety
/// As the standard says of the call.
unsafe fn end(next: &Next, error: *mut c_int) {
    if let Some(library) = Library::get() {
        lifetime::before_finalize(library);
    }
    let mut code = NO_MPI;
    if let Some(native) = native!(next()) {
        // SAFETY: a number to write to.
        unsafe { native(&raw mut code) };
    }
    // SAFETY: the caller's own.
    unsafe { store(code, error) };
}

names!(begin [mpi_init mpi_init_ mpi_init__ MPI_INIT mpi_init_f08_] ());
names!(begin_with_threads
    [mpi_init_thread mpi_init_thread_ mpi_init_thread__ MPI_INIT_THREAD mpi_init_thread_f08_]
    (required: Number, provided: *mut c_int));
names!(end [mpi_finalize mpi_finalize_ mpi_finalize__ MPI_FINALIZE mpi_finalize_f08_] ());

/// Aborts: the report is written before the native call.
///
/// # Safety
/// As the standard says of the call.
unsafe fn abort(next: &Next, comm: Number, code: Number, error: *mut c_int) {
    if Library::get().is_some() {
        REPORT.write("MPI_Abort", true);
    }
    match native!(next(Number, Number)) {
        // SAFETY: the caller's arguments, as they came.
        Some(native) => unsafe { native(comm, code, error) },
        // SAFETY: the caller's own.
        None => unsafe { store(NO_MPI, error) },
    }
}

names!(abort [mpi_abort mpi_abort_ mpi_abort__ MPI_ABORT mpi_abort_f08_] (comm: Number, code: Number));
