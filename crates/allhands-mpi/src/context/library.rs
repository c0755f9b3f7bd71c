//! The library: the MPI that it has found in this process, and its settings.

use crate::abi::{Abi, Handle};
use crate::context::session::is_any_open;
use crate::context::settings::Settings;
use crate::native::family;
use crate::native::functions::Native;
use crate::native::object::Object;
use std::ffi::c_int;
use std::sync::OnceLock;

/// An error for calls where no MPI is loaded at all; classes differ, but zero is success in each.
pub(crate) const NO_MPI: c_int = 16;

/// Everything that this library knows.
pub(crate) struct Library {
    /// The MPI, as the process has loaded it.
    pub(crate) object: Object,
    pub(crate) native: Native,
    /// What calls of the program go on to that are not served here: the functions of tools behind this library, or the MPI's own.
    pub(crate) next: Native,
    /// `None`: an MPI that we do not know; then all calls pass through.
    pub(crate) abi: Option<Abi>,
    pub(crate) settings: OnceLock<Settings>,
}

static LIBRARY: OnceLock<Library> = OnceLock::new();

impl Library {
    /// The one of this process; `None` while no MPI is loaded.
    #[inline]
    pub(crate) fn get() -> Option<&'static Library> {
        match LIBRARY.get() {
            Some(library) => Some(library),
            None => Library::find(),
        }
    }

    #[cold]
    fn find() -> Option<&'static Library> {
        let object = Object::find()?;
        // Now, as this is mostly in MPI_Init, before the MPI has threads of its own, after which it takes long.
        allhands::transport::register_barrier();
        let native = Native::of(|name| object.symbol(name))?;
        let next = Native::of(|name| object.next(name))?;
        object.mark_as_inside();
        let family = family::of(&object, &native);
        let abi = family.and_then(|family| Abi::of(family, &object));
        Some(LIBRARY.get_or_init(|| Library {
            object,
            native,
            next,
            abi,
            settings: OnceLock::new(),
        }))
    }

    /// The settings that all ranks have agreed on; until then, none.
    pub(crate) fn settings(&self) -> &Settings {
        static NOTHING: Settings = Settings::NOTHING;
        self.settings.get().unwrap_or(&NOTHING)
    }

    /// Whether several threads may call at the same time.
    pub(crate) fn has_concurrent_threads(&self) -> bool {
        /// One thread, the first one, and one at a time: MPI's numbers, and those of its standard ABI.
        const IN_TURNS: [c_int; 5] = [0, 1, 2, 1024, 2048];
        let mut level = c_int::MAX;
        // SAFETY: a number to write to.
        let error = unsafe { (self.native.query_thread)(&raw mut level) };
        // A session has a level of its own.
        error != 0 || !IN_TURNS.contains(&level) || is_any_open()
    }

    /// The number of ranks of a communicator; `None` if the MPI says that it is none.
    pub(crate) fn size(&self, comm: Handle) -> Option<usize> {
        self.number(self.native.comm_size, comm)
    }

    /// This process's rank in a communicator.
    pub(crate) fn rank(&self, comm: Handle) -> Option<usize> {
        self.number(self.native.comm_rank, comm)
    }

    /// Whether a communicator is between two groups.
    pub(crate) fn is_inter(&self, comm: Handle) -> Option<bool> {
        self.number(self.native.comm_test_inter, comm)
            .map(|n| n != 0)
    }

    /// Whether an error on a communicator ends the program.
    pub(crate) fn is_fatal(&self, abi: &Abi, comm: Handle) -> bool {
        let mut handler = 0;
        // SAFETY: asks about a communicator that a caller of MPI handed in, with room for a handle, which is given back.
        let error = unsafe {
            let error = (self.native.comm_get_errhandler)(comm, &raw mut handler);
            if error == 0 {
                let mut given_back = handler;
                (self.native.errhandler_free)(&raw mut given_back);
            }
            error
        };
        error == 0 && abi.errors_are_fatal.contains(&abi.handle(handler))
    }

    fn number(
        &self,
        ask: unsafe extern "C-unwind" fn(Handle, *mut c_int) -> c_int,
        comm: Handle,
    ) -> Option<usize> {
        let mut number = 0;
        // SAFETY: asks about a communicator that a caller of MPI handed in, with a number to write to.
        let error = unsafe { ask(comm, &raw mut number) };
        usize::try_from(number).ok().filter(|_| error == 0)
    }
}

/// Lets the native MPI take its own messages further.
pub(crate) fn poll() {
    let Some(library) = Library::get() else {
        return;
    };
    let Some(abi) = &library.abi else { return };
    let mut flag = 0;
    // More than any MPI's status, and aligned for it; nothing is asked of it.
    let mut status = [0u64; 32];
    // SAFETY: looks for a message of rank 0 of the world without taking it; the MPI is initialised, as this is called
    // in its calls alone. That it fails is no matter of the call that waits.
    unsafe {
        let status = status.as_mut_ptr().cast();
        (library.native.iprobe)(0, 0, abi.comm_world, &raw mut flag, status);
    }
}
