//! Cross-memory attach: reading and writing the memory of another process with the system's help.

use crate::transport::AlignedBytes;
use crate::transport::shm::memory::copy::Distance;
use crate::transport::shm::memory::iovec::{self, Iovec, Sink};
use crate::transport::shm::memory::page_aliasing;
use crate::transport::shm::tuning::{ATTACH_ASIDE_BYTES, ATTACH_ASIDE_LEAST, ATTACH_LANDING_BYTES};
use std::cell::RefCell;

/// What the system says of a process that has ended.
pub(crate) const NO_SUCH_PROCESS: u32 = 3;

/// How a read ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Outcome {
    /// Everything was read.
    All,
    /// Nothing was read: this process may not read that one's memory.
    Forbidden,
    /// The system's number of what went wrong.
    Failed(u32),
}

/// Reads `iovec`, which is memory of process `process`, into `sink`. What is combined comes to where its result goes first, as this is
/// written then anyway; or to `landing`, if it is combined with what is there.
pub(crate) fn read<I: Iterator<Item = Iovec>>(
    process: u32,
    iovec: Iovec,
    sink: &mut Sink<I>,
    landing: &mut AlignedBytes,
) -> Outcome {
    if sink.copies() {
        return read_into(process, iovec, sink);
    }
    let grain = sink.grain();
    let chunk = (ATTACH_LANDING_BYTES / grain).max(1) * grain;
    let mut done = 0;
    while done < iovec.bytes {
        let there = iovec.piece(done, chunk);
        let here = sink.landing(there.bytes).unwrap_or_else(|| {
            if landing.len() < chunk {
                *landing = AlignedBytes::zeroed(chunk);
            }
            Iovec {
                address: landing.address(),
                bytes: there.bytes,
            }
        });
        let there = there.piece(0, here.bytes);
        // SAFETY: `landing` is ours and has this many bytes, as the sink has, whose memory is the call's own.
        match unsafe { fetch(process, there, here) } {
            Outcome::All => {}
            // A permission that is withdrawn in between is a failure: something has been combined already.
            Outcome::Forbidden if done > 0 => return Outcome::Failed(1),
            failed => return failed,
        }
        // SAFETY: just filled; a whole number of elements, aligned; the sink's memory is the call's own.
        unsafe { sink.feed(here, Distance::Near) };
        done += here.bytes;
    }
    Outcome::All
}

/// Reads `iovec` straight into the memory of a sink that does not combine.
fn read_into<I: Iterator<Item = Iovec>>(process: u32, iovec: Iovec, sink: &mut Sink<I>) -> Outcome {
    /// Iovecs that are filled by one call.
    const MOST: usize = 64;
    let mut done = 0;
    while done < iovec.bytes {
        let mut rooms = [Iovec {
            address: std::ptr::null_mut(),
            bytes: 0,
        }; MOST];
        let (mut count, mut bytes) = (0, 0);
        while count < MOST
            && let Some(room) = sink.room(iovec.bytes - done - bytes)
        {
            rooms[count] = room;
            bytes += room.bytes;
            count += 1;
        }
        if count == 0 {
            return Outcome::All;
        }
        let there = Iovec {
            address: iovec.address.wrapping_add(done),
            bytes,
        };
        let outcome = match rooms[..count] {
            // SAFETY: the sink's memory is the call's own, writable until it is complete.
            [room] => unsafe { fetch(process, there, room) },
            // SAFETY: as above.
            ref rooms => unsafe { system_copy(process, rooms, there, Way::Read) },
        };
        match outcome {
            Outcome::All => done += bytes,
            Outcome::Forbidden if done > 0 => return Outcome::Failed(1),
            failed => return failed,
        }
    }
    Outcome::All
}

/// Copies an iovec of another process's memory to one of ours that is as long.
///
/// # Safety
/// Ours is writable and nobody else touches it.
pub(crate) unsafe fn fetch(process: u32, there: Iovec, here: Iovec) -> Outcome {
    if moves_slowly(there, here) {
        // SAFETY: the caller's promise.
        return unsafe { copy_aside(process, here, there, Way::Read) };
    }
    // SAFETY: the caller's promise.
    unsafe { system_copy(process, &[here], there, Way::Read) }
}

/// Copies an iovec of our memory to one of another process that is as long.
///
/// # Safety
/// Ours is readable; the other process has asked for it, and leaves that memory alone until it is told.
pub(crate) unsafe fn store(process: u32, here: Iovec, there: Iovec) -> Outcome {
    if moves_slowly(here, there) {
        // SAFETY: the caller's promise.
        return unsafe { copy_aside(process, here, there, Way::Write) };
    }
    // SAFETY: the caller's promise.
    unsafe { system_copy(process, &[here], there, Way::Write) }
}

/// Whether the system would take much longer for a copy than for one to another place.
fn moves_slowly(from: Iovec, into: Iovec) -> bool {
    from.bytes >= ATTACH_ASIDE_LEAST
        && page_aliasing::is_4k_aliased(from.address, into.address)
        && page_aliasing::are_slow()
}

/// Copies between an iovec of ours and one of another process by way of memory whose place in its page is that of the other's iovec:
/// the system copies that far, and the processor the rest.
///
/// # Safety
/// As for [`fetch`] or [`store`].
unsafe fn copy_aside(process: u32, here: Iovec, there: Iovec, way: Way) -> Outcome {
    thread_local! {
        static ASIDE: RefCell<AlignedBytes> = RefCell::new(AlignedBytes::zeroed(0));
    }
    // SAFETY: the caller's promise.
    let copy = |memory: &mut AlignedBytes| unsafe { copy_by(memory, process, here, there, way) };
    let outcome = ASIDE.try_with(|memory| copy(&mut memory.borrow_mut()));
    // A thread that is ending may have given it back already.
    outcome.unwrap_or_else(|_| copy(&mut AlignedBytes::zeroed(0)))
}

/// The same, with this memory.
///
/// # Safety
/// As for [`fetch`] or [`store`].
unsafe fn copy_by(
    memory: &mut AlignedBytes,
    process: u32,
    here: Iovec,
    there: Iovec,
    way: Way,
) -> Outcome {
    if memory.is_empty() {
        *memory = AlignedBytes::zeroed(ATTACH_ASIDE_BYTES + page_aliasing::PAGE_BYTES);
    }
    let same = there.address.addr().wrapping_sub(memory.address().addr());
    let aside = memory
        .address()
        .wrapping_add(same % page_aliasing::PAGE_BYTES);
    let mut done = 0;
    while done < here.bytes {
        // Whole pages, so that the next piece has the same place.
        let (here, there) = (
            here.piece(done, ATTACH_ASIDE_BYTES),
            there.piece(done, ATTACH_ASIDE_BYTES),
        );
        let aside = Iovec {
            address: aside,
            bytes: here.bytes,
        };
        // SAFETY: the caller's promise; what is aside is this thread's own and as long.
        let outcome = unsafe {
            if let Way::Write = way {
                iovec::copy_iovec(here, aside);
            }
            let outcome = system_copy(process, &[aside], there, way);
            if let (Way::Read, Outcome::All) = (way, outcome) {
                iovec::copy_iovec(aside, here);
            }
            outcome
        };
        match outcome {
            Outcome::All => done += here.bytes,
            Outcome::Forbidden if done > 0 => return Outcome::Failed(1),
            failed => return failed,
        }
    }
    Outcome::All
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
unsafe fn system_copy(process: u32, rooms: &[Iovec], there: Iovec, way: Way) -> Outcome {
    use std::ffi::c_void;
    let slice = |iovec: &Iovec| libc::iovec {
        iov_base: iovec.address.cast::<c_void>(),
        iov_len: iovec.bytes,
    };
    let nothing = libc::iovec {
        iov_base: std::ptr::null_mut(),
        iov_len: 0,
    };
    let mut local = [nothing; 64];
    for (slot, iovec) in local.iter_mut().zip(rooms) {
        *slot = slice(iovec);
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
        return Outcome::All;
    }
    if copied >= 0 {
        // The part that was copied ends where the other's memory does.
        return Outcome::Failed(libc::EFAULT as u32);
    }
    match std::io::Error::last_os_error().raw_os_error() {
        Some(libc::EPERM | libc::ENOSYS | libc::EACCES) => Outcome::Forbidden,
        other => Outcome::Failed(other.unwrap_or(0) as u32),
    }
}

/// Elsewhere there is no such help.
#[cfg(not(target_os = "linux"))]
unsafe fn system_copy(_process: u32, _rooms: &[Iovec], _there: Iovec, _way: Way) -> Outcome {
    Outcome::Forbidden
}

#[cfg(all(test, target_os = "linux", not(loom), not(miri)))]
mod tests {
    use super::*;

    /// Copies within this process, to `behind` bytes behind the source's place in its page, both ways; checks what came and
    /// that nothing else did.
    fn copies(behind: usize, bytes: usize, copy: unsafe fn(Iovec, Iovec, Way) -> Outcome) {
        let from: Vec<u8> = (0..bytes).map(|i| (i * 31 % 251) as u8).collect();
        for way in [Way::Read, Way::Write] {
            let mut into = vec![0u8; bytes + 3 * page_aliasing::PAGE_BYTES];
            let first = into.as_ptr().addr();
            let start =
                (from.as_ptr().addr().wrapping_sub(first)) % page_aliasing::PAGE_BYTES + behind;
            let source = Iovec {
                address: from.as_ptr().cast_mut(),
                bytes,
            };
            let target = Iovec {
                address: into[start..].as_mut_ptr(),
                bytes,
            };
            // SAFETY: both vectors are long enough and this test's own; the source is only read.
            assert_eq!(unsafe { copy(source, target, way) }, Outcome::All);
            assert_eq!(into[start..start + bytes], from);
            let mut rest = into[..start].iter().chain(&into[start + bytes..]);
            assert!(rest.all(|byte| *byte == 0), "{behind} {bytes}");
        }
    }

    /// As the caller of `copies` has it: from one iovec to another of this process.
    unsafe fn as_it_is(from: Iovec, into: Iovec, way: Way) -> Outcome {
        let process = std::process::id();
        // SAFETY: the caller's promise.
        unsafe {
            match way {
                Way::Read => fetch(process, from, into),
                Way::Write => store(process, from, into),
            }
        }
    }

    unsafe fn aside(from: Iovec, into: Iovec, way: Way) -> Outcome {
        let (here, there) = match way {
            Way::Read => (into, from),
            Way::Write => (from, into),
        };
        // SAFETY: the caller's promise.
        unsafe { copy_aside(std::process::id(), here, there, way) }
    }

    #[test]
    fn what_is_copied_comes_whole_wherever_it_goes() {
        for behind in [0, 1, 16, 31, 32] {
            for bytes in [
                1,
                ATTACH_ASIDE_LEAST,
                ATTACH_ASIDE_BYTES,
                ATTACH_ASIDE_BYTES + 1,
                200_001,
            ] {
                copies(behind, bytes, as_it_is);
                copies(behind, bytes, aside);
            }
        }
    }

    #[test]
    fn a_thread_that_is_ending_copies_as_before() {
        struct Late(std::cell::Cell<Option<std::sync::mpsc::Sender<()>>>);
        impl Drop for Late {
            fn drop(&mut self) {
                copies(32, ATTACH_ASIDE_BYTES + 1, aside);
                self.0.take().unwrap().send(()).unwrap();
            }
        }
        thread_local! {
            static LATE: Late = const { Late(std::cell::Cell::new(None)) };
        }
        let (done, has_been_done) = std::sync::mpsc::channel();
        let thread = std::thread::spawn(|| {
            // What is there first goes last.
            LATE.with(|late| late.0.set(Some(done)));
            copies(32, ATTACH_ASIDE_BYTES + 1, aside);
        });
        thread.join().unwrap();
        has_been_done.recv().unwrap();
    }

    #[test]
    fn memory_that_is_not_there_is_an_error() {
        let mut into = vec![0u8; ATTACH_ASIDE_LEAST];
        let here = Iovec {
            address: into.as_mut_ptr(),
            bytes: into.len(),
        };
        let there = Iovec {
            address: std::ptr::without_provenance_mut(1 << 12),
            bytes: into.len(),
        };
        for way in [Way::Read, Way::Write] {
            // SAFETY: ours is this test's own; what is not there is not touched.
            let outcome = unsafe { copy_aside(std::process::id(), here, there, way) };
            assert!(matches!(outcome, Outcome::Failed(_)), "{outcome:?}");
        }
    }
}
