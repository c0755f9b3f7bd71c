//! Optimized collective communication on real bytes.

pub mod element;
pub mod kernel;
pub mod operator;
