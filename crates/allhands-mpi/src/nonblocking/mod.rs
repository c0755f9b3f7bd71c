//! Nonblocking calls: begun here, taken further by the MPI's own progress, and told of by a request of the MPI's.
//!
//! The request is a generalized one, so every way to wait for it, test it or free it is the MPI's own. Calls go further in a hook
//! that the MPI calls wherever it makes progress: only where there is such a hook are they taken over, as a program may wait in
//! a call that knows nothing of ours. To begin one never waits for another rank; so a communicator's ranks have to have agreed on
//! one of ours before, in a blocking call.

mod hook;
mod kept;
mod line;
mod request;
mod under_way;
mod waitall;

pub(crate) use hook::{Callback, Hook, Poll};
pub(crate) use kept::{Kept, Later};
pub(crate) use line::Line;
pub(crate) use request::Place;
pub(crate) use under_way::UnderWay;
pub(crate) use waitall::see_to;

use crate::abi::{Abi, Handle};
use crate::library::{Inside, Library, NO_MPI, is_inside};
use crate::repeat::Asked;
use crate::settings::Said;
use crate::state::{Shared, State};
use crate::takeover::{Call, Here, Reason, Unserved, pass_on, raise};
use allhands::End;
use request::Request;
use std::ffi::c_int;
use std::sync::Arc;
use under_way::Begun;

/// Begins a call on a communicator, or has the native MPI begin it; the request goes to `place`.
pub(crate) fn take(
    call: Call,
    comm: usize,
    place: Place,
    serve: impl FnOnce(&Here<'_>) -> Result<usize, Unserved>,
    native: impl FnOnce(&Library) -> c_int,
) -> c_int {
    let Some(library) = Library::get() else {
        return NO_MPI;
    };
    let begin = library.report.begin();
    match try_to(library, call, comm, place, serve) {
        Ok(bytes) => {
            library.report.taken(call, (bytes, false), begin);
            0
        }
        Err(Unserved::Pass(reason)) => {
            pass_on(library, (call, comm), (reason, begin), Some(native))
        }
        Err(unserved) => raise(library, call, comm, &unserved),
    }
}

/// The bytes that this rank had.
fn try_to(
    library: &'static Library,
    call: Call,
    comm: usize,
    place: Place,
    serve: impl FnOnce(&Here<'_>) -> Result<usize, Unserved>,
) -> Result<usize, Unserved> {
    let abi = library.abi.as_ref().ok_or(Unserved::Pass(Reason::Inside))?;
    if is_inside() {
        return Err(Unserved::Pass(Reason::Inside));
    }
    let handle = abi.handle(comm);
    let _inside = Inside::enter();
    let state = library.states.met(handle);
    let state = state.ok_or(Unserved::Pass(Reason::Unmet))?;
    let shared = match &*state {
        State::Shared(shared) => &**shared,
        State::Native(reason) => return Err(Unserved::Pass(*reason)),
    };
    let settings = library.settings();
    let algorithm = match settings.of(call) {
        None => None,
        Some(Said::Off) => return Err(Unserved::Pass(Reason::Off)),
        Some(Said::Algorithm(name)) => Some(name.as_str()),
    };
    match () {
        () if shared.apart => return Err(Unserved::Pass(Reason::SeveralNodes)),
        () if library.hook.is_none() => return Err(Unserved::Pass(Reason::NoHook)),
        () if settings.verify => return Err(Unserved::Pass(Reason::Verified)),
        () => {}
    }
    let at = (library, abi, handle);
    let (bytes, kept, end) = begin(at, shared, (call, algorithm), serve)?;
    let Some(end) = end else {
        kept.deliver(library, true)?;
        let request = Request::ended(library, abi)?;
        // SAFETY: the user has room for a request there.
        unsafe { place.put(library, abi, request) };
        return Ok(bytes);
    };
    let request = match Request::start(library, abi) {
        Ok(request) => request,
        Err(error) => {
            // It goes on, and nobody will tell of its end.
            std::mem::forget((kept, state));
            return Err(error);
        }
    };
    // SAFETY: as above.
    unsafe { place.put(library, abi, request.handle()) };
    let begun = Begun {
        state,
        call,
        end,
        kept,
        request,
    };
    library.under_way.add(library, begun);
    Ok(bytes)
}

/// Describes a call and begins it, at once or when those before it have; gives the bytes that this rank had, what is to be kept
/// until the end, and where that is told, unless it has come.
fn begin(
    at: (&Library, &Abi, Handle),
    shared: &Shared,
    (call, algorithm): (Call, Option<&str>),
    serve: impl FnOnce(&Here<'_>) -> Result<usize, Unserved>,
) -> Result<(usize, Kept, Option<Arc<End>>), Unserved> {
    let mut owned = shared.owned.take().ok_or(Unserved::Pass(Reason::Inside))?;
    let owned = &mut *owned;
    owned.may_begin()?;
    let (asked, later) = (Asked::new(call), Later::default());
    let begun = owned.comm.begun();
    let here = Here::new(at, shared, &owned.comm, (&asked, algorithm), Some(&later));
    let described = serve(&here);
    drop(here);
    let started = described.and_then(|bytes| {
        let (operation, kept) = later.of_call(at.0)?;
        if !owned.comm.begins_alone(&operation)? {
            return Err(Unserved::Pass(Reason::NoAlgorithm));
        }
        // SAFETY: what the operation borrows is the user's, who leaves it alone until the request has ended, or kept until then.
        Ok((bytes, kept, unsafe { owned.begin(operation)? }))
    });
    started.inspect_err(|unserved| owned.failed(begun, unserved))
}
