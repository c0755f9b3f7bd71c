//! Predicted costs: a model, Hockney's or one of LogP's family, walked over a world of schedules, the extended PLogP model and its patterns, and the papers' formulas as printed.
//!
//! The walk and the formulas are independent of one another: a test holds one against the other for every
//! number of ranks from 2 to 128, so a wrong schedule, a wrong walk and a misread formula all show.

pub mod formula;
mod hockney;
pub mod logp;
mod model;
pub mod pattern;
pub mod plogp;
mod sizes;
mod walk;

pub use hockney::{Breakdown, Hockney};
pub use model::{Deed, Kind, Model, Passage};
pub use sizes::Sizes;
pub use walk::{Finish, Transfer, Walk, WalkError, walk, walk_observed};

use crate::algorithm::Algorithm;
use crate::schedule::Shape;

/// The time that `algorithm` takes for a call in which a vector has `bytes` bytes (gather, scatter, allgather: all
/// ranks' blocks together; alltoall: the blocks of one rank together), cut in exactly equal parts.
///
/// # Errors
/// A [`WalkError`] if the schedules cannot be priced.
pub fn predict_us(
    algorithm: &Algorithm,
    shape: &Shape,
    bytes: f64,
    machine: &Hockney,
    ports: u32,
) -> Result<f64, WalkError> {
    let world = algorithm.world(shape);
    let walked = walk(&shape.call, &world, Sizes::Ideal { bytes }, machine, ports)?;
    Ok(walked.last().time_us)
}
