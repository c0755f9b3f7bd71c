//! Optimized collective communication on real bytes.
