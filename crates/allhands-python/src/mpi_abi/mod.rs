//! The MPItrampoline ABI: what JAX calls for an MPI, on communicators of this library.
//!
//! jaxlib loads the library that `MPITRAMPOLINE_LIB` names, which is this extension module, looks up every function of an MPI there, by names that
//! begin with `MPIABI_`, and calls some twenty: those in [`served`]. The others ([`unserved`]) say that they are not. Handles are words;
//! those of predefined objects ([`handles`], [`constants`]) are the numbers of arXiv:2308.11214, and read by their names, too.

mod constants;
mod handles;
mod served;
mod unserved;

use std::ffi::c_int;
use std::sync::{Mutex, PoisonError};

const SUCCESS: c_int = 0;

/// Why a function did not do what it was called for, as an error class of MPI.
#[derive(Clone, Copy)]
enum Class {
    Count = 2,
    Type = 3,
    Communicator = 5,
    Rank = 6,
    Request = 7,
    Root = 8,
    Operator = 10,
    Other = 16,
    Unsupported = 58,
}

/// An error: its class, and what `MPIABI_Error_string` says of it.
struct Wrong {
    class: Class,
    says: String,
}

impl Wrong {
    fn new(class: Class, says: impl Into<String>) -> Wrong {
        let says = says.into();
        Wrong { class, says }
    }
}

impl From<allhands::Error> for Wrong {
    fn from(error: allhands::Error) -> Wrong {
        Wrong::new(Class::Other, error.to_string())
    }
}

/// What went wrong last in this process. MPI's codes have no room for a sentence.
static LAST: Mutex<Option<Wrong>> = Mutex::new(None);

/// The code of a result, whose error is kept for who asks what it says.
fn code(result: Result<(), Wrong>) -> c_int {
    let Err(wrong) = result else {
        return SUCCESS;
    };
    let class = wrong.class as c_int;
    *LAST.lock().unwrap_or_else(PoisonError::into_inner) = Some(wrong);
    class
}

/// What a code means, as well as it is known.
fn meaning(code: c_int) -> String {
    let last = LAST.lock().unwrap_or_else(PoisonError::into_inner);
    match &*last {
        Some(wrong) if wrong.class as c_int == code => format!("allhands: {}", wrong.says),
        _ if code == SUCCESS => "allhands: no error".to_string(),
        _ => format!("allhands: an error of MPI's class {code}"),
    }
}
