//! The lab: emulated hosts joined by a switch with an exact rate, and what is compared on them.

pub(crate) mod dropin;
