//! The agreement: how ranks find out together where they are, and make a communicator of ours.

pub(crate) mod meeting;
pub(crate) mod node;
pub(crate) mod presence;
