//! The symbolic run.
