//! Optimized collective communication on real bytes.

pub mod transport;
