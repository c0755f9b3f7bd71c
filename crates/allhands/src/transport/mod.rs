//! Transports: what moves the bytes of a call between ranks.

mod combine;
mod error;
mod memory;
pub mod network;
pub mod node;
mod signature;
pub(crate) mod waits;

pub use combine::{Combine, CombineFn};
pub use error::TransportError;
pub use memory::AlignedBytes;
pub use signature::Signature;
pub use waits::Waits;
