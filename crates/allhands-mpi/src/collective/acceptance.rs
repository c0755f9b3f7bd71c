//! Acceptance: which predefined types the MPI combines with which predefined operators, where no kernel of ours does.
//!
//! The standard says which it must; MPIs combine more, and some lack what their Fortran compiler lacked. The MPI itself is
//! asked, once for each, in the same way on every rank.

use crate::abi::{Abi, Handle};
use crate::context::library::Library;
use crate::context::map::{Map, empty};
use crate::context::quiet::Quiet;
use std::sync::{PoisonError, RwLock};

/// What the MPI has said, by operator and type.
pub(super) struct Acceptance {
    known: RwLock<Map<(Handle, Handle), bool>>,
}

/// That of this process.
pub(super) static ACCEPTANCE: Acceptance = Acceptance {
    known: RwLock::new(empty()),
};

impl Acceptance {
    /// Whether the MPI combines a predefined type with a predefined operator.
    pub(super) fn of(
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
    let _quiet = Quiet::new(library, abi);
    // More than any predefined type has.
    let (one, mut other) = ([0u128; 8], [0u128; 8]);
    let (left, inout) = (one.as_ptr().cast(), other.as_mut_ptr().cast());
    // SAFETY: room for an element of any predefined type on both sides.
    let error = unsafe { (library.native.reduce_local)(left, inout, 1, datatype, operator) };
    error == 0
}
