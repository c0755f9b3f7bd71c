//! What is under way: the calls of this process that have not ended, and the hook's way through them.

use super::hook::Hook;
use super::request::{Request, left};
use crate::collective::kept::Kept;
use crate::context::call::Call;
use crate::context::library::{Library, poll};
use crate::context::say::say;
use crate::context::session::has_world;
use crate::context::unserved::Unserved;
use crate::dispatch::communicator::state::State;
use crate::dispatch::takeover::report_failure;
use allhands::interposition::{End, Interposition};
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

/// A call that has not ended, as far as its request knows.
pub(super) struct Begun {
    /// It lives on here when the user frees the communicator.
    pub(super) state: Arc<State>,
    pub(super) call: Call,
    pub(super) end: Arc<End>,
    pub(super) kept: Kept,
    pub(super) request: Request,
}

/// The calls of all communicators.
pub(crate) struct UnderWay {
    calls: Mutex<Calls>,
    /// The requests that have not ended, to be counted without the lock.
    number: AtomicUsize,
    looks: AtomicU32,
    /// Whether the ranks of the world have come to their end.
    is_over: AtomicBool,
}

struct Calls {
    list: Vec<Begun>,
    /// Whether the MPI calls us.
    is_watched: bool,
}

/// What a turn of the hook has brought.
pub(super) enum Progress {
    None,
    /// Requests have ended, or there are none; `is_last`: the MPI need not call us until there are more.
    Ended {
        calls: usize,
        is_last: bool,
    },
}

/// Those of this process.
pub(crate) static UNDER_WAY: UnderWay = UnderWay {
    calls: Mutex::new(Calls {
        list: Vec::new(),
        is_watched: false,
    }),
    number: AtomicUsize::new(0),
    looks: AtomicU32::new(0),
    is_over: AtomicBool::new(false),
};

impl UnderWay {
    /// Sees to a call that has begun.
    pub(super) fn add(&self, library: &Library, begun: Begun) {
        let mut calls = self.calls.lock().unwrap_or_else(PoisonError::into_inner);
        calls.list.push(begun);
        self.number.fetch_add(1, Ordering::Release);
        let is_watched = std::mem::replace(&mut calls.is_watched, true);
        drop(calls);
        if !is_watched && let Some(hook) = Hook::get(library) {
            hook.watch();
        }
    }

    /// Whether there is no request that has not ended.
    #[inline]
    pub(crate) fn is_empty(&self) -> bool {
        self.number.load(Ordering::Acquire) == 0
    }

    /// Takes all calls further, and ends the requests of those that have ended; never waits, not even for another thread.
    pub(super) fn advance(&self, library: &Library) -> Progress {
        /// Turns between which it is looked whether ranks have died.
        const LOOKS: u32 = 256;
        if self.is_empty() && matches!(Hook::get(library), Some(Hook::OpenMpi { .. })) {
            return Progress::None;
        }
        // Whoever has it sees to all calls; that may be this thread, if a call of ours has the MPI make progress.
        let Ok(mut calls) = self.calls.try_lock() else {
            return Progress::None;
        };
        let look = self.looks.fetch_add(1, Ordering::Relaxed);
        let looks_out = look.is_multiple_of(LOOKS);
        let mut last = std::ptr::null();
        for begun in &calls.list {
            if last != Arc::as_ptr(&begun.state) {
                last = Arc::as_ptr(&begun.state);
                begun.advance(looks_out);
            }
        }
        let mut ended = calls.list.extract_if(.., |begun| begun.end.get().is_some());
        // Mostly one alone.
        let (first, others) = (ended.next(), ended.collect::<Vec<Begun>>());
        let is_last = calls.list.is_empty();
        if is_last {
            calls.is_watched = false;
        }
        drop(calls);
        if first.is_none() && !is_last {
            return Progress::None;
        }
        let number = usize::from(first.is_some()) + others.len();
        for begun in first.into_iter().chain(others) {
            begun.complete(library);
        }
        self.number.fetch_sub(number, Ordering::Release);
        Progress::Ended {
            calls: number,
            is_last,
        }
    }

    /// Takes calls that nobody waits for on this rank further where the MPI is about to end, once and for some time: other ranks may
    /// wait for them.
    ///
    /// Ranks do not wait for one another here: one may make collectives yet, where attributes of `MPI_COMM_SELF` are deleted, before
    /// another has come so far.
    pub(crate) fn linger(&self) {
        const GRACE: Duration = Duration::from_secs(2);
        if self.is_over.swap(true, Ordering::Relaxed) {
            return;
        }
        let since = Instant::now();
        while !self.is_empty() && since.elapsed() < GRACE {
            poll();
            std::thread::yield_now();
        }
    }

    /// Forgets all calls, as the MPI is about to end; that some are left is the user's mistake, and reported.
    pub(crate) fn forget(&self, library: &Library) {
        for (call, number) in left() {
            let world = library.abi.as_ref().filter(|_| has_world(library));
            let who = match world.and_then(|abi| library.rank(abi.comm_world)) {
                Some(rank) => format!("rank {rank}"),
                None => format!("process {}", std::process::id()),
            };
            let (calls, call) = (if number == 1 { "call" } else { "calls" }, call.name());
            say(format_args!(
                "{who} ends with {number} {calls} of {call} that it never waited for"
            ));
        }
        let mut calls = self.calls.lock().unwrap_or_else(PoisonError::into_inner);
        for begun in std::mem::take(&mut calls.list) {
            // Other ranks may still have its addresses.
            std::mem::forget(begun.kept);
            self.number.fetch_sub(1, Ordering::Release);
        }
        calls.is_watched = false;
        drop(calls);
        if let Some(hook) = Hook::get(library) {
            hook.leave();
        }
    }
}

impl Begun {
    /// Takes the calls of its communicator further, unless a thread is in a call on it, which does the same.
    fn advance(&self, looks_out: bool) {
        let State::Shared(shared) = &*self.state else {
            return;
        };
        let Some(mut owned) = shared.owned.try_take() else {
            return;
        };
        owned.advance();
        if looks_out {
            owned.comm.look_out();
        }
    }

    /// Brings what has come to where the user wants it, and ends the request.
    fn complete(self, library: &Library) {
        let Begun {
            call,
            end,
            kept,
            request,
            ..
        } = self;
        let ended = match end.get() {
            Some(Err(error)) => Err(Unserved::Failed(error.clone())),
            _ => Ok(()),
        };
        let delivered = kept.deliver(library, ended.is_ok());
        let code = match ended.and(delivered) {
            Ok(()) => 0,
            Err(unserved) => report_failure(library, call, &unserved).0,
        };
        request.complete(library, code);
    }
}
