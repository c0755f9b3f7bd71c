//! The state of a communicator: whether its calls are taken over, as all its ranks have agreed in the first of them.

use crate::abi::{Abi, Handle};
use crate::library::Library;
use crate::node;
use crate::takeover::Reason;
use allhands::Communicator;
use std::cell::RefCell;
use std::collections::HashMap;
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

/// A communicator whose ranks share memory.
pub(crate) struct Shared {
    pub(crate) comm: Mutex<Communicator>,
    pub(crate) rank: usize,
    pub(crate) size: usize,
}

/// The states of all communicators, by their handles.
#[derive(Default)]
pub(crate) struct States {
    known: RwLock<HashMap<Handle, Arc<State>>>,
    /// The key under which a communicator tells when it is freed.
    key: Mutex<Option<c_int>>,
    /// Grows whenever a communicator is forgotten.
    epoch: AtomicU64,
}

thread_local! {
    /// The communicator of this thread's last call, the epoch then, and its state.
    static LAST: RefCell<Option<(Handle, u64, Arc<State>)>> = const { RefCell::new(None) };
}

/// What a rank tells the others of a communicator.
#[repr(C)]
#[derive(Clone, Copy, PartialEq, Eq)]
struct Card {
    /// Its node, or 0 if it has none.
    node: u64,
    /// Its rank there.
    rank: u64,
}

impl States {
    /// The state of a communicator, agreed upon now if this is the first collective on it.
    #[inline]
    pub(crate) fn of(&self, library: &Library, abi: &Abi, comm: Handle) -> Arc<State> {
        let epoch = self.epoch.load(Ordering::Acquire);
        let last = LAST.with_borrow(|last| match last {
            Some((handle, then, state)) if *handle == comm && *then == epoch => {
                Some(Arc::clone(state))
            }
            _ => None,
        });
        last.unwrap_or_else(|| {
            let state = self.look_up(library, abi, comm);
            LAST.set(Some((comm, epoch, Arc::clone(&state))));
            state
        })
    }

    fn look_up(&self, library: &Library, abi: &Abi, comm: Handle) -> Arc<State> {
        let known = self.known.read().unwrap_or_else(PoisonError::into_inner);
        if let Some(state) = known.get(&comm) {
            return Arc::clone(state);
        }
        drop(known);
        self.meet(library, abi, comm)
    }

    #[cold]
    fn meet(&self, library: &Library, abi: &Abi, comm: Handle) -> Arc<State> {
        if comm == abi.comm_world {
            node::gather(library);
        }
        let state = match self.agree(library, abi, comm) {
            Ok(shared) => State::Shared(Box::new(shared)),
            // What is no communicator has no state to be kept.
            Err(Reason::Arguments) => return Arc::new(State::Native(Reason::Arguments)),
            Err(reason) => State::Native(reason),
        };
        let state = Arc::new(state);
        if self.mark(library, comm).is_none() {
            // Nobody would tell when the communicator is freed, and another may get its handle.
            return Arc::new(State::Native(Reason::Arguments));
        }
        let mut known = self.known.write().unwrap_or_else(PoisonError::into_inner);
        known.insert(comm, Arc::clone(&state));
        state
    }

    /// What all ranks of a communicator find out together.
    fn agree(&self, library: &Library, abi: &Abi, comm: Handle) -> Result<Shared, Reason> {
        if library.is_inter(comm).ok_or(Reason::Arguments)? {
            return Err(Reason::Intercommunicator);
        }
        let size = library.size(comm).ok_or(Reason::Arguments)?;
        let rank = library.rank(comm).ok_or(Reason::Arguments)?;
        if size == 1 {
            return Err(Reason::OneRank);
        }
        let node = library.node.read().unwrap_or_else(PoisonError::into_inner);
        let own = node
            .as_ref()
            .map_or(Card { node: 0, rank: 0 }, |node| Card {
                node: node.id,
                rank: u64::from(node.rank),
            });
        let mut cards = vec![own; size];
        let bytes = size_of::<Card>() as c_int;
        // SAFETY: so many bytes of each rank to read, and room for those of all.
        let error = unsafe {
            let (mine, all) = ((&raw const own).cast(), cards.as_mut_ptr().cast());
            (library.native.allgather)(mine, bytes, abi.byte, all, bytes, abi.byte, comm)
        };
        let is_off = library.settings().is_off;
        let Some(node) = node.as_ref().filter(|_| error == 0 && cards[0].node != 0) else {
            return Err(if is_off { Reason::Off } else { Reason::NoNode });
        };
        if cards.iter().any(|card| card.node != node.id) {
            return Err(Reason::SeveralNodes);
        }
        let members: Vec<u32> = cards.iter().map(|card| card.rank as u32).collect();
        // Not held while others are waited for: their threads may need it for communicators of their own.
        let parent = || node.comm.lock().unwrap_or_else(PoisonError::into_inner);
        // The first member lays out the memory; all ones: it could not.
        let mut offset = u64::MAX;
        if rank == 0 {
            offset = parent().lay_out(size).unwrap_or(u64::MAX);
        }
        // SAFETY: eight bytes to read or write.
        let error = unsafe {
            let start = (&raw mut offset).cast();
            (library.native.bcast)(start, size_of::<u64>() as c_int, abi.byte, 0, comm)
        };
        if error != 0 || offset == u64::MAX {
            return Err(Reason::NoNode);
        }
        // SAFETY: the first member has laid it out for just these, each of which opens it here, once.
        let comm = unsafe { parent().open(offset, &members) };
        Ok(Shared {
            comm: Mutex::new(comm.map_err(|_| Reason::NoNode)?),
            rank,
            size,
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

    /// Says that a communicator was forgotten, and lets go of the last one.
    fn move_on(&self) {
        self.epoch.fetch_add(1, Ordering::Release);
        // At the end of a thread there is nothing to let go of any more.
        let _ = LAST.try_with(|last| last.replace(None));
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

/// What becomes of our key when a communicator is duplicated: the new one does not have it.
unsafe extern "C" fn copy(
    _: Handle,
    _: c_int,
    _: *mut c_void,
    _: *mut c_void,
    _: *mut c_void,
    flag: *mut c_int,
) -> c_int {
    // SAFETY: the MPI hands in a number to write to.
    unsafe { flag.write(0) };
    0
}

/// What becomes of our state when a communicator is freed.
unsafe extern "C" fn delete(comm: Handle, _: c_int, _: *mut c_void, _: *mut c_void) -> c_int {
    if let Some(library) = Library::get()
        && let Some(abi) = &library.abi
    {
        library.states.forget(abi.handle(comm));
    }
    0
}
