//! The report: what is counted of calls, and the files that say it.

pub(crate) mod counts;
pub(crate) mod files;
pub(crate) mod tally;
pub(crate) mod trace;
pub(crate) mod wanted;
