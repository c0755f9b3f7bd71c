//! Sockets of the loopback, kind and unkind, all of them encrypted, and the worlds that they are tried in.

pub use crate::loopbacks::{disorder, network};
pub use crate::on_nodes::{in_every_order, on_all, places, worlds_of_several_nodes as worlds};
use allhands::net::tcp::Settings;

/// Whether a network can be asked for disorder.
pub const IS_DISORDERLY: bool = true;

/// Whether a message that is longer than its receive breaks the connection between two ranks.
pub const BREAKS_AT_LONG_MESSAGES: bool = false;

/// Whether connections are encrypted.
pub const IS_ENCRYPTED: bool = true;

/// Whether few cases will do: all of them are tried without encryption, which makes no difference above the sockets.
pub fn few_are_enough() -> bool {
    true
}

/// Settings as a test has no opinion about them.
pub fn settings() -> Settings {
    Settings {
        tls: true,
        ..Settings::default()
    }
}
