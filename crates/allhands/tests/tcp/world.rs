//! Worlds: on which nodes ranks are, and sockets between them.

use allhands::net::tcp::{Loopback, Settings};
use allhands::transport::net::Places;
use allhands::{Communicator, threads};
use std::fmt::Display;

/// A node for each rank, in many ways: alone, in pairs, of different sizes, not in order, and all on one.
pub const WORLDS: [&[u32]; 7] = [
    &[0, 1, 2],
    &[0, 0, 1, 1, 1],
    &[0, 0, 1, 1, 2, 2, 3, 3],
    &[0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12],
    &[0, 1, 0, 1],
    &[4, 4, 4, 1, 2, 2, 4],
    &[0, 1],
];

pub fn places(node_of: &[u32]) -> Places {
    Places::new(node_of).expect("there are ranks")
}

/// Sockets over up to three rails, in which few messages are short, none are kept for long, and many are cut.
pub fn disorder(ranks: usize, seed: u64) -> Loopback {
    let settings = Settings {
        connections: 1 + (seed % 2) as u32,
        eager_bytes: 24,
        unexpected_bytes: 600,
        copied_bytes: 10,
        part_bytes: (100, 1000),
        acknowledged_bytes: 500,
        resends: seed % 3 != 2,
        ..Settings::default()
    };
    let rails = 1 + (seed % 3) as u8;
    Loopback::new(ranks as u32, rails, settings).expect("the loopback is there")
}

/// Sockets as a test has no opinion about them.
pub fn network(node_of: &[u32]) -> Loopback {
    let ranks = node_of.len() as u32;
    Loopback::new(ranks, 1, Settings::default()).expect("the loopback is there")
}

/// Runs on all ranks of a world, which must end well.
pub fn on_all<E: Display + Send>(
    node_of: &[u32],
    network: &Loopback,
    body: impl Fn(&Communicator) -> Result<(), E> + Sync,
) {
    let ran = threads::run_on_nodes(&places(node_of), network, |comm| body(&comm));
    let results = ran.expect("no rank panics");
    for (rank, result) in results.into_iter().enumerate() {
        result.unwrap_or_else(|error| panic!("rank {rank} of {node_of:?}: {error}"));
    }
}
