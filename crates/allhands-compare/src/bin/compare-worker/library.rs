//! The library under test, as the worker of one rank sees it.

use super::replay::Replayed;
use super::work::{Collective, Work};
use allhands::{Communicator, Source, Sum, Tag};
use allhands_compare::trace::Kind;
use std::error::Error;

/// One rank's end of a library.
pub trait Library {
    /// Why a call failed.
    type Error: Error + Send + Sync + 'static;

    /// This rank.
    fn rank(&self) -> usize;

    /// How many there are.
    fn ranks(&self) -> usize;

    /// The call that is timed: nothing that could be done before it.
    fn call(&self, work: &mut Work) -> Result<(), Self::Error>;

    /// The same of a call of a trace.
    fn again(&self, replayed: &mut Replayed) -> Result<(), Self::Error>;

    /// Takes what other ranks still need of this one further, as any call of a program would.
    fn poke(&self) -> Result<(), Self::Error>;
}

/// Allhands itself.
impl Library for Communicator {
    type Error = allhands::Error;

    fn rank(&self) -> usize {
        Communicator::rank(self)
    }

    fn ranks(&self) -> usize {
        self.size()
    }

    fn call(&self, work: &mut Work) -> Result<(), Self::Error> {
        let (input, output): (&[u64], &mut [u64]) = (&work.input, &mut work.output);
        match work.collective {
            Collective::Barrier => self.barrier(),
            Collective::Broadcast => self.broadcast(output, 0),
            Collective::Scatter => self.scatter(input, output, 0),
            Collective::Gather => self.gather(input, output, 0),
            Collective::Allgather => self.allgather(input, output),
            Collective::Alltoall => self.alltoall(input, output),
            Collective::ReduceScatter if work.elements.is_multiple_of(work.ranks) => {
                self.reduce_scatter(input, output, Sum)
            }
            Collective::ReduceScatter => self.reduce_scatter_v(input, &work.counts, output, Sum),
            Collective::Reduce => self.reduce(input, output, Sum, 0),
            Collective::Allreduce => self.allreduce(input, output, Sum),
            Collective::Scan => self.scan(input, output, Sum),
            Collective::Exscan => self.exscan(input, output, Sum),
        }
    }

    fn again(&self, replayed: &mut Replayed) -> Result<(), Self::Error> {
        let kind = replayed.kind();
        let (send, receive, input, output) = replayed.lengths_and_buffers();
        match kind {
            Kind::Allgather => self.allgather(input, output),
            Kind::AllgatherV => self.allgather_v(input, output, receive),
            Kind::Alltoall => self.alltoall(input, output),
            Kind::AlltoallV => self.alltoall_v(input, send, output, receive),
        }
    }

    fn poke(&self) -> Result<(), Self::Error> {
        self.iprobe(Source::Any, Tag::Any).map(drop)
    }
}
