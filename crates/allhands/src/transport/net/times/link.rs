//! The link: a network as the measurement uses it, which ends each message that it begins, and gives up when somebody else has.

use crate::transport::net::{Ended, Network, NetworkError, Notice, Sleep, Ticket};
use crate::transport::shm::wait::backoff::{Alertness, Patience};
use std::time::{Duration, Instant};

/// The longest message, and the most bytes of those that are under way at once.
pub(super) const ROOM: usize = 4 << 20;

/// How long a message is waited for: ranks come at most so late, as those that are lost are found out by their network.
const PATIENCE: Duration = Duration::from_secs(20);
/// How long a message may take to be over once it is not wanted any more.
const CANCEL_PATIENCE: Duration = Duration::from_secs(2);
/// How often a rank that waits looks whether another one has given up, by its looks.
const LOOKS_PER_WORD: u32 = 64;
/// How many looks there are between two at the clock.
const LOOKS_PER_TIME: u32 = 16;
/// A sleep at a network, and one of a network that cannot sleep.
const NAP: Duration = Duration::from_millis(2);
const BLIND_NAP: Duration = Duration::from_micros(100);

/// One rank's way to those that it measures with.
pub(super) struct Link<'a> {
    network: &'a mut dyn Network,
    patience: Patience,
    alertness: Alertness,
    /// Whether this rank sleeps instead of looking, so that its processor is busy with messages alone.
    pub(super) sleeps: bool,
    /// What is sent, and where what comes lands.
    outgoing: Vec<u8>,
    incoming: Vec<u8>,
    under_way: Vec<Ticket>,
}

impl Link<'_> {
    pub(super) fn new(network: &mut dyn Network, oversubscribed: bool) -> Link<'_> {
        Link {
            network,
            patience: Patience::new(oversubscribed),
            alertness: Alertness::new(),
            sleeps: false,
            // Pages that nobody touches take no memory.
            outgoing: vec![0; ROOM],
            incoming: vec![0; ROOM],
            under_way: Vec::new(),
        }
    }

    /// Begins to send so many bytes, of which `words` are the first.
    pub(super) fn begin_send(
        &mut self,
        to: u32,
        tag: u32,
        words: &[u64],
        bytes: usize,
    ) -> Result<Ticket, NetworkError> {
        // What is under way has the same first bytes, or none that anybody reads.
        for (into, word) in self.outgoing.chunks_exact_mut(8).zip(words) {
            into.copy_from_slice(&word.to_le_bytes());
        }
        assert!(bytes <= self.outgoing.len(), "there is room for it");
        let from = self.outgoing.as_ptr();
        // SAFETY: the memory is there until the message has ended or is over, as `Drop` sees to; nobody writes it meanwhile but
        // for the words of another message, which are only sent when nothing else is under way.
        let ticket = unsafe { self.network.send(to, tag, from, bytes)? };
        self.under_way.push(ticket);
        Ok(ticket)
    }

    /// Begins to receive at most so many bytes, which land at a place of their own.
    pub(super) fn begin_receive(
        &mut self,
        from: u32,
        tag: u32,
        (at, bytes): (usize, usize),
    ) -> Result<Ticket, NetworkError> {
        assert!(at + bytes <= self.incoming.len(), "there is room for it");
        let into = self.incoming.as_mut_ptr().wrapping_add(at);
        // SAFETY: as above; no two messages under way have the same place.
        let ticket = unsafe { self.network.receive(from, tag, into, bytes)? };
        self.under_way.push(ticket);
        Ok(ticket)
    }

    /// Waits for the end of a message.
    pub(super) fn end(&mut self, ticket: Ticket) -> Result<(), NetworkError> {
        let (begun, mut looks) = (Instant::now(), 0_u32);
        let (round, mut awake) = (self.patience.looks(), begun);
        let mut alert_for = self.alertness.begin();
        loop {
            if let Some(ended) = self.network.test(ticket)? {
                self.alertness.came(awake.elapsed());
                self.under_way.retain(|other| *other != ticket);
                return match ended {
                    Ended::Whole(_) => Ok(()),
                    Ended::TooLong | Ended::Differs => Err(NetworkError::Other(
                        "a message of another length came".into(),
                    )),
                };
            }
            looks = looks.wrapping_add(1);
            let is_over =
                alert_for.is_zero() || looks % LOOKS_PER_TIME == 0 && awake.elapsed() >= alert_for;
            if self.sleeps || is_over {
                self.sleep()?;
                self.alertness.came(awake.elapsed());
                (awake, alert_for) = (Instant::now(), self.alertness.begin());
            } else {
                self.network.progress()?;
                self.patience.pause_at_network(looks % round);
            }
            if self.sleeps || looks % LOOKS_PER_WORD == 0 {
                self.look_around(begun)?;
            }
        }
    }

    fn sleep(&mut self) -> Result<(), NetworkError> {
        if self.network.sleep(NAP)? != Sleep::Never {
            return Ok(());
        }
        self.network.progress()?;
        match self.sleeps {
            true => std::thread::sleep(BLIND_NAP),
            false => std::thread::yield_now(),
        }
        Ok(())
    }

    /// Whether waiting is of any use.
    fn look_around(&mut self, begun: Instant) -> Result<(), NetworkError> {
        if let Some((rank, _)) = self.network.hear() {
            return Err(NetworkError::Other(format!("rank {rank} measures no more")));
        }
        match begun.elapsed() < PATIENCE {
            true => Ok(()),
            false => Err(NetworkError::Other("a rank takes too long".into())),
        }
    }

    /// Sends, and waits until the memory could be used again; how long it took to begin, and all together.
    pub(super) fn send(
        &mut self,
        to: u32,
        tag: u32,
        words: &[u64],
        bytes: usize,
    ) -> Result<[Duration; 2], NetworkError> {
        let begun = Instant::now();
        let ticket = self.begin_send(to, tag, words, bytes)?;
        let busy = begun.elapsed();
        self.end(ticket)?;
        Ok([busy, begun.elapsed()])
    }

    /// Receives a message of so many words.
    pub(super) fn receive_words<const WORDS: usize>(
        &mut self,
        from: u32,
        tag: u32,
    ) -> Result<[u64; WORDS], NetworkError> {
        let ticket = self.begin_receive(from, tag, (0, 8 * WORDS))?;
        self.end(ticket)?;
        let mut words = [0; WORDS];
        for (word, bytes) in words.iter_mut().zip(self.incoming.chunks_exact(8)) {
            *word = bytes.try_into().map_or(0, u64::from_le_bytes);
        }
        Ok(words)
    }

    /// Has all messages go over one rail, counted from 1; 0: as they do.
    pub(super) fn begin_on(&mut self, rail: usize) {
        let rails = self.network.rails();
        if (1..=rails).contains(&rail) {
            let rates: Vec<f64> = (1..=rails)
                .map(|other| f64::from(u8::from(other == rail)))
                .collect();
            self.network.share(&rates);
        }
    }

    /// Has them go over all rails again, as if these were equal.
    pub(super) fn end_on(&mut self, rail: usize) {
        let rails = self.network.rails();
        if (1..=rails).contains(&rail) {
            self.network.share(&vec![1.0; rails]);
        }
    }

    /// Tells all others that this rank measures no more.
    pub(super) fn give_up(&mut self, firsts: &[u32], rank: u32) {
        let mut notice = Notice([0; Notice::BYTES]);
        notice.0[0] = Notice::STOPS;
        for other in firsts.iter().filter(|other| **other != rank) {
            self.network.notify(*other, &notice);
        }
    }
}

impl Drop for Link<'_> {
    /// Ends what is under way still, after a failure.
    fn drop(&mut self) {
        let begun = Instant::now();
        let mut is_over = true;
        for ticket in std::mem::take(&mut self.under_way) {
            while !self.network.cancel(ticket) {
                // What stands in the way of one message need not stand in that of the next.
                let _ = self.network.progress();
                if begun.elapsed() > CANCEL_PATIENCE {
                    is_over = false;
                    break;
                }
                std::thread::yield_now();
            }
        }
        if !is_over {
            // The network may touch it for ever.
            std::mem::forget(std::mem::take(&mut self.outgoing));
            std::mem::forget(std::mem::take(&mut self.incoming));
        }
    }
}
