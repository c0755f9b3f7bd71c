//! Windows among threads: what is put lands when its receiver looks, each part for itself, and a flag is heard after all before it.

use super::{Content, Mailbox, Span, ThreadsNetwork};
use crate::transport::net::{NetworkError, Raised, RemoteWindow, SignedCall, Ticket};
use std::collections::{BTreeMap, BTreeSet, VecDeque};

/// What is put, or raised, and has not landed.
#[derive(Debug)]
pub(super) struct Arrival {
    pub(super) from: u32,
    pub(super) window: u64,
    /// How many puts and raises there were before it.
    pub(super) place: u64,
    pub(super) looks: u32,
    pub(super) what: What,
}

#[derive(Debug)]
pub(super) enum What {
    Put(usize, Content),
    Raise(u16, SignedCall),
}

/// What one rank has put into a window.
#[derive(Debug, Default)]
struct Stream {
    /// All before this has landed, and of what comes after it, this.
    landed_to: u64,
    ahead: BTreeSet<u64>,
    waiting: BTreeMap<u64, Raised>,
}

impl Stream {
    fn land(&mut self, place: u64) {
        self.ahead.insert(place);
        while self.ahead.remove(&self.landed_to) {
            self.landed_to += 1;
        }
    }
}

/// One rank's windows.
#[derive(Debug, Default)]
pub(super) struct Windows {
    exposed: BTreeMap<u64, (Span, u16)>,
    next: u64,
    /// By window and rank.
    streams: BTreeMap<(u64, u32), Stream>,
    raised: VecDeque<Raised>,
}

impl Windows {
    pub(super) fn expose(&mut self, span: Span, flags: u16) -> u64 {
        self.exposed.insert(self.next, (span, flags));
        self.next += 1;
        self.next - 1
    }

    pub(super) fn withdraw(&mut self, window: u64) {
        self.exposed.remove(&window);
        self.streams.retain(|(of, _), _| *of != window);
        self.raised.retain(|raised| raised.window != window);
    }

    pub(super) fn raised(&mut self) -> Option<Raised> {
        self.raised.pop_front()
    }

    /// Lands what has been held back for long enough, and gives the long puts among it, whose ranks wait for that.
    pub(super) fn land_all(
        &mut self,
        mailbox: &mut Mailbox,
    ) -> Result<Vec<(u32, Ticket)>, NetworkError> {
        let mut received = Vec::new();
        for arrival in &mut mailbox.arrivals {
            arrival.looks = arrival.looks.saturating_sub(1);
        }
        for arrival in mailbox.arrivals.extract_if(.., |it| it.looks == 0) {
            self.land(arrival, &mut received)?;
        }
        Ok(received)
    }

    fn land(
        &mut self,
        arrival: Arrival,
        received: &mut Vec<(u32, Ticket)>,
    ) -> Result<(), NetworkError> {
        let (from, window) = (arrival.from, arrival.window);
        if let What::Put(_, Content::There(_, ticket)) = arrival.what {
            received.push((from, ticket));
        }
        let Some((span, flags)) = self.exposed.get(&window) else {
            // What still comes for one that is withdrawn is thrown away.
            let never = || format!("rank {from} puts into window {window}, which there never was");
            return match window < self.next {
                true => Ok(()),
                false => Err(NetworkError::Other(never())),
            };
        };
        let stream = self.streams.entry((window, from)).or_default();
        match arrival.what {
            What::Put(offset, content) => {
                let (from, bytes) = content.memory();
                // SAFETY: a copy, or memory of the rank that puts, which is readable while this is in a mailbox, whose lock the caller
                // holds, and whose owner takes it back under the same lock; to a window that is exposed, inside of it, as `put` has
                // checked by its descriptor.
                unsafe {
                    let into = span.address.add(offset);
                    std::ptr::copy_nonoverlapping(from, into, bytes);
                }
            }
            What::Raise(flag, _) if flag >= *flags => {
                let why = format!("rank {from} raises flag {flag} of a window with {flags}");
                return Err(NetworkError::Other(why));
            }
            What::Raise(flag, by) => {
                let raised = Raised {
                    from,
                    window,
                    flag,
                    by,
                };
                stream.waiting.insert(arrival.place, raised);
            }
        }
        stream.land(arrival.place);
        while let Some(entry) = stream.waiting.first_entry()
            && *entry.key() < stream.landed_to
        {
            self.raised.push_back(entry.remove());
        }
        Ok(())
    }
}

impl ThreadsNetwork {
    /// Has something arrive at a window of rank `to`.
    pub(super) fn arrive(
        &mut self,
        to: u32,
        window: &mut RemoteWindow,
        what: What,
    ) -> Result<(), NetworkError> {
        let [number, ..] = window.descriptor.words();
        let arrival = Arrival {
            from: self.rank,
            window: number,
            place: window.count,
            looks: self.looks(),
            what,
        };
        window.count += 1;
        self.shared.mailbox(to)?.arrivals.push(arrival);
        Ok(())
    }
}
