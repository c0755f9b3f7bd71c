//! Messages by their MPI names.
//!
//! Nonblocking ones are carried when the first of them is waited for, all that its thread has begun on its communicator at once: jaxlib begins
//! those that belong together, and waits for each of them.

use super::{count, given, put};
use crate::communicator::Shared;
use crate::interrupt;
use crate::mpi_abi::handles::{
    ANY_SOURCE, ANY_TAG, Message, PROC_NULL, REQUEST_NULL, Word, objects,
};
use crate::mpi_abi::{Class, Wrong, code};
use allhands::{Source, Tag};
use std::ffi::c_int;
use std::sync::Arc;

/// What MPI says of a message that was received.
#[repr(C)]
pub struct Status {
    source: c_int,
    tag: c_int,
    error: c_int,
    reserved: [c_int; 5],
}

/// What a message is, or none where it goes to, or comes from, nobody.
fn message(
    (start, elements, datatype): (*const u8, c_int, Word),
    (other, tag, comm): (c_int, c_int, Word),
    is_sent: bool,
) -> Result<Option<Message>, Wrong> {
    let (start, elements, kind) = given(start, elements, datatype)?;
    objects().comm(comm)?;
    if other == PROC_NULL {
        return Ok(None);
    }
    let other = match usize::try_from(other) {
        Ok(rank) => Some(rank),
        Err(_) if other == ANY_SOURCE && !is_sent => None,
        Err(_) => return Err(Wrong::new(Class::Rank, format!("there is no rank {other}"))),
    };
    let tag = match u32::try_from(tag) {
        Ok(tag) => Some(tag),
        Err(_) if tag == ANY_TAG && !is_sent => None,
        Err(_) => return Err(Wrong::new(Class::Other, format!("there is no tag {tag}"))),
    };
    let bytes = elements * kind.bytes();
    Ok(Some(Message {
        comm,
        start,
        bytes,
        other,
        tag,
        is_sent,
        thread: std::thread::current().id(),
    }))
}

/// Carries messages of one communicator, all at once.
///
/// # Safety
/// Their memory is there, and nobody else touches it until this returns.
unsafe fn carry(messages: &[Message]) -> Result<Vec<Option<allhands::Status>>, Wrong> {
    let Some(first) = messages.first() else {
        return Ok(Vec::new());
    };
    let shared: Arc<Shared> = objects().comm(first.comm)?;
    let comm = shared.lock();
    interrupt::begin();
    let carried = comm.scope(|scope| {
        let mut begun = Vec::new();
        for message in messages {
            let &Message {
                start,
                bytes,
                other,
                tag,
                ..
            } = message;
            let (other, tag) = (
                other.map_or(Source::Any, Source::Rank),
                tag.map_or(Tag::Any, Tag::Is),
            );
            begun.push(match (message.is_sent, other, tag) {
                (true, Source::Rank(to), Tag::Is(tag)) => {
                    // SAFETY: the caller's promise.
                    scope.isend(unsafe { slice(start, bytes) }, to, tag)?
                }
                // SAFETY: the caller's promise.
                _ => scope.irecv(unsafe { slice_mut(start, bytes) }, other, tag)?,
            });
        }
        begun
            .into_iter()
            .map(|message| message.wait())
            .collect::<Result<Vec<_>, allhands::Error>>()
    });
    Ok(carried??)
}

/// # Safety
/// So many bytes are there and nobody writes them while the result lives.
unsafe fn slice<'a>(start: *const u8, bytes: usize) -> &'a [u8] {
    match bytes {
        0 => &[],
        // SAFETY: promised by the caller.
        _ => unsafe { std::slice::from_raw_parts(start, bytes) },
    }
}

/// # Safety
/// So many bytes are there and nobody else touches them while the result lives.
unsafe fn slice_mut<'a>(start: *mut u8, bytes: usize) -> &'a mut [u8] {
    match bytes {
        0 => &mut [],
        // SAFETY: promised by the caller.
        _ => unsafe { std::slice::from_raw_parts_mut(start, bytes) },
    }
}

fn status(of: Option<allhands::Status>) -> Status {
    let (source, tag) = of.map_or((PROC_NULL, ANY_TAG), |of| {
        (of.source as c_int, of.tag as c_int)
    });
    Status {
        source,
        tag,
        error: 0,
        reserved: [0; 5],
    }
}

/// # Safety
/// As `MPI_Send`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn MPIABI_Send(
    buffer: *const u8,
    elements: c_int,
    datatype: Word,
    to: c_int,
    tag: c_int,
    comm: Word,
) -> c_int {
    let sent = message((buffer, elements, datatype), (to, tag, comm), true);
    // SAFETY: MPI's promise.
    code(sent.and_then(|sent| unsafe { carry(sent.as_slice()) }.map(drop)))
}

/// # Safety
/// As `MPI_Recv`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn MPIABI_Recv(
    buffer: *mut u8,
    elements: c_int,
    datatype: Word,
    source: c_int,
    tag: c_int,
    comm: Word,
    place: *mut Status,
) -> c_int {
    let received = message((buffer, elements, datatype), (source, tag, comm), false);
    // SAFETY: MPI's promise.
    let carried = received.and_then(|received| unsafe { carry(received.as_slice()) });
    // SAFETY: likewise.
    code(carried.map(|all| unsafe { put(place, status(all.into_iter().next().flatten())) }))
}

/// # Safety
/// As `MPI_Sendrecv`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn MPIABI_Sendrecv(
    sent: *const u8,
    sent_elements: c_int,
    sent_type: Word,
    to: c_int,
    sent_tag: c_int,
    received: *mut u8,
    received_elements: c_int,
    received_type: Word,
    source: c_int,
    received_tag: c_int,
    comm: Word,
    place: *mut Status,
) -> c_int {
    let called = || {
        let receive = (received.cast_const(), received_elements, received_type);
        let receive = message(receive, (source, received_tag, comm), false)?;
        let send = message((sent, sent_elements, sent_type), (to, sent_tag, comm), true)?;
        let both: Vec<Message> = receive.into_iter().chain(send).collect();
        // SAFETY: MPI's promise.
        let all = unsafe { carry(&both)? };
        let found = all
            .into_iter()
            .next()
            .filter(|_| receive.is_some())
            .flatten();
        // SAFETY: likewise.
        unsafe { put(place, status(found)) };
        Ok(())
    };
    code(called())
}

/// # Safety
/// As `MPI_Isend`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn MPIABI_Isend(
    buffer: *const u8,
    elements: c_int,
    datatype: Word,
    to: c_int,
    tag: c_int,
    comm: Word,
    request: *mut Word,
) -> c_int {
    let sent = message((buffer, elements, datatype), (to, tag, comm), true);
    // SAFETY: MPI's promise.
    unsafe { begin(sent, request) }
}

/// # Safety
/// As `MPI_Irecv`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn MPIABI_Irecv(
    buffer: *mut u8,
    elements: c_int,
    datatype: Word,
    source: c_int,
    tag: c_int,
    comm: Word,
    request: *mut Word,
) -> c_int {
    let received = message((buffer, elements, datatype), (source, tag, comm), false);
    // SAFETY: MPI's promise.
    unsafe { begin(received, request) }
}

/// # Safety
/// As `MPI_Isend`, of the request.
unsafe fn begin(message: Result<Option<Message>, Wrong>, request: *mut Word) -> c_int {
    code(message.map(|message| {
        let handle = message.map_or(REQUEST_NULL, |message| objects().begin(message));
        // SAFETY: promised by the caller.
        unsafe { put(request, handle) };
    }))
}

/// # Safety
/// As `MPI_Wait`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn MPIABI_Wait(request: *mut Word, place: *mut Status) -> c_int {
    // SAFETY: MPI's promise.
    unsafe { MPIABI_Waitall(1, request, place) }
}

/// # Safety
/// As `MPI_Waitall`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn MPIABI_Waitall(
    requests: c_int,
    handles: *mut Word,
    places: *mut Status,
) -> c_int {
    let called = || {
        for at in 0..count(requests)? {
            // SAFETY: MPI's promise: so many requests.
            let request = unsafe { handles.add(at).replace(REQUEST_NULL) };
            if request == REQUEST_NULL {
                continue;
            }
            // SAFETY: MPI's promise.
            let found = unsafe { wait(request)? };
            if !places.is_null() {
                // SAFETY: MPI's promise: as many as requests.
                unsafe { places.add(at).write(status(found)) };
            }
        }
        Ok(())
    };
    code(called())
}

/// Waits for a request's message, and so for all that are due with it.
///
/// # Safety
/// As [`carry`].
unsafe fn wait(request: Word) -> Result<Option<allhands::Status>, Wrong> {
    let due = objects().due(request)?;
    let messages: Vec<Message> = due.iter().map(|(_, message)| *message).collect();
    // SAFETY: the caller's promise.
    let carried = unsafe { carry(&messages)? };
    let mut objects = objects();
    for ((handle, _), status) in due.iter().zip(carried) {
        objects.end(*handle, status);
    }
    Ok(objects.forget(request))
}
