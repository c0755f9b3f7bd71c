//! Optimized collective communication: broadcast, reduce, allreduce, alltoall and the rest, by published algorithms that are
//! proved for every number of ranks, on real bytes.
//!
//! ```
//! use allhands::{Sum, threads};
//!
//! let totals = threads::run(4, |comm| {
//!     let mine = [comm.rank() as f64, 1.0];
//!     let mut total = [0.0; 2];
//!     comm.allreduce(&mine, &mut total, Sum).map(|()| total)
//! })?;
//! assert_eq!(totals[0].as_ref().unwrap(), &[6.0, 4.0]);
//! # Ok::<(), allhands::Error>(())
//! ```
//!
//! A [`Communicator`] is what a rank calls collectives on; [`threads::run`] gives each rank one. What may travel is an
//! [`Element`](element::Element), what may combine an [`Operator`](operator::Operator). An [`operation`] is a call that
//! can also be started without waiting, repeated, or given an algorithm by name. Two ranks exchange messages by
//! [`send`](Communicator::send) and [`recv`](Communicator::recv). Who knows rsmpi or mpi4py finds what stands for
//! what in [`coming_from`].

#[doc = include_str!("coming_from.md")]
pub mod coming_from {}
mod communicator;
mod displaced;
pub mod element;
mod error;
pub mod kernel;
#[cfg(target_os = "linux")]
pub mod launch;
mod message;
mod message_request;
mod methods;
pub mod operation;
pub mod operator;
pub mod policy;
mod prepared;
mod request;
mod shared;
pub mod threads;
// What the drop-in, the examples and tests of the transport itself need; it may change in any version.
#[doc(hidden)]
pub mod transport;
mod values;
#[cfg(target_os = "linux")]
mod world;

pub use allhands_core::call::Collective;
pub use communicator::{Communicator, bootstrap, interposition};
pub use displaced::Displaced;
pub use element::Pair;
pub use error::Error;
pub use message::{Source, Status, Tag};
pub use message_request::{RecvRequest, ScopedMessage, SendRequest};
pub use operation::Operation;
pub use operator::{
    BitAnd, BitOr, BitXor, Commutative, LogicalAnd, LogicalOr, LogicalXor, Max, MaxLoc, Min,
    MinLoc, Ordered, Product, Sum,
};
pub use policy::Policy;
pub use request::{Persistent, Request, Scope};
pub use shared::Shared;
pub use transport::{MessageError, TransportError, Waits, net};
pub use values::Blocks;

// The crates whose types and traits stand in this one's interface.
pub use {bytemuck, half, num_complex};
