//! The fast path: how a call of a few short messages goes without the interpreter.
//!
//! Owns the way through a list of moves that [`plan`](super::plan::fast_path) has compiled, up to where the interpreter has to go on. The
//! communicator takes calls along it that it is about to wait for. It never sleeps, and never finds out what is wrong: whatever is not
//! as in most calls is left to the interpreter.

pub(crate) mod hurry;
