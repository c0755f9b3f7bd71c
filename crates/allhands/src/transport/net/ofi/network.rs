//! The driver as a network: messages, tickets, sleep, and what ranks tell one another.

use super::driver::OfiNetwork;
use super::operation::{Failure, Kind, NONE};
use super::rail::Rail;
use super::shares::{MOST_RAILS, Shares};
use crate::transport::net::{
    Ended, Exposed, LostRank, Network, NetworkError, Notice, Raised, RemoteWindow, SignedCall,
    Sleep, Ticket, WindowMemory,
};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;
use std::ops::Range;
use std::time::Duration;

/// The longest sleep while something waits for a place at the provider, which nothing tells of.
const SHORT: Duration = Duration::from_micros(200);

// SAFETY: the provider has memory of messages from when it takes them until it says that they have ended or were cancelled, or
// the endpoint is closed, and `test` and `cancel` say so only then, or where the message was copied. It reads that of sends and puts, and
// writes no more than the length of a receive that it was given. Memory of windows is written to by what other ranks put, which `put`
// has looked at; what keeps it is dropped when all who may put there have said that nothing of theirs comes any more, which
// they do behind their last write, or when the endpoint is closed.
unsafe impl Network for OfiNetwork {
    fn tags(&self) -> u32 {
        self.tags
    }

    fn sign(&mut self, signature: u64) {
        self.signature = self.layout.fold(signature);
        self.is_signed = signature != 0;
    }

    unsafe fn send(
        &mut self,
        to: u32,
        tag: u32,
        from: *const u8,
        bytes: usize,
    ) -> Result<Ticket, NetworkError> {
        self.check(to, tag)?;
        if let Some((lost, _)) = &self.peers[to as usize].lost {
            return Err(self.failed_by(lost));
        }
        self.begin(Kind::Send, (to, tag), (from.cast_mut(), bytes))
    }

    unsafe fn receive(
        &mut self,
        from: u32,
        tag: u32,
        into: *mut u8,
        bytes: usize,
    ) -> Result<Ticket, NetworkError> {
        self.check(from, tag)?;
        self.begin(Kind::Receive, (from, tag), (into, bytes))
    }

    fn test(&mut self, ticket: Ticket) -> Result<Option<Ended>, NetworkError> {
        let Some(number) = self.operations.of_ticket(ticket) else {
            return Err(NetworkError::Other("the message has ended before".into()));
        };
        let operation = self.operations.at(number);
        let (peer, since) = (operation.peer, operation.since);
        let end = match operation.next {
            NONE => operation.end.clone(),
            _ => self.end_of_parts(number),
        };
        match end {
            Some(Ok(end)) => {
                self.let_go(number);
                Ok(Some(end))
            }
            Some(Err(Failure::Other(why))) => Err(match &self.peers[peer as usize].lost {
                Some((lost, _)) => self.failed_by(lost),
                None => NetworkError::Other(why),
            }),
            // What made its other end leave may come a moment later, by words.
            Some(Err(Failure::Lost(_))) | None => match self.never_ends(peer, since) {
                Some(lost) => Err(self.failed_by(lost)),
                None => Ok(None),
            },
        }
    }

    fn progress(&mut self) -> Result<(), NetworkError> {
        self.look()
    }

    /// No: an endpoint that was closed with long messages of several steps under way, as one is when a host is lost, has crashed
    /// inside libfabric 1.17.
    fn bears_overlap(&self) -> bool {
        false
    }

    fn rails(&self) -> usize {
        self.rails.len()
    }

    fn share(&mut self, rates: &[f64]) {
        debug_assert_eq!(rates.len(), self.rails.len(), "each rail has a rate");
        self.shares = Shares::by_rates(rates);
    }

    fn expect_shorter(&mut self) {
        self.expects_shorter = true;
    }

    fn doorbell(&self) -> Option<u32> {
        let can_sleep = self.rails.iter().all(Rail::can_sleep);
        self.words.doorbell().filter(|_| can_sleep)
    }

    fn sleep(&mut self, limit: Duration) -> Result<Sleep, NetworkError> {
        self.look()?;
        if self.has_found {
            return Ok(Sleep::Woken);
        }
        if !self.rails.iter().all(Rail::can_sleep) {
            return Ok(Sleep::Never);
        }
        let limit = match self.is_waiting() {
            true => limit.min(SHORT),
            false => limit,
        };
        // What has ended since the last read is not told of again.
        let mut rails = self.rails.iter_mut();
        let may_sleep = rails.all(|rail| rail.endpoint.may_sleep());
        let is_over = may_sleep && !self.sleep_at_all(limit)?;
        self.look()?;
        // The doorbell is silenced, too.
        self.words.progress()?;
        Ok(match is_over && !self.has_found {
            true => Sleep::Over,
            false => Sleep::Woken,
        })
    }

    fn cancel(&mut self, ticket: Ticket) -> bool {
        match self.operations.of_ticket(ticket) {
            Some(number) if self.operations.at(number).kind == Kind::Attend => {
                self.end(number, Err(Failure::Other("it was taken back".into())));
                self.let_go(number);
                true
            }
            Some(number) => self.take_back(number),
            None => true,
        }
    }

    fn is_away(&mut self) -> bool {
        let mut peers = self.peers.iter();
        self.rails.iter().all(|rail| rail.sends.is_empty())
            && !peers.any(|peer| peer.fence.holds_signals())
    }

    fn has_windows(&self) -> bool {
        self.guarantee.is_some()
    }

    unsafe fn expose(
        &mut self,
        memory: (*mut u8, usize),
        flags: u16,
        by: &[u32],
    ) -> Result<Exposed, NetworkError> {
        self.expose_memory(memory, flags, by)
    }

    fn withdraw(&mut self, window: u64, memory: WindowMemory) {
        self.withdraw_window(window, memory);
    }

    unsafe fn put(
        &mut self,
        to: u32,
        window: &mut RemoteWindow,
        offset: usize,
        memory: (*const u8, usize),
    ) -> Result<Ticket, NetworkError> {
        self.check_goal(to)?;
        self.put_there(to, window, offset, memory)
    }

    fn raise(
        &mut self,
        to: u32,
        window: &mut RemoteWindow,
        flag: u16,
        by: SignedCall,
    ) -> Result<(), NetworkError> {
        self.check_goal(to)?;
        self.raise_there(to, window, (flag, by))
    }

    fn raised(&mut self) -> Option<Raised> {
        self.windows.raised()
    }

    fn attend(&mut self, from: u32) -> Result<Ticket, NetworkError> {
        self.check(from, 0)?;
        let nothing = (std::ptr::null_mut(), 0);
        let kind = (Kind::Attend, from, 0);
        let attends = self.operations.add(kind, 0, nothing, self.now);
        Ok(self.operations.ticket(attends))
    }

    fn notify(&mut self, to: u32, notice: &Notice) {
        self.words.notify(to, notice);
    }

    /// What still comes stays with the provider.
    fn retire(&mut self, tags: Range<u32>) -> bool {
        for numbers in &mut self.numbers {
            numbers.forget(&tags);
        }
        false
    }

    fn hear(&mut self) -> Option<(u32, Notice)> {
        self.words.hear()
    }
}

impl OfiNetwork {
    /// Whether something can be put to a rank, or raised there.
    fn check_goal(&self, to: u32) -> Result<(), NetworkError> {
        self.check(to, 0)?;
        match &self.peers[to as usize].lost {
            _ if self.guarantee.is_none() => Err(NetworkError::NoWindows),
            Some((lost, _)) => Err(self.failed_by(lost)),
            None => Ok(()),
        }
    }

    /// That a rank is lost, and why as far as is known by now: its host may have been found to be silent since.
    fn failed_by(&self, lost: &LostRank) -> NetworkError {
        let silence = self.words.silence(lost.rank);
        silence.unwrap_or_else(|| lost.clone().into())
    }

    /// Sleeps until a rail or the words have something; whether any has.
    fn sleep_at_all(&self, limit: Duration) -> Result<bool, NetworkError> {
        let limit = self.words.patience(limit);
        let time = Timespec {
            tv_sec: limit.as_secs() as i64,
            tv_nsec: limit.subsec_nanos().into(),
        };
        let words = PollFd::from_borrowed_fd(self.words.descriptor(), PollFlags::IN);
        let mut all: [PollFd<'_>; MOST_RAILS + 1] = std::array::from_fn(|_| words.clone());
        let descriptors = self
            .rails
            .iter()
            .filter_map(|rail| rail.endpoint.descriptor());
        let mut count = 1;
        for descriptor in descriptors.take(MOST_RAILS) {
            all[count] = PollFd::from_borrowed_fd(descriptor, PollFlags::IN);
            count += 1;
        }
        match poll(&mut all[..count], Some(&time)) {
            Ok(count) => Ok(count > 0),
            Err(Errno::INTR) => Ok(true),
            Err(error) => Err(NetworkError::Other(format!(
                "this rank cannot sleep: {error}"
            ))),
        }
    }
}
