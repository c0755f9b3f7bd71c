//! Memory: what ranks of a node share of it, and how bytes are copied.
//!
//! Owns the arena from which all shared memory is handed out, lists of buffers (iovec), and every copy: cached, with lines asked for
//! ahead, past the caches, or by the system from another process. Any room may call it. It knows no message, no rank and no call, and
//! waits for nobody.

pub(crate) mod aligned;
pub(crate) mod arena;
pub(crate) mod caches;
pub(crate) mod copy;
pub(crate) mod cross_memory_attach;
pub(crate) mod iovec;
pub(crate) mod page_aliasing;
