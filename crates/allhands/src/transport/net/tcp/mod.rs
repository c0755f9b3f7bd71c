//! The kernel's TCP as a network between nodes: nothing else to install.
//!
//! [`protocol`] is all that is said over connections, as a machine without a socket; [`TcpNetwork`] drives one rank's with
//! nonblocking sockets and epoll; [`Listener`] is where a rank can be reached, and what it tells the others of it; [`Loopback`]
//! makes the networks of ranks that are threads of one process. [`Settings::tls`] has connections encrypted.

mod clock;
mod door;
mod driver;
mod leave;
mod listener;
mod loopback;
mod measure;
mod names;
mod network;
#[doc(hidden)]
pub mod protocol;
mod read;
mod socket;
pub(crate) mod tls;
mod user_memory;

pub use driver::{Addresses, TcpNetwork};
pub use listener::Listener;
pub use loopback::Loopback;
pub use protocol::Settings;
pub use protocol::handshake::{Secret, SecretError};
pub use protocol::peer::Loss;
pub use protocol::rank::Report;
pub(crate) use socket::nonce;
