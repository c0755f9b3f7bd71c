//! Quiet: while we ask the MPI something, it reports mistakes to us alone, and not to the user's error handlers.
//!
//! What is wrong with a user's arguments the native MPI says when the call passes through. A handler that heard of it before would
//! hear of it twice, and if it left by `longjmp`, what is held while we ask would be held for ever.

use crate::abi::{Abi, Family, Handle};
use crate::context::library::Library;
use std::sync::{Mutex, PoisonError};

/// A communicator's error handler, to be set again.
#[derive(Clone, Copy)]
struct Saved {
    comm: Handle,
    handler: Handle,
}

impl Saved {
    /// Has errors of a communicator come back as codes; `None`: they go on as before.
    ///
    /// Where no handler was ever set, MPICH says that errors are fatal, but calls that of the world, which is quiet. To set what it says
    /// would change that for ever.
    fn replace(library: &Library, abi: &Abi, comm: Handle) -> Option<Saved> {
        let (native, mut handler) = (&library.native, 0);
        // SAFETY: a communicator that is there, and a handle to write to.
        let error = unsafe { (native.comm_get_errhandler)(comm, &raw mut handler) };
        let is_unset = abi.family != Family::OpenMpi && comm != abi.comm_world;
        if error != 0 || (is_unset && abi.handle(handler) == abi.errors_are_fatal[0]) {
            return None;
        }
        // SAFETY: as above; the handler is predefined.
        let error = unsafe { (native.comm_set_errhandler)(comm, abi.errors_return) };
        (error == 0).then_some(Saved { comm, handler })
    }

    fn restore(mut self, library: &Library) {
        let native = &library.native;
        // SAFETY: the handler that was there before; the handle of it was made for us.
        unsafe {
            (native.comm_set_errhandler)(self.comm, self.handler);
            (native.errhandler_free)(&raw mut self.handler);
        }
    }
}

/// The threads that ask now, and the handlers of the world and of this process alone, which hear of errors that belong to no
/// communicator.
struct Asking {
    threads: usize,
    saved: [Option<Saved>; 2],
}

static ASKING: Mutex<Asking> = Mutex::new(Asking {
    threads: 0,
    saved: [None; 2],
});

/// Says that errors that belong to no communicator, or to one, are reported to us alone, until it is dropped.
///
/// There is a world.
pub(crate) struct Quiet<'a> {
    library: &'a Library,
    of_comm: Option<Saved>,
}

impl<'a> Quiet<'a> {
    /// Of no communicator.
    pub(crate) fn new(library: &'a Library, abi: &Abi) -> Quiet<'a> {
        let mut asking = ASKING.lock().unwrap_or_else(PoisonError::into_inner);
        if asking.threads == 0 {
            asking.saved =
                [abi.comm_world, abi.comm_self].map(|comm| Saved::replace(library, abi, comm));
        }
        asking.threads += 1;
        Quiet {
            library,
            of_comm: None,
        }
    }

    /// Of this one besides, which is another than those two.
    pub(crate) fn and_of(mut self, abi: &Abi, comm: Handle) -> Quiet<'a> {
        self.of_comm = Saved::replace(self.library, abi, comm);
        self
    }
}

impl Drop for Quiet<'_> {
    fn drop(&mut self) {
        if let Some(saved) = self.of_comm.take() {
            saved.restore(self.library);
        }
        let mut asking = ASKING.lock().unwrap_or_else(PoisonError::into_inner);
        asking.threads -= 1;
        if asking.threads == 0 {
            for saved in std::mem::take(&mut asking.saved).into_iter().flatten() {
                saved.restore(self.library);
            }
        }
    }
}
