//! The entry points: the names that a program calls instead of its MPI's.

use crate::abi::Handle;
use crate::buffer::Numbers;
use crate::collective::{self, Given, Lists, Types};
use crate::library::{Library, NO_MPI};
use crate::node;
use crate::takeover::{Call, take};
use std::ffi::{c_int, c_void};

type In = *const u8;
type Out = *mut u8;

/// The C type of an argument, in the call with small counts and in that with large ones.
macro_rules! argument {
    (small count) => { c_int };
    (large count) => { i64 };
    (small list) => { *const c_int };
    (large list) => { *const i64 };
    ($size:ident send) => { In };
    ($size:ident receive) => { Out };
    ($size:ident types) => { In };
    ($size:ident rank) => { c_int };
    ($size:ident handle) => { Handle };
}

/// An argument as the collectives take it, of either size.
macro_rules! wide {
    ($size:ident count $value:ident) => {
        i64::from($value)
    };
    (small list $value:ident) => {
        Numbers::Int($value)
    };
    (large list $value:ident) => {
        Numbers::Long($value)
    };
    ($size:ident receive $value:ident) => {
        $value.cast_const()
    };
    ($size:ident $kind:ident $value:ident) => {
        $value
    };
}

/// An argument of a large call for the native small one, which is all that some MPIs have.
macro_rules! narrow {
    (count $value:ident $ranks:ident) => {
        c_int::try_from($value).ok()?
    };
    (list $value:ident $ranks:ident) => {
        $ranks.narrow($value)?.as_ptr()
    };
    ($kind:ident $value:ident $ranks:ident) => {
        $value
    };
}

/// Declares the two entry points of a call: with counts of type `int`, and of type `MPI_Count`.
macro_rules! entries {
    ($(
        $call:ident: $small:ident $large:ident, $native:ident $native_large:ident
        ($($name:ident: $kind:ident),*) => |$here:ident| $serve:expr;
    )*) => {$(
        #[doc = concat!("`", stringify!($small), "`, taken over.")]
        ///
        /// # Safety
        /// As the standard says of the call.
        #[unsafe(no_mangle)]
        #[allow(non_snake_case)]
        pub unsafe extern "C" fn $small($($name: argument!(small $kind)),*) -> c_int {
            take(
                Call::$call,
                entries!(@comm $($name)*),
                |$here| {
                    $(#[allow(unused_variables)] let $name = wide!(small $kind $name);)*
                    $serve
                },
                // SAFETY: the caller's arguments, as they came.
                |library| unsafe { (library.native.$native)($($name),*) },
            )
        }

        #[doc = concat!("`", stringify!($large), "`, taken over.")]
        ///
        /// # Safety
        /// As the standard says of the call.
        #[unsafe(no_mangle)]
        #[allow(non_snake_case)]
        pub unsafe extern "C" fn $large($($name: argument!(large $kind)),*) -> c_int {
            take(
                Call::$call,
                entries!(@comm $($name)*),
                |$here| {
                    $(#[allow(unused_variables)] let $name = wide!(large $kind $name);)*
                    $serve
                },
                |library| match library.native.$native_large {
                    // SAFETY: the caller's arguments, as they came.
                    Some(native) => unsafe { native($($name),*) },
                    None => {
                        let ranks = Narrow { library, comm: entries!(@comm $($name)*) };
                        let small = || {
                            // SAFETY: the caller's arguments, which fit the smaller types; the lists live until the
                            // call is over.
                            Some(unsafe {
                                (library.native.$native)($(narrow!($kind $name ranks)),*)
                            })
                        };
                        small().unwrap_or_else(|| ranks.too_large())
                    }
                },
            )
        }
    )*};
    // The communicator is the last argument of every call.
    (@comm $only:ident) => { $only };
    (@comm $first:ident $($rest:ident)+) => { entries!(@comm $($rest)+) };
}

/// What makes arguments of a large call smaller.
struct Narrow<'a> {
    library: &'a Library,
    comm: Handle,
}

impl Narrow<'_> {
    /// A list as the small call takes it; `None` if a number does not fit.
    ///
    /// A list may be meant for the root alone; elsewhere it is whatever it is, and is handed on as nothing.
    fn narrow(&self, list: *const i64) -> Option<Vec<c_int>> {
        let ranks = self.ranks()?;
        if list.is_null() {
            return Some(Vec::new());
        }
        // SAFETY: the user hands in a list of as many numbers as there are ranks.
        let number = |rank| unsafe { list.add(rank).read() };
        (0..ranks)
            .map(|rank| c_int::try_from(number(rank)).ok())
            .collect()
    }

    fn ranks(&self) -> Option<usize> {
        let comm = self.library.abi.as_ref()?.handle(self.comm);
        let mut ranks = 0;
        let native = &self.library.native;
        // SAFETY: asks about the caller's communicator, with a number to write to.
        let error = unsafe {
            match self.library.is_inter(comm)? {
                true => (native.comm_remote_size)(comm, &raw mut ranks),
                false => (native.comm_size)(comm, &raw mut ranks),
            }
        };
        usize::try_from(ranks).ok().filter(|_| error == 0)
    }

    /// Says that a count does not fit.
    fn too_large(&self) -> c_int {
        let Some(abi) = &self.library.abi else {
            return NO_MPI;
        };
        // SAFETY: the caller's communicator, and an error class of this MPI.
        unsafe {
            (self.library.native.comm_call_errhandler)(abi.handle(self.comm), abi.err_other);
        }
        abi.err_other
    }
}

/// `MPI_Barrier`, taken over.
///
/// # Safety
/// As the standard says of the call.
#[unsafe(no_mangle)]
#[allow(non_snake_case)]
pub unsafe extern "C" fn MPI_Barrier(comm: Handle) -> c_int {
    // SAFETY: the caller's arguments, as they came.
    take(Call::Barrier, comm, collective::barrier, |library| unsafe {
        (library.native.barrier)(comm)
    })
}

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

entries! {
    Bcast: MPI_Bcast MPI_Bcast_c, bcast bcast_c
        (buffer: receive, count: count, datatype: handle, root: rank, comm: handle)
        => |here| collective::broadcast(here, given(buffer, count, datatype), root);
    Gather: MPI_Gather MPI_Gather_c, gather gather_c
        (from: send, sent: count, sent_type: handle, to: receive, received: count, received_type: handle,
         root: rank, comm: handle)
        => |here| collective::gather(
            here, given(from, sent, sent_type), given(to, received, received_type), root);
    Gatherv: MPI_Gatherv MPI_Gatherv_c, gatherv gatherv_c
        (from: send, sent: count, sent_type: handle, to: receive, counts: list, places: list,
         received_type: handle, root: rank, comm: handle)
        => |here| collective::gatherv(
            here, given(from, sent, sent_type), lists(to, counts, places, Types::One(received_type)), root);
    Scatter: MPI_Scatter MPI_Scatter_c, scatter scatter_c
        (from: send, sent: count, sent_type: handle, to: receive, received: count, received_type: handle,
         root: rank, comm: handle)
        => |here| collective::scatter(
            here, given(from, sent, sent_type), given(to, received, received_type), root);
    Scatterv: MPI_Scatterv MPI_Scatterv_c, scatterv scatterv_c
        (from: send, counts: list, places: list, sent_type: handle, to: receive, received: count,
         received_type: handle, root: rank, comm: handle)
        => |here| collective::scatterv(
            here, lists(from, counts, places, Types::One(sent_type)), given(to, received, received_type), root);
    Allgather: MPI_Allgather MPI_Allgather_c, allgather allgather_c
        (from: send, sent: count, sent_type: handle, to: receive, received: count, received_type: handle,
         comm: handle)
        => |here| collective::allgather(
            here, given(from, sent, sent_type), given(to, received, received_type));
    Allgatherv: MPI_Allgatherv MPI_Allgatherv_c, allgatherv allgatherv_c
        (from: send, sent: count, sent_type: handle, to: receive, counts: list, places: list,
         received_type: handle, comm: handle)
        => |here| collective::allgatherv(
            here, given(from, sent, sent_type), lists(to, counts, places, Types::One(received_type)));
    Alltoall: MPI_Alltoall MPI_Alltoall_c, alltoall alltoall_c
        (from: send, sent: count, sent_type: handle, to: receive, received: count, received_type: handle,
         comm: handle)
        => |here| collective::alltoall(
            here, given(from, sent, sent_type), given(to, received, received_type));
    Alltoallv: MPI_Alltoallv MPI_Alltoallv_c, alltoallv alltoallv_c
        (from: send, sent: list, sent_places: list, sent_type: handle, to: receive, received: list,
         received_places: list, received_type: handle, comm: handle)
        => |here| collective::alltoallv(
            here,
            lists(from, sent, sent_places, Types::One(sent_type)),
            lists(to, received, received_places, Types::One(received_type)));
    Alltoallw: MPI_Alltoallw MPI_Alltoallw_c, alltoallw alltoallw_c
        (from: send, sent: list, sent_places: list, sent_types: types, to: receive, received: list,
         received_places: list, received_types: types, comm: handle)
        => |here| collective::alltoallv(
            here,
            lists(from, sent, sent_places, Types::Each(sent_types)),
            lists(to, received, received_places, Types::Each(received_types)));
    Reduce: MPI_Reduce MPI_Reduce_c, reduce reduce_c
        (from: send, to: receive, count: count, datatype: handle, op: handle, root: rank, comm: handle)
        => |here| collective::reduce(here, from, given(to, count, datatype), op, root);
    Allreduce: MPI_Allreduce MPI_Allreduce_c, allreduce allreduce_c
        (from: send, to: receive, count: count, datatype: handle, op: handle, comm: handle)
        => |here| collective::allreduce(here, from, given(to, count, datatype), op);
    ReduceScatter: MPI_Reduce_scatter MPI_Reduce_scatter_c, reduce_scatter reduce_scatter_c
        (from: send, to: receive, counts: list, datatype: handle, op: handle, comm: handle)
        => |here| collective::reduce_scatter(here, from, (to, counts), datatype, op);
    ReduceScatterBlock: MPI_Reduce_scatter_block MPI_Reduce_scatter_block_c,
        reduce_scatter_block reduce_scatter_block_c
        (from: send, to: receive, count: count, datatype: handle, op: handle, comm: handle)
        => |here| collective::reduce_scatter_block(here, from, given(to, count, datatype), op);
    Scan: MPI_Scan MPI_Scan_c, scan scan_c
        (from: send, to: receive, count: count, datatype: handle, op: handle, comm: handle)
        => |here| collective::scan(here, from, given(to, count, datatype), op);
    Exscan: MPI_Exscan MPI_Exscan_c, exscan exscan_c
        (from: send, to: receive, count: count, datatype: handle, op: handle, comm: handle)
        => |here| collective::exscan(here, from, given(to, count, datatype), op);
}

/// `MPI_Init`, after which the ranks that share a node are brought together.
///
/// # Safety
/// As the standard says of the call.
#[unsafe(no_mangle)]
#[allow(non_snake_case)]
pub unsafe extern "C" fn MPI_Init(argc: *mut c_int, argv: *mut c_void) -> c_int {
    let Some(library) = Library::get() else {
        return NO_MPI;
    };
    // SAFETY: the caller's arguments, as they came.
    let code = unsafe { (library.native.init)(argc, argv) };
    if code == 0 {
        node::gather(library);
    }
    code
}

/// `MPI_Init_thread`, after which the ranks that share a node are brought together.
///
/// # Safety
/// As the standard says of the call.
#[unsafe(no_mangle)]
#[allow(non_snake_case)]
pub unsafe extern "C" fn MPI_Init_thread(
    argc: *mut c_int,
    argv: *mut c_void,
    required: c_int,
    provided: *mut c_int,
) -> c_int {
    let Some(library) = Library::get() else {
        return NO_MPI;
    };
    // SAFETY: the caller's arguments, as they came.
    let code = unsafe { (library.native.init_thread)(argc, argv, required, provided) };
    if code == 0 {
        node::gather(library);
    }
    code
}

/// `MPI_Finalize`, before which the report is written and all memory that ranks share is given back.
///
/// # Safety
/// As the standard says of the call.
#[unsafe(no_mangle)]
#[allow(non_snake_case)]
pub unsafe extern "C" fn MPI_Finalize() -> c_int {
    let Some(library) = Library::get() else {
        return NO_MPI;
    };
    node::part(library);
    // SAFETY: the caller's call, as it came.
    unsafe { (library.native.finalize)() }
}
