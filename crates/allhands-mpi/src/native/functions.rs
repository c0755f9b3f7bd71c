//! The functions of the native MPI, which are looked up in its object and never linked.
//!
//! What this library asks of the MPI for itself it asks by the `PMPI_` names, in the MPI's own object: a tool, in front of this
//! library or behind it, sees nothing that the program has not called.

use crate::abi::Handle;
use std::ffi::{CStr, c_char, c_int, c_void};

/// A function that Open MPI calls wherever it makes progress; gives the number of events that it has seen.
pub(crate) type Callback = unsafe extern "C" fn() -> c_int;
/// A function that MPICH calls wherever it makes progress.
pub(crate) type Poll = unsafe extern "C" fn(*mut c_void) -> c_int;

type CopyFunction =
    unsafe extern "C" fn(Handle, c_int, *mut c_void, *mut c_void, *mut c_void, *mut c_int) -> c_int;
type DeleteFunction = unsafe extern "C" fn(Handle, c_int, *mut c_void, *mut c_void) -> c_int;
type QueryFunction = unsafe extern "C" fn(*mut c_void, *mut u8) -> c_int;
type FreeFunction = unsafe extern "C" fn(*mut c_void) -> c_int;
type CancelFunction = unsafe extern "C" fn(*mut c_void, c_int) -> c_int;

/// Declares the functions that every MPI has, and those that only some have.
macro_rules! natives {
    (
        every { $($name:ident $symbol:literal ($($type:ty),*);)* }
        some { $($rare:ident $rare_symbol:literal ($($rare_type:ty),*);)* }
    ) => {
        /// The functions of a loaded MPI.
        pub(crate) struct Native {
            $(pub(crate) $name: unsafe extern "C-unwind" fn($($type),*) -> c_int,)*
            $(pub(crate) $rare: Option<unsafe extern "C-unwind" fn($($rare_type),*) -> c_int>,)*
        }

        impl Native {
            /// Has all of them looked up; `None` if one is missing that every MPI has.
            pub(crate) fn of(
                look_up: impl Fn(&CStr) -> Option<*mut c_void>,
            ) -> Option<Native> {
                Some(Native {
                    $($name: {
                        let address = look_up($symbol)?;
                        // SAFETY: the standard says what a function of this name takes; handles are passed as words, of
                        // which the callee takes what it needs.
                        unsafe { std::mem::transmute::<
                            *mut c_void,
                            unsafe extern "C-unwind" fn($($type),*) -> c_int,
                        >(address) }
                    },)*
                    $($rare: look_up($rare_symbol).map(|address| {
                        // SAFETY: as above.
                        unsafe { std::mem::transmute::<
                            *mut c_void,
                            unsafe extern "C-unwind" fn($($rare_type),*) -> c_int,
                        >(address) }
                    }),)*
                })
            }
        }
    };
}

impl Native {
    /// What the MPI says of itself; it may be asked at any time.
    pub(crate) fn version(&self) -> Option<String> {
        // Longer than any MPI's MPI_MAX_LIBRARY_VERSION_STRING.
        let (mut text, mut length) = (vec![0 as c_char; 1 << 15], 0);
        let version = self.get_library_version?;
        // SAFETY: room for the text, and a number.
        unsafe { version(text.as_mut_ptr(), &raw mut length) };
        *text.last_mut()? = 0;
        // SAFETY: the last byte is zero, so the text ends inside.
        let text = unsafe { CStr::from_ptr(text.as_ptr()) };
        Some(text.to_string_lossy().into_owned())
    }
}

type In = *const u8;
type Out = *mut u8;
type Ints = *const c_int;
type Longs = *const i64;
type Handles = *const u8;

natives! {
    every {
        init c"PMPI_Init" (*mut c_int, *mut c_void);
        init_thread c"PMPI_Init_thread" (*mut c_int, *mut c_void, c_int, *mut c_int);
        query_thread c"PMPI_Query_thread" (*mut c_int);
        finalize c"PMPI_Finalize" ();
        initialized c"PMPI_Initialized" (*mut c_int);
        finalized c"PMPI_Finalized" (*mut c_int);
        comm_size c"PMPI_Comm_size" (Handle, *mut c_int);
        comm_rank c"PMPI_Comm_rank" (Handle, *mut c_int);
        comm_remote_size c"PMPI_Comm_remote_size" (Handle, *mut c_int);
        comm_test_inter c"PMPI_Comm_test_inter" (Handle, *mut c_int);
        comm_group c"PMPI_Comm_group" (Handle, *mut Handle);
        group_translate_ranks c"PMPI_Group_translate_ranks" (Handle, c_int, Ints, Handle, *mut c_int);
        group_free c"PMPI_Group_free" (*mut Handle);
        comm_split c"PMPI_Comm_split" (Handle, c_int, c_int, *mut Handle);
        comm_get_attr c"PMPI_Comm_get_attr" (Handle, c_int, *mut *mut c_int, *mut c_int);
        comm_set_errhandler c"PMPI_Comm_set_errhandler" (Handle, Handle);
        comm_split_type c"PMPI_Comm_split_type" (Handle, c_int, c_int, Handle, *mut Handle);
        comm_free c"PMPI_Comm_free" (*mut Handle);
        comm_create_keyval c"PMPI_Comm_create_keyval" (CopyFunction, DeleteFunction, *mut c_int, *mut c_void);
        comm_free_keyval c"PMPI_Comm_free_keyval" (*mut c_int);
        comm_set_attr c"PMPI_Comm_set_attr" (Handle, c_int, *mut c_void);
        comm_get_errhandler c"PMPI_Comm_get_errhandler" (Handle, *mut Handle);
        errhandler_free c"PMPI_Errhandler_free" (*mut Handle);
        comm_call_errhandler c"PMPI_Comm_call_errhandler" (Handle, c_int);
        type_size_x c"PMPI_Type_size_x" (Handle, *mut i64);
        type_get_extent_x c"PMPI_Type_get_extent_x" (Handle, *mut i64, *mut i64);
        type_get_true_extent_x c"PMPI_Type_get_true_extent_x" (Handle, *mut i64, *mut i64);
        type_get_envelope c"PMPI_Type_get_envelope" (Handle, *mut c_int, *mut c_int, *mut c_int, *mut c_int);
        type_get_contents c"PMPI_Type_get_contents"
            (Handle, c_int, c_int, c_int, *mut c_int, *mut isize, Out);
        type_free c"PMPI_Type_free" (*mut Handle);
        type_dup c"PMPI_Type_dup" (Handle, *mut Handle);
        grequest_start c"PMPI_Grequest_start" (QueryFunction, FreeFunction, CancelFunction, *mut c_void, *mut Handle);
        grequest_complete c"PMPI_Grequest_complete" (Handle);
        request_get_status c"PMPI_Request_get_status" (Handle, *mut c_int, Out);
        waitall c"PMPI_Waitall" (c_int, Out, Out);
        status_set_elements c"PMPI_Status_set_elements" (Out, Handle, c_int);
        status_set_cancelled c"PMPI_Status_set_cancelled" (Out, c_int);
        type_create_keyval c"PMPI_Type_create_keyval" (CopyFunction, DeleteFunction, *mut c_int, *mut c_void);
        type_free_keyval c"PMPI_Type_free_keyval" (*mut c_int);
        type_set_attr c"PMPI_Type_set_attr" (Handle, c_int, *mut c_void);
        op_commutative c"PMPI_Op_commutative" (Handle, *mut c_int);
        reduce_local c"PMPI_Reduce_local" (In, Out, c_int, Handle, Handle);
        pack c"PMPI_Pack" (In, c_int, Handle, Out, c_int, *mut c_int, Handle);
        unpack c"PMPI_Unpack" (In, c_int, *mut c_int, Out, c_int, Handle, Handle);
        iprobe c"PMPI_Iprobe" (c_int, c_int, Handle, *mut c_int, *mut u8);
        isend c"PMPI_Isend" (In, c_int, Handle, c_int, c_int, Handle, *mut Handle);
        irecv c"PMPI_Irecv" (Out, c_int, Handle, c_int, c_int, Handle, *mut Handle);
        test c"PMPI_Test" (*mut Handle, *mut c_int, *mut u8);
        testsome c"PMPI_Testsome" (c_int, *mut Handle, *mut c_int, *mut c_int, *mut u8);
        cancel c"PMPI_Cancel" (*mut Handle);
        test_cancelled c"PMPI_Test_cancelled" (*const u8, *mut c_int);
        get_elements_x c"PMPI_Get_elements_x" (*const u8, Handle, *mut i64);
        error_class c"PMPI_Error_class" (c_int, *mut c_int);
        error_string c"PMPI_Error_string" (c_int, *mut c_char, *mut c_int);
        abort c"PMPI_Abort" (Handle, c_int);
        barrier c"PMPI_Barrier" (Handle);
        bcast c"PMPI_Bcast" (Out, c_int, Handle, c_int, Handle);
        gather c"PMPI_Gather" (In, c_int, Handle, Out, c_int, Handle, c_int, Handle);
        gatherv c"PMPI_Gatherv" (In, c_int, Handle, Out, Ints, Ints, Handle, c_int, Handle);
        scatter c"PMPI_Scatter" (In, c_int, Handle, Out, c_int, Handle, c_int, Handle);
        scatterv c"PMPI_Scatterv" (In, Ints, Ints, Handle, Out, c_int, Handle, c_int, Handle);
        allgather c"PMPI_Allgather" (In, c_int, Handle, Out, c_int, Handle, Handle);
        allgatherv c"PMPI_Allgatherv" (In, c_int, Handle, Out, Ints, Ints, Handle, Handle);
        alltoall c"PMPI_Alltoall" (In, c_int, Handle, Out, c_int, Handle, Handle);
        alltoallv c"PMPI_Alltoallv" (In, Ints, Ints, Handle, Out, Ints, Ints, Handle, Handle);
        alltoallw c"PMPI_Alltoallw" (In, Ints, Ints, Handles, Out, Ints, Ints, Handles, Handle);
        reduce c"PMPI_Reduce" (In, Out, c_int, Handle, Handle, c_int, Handle);
        allreduce c"PMPI_Allreduce" (In, Out, c_int, Handle, Handle, Handle);
        reduce_scatter c"PMPI_Reduce_scatter" (In, Out, Ints, Handle, Handle, Handle);
        reduce_scatter_block c"PMPI_Reduce_scatter_block" (In, Out, c_int, Handle, Handle, Handle);
        scan c"PMPI_Scan" (In, Out, c_int, Handle, Handle, Handle);
        exscan c"PMPI_Exscan" (In, Out, c_int, Handle, Handle, Handle);
        ibarrier c"PMPI_Ibarrier" (Handle, Out);
        ibcast c"PMPI_Ibcast" (Out, c_int, Handle, c_int, Handle, Out);
        igather c"PMPI_Igather" (In, c_int, Handle, Out, c_int, Handle, c_int, Handle, Out);
        igatherv c"PMPI_Igatherv" (In, c_int, Handle, Out, Ints, Ints, Handle, c_int, Handle, Out);
        iscatter c"PMPI_Iscatter" (In, c_int, Handle, Out, c_int, Handle, c_int, Handle, Out);
        iscatterv c"PMPI_Iscatterv" (In, Ints, Ints, Handle, Out, c_int, Handle, c_int, Handle, Out);
        iallgather c"PMPI_Iallgather" (In, c_int, Handle, Out, c_int, Handle, Handle, Out);
        iallgatherv c"PMPI_Iallgatherv" (In, c_int, Handle, Out, Ints, Ints, Handle, Handle, Out);
        ialltoall c"PMPI_Ialltoall" (In, c_int, Handle, Out, c_int, Handle, Handle, Out);
        ialltoallv c"PMPI_Ialltoallv" (In, Ints, Ints, Handle, Out, Ints, Ints, Handle, Handle, Out);
        ialltoallw c"PMPI_Ialltoallw" (In, Ints, Ints, Handles, Out, Ints, Ints, Handles, Handle, Out);
        ireduce c"PMPI_Ireduce" (In, Out, c_int, Handle, Handle, c_int, Handle, Out);
        iallreduce c"PMPI_Iallreduce" (In, Out, c_int, Handle, Handle, Handle, Out);
        ireduce_scatter c"PMPI_Ireduce_scatter" (In, Out, Ints, Handle, Handle, Handle, Out);
        ireduce_scatter_block c"PMPI_Ireduce_scatter_block" (In, Out, c_int, Handle, Handle, Handle, Out);
        iscan c"PMPI_Iscan" (In, Out, c_int, Handle, Handle, Handle, Out);
        iexscan c"PMPI_Iexscan" (In, Out, c_int, Handle, Handle, Handle, Out);
    }
    some {
        request_c2f c"PMPI_Request_c2f" (Handle);
        opal_progress_register c"opal_progress_register" (Callback);
        opal_progress_unregister c"opal_progress_unregister" (Callback);
        async_start c"PMPIX_Async_start" (Poll, *mut c_void, Handle);
        async_spawn c"PMPIX_Async_spawn" (*mut c_void, Poll, *mut c_void, Handle);
        isend_c c"PMPI_Isend_c" (In, i64, Handle, c_int, c_int, Handle, *mut Handle);
        irecv_c c"PMPI_Irecv_c" (Out, i64, Handle, c_int, c_int, Handle, *mut Handle);
        abi_get_version c"PMPI_Abi_get_version" (*mut c_int, *mut c_int);
        get_library_version c"PMPI_Get_library_version" (*mut c_char, *mut c_int);
        session_init c"PMPI_Session_init" (Handle, Handle, *mut Handle);
        session_finalize c"PMPI_Session_finalize" (*mut Handle);
        type_get_envelope_c c"PMPI_Type_get_envelope_c"
            (Handle, *mut i64, *mut i64, *mut i64, *mut i64, *mut c_int);
        type_get_contents_c c"PMPI_Type_get_contents_c"
            (Handle, i64, i64, i64, i64, *mut c_int, *mut isize, *mut i64, Out);
        bcast_c c"PMPI_Bcast_c" (Out, i64, Handle, c_int, Handle);
        gather_c c"PMPI_Gather_c" (In, i64, Handle, Out, i64, Handle, c_int, Handle);
        gatherv_c c"PMPI_Gatherv_c" (In, i64, Handle, Out, Longs, Longs, Handle, c_int, Handle);
        scatter_c c"PMPI_Scatter_c" (In, i64, Handle, Out, i64, Handle, c_int, Handle);
        scatterv_c c"PMPI_Scatterv_c" (In, Longs, Longs, Handle, Out, i64, Handle, c_int, Handle);
        allgather_c c"PMPI_Allgather_c" (In, i64, Handle, Out, i64, Handle, Handle);
        allgatherv_c c"PMPI_Allgatherv_c" (In, i64, Handle, Out, Longs, Longs, Handle, Handle);
        alltoall_c c"PMPI_Alltoall_c" (In, i64, Handle, Out, i64, Handle, Handle);
        alltoallv_c c"PMPI_Alltoallv_c" (In, Longs, Longs, Handle, Out, Longs, Longs, Handle, Handle);
        alltoallw_c c"PMPI_Alltoallw_c" (In, Longs, Longs, Handles, Out, Longs, Longs, Handles, Handle);
        reduce_c c"PMPI_Reduce_c" (In, Out, i64, Handle, Handle, c_int, Handle);
        allreduce_c c"PMPI_Allreduce_c" (In, Out, i64, Handle, Handle, Handle);
        reduce_scatter_c c"PMPI_Reduce_scatter_c" (In, Out, Longs, Handle, Handle, Handle);
        reduce_scatter_block_c c"PMPI_Reduce_scatter_block_c" (In, Out, i64, Handle, Handle, Handle);
        scan_c c"PMPI_Scan_c" (In, Out, i64, Handle, Handle, Handle);
        exscan_c c"PMPI_Exscan_c" (In, Out, i64, Handle, Handle, Handle);
        ibcast_c c"PMPI_Ibcast_c" (Out, i64, Handle, c_int, Handle, Out);
        igather_c c"PMPI_Igather_c" (In, i64, Handle, Out, i64, Handle, c_int, Handle, Out);
        igatherv_c c"PMPI_Igatherv_c" (In, i64, Handle, Out, Longs, Longs, Handle, c_int, Handle, Out);
        iscatter_c c"PMPI_Iscatter_c" (In, i64, Handle, Out, i64, Handle, c_int, Handle, Out);
        iscatterv_c c"PMPI_Iscatterv_c" (In, Longs, Longs, Handle, Out, i64, Handle, c_int, Handle, Out);
        iallgather_c c"PMPI_Iallgather_c" (In, i64, Handle, Out, i64, Handle, Handle, Out);
        iallgatherv_c c"PMPI_Iallgatherv_c" (In, i64, Handle, Out, Longs, Longs, Handle, Handle, Out);
        ialltoall_c c"PMPI_Ialltoall_c" (In, i64, Handle, Out, i64, Handle, Handle, Out);
        ialltoallv_c c"PMPI_Ialltoallv_c" (In, Longs, Longs, Handle, Out, Longs, Longs, Handle, Handle, Out);
        ialltoallw_c c"PMPI_Ialltoallw_c" (In, Longs, Longs, Handles, Out, Longs, Longs, Handles, Handle, Out);
        ireduce_c c"PMPI_Ireduce_c" (In, Out, i64, Handle, Handle, c_int, Handle, Out);
        iallreduce_c c"PMPI_Iallreduce_c" (In, Out, i64, Handle, Handle, Handle, Out);
        ireduce_scatter_c c"PMPI_Ireduce_scatter_c" (In, Out, Longs, Handle, Handle, Handle, Out);
        ireduce_scatter_block_c c"PMPI_Ireduce_scatter_block_c" (In, Out, i64, Handle, Handle, Handle, Out);
        iscan_c c"PMPI_Iscan_c" (In, Out, i64, Handle, Handle, Handle, Out);
        iexscan_c c"PMPI_Iexscan_c" (In, Out, i64, Handle, Handle, Handle, Out);
    }
}
