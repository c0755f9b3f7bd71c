//! The takeover: whether a call is served here or by the native MPI, and what becomes of errors.

use crate::abi::Abi;
use crate::collective::here::{Here, Site, Wanted};
use crate::collective::verify::verify;
use crate::context::call::{Call, Reason};
use crate::context::library::{Library, NO_MPI};
use crate::context::say::say;
use crate::context::settings::Said;
use crate::context::unserved::Unserved;
use crate::dispatch::agreement::communicator::Agreement;
use crate::dispatch::call_cache::Asked;
use crate::dispatch::communicator::recovery::{forget, note, own_mistake};
use crate::dispatch::communicator::state::{Owned, STATES, State};
use crate::dispatch::communicator::thread::{Inside, Thread, is_inside};
use crate::network::failure;
use crate::report::counts::{Begun, REPORT, Served};
use allhands::Error;
use allhands::interposition::Interposition;
use allhands::transport::{Signature, TransportError};
use std::ffi::c_int;

/// Serves a call on a communicator, or has the native MPI serve it.
///
/// `serve` gives the number of bytes that this rank had; where it says that the call passes, it has not said anything to
/// other ranks yet.
#[inline]
pub(crate) fn take(
    asked: Asked,
    comm: usize,
    serve: impl Fn(&Here<'_>) -> Result<usize, Unserved>,
    native: impl FnOnce(&Library) -> Passed,
) -> c_int {
    let Some(library) = Library::get() else {
        return NO_MPI;
    };
    let (call, begin) = (asked.call(), REPORT.begin());
    match take_cached(library, &asked, comm) {
        Cached::Served(served) => {
            REPORT.taken(call, served, begin);
            0
        }
        again => take_otherwise(again, library, (&asked, begin), comm, serve, native),
    }
}

/// Does what is to be done with a call that was not served like an earlier one.
#[inline(never)]
fn take_otherwise(
    again: Cached,
    library: &'static Library,
    (asked, begin): (&Asked, Begun),
    comm: usize,
    serve: impl Fn(&Here<'_>) -> Result<usize, Unserved>,
    native: impl FnOnce(&Library) -> Passed,
) -> c_int {
    let failed = match again {
        Cached::Passes(reason) => {
            let next = Next::Passes(reason);
            return next.follow(library, (asked.call(), comm, begin), Some(native));
        }
        Cached::Failed(error) => Some(Unserved::from(*error)),
        Cached::Served(_) | Cached::No => None,
    };
    take_anew(library, (asked, begin), (comm, failed), serve, native)
}

/// What has become of a call that may be like an earlier one.
enum Cached {
    /// It was served.
    Served(Served),
    /// All calls of its communicator pass through.
    Passes(Reason),
    Failed(Box<Error>),
    /// It is another, and nothing has happened.
    No,
}

/// Serves a call that differs from an earlier one in its addresses alone.
#[inline(always)]
fn take_cached(library: &Library, asked: &Asked, comm: usize) -> Cached {
    let Some(abi) = library.abi.as_ref() else {
        return Cached::No;
    };
    let again = |thread: &Thread| {
        if thread.is_inside() {
            return None;
        }
        STATES.last(thread, abi.handle(comm), |state| {
            let shared = match &**state {
                State::Shared(shared) => &**shared,
                State::Native(reason) => return Some(Cached::Passes(*reason)),
            };
            if !asked.is_cacheable() {
                return None;
            }
            let owned = shared.owned.take()?;
            if !owned.line.is_empty() {
                return None;
            }
            let key = asked.key(abi, shared.size);
            let known = owned.call_cache.find(&key, asked)?;
            let _inside = thread.enter();
            Some(match known.run(&owned.comm, asked)? {
                Ok(()) => Cached::Served(known.served),
                Err(error) => Cached::Failed(error),
            })
        })
    };
    Thread::with(again).unwrap_or(Cached::No)
}

/// Serves a call whose arguments are to be looked at, or that has failed when it was made as before; or has the native MPI
/// serve it.
#[inline(never)]
fn take_anew(
    library: &'static Library,
    (asked, begin): (&Asked, Begun),
    (comm, failed): (usize, Option<Unserved>),
    serve: impl Fn(&Here<'_>) -> Result<usize, Unserved>,
    native: impl FnOnce(&Library) -> Passed,
) -> c_int {
    let (call, mut native) = (asked.call(), Some(native));
    let next = match try_to(library, asked, (comm, failed), serve, &mut native) {
        Ok(served) => {
            REPORT.taken(call, served, begin);
            return 0;
        }
        Err(unserved) => Next::of(library, call, unserved),
    };
    next.follow(library, (call, comm, begin), native)
}

/// What became of a call that was handed on.
pub(crate) struct Passed {
    pub(crate) code: c_int,
    /// Whether it went to a tool behind this library, or to a binding of the MPI, and came from there by the profiling name, and
    /// was counted then. (That it did is not noted by the thread: see [`Inside`].)
    pub(crate) came_again: bool,
}

impl Passed {
    /// To nobody.
    const NOWHERE: Passed = Passed {
        code: NO_MPI,
        came_again: false,
    };
}

/// What is to be done with a call that was not served here.
#[derive(Clone, Copy)]
pub(crate) enum Next {
    /// The native MPI serves it.
    Passes(Reason),
    /// It has failed with this code, which goes to the communicator's error handler if it is ours: of what the native MPI said
    /// it has heard.
    Fails { code: c_int, is_ours: bool },
}

impl Next {
    /// What is to be done after that; an error is reported to the user.
    pub(crate) fn of(library: &Library, call: Call, unserved: Unserved) -> Next {
        match unserved {
            Unserved::Pass(reason) => Next::Passes(reason),
            unserved => {
                let (code, is_ours) = report_failure(library, call, &unserved);
                Next::Fails { code, is_ours }
            }
        }
    }

    /// Does it.
    ///
    /// Either may call the user's error handler, which may leave by an exception or by `longjmp`: so neither this nor any function
    /// that calls it has anything left that is to be given back, or to be set back, when it returns. (A thread that was said to be
    /// [inside](Inside) of a call would be so for ever.)
    #[inline]
    pub(crate) fn follow(
        self,
        library: &Library,
        (call, comm, begin): (Call, usize, Begun),
        native: Option<impl FnOnce(&Library) -> Passed>,
    ) -> c_int {
        match self {
            Next::Passes(reason) => {
                // Before the error handler is called, which may not return.
                let is_wrong = reason == Reason::Arguments;
                let noted = is_wrong.then(|| note(library, call, comm)).flatten();
                let passed = native.map_or(Passed::NOWHERE, |native| native(library));
                let was_made = passed.code == 0 || passed.came_again;
                if let Some(noted) = noted.filter(|_| was_made) {
                    forget(library, comm, noted);
                } else if reason == Reason::NoKernel && !was_made {
                    note(library, call, comm);
                }
                // Who counts nothing need not look.
                if begin.is_noticed() && !passed.came_again {
                    REPORT.passed(call, reason, begin);
                }
                passed.code
            }
            Next::Fails { code, is_ours } => {
                if let Some(abi) = library.abi.as_ref().filter(|_| is_ours) {
                    if library.is_fatal(abi, abi.handle(comm)) {
                        let by = format!("an error in {}", call.name());
                        REPORT.write(&by, true);
                    }
                    // SAFETY: a communicator, and an error class of this MPI.
                    unsafe { (library.native.comm_call_errhandler)(abi.handle(comm), code) };
                }
                code
            }
        }
    }
}

/// Serves a call, unless it is to pass through.
#[inline]
fn try_to(
    library: &'static Library,
    asked: &Asked,
    (comm, mut failed): (usize, Option<Unserved>),
    serve: impl Fn(&Here<'_>) -> Result<usize, Unserved>,
    native: &mut Option<impl FnOnce(&Library) -> Passed>,
) -> Result<Served, Unserved> {
    let abi = library.abi.as_ref().ok_or(Unserved::Pass(Reason::Inside))?;
    if is_inside() {
        return Err(Unserved::Pass(Reason::Inside));
    }
    let handle = abi.handle(comm);
    if handle == abi.comm_null {
        return Err(Unserved::Pass(Reason::Arguments));
    }
    let _inside = Inside::enter();
    let state = STATES.of(library, abi, handle);
    let shared = match &*state {
        State::Shared(shared) => &**shared,
        State::Native(reason) => return Err(Unserved::Pass(*reason)),
    };
    let settings = library.settings();
    let algorithm = match settings.of(asked.call()) {
        None => None,
        Some(Said::Off) => return Err(Unserved::Pass(Reason::Off)),
        Some(Said::Algorithm(name)) => Some(name.as_str()),
    };
    let mut owned = shared.owned.take().ok_or(Unserved::Pass(Reason::Inside))?;
    let owned = &mut *owned;
    let site = shared.site(library, abi, handle);
    let wanted = Wanted {
        call: asked.call(),
        algorithm,
        is_cacheable: asked.is_cacheable(),
    };
    let agreement = || Agreement::of(library, abi, (handle, shared.rank, shared.size));
    loop {
        if failed.is_some() {
            owned.comm.spread();
        }
        if let Some(unserved) = failed.take()
            && !owned.come_back(&agreement(), (asked, abi), &unserved)
        {
            return Err(unserved);
        }
        if !owned.is_on_course()
            && let Err(unserved) = owned.find_course(&agreement())
        {
            return Err(own_mistake(owned, site, wanted, serve).unwrap_or(unserved));
        }
        if !owned.line.is_empty() || owned.comm.is_busy() {
            owned.settle();
        }
        let begun = owned.comm.begun();
        match serve_on(owned, (site, shared.apart), (asked, wanted), &serve, native) {
            Ok(served) => return Ok(served),
            Err(unserved @ Unserved::Failed(_)) if owned.comm.begun() > begun => {
                failed = Some(unserved);
            }
            // It was stopped before it could begin.
            Err(Unserved::Failed(_)) if owned.comm.stopped().is_some() => {}
            Err(unserved) => {
                owned.failed(asked.call(), begun, &unserved);
                return Err(unserved);
            }
        }
    }
}

/// Serves a call on a communicator that has no failure behind it.
#[inline]
fn serve_on(
    owned: &mut Owned,
    (site, apart): (Site<'_>, bool),
    (asked, wanted): (&Asked, Wanted<'_>),
    serve: &impl Fn(&Here<'_>) -> Result<usize, Unserved>,
    native: &mut Option<impl FnOnce(&Library) -> Passed>,
) -> Result<Served, Unserved> {
    let Owned {
        comm, call_cache, ..
    } = owned;
    let here = Here::new(site, comm, wanted, None);
    let bytes = serve(&here)?;
    let found = here.found();
    let verified = here.is_verified();
    if verified && let Some(native) = native.take() {
        verify(&here, found.witness.as_ref(), |library| {
            native(library).code
        })?;
    }
    let served = REPORT.served(wanted.call, (bytes, apart), found.served_by, verified);
    if let Some(replay) = found.cached_call.and_then(|call| asked.replay(call))
        && let Some(counts) = asked.counts(site.size)
    {
        let key = asked.key(site.abi, site.size);
        call_cache.keep((key, counts), replay, served);
    }
    Ok(served)
}

/// Reports to the user that a call has failed; gives the error class for it, and whether the error is ours.
#[cold]
pub(crate) fn report_failure(library: &Library, call: Call, unserved: &Unserved) -> (c_int, bool) {
    let Some(abi) = &library.abi else {
        return (NO_MPI, false);
    };
    let (code, what) = match unserved {
        Unserved::Native(code) => return (*code, false),
        Unserved::Pass(_) => return (0, false),
        Unserved::LongElement(bytes) => (
            abi.err_other,
            format!(
                "an element of {bytes} bytes with gaps is longer than the int of MPI_Pack can say"
            ),
        ),
        Unserved::Differs(rank, byte) => (
            abi.err_other,
            format!("byte {byte} of the result of rank {rank} is not what the native MPI gives"),
        ),
        Unserved::Wrong(mistake) => (mistake.class(abi, call), mistake.to_string()),
        Unserved::Failed(error) => (class_of(abi, error), error.to_string()),
    };
    say(format_args!("{}: {what}", call.name()));
    (code, true)
}

/// The class of an error of ours.
fn class_of(abi: &Abi, error: &Error) -> c_int {
    match error {
        Error::Transport(TransportError::Network { .. }) => failure().unwrap_or(abi.err_other),
        error if is_of_length(error) => abi.err_truncate,
        _ => abi.err_other,
    }
}

/// Whether an error says that lengths do not match.
fn is_of_length(error: &Error) -> bool {
    fn differ(one: &Signature, other: &Signature) -> bool {
        let same = |s: &Signature| (s.collective, s.root, s.element, s.operator);
        one.bytes != other.bytes && same(one) == same(other)
    }
    fn is(error: &TransportError) -> bool {
        match error {
            TransportError::Length { .. } | TransportError::TooLong { .. } => true,
            TransportError::Mismatch { mine, theirs, .. } => {
                theirs.as_ref().is_some_and(|theirs| differ(mine, theirs))
            }
            TransportError::Poisoned { error, .. } => is(error),
            _ => false,
        }
    }
    match error {
        Error::Length { .. } | Error::CountsDiffer { .. } => true,
        Error::Transport(error) => is(error),
        _ => false,
    }
}
