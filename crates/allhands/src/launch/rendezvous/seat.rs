//! The seat: what a rank keeps in the memory of its node, from before all have met.
//!
//! Every rank is ready only when it has opened that memory and holds its rank in the roll there. So of whoever ends after that,
//! however early, the others on its node hear from the kernel, as they do later.

use super::card::{Card, Table, Whereabouts};
use super::{cluster, words_of_gone};
use crate::launch::{How, LaunchError, Roll, Segment};
use rustix::fd::{AsRawFd, OwnedFd};

/// The memory of a node, as one of its ranks comes to it.
pub(super) struct Seat {
    /// What a launcher gave this rank and others of its own on this host.
    given: Option<Segment>,
    /// What this rank has made, for the case that it is the first one of its node.
    draft: Option<OwnedFd>,
    /// The node's memory and the rank there, once it is taken.
    taken: Option<(Segment, u32)>,
}

impl Seat {
    pub(super) fn new(given: Option<Segment>) -> Result<Seat, LaunchError> {
        let draft = match given {
            Some(_) => None,
            None => Some(Segment::draft()?),
        };
        let taken = None;
        Ok(Seat {
            given,
            draft,
            taken,
        })
    }

    /// Whether a launcher gave the memory.
    pub(super) fn is_given(&self) -> bool {
        self.given.is_some()
    }

    /// Where others find the memory that this rank has.
    pub(super) fn whereabouts(&self) -> Result<Whereabouts, LaunchError> {
        let (descriptor, inode) = match (self.given, &self.draft) {
            (Some(segment), _) => (segment.fd().as_raw_fd(), segment.inode()?),
            (None, Some(draft)) => (draft.as_raw_fd(), Segment::inode_of(draft)?),
            (None, None) => (-1, 0),
        };
        let descriptor = descriptor as u32;
        Ok(Whereabouts { descriptor, inode })
    }

    /// When all cards are there: the first rank of a node keeps the memory that it has made and begins the roll, the others open it,
    /// and each holds its rank.
    pub(super) fn take(&mut self, table: &Table, rank: u32) -> Result<(), LaunchError> {
        let sharing: Vec<&Card> = cluster::sharing(table, rank).collect();
        let (count, first) = (sharing.len() as u32, sharing[0]);
        let local = sharing.iter().position(|card| card.rank == rank);
        let local = local.unwrap_or(0) as u32;
        let segment = match (self.given, self.draft.take()) {
            (Some(segment), _) => {
                let all = Roll::new(segment)?.ranks();
                if all != count {
                    let says = format!("{count} ranks share a segment that is for {all}");
                    return Err(LaunchError::WireUp { says });
                }
                segment
            }
            (None, _) if count == 1 => return Ok(()),
            (None, Some(draft)) if local == 0 => {
                let segment = Segment::keep(draft);
                Roll::begin(segment, count)?;
                segment
            }
            (None, _) => {
                let place = first.segment;
                let opened = Segment::of_process(first.pid, place.descriptor as i32, place.inode);
                opened.map_err(|error| no_memory(&sharing[local as usize].name(), first, &error))?
            }
        };
        Roll::early(segment)?.hold(local)?;
        self.taken = Some((segment, local));
        Ok(())
    }

    /// The node's memory, if it is shared; nobody has joined yet.
    pub(super) fn segment(&self) -> Option<Segment> {
        self.taken.map(|(segment, _)| segment)
    }

    /// Not all have met, as far as this rank knows: whoever knows better must not wait for it.
    pub(super) fn give_up(&self) {
        // Where nobody has begun the roll, nobody waits.
        if let Some((segment, rank)) = self.taken
            && let Ok(roll) = Roll::new(segment)
        {
            roll.end(rank, How::Unseen);
        }
    }
}

/// Why a rank cannot open the memory of the first one on its node.
fn no_memory(own: &str, first: &Card, error: &LaunchError) -> LaunchError {
    let is_gone = !std::path::Path::new(&format!("/proc/{}", first.pid)).exists();
    let says = match is_gone {
        true => words_of_gone(first),
        false => format!(
            "{own} cannot share the memory of {}, which is on the same host: {error}",
            first.name()
        ),
    };
    LaunchError::WireUp { says }
}
