//! Messages between two ranks: whom they may come from, which tags they may have, and what is known of one that has come.

use crate::transport::endpoint::point_to_point::request::Received;

/// The rank from which a message is received: a number, or [`Source::Any`].
///
/// ```
/// use allhands::{Source, Tag, threads};
///
/// let sums = threads::run(3, |comm| {
///     if comm.rank() > 0 {
///         comm.send(&[comm.rank()], 0, 7)?;
///         return Ok(0);
///     }
///     let mut sum = 0;
///     for _ in 0..2 {
///         let mut one = [0];
///         let status = comm.recv(&mut one, Source::Any, Tag::Any)?;
///         assert_eq!((status.source, status.tag), (one[0], 7));
///         sum += one[0];
///     }
///     Ok::<_, allhands::Error>(sum)
/// })?;
/// assert_eq!(sums.into_iter().collect::<Result<Vec<_>, _>>()?, [3, 0, 0]);
/// # Ok::<(), allhands::Error>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Source {
    /// Whichever rank sends first.
    Any,
    /// This rank.
    Rank(usize),
}

impl From<usize> for Source {
    fn from(rank: usize) -> Source {
        Source::Rank(rank)
    }
}

/// The tag with which a message is received: a number, or [`Tag::Any`]; as [`Source`] shows.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Tag {
    /// Whatever tag the message has.
    Any,
    /// This one.
    Is(u32),
}

impl From<u32> for Tag {
    fn from(tag: u32) -> Tag {
        Tag::Is(tag)
    }
}

/// What is known of a message that was received, or can be.
///
/// ```
/// use allhands::{Status, threads};
///
/// let received = threads::run(2, |comm| {
///     if comm.rank() == 0 {
///         return comm.send(&[1.5f64, 2.5], 1, 4).map(|()| None);
///     }
///     // Room for more than comes.
///     comm.recv(&mut [0.0f64; 5], 0, 4).map(Some)
/// })?;
/// let status = received.into_iter().nth(1).unwrap()?.unwrap();
/// assert_eq!(status, Status { source: 0, tag: 4, bytes: 16 });
/// assert_eq!(status.elements::<f64>(), 2);
/// # Ok::<(), allhands::Error>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Status {
    /// The rank that sent it.
    pub source: usize,
    /// Its tag.
    pub tag: u32,
    /// Its length in bytes.
    pub bytes: usize,
}

impl From<Received> for Status {
    fn from(received: Received) -> Status {
        Status {
            source: received.rank as usize,
            tag: received.tag,
            bytes: received.bytes,
        }
    }
}

impl Status {
    /// Its length in elements of this type; 0 for a type that takes no memory.
    #[must_use]
    pub fn elements<T>(&self) -> usize {
        self.bytes.checked_div(size_of::<T>()).unwrap_or(0)
    }
}
