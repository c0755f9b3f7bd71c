//! TLS: what encrypts connections, where that is asked for (docs/clusters.md).
//!
//! [`Tls`] is what both ends have from the job's secret: a key pair, and what TLS is to be like. A [`Session`] is one connection's:
//! it reads and writes the socket, and its owner what was said. It is used by the network (`tcp/socket.rs`) and while ranks meet
//! (`launch/rendezvous`). Its parts, each of which knows those before it: `keys` (who is at the other end), `record` (what goes over
//! a connection), `greeting` (until both ends are sure of each other), `buffer`, `session`. rustls does the greeting and derives
//! all keys; records are sealed and opened in place, by `ring`, as a payload is then copied once and nothing is allocated.
//!
//! A build without the feature `tls` has `absent` instead, whose `Tls` cannot be had.
#![forbid(unsafe_code)]

#[cfg(not(feature = "tls"))]
mod absent;
#[cfg(feature = "tls")]
mod buffer;
#[cfg(feature = "tls")]
mod greeting;
#[cfg(feature = "tls")]
mod keys;
#[cfg(feature = "tls")]
mod record;
#[cfg(feature = "tls")]
mod session;
#[cfg(all(test, feature = "tls"))]
mod tests;

#[cfg(not(feature = "tls"))]
pub(crate) use absent::{Session, Tls};
#[cfg(feature = "tls")]
pub(crate) use keys::Tls;
#[cfg(feature = "tls")]
pub(crate) use session::Session;

use super::protocol::handshake::HandshakeError;
use super::protocol::peer::Loss;
use rustix::io::Errno;

/// Why an encrypted connection ends, or does not go on now.
#[cfg_attr(
    not(feature = "tls"),
    expect(dead_code, reason = "without TLS only the system is at fault")
)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Fault {
    /// The system says so.
    System(Errno),
    /// The other end is not what it should be.
    Refused(HandshakeError),
    /// What came is not what the other end has sent.
    Changed,
}

impl From<Errno> for Fault {
    fn from(error: Errno) -> Fault {
        Fault::System(error)
    }
}

impl Fault {
    /// What it says of a connection.
    pub(super) fn loss(self) -> Loss {
        match self {
            Fault::System(error) => super::socket::loss(error),
            Fault::Refused(error) => Loss::Handshake(error),
            Fault::Changed => Loss::Changed,
        }
    }
}

/// Whether connections can be encrypted; if not, why, and what would be right.
pub(crate) fn is_there() -> Result<(), &'static str> {
    match cfg!(feature = "tls") {
        true => Ok(()),
        false => Err(
            "connections are to be encrypted, and this program was built without TLS; right would be the feature tls of the crate allhands: cargo build --features allhands/tls",
        ),
    }
}
