//! Broadcast: the root's vector reaches every rank.

pub mod binomial;

use super::Algorithm;

/// Every broadcast.
pub const ALL: &[&Algorithm] = &[&binomial::ALGORITHM];
