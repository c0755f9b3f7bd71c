//! Pipeline buffers as the engine fills them: long messages between ranks that send to one another at the same time, and the longest of
//! those that go one way.

use crate::transport::endpoint::engine::node::NodeEngine;
use crate::transport::shm::memory::copy;
use crate::transport::shm::memory::iovec::{self, Iovec};
use crate::transport::shm::protocol::copy_and_send::Double;
use crate::transport::shm::queue::buffers::Part;
use crate::transport::shm::queue::ring::Header;
use allhands_core::progress::{Post, Status};

impl NodeEngine<'_> {
    /// Gives a long message away in a pipeline buffer, or in one after another, `None`
    /// where there is none.
    pub(super) fn send_pipelined(
        &mut self,
        post: &Post<'_>,
        to: u32,
        header: Header,
    ) -> Option<Status> {
        let exchanged = self.request.exchanges(post.ticket);
        let most = self.request.pipelined_most.of(exchanged);
        // An element may be longer than a buffer.
        if most == 0 {
            return None;
        }
        let Some(entry) = self.entry_of_parts(post.ticket, exchanged) else {
            return Some(Status::Pending);
        };
        let copy = self.doubled(post.ticket);
        loop {
            let start = *self.request.gone(post.ticket);
            let bytes = most.min(post.bytes - start);
            let part = Part {
                start,
                bytes,
                of: post.bytes,
            };
            let request = &*self.request;
            let fill = |buffer: *mut u8| {
                if start == 0 && !exchanged {
                    request.announce_parts(post);
                }
                let buffer = Iovec {
                    address: buffer,
                    bytes,
                };
                let from = request.iovecs(post.source());
                // SAFETY: the call's own memory, to a pipeline buffer that is ours and has room for `bytes`, and to where the copy of
                // the same goes, which has as many as the message.
                unsafe {
                    match (copy, post.source()) {
                        (Some(copy), [source]) => {
                            let address = |iovec: Iovec| iovec.piece(start, bytes).address;
                            let (from, past) = (address(request.iovec(source)), address(copy));
                            copy::copy_twice(from, buffer.address, past, bytes);
                        }
                        _ => iovec::copy_part(from, start, buffer),
                    }
                };
            };
            let sent = self
                .endpoint
                .send_pipelined(to, header, (part, entry), fill);
            if sent == Some(true) {
                copy.and(self.request.double.as_ref()).map(Double::take);
            }
            match sent {
                None if start == 0 => return None,
                // The receiver, who takes the parts that it has, hands their pipeline buffers back or sends its own in them.
                None => {
                    // What is wrong with these is found by who receives them.
                    let _ = self.endpoint.make_way(self.request, to);
                    return Some(Status::Pending);
                }
                Some(false) => return Some(Status::Pending),
                Some(true) if start + bytes < post.bytes => {
                    *self.request.gone(post.ticket) = start + bytes;
                }
                Some(true) => return Some(self.finish_pipelined(post.ticket, copy.is_some())),
            }
        }
    }

    /// Where the entry lies of a message that goes one way in parts and is under way, or may begin, and 0 of one that is exchanged; `None`
    /// while that of the last call, or iteration, has not been read.
    fn entry_of_parts(&mut self, ticket: u32, exchanged: bool) -> Option<u64> {
        if exchanged {
            return Some(0);
        }
        let is_under_way = *self.request.gone(ticket) > 0;
        let descriptors = self.request.descriptors();
        let is_free = || descriptors.entry(ticket).descriptor.is_free();
        (is_under_way || is_free()).then(|| descriptors.entry_offset(ticket))
    }

    /// Ends a send, whose last part is away, and the copy that was made with it, if one was.
    #[inline]
    fn finish_pipelined(&mut self, ticket: u32, doubled: bool) -> Status {
        *self.request.gone(ticket) = 0;
        if doubled {
            self.request.double.iter().for_each(Double::make);
        }
        self.request.went(ticket);
        Status::Done
    }

    /// Where a send copies its message, too, if it does.
    fn doubled(&self, ticket: u32) -> Option<Iovec> {
        let double = self.request.double.as_ref()?;
        let copies = double.is_made_by(ticket);
        copies.then(|| self.request.iovec(&double.into))
    }

    /// Whether a copy that is made with a send is made by now; `None` where it shall be made on its own.
    #[inline]
    pub(super) fn is_made(&self, ticket: u32) -> Option<bool> {
        self.request.double.as_ref()?.is_made(ticket)
    }
}
