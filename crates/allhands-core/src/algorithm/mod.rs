//! Algorithms: every one that is registered, with its name, source, requirements and build.
//!
//! One table drives selection, tests, `allhands list` and the documentation. An algorithm is one file,
//! `algorithm/<collective>/<name>.rs`, that reads like its paper. An algorithm never chooses another: what
//! serves a call is decided in `choose` alone.
//!
//! Its rooms, of which none knows one below it: what an algorithm says of itself (`registration`), phases that several share, composition
//! of an algorithm from others, the collectives' algorithms, and the registry of all.

pub mod allgather;
pub mod allreduce;
pub mod alltoall;
pub mod barrier;
pub mod broadcast;
mod claims;
pub mod compose;
pub mod exscan;
#[cfg(test)]
mod figures;
pub mod gather;
mod key;
pub mod microbenchmark;
pub mod phase;
mod plans;
pub mod reduce;
pub mod reduce_scatter;
mod registration;
mod registry;
mod requirement;
pub mod scan;
pub mod scatter;

pub use claims::Claims;
pub use key::{Key, ParameterError, Values, parse_parameters, print_parameters};
pub use plans::{Parts, Plans};
pub use registration::{Algorithm, InPlace, Layer, Layers, Sharing};
pub(crate) use registration::{any_order, block_per_rank, keeps_order};
pub use registry::{all, find, of};
pub use requirement::{Requirement, Unsuitable};

use registration::BASE;
