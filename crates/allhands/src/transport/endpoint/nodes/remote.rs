//! Remote messages: what a request keeps for those that it exchanges with other nodes.
//!
//! A message of one iovec goes from the call's memory, or to it, as it is. One of several iovecs is packed in a bounce buffer first, or
//! lands there and is unpacked, and what is combined lands there, too.

use crate::transport::endpoint::nodes::cluster::Cluster;
use crate::transport::endpoint::nodes::overlap::Overlap;
use crate::transport::endpoint::nodes::windows::{Flags, RemoteWindows};
use crate::transport::net::{NetworkError, SignedCall, Ticket};
use crate::transport::shm::memory::iovec::Iovec;
use crate::transport::{AlignedBytes, TransportError};
use allhands_core::schedule::Plan;
use std::sync::Arc;

/// An operation that exchanges a message with another node.
#[derive(Debug, Default)]
pub(crate) struct Message {
    /// While it is under way.
    pub(crate) ticket: Option<Ticket>,
    /// Where it is packed, or lands, unless that is the call's own memory.
    pub(crate) bounce_buffer: Option<AlignedBytes>,
    /// Whether what came belongs to another call, so that this one never ends well.
    pub(crate) differs: bool,
    /// Whether it is sent when all receives that may begin have begun.
    pub(crate) is_held: bool,
}

/// What a request keeps for its messages to other nodes.
pub(crate) struct Remote {
    cluster: Arc<Cluster>,
    /// The call under way.
    call: Option<u64>,
    /// By the operation's number.
    pub(crate) messages: Box<[Message]>,
    /// Which of them begin before their step, or end after it.
    pub(crate) overlap: Overlap,
    /// Bounce buffers that are free.
    pub(crate) bounce_buffers: Vec<AlignedBytes>,
    /// Empty between two looks.
    pub(crate) held: Vec<Held>,
    /// The windows of other nodes, if it has to do with some.
    pub(crate) windows: Option<Box<RemoteWindows>>,
}

/// Why a call cannot begin.
pub(crate) enum Hindrance {
    /// There are no tags for it.
    Tags(TransportError),
    /// The network has failed.
    Network(NetworkError),
}

/// A message that waits for receives to begin.
pub(crate) struct Held {
    /// The number of its operation.
    pub(crate) ticket: u32,
    /// The rank in the communicator.
    pub(crate) name: u32,
    pub(crate) tag: u32,
    pub(crate) iovec: Iovec,
}

impl Remote {
    /// For the messages of a plan, and its puts into windows, on a node of `here` ranks; none if it has none with other nodes. `flags` are
    /// those of its own window, if it has some.
    pub(crate) fn new(
        cluster: Option<&Arc<Cluster>>,
        here: u32,
        plan: &Plan,
        flags: Option<Flags>,
    ) -> Result<Option<Box<Remote>>, NetworkError> {
        let Some(cluster) = cluster else {
            return Ok(None);
        };
        let mut peers = plan.kinds().filter_map(|kind| kind.peer());
        let overlap = || match cluster.state().network.bears_overlap() {
            true => Overlap::of(plan, here),
            false => Overlap::default(),
        };
        if !peers.any(|peer| peer >= here) {
            return Ok(None);
        }
        Ok(Some(Box::new(Remote {
            windows: RemoteWindows::new(cluster, here, plan, flags)?,
            cluster: Arc::clone(cluster),
            call: None,
            messages: plan.kinds().map(|_| Message::default()).collect(),
            overlap: overlap(),
            bounce_buffers: Vec::new(),
            held: Vec::new(),
        })))
    }

    /// Says that a call is about to begin, if it has not begun; whether it had.
    pub(crate) fn depart(&mut self, by: SignedCall) -> Result<bool, Hindrance> {
        let has_begun = self.call == Some(by.call);
        if !has_begun {
            let mut state = self.cluster.state();
            let begun = self.cluster.begin(&mut state, by.call);
            begun.map_err(Hindrance::Tags)?;
            self.call = Some(by.call);
            state.enter(by);
            if let Some(windows) = &mut self.windows {
                let departed = windows.depart(&mut state);
                departed.map_err(Hindrance::Network)?;
            }
        }
        Ok(has_begun)
    }

    /// Says that the call has ended, with all its messages.
    pub(crate) fn arrive(&mut self) {
        if let Some(call) = self.call.take() {
            let is_over = |message: &Message| message.ticket.is_none();
            debug_assert!(self.messages.iter().all(is_over), "one is under way");
            let mut state = self.cluster.state();
            if let Some(windows) = &mut self.windows {
                windows.arrive(&mut state);
            }
            state.end(call);
        }
    }

    /// Ends every message: afterwards the network touches no memory of the call.
    pub(crate) fn stop(&mut self) {
        let mut state = self.cluster.state();
        for message in &mut self.messages {
            let Some(ticket) = message.ticket.take() else {
                continue;
            };
            while !state.network.cancel(ticket) {
                if let Some(bounce_buffer) = message.bounce_buffer.take() {
                    // Memory that is nobody's any more may be touched for ever.
                    std::mem::forget(bounce_buffer);
                    break;
                }
                // What stands in the way of this message stopped the communicator.
                let _ = state.look();
                std::thread::yield_now();
            }
        }
        for ticket in self.windows.iter_mut().flat_map(|it| it.take_under_way()) {
            while !state.network.cancel(ticket) {
                let _ = state.look();
                std::thread::yield_now();
            }
        }
        drop(state);
        self.arrive();
        // What peers still put is thrown away.
        self.windows = None;
    }

    /// A bounce buffer for `bytes` bytes.
    pub(crate) fn bounce_buffer(&mut self, bytes: usize) -> AlignedBytes {
        let fits = |bounce_buffer: &AlignedBytes| bounce_buffer.len() >= bytes;
        match self.bounce_buffers.iter().position(fits) {
            Some(at) => self.bounce_buffers.swap_remove(at),
            None => AlignedBytes::zeroed(bytes),
        }
    }
}

impl std::fmt::Debug for Remote {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Remote")
            .field("messages", &self.messages.len())
            .finish_non_exhaustive()
    }
}
