//! Waiting: how long a rank looks by itself, and how it sleeps and is woken.
//!
//! Owns the futex on which a rank sleeps, the doorbell of one that sleeps at its network, and the backoff before that. Endpoints wait with it, and queues' producers wake with it. It
//! never decides whether waiting makes sense: that is for who looks for failures.

pub(crate) mod backoff;
#[cfg(target_os = "linux")]
pub(crate) mod doorbell;
pub(crate) mod wait_queue;
