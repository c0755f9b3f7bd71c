//! Pieces: how a message is cut that goes to memory which its receiver reads meanwhile.

use crate::transport::shm::memory::iovec::Pieces;
use crate::transport::shm::protocol::copy_protocol::CopyProtocol;
use crate::transport::shm::queue::ring::Shown;
use crate::transport::shm::tuning::{
    OVERSUBSCRIBED_PIECE, PIECE_COPIED_MEANWHILE, PIECE_LEAST, UNCLAIMED_PIECE, VECTORS_PIECE,
};

impl Pieces {
    /// The pieces of a message of `bytes` bytes in a bounce buffer, whose receiver wants this copy protocol.
    pub(crate) fn of_bounce_buffer(
        bytes: usize,
        oversubscribed: bool,
        protocol: Option<CopyProtocol>,
    ) -> Pieces {
        let (piece, claims) = match protocol {
            Some(CopyProtocol::Vectors) if !oversubscribed => (VECTORS_PIECE, false),
            Some(CopyProtocol::Strings) => (length(bytes, oversubscribed), false),
            _ => (length(bytes, oversubscribed), !oversubscribed),
        };
        Pieces {
            bytes: piece,
            claimed_ahead: claims.then_some(piece),
        }
    }

    /// The pieces of a message of `bytes` bytes in a medium buffer, and when it is shown to its receiver; one that sends at the same time
    /// has other things to do than to read what comes, and one on the same core cannot. Those of a buffer whose lines its receiver leaves
    /// `unclaimed` are shorter. Each piece's lines are claimed with it: those
    /// of the next would delay this one, for which its receiver waits.
    pub(crate) fn of_medium(
        bytes: usize,
        oversubscribed: bool,
        exchanges: bool,
        unclaimed: bool,
    ) -> (Shown, Pieces) {
        let (shown, piece) = match oversubscribed || exchanges {
            true => (Shown::Whole, bytes),
            false if unclaimed => (Shown::AsItComes, UNCLAIMED_PIECE),
            false => (Shown::AsItComes, length(bytes, oversubscribed)),
        };
        let pieces = Pieces {
            bytes: piece,
            claimed_ahead: (!oversubscribed).then_some(0),
        };
        (shown, pieces)
    }
}

/// The length of a piece.
///
/// After each piece a line moves that says so, and the receiver is a piece behind the sender: pieces of the root of the
/// message's length times what is copied while a line moves make the sum of both the least.
fn length(bytes: usize, oversubscribed: bool) -> usize {
    match oversubscribed {
        true => OVERSUBSCRIBED_PIECE,
        false => {
            let least = (bytes * PIECE_COPIED_MEANWHILE).isqrt();
            (least & !1023).max(PIECE_LEAST)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_lines_are_claimed_and_only_vectors_want_short_pieces() {
        let of = |shared, protocol| {
            let pieces = Pieces::of_bounce_buffer(1 << 20, shared, protocol);
            (pieces.bytes, pieces.claimed_ahead)
        };
        let long = length(1 << 20, false);
        assert!(long > 2 * VECTORS_PIECE);
        for (protocol, expected) in [
            (None, (long, Some(long))),
            (Some(CopyProtocol::Lines), (long, Some(long))),
            (Some(CopyProtocol::Strings), (long, None)),
            (Some(CopyProtocol::Vectors), (VECTORS_PIECE, None)),
        ] {
            assert_eq!(of(false, protocol), expected, "{protocol:?}");
            // Ranks on one core take turns: what is short has them change places more often.
            assert_eq!(of(true, protocol), (OVERSUBSCRIBED_PIECE, None));
        }
    }
}
