//! Networks among threads, in order and in disorder, and the worlds that they are tried in.

use crate::on_nodes::worlds_of_several_nodes;
pub use crate::on_nodes::{in_every_order, on_all, places};
use allhands::transport::net::{Disorder, Threads};
pub use allhands_suite::property::few_are_enough;

/// The worlds that are tried: of several nodes, and of one.
pub fn worlds() -> impl Iterator<Item = &'static [u32]> {
    worlds_of_several_nodes().chain([&[0, 0, 0][..], &[0]])
}

/// Whether ranks can put into windows of other nodes.
pub const HAS_WINDOWS: bool = true;

/// Whether a network can be asked for disorder.
pub const IS_DISORDERLY: bool = true;

/// Whether a message that is longer than its receive breaks the connection between two ranks.
pub const BREAKS_AT_LONG_MESSAGES: bool = false;

/// A network in disorder, in which few messages are short; or many, which go unasked then.
pub fn disorder(ranks: usize, seed: u64) -> Threads {
    let disorder = Disorder {
        seed,
        most_looks: 40,
    };
    Threads::new(ranks as u32)
        .with_short_bytes(if seed % 3 == 2 { 100_000 } else { 24 })
        .in_disorder(disorder)
}

/// A network as a test has no opinion about it.
pub fn network(node_of: &[u32]) -> Threads {
    Threads::new(node_of.len() as u32)
}
