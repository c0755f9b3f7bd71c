//! Observers: what a simulation tells while it runs, to whoever wants to draw, trace or check it.

use super::network::{Envelope, Work};
use super::queue::Moment;
use crate::progress::Post;

/// What a message is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Purpose {
    /// A receive, on this channel.
    Message {
        /// The channel.
        channel: u16,
    },
    /// A window.
    Put,
    /// A window, where it is combined with what is there.
    PutReduce,
    /// A get, which the owner of the window answers.
    Request,
    /// The answer to a get.
    Answer,
    /// A flag of its receiver.
    Notice,
    /// A look at a flag that its sender has raised on itself.
    Sight,
}

/// Somebody who looks on. Every method does nothing unless it is written, and then costs nothing.
pub trait Observer {
    /// Something will be needed soon, and memory may not have it at hand: by default, what `read` says of it is read, and so
    /// it is fetched. An observer that can ask for a line of memory without waiting for it does that, and is faster.
    #[inline]
    fn soon<T>(what: &T, read: impl FnOnce(&T) -> usize)
    where
        Self: Sized,
    {
        core::hint::black_box(read(what));
    }

    /// An operation of `rank` starts.
    #[inline]
    fn starts(&mut self, rank: u32, post: &Post<'_>, at_ps: Moment) {
        let _ = (rank, post, at_ps);
    }

    /// It is known when an operation ends: at `at_ps`, which is not before now.
    #[inline]
    fn ends(&mut self, rank: u32, ticket: u32, at_ps: Moment) {
        let _ = (rank, ticket, at_ps);
    }

    /// The processor of `rank` is busy with `work`, from `from_ps` to `to_ps`.
    #[inline]
    fn works(&mut self, rank: u32, work: Work, from_ps: Moment, to_ps: Moment) {
        let _ = (rank, work, from_ps, to_ps);
    }

    /// A message is handed to the network at `at_ps`. It belongs to operation `ticket` of its sender; of its receiver, if
    /// it is an answer.
    #[inline]
    fn sends(&mut self, message: Envelope, ticket: u32, purpose: Purpose, at_ps: Moment) {
        let _ = (message, ticket, purpose, at_ps);
    }

    /// The message with this number has arrived; another one may have the number from now on.
    #[inline]
    fn arrives(&mut self, number: u32, at_ps: Moment) {
        let _ = (number, at_ps);
    }

    /// The data that a receive or a get of `rank` waits for are there, and it takes them in.
    #[inline]
    fn takes_in(&mut self, rank: u32, ticket: u32) {
        let _ = (rank, ticket);
    }
}

/// Nobody looks on.
impl Observer for () {}

/// Two look on.
impl<A: Observer, B: Observer> Observer for (A, B) {
    #[inline]
    fn starts(&mut self, rank: u32, post: &Post<'_>, at_ps: Moment) {
        self.0.starts(rank, post, at_ps);
        self.1.starts(rank, post, at_ps);
    }

    #[inline]
    fn ends(&mut self, rank: u32, ticket: u32, at_ps: Moment) {
        self.0.ends(rank, ticket, at_ps);
        self.1.ends(rank, ticket, at_ps);
    }

    #[inline]
    fn works(&mut self, rank: u32, work: Work, from_ps: Moment, to_ps: Moment) {
        self.0.works(rank, work, from_ps, to_ps);
        self.1.works(rank, work, from_ps, to_ps);
    }

    #[inline]
    fn sends(&mut self, message: Envelope, ticket: u32, purpose: Purpose, at_ps: Moment) {
        self.0.sends(message, ticket, purpose, at_ps);
        self.1.sends(message, ticket, purpose, at_ps);
    }

    #[inline]
    fn arrives(&mut self, number: u32, at_ps: Moment) {
        self.0.arrives(number, at_ps);
        self.1.arrives(number, at_ps);
    }

    #[inline]
    fn takes_in(&mut self, rank: u32, ticket: u32) {
        self.0.takes_in(rank, ticket);
        self.1.takes_in(rank, ticket);
    }
}

/// Looks on, if it is there.
impl<O: Observer> Observer for Option<&mut O> {
    fn starts(&mut self, rank: u32, post: &Post<'_>, at_ps: Moment) {
        if let Some(observer) = self {
            observer.starts(rank, post, at_ps);
        }
    }

    fn ends(&mut self, rank: u32, ticket: u32, at_ps: Moment) {
        if let Some(observer) = self {
            observer.ends(rank, ticket, at_ps);
        }
    }

    fn works(&mut self, rank: u32, work: Work, from_ps: Moment, to_ps: Moment) {
        if let Some(observer) = self {
            observer.works(rank, work, from_ps, to_ps);
        }
    }

    fn sends(&mut self, message: Envelope, ticket: u32, purpose: Purpose, at_ps: Moment) {
        if let Some(observer) = self {
            observer.sends(message, ticket, purpose, at_ps);
        }
    }

    fn arrives(&mut self, number: u32, at_ps: Moment) {
        if let Some(observer) = self {
            observer.arrives(number, at_ps);
        }
    }

    fn takes_in(&mut self, rank: u32, ticket: u32) {
        if let Some(observer) = self {
            observer.takes_in(rank, ticket);
        }
    }
}
