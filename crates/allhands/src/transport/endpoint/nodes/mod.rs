//! Nodes: what a rank has beyond its own node.
//!
//! Owns the cluster (the network, the numbers by which plans call ranks of other nodes, the tags of messages to them), what those ranks
//! have reported, and what a request keeps for its messages to them. The endpoint and its later rooms use it. It never knows an
//! endpoint, and never decides what a report means for a call.

pub(crate) mod cluster;
pub(crate) mod differing;
pub(crate) mod overlap;
pub(crate) mod remote;
pub(crate) mod reported;
pub(crate) mod windows;
