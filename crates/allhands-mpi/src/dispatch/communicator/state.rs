//! The state of a communicator: whether its calls are taken over, as all its ranks have agreed in the first of them.

use crate::abi::{Abi, Handle};
use crate::collective::here::Site;
use crate::context::attribute::copy;
use crate::context::call::Reason;
use crate::context::library::Library;
use crate::context::map::{Map, empty};
use crate::context::quiet::Quiet;
use crate::context::session::has_world;
use crate::dispatch::agreement::communicator::Agreement;
use crate::dispatch::agreement::node;
use crate::dispatch::call_cache::CallCache;
use crate::dispatch::communicator::line::Line;
use crate::dispatch::communicator::ownership::Ownership;
use crate::dispatch::communicator::recovery::Course;
use crate::dispatch::communicator::thread::Thread;
use crate::network::Traffic;
use allhands::Communicator;
use std::ffi::{c_int, c_void};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError, RwLock};

/// What is known of a communicator of the MPI.
pub(crate) enum State {
    /// Its calls are taken over.
    Shared(Box<Shared>),
    /// Its calls pass through.
    Native(Reason),
}

/// A communicator whose ranks share memory, or a network.
pub(crate) struct Shared {
    pub(crate) owned: Ownership<Owned>,
    pub(crate) rank: usize,
    pub(crate) size: usize,
    /// Whether ranks are on several nodes.
    pub(crate) apart: bool,
}

impl Shared {
    /// Where calls on it are made.
    #[inline]
    pub(crate) fn site<'a>(&self, library: &'a Library, abi: &'a Abi, handle: Handle) -> Site<'a> {
        Site {
            library,
            abi,
            handle,
            rank: self.rank,
            size: self.size,
        }
    }
}

/// What one thread at a time has of a communicator.
pub(crate) struct Owned {
    pub(crate) comm: Communicator,
    /// What goes between nodes, if its ranks are on several.
    pub(crate) traffic: Option<Arc<Traffic>>,
    pub(crate) call_cache: CallCache,
    /// Nonblocking calls that are not begun yet.
    pub(crate) line: Line,
    /// What became of calls that failed.
    pub(crate) course: Course,
}

/// The states of all communicators, by their handles.
pub(crate) struct States {
    known: RwLock<Map<Handle, Arc<State>>>,
    /// The key of the attribute by which the MPI reports that a communicator is freed.
    key: Mutex<Option<c_int>>,
    /// Grows whenever a communicator is forgotten.
    epoch: AtomicU64,
}

/// The communicator of a thread's last call of those that share a place, the epoch then, and its state.
pub(crate) struct Last {
    comm: Handle,
    epoch: u64,
    state: Arc<State>,
}

/// Those of this process.
pub(crate) static STATES: States = States {
    known: RwLock::new(empty()),
    key: Mutex::new(None),
    epoch: AtomicU64::new(0),
};

impl States {
    /// The state of a communicator, agreed upon now if this is the first collective on it.
    #[inline]
    pub(crate) fn of(&self, library: &Library, abi: &Abi, comm: Handle) -> Arc<State> {
        let epoch = self.epoch.load(Ordering::Acquire);
        let last = Thread::with(|thread| self.last(thread, comm, |state| Some(Arc::clone(state))));
        last.unwrap_or_else(|| {
            let state = self.look_up(library, abi, comm);
            let last = Last {
                comm,
                epoch,
                state: Arc::clone(&state),
            };
            Thread::with(|thread| thread.keep(comm, last));
            state
        })
    }

    /// What `then` makes of the state of a communicator, if a thread's last call at its place was on it.
    #[inline(always)]
    pub(crate) fn last<R>(
        &self,
        thread: &Thread,
        comm: Handle,
        then: impl FnOnce(&Arc<State>) -> Option<R>,
    ) -> Option<R> {
        thread.last(comm).with(|last| {
            let epoch = self.epoch.load(Ordering::Acquire);
            let is_this = last.comm == comm && last.epoch == epoch;
            if is_this { then(&last.state) } else { None }
        })
    }

    /// The state of a communicator, if its ranks have agreed on one; they do not do so now.
    pub(crate) fn agreed(&self, comm: Handle) -> Option<Arc<State>> {
        let last = Thread::with(|thread| self.last(thread, comm, |state| Some(Arc::clone(state))));
        last.or_else(|| self.known(comm))
    }

    fn known(&self, comm: Handle) -> Option<Arc<State>> {
        let known = self.known.read().unwrap_or_else(PoisonError::into_inner);
        known.get(&comm).map(Arc::clone)
    }

    fn look_up(&self, library: &Library, abi: &Abi, comm: Handle) -> Arc<State> {
        self.known(comm)
            .unwrap_or_else(|| self.agree_anew(library, abi, comm))
    }

    #[cold]
    fn agree_anew(&self, library: &Library, abi: &Abi, comm: Handle) -> Arc<State> {
        if comm == abi.comm_world {
            node::bring_together(library);
        }
        let agreed = {
            let quiet = has_world(library).then(|| Quiet::new(library, abi));
            self.agree(library, abi, comm, quiet)
        };
        let state = match agreed {
            Ok(shared) => State::Shared(Box::new(shared)),
            // What is no communicator has no state to be kept.
            Err(Reason::Arguments) => return Arc::new(State::Native(Reason::Arguments)),
            Err(reason) => State::Native(reason),
        };
        let state = Arc::new(state);
        if self.mark(library, comm).is_none() {
            // Nobody would report that the communicator is freed, and another may get its handle.
            return Arc::new(State::Native(Reason::Arguments));
        }
        let mut known = self.known.write().unwrap_or_else(PoisonError::into_inner);
        known.insert(comm, Arc::clone(&state));
        state
    }

    /// What all ranks of a communicator find out together.
    fn agree(
        &self,
        library: &Library,
        abi: &Abi,
        comm: Handle,
        quiet: Option<Quiet<'_>>,
    ) -> Result<Shared, Reason> {
        if library.is_inter(comm).ok_or(Reason::Arguments)? {
            return Err(Reason::Intercommunicator);
        }
        let size = library.size(comm).ok_or(Reason::Arguments)?;
        let rank = library.rank(comm).ok_or(Reason::Arguments)?;
        if size == 1 {
            return Err(Reason::OneRank);
        }
        // Each rank finds this out alone, as those of the other world may have no such library to answer.
        if quiet.is_some() && is_of_several_worlds(library, abi, (comm, size)) {
            return Err(Reason::SeveralWorlds);
        }
        let _quiet = quiet.map(|quiet| match comm == abi.comm_world {
            true => quiet,
            false => quiet.and_of(abi, comm),
        });
        let (comm, traffic) = Agreement::of(library, abi, (comm, rank, size)).join_all()?;
        let apart = traffic.is_some();
        let owned = Owned {
            comm,
            traffic,
            call_cache: CallCache::new(),
            line: Line::default(),
            course: Course::default(),
        };
        let owned = match node::has_concurrent_threads(library) {
            true => Ownership::locked(owned),
            // SAFETY: the MPI was told that calls are made by one thread at a time.
            false => unsafe { Ownership::alone(owned) },
        };
        Ok(Shared {
            owned,
            rank,
            size,
            apart,
        })
    }

    /// Hangs our key on a communicator, so that we hear when it is freed.
    fn mark(&self, library: &Library, comm: Handle) -> Option<()> {
        let mut key = self.key.lock().unwrap_or_else(PoisonError::into_inner);
        let key = match *key {
            Some(key) => key,
            None => {
                let mut made = 0;
                let create = library.native.comm_create_keyval;
                // SAFETY: two functions that live as long as the process, and a number to write to.
                let error = unsafe { create(copy, delete, &raw mut made, std::ptr::null_mut()) };
                if error != 0 {
                    return None;
                }
                *key.insert(made)
            }
        };
        // SAFETY: a communicator, our key, and a value that nobody looks at.
        let error = unsafe { (library.native.comm_set_attr)(comm, key, std::ptr::null_mut()) };
        (error == 0).then_some(())
    }

    /// Forgets a communicator.
    fn forget(&self, comm: Handle) {
        let mut known = self.known.write().unwrap_or_else(PoisonError::into_inner);
        let state = known.remove(&comm);
        drop(known);
        self.move_on();
        drop(state);
    }

    /// Says that a communicator was forgotten, and lets go of the last ones.
    fn move_on(&self) {
        self.epoch.fetch_add(1, Ordering::Release);
        // Where it is in use, in a call during which the MPI frees a communicator, by the epoch it is known to be old.
        Thread::with(Thread::forget_comms);
    }

    /// Forgets all communicators, and the key.
    pub(crate) fn forget_all(&self, library: &Library) {
        let mut known = self.known.write().unwrap_or_else(PoisonError::into_inner);
        let states = std::mem::take(&mut *known);
        drop(known);
        self.move_on();
        drop(states);
        let mut key = self.key.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(mut key) = key.take() {
            // SAFETY: our own key. That it cannot be freed harms nobody.
            unsafe { (library.native.comm_free_keyval)(&raw mut key) };
        }
    }
}

/// Whether a communicator of so many ranks has some that are not of this process's world.
fn is_of_several_worlds(library: &Library, abi: &Abi, (comm, size): (Handle, usize)) -> bool {
    if comm == abi.comm_world {
        return false;
    }
    let native = &library.native;
    let ranks: Vec<c_int> = (0..size as c_int).collect();
    let mut in_world = vec![-1; size];
    let mut groups = [0, 0];
    // SAFETY: two communicators that are there, and handles to write to.
    let errors = unsafe {
        [
            (native.comm_group)(comm, &raw mut groups[0]),
            (native.comm_group)(abi.comm_world, &raw mut groups[1]),
        ]
    };
    let mut is_asked = false;
    if errors == [0, 0] {
        let [all, world] = groups.map(|group| abi.handle(group));
        let (count, from, to) = (size as c_int, ranks.as_ptr(), in_world.as_mut_ptr());
        // SAFETY: two groups, as many of the first one's ranks as it has, and room for as many.
        is_asked = unsafe { (native.group_translate_ranks)(all, count, from, world, to) } == 0;
    }
    for (mut group, error) in groups.into_iter().zip(errors) {
        if error == 0 {
            // SAFETY: made for us, and not used again.
            unsafe { (native.group_free)(&raw mut group) };
        }
    }
    // What is undefined is negative in every ABI.
    is_asked && in_world.iter().any(|rank| *rank < 0)
}

/// What becomes of our state when a communicator is freed.
unsafe extern "C" fn delete(comm: Handle, _: c_int, _: *mut c_void, _: *mut c_void) -> c_int {
    if let Some(library) = Library::get()
        && let Some(abi) = &library.abi
    {
        STATES.forget(abi.handle(comm));
    }
    0
}
