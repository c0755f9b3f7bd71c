//! The hook: how the MPI calls us wherever it makes progress.
//!
//! Open MPI calls a function that is registered once, in every wait of every kind. MPICH calls one until it says that it is done, and
//! learns of progress in no other way: so it says so whenever a call has ended, and has another one started if there are more.

use super::under_way::{Progress, UNDER_WAY};
use crate::abi::{Family, Handle};
use crate::context::library::Library;
use crate::native::functions::{Callback, Poll};
use std::ffi::{c_int, c_void};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, Ordering};

type Start = unsafe extern "C-unwind" fn(Poll, *mut c_void, usize) -> c_int;
type Spawn = unsafe extern "C-unwind" fn(*mut c_void, Poll, *mut c_void, usize) -> c_int;
type Register = unsafe extern "C-unwind" fn(Callback) -> c_int;

/// The hook of a loaded MPI.
pub(crate) enum Hook {
    OpenMpi {
        register: Register,
        unregister: Register,
        is_registered: AtomicBool,
        /// The request that it hands out itself where there is nothing to wait for, if it shows it.
        ended: Option<Handle>,
    },
    Mpich {
        start: Start,
        spawn: Spawn,
    },
}

/// No stream in particular, in MPICH's ABI.
const STREAM_NULL: usize = 0x3c00_0000;

/// What MPICH's poll functions say.
const NO_PROGRESS: c_int = 0;
const DONE: c_int = 1;

impl Hook {
    /// That of the MPI that is loaded; `None` if it has none.
    pub(super) fn get(library: &Library) -> Option<&'static Hook> {
        static HOOK: OnceLock<Option<Hook>> = OnceLock::new();
        HOOK.get_or_init(|| Hook::of(library)).as_ref()
    }

    fn of(library: &Library) -> Option<Hook> {
        let Library { native, object, .. } = library;
        match library.abi.as_ref()?.family {
            Family::OpenMpi => Some(Hook::OpenMpi {
                register: native.opal_progress_register?,
                unregister: native.opal_progress_unregister?,
                is_registered: AtomicBool::new(false),
                ended: object.symbol(c"ompi_request_empty").map(|at| at as usize),
            }),
            Family::Mpich => Some(Hook::Mpich {
                start: native.async_start?,
                spawn: native.async_spawn?,
            }),
            Family::Standard => None,
        }
    }

    /// A request that has ended and need not be made, if the MPI has one.
    pub(super) fn ended(&self) -> Option<Handle> {
        match self {
            Hook::OpenMpi { ended, .. } => *ended,
            Hook::Mpich { .. } => None,
        }
    }

    /// Has the MPI call us from now on; whoever calls this has seen to it that nobody else does at the same time.
    pub(super) fn watch(&self) {
        match self {
            Hook::OpenMpi {
                register,
                is_registered,
                ..
            } => {
                if !is_registered.swap(true, Ordering::AcqRel) {
                    // SAFETY: a function that lives as long as the process.
                    unsafe { register(called) };
                }
            }
            Hook::Mpich { start, .. } => {
                // SAFETY: as above; it takes no state.
                unsafe { start(polled, std::ptr::null_mut(), STREAM_NULL) };
            }
        }
    }

    /// Has the MPI call us no more, as it is about to end. MPICH's function says itself that it is done.
    pub(super) fn leave(&self) {
        if let Hook::OpenMpi {
            unregister,
            is_registered,
            ..
        } = self
            && is_registered.swap(false, Ordering::AcqRel)
        {
            // SAFETY: the function that was registered.
            unsafe { unregister(called) };
        }
    }
}

/// What Open MPI calls.
unsafe extern "C" fn called() -> c_int {
    let library = Library::get();
    library.map_or(0, |library| match UNDER_WAY.advance(library) {
        Progress::None => 0,
        Progress::Ended { calls, .. } => calls as c_int,
    })
}

/// What MPICH calls.
unsafe extern "C" fn polled(thing: *mut c_void) -> c_int {
    let Some(library) = Library::get() else {
        return DONE;
    };
    match UNDER_WAY.advance(library) {
        Progress::None => NO_PROGRESS,
        Progress::Ended { is_last: true, .. } => DONE,
        Progress::Ended { .. } => {
            if let Some(Hook::Mpich { spawn, .. }) = Hook::get(library) {
                // SAFETY: what the MPI has handed in, and a function as before.
                unsafe { spawn(thing, polled, std::ptr::null_mut(), STREAM_NULL) };
            }
            DONE
        }
    }
}
