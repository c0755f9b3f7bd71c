//! The way: the network of one communicator's ranks, its own or a part of one that others go through, too.

use super::{Context, Network};
use std::ops::{Deref, DerefMut};

/// A communicator's network.
pub(crate) enum Way {
    /// One that nobody else goes through.
    Own(Box<dyn Network>),
    /// Its part of one.
    Part(Context),
}

impl Way {
    /// Its part of a network, if it is one.
    pub(crate) fn part(&mut self) -> Option<&mut Context> {
        match self {
            Way::Own(_) => None,
            Way::Part(context) => Some(context),
        }
    }
}

impl Deref for Way {
    type Target = dyn Network;

    fn deref(&self) -> &(dyn Network + 'static) {
        match self {
            Way::Own(network) => &**network,
            Way::Part(context) => context,
        }
    }
}

impl DerefMut for Way {
    fn deref_mut(&mut self) -> &mut (dyn Network + 'static) {
        match self {
            Way::Own(network) => &mut **network,
            Way::Part(context) => context,
        }
    }
}
