//! Barrier: no rank leaves before every rank has entered.

use super::Algorithm;

/// Every barrier.
pub const ALL: &[&Algorithm] = &[];
