//! Counts: what ranks tell one another of the lengths of an irregular call before it, where its algorithm needs that.

use super::inner::Inner;
use super::{Communicator, Operation};
use crate::error::Error;
use crate::interposition::Interposition;
use crate::operation;
use crate::prepared::{Running, typed_name};
use allhands_core::algorithm::{Algorithm, Requirement};
use allhands_core::call::{Call, Collective};
use allhands_core::schedule::{Layout, Shape, learned};

/// A block whose sender and receiver know different counts: from, to, elements sent, elements of room.
type Differing = (usize, usize, usize, usize);

/// The counts of an irregular call that its algorithm needs and not all ranks know.
pub(super) enum Unknown {
    /// None.
    None,
    /// Those of all blocks.
    All,
    /// Those of blocks that this algorithm has pass through a rank.
    Passing(&'static Algorithm, Shape),
}

impl Inner {
    /// Which counts ranks must tell one another before a call, for the algorithm that serves it.
    pub(super) fn unknown_counts(
        &self,
        operation: &Operation<'_>,
        call: &Call,
    ) -> Result<Unknown, Error> {
        if !operation.irregular() {
            return Ok(Unknown::None);
        }
        let (algorithm, shape) = self.choose(operation, call, &Layout::Regular(0))?;
        let asks = |counts| algorithm.requires.contains(&counts);
        Ok(match call.collective {
            Collective::Gather | Collective::Scatter | Collective::Alltoall
                if asks(Requirement::AllCounts) =>
            {
                Unknown::All
            }
            Collective::Alltoall if asks(Requirement::PassingCounts) => {
                Unknown::Passing(algorithm, shape)
            }
            _ => Unknown::None,
        })
    }
}

impl Communicator {
    /// Tells every rank the counts of blocks that pass through it: the counts go the blocks' own way.
    pub(super) fn pass_counts(
        &self,
        layout: &Layout,
        algorithm: &'static Algorithm,
        mut shape: Shape,
    ) -> Result<Layout, Error> {
        let Layout::Exchange { send, receive, .. } = layout else {
            return Ok(layout.clone());
        };
        shape.call.in_place = false;
        let name = typed_name(algorithm, &shape);
        let mut received = vec![0; self.size];
        let counts = operation::alltoall(send, &mut received).algorithm(&name);
        let schedule = algorithm.schedule(&shape, self.rank as u32);
        let learn = |running: &Running| {
            let count_at = |at| running.request.word_of_scratch(at);
            let count_bytes = size_of::<usize>();
            learned(&schedule, &shape.call, layout, count_bytes, count_at)
        };
        let learned = self.run_new(&counts, learn)?;
        let collective = algorithm.collective;
        self.refuse_differing(collective, self.differing(receive, |from| received[from]))?;
        learned.map_err(|source| Error::Layout {
            collective,
            algorithm: algorithm.name,
            source,
        })
    }

    /// Tells every rank all counts of an irregular call.
    pub(super) fn exchange_counts(&self, call: &Call, layout: &Layout) -> Result<Layout, Error> {
        Ok(match layout {
            Layout::Exchange { send, .. } => {
                let mut counts = vec![0; self.size * self.size];
                self.run(operation::allgather(send, &mut counts))?;
                Layout::Pairs(counts)
            }
            Layout::Blocks(_) | Layout::Own { .. } if call.collective.rooted() => {
                let mut counts = match layout {
                    Layout::Blocks(counts) if self.rank == call.root as usize => counts.clone(),
                    _ => vec![0; self.size],
                };
                self.run(operation::broadcast(&mut counts, call.root as usize))?;
                Layout::Blocks(counts)
            }
            known => known.clone(),
        })
    }

    /// Complains, and tells the others, if the counts that ranks have exchanged are not those by which this rank has made its buffers.
    pub(super) fn compare_counts(
        &self,
        call: &Call,
        own: &Layout,
        exchanged: &Layout,
    ) -> Result<(), Error> {
        let (rank, root) = (self.rank, call.root as usize);
        let differs = match (own, exchanged) {
            (Layout::Own { elements, .. }, Layout::Blocks(counts)) if counts[rank] != *elements => {
                let is_sent = call.collective == Collective::Gather;
                let (from, to) = if is_sent { (rank, root) } else { (root, rank) };
                let (sent, room) = match is_sent {
                    true => (*elements, counts[rank]),
                    false => (counts[rank], *elements),
                };
                Some((from, to, sent, room))
            }
            (Layout::Exchange { receive, .. }, Layout::Pairs(counts)) => {
                self.differing(receive, |from| counts[from * self.size + rank])
            }
            _ => None,
        };
        self.refuse_differing(call.collective, differs)
    }

    /// The first rank that sends this one another number of elements than it has room for.
    fn differing(&self, room: &[usize], sent: impl Fn(usize) -> usize) -> Option<Differing> {
        let wrong = (0..self.size).find(|from| sent(*from) != room[*from]);
        wrong.map(|from| (from, self.rank, sent(from), room[from]))
    }

    /// Complains, and tells the others, if there is a block whose counts differ.
    fn refuse_differing(
        &self,
        collective: Collective,
        differing: Option<Differing>,
    ) -> Result<(), Error> {
        let Some((from, to, sent, room)) = differing else {
            return Ok(());
        };
        self.refuse(collective);
        Err(Error::CountsDiffer {
            collective,
            from,
            to,
            sent,
            room,
        })
    }
}
