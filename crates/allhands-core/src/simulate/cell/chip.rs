//! A chip: its SPEs' memory flow controllers, the command bus that serves them in turn, and the data bus.

use super::eib::{Eib, SPES};
use alloc::collections::VecDeque;

/// The memory flow controller of an SPE.
#[derive(Clone, Debug, Default)]
struct Mfc {
    /// DMA commands with bus requests yet to make, worked at in turn, one request each.
    commands: VecDeque<u32>,
    /// Bus requests under way.
    outstanding: u32,
}

/// A chip.
#[derive(Clone, Debug, Default)]
pub(super) struct Chip {
    pub eib: Eib,
    mfcs: [Mfc; SPES as usize],
    /// Whose turn on the command bus is next.
    next: usize,
    /// Whether the command bus has been told to take a request, and has not yet.
    pub taking: bool,
    /// When the command bus takes the next request at the earliest.
    pub free_ps: u64,
}

impl Chip {
    /// The controller of an SPE gets a DMA command, or gets it back with requests yet to make.
    pub(super) fn queue(&mut self, spe: u32, command: u32) {
        self.mfcs[spe as usize].commands.push_back(command);
    }

    /// A bus request of an SPE is over.
    pub(super) fn over(&mut self, spe: u32) {
        self.mfcs[spe as usize].outstanding -= 1;
    }

    /// Whether an SPE may make a request, of which at most `most` are under way.
    pub(super) fn ready(&self, most: u32) -> bool {
        self.mfcs.iter().any(|mfc| mfc.ready(most))
    }

    /// The command whose turn it is to make a request; round robin between SPEs.
    pub(super) fn turn(&mut self, most: u32) -> Option<u32> {
        for step in 0..self.mfcs.len() {
            let spe = (self.next + step) % self.mfcs.len();
            if self.mfcs[spe].ready(most) {
                self.next = spe + 1;
                self.mfcs[spe].outstanding += 1;
                return self.mfcs[spe].commands.pop_front();
            }
        }
        None
    }
}

impl Mfc {
    fn ready(&self, most: u32) -> bool {
        self.outstanding < most && !self.commands.is_empty()
    }
}
