//! What can go wrong with a message between two ranks while the communicator stays usable.

use crate::element::{ArrivalError, TypeSignature};
use crate::transport::TransportError;

/// Why a message was not sent or received; the communicator, and all other messages, are as they were.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum MessageError {
    /// A message is longer than the buffer of its receive. It is gone, and the buffer as it was.
    #[error(
        "rank {rank} has room for {room} elements, and the message of rank {from} with tag {tag} has {sent}"
    )]
    TooLong {
        /// The receiver.
        rank: usize,
        /// The sender.
        from: usize,
        /// The tag.
        tag: u32,
        /// The elements of the message.
        sent: usize,
        /// The elements for which there is room.
        room: usize,
    },
    /// A message is of other elements than its receive. It is gone, and the buffer as it was.
    #[error(
        "rank {rank} receives elements of type {wanted}, and the message of rank {from} with tag {tag} is of type {sent}"
    )]
    ElementsDiffer {
        /// The receiver.
        rank: usize,
        /// The sender.
        from: usize,
        /// The tag.
        tag: u32,
        /// The type that was sent.
        sent: TypeSignature,
        /// The type that was to be received.
        wanted: TypeSignature,
    },
    /// What arrived is no value of the element type.
    #[error("the message of rank {from} with tag {tag}: {source}")]
    Arrival {
        /// The sender.
        from: usize,
        /// The tag.
        tag: u32,
        /// What was wrong.
        source: ArrivalError,
    },
    /// A message to, or from, a rank outside of the communicator.
    #[error("there is no rank {peer} to exchange messages with; the communicator has ranks 0 to {}", ranks - 1)]
    NoSuchRank {
        /// The rank that was asked for.
        peer: usize,
        /// The number of ranks.
        ranks: usize,
    },
    /// A rank waits for itself: for a message that it has not sent, or for its own receive, which it has not posted.
    #[error(
        "rank {rank} waits for itself: start one of the two with isend or irecv, or do both with sendrecv"
    )]
    Itself {
        /// The rank.
        rank: usize,
    },
    /// A receive waits for a message that cannot come before others are received.
    #[error(
        "rank {rank} waits for a message of rank {from}, of which {messages} others wait that nobody has received: more do not come"
    )]
    Unreceived {
        /// The receiver.
        rank: usize,
        /// The sender.
        from: usize,
        /// The messages that wait.
        messages: usize,
    },
}

/// Why a message failed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Failure {
    Message(MessageError),
    Transport(TransportError),
}

impl From<TransportError> for Failure {
    fn from(error: TransportError) -> Failure {
        Failure::Transport(error)
    }
}

impl From<MessageError> for Failure {
    fn from(error: MessageError) -> Failure {
        Failure::Message(error)
    }
}
