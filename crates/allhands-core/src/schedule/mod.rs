//! The schedule: one rank's part of an algorithm, as operations over blocks.
//!
//! A schedule knows blocks, not bytes: a [`Layout`] maps blocks to bytes when a schedule is lowered to
//! a [`Plan`], so one schedule serves every message size, every type and the irregular forms.
//!
//! Order: operations stand in strands; a strand is a list of items. The operations of a
//! [`Item::Step`] start together and the next item starts when they are done. An [`Item::Repeat`]
//! is a pipeline: inside, an operation waits for its own data, not for a step barrier (unless its body says steps, which
//! then run in turn). Strands run concurrently; [`OpKind::Await`] orders them. A channel (from, to, number) belongs to one strand at each
//! end, so matching does not depend on timing.

mod blocks;
mod builder;
mod hardware;
mod inline;
mod layout;
pub(crate) mod lower;
mod map;
mod one_sided;
mod op;
mod passing;
mod plan;
mod plan_op;
pub(crate) mod readiness;
mod repeat;
mod shape;
mod stage;
pub mod text;

pub use blocks::{BlockList, Blocks, List, Region, Space, Units};
pub use builder::Builder;
pub use inline::{Group, Reserved};
pub use layout::Layout;
pub use lower::LowerError;
pub(crate) use lower::{Memory, lower};
pub use op::{
    AGREEMENT_CHANNEL, BROADCAST_PORT, Dependence, Item, Op, OpKind, Schedule, Side, Strand, View,
};
pub use passing::learned;
pub use plan::{Extent, Moving, Plan, PlanItem, PlanRepeat};
pub use plan_op::{PlanOp, Runs};
pub(crate) use repeat::take_turns;
pub use shape::Shape;
