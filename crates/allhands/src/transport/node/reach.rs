//! Reach: reading and writing the memory of another process with the system's help.

use super::far::Distance;
use super::runs::{Run, Sink};
use crate::transport::AlignedBytes;

/// What the system says of a process that has ended.
pub(super) const NO_SUCH_PROCESS: u32 = 3;

/// How a read ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Reached {
    /// Everything was read.
    All,
    /// Nothing was read: this process may not read that one's memory.
    Forbidden,
    /// The system's number of what went wrong.
    Failed(u32),
}

/// Bytes that are read at once where they are combined: they stay in the first levels of cache.
const LANDING_BYTES: usize = 64 << 10;

/// Reads `run`, which is memory of process `process`, into `sink`; by way of `landing`, if it is combined there.
pub(super) fn read<I: Iterator<Item = Run>>(
    process: u32,
    run: Run,
    sink: &mut Sink<I>,
    landing: &mut AlignedBytes,
) -> Reached {
    if sink.copies() {
        return read_into(process, run, sink);
    }
    let grain = sink.grain();
    let chunk = (LANDING_BYTES / grain).max(1) * grain;
    if landing.len() < chunk {
        *landing = AlignedBytes::zeroed(chunk);
    }
    let mut done = 0;
    while done < run.bytes {
        let bytes = chunk.min(run.bytes - done);
        let here = Run {
            address: landing.address(),
            bytes,
        };
        let there = Run {
            address: run.address.wrapping_add(done),
            bytes,
        };
        // SAFETY: `landing` is ours and has this many bytes.
        match unsafe { fetch(process, there, here) } {
            Reached::All => {}
            // A permission that is withdrawn in between is a failure: something has been combined already.
            Reached::Forbidden if done > 0 => return Reached::Failed(1),
            failed => return failed,
        }
        // SAFETY: just filled; a whole number of elements, aligned; the sink's memory is the call's own.
        unsafe { sink.feed(here, Distance::Near) };
        done += bytes;
    }
    Reached::All
}

/// Reads `run` straight into the memory of a sink that does not combine.
fn read_into<I: Iterator<Item = Run>>(process: u32, run: Run, sink: &mut Sink<I>) -> Reached {
    /// Runs that are filled by one call.
    const MOST: usize = 64;
    let mut done = 0;
    while done < run.bytes {
        let mut rooms = [Run {
            address: std::ptr::null_mut(),
            bytes: 0,
        }; MOST];
        let (mut count, mut bytes) = (0, 0);
        while count < MOST
            && let Some(room) = sink.room(run.bytes - done - bytes)
        {
            rooms[count] = room;
            bytes += room.bytes;
            count += 1;
        }
        if count == 0 {
            return Reached::All;
        }
        let there = Run {
            address: run.address.wrapping_add(done),
            bytes,
        };
        // SAFETY: the sink's memory is the call's own, writable until it is complete.
        match unsafe { system_copy(process, &rooms[..count], there, Way::Read) } {
            Reached::All => done += bytes,
            Reached::Forbidden if done > 0 => return Reached::Failed(1),
            failed => return failed,
        }
    }
    Reached::All
}

/// Copies a run of another process's memory to one of ours that is as long.
///
/// # Safety
/// Ours is writable and nobody else touches it.
pub(super) unsafe fn fetch(process: u32, there: Run, here: Run) -> Reached {
    // SAFETY: the caller's promise.
    unsafe { system_copy(process, &[here], there, Way::Read) }
}

/// Copies a run of our memory to one of another process that is as long.
///
/// # Safety
/// Ours is readable; the other process has asked for it, and leaves that memory alone until it is told.
pub(super) unsafe fn store(process: u32, here: Run, there: Run) -> Reached {
    // SAFETY: the caller's promise.
    unsafe { system_copy(process, &[here], there, Way::Write) }
}

/// Which way bytes go.
#[derive(Clone, Copy)]
enum Way {
    Read,
    Write,
}

/// Copies between `rooms`, which are ours, and `there`, which is as long as they are together.
///
/// # Safety
/// The rooms are readable, and writable if they are to be filled, and nobody else touches them; so is what is there. (What
/// is not accessible there is an error, not a fault.)
#[cfg(target_os = "linux")]
unsafe fn system_copy(process: u32, rooms: &[Run], there: Run, way: Way) -> Reached {
    use std::ffi::c_void;
    let slice = |run: &Run| libc::iovec {
        iov_base: run.address.cast::<c_void>(),
        iov_len: run.bytes,
    };
    let nothing = libc::iovec {
        iov_base: std::ptr::null_mut(),
        iov_len: 0,
    };
    let mut local = [nothing; 64];
    for (slot, run) in local.iter_mut().zip(rooms) {
        *slot = slice(run);
    }
    let remote = [slice(&there)];
    let (process, count) = (process as i32, rooms.len() as u64);
    // SAFETY: the lists are as long as said; the local ones are accessible, as the caller promises.
    let copied = unsafe {
        match way {
            Way::Read => {
                libc::process_vm_readv(process, local.as_ptr(), count, remote.as_ptr(), 1, 0)
            }
            Way::Write => {
                libc::process_vm_writev(process, local.as_ptr(), count, remote.as_ptr(), 1, 0)
            }
        }
    };
    if copied == there.bytes as isize {
        return Reached::All;
    }
    if copied >= 0 {
        // The part that was copied ends where the other's memory does.
        return Reached::Failed(libc::EFAULT as u32);
    }
    match std::io::Error::last_os_error().raw_os_error() {
        Some(libc::EPERM | libc::ENOSYS | libc::EACCES) => Reached::Forbidden,
        other => Reached::Failed(other.unwrap_or(0) as u32),
    }
}

/// Elsewhere there is no such help.
#[cfg(not(target_os = "linux"))]
unsafe fn system_copy(_process: u32, _rooms: &[Run], _there: Run, _way: Way) -> Reached {
    Reached::Forbidden
}
