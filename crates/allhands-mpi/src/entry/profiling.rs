//! The profiling names: `PMPI_X`, by which a tool in front of this library goes on with a call that it has seen.
//!
//! A tool that takes `MPI_X` and calls `PMPI_X` would pass this library by, and on those ranks alone that have the tool. So what is
//! served by the one name is served by the other, too. But the MPI calls itself by these names: MPICH's and Open MPI's I/O does, some
//! of it where the MPI makes progress. Such calls are the MPI's own affair and go to its own functions: they are recognized by where in
//! memory they come from. That takes a look at the return address, which is written here for x86-64 alone; on other machines there
//! are no profiling names of collectives, and a tool in front passes this library by.

/// Whether collectives are served by their profiling names.
pub(super) const ARE_SERVED: bool = cfg!(target_arch = "x86_64");

/// Declares the profiling name of an entry point, as a function that goes on to `served`, or from inside of the MPI to `native`.
#[cfg(target_arch = "x86_64")]
macro_rules! profiled {
    ($entry:ident, $served:ident, $native:ident) => {
        // SAFETY: changes nothing but a register that belongs to no argument and that no function keeps, and then is, by a jump,
        // one of two functions with the arguments of the name. The name is the MPI's, which is there to be taken.
        #[unsafe(naked)]
        #[unsafe(export_name = concat!("P", stringify!($entry)))]
        unsafe extern "C-unwind" fn profiled() {
            core::arch::naked_asm!(
                "mov r11, qword ptr [rsp]",
                "sub r11, qword ptr [rip + {inside}]",
                "cmp r11, qword ptr [rip + {inside} + 8]",
                "jb {native}",
                "jmp {served}",
                inside = sym crate::native::object::INSIDE,
                native = sym $native,
                served = sym $served,
            )
        }
    };
}

/// Keeps what would serve the profiling name of an entry point known to the compiler.
#[cfg(not(target_arch = "x86_64"))]
macro_rules! profiled {
    ($entry:ident, $served:ident, $native:ident) => {
        const _: [*const (); 2] = [$served as *const (), $native as *const ()];
    };
}
pub(super) use profiled;

/// Declares an entry point and the profiling one of the same call, by which a tool in front goes on: what is done around the call is
/// the same, and the function called is the next one of the name behind this library, or the MPI's own.
macro_rules! twins {
    (
        $(#[doc = $text:literal])*
        $name:ident $profiling:ident ($($argument:ident: $kind:ty),*)
        = $around:ident($($before:expr),*) of $field:ident
    ) => {
        $(#[doc = $text])*
        ///
        /// # Safety
        /// As the standard says of the call.
        #[unsafe(no_mangle)]
        #[allow(non_snake_case)]
        pub unsafe extern "C-unwind" fn $name($($argument: $kind),*) -> c_int {
            // SAFETY: the caller's arguments, as they came.
            unsafe { $around($($before,)* |library: &Library| (library.next.$field)($($argument),*)) }
        }

        #[doc = concat!("`", stringify!($profiling), "`, by which a tool in front goes on.")]
        ///
        /// # Safety
        /// As the standard says of the call.
        #[unsafe(no_mangle)]
        #[allow(non_snake_case)]
        pub unsafe extern "C-unwind" fn $profiling($($argument: $kind),*) -> c_int {
            // SAFETY: the caller's arguments, as they came.
            unsafe { $around($($before,)* |library: &Library| (library.native.$field)($($argument),*)) }
        }
    };
}
pub(super) use twins;
