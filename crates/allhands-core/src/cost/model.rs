//! Models of a machine as the walk asks them: what a processor's work, a message's ports and its way take.

use super::hockney::{Breakdown, Hockney};
use core::fmt::Debug;

/// What a rank's processor does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Deed {
    /// It hands over a message for that rank.
    Send(u32),
    /// It takes in a message from that rank.
    Receive(u32),
    /// It puts into the window of that rank.
    Put(u32),
    /// It gets from the window of that rank.
    Get(u32),
    /// It raises a flag of that rank.
    Notify(u32),
    /// It copies.
    Copy,
    /// It combines two operands.
    Reduce,
}

/// What a message is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// What a rank sends and another receives.
    Message,
    /// What a rank puts into another's window.
    Put,
    /// That a rank asks for a part of another's window.
    Request,
    /// That part.
    Answer,
    /// That a flag was raised.
    Notice,
}

/// A message under way, or a part of its way.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Passage {
    /// The rank that it comes from.
    pub from: u32,
    /// The rank that it goes to.
    pub to: u32,
    /// What it is.
    pub kind: Kind,
    /// Whether its sender only sends and its receiver only receives.
    pub one_way: bool,
    /// Its length in units.
    pub units: u64,
    /// The bytes of a unit.
    pub unit_bytes: f64,
}

impl Passage {
    /// Its length in bytes.
    #[must_use]
    pub fn bytes(&self) -> f64 {
        self.units as f64 * self.unit_bytes
    }
}

/// A model of a machine, in whose time schedules are walked.
pub trait Model {
    /// What leads to a moment: the moment itself, or what it is made of.
    type Path: Copy + Debug + Default + PartialEq;

    /// Whether a message waits until both of its ends have come, and then has a port of both at once (Hockney's model); otherwise it
    /// leaves when its sender has handed it over, and has its sender's port first and its receiver's when it comes there (LogP's family).
    const MEETS: bool;

    /// The moment at the end of a path, in microseconds, where a unit has `unit_bytes` bytes.
    fn time_us(&self, path: &Self::Path, unit_bytes: f64) -> f64;

    /// The path when the processor of `rank` has done something with so many units.
    fn worked(&self, path: Self::Path, rank: u32, deed: Deed, lengths: (u64, f64)) -> Self::Path;

    /// The path when a message has had its ports, or one of them.
    fn carried(&self, path: Self::Path, passage: &Passage) -> Self::Path;

    /// The path from the moment at which a message has its sender's port to that at which it comes to its receiver's; asked of models in
    /// which ends do not meet.
    fn travelled(&self, path: Self::Path, _: &Passage) -> Self::Path {
        path
    }

    /// Which port `rank` uses for what goes to `peer` or comes from there; below [`Model::port_count`].
    fn port(&self, rank: u32, peer: u32) -> u32 {
        let _ = peer;
        rank
    }

    /// How many ports there are for so many ranks.
    fn port_count(&self, ranks: u32) -> u32 {
        ranks
    }

    /// Whether a packet can leave copies at the nodes that it passes (B 3.1's deposit bit): then such a copy costs its sender nothing and
    /// comes with the message before it. Elsewhere it is a message like others.
    fn deposits(&self) -> bool {
        false
    }
}

impl Model for Hockney {
    type Path = Breakdown;

    const MEETS: bool = true;

    fn time_us(&self, path: &Breakdown, unit_bytes: f64) -> f64 {
        Hockney::time_us(self, path, unit_bytes)
    }

    fn worked(&self, path: Breakdown, _: u32, deed: Deed, (units, _): (u64, f64)) -> Breakdown {
        match deed {
            Deed::Reduce => path.with_reduced(units),
            Deed::Copy => path.with_copied(units),
            // Messages are all that ranks have to do with one another.
            Deed::Send(_) | Deed::Receive(_) | Deed::Put(_) | Deed::Get(_) | Deed::Notify(_) => {
                path
            }
        }
    }

    fn carried(&self, path: Breakdown, passage: &Passage) -> Breakdown {
        path.with_message(passage.units, passage.one_way)
    }
}
