//! The functions that are served: what jaxlib calls, and the rest of what such a program may. Here: beginning, end, communicators.

mod collectives;
mod messages;

use super::handles::{COMM_NULL, THREAD_MULTIPLE, UNDEFINED, Word, element, objects};
use super::{Class, SUCCESS, Wrong, code, meaning};
use crate::communicator::Shared;
use crate::element::Element;
use crate::interrupt;
use crate::store;
use std::ffi::{c_char, c_double, c_int};
use std::sync::atomic::{AtomicU8, Ordering};
use std::time::{SystemTime, UNIX_EPOCH};

/// The version of the ABI, which MPItrampoline compares with its own.
#[unsafe(no_mangle)]
pub static mpiabi_version_major: c_int = 2;
#[unsafe(no_mangle)]
pub static mpiabi_version_minor: c_int = 99;
#[unsafe(no_mangle)]
pub static mpiabi_version_patch: c_int = 0;
/// And of the library that offers it.
#[unsafe(no_mangle)]
pub static mpiwrapper_version_major: c_int = 2;
#[unsafe(no_mangle)]
pub static mpiwrapper_version_minor: c_int = 99;
#[unsafe(no_mangle)]
pub static mpiwrapper_version_patch: c_int = 0;

const MOST_ERROR_BYTES: usize = 512;

/// How far this process is: not begun, begun, ended.
static STATE: AtomicU8 = AtomicU8::new(0);

/// Fortran's constants, which nobody asks for here.
#[unsafe(no_mangle)]
pub extern "C" fn mpiwrapper_export_fortran_constants_() {}

macro_rules! devices {
    ($($name:ident)*) => {
        $(
            /// Whether memory of such devices may be given: no.
            #[unsafe(no_mangle)]
            pub extern "C" fn $name() -> c_int {
                0
            }
        )*
    };
}

devices! { MPIXABI_Query_cuda_support MPIXABI_Query_hip_support MPIXABI_Query_ze_support }

/// Writes a result to where the caller wants it.
///
/// # Safety
/// The address can be written, or is null.
unsafe fn put<T>(place: *mut T, value: T) {
    if !place.is_null() {
        // SAFETY: promised by the caller.
        unsafe { place.write(value) };
    }
}

/// # Safety
/// As `MPI_Init`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn MPIABI_Init(_: *mut c_int, _: *mut *mut *mut c_char) -> c_int {
    code(init())
}

/// # Safety
/// As `MPI_Init_thread`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn MPIABI_Init_thread(
    _: *mut c_int,
    _: *mut *mut *mut c_char,
    _: c_int,
    provided: *mut c_int,
) -> c_int {
    // SAFETY: MPI's promise.
    unsafe { put(provided, THREAD_MULTIPLE) };
    code(init())
}

fn init() -> Result<(), Wrong> {
    let world = store::the_world().map_err(|says| Wrong::new(Class::Other, says))?;
    if let Ok(given) = std::env::var("JAX_PROCESS_ID")
        && given.parse() != Ok(world.rank())
    {
        let says = format!(
            "JAX_PROCESS_ID is {given}, and this is rank {} of {}: right would be the same, as jax.distributed.initialize(process_id=allhands.world().rank, …) makes it",
            world.rank(),
            world.size()
        );
        return Err(Wrong::new(Class::Rank, says));
    }
    objects().set_world(world);
    STATE.store(1, Ordering::Release);
    Ok(())
}

#[unsafe(no_mangle)]
pub extern "C" fn MPIABI_Finalize() -> c_int {
    objects().clear();
    STATE.store(2, Ordering::Release);
    SUCCESS
}

/// # Safety
/// As `MPI_Initialized`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn MPIABI_Initialized(flag: *mut c_int) -> c_int {
    // SAFETY: MPI's promise.
    unsafe { put(flag, c_int::from(STATE.load(Ordering::Acquire) > 0)) };
    SUCCESS
}

/// # Safety
/// As `MPI_Finalized`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn MPIABI_Finalized(flag: *mut c_int) -> c_int {
    // SAFETY: MPI's promise.
    unsafe { put(flag, c_int::from(STATE.load(Ordering::Acquire) > 1)) };
    SUCCESS
}

/// Says yes: every thread may do what the main one may.
///
/// # Safety
/// As `MPI_Is_thread_main`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn MPIABI_Is_thread_main(flag: *mut c_int) -> c_int {
    // SAFETY: MPI's promise.
    unsafe { put(flag, 1) };
    SUCCESS
}

/// # Safety
/// As `MPI_Query_thread`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn MPIABI_Query_thread(provided: *mut c_int) -> c_int {
    // SAFETY: MPI's promise.
    unsafe { put(provided, THREAD_MULTIPLE) };
    SUCCESS
}

#[unsafe(no_mangle)]
pub extern "C" fn MPIABI_Abort(_: Word, status: c_int) -> c_int {
    eprintln!("allhands: MPI_Abort was called with {status}");
    std::process::exit(status)
}

/// # Safety
/// As `MPI_Get_version`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn MPIABI_Get_version(version: *mut c_int, subversion: *mut c_int) -> c_int {
    // SAFETY: MPI's promise.
    unsafe {
        put(version, 4);
        put(subversion, 1);
    }
    SUCCESS
}

/// # Safety
/// As `MPI_Get_library_version`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn MPIABI_Get_library_version(text: *mut c_char, bytes: *mut c_int) -> c_int {
    let says = concat!(
        "Allhands ",
        env!("CARGO_PKG_VERSION"),
        " by the MPItrampoline ABI"
    );
    // SAFETY: MPI's promise: room for 8192 bytes.
    unsafe { write_text(says, text, bytes) };
    SUCCESS
}

/// # Safety
/// As `MPI_Error_string`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn MPIABI_Error_string(
    error: c_int,
    text: *mut c_char,
    bytes: *mut c_int,
) -> c_int {
    // SAFETY: MPI's promise: room for so many bytes.
    unsafe { write_text(&meaning(error), text, bytes) };
    SUCCESS
}

/// # Safety
/// As `MPI_Error_class`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn MPIABI_Error_class(error: c_int, class: *mut c_int) -> c_int {
    // SAFETY: MPI's promise.
    unsafe { put(class, error) };
    SUCCESS
}

/// # Safety
/// There is room for an error's text, and for its length.
unsafe fn write_text(says: &str, text: *mut c_char, bytes: *mut c_int) {
    let kept = says.floor_char_boundary(MOST_ERROR_BYTES - 1);
    // SAFETY: promised by the caller; one byte more is for the end.
    unsafe {
        std::ptr::copy_nonoverlapping(says.as_ptr().cast(), text, kept);
        text.add(kept).write(0);
        put(bytes, kept as c_int);
    }
}

#[unsafe(no_mangle)]
pub extern "C" fn MPIABI_Wtime() -> c_double {
    let since = SystemTime::now().duration_since(UNIX_EPOCH);
    since.map_or(0.0, |since| since.as_secs_f64())
}

#[unsafe(no_mangle)]
pub extern "C" fn MPIABI_Wtick() -> c_double {
    1e-9
}

/// # Safety
/// As `MPI_Comm_rank`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn MPIABI_Comm_rank(comm: Word, rank: *mut c_int) -> c_int {
    let found = objects().comm(comm);
    // SAFETY: MPI's promise.
    code(found.map(|comm| unsafe { put(rank, comm.rank() as c_int) }))
}

/// # Safety
/// As `MPI_Comm_size`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn MPIABI_Comm_size(comm: Word, size: *mut c_int) -> c_int {
    let found = objects().comm(comm);
    // SAFETY: MPI's promise.
    code(found.map(|comm| unsafe { put(size, comm.size() as c_int) }))
}

/// # Safety
/// As `MPI_Comm_split`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn MPIABI_Comm_split(
    comm: Word,
    colour: c_int,
    key: c_int,
    new: *mut Word,
) -> c_int {
    let split = || {
        let comm = objects().comm(comm)?;
        let colour = match u32::try_from(colour) {
            Ok(colour) => Some(colour),
            Err(_) if colour == UNDEFINED => None,
            Err(_) => {
                let says =
                    format!("the colour is {colour}: right would be 0 or more, or UNDEFINED");
                return Err(Wrong::new(Class::Other, says));
            }
        };
        // Keys are in order also below 0.
        let key = (i64::from(key) - i64::from(c_int::MIN)) as u64;
        interrupt::begin();
        let made = comm.lock().split(colour, key)?;
        Ok(made.map_or(COMM_NULL, |made| objects().keep(Shared::new(made))))
    };
    // SAFETY: MPI's promise.
    code(split().map(|made| unsafe { put(new, made) }))
}

/// # Safety
/// As `MPI_Comm_dup`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn MPIABI_Comm_dup(comm: Word, new: *mut Word) -> c_int {
    let dup = || {
        let comm = objects().comm(comm)?;
        interrupt::begin();
        let made = comm.lock().dup()?;
        Ok(objects().keep(Shared::new(made)))
    };
    // SAFETY: MPI's promise.
    code(dup().map(|made| unsafe { put(new, made) }))
}

/// # Safety
/// As `MPI_Comm_free`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn MPIABI_Comm_free(comm: *mut Word) -> c_int {
    // SAFETY: MPI's promise.
    let handle = unsafe { comm.read() };
    let freed = objects().free(handle);
    // SAFETY: likewise.
    code(freed.map(|()| unsafe { put(comm, COMM_NULL) }))
}

/// # Safety
/// As `MPI_Type_size`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn MPIABI_Type_size(datatype: Word, bytes: *mut c_int) -> c_int {
    // SAFETY: MPI's promise.
    code(element(datatype).map(|found| unsafe { put(bytes, found.bytes() as c_int) }))
}

/// One side of a call by its address, so many elements and their type.
type Given = (*mut u8, usize, Element);

fn count(given: c_int) -> Result<usize, Wrong> {
    let says = || format!("a count is {given}: right would be 0 or more");
    usize::try_from(given).map_err(|_| Wrong::new(Class::Count, says()))
}

fn given(start: *const u8, elements: c_int, datatype: Word) -> Result<Given, Wrong> {
    Ok((start.cast_mut(), count(elements)?, element(datatype)?))
}
