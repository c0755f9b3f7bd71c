//! Loopbacks, kind and unkind, with the settings of the world that they are for.

use crate::world::settings;
use allhands::net::tcp::{Loopback, Settings};

/// Sockets over up to three rails, in which few messages are short, none are kept for long, and many are cut; or some
/// long ones go unasked.
pub fn disorder(ranks: usize, seed: u64) -> Loopback {
    let (eager_bytes, unexpected_bytes) = match seed % 4 {
        1 => (50_000, 300_000),
        _ => (24, 600),
    };
    let settings = Settings {
        connections: 1 + (seed % 2) as u32,
        eager_bytes,
        unexpected_bytes,
        copied_bytes: 10,
        part_bytes: (100, 1000),
        acknowledged_bytes: 500,
        resends: seed % 3 != 2,
        ..settings()
    };
    let rails = 1 + (seed % 3) as u8;
    Loopback::new(ranks as u32, rails, settings).expect("the loopback is there")
}

/// Sockets as a test has no opinion about them.
pub fn network(node_of: &[u32]) -> Loopback {
    let ranks = node_of.len() as u32;
    Loopback::new(ranks, 1, settings()).expect("the loopback is there")
}
