//! The context: what this process knows before any call is served.

pub(crate) mod attribute;
pub(crate) mod call;
pub(crate) mod known;
pub(crate) mod library;
pub(crate) mod map;
pub(crate) mod memory;
pub(crate) mod mistake;
pub(crate) mod native_collectives;
pub(crate) mod quiet;
pub(crate) mod say;
pub(crate) mod session;
pub(crate) mod settings;
pub(crate) mod unserved;
