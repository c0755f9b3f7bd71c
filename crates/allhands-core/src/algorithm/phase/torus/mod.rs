//! Torus phases: what goes along the lines, trees and paths of a mesh or torus.

pub mod allreduce;
pub mod cost;
pub mod grid;
pub mod lines;
pub mod prefix;
pub mod reduce;
pub mod routes;
pub mod streams;
