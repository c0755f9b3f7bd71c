//! Acceptance: which predefined types the MPI combines with which predefined operators, where no kernel of ours does.
//!
//! The standard says which it must; MPIs combine more, and some lack what their Fortran compiler lacked. The MPI itself is
//! asked, once for each, in the same way on every rank.

use crate::abi::{Abi, Handle};
use crate::library::Library;
use std::collections::HashMap;
use std::ffi::c_int;
use std::sync::{PoisonError, RwLock};

/// What the MPI has said, by operator and type.
#[derive(Default)]
pub(crate) struct Acceptance {
    known: RwLock<HashMap<(Handle, Handle), bool>>,
}

impl Acceptance {
    /// Whether the MPI combines a predefined type with a predefined operator.
    pub(crate) fn of(
        &self,
        library: &Library,
        abi: &Abi,
        operator: Handle,
        datatype: Handle,
    ) -> bool {
        let key = (operator, datatype);
        let known = self.known.read().unwrap_or_else(PoisonError::into_inner);
        if let Some(answer) = known.get(&key) {
            return *answer;
        }
        drop(known);
        let answer = ask(library, abi, operator, datatype);
        let mut known = self.known.write().unwrap_or_else(PoisonError::into_inner);
        known.insert(key, answer);
        answer
    }
}

/// Has the MPI combine one element, of zeros.
fn ask(library: &Library, abi: &Abi, operator: Handle, datatype: Handle) -> bool {
    // More than any predefined type has.
    let (one, mut other) = ([0u128; 8], [0u128; 8]);
    let (left, inout) = (one.as_ptr().cast(), other.as_mut_ptr().cast());
    let error = library.quietly(abi, || {
        // SAFETY: room for an element of any predefined type on both sides.
        unsafe { (library.native.reduce_local)(left, inout, 1, datatype, operator) }
    });
    error == 0
}

impl Library {
    /// What the MPI says to a question, while errors are told to us alone.
    ///
    /// An error that belongs to no communicator goes to the handler of one of these two, whose habit is to end the program.
    pub(crate) fn quietly(&self, abi: &Abi, question: impl FnOnce() -> c_int) -> c_int {
        let native = &self.native;
        let handlers = [abi.comm_world, abi.comm_self].map(|comm| {
            let mut handler = 0;
            // SAFETY: a communicator that is there from the beginning to the end, and a handle to write to.
            let error = unsafe { (native.comm_get_errhandler)(comm, &raw mut handler) };
            // SAFETY: as above; the handler is predefined.
            let set = unsafe { (native.comm_set_errhandler)(comm, abi.errors_return) };
            (comm, handler, error == 0 && set == 0)
        });
        let error = question();
        for (comm, mut handler, is_set) in handlers {
            if is_set {
                // SAFETY: the handler that was there before; the handle of it was made for us.
                unsafe {
                    (native.comm_set_errhandler)(comm, handler);
                    (native.errhandler_free)(&raw mut handler);
                }
            }
        }
        error
    }
}
