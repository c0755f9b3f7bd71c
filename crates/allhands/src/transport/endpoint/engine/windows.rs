//! Windows of other nodes: what the network engine does with puts and notifications that go there.

use crate::transport::TransportError;
use crate::transport::endpoint::engine::network::NetworkEngine;
use crate::transport::endpoint::nodes::cluster::State;
use crate::transport::endpoint::nodes::windows::{Exchange, RemoteWindows};
use crate::transport::endpoint::state::request::RequestState;
use crate::transport::net::{NetworkError, SignedCall};
use crate::transport::shm::failure::fault::Fault;
use crate::transport::shm::memory::iovec::Iovec;
use allhands_core::progress::{Post, Status};
use allhands_core::schedule::OpKind;

impl NetworkEngine<'_> {
    /// Does something with the windows of other nodes.
    fn with_windows<R>(
        &mut self,
        what: impl FnOnce(&mut RemoteWindows, &mut State, &RequestState) -> Result<R, NetworkError>,
    ) -> Result<R, TransportError> {
        let mut windows = self.remote().windows.take();
        let done = match &mut windows {
            Some(found) => what(found, &mut self.state, self.node.request),
            None => Err(NetworkError::NoWindows),
        };
        self.remote().windows = windows;
        done.map_err(|error| self.failed(error))
    }

    /// Whether this rank and all to whose windows it puts know one another's.
    pub(super) fn exchange(&mut self) -> Result<bool, TransportError> {
        if self.remote().windows.is_none() {
            return Ok(true);
        }
        let (call, signature) = (self.node.request.call, self.node.request.chain);
        let exchanged = self.with_windows(|windows, state, _| {
            state.network.sign(signature);
            windows.exchange(state, call)
        });
        let (other, received) = match exchanged? {
            Exchange::Done => return Ok(true),
            Exchange::UnderWay => return Ok(false),
            Exchange::Length(other, received) => (other, received),
        };
        let rank = self.node.endpoint.rank();
        let fault = Fault::Length {
            rank,
            other,
            expected: RemoteWindows::MESSAGE_BYTES,
            received,
        };
        Err(self.node.endpoint.segment().poison_from(call, rank, fault))
    }

    /// Whether no rank is lost to whose window this one puts, as each puts to this one, too.
    pub(super) fn look_at_peers(&mut self) -> Result<(), TransportError> {
        match self.remote().windows {
            Some(_) => self.with_windows(|windows, state, _| windows.look_at_peers(state)),
            None => Ok(()),
        }
    }

    /// Begins a put, piece by piece, or raises a flag.
    pub(super) fn begin_one_sided(
        &mut self,
        post: &Post<'_>,
        to: u32,
    ) -> Result<Status, TransportError> {
        let ticket = post.ticket;
        self.with_windows(|windows, state, request| {
            if let OpKind::Notify { flag, .. } = post.kind() {
                let (call, signature) = (request.call, request.chain);
                windows.raise(state, (to, flag), SignedCall { call, signature })?;
                return Ok(Status::Done);
            }
            for (Iovec { address, bytes }, offset) in pieces(request, post) {
                // SAFETY: the call's own memory, which stays as it is until the operation is done, that is until all its puts have
                // ended, or the request is stopped, which ends them.
                unsafe { windows.put(state, (ticket, to), offset, (address, bytes)) }?;
            }
            windows.has_put(state, ticket).map(status)
        })
    }

    /// Whether a put is over here: its memory may be used again.
    pub(super) fn look_at_put(&mut self, post: &Post<'_>) -> Result<Status, TransportError> {
        let ticket = post.ticket;
        self.with_windows(|windows, state, _| windows.has_put(state, ticket).map(status))
    }
}

fn status(is_done: bool) -> Status {
    match is_done {
        true => Status::Done,
        false => Status::Pending,
    }
}

/// What a put moves: memory of this rank that is in one piece here and there, and where in the peer's window it goes.
fn pieces<'a>(
    request: &'a RequestState,
    post: &'a Post<'a>,
) -> impl Iterator<Item = (Iovec, usize)> + 'a {
    let mut targets = post
        .target()
        .iter()
        .map(|extent| (extent.offset, extent.bytes));
    let mut sources = request.iovecs(post.source());
    let nothing = Iovec {
        address: std::ptr::null_mut(),
        bytes: 0,
    };
    let (mut source, mut target) = (nothing, (0, 0));
    std::iter::from_fn(move || {
        while source.bytes == 0 {
            source = sources.next()?;
        }
        while target.1 == 0 {
            target = targets.next()?;
        }
        let bytes = source.bytes.min(target.1);
        let piece = (source.piece(0, bytes), target.0);
        source = source.piece(bytes, usize::MAX);
        target = (target.0 + bytes, target.1 - bytes);
        Some(piece)
    })
}
