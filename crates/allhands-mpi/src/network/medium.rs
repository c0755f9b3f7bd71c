//! The medium: the communicator that the messages of all others go through, as one looks at what has come there.

use super::constants::{Constants, MOST_STATUS_BYTES};
use crate::abi::{Abi, Handle};
use crate::native::functions::Native;
use std::ffi::c_int;

/// Where messages come.
pub(super) struct Medium<'a> {
    pub(super) native: &'a Native,
    pub(super) abi: &'a Abi,
    pub(super) constants: Constants,
    pub(super) comm: Handle,
}

/// A message that has come and is not received.
pub(super) struct Found {
    /// The rank that sent it.
    pub(super) source: c_int,
    pub(super) tag: c_int,
    bytes: c_int,
}

impl Medium<'_> {
    /// A message from anybody with this tag, if there is one.
    pub(super) fn look(&self, tag: c_int) -> Option<Found> {
        let (mut flag, mut status) = (0, [0u64; MOST_STATUS_BYTES / 8]);
        let (start, any) = (status.as_mut_ptr().cast::<u8>(), self.constants.any_source);
        // SAFETY: room for a number and a status.
        let code = unsafe { (self.native.iprobe)(any, tag, self.comm, &raw mut flag, start) };
        if code != 0 || flag == 0 {
            return None;
        }
        let source = start.wrapping_add(self.constants.source_at).cast::<c_int>();
        let mut bytes = 0;
        // SAFETY: the source and the tag are inside the status, and aligned, as the length of every status is; the status is that
        // of a message, and there is a number to write to.
        unsafe {
            (self.native.get_elements_x)(start, self.abi.byte, &raw mut bytes);
            Some(Found {
                source: source.read(),
                tag: source.add(1).read(),
                // What is longer than an int can say is cut, which ends it as well.
                bytes: c_int::try_from(bytes).unwrap_or(c_int::MAX).max(0),
            })
        }
    }

    /// Receives a message that was found.
    pub(super) fn take(&self, found: &Found, room: &mut Vec<u8>) {
        room.resize(found.bytes as usize, 0);
        let (into, byte, mut request) = (room.as_mut_ptr(), self.abi.byte, 0);
        let Found { source, tag, bytes } = *found;
        // SAFETY: room for so many bytes, which is left alone until the message has ended, below.
        let code = unsafe {
            (self.native.irecv)(into, bytes, byte, source, tag, self.comm, &raw mut request)
        };
        self.complete(code, request, || {});
    }

    /// Waits until something has ended that was begun with this code; calls `meanwhile` again and again.
    pub(super) fn complete(&self, code: c_int, mut request: Handle, mut meanwhile: impl FnMut()) {
        let (mut flag, mut status) = (c_int::from(code != 0), [0u64; MOST_STATUS_BYTES / 8]);
        while flag == 0 {
            meanwhile();
            let status = status.as_mut_ptr().cast();
            // SAFETY: the request that was made, and room for a number and a status.
            let code = unsafe { (self.native.test)(&raw mut request, &raw mut flag, status) };
            flag |= c_int::from(code != 0);
            std::thread::yield_now();
        }
    }

    /// Waits for all ranks, and takes whatever they have sent.
    pub(super) fn empty(&self) {
        let (mut room, mut request) = (Vec::new(), 0);
        let mut take = || {
            while let Some(found) = self.look(self.constants.any_tag) {
                self.take(&found, &mut room);
            }
        };
        // SAFETY: a communicator, and a request to write.
        let code = unsafe { (self.native.ibarrier)(self.comm, (&raw mut request).cast()) };
        self.complete(code, request, &mut take);
        take();
    }
}
