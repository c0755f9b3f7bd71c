//! Checks: whether the messages that a rank waits for can come at all.

use crate::transport::TransportError;
use crate::transport::endpoint::point_to_point::credit::MESSAGES_MOST;
use crate::transport::endpoint::point_to_point::matching::Wanted;
use crate::transport::endpoint::point_to_point::message_error::{Failure, MessageError};
use crate::transport::endpoint::point_to_point::request::{Receiving, Request};
use crate::transport::endpoint::point_to_point::state::PointToPoint;
use crate::transport::endpoint::state::endpoint::Endpoint;
use crate::transport::shm::failure::member::Presence;
use std::io::Write;
use std::time::{Duration, Instant};

/// How long the news may take that a rank of another node, which has left, had received a message before.
const NEWS_TAKE: Duration = Duration::from_millis(400);

/// Looks in a row that change nothing, after which nothing of what a rank exchanges with itself is on its way any more: one
/// sends, the next receives, and the third ends what was sent.
const IDLE_LOOKS_AT_ITSELF: usize = 3;

/// What a rank waits for.
#[derive(Clone, Copy, Debug)]
pub(crate) enum WaitedFor<'a> {
    /// The ends of these requests.
    Requests(&'a [usize]),
    /// A message that such a receive would meet.
    Message(Wanted),
    /// Nothing: it will come again.
    Nothing,
}

impl PointToPoint {
    /// Ends the requests that can never end: whose peers have left, or for which this rank would wait itself.
    ///
    /// # Errors
    /// What stops the communicator, and with it all requests; or why no message can come that is waited for.
    pub(crate) fn check(
        &mut self,
        endpoint: &Endpoint,
        waited_for: WaitedFor<'_>,
    ) -> Result<(), Failure> {
        endpoint.check_for_messages()?;
        // In this order: what a rank has sent before it left is here after these looks.
        let gone: Vec<bool> = (0..self.peers.len() as u32)
            .map(|peer| self.has_left(peer))
            .collect();
        for (peer, _) in self.peers.iter_mut().zip(&gone).filter(|(_, gone)| **gone) {
            peer.gone_since.get_or_insert_with(Instant::now);
        }
        self.exchange_with_itself(endpoint);
        for number in self.requests.numbers() {
            let is_waited_for = match waited_for {
                WaitedFor::Requests(numbers) => numbers.contains(&number),
                WaitedFor::Message(_) | WaitedFor::Nothing => false,
            };
            if let Some(failure) = self.hopeless(number, &gone, is_waited_for) {
                self.fail(number, failure);
            }
        }
        match waited_for {
            WaitedFor::Message(wanted) if self.probe(wanted).is_none() => {
                self.never_comes(wanted, &gone, true).map_or(Ok(()), Err)
            }
            WaitedFor::Message(_) | WaitedFor::Requests(_) | WaitedFor::Nothing => Ok(()),
        }
    }

    /// Takes all that this rank sends itself as far as it goes: more messages than its mailbox holds need many looks. The end
    /// is sure, as nothing is received meanwhile, so that nobody has credit for more.
    fn exchange_with_itself(&mut self, endpoint: &Endpoint) {
        let mut idle_looks = 0;
        while idle_looks < IDLE_LOOKS_AT_ITSELF {
            let before = (self.position, self.waits_to_itself());
            self.progress(endpoint);
            idle_looks = match (self.position, self.waits_to_itself()) == before {
                true => idle_looks + 1,
                false => 0,
            };
        }
    }

    /// Messages to itself that wait for credit or room.
    fn waits_to_itself(&self) -> usize {
        self.peers[self.rank as usize].waiting.len()
    }

    /// Whether a peer has left, and all that it has sent is here or in the mailbox.
    fn has_left(&self, peer: u32) -> bool {
        if peer < self.here {
            return peer != self.rank && self.segment.presence(peer) == Presence::Left;
        }
        let (of, Some(cluster)) = (&self.peers[peer as usize], &self.cluster) else {
            return false;
        };
        let state = cluster.state();
        let left = state.left.iter().find(|left| left.rank == peer);
        of.is_closed || left.is_some_and(|left| of.frames_in >= left.frames)
    }

    /// Whether a peer has left so long ago that whatever it has said before is here.
    pub(super) fn has_left_for_long(&self, peer: u32) -> bool {
        let since = self.peers[peer as usize].gone_since;
        since.is_some_and(|since| since.elapsed() >= NEWS_TAKE)
    }

    /// Why a request can never end, if that is so.
    fn hopeless(&self, number: usize, gone: &[bool], is_waited_for: bool) -> Option<Failure> {
        match self.requests.get(number) {
            Request::Send(send) if gone[send.to as usize] => {
                let is_sure = send.to < self.here || self.has_left_for_long(send.to);
                is_sure.then(|| self.left(send.to))
            }
            Request::Send(send) if send.to == self.rank && is_waited_for => Some(self.itself()),
            Request::Receive(receive) if matches!(receive.state, Receiving::Posted) => {
                self.never_comes(receive.wanted, gone, is_waited_for)
            }
            Request::Send(_) | Request::Receive(_) | Request::Free | Request::Ended(_) => None,
        }
    }

    /// Why no message can come that such a receive would meet, if that is so; as long as this rank waits for it, it sends itself
    /// nothing, and receives nothing else.
    fn never_comes(&self, wanted: Wanted, gone: &[bool], is_waited_for: bool) -> Option<Failure> {
        let is_full = |peer: u32| self.matching.unexpected(peer) as u64 >= MESSAGES_MOST;
        let why = |peer: u32| {
            if gone[peer as usize] {
                return Some(self.left(peer));
            }
            if !is_waited_for {
                return None;
            }
            if peer == self.rank {
                return Some(self.itself());
            }
            is_full(peer).then(|| self.unreceived(peer))
        };
        match wanted.source {
            Some(source) => why(source),
            None => {
                let others = (0..gone.len() as u32).filter(|peer| *peer != self.rank);
                let mut all = others.map(why);
                // From itself nothing comes, if nothing comes from others; of these the first is named.
                match all.next() {
                    Some(first) => first.filter(|_| all.all(|other| other.is_some())),
                    None => why(self.rank),
                }
            }
        }
    }

    fn left(&self, peer: u32) -> Failure {
        let rank = self.name(peer);
        TransportError::RankLeft { rank }.into()
    }

    fn itself(&self) -> Failure {
        let rank = self.own_name() as usize;
        MessageError::Itself { rank }.into()
    }

    fn unreceived(&self, peer: u32) -> Failure {
        let (rank, from) = (self.own_name() as usize, self.name(peer) as usize);
        let messages = self.matching.unexpected(peer);
        MessageError::Unreceived {
            rank,
            from,
            messages,
        }
        .into()
    }
}

impl PointToPoint {
    /// Says on the standard error for what this rank has waited.
    #[cold]
    pub(crate) fn report_wait(
        &self,
        endpoint: &Endpoint,
        waited_for: WaitedFor<'_>,
        waited: Duration,
    ) {
        let from = |wanted: Wanted| {
            let tag = wanted
                .tag
                .map_or(String::new(), |tag| format!(" with tag {tag}"));
            match wanted.source {
                Some(source) => format!("a message of rank {}{tag}", self.name(source)),
                None => format!("a message of any rank{tag}"),
            }
        };
        let what = match waited_for {
            WaitedFor::Requests(numbers) => {
                let mut whats =
                    numbers
                        .iter()
                        .filter_map(|number| match self.requests.get(*number) {
                            Request::Send(send) => Some(format!(
                                "rank {} to receive a message with tag {}",
                                self.name(send.to),
                                send.tag
                            )),
                            Request::Receive(receive) => Some(from(receive.wanted)),
                            Request::Free | Request::Ended(_) => None,
                        });
                whats.next()
            }
            WaitedFor::Message(wanted) => Some(from(wanted)),
            WaitedFor::Nothing => None,
        };
        let Some(what) = what else { return };
        let (rank, seconds) = (endpoint.global_rank(), waited.as_secs());
        let line = format!("allhands: rank {rank} has waited {seconds} s for {what}\n");
        // There is nobody to tell that nobody listens.
        let _ = std::io::stderr().lock().write_all(line.as_bytes());
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;
    use crate::transport::SharedSegment;
    use crate::transport::endpoint::point_to_point::request::{Receive, Send, Sending};
    use crate::transport::shm::memory::iovec::Iovec;

    #[test]
    fn a_rank_does_not_wait_for_itself_while_messages_are_on_their_way() {
        const MESSAGES: u64 = 1500;
        let segment = SharedSegment::new(1).expect("there is memory");
        let endpoint = Endpoint::new(segment, 0).expect("it is the first");
        let mut messages = PointToPoint::new(&endpoint).expect("there is memory");
        let mut sent: Vec<u64> = (0..MESSAGES).collect();
        let mut room = 0u64;
        for word in &mut sent {
            let send = Send {
                to: 0,
                tag: u32::from(*word == MESSAGES - 1),
                element: 8,
                memory: iovec(word),
                state: Sending::Waiting { line: None },
            };
            // SAFETY: what is sent lives, and is left alone, until the end of the test, when nothing is done any more.
            unsafe { messages.send(&endpoint, send) }.expect("it goes to itself");
        }
        let wanted = |tag| Wanted {
            source: Some(0),
            tag: Some(tag),
        };
        let receive = |tag, room: &mut u64| Receive {
            wanted: wanted(tag),
            element: 8,
            room: iovec(room),
            state: Receiving::Posted,
        };
        // SAFETY: as above, of the room.
        let last = unsafe { messages.receive(&endpoint, receive(1, &mut room)) };
        let last = last.expect("it is posted");
        let checked = messages.check(&endpoint, WaitedFor::Requests(&[last]));
        assert!(checked.is_ok() && messages.has_ended(last));
        assert!(messages.take(last).expect("it has ended").is_ok());
        assert_eq!(room, MESSAGES - 1);

        // SAFETY: as above.
        let never = unsafe { messages.receive(&endpoint, receive(2, &mut room)) };
        let never = never.expect("it is posted");
        let checked = messages.check(&endpoint, WaitedFor::Requests(&[never]));
        let end = messages.take(never).expect("it has ended");
        let is_itself = |failure: &Failure| {
            matches!(failure, Failure::Message(MessageError::Itself { rank: 0 }))
        };
        assert!(checked.is_ok() && end.is_err_and(|failure| is_itself(&failure)));
    }

    fn iovec(word: &mut u64) -> Iovec {
        Iovec {
            address: std::ptr::from_mut(word).cast(),
            bytes: 8,
        }
    }
}
