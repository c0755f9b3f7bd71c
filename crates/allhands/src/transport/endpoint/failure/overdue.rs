//! Overdue: how a rank that has waited for long in a call says so, and for whom it waits; and how it gives up.
//!
//! Nobody counts for it: the rank that has waited long already looks, between two sleeps, who has not come to its call.

use crate::transport::endpoint::state::endpoint::Endpoint;
use crate::transport::shm::failure::fault::{Fault, GaveUp};
use crate::transport::shm::segment::shared_segment::SharedSegment;
use crate::transport::{TransportError, Waits};
use allhands_core::call::Collective;
use std::io::Write;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

/// How long it waits before it says so where its launcher can read it, and how often it says so anew.
const NOTED_EVERY: Duration = Duration::from_millis(100);

/// One wait.
#[derive(Default)]
pub(crate) struct Overdue {
    since: Option<Instant>,
    /// When there is something to do next.
    next: Duration,
    /// Where the launcher reads of it.
    noted: Option<(Arc<SharedSegment>, u32)>,
}

impl Overdue {
    /// Says what is due of a wait in call `call`.
    ///
    /// # Errors
    /// [`TransportError::GaveUp`], if the wait is to last no longer.
    pub(crate) fn look(&mut self, endpoint: &Endpoint, call: u64) -> Result<(), TransportError> {
        let here = self.since.get_or_insert_with(Instant::now).elapsed();
        let waited = endpoint.waited_before + here;
        if let Some(interrupted) = endpoint.gives_up(waited) {
            return Err(endpoint.give_up(call, waited, interrupted));
        }
        if waited < self.next.max(NOTED_EVERY) {
            return Ok(());
        }
        self.next = waited + NOTED_EVERY;
        let Some(stamp) = endpoint.segment.record(endpoint.rank).entry(call) else {
            return Ok(());
        };
        let collective = endpoint.segment.signature(endpoint.rank, &stamp).collective;
        let here = endpoint.missing_here(call);
        if endpoint.segment.liveness().is_watching() {
            let wait = |missing: &[u32]| Waits::new(collective, waited, missing);
            endpoint
                .segment
                .liveness()
                .note_wait(endpoint.rank, &here, &wait);
            let noted = || (Arc::clone(&endpoint.segment), endpoint.rank);
            self.noted.get_or_insert_with(noted);
        }
        if waited < endpoint.report_after || !endpoint.is_first_to_report(call, waited) {
            return Ok(());
        }
        let mut missing: Vec<u32> = here
            .iter()
            .map(|rank| endpoint.segment.name(*rank))
            .collect();
        missing.extend(endpoint.missing_elsewhere(call));
        missing.sort_unstable();
        endpoint.report_wait(&Waits::new(collective, waited, &missing));
        Ok(())
    }
}

impl Drop for Overdue {
    fn drop(&mut self) {
        if let Some((segment, rank)) = &self.noted {
            segment.liveness().forget_wait(*rank);
        }
    }
}

impl Endpoint {
    /// After how long this rank says on the standard error that it waits.
    pub(crate) fn report_waits_after(&mut self, after: Duration) {
        self.report_after = after;
    }

    /// What [`Endpoint::report_waits_after`] was told last.
    pub(crate) fn report_after(&self) -> Duration {
        self.report_after
    }

    /// Whether a wait that has lasted so long is to be given up, and if so whether as it was interrupted.
    fn gives_up(&self, waited: Duration) -> Option<bool> {
        if self.is_interrupted.is_some_and(|asked| asked()) {
            return Some(true);
        }
        self.timeout
            .is_some_and(|timeout| waited >= timeout)
            .then_some(false)
    }

    /// Stops the communicator from call `call` on, as this rank waits no longer for who has not come to it.
    #[cold]
    fn give_up(&self, call: u64, waited: Duration, interrupted: bool) -> TransportError {
        let stamp = self.segment.record(self.rank).entry(call);
        let signature = stamp.map(|stamp| self.segment.signature(self.rank, &stamp));
        let mut all = self.missing_here(call);
        if let Some(cluster) = &self.cluster {
            let elsewhere = self.missing_elsewhere(call);
            all.extend(elsewhere.iter().map(|rank| cluster.numbers[*rank as usize]));
        }
        let mut missing = [0; GaveUp::NAMED];
        for (place, rank) in missing.iter_mut().zip(&all) {
            *place = *rank;
        }
        let fault = Fault::GaveUp(GaveUp {
            rank: self.rank,
            collective: signature.map_or(Collective::Barrier, |signature| signature.collective),
            interrupted,
            waited,
            missing,
            missing_in_all: all.len() as u32,
        });
        self.segment.poison_from(call, self.rank, fault)
    }

    /// Whether it falls to this rank to say that it has waited: to one rank, and again only when the time has doubled, so that
    /// programs whose ranks wait for long again and again are not told again and again.
    fn is_first_to_report(&self, call: u64, waited: Duration) -> bool {
        let (reported, waited_ms) = (&self.segment.head().reported_ms, waited.as_millis() as u64);
        let last = reported.load(Ordering::Relaxed);
        !self.has_heard_of_lower(call)
            && waited_ms >= 2 * last
            && reported
                .compare_exchange(last, waited_ms, Ordering::Relaxed, Ordering::Relaxed)
                .is_ok()
    }

    fn report_wait(&self, waits: &Waits) {
        let waits = waits.describe(&[self.global_rank()]);
        // Ranks of another communicator than that of all have other numbers.
        let among = match self.segment.origin {
            Some(_) => format!(" (in a communicator of {} ranks)", self.global_ranks()),
            None => String::new(),
        };
        let line = format!("allhands: {waits}{among}\n");
        // There is nobody to tell that nobody listens.
        let _ = std::io::stderr().lock().write_all(line.as_bytes());
    }
}
