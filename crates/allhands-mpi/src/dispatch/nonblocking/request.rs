//! The request: a generalized one of the MPI's, which stands for a call of ours.

use super::hook::Hook;
use crate::abi::{Abi, Handle};
use crate::context::call::Call;
use crate::context::library::{Library, NO_MPI};
use crate::context::unserved::Unserved;
use std::collections::BTreeMap;
use std::ffi::{c_int, c_void};
use std::sync::atomic::{AtomicIsize, AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};

/// Where the user wants a request.
#[derive(Clone, Copy)]
pub(crate) enum Place {
    /// A variable of C.
    C(*mut u8),
    /// A number of Fortran.
    Fortran(*mut c_int),
}

impl Place {
    /// Puts a request there.
    ///
    /// # Safety
    /// There is room for one.
    pub(super) unsafe fn put(self, library: &Library, abi: &Abi, request: Handle) {
        match self {
            // SAFETY: the caller's promise.
            Place::C(place) => unsafe { abi.store(request, place) },
            Place::Fortran(place) => {
                // An MPI whose Fortran does not come through C has it; handles of others are numbers.
                let c2f = library.native.request_c2f;
                // SAFETY: gives the number of a request that is there.
                let number = c2f.map_or(request as c_int, |c2f| unsafe { c2f(request) });
                // SAFETY: the caller's promise.
                unsafe { place.write(number) };
            }
        }
    }
}

/// A request that has not ended.
pub(super) struct Request {
    handle: Handle,
    /// The number by which the MPI asks for its error.
    number: usize,
}

/// Error codes of requests, by their numbers; of those alone that have failed.
static FAILED: Mutex<BTreeMap<usize, c_int>> = Mutex::new(BTreeMap::new());

/// How many there are.
static FAILURES: AtomicUsize = AtomicUsize::new(0);

/// How many requests of each call there are that the program has not waited for, whether or not they have ended.
static LEFT: [AtomicIsize; Call::ALL.len()] = [const { AtomicIsize::new(0) }; Call::ALL.len()];

/// The calls that the program has not waited for, and how often, as far as they have requests of their own; once.
pub(super) fn left() -> Vec<(Call, isize)> {
    let left = |call: Call| (call, LEFT[call as usize].swap(0, Ordering::Relaxed));
    let calls = Call::ALL.into_iter().map(left);
    // Those that are freed later count down from nothing.
    calls.filter(|(_, number)| *number > 0).collect()
}

impl Request {
    /// A new one, of a call.
    pub(super) fn start(library: &Library, abi: &Abi, call: Call) -> Result<Request, Unserved> {
        static NEXT: AtomicUsize = AtomicUsize::new(1);
        // The number says which call it is, too.
        let number = NEXT.fetch_add(1, Ordering::Relaxed) * Call::ALL.len() + call as usize;
        let mut handle = 0;
        let state = std::ptr::without_provenance_mut(number);
        let start = library.native.grequest_start;
        // SAFETY: functions that live as long as the process, a state that they take for what it is, and room for a handle.
        let error = unsafe { start(query, free, cancel, state, &raw mut handle) };
        match error {
            0 => {
                LEFT[call as usize].fetch_add(1, Ordering::Relaxed);
                Ok(Request {
                    handle: abi.handle(handle),
                    number,
                })
            }
            error => Err(Unserved::Native(error)),
        }
    }

    /// One that has ended well before anybody sees it.
    pub(super) fn ended(library: &Library, abi: &Abi, call: Call) -> Result<Handle, Unserved> {
        if let Some(ended) = Hook::get(library).and_then(Hook::ended) {
            return Ok(ended);
        }
        let request = Request::start(library, abi, call)?;
        let handle = request.handle;
        request.complete(library, 0);
        Ok(handle)
    }

    pub(super) fn handle(&self) -> Handle {
        self.handle
    }

    /// Ends it, with an error code or 0.
    pub(super) fn complete(self, library: &Library, code: c_int) {
        if code != 0 {
            let mut failed = FAILED.lock().unwrap_or_else(PoisonError::into_inner);
            failed.insert(self.number, code);
            FAILURES.store(failed.len(), Ordering::Release);
        }
        // SAFETY: a request of ours, which ends once.
        unsafe { (library.native.grequest_complete)(self.handle) };
    }
}

/// Says how a request has ended: nothing was received from anybody.
unsafe extern "C" fn query(state: *mut c_void, status: *mut u8) -> c_int {
    let Some(library) = Library::get() else {
        return NO_MPI;
    };
    let Some(abi) = &library.abi else {
        return NO_MPI;
    };
    // SAFETY: the MPI hands in a status to write to.
    unsafe {
        (library.native.status_set_elements)(status, abi.byte, 0);
        (library.native.status_set_cancelled)(status, 0);
    }
    if FAILURES.load(Ordering::Acquire) == 0 {
        return 0;
    }
    let failed = FAILED.lock().unwrap_or_else(PoisonError::into_inner);
    failed.get(&state.addr()).copied().unwrap_or(0)
}

/// What becomes of a request, and of its error, when nobody asks for it any more.
unsafe extern "C" fn free(state: *mut c_void) -> c_int {
    LEFT[state.addr() % LEFT.len()].fetch_sub(1, Ordering::Relaxed);
    if FAILURES.load(Ordering::Acquire) > 0 {
        let mut failed = FAILED.lock().unwrap_or_else(PoisonError::into_inner);
        failed.remove(&state.addr());
        FAILURES.store(failed.len(), Ordering::Release);
    }
    0
}

/// Collective calls cannot be cancelled.
unsafe extern "C" fn cancel(_: *mut c_void, _: c_int) -> c_int {
    0
}
