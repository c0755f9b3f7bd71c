//! Nonblocking calls: begun here, taken further by the MPI's own progress, and reported by a request of the MPI's.
//!
//! The request is a generalized one, so every way to wait for it, test it or free it is the MPI's own. Calls go further in a hook
//! that the MPI calls wherever it makes progress: only where there is such a hook are they taken over, as a program may wait in
//! a call that knows nothing of ours. To begin one never waits for another rank (but for a second at most, after a call that was wrong on this rank alone); so a
//! communicator's ranks have to have agreed on one of ours before, in a blocking call.
//!
//! It owns the list of calls that are under way, their requests and the hook. Entry points call it, and the MPI's progress. It never
//! waits for a lock in the hook.

mod hook;
mod request;
mod under_way;
mod waitall;

pub(crate) use request::Place;
pub(crate) use under_way::UNDER_WAY;
pub(crate) use waitall::see_to;

use crate::collective::here::{Here, Site, Wanted};
use crate::collective::kept::{Kept, Later};
use crate::context::call::{Call, Reason};
use crate::context::library::{Library, NO_MPI};
use crate::context::settings::Said;
use crate::context::unserved::Unserved;
use crate::dispatch::communicator::state::{STATES, Shared, State};
use crate::dispatch::communicator::thread::{Inside, is_inside};
use crate::dispatch::takeover::{Next, Passed};
use crate::report::counts::{REPORT, Served};
use allhands::interposition::{End, Interposition};
use hook::Hook;
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
    native: impl FnOnce(&Library) -> Passed,
) -> c_int {
    let Some(library) = Library::get() else {
        return NO_MPI;
    };
    let begin = REPORT.begin();
    let next = match try_to(library, call, comm, place, serve) {
        Ok(served) => {
            REPORT.taken(call, served, begin);
            return 0;
        }
        Err(unserved) => Next::of(library, call, unserved),
    };
    next.follow(library, (call, comm, begin), Some(native))
}

/// Whether calls on a communicator are begun here.
fn may_begin(library: &Library, shared: &Shared) -> Result<(), Unserved> {
    match Hook::get(library) {
        _ if shared.apart => Err(Unserved::Pass(Reason::SeveralNodes)),
        None => Err(Unserved::Pass(Reason::NoHook)),
        Some(_) if library.settings().verify => Err(Unserved::Pass(Reason::Verified)),
        Some(_) => Ok(()),
    }
}

/// Begins a call, unless it is to pass through.
fn try_to(
    library: &'static Library,
    call: Call,
    comm: usize,
    place: Place,
    serve: impl FnOnce(&Here<'_>) -> Result<usize, Unserved>,
) -> Result<Served, Unserved> {
    let abi = library.abi.as_ref().ok_or(Unserved::Pass(Reason::Inside))?;
    if is_inside() {
        return Err(Unserved::Pass(Reason::Inside));
    }
    let handle = abi.handle(comm);
    let _inside = Inside::enter();
    let state = STATES.agreed(handle);
    let state = state.ok_or(Unserved::Pass(Reason::NotAgreed))?;
    let shared = match &*state {
        State::Shared(shared) => &**shared,
        State::Native(reason) => return Err(Unserved::Pass(*reason)),
    };
    let algorithm = match library.settings().of(call) {
        None => None,
        Some(Said::Off) => return Err(Unserved::Pass(Reason::Off)),
        Some(Said::Algorithm(name)) => Some(name.as_str()),
    };
    may_begin(library, shared)?;
    let site = shared.site(library, abi, handle);
    let (served, kept, end) = begin(site, shared, (call, algorithm), serve)?;
    let Some(end) = end else {
        kept.deliver(library, true)?;
        let request = Request::ended(library, abi, call)?;
        // SAFETY: the user has room for a request there.
        unsafe { place.put(library, abi, request) };
        return Ok(served);
    };
    let request = match Request::start(library, abi, call) {
        Ok(request) => request,
        Err(error) => {
            // It goes on, and nobody will report its end.
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
    UNDER_WAY.add(library, begun);
    Ok(served)
}

/// Describes a call and begins it, at once or when those before it have; gives what is to be kept until the end, and where that is
/// reported, unless it has come.
fn begin(
    site: Site<'_>,
    shared: &Shared,
    (call, algorithm): (Call, Option<&str>),
    serve: impl FnOnce(&Here<'_>) -> Result<usize, Unserved>,
) -> Result<(Served, Kept, Option<Arc<End>>), Unserved> {
    let mut owned = shared.owned.take().ok_or(Unserved::Pass(Reason::Inside))?;
    let owned = &mut *owned;
    owned.may_begin()?;
    let later = Later::default();
    let begun = owned.comm.begun();
    let wanted = Wanted {
        call,
        algorithm,
        is_cacheable: false,
    };
    let here = Here::new(site, &owned.comm, wanted, Some(&later));
    let described = serve(&here);
    drop(here);
    let started = described.and_then(|bytes| {
        let (operation, kept) = later.of_call(site.library)?;
        if !owned.comm.begins_alone(&operation)? {
            return Err(Unserved::Pass(Reason::NoAlgorithm));
        }
        let again = REPORT.is_wanted().then(|| operation.clone());
        // SAFETY: what the operation borrows is the user's, who leaves it alone until the request has ended, or kept until then.
        let end = unsafe { owned.begin(operation)? };
        // A call that waits in line has no plan yet, unless an earlier one was like it.
        let algorithm = again.and_then(|again| owned.comm.served_by(&again));
        let served = REPORT.served(call, (bytes, false), algorithm, false);
        Ok((served, kept, end))
    });
    started.inspect_err(|unserved| owned.failed(call, begun, unserved))
}
