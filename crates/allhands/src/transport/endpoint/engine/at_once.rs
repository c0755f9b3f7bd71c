//! What is done at once: copies, reductions, and puts and gets, which need no peer to take part.

use crate::transport::endpoint::engine::node::NodeEngine;
use crate::transport::shm::memory::copy::Distance;
use crate::transport::shm::memory::iovec::{self, Iovec, Sink};
use crate::transport::shm::tuning::{
    DEFERRED_LEAST, OWN_CLAIM_MOST, PASS_ON_MOST, WINDOW_CLAIM_LEAST,
};
use allhands_core::progress::Post;
use allhands_core::schedule::{Extent, OpKind, Space};

/// The distance of a block of a window that was at `distance` so far, if nobody else reads it any more: where that is [`Distance::Near`],
/// ranks share cores, and claim nothing.
#[inline]
fn of_the_last(iovec: Iovec, last: bool, distance: Distance) -> Distance {
    match last && iovec.bytes >= WINDOW_CLAIM_LEAST && distance == Distance::Far {
        true => Distance::Back,
        false => distance,
    }
}

/// How far away own memory is in a call whose received memory is at `distance`.
#[inline]
fn own(distance: Distance) -> Distance {
    match distance {
        Distance::Beyond | Distance::Cold => distance,
        Distance::Near | Distance::Far | Distance::Back => Distance::Near,
    }
}

impl NodeEngine<'_> {
    /// Copies own memory.
    #[inline]
    pub(super) fn copy(&self, post: &Post<'_>) {
        let request = &*self.request;
        self.claim_lines(post);
        let distance = own(request.distance);
        // SAFETY: own memory that the call may use; the schedule orders operations that touch the same bytes.
        unsafe {
            iovec::fetch(
                request.iovecs(post.source()),
                request.iovecs(post.target()),
                distance,
            );
        };
        self.pass_on(post);
    }

    /// Does a reduction, a put or a get.
    #[inline]
    pub(super) fn combine_or_get(&self, post: &Post<'_>) {
        let request = &*self.request;
        let distance = match request.distance {
            Distance::Cold => Distance::Cold,
            _ => self.endpoint.segment().distance(),
        };
        let (source, into) = (request.iovecs(post.source()), request.iovecs(post.target()));
        match post.kind() {
            OpKind::Reduce => {
                let right = request.iovecs(post.other());
                // SAFETY: as for a copy, and extents are whole elements.
                unsafe { iovec::reduce(&request.combine(), source, right, into) };
            }
            OpKind::Put { to, .. } => {
                let target = post.target().iter().map(|e| request.window_iovec(to, e));
                // SAFETY: the peer's window is memory of the arena that this request keeps; the
                // schedule's flags grant these bytes to us now.
                unsafe { iovec::fetch(source, target, own(distance)) };
            }
            OpKind::PutReduce { to, side, .. } => {
                let target = post.target().iter().map(|e| request.window_iovec(to, e));
                let mut sink = Sink::reduce(target.clone(), target, request.combine(), side);
                for iovec in source {
                    // SAFETY: as for a put; windows are aligned for elements and extents are whole elements.
                    unsafe { sink.feed(iovec, Distance::Near) };
                }
            }
            OpKind::Get { from, last, .. } => {
                let mut sink = Sink::copy(into);
                for extent in post.other() {
                    let iovec = request.window_iovec(from, extent);
                    // SAFETY: as for a put; and nobody else reads what is got as the last.
                    unsafe { sink.feed(iovec, of_the_last(iovec, last, distance)) };
                }
            }
            OpKind::GetReduce {
                from, side, last, ..
            } => {
                let mut sink = Sink::reduce(into, source, request.combine(), side);
                for extent in post.other() {
                    let iovec = request.window_iovec(from, extent);
                    // SAFETY: as for a put-reduce; and nobody else reads what is got as the last.
                    unsafe { sink.feed(iovec, of_the_last(iovec, last, distance)) };
                }
            }
            _ => {}
        }
    }

    /// Claims the lines of the own window that are about to be written.
    #[inline]
    fn claim_lines(&self, post: &Post<'_>) {
        if post.bytes > OWN_CLAIM_MOST {
            return;
        }
        let windows = |extent: &&Extent| extent.space == Space::Window;
        for extent in post.target().iter().filter(windows) {
            let iovec = self.request.iovec(extent);
            iovec::claim_lines(iovec.address, iovec.bytes);
        }
    }

    /// Whether a message is looked for only when the copy of its step has begun: one that is there by then would be read first, while
    /// its sender, who could copy it meanwhile, waits.
    #[inline]
    pub(super) fn follows_copy(&self, post: &Post<'_>) -> bool {
        post.bytes >= DEFERRED_LEAST
            && self.request.is_beside_copy(post.ticket)
            && self.endpoint.segment().may_assist()
    }

    /// Puts a long copy off, if there is something to receive with the help of whoever sends it.
    #[inline]
    pub(super) fn defers(&self, post: &Post<'_>) -> bool {
        let request = &*self.request;
        let ([from], [into]) = (post.source(), post.target()) else {
            return false;
        };
        let defers = post.bytes >= DEFERRED_LEAST
            && request.may_defer(post.ticket)
            && self.endpoint.segment().may_assist();
        if defers {
            request.defer(post.ticket, (request.iovec(from), request.iovec(into)));
        }
        defers
    }

    /// Passes on what was copied to the own window, where peers will read it.
    #[inline]
    fn pass_on(&self, post: &Post<'_>) {
        if post.bytes > PASS_ON_MOST || self.endpoint.segment().is_oversubscribed() {
            return;
        }
        let windows = |extent: &&Extent| extent.space == Space::Window;
        for extent in post.target().iter().filter(windows) {
            let iovec = self.request.iovec(extent);
            iovec::pass_on(iovec.address, iovec.bytes);
        }
    }
}
