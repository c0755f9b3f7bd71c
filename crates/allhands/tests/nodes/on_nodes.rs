//! Worlds: on which nodes their ranks are, and what all of these do.

use crate::world::{IS_DISORDERLY, disorder, few_are_enough, network};
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

/// Runs on a world in order, and in the disorder of a seed where a network can be asked for some.
pub fn in_every_order<E: Display + Send>(
    node_of: &[u32],
    seed: u64,
    body: impl Fn(&Communicator) -> Result<(), E> + Sync,
) {
    on_all(node_of, &network(node_of), &body);
    if IS_DISORDERLY {
        on_all(node_of, &disorder(node_of.len(), seed), &body);
    }
}
