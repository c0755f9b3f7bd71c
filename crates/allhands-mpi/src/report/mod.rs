//! The report: what is counted of calls, and the files that say it.
//!
//! It owns the counts of every call that was taken over or passed through, the trace, and their text. Who serves calls counts them
//! here; the entry points have it written at the end. It never decides anything, and where neither a report nor a trace is wanted it
//! keeps nothing.

pub(crate) mod counts;
pub(crate) mod files;
pub(crate) mod tally;
pub(crate) mod trace;
pub(crate) mod wanted;
