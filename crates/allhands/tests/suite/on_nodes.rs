//! Worlds: on which nodes their ranks are, and what all of these do.

use crate::property::few_are_enough;
use allhands::transport::net::{Networks, Places};
use allhands::{Communicator, threads};
use std::fmt::Display;

/// A node for each rank, in many ways: alone, in pairs, of different sizes, and not in order.
const WORLDS: [&[u32]; 7] = [
    &[0, 1, 2],
    &[0, 0, 1, 1, 1],
    &[0, 0, 1, 1, 2, 2, 3, 3],
    &[0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12],
    &[0, 1, 0, 1],
    &[4, 4, 4, 1, 2, 2, 4],
    &[0, 1],
];

/// Of these, what is enough where a few cases are: many ranks take turns on few cores.
const FEW: [&[u32]; 3] = [&[0, 0, 1, 1, 1], &[4, 4, 4, 1, 2, 2, 4], &[0, 1]];

/// The worlds of more than one node that are tried.
pub fn worlds_of_several_nodes() -> impl Iterator<Item = &'static [u32]> {
    let tried = if few_are_enough() { &FEW[..] } else { &WORLDS };
    tried.iter().copied()
}

pub fn places(node_of: &[u32]) -> Places {
    Places::new(node_of).expect("there are ranks")
}

/// Runs on all ranks of a world, which must end well.
pub fn on_all<E: Display + Send>(
    node_of: &[u32],
    networks: &impl Networks,
    body: impl Fn(&Communicator) -> Result<(), E> + Sync,
) {
    let ran = threads::run_on_nodes(&places(node_of), networks, |comm| body(&comm));
    let results = ran.expect("no rank panics");
    let failed = results.into_iter().enumerate();
    let failed =
        failed.filter_map(|(rank, result)| Some(format!("rank {rank}: {}", result.err()?)));
    let failed: Vec<String> = failed.collect();
    assert!(failed.is_empty(), "of {node_of:?}, {}", failed.join("; "));
}
