//! State: the types that all later rooms work on, the endpoint and the request.
//!
//! Owns what a rank keeps for its communicator, what it keeps for one call of a plan, and its place among several nodes. Whoever drives
//! calls uses it, down to the communicator. It never sends or receives, and never waits for a peer but where a request that is stopped
//! takes its messages back.

pub(crate) mod endpoint;
pub(crate) mod place;
pub(crate) mod request;
