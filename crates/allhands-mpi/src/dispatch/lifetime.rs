//! The lifetime: what is done when the world begins, and before the native MPI ends.

use crate::abi::{Abi, Handle};
use crate::context::attribute::copy;
use crate::context::library::Library;
use crate::context::session::has_world;
use crate::datatype::DATATYPES;
use crate::dispatch::agreement::node::{NODE, bring_together};
use crate::dispatch::agreement::presence::ascertain;
use crate::dispatch::communicator::state::STATES;
use crate::dispatch::communicator::thread::Inside;
use crate::dispatch::nonblocking::UNDER_WAY;
use crate::report::counts::REPORT;
use std::ffi::{c_int, c_void};
use std::sync::PoisonError;
use std::sync::atomic::{AtomicBool, Ordering};

/// Whether the MPI reports its end to us.
static IS_END_REPORTED: AtomicBool = AtomicBool::new(false);

/// Brings the ranks of the world together when `MPI_Init` has succeeded, unless that has happened.
pub(crate) fn begin(library: &Library) {
    let Some(abi) = &library.abi else { return };
    if library.settings.get().is_none() {
        IS_END_REPORTED.store(report_end(library, abi), Ordering::Relaxed);
        ascertain(library, abi);
        let _inside = Inside::enter();
        bring_together(library);
    }
}

/// Has the MPI report its end to us, when everything of the program's has been done; whether it will.
///
/// `MPI_Finalize` begins with deleting the attributes of `MPI_COMM_SELF`, that which was set last first, and what programs
/// have done in that may call collectives. Ours is the first that is set.
fn report_end(library: &Library, abi: &Abi) -> bool {
    unsafe extern "C" fn end(_: Handle, _: c_int, _: *mut c_void, _: *mut c_void) -> c_int {
        if let Some(library) = Library::get() {
            part(library);
        }
        0
    }
    let (native, mut key) = (&library.native, 0);
    // SAFETY: functions that live as long as the process, a number to write to, and a value that nobody looks at; a key that is
    // freed lives as long as it is used.
    unsafe {
        if (native.comm_create_keyval)(copy, end, &raw mut key, std::ptr::null_mut()) != 0 {
            return false;
        }
        let error = (native.comm_set_attr)(abi.comm_self, key, std::ptr::null_mut());
        (native.comm_free_keyval)(&raw mut key);
        error == 0
    }
}

/// What is left to do before `MPI_Finalize`: to see to nonblocking calls, whose end MPICH waits for there, and all the rest unless
/// the MPI reports that it has come to it.
pub(crate) fn before_finalize(library: &Library) {
    if !has_world(library) {
        return;
    }
    UNDER_WAY.linger();
    UNDER_WAY.forget(library);
    if !IS_END_REPORTED.load(Ordering::Relaxed) {
        part(library);
    }
}

/// What is left to do before the native MPI ends: the report, and giving back what ranks share.
fn part(library: &Library) {
    REPORT.write("MPI_Finalize", false);
    forget_all(library);
    let node = NODE.write().unwrap_or_else(PoisonError::into_inner).take();
    if let Some(world) = node.and_then(|node| node.world) {
        world.free(library);
    }
}

/// Forgets all communicators and types.
pub(crate) fn forget_all(library: &Library) {
    UNDER_WAY.forget(library);
    STATES.forget_all(library);
    DATATYPES.forget_all(library);
}
