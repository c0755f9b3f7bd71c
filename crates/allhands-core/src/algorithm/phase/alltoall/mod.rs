//! All-to-alls that several algorithms are made of.

pub mod bruck;
