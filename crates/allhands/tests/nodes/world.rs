//! Worlds: on which nodes ranks are, and the network between them.

use allhands::transport::net::{Disorder, Places, Threads};
use allhands::{Communicator, threads};
use std::fmt::Display;

/// A node for each rank, in many ways: alone, in pairs, of different sizes, not in order, and all on one.
pub const WORLDS: [&[u32]; 9] = [
    &[0, 1, 2],
    &[0, 0, 1, 1, 1],
    &[0, 0, 1, 1, 2, 2, 3, 3],
    &[0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12],
    &[0, 1, 0, 1],
    &[4, 4, 4, 1, 2, 2, 4],
    &[0, 1],
    &[0, 0, 0],
    &[0],
];

pub fn places(node_of: &[u32]) -> Places {
    Places::new(node_of).expect("there are ranks")
}

/// A network in disorder, in which few messages are short.
pub fn disorder(ranks: usize, seed: u64) -> Threads {
    let disorder = Disorder {
        seed,
        most_looks: 40,
    };
    Threads::new(ranks as u32)
        .with_short_bytes(24)
        .in_disorder(disorder)
}

/// A network as a test has no opinion about it.
pub fn network(node_of: &[u32]) -> Threads {
    Threads::new(node_of.len() as u32)
}

/// Runs on all ranks of a world, which must end well.
pub fn on_all<E: Display + Send>(
    node_of: &[u32],
    network: &Threads,
    body: impl Fn(&Communicator) -> Result<(), E> + Sync,
) {
    let ran = threads::run_on_nodes(&places(node_of), network, |comm| body(&comm));
    let results = ran.expect("no rank panics");
    for (rank, result) in results.into_iter().enumerate() {
        result.unwrap_or_else(|error| panic!("rank {rank} of {node_of:?}: {error}"));
    }
}
