//! Sockets of the loopback, kind and unkind, and the worlds that they are tried in.

pub use crate::on_nodes::{in_every_order, on_all, places, worlds_of_several_nodes as worlds};
use allhands::net::tcp::{Loopback, Settings};
pub use allhands_suite::property::few_are_enough;

/// Whether ranks can put into windows of other nodes.
pub const HAS_WINDOWS: bool = true;

/// Whether a network can be asked for disorder.
pub const IS_DISORDERLY: bool = true;

/// Whether a message that is longer than its receive breaks the connection between two ranks.
pub const BREAKS_AT_LONG_MESSAGES: bool = false;

/// Whether connections are encrypted.
pub const IS_ENCRYPTED: bool = false;

/// Settings as a test has no opinion about them.
pub fn settings() -> Settings {
    Settings::default()
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
