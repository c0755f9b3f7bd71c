//! Transports: what moves the bytes of a call between ranks.

mod combine;
pub(crate) mod endpoint;
mod error;
pub mod net;
pub(crate) mod shm;
mod signature;
pub(crate) mod waits;

pub use combine::{Combine, CombineFn};
pub use endpoint::engine::node::NodeEngine;
pub use endpoint::point_to_point::message_error::MessageError;
pub use endpoint::state::endpoint::Endpoint;
pub use endpoint::state::request::{Buffers, RequestState};
pub use error::TransportError;
pub use shm::failure::member::Stamp;
pub use shm::failure::refusals::Refused;
pub use shm::memory::aligned::AlignedBytes;
pub use shm::queue::ring::EAGER_BYTES;
pub use shm::segment::shared_segment::SharedSegment;
pub use shm::spawn::spawn;
#[cfg(not(loom))]
pub use shm::sync::register_barrier;
pub use signature::Signature;
pub use waits::Waits;
