//! The communicator's methods: each collective, run at once, in files by who gets what; and messages between two ranks.

mod all;
mod messages;
mod reductions;
mod rooted;
mod scans;
