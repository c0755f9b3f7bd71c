//! Waiting: how a rank looks for the end of a call, in a spin, then yielding, then asleep, and at the network if there is one.

use crate::transport::TransportError;
use crate::transport::endpoint::failure::overdue::Overdue;
use crate::transport::endpoint::nodes::cluster::Cluster;
use crate::transport::endpoint::state::endpoint::Endpoint;
use crate::transport::endpoint::state::request::RequestState;
use crate::transport::net::Sleep;
use crate::transport::shm::wait::backoff::Patience;
use allhands_core::progress::{Cursor, Status};
use allhands_core::schedule::Plan;
use std::time::{Duration, Instant};

/// The longest time without a look at a network that cannot sleep, while a rank waits.
const NAP: Duration = Duration::from_micros(50);

/// How many looks at a network there are between two at the clock.
const LOOKS_PER_TIME: u32 = 16;

/// How long a rank waits before it tells the other nodes in which call.
const PATIENT_FOR: Duration = Duration::from_millis(100);

/// What a rank waits for.
pub(crate) trait Awaited {
    /// Takes everything that is under way further, since a peer may need something else first; whether what is waited for
    /// is there.
    fn step(&mut self, endpoint: &mut Endpoint) -> Result<Status, TransportError>;

    /// Looks whether it can come at all, and says what is due of a wait that has lasted.
    fn check(&mut self, endpoint: &mut Endpoint) -> Result<(), TransportError>;

    /// Tells the other nodes of a wait that has lasted.
    fn tell(&self, endpoint: &Endpoint, cluster: &Cluster);
}

/// The end of a call.
struct AwaitedCall<S> {
    call: u64,
    step: S,
    overdue: Overdue,
}

impl<S> Awaited for AwaitedCall<S>
where
    S: FnMut(&mut Endpoint) -> Result<Status, TransportError>,
{
    #[inline]
    fn step(&mut self, endpoint: &mut Endpoint) -> Result<Status, TransportError> {
        (self.step)(endpoint)
    }

    fn check(&mut self, endpoint: &mut Endpoint) -> Result<(), TransportError> {
        endpoint.check(self.call)?;
        self.overdue.look(endpoint, self.call)
    }

    fn tell(&self, endpoint: &Endpoint, cluster: &Cluster) {
        endpoint.report_call(cluster, self.call);
    }
}

impl Endpoint {
    /// Completes a call, waiting for peers.
    ///
    /// Other requests do not move meanwhile; a rank with several under way waits with [`Endpoint::wait_until`].
    ///
    /// # Errors
    /// As [`Endpoint::test`].
    #[inline]
    pub fn wait(
        &mut self,
        request: &mut RequestState,
        plan: &Plan,
        cursor: &mut Cursor,
    ) -> Result<(), TransportError> {
        let call = request.call();
        let result = self.wait_until(call, |endpoint| endpoint.test(request, plan, cursor));
        if result.is_err() {
            self.segment.stop_from(call);
            // Before messages are ended, which may take until their receivers know.
            self.spread();
            request.stop();
        }
        result
    }

    /// Calls `step` until it says done: first in a spin, then yielding, then asleep between looks.
    ///
    /// `call` is the call that is waited for. `step` takes every request under way further, since
    /// a peer may need another one first; it returns what the caller waits for.
    ///
    /// # Errors
    /// Those of `step`, and whatever stops the communicator or shows that it cannot go on. The caller then
    /// stops ([`Endpoint::stop`]) or drops the requests that it drove.
    pub fn wait_until(
        &mut self,
        call: u64,
        mut step: impl FnMut(&mut Endpoint) -> Result<Status, TransportError>,
    ) -> Result<(), TransportError> {
        // The shortest calls are complete at the first look.
        if step(self)? == Status::Done {
            return Ok(());
        }
        let mut awaited = AwaitedCall {
            call,
            step,
            overdue: Overdue::default(),
        };
        self.wait_long(&mut awaited)
    }

    /// Waits until what is awaited is there: in a spin, then yielding, then asleep between looks.
    ///
    /// # Errors
    /// As [`Endpoint::wait_until`].
    pub(crate) fn wait_long(&mut self, awaited: &mut impl Awaited) -> Result<(), TransportError> {
        if let Some(cluster) = self.cluster.clone() {
            let ended = self.wait_at_network(&cluster, awaited);
            return ended.inspect_err(|_| self.spread());
        }
        let (mut last_check, hook) = (None, self.while_waiting);
        let mut nap = hook.map_or(Patience::NAP, |_| Patience::HOOKED_NAP);
        loop {
            let start = Instant::now();
            for look in 0..self.patience.looks() {
                if awaited.step(self)? == Status::Done {
                    return Ok(());
                }
                self.patience.pause(look);
                if self.patience.is_hook_due(look) {
                    hook.inspect(|hook| hook());
                }
                if look % 64 == 63 && self.patience.is_over(start) {
                    break;
                }
            }
            self.segment.announce_sleep(self.rank, None);
            let status = awaited.step(self);
            if matches!(status, Ok(Status::Pending)) {
                // Until the first check is due a sleep is short, so that mistakes show early.
                self.segment.member(self.rank).wait_queue.sleep(nap);
                let longest = hook.map_or(Patience::LONGEST_NAP, |_| Patience::HOOKED_NAP);
                nap = (2 * nap).min(longest);
            }
            self.segment.rise(self.rank);
            if status? == Status::Done {
                return Ok(());
            }
            if self.patience.is_check_due(&mut last_check) {
                awaited.check(self)?;
            }
        }
    }

    /// As [`Endpoint::wait_until`] after a first look, of a rank that also looks at the network.
    ///
    /// It sleeps where its network and its node wake it, if the network can do that, and for a moment if not.
    #[cold]
    fn wait_at_network(
        &mut self,
        cluster: &Cluster,
        awaited: &mut impl Awaited,
    ) -> Result<(), TransportError> {
        let (mut last_check, since) = (None, Instant::now());
        let mut patient_for = PATIENT_FOR;
        let (mut nap, mut looks_now) = (Patience::NAP, self.patience.looks());
        loop {
            let (start, alert_for) = (Instant::now(), self.alertness.begin());
            for look in 0..looks_now {
                let looks = cluster.state().looks;
                if awaited.step(self)? == Status::Done {
                    self.alertness.came(start.elapsed());
                    return Ok(());
                }
                let is_due = self.patience.is_hook_due(look);
                self.look_at_network(cluster, (looks, is_due))?;
                self.patience.pause_at_network(look);
                let is_over = match cluster.doorbell {
                    Some(_) if alert_for.is_zero() => true,
                    _ if look % LOOKS_PER_TIME < LOOKS_PER_TIME - 1 => false,
                    Some(_) => start.elapsed() >= alert_for,
                    None => self.patience.is_over(start),
                };
                if is_over {
                    break;
                }
            }
            let (status, slept) = self.sleep_at_network(cluster, nap, awaited)?;
            if status == Status::Done {
                return Ok(());
            }
            if slept == Sleep::Woken {
                self.alertness.came(start.elapsed());
            }
            // One that was not woken need not look as if somebody were about to come.
            looks_now = match slept {
                Sleep::Over => 1,
                Sleep::Woken | Sleep::Never => self.patience.looks(),
            };
            nap = (2 * nap).min(Patience::LONGEST_NAP);
            if self.patience.is_check_due(&mut last_check) {
                awaited.check(self)?;
            }
            if since.elapsed() >= patient_for {
                patient_for *= 2;
                awaited.tell(self, cluster);
            }
        }
    }

    /// Sleeps until the network or the own node has something, after a last look at both.
    fn sleep_at_network(
        &mut self,
        cluster: &Cluster,
        nap: Duration,
        awaited: &mut impl Awaited,
    ) -> Result<(Status, Sleep), TransportError> {
        let Some(doorbell) = cluster.doorbell else {
            std::thread::sleep(NAP);
            return Ok((Status::Pending, Sleep::Never));
        };
        self.segment.announce_sleep(self.rank, Some(doorbell));
        let status = awaited.step(self);
        let slept = match status {
            Ok(Status::Pending) => cluster.state().sleep(nap),
            Ok(Status::Done) | Err(_) => Ok(Sleep::Woken),
        };
        self.segment.rise(self.rank);
        let slept = slept.map_err(|error| self.network_failed(error.to_string(), None))?;
        Ok((status?, slept))
    }

    /// Takes the network further, unless that was done since it had been looked at `looks` times. A rank that has no message
    /// under way, as it waits for its node alone, does that only when it is due.
    fn look_at_network(
        &mut self,
        cluster: &Cluster,
        (looks, is_due): (u64, bool),
    ) -> Result<(), TransportError> {
        let mut state = cluster.state();
        if state.looks > looks || (state.under_way.is_empty() && !is_due) {
            return Ok(());
        }
        let looked = state.look();
        drop(state);
        looked.map_err(|error| self.network_failed(error.to_string(), None))
    }
}
