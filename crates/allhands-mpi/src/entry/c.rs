//! The C entry points: `MPI_X` and `MPI_IX`, and `MPI_X_c` and `MPI_IX_c` with large counts, each also by its profiling name.

use super::profiling::{ARE_SERVED, profiled};
use super::table::table;
use super::{In, Out, given, lists};
use crate::abi::{Handle, Handles};
use crate::buffer::part::Numbers;
use crate::collective::{self, Types};
use crate::context::call::Call;
use crate::context::library::{Library, NO_MPI};
use crate::dispatch::call_cache::Asked;
use crate::dispatch::communicator::thread::is_inside;
use crate::dispatch::nonblocking::{self, Place};
use crate::dispatch::takeover::{Passed, take};
use crate::native::functions::Native;
use std::cell::Cell;
use std::ffi::c_int;
use std::ptr::NonNull;

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
    ($size:ident $handle:ident) => { Handle };
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
    ($size:ident types $value:ident) => {
        Handles::C($value)
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
        $ranks.narrow($value)?
    };
    ($kind:ident $value:ident $ranks:ident) => {
        $value
    };
}

/// Serves a call, blocking or not, or hands it to the native MPI.
macro_rules! served {
    ([] $call:ident $comm:ident ($($kind:ident $value:expr),*) $serve:expr, $native:expr) => {
        take(Asked::new(Call::$call)$(.$kind($value))*, $comm, $serve, $native)
    };
    ([$request:ident] $call:ident $comm:ident $values:tt $serve:expr, $native:expr) => {
        nonblocking::take(Call::$call, $comm, Place::C($request), $serve, $native)
    };
}

/// Declares the entry points of calls: with counts of type `int`, and, where there is one, of type `MPI_Count`; each blocking and
/// not. What is not served goes on to the next function of the name, and from a profiling name to the MPI's own.
macro_rules! entries {
    ($(
        $call:ident: $small:ident $native:ident [$($large:ident $native_large:ident)?] $fortran:tt,
        $begun:ident: $begun_small:ident $begun_native:ident [$($begun_large:ident $begun_native_large:ident)?]
        $begun_fortran:tt,
        $arguments:tt => |$here:ident| $serve:expr;
    )*) => {$(
        entries!(@of small [] $call $small ($native) $arguments $here $serve);
        entries!(@of small [request] $begun $begun_small ($begun_native) $arguments $here $serve);
        $(entries!(@of large [] $call $large ($native $native_large) $arguments $here $serve);)?
        $(entries!(@of large [request] $begun $begun_large ($begun_native $begun_native_large) $arguments $here $serve);)?
    )*};
    (@of $size:ident $request:tt $call:ident $entry:ident $native:tt $arguments:tt $here:ident $serve:expr) => {
        const _: () = {
            entries!(@pass $size $request $native $arguments);
            entries!(@entry $size $request $call $entry $arguments $here $serve);
        };
    };
    (@entry $size:ident [$($request:ident)?] $call:ident $entry:ident
        ($($name:ident: $kind:ident),*) $here:ident $serve:expr) => {
        #[doc = concat!("`", stringify!($entry), "`, taken over.")]
        ///
        /// # Safety
        /// As the standard says of the call.
        #[unsafe(no_mangle)]
        #[allow(non_snake_case)]
        pub unsafe extern "C-unwind" fn $entry(
            $($name: argument!($size $kind),)*
            $($request: Out,)?
        ) -> c_int {
            let at = entries!(@comm $($name)*);
            served!(
                [$($request)?] $call at ($($kind wide!($size $kind $name)),*)
                move |$here| {
                    $(#[allow(unused_variables)] let $name = wide!($size $kind $name);)*
                    $serve
                },
                // SAFETY: the caller's arguments, as they came.
                move |library: &Library| unsafe { pass(library, &library.next $(, $name)* $(, $request)?) }
            )
        }

        profiled!($entry, served, native);

        /// Serves a call by the profiling name, unless a tool behind this library makes it for one that was not served.
        unsafe extern "C-unwind" fn served(
            $($name: argument!($size $kind),)*
            $($request: Out,)?
        ) -> c_int {
            if is_inside() {
                // SAFETY: the caller's arguments, as they came.
                return unsafe { native($($name,)* $($request)?) };
            }
            let at = entries!(@comm $($name)*);
            served!(
                [$($request)?] $call at ($($kind wide!($size $kind $name)),*)
                move |$here| {
                    $(#[allow(unused_variables)] let $name = wide!($size $kind $name);)*
                    $serve
                },
                // SAFETY: the caller's arguments, as they came.
                move |library: &Library| unsafe { pass(library, &library.native $(, $name)* $(, $request)?) }
            )
        }

        /// Has the MPI serve a call that it makes itself.
        unsafe extern "C-unwind" fn native(
            $($name: argument!($size $kind),)*
            $($request: Out,)?
        ) -> c_int {
            match Library::get() {
                // SAFETY: the caller's arguments, as they came.
                Some(library) => unsafe { pass(library, &library.native $(, $name)* $(, $request)?).code },
                None => NO_MPI,
            }
        }
    };
    (@pass small [$($request:ident)?] ($native:ident) ($($name:ident: $kind:ident),*)) => {
        /// Hands a call to one of these functions.
        #[inline(always)]
        // As many as the call has.
        #[allow(clippy::too_many_arguments)]
        unsafe fn pass(
            library: &Library,
            functions: &Native,
            $($name: argument!(small $kind),)*
            $($request: Out,)?
        ) -> Passed {
            // SAFETY: the caller's arguments, as they came.
            let code = unsafe { (functions.$native)($($name,)* $($request)?) };
            came(code, functions.$native as *const (), library.native.$native as *const ())
        }
    };
    (@pass large [$($request:ident)?] ($native:ident $native_large:ident) ($($name:ident: $kind:ident),*)) => {
        /// Hands a call to one of these functions, to one with small counts if there is none with large ones.
        // As many as the call has.
        #[allow(clippy::too_many_arguments)]
        unsafe fn pass(
            library: &Library,
            functions: &Native,
            $($name: argument!(large $kind),)*
            $($request: Out,)?
        ) -> Passed {
            if let Some(native) = functions.$native_large {
                // SAFETY: the caller's arguments, as they came.
                let code = unsafe { native($($name,)* $($request)?) };
                let own = library.native.$native_large.map_or(std::ptr::null(), |own| own as *const ());
                return came(code, native as *const (), own);
            }
            let ranks = Narrow {
                library,
                comm: entries!(@comm $($name)*),
                root: entries!(@root $($name $kind)*),
                stays: entries!(@stays $($request)?),
                lists: Cell::new([None; LISTS]),
            };
            let small = || {
                // SAFETY: the caller's arguments, which fit the smaller types; the lists live until the call is over.
                Some(unsafe {
                    (functions.$native)(
                        $(narrow!($kind $name ranks),)*
                        $($request,)?
                    )
                })
            };
            let code = small();
            ranks.give_back();
            match code {
                Some(code) => came(code, functions.$native as *const (), library.native.$native as *const ()),
                None => came(ranks.too_large(), std::ptr::null(), std::ptr::null()),
            }
        }
    };
    (@stays) => { false };
    (@stays $request:ident) => { true };
    // The communicator is the last argument of every call.
    (@comm $only:ident) => { $only };
    (@comm $first:ident $($rest:ident)+) => { entries!(@comm $($rest)+) };
    (@root) => { None };
    (@root $root:ident rank $($rest:ident)*) => { Some($root) };
    (@root $first:ident $kind:ident $($rest:ident)*) => { entries!(@root $($rest)*) };
}

/// What became of a call that was handed to a function: that of a tool, unless it is the MPI's own, comes by the profiling name then.
#[inline(always)]
fn came(code: c_int, function: *const (), own: *const ()) -> Passed {
    Passed {
        code,
        came_again: ARE_SERVED && function != own,
    }
}

/// The most lists that a call has.
const LISTS: usize = 4;

/// What makes arguments of a large call smaller.
///
/// It has no destructor, as the native MPI may call the user's error handler, which may leave by `longjmp`; then lists are
/// left over.
struct Narrow<'a> {
    library: &'a Library,
    comm: Handle,
    /// The root, if the call has one: lists are then meant for it alone.
    root: Option<c_int>,
    /// Whether the native MPI may look at lists when its function has returned: then they are never given back.
    stays: bool,
    /// Smaller lists, which are to be given back.
    lists: Cell<[Option<NonNull<[c_int]>>; LISTS]>,
}

impl Narrow<'_> {
    /// A list as the small call takes it; `None` if a number does not fit.
    ///
    /// Where a list means nothing, which is on all ranks but the root, it is handed on as nothing.
    fn narrow(&self, list: *const i64) -> Option<*const c_int> {
        let ranks = self.ranks()?;
        if list.is_null() || self.root.is_some_and(|root| !self.is_root(root)) {
            return Some(NonNull::dangling().as_ptr());
        }
        // SAFETY: the user hands in a list of as many numbers as there are ranks.
        let number = |rank| unsafe { list.add(rank).read() };
        let numbers = (0..ranks).map(|rank| c_int::try_from(number(rank)).ok());
        let numbers: Box<[c_int]> = numbers.collect::<Option<_>>()?;
        let list = NonNull::from(Box::leak(numbers));
        let mut lists = self.lists.get();
        if let Some(free) = lists.iter_mut().find(|place| place.is_none()) {
            *free = Some(list);
        }
        self.lists.set(lists);
        Some(list.as_ptr().cast_const().cast())
    }

    /// Gives lists back, which nobody uses any more, unless they stay.
    fn give_back(&self) {
        for list in self.lists.take().into_iter().flatten() {
            if !self.stays {
                // SAFETY: made by `narrow` from a box, and taken from where it was kept just now.
                drop(unsafe { Box::from_raw(list.as_ptr()) });
            }
        }
    }

    /// Whether this rank is the root, which between two groups says so by a negative constant.
    fn is_root(&self, root: c_int) -> bool {
        let Some(abi) = &self.library.abi else {
            return true;
        };
        let comm = abi.handle(self.comm);
        match self.library.is_inter(comm) {
            Some(true) => root < 0 && root != abi.proc_null,
            _ => usize::try_from(root).ok() == self.library.rank(comm),
        }
    }

    /// The number of ranks for which a list has numbers.
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

table!(entries);
