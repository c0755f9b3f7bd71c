//! The communicator's methods: each collective, run at once, in files by who gets what.

mod all;
mod reductions;
mod rooted;
mod scans;
