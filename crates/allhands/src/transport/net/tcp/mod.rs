//! The kernel's TCP as a network between nodes: what is said over connections, as a machine without a socket.

#[doc(hidden)]
pub mod protocol;
