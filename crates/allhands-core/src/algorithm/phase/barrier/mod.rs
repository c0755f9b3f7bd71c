//! Barriers: nobody leaves before all have entered.

pub mod dissemination;
pub mod tree;
