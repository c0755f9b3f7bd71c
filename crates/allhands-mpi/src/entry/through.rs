//! The entry points of what always passes through, persistent and neighbourhood collectives, which are only counted.

use crate::context::call::Through;
use crate::context::library::{Library, NO_MPI};
use crate::dispatch::communicator::thread::is_inside;
use crate::native::object::Next;
use crate::report::counts::REPORT;
use std::ffi::{CStr, c_int, c_void};

/// A word for each argument: a number, a handle or an address goes on as it came, of which the callee takes what it needs.
macro_rules! word {
    ($argument:ident) => {
        usize
    };
}

/// Declares the calls, and for each name an entry point that counts it and calls the next function of that name.
///
/// A row is the call, its names in C and those in Fortran, which has the error code besides, and a letter for each argument. The second name of C is that with large counts, followed by the letters of its counts: where the MPI has
/// no such call, one with small counts is made. Such calls with lists of counts are left to the MPI, and not counted: smaller lists
/// would have to be kept as long as the request.
macro_rules! through {
    ($($call:ident [$small:ident $($large:ident: $($count:ident)+)?] [$($fortran:ident)*] $arguments:tt;)*) => {
        $(
            through!(@c $call $small $arguments {});
            $(through!(@c $call $large $arguments { $small $($count)* });)?
            through!(@fortran $call [$($fortran)*] $arguments);
        )*
    };
    (@c $call:ident $name:ident ($($argument:ident)*) { $($small:ident $($count:ident)+)? }) => {
        #[doc = concat!("`", stringify!($name), "`, counted.")]
        ///
        /// # Safety
        /// As the standard says of the call.
        #[unsafe(no_mangle)]
        #[allow(non_snake_case, clippy::too_many_arguments)]
        pub unsafe extern "C-unwind" fn $name($($argument: usize),*) -> c_int {
            static NEXT: Next = Next::new(through!(@name $name));
            let native = |address: *mut c_void| {
                // SAFETY: a function of this name takes so many words, and gives a code.
                let native = unsafe {
                    std::mem::transmute::<*mut c_void, unsafe extern "C-unwind" fn($(word!($argument)),*) -> c_int>(address)
                };
                // SAFETY: the caller's arguments, as they came.
                unsafe { native($($argument),*) }
            };
            counted(Through::$call, true, || {
                let next = NEXT.get();
                $(
                    static SMALL: Next = Next::new(through!(@name $small));
                    // Who takes an int takes the lower half of such a word.
                    let fits = [$($count),+].iter().all(|count| c_int::try_from(*count as i64).is_ok());
                    let next = next.or_else(|| SMALL.get().filter(|_| fits));
                )?
                next.map_or_else(unknown, native)
            })
        }
    };
    (@fortran $call:ident [] $arguments:tt) => {};
    (@fortran $call:ident [$name:ident $($rest:ident)*] ($($argument:ident)*)) => {
        #[doc = concat!("`", stringify!($name), "`, of Fortran, counted where it does not come through the C name.")]
        ///
        /// # Safety
        /// As the standard says of the call.
        #[unsafe(no_mangle)]
        #[allow(non_snake_case, clippy::too_many_arguments)]
        pub unsafe extern "C-unwind" fn $name($($argument: usize,)* error: *mut c_int) {
            static NEXT: Next = Next::new(through!(@name $name));
            let native = |address: *mut c_void| {
                // SAFETY: what Fortran calls by this name takes so many addresses, and one for the error code.
                let native = unsafe {
                    std::mem::transmute::<*mut c_void, unsafe extern "C-unwind" fn($(word!($argument),)* *mut c_int)>(address)
                };
                // SAFETY: the caller's arguments, as they came.
                unsafe { native($($argument,)* error) }
            };
            counted(Through::$call, is_direct(), || match NEXT.get() {
                Some(address) => native(address),
                // SAFETY: Fortran hands in the address of a number, or none.
                None if !error.is_null() => unsafe { error.write(NO_MPI) },
                None => {}
            });
        }
        through!(@fortran $call [$($rest)*] ($($argument)*));
    };
    (@name $name:ident) => {
        const {
            match CStr::from_bytes_with_nul(concat!(stringify!($name), "\0").as_bytes()) {
                Ok(name) => name,
                Err(_) => panic!("a name holds no zero"),
            }
        }
    };
}

/// The code of a call that the MPI has not, or not for such counts.
#[cold]
fn unknown() -> c_int {
    let abi = Library::get().and_then(|library| library.abi.as_ref());
    abi.map_or(NO_MPI, |abi| abi.err_other)
}

/// Makes a call, and counts it, unless the MPI makes it in another, or it is counted elsewhere.
fn counted<R>(call: Through, counts: bool, native: impl FnOnce() -> R) -> R {
    if Library::get().is_none() || !counts || is_inside() {
        return native();
    }
    let begun = REPORT.begin();
    // Not said to be inside: the user's error handler may leave by `longjmp`.
    let result = native();
    REPORT.passed_through(call, begun);
    result
}

/// Whether the MPI's Fortran passes the C names by.
fn is_direct() -> bool {
    let abi = Library::get().and_then(|library| library.abi.as_ref());
    abi.is_some_and(|abi| abi.fortran.is_some())
}

through! {
    BarrierInit [MPI_Barrier_init]
        [mpi_barrier_init mpi_barrier_init_ mpi_barrier_init__ MPI_BARRIER_INIT
         ompi_barrier_init_f] (a b c);
    BcastInit [MPI_Bcast_init MPI_Bcast_init_c: b]
        [mpi_bcast_init mpi_bcast_init_ mpi_bcast_init__ MPI_BCAST_INIT
         ompi_bcast_init_f] (a b c d e f g);
    GatherInit [MPI_Gather_init MPI_Gather_init_c: b e]
        [mpi_gather_init mpi_gather_init_ mpi_gather_init__ MPI_GATHER_INIT
         ompi_gather_init_f] (a b c d e f g h i j);
    GathervInit [MPI_Gatherv_init]
        [mpi_gatherv_init mpi_gatherv_init_ mpi_gatherv_init__ MPI_GATHERV_INIT
         ompi_gatherv_init_f] (a b c d e f g h i j k);
    ScatterInit [MPI_Scatter_init MPI_Scatter_init_c: b e]
        [mpi_scatter_init mpi_scatter_init_ mpi_scatter_init__ MPI_SCATTER_INIT
         ompi_scatter_init_f] (a b c d e f g h i j);
    ScattervInit [MPI_Scatterv_init]
        [mpi_scatterv_init mpi_scatterv_init_ mpi_scatterv_init__ MPI_SCATTERV_INIT
         ompi_scatterv_init_f] (a b c d e f g h i j k);
    AllgatherInit [MPI_Allgather_init MPI_Allgather_init_c: b e]
        [mpi_allgather_init mpi_allgather_init_ mpi_allgather_init__ MPI_ALLGATHER_INIT
         ompi_allgather_init_f] (a b c d e f g h i);
    AllgathervInit [MPI_Allgatherv_init]
        [mpi_allgatherv_init mpi_allgatherv_init_ mpi_allgatherv_init__ MPI_ALLGATHERV_INIT
         ompi_allgatherv_init_f] (a b c d e f g h i j);
    AlltoallInit [MPI_Alltoall_init MPI_Alltoall_init_c: b e]
        [mpi_alltoall_init mpi_alltoall_init_ mpi_alltoall_init__ MPI_ALLTOALL_INIT
         ompi_alltoall_init_f] (a b c d e f g h i);
    AlltoallvInit [MPI_Alltoallv_init]
        [mpi_alltoallv_init mpi_alltoallv_init_ mpi_alltoallv_init__ MPI_ALLTOALLV_INIT
         ompi_alltoallv_init_f] (a b c d e f g h i j k);
    AlltoallwInit [MPI_Alltoallw_init]
        [mpi_alltoallw_init mpi_alltoallw_init_ mpi_alltoallw_init__ MPI_ALLTOALLW_INIT
         ompi_alltoallw_init_f] (a b c d e f g h i j k);
    ReduceInit [MPI_Reduce_init MPI_Reduce_init_c: c]
        [mpi_reduce_init mpi_reduce_init_ mpi_reduce_init__ MPI_REDUCE_INIT
         ompi_reduce_init_f] (a b c d e f g h i);
    AllreduceInit [MPI_Allreduce_init MPI_Allreduce_init_c: c]
        [mpi_allreduce_init mpi_allreduce_init_ mpi_allreduce_init__ MPI_ALLREDUCE_INIT
         ompi_allreduce_init_f] (a b c d e f g h);
    ReduceScatterInit [MPI_Reduce_scatter_init]
        [mpi_reduce_scatter_init mpi_reduce_scatter_init_ mpi_reduce_scatter_init__ MPI_REDUCE_SCATTER_INIT
         ompi_reduce_scatter_init_f] (a b c d e f g h);
    ReduceScatterBlockInit [MPI_Reduce_scatter_block_init MPI_Reduce_scatter_block_init_c: c]
        [mpi_reduce_scatter_block_init mpi_reduce_scatter_block_init_ mpi_reduce_scatter_block_init__ MPI_REDUCE_SCATTER_BLOCK_INIT
         ompi_reduce_scatter_block_init_f] (a b c d e f g h);
    ScanInit [MPI_Scan_init MPI_Scan_init_c: c]
        [mpi_scan_init mpi_scan_init_ mpi_scan_init__ MPI_SCAN_INIT
         ompi_scan_init_f] (a b c d e f g h);
    ExscanInit [MPI_Exscan_init MPI_Exscan_init_c: c]
        [mpi_exscan_init mpi_exscan_init_ mpi_exscan_init__ MPI_EXSCAN_INIT
         ompi_exscan_init_f] (a b c d e f g h);
    NeighborAllgather [MPI_Neighbor_allgather MPI_Neighbor_allgather_c: b e]
        [mpi_neighbor_allgather mpi_neighbor_allgather_ mpi_neighbor_allgather__ MPI_NEIGHBOR_ALLGATHER
         ompi_neighbor_allgather_f] (a b c d e f g);
    IneighborAllgather [MPI_Ineighbor_allgather MPI_Ineighbor_allgather_c: b e]
        [mpi_ineighbor_allgather mpi_ineighbor_allgather_ mpi_ineighbor_allgather__ MPI_INEIGHBOR_ALLGATHER
         ompi_ineighbor_allgather_f] (a b c d e f g h);
    NeighborAllgatherInit [MPI_Neighbor_allgather_init MPI_Neighbor_allgather_init_c: b e]
        [mpi_neighbor_allgather_init mpi_neighbor_allgather_init_ mpi_neighbor_allgather_init__ MPI_NEIGHBOR_ALLGATHER_INIT
         ompi_neighbor_allgather_init_f] (a b c d e f g h i);
    NeighborAllgatherv [MPI_Neighbor_allgatherv]
        [mpi_neighbor_allgatherv mpi_neighbor_allgatherv_ mpi_neighbor_allgatherv__ MPI_NEIGHBOR_ALLGATHERV
         ompi_neighbor_allgatherv_f] (a b c d e f g h);
    IneighborAllgatherv [MPI_Ineighbor_allgatherv]
        [mpi_ineighbor_allgatherv mpi_ineighbor_allgatherv_ mpi_ineighbor_allgatherv__ MPI_INEIGHBOR_ALLGATHERV
         ompi_ineighbor_allgatherv_f] (a b c d e f g h i);
    NeighborAllgathervInit [MPI_Neighbor_allgatherv_init]
        [mpi_neighbor_allgatherv_init mpi_neighbor_allgatherv_init_ mpi_neighbor_allgatherv_init__ MPI_NEIGHBOR_ALLGATHERV_INIT
         ompi_neighbor_allgatherv_init_f] (a b c d e f g h i j);
    NeighborAlltoall [MPI_Neighbor_alltoall MPI_Neighbor_alltoall_c: b e]
        [mpi_neighbor_alltoall mpi_neighbor_alltoall_ mpi_neighbor_alltoall__ MPI_NEIGHBOR_ALLTOALL
         ompi_neighbor_alltoall_f] (a b c d e f g);
    IneighborAlltoall [MPI_Ineighbor_alltoall MPI_Ineighbor_alltoall_c: b e]
        [mpi_ineighbor_alltoall mpi_ineighbor_alltoall_ mpi_ineighbor_alltoall__ MPI_INEIGHBOR_ALLTOALL
         ompi_ineighbor_alltoall_f] (a b c d e f g h);
    NeighborAlltoallInit [MPI_Neighbor_alltoall_init MPI_Neighbor_alltoall_init_c: b e]
        [mpi_neighbor_alltoall_init mpi_neighbor_alltoall_init_ mpi_neighbor_alltoall_init__ MPI_NEIGHBOR_ALLTOALL_INIT
         ompi_neighbor_alltoall_init_f] (a b c d e f g h i);
    NeighborAlltoallv [MPI_Neighbor_alltoallv]
        [mpi_neighbor_alltoallv mpi_neighbor_alltoallv_ mpi_neighbor_alltoallv__ MPI_NEIGHBOR_ALLTOALLV
         ompi_neighbor_alltoallv_f] (a b c d e f g h i);
    IneighborAlltoallv [MPI_Ineighbor_alltoallv]
        [mpi_ineighbor_alltoallv mpi_ineighbor_alltoallv_ mpi_ineighbor_alltoallv__ MPI_INEIGHBOR_ALLTOALLV
         ompi_ineighbor_alltoallv_f] (a b c d e f g h i j);
    NeighborAlltoallvInit [MPI_Neighbor_alltoallv_init]
        [mpi_neighbor_alltoallv_init mpi_neighbor_alltoallv_init_ mpi_neighbor_alltoallv_init__ MPI_NEIGHBOR_ALLTOALLV_INIT
         ompi_neighbor_alltoallv_init_f] (a b c d e f g h i j k);
    NeighborAlltoallw [MPI_Neighbor_alltoallw]
        [mpi_neighbor_alltoallw mpi_neighbor_alltoallw_ mpi_neighbor_alltoallw__ MPI_NEIGHBOR_ALLTOALLW
         ompi_neighbor_alltoallw_f] (a b c d e f g h i);
    IneighborAlltoallw [MPI_Ineighbor_alltoallw]
        [mpi_ineighbor_alltoallw mpi_ineighbor_alltoallw_ mpi_ineighbor_alltoallw__ MPI_INEIGHBOR_ALLTOALLW
         ompi_ineighbor_alltoallw_f] (a b c d e f g h i j);
    NeighborAlltoallwInit [MPI_Neighbor_alltoallw_init]
        [mpi_neighbor_alltoallw_init mpi_neighbor_alltoallw_init_ mpi_neighbor_alltoallw_init__ MPI_NEIGHBOR_ALLTOALLW_INIT
         ompi_neighbor_alltoallw_init_f] (a b c d e f g h i j k);
}
