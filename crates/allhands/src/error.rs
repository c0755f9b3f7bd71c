//! What can go wrong in a collective call, and whether the communicator can still be used.

use crate::element::ArrivalError;
use crate::transport::{MessageError, TransportError};
use allhands_core::algorithm::{ParameterError, Unsuitable};
use allhands_core::call::Collective;
use allhands_core::choose::ChooseError;
use allhands_core::schedule::LowerError;

/// Why a call failed.
///
/// `Debug` prints the same sentence as `Display`: it is what a program says whose `main` returns an error.
#[derive(Clone, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// A buffer or a list of counts has the wrong length.
    #[error("{collective}: the {what} has {got} elements where {expected} are right ({why})")]
    Length {
        /// The collective.
        collective: Collective,
        /// Which buffer or list.
        what: &'static str,
        /// Its length.
        got: usize,
        /// The length that would be right.
        expected: usize,
        /// Where that length comes from.
        why: &'static str,
    },
    /// A block does not lie in its buffer.
    #[error(
        "{collective}: the block of rank {rank}, {count} elements from element {start} on, ends outside of the {what}, which has {length}"
    )]
    Displacement {
        /// The collective.
        collective: Collective,
        /// Which buffer.
        what: &'static str,
        /// Whose block.
        rank: usize,
        /// Its first element.
        start: usize,
        /// Its number of elements.
        count: usize,
        /// The number of elements of the buffer.
        length: usize,
    },
    /// Two blocks that are to be written overlap.
    #[error("{collective}: the blocks of ranks {} and {} overlap in the {what}, where both are to be written", ranks.0, ranks.1)]
    Overlap {
        /// The collective.
        collective: Collective,
        /// Which buffer.
        what: &'static str,
        /// The two ranks.
        ranks: (usize, usize),
    },
    /// Two ranks of an irregular call have said different lengths for a block.
    #[error(
        "{collective}: rank {from} sends {sent} elements to rank {to}, which has room for {room}"
    )]
    CountsDiffer {
        /// The collective.
        collective: Collective,
        /// Who sends the block.
        from: usize,
        /// Who receives it.
        to: usize,
        /// Its elements, as the sender says.
        sent: usize,
        /// Its elements, as the receiver says.
        room: usize,
    },
    /// The root is not a rank of the communicator.
    #[error("{collective}: there is no rank {root} to be the root; the communicator has ranks 0 to {}", ranks - 1)]
    NoSuchRoot {
        /// The collective.
        collective: Collective,
        /// The root that was asked for.
        root: usize,
        /// The number of ranks.
        ranks: usize,
    },
    /// There is no such algorithm.
    #[error("there is no {collective} algorithm '{name}'; there are {known}")]
    NoSuchAlgorithm {
        /// The collective.
        collective: Collective,
        /// The name that was asked for.
        name: String,
        /// The names that there are.
        known: String,
    },
    /// An algorithm's parameters are wrong.
    #[error("{collective} {algorithm}: {source}")]
    Parameters {
        /// The collective.
        collective: Collective,
        /// The algorithm.
        algorithm: &'static str,
        /// What was wrong.
        source: ParameterError,
    },
    /// The algorithm does not serve this call.
    #[error("{collective} {algorithm}: {source}")]
    Unsuitable {
        /// The collective.
        collective: Collective,
        /// The algorithm.
        algorithm: &'static str,
        /// Why not.
        source: Unsuitable,
    },
    /// The algorithm cannot serve this irregular call.
    #[error("{collective} {algorithm}: {source}")]
    Layout {
        /// The collective.
        collective: Collective,
        /// The algorithm.
        algorithm: &'static str,
        /// Why not.
        source: LowerError,
    },
    /// What arrived is no value of the element type.
    #[error("{collective}: {source}")]
    Arrival {
        /// The collective.
        collective: Collective,
        /// What was wrong.
        source: ArrivalError,
    },
    /// The policy that was set names an algorithm that does not serve this call.
    #[error("{0}")]
    Choice(#[from] ChooseError),
    /// The table that is installed on this machine is broken.
    #[error(transparent)]
    Policy(#[from] crate::policy::PolicyError),
    /// Nodes that are not those of the communicator's ranks.
    #[error(transparent)]
    Nodes(#[from] allhands_core::machine::NodesError),
    /// A torus that is not that of the communicator's ranks.
    #[error(transparent)]
    Torus(#[from] allhands_core::machine::TorusError),
    /// There is no thread that could take calls further in the background.
    #[error("the progress thread could not be started: {0}")]
    ProgressThread(String),
    /// A communicator whose ranks are on several nodes cannot be divided.
    #[error(
        "a communicator on several nodes cannot be split or duplicated: its network joins just its own ranks"
    )]
    SeveralNodes,
    /// There are as many communicators as the network has tags for.
    #[error(
        "no communicator can be made of this one: its network has tags for {most} at a time, and not all ranks have some left"
    )]
    NoContext {
        /// How many there may be.
        most: u32,
    },
    /// A communicator of no ranks.
    #[error("a communicator needs at least one rank")]
    NoRanks,
    /// This process could not find its place among the ranks.
    #[cfg(target_os = "linux")]
    #[error(transparent)]
    Launch(#[from] crate::launch::LaunchError),
    /// A message between two ranks cannot be sent or received as it was to be.
    #[error(transparent)]
    Message(#[from] MessageError),
    /// Ranks called differently, or one of them is gone.
    #[error(transparent)]
    Transport(#[from] TransportError),
}

impl std::fmt::Debug for Error {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        std::fmt::Display::fmt(self, f)
    }
}

impl Error {
    /// Whether the communicator can be used after this error.
    ///
    /// An error that every rank finds alone, before anything was sent, leaves it as it was. Once ranks
    /// disagree or one is gone, every further call on this communicator fails with the same error.
    #[must_use]
    pub fn communicator_usable(&self) -> bool {
        match self {
            Error::Length { .. }
            | Error::Displacement { .. }
            | Error::Overlap { .. }
            | Error::NoSuchRoot { .. }
            | Error::NoSuchAlgorithm { .. }
            | Error::Parameters { .. }
            | Error::Unsuitable { .. }
            | Error::Layout { .. }
            | Error::Choice(_)
            | Error::Nodes(_)
            | Error::Torus(_)
            | Error::SeveralNodes
            | Error::NoContext { .. }
            | Error::Message(_)
            | Error::Arrival { .. } => true,
            Error::CountsDiffer { .. }
            | Error::NoRanks
            | Error::ProgressThread(_)
            | Error::Policy(_)
            | Error::Transport(_) => false,
            #[cfg(target_os = "linux")]
            Error::Launch(_) => false,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_main_that_returns_an_error_says_a_sentence() {
        let root = Error::NoSuchRoot {
            collective: Collective::Broadcast,
            root: 9,
            ranks: 4,
        };
        let says =
            "broadcast: there is no rank 9 to be the root; the communicator has ranks 0 to 3";
        assert_eq!(format!("{root:?}"), says);
        let left = Error::from(TransportError::RankLeft { rank: 3 });
        assert_eq!(format!("{left:#?}"), "rank 3 left without making this call");
    }
}
