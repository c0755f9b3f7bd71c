//! The inside of a communicator: which plan serves a call, and the calls that are under way.

use super::agreed::agreed;
use crate::error::Error;
use crate::operation::Operation;
use crate::policy::{self, Forecast, Policy};
use crate::prepared::{Entry, Key, Place, PlanCache, Prepared, Running, Turn, named, unsuitable};
use crate::transport::endpoint::point_to_point::state::PointToPoint;
use crate::transport::endpoint::state::endpoint::Endpoint;
use crate::transport::endpoint::state::request::Buffers;
use crate::transport::shm::failure::member::Stamp;
use crate::transport::{Combine, TransportError};
use allhands_core::algorithm::{Algorithm, Requirement};
use allhands_core::call::{Call, Collective};
use allhands_core::machine::{Nodes, Torus};
use allhands_core::progress::Status;
use allhands_core::schedule::{Layout, Shape};
use std::sync::{Arc, OnceLock};

/// Where a call says how it ended, for whoever has no hold of its communicator.
pub type End = OnceLock<Result<(), Error>>;

pub(super) struct Inner {
    /// Messages between two ranks, once there have been any; they end before the endpoint does.
    pub(super) messages: Option<Box<PointToPoint>>,
    pub(super) endpoint: Endpoint,
    pub(super) cache: PlanCache,
    /// Nonblocking calls, by the number of their request; a finished one waits for its request here.
    pub(super) active: Vec<Option<Active>>,
    /// How many of them have not ended, and how many messages.
    pub(super) under_way: usize,
    pub(super) policy: Policy,
    /// Whether there are more ranks than cores, as all ranks have agreed.
    pub(super) oversubscribed: bool,
    /// Which ranks share a node, or are to be taken as if they did.
    pub(super) nodes: Nodes,
    pub(super) torus: Option<Torus>,
    /// What is the fastest between nodes, if it is said what messages take there.
    pub(super) forecast: Option<Forecast>,
    pub(super) next_window: u64,
}

/// What is under way beside a call: a peer may need one of these before it comes to that.
pub(super) struct Others<'a> {
    pub(super) active: &'a mut Vec<Option<Active>>,
    pub(super) under_way: &'a mut usize,
    pub(super) messages: &'a mut Option<Box<PointToPoint>>,
}

/// A nonblocking call.
pub(super) struct Active {
    pub(super) prepared: Arc<Prepared>,
    pub(super) running: Option<Box<Running>>,
    pub(super) arrival: Arrival,
    pub(super) result: Option<Result<(), Error>>,
    /// Where its end is reported, if nobody is to ask for it by its number.
    pub(super) end: Option<Arc<End>>,
}

impl Active {
    /// Says how it ended.
    fn end(&mut self, result: Result<(), Error>) {
        if let Some(end) = &self.end {
            let result = result.clone().and_then(|()| self.arrival.verify());
            // A call ends once.
            let _ = end.set(result);
        }
        self.result = Some(result);
    }
}

/// What is checked when a call has ended: that what arrived are values.
#[derive(Clone, Copy)]
pub(super) struct Arrival {
    collective: Collective,
    check: Option<crate::element::ArrivalCheck>,
    start: *const u8,
    bytes: usize,
}

// SAFETY: the address is that of the call's output, which outlives the call and is only read through this, on
// whichever thread the communicator is then.
unsafe impl Send for Arrival {}

impl Arrival {
    #[inline]
    pub(super) fn of(operation: &Operation<'_>) -> Arrival {
        let output = if operation.output.elements > 0 {
            operation.output
        } else {
            operation.input
        };
        Arrival {
            collective: operation.collective,
            check: operation.element.check,
            start: output.start,
            bytes: output.elements * operation.element.bytes,
        }
    }

    #[inline]
    pub(super) fn verify(&self) -> Result<(), Error> {
        match self.check {
            Some(check) if self.bytes > 0 => {
                // SAFETY: the output has this many bytes, was initialised by its owner or by the call, and no peer
                // writes it once the call has ended.
                let bytes = unsafe { std::slice::from_raw_parts(self.start, self.bytes) };
                check(bytes).map_err(|source| Error::Arrival {
                    collective: self.collective,
                    source,
                })
            }
            _ => Ok(()),
        }
    }
}

/// A call whose buffers are right.
pub(super) struct Checked {
    pub(super) call: Call,
    pub(super) layout: Layout,
    /// Whether ranks told one another the lengths.
    pub(super) exchanged: bool,
}

/// A call that is about to begin.
pub(super) struct Ready {
    pub(super) prepared: Arc<Prepared>,
    pub(super) stamp: Stamp,
    pub(super) running: Box<Running>,
}

impl Inner {
    /// The endpoint, and what is under way.
    pub(super) fn others(&mut self) -> (&mut Endpoint, Others<'_>) {
        let others = Others {
            active: &mut self.active,
            under_way: &mut self.under_way,
            messages: &mut self.messages,
        };
        (&mut self.endpoint, others)
    }

    /// Forgets all plans: what chooses them has changed.
    pub(super) fn forget_plans(&mut self) {
        self.cache = PlanCache::new(self.endpoint.segment().ranks());
    }

    /// Which algorithm serves a call: the named one, or the policy's choice.
    pub(super) fn choose(
        &self,
        operation: &Operation<'_>,
        call: &Call,
        layout: &Layout,
    ) -> Result<(&'static Algorithm, Shape), Error> {
        let (algorithm, shape) = match &operation.algorithm {
            Some(name) => named(call, name)?,
            None => self.choose_by_policy(operation, call, layout)?,
        };
        let asks = |what| algorithm.requires.contains(&what);
        let shape = match asks(Requirement::Nodes) {
            true => shape.on(self.nodes.clone()),
            false => shape,
        };
        let shape = shape.on_torus(self.torus.filter(|_| asks(Requirement::Torus)));
        if let Some(places) = self.endpoint.places() {
            let puts = self.endpoint.puts_to_other_nodes();
            let apart = algorithm.admits_apart(&shape, puts, |nodes| places.contain(nodes));
            apart.map_err(|source| unsuitable(algorithm, source))?;
        }
        Ok((algorithm, shape))
    }

    fn choose_by_policy(
        &self,
        operation: &Operation<'_>,
        call: &Call,
        layout: &Layout,
    ) -> Result<(&'static Algorithm, Shape), Error> {
        let question = policy::question(operation, call, layout, self.oversubscribed);
        match self.endpoint.places() {
            None => policy::choose(&self.policy, &question),
            Some(places) => {
                let (nodes, forecast) = ((&self.nodes, places), self.forecast.as_ref());
                policy::choose_on_nodes(&self.policy, &question, nodes, forecast)
            }
        }
    }

    /// The plan of a call with all that runs it: from the cache, or made and kept there.
    pub(super) fn ready(
        &mut self,
        operation: &Operation<'_>,
        checked: &Checked,
    ) -> Result<Ready, Error> {
        loop {
            match self.ready_now(operation, checked)? {
                Ok(ready) => return Ok(ready),
                Err(prepared) => self.await_window(&prepared)?,
            }
        }
    }

    /// The same without waiting for a call that has the window; then, which plan's window it is.
    pub(super) fn ready_now(
        &mut self,
        operation: &Operation<'_>,
        Checked {
            call,
            layout,
            exchanged,
        }: &Checked,
    ) -> Result<Result<Ready, Arc<Prepared>>, Error> {
        let exchanged = exchanged.then_some(layout);
        let found = match self.cache.find(operation, exchanged) {
            Some(entry) => entry,
            None => {
                let (prepared, stamp) = self.prepare(operation, call, layout)?;
                let key = Key::of(operation, exchanged);
                self.cache.insert(key, prepared, stamp)
            }
        };
        let (prepared, stamp) = (Arc::clone(&found.prepared), found.stamp);
        let running = match found.turn() {
            Turn::Ready(mut running) => {
                running.cursor.reset(&prepared.plan);
                running
            }
            Turn::Missing(place) => {
                let key = self.next_window;
                self.next_window += u64::from(prepared.has_window());
                Entry::make(&self.endpoint, &prepared.plan, key, &stamp, place)?
            }
            Turn::Taken => return Ok(Err(prepared)),
        };
        Ok(Ok(Ready {
            prepared,
            stamp,
            running,
        }))
    }

    fn prepare(
        &self,
        operation: &Operation<'_>,
        call: &Call,
        layout: &Layout,
    ) -> Result<(Prepared, Stamp), Error> {
        let (algorithm, shape) = self.choose(operation, call, layout)?;
        let rank = self.endpoint.global_rank() as usize;
        let bytes = operation.element.bytes;
        let mut prepared = Prepared::new(algorithm, shape, rank, layout, bytes)?;
        self.endpoint.localize(&mut prepared.plan)?;
        let may_be_shorter = self.endpoint.left_alone.is_some();
        let signature = agreed(operation, (call, layout), &prepared, may_be_shorter);
        Ok((prepared, self.endpoint.stamp(&signature)))
    }

    /// Begins a call's request.
    ///
    /// # Safety
    /// As [`Endpoint::begin`] for the operation's buffers and operator.
    #[inline]
    pub(super) unsafe fn begin(
        endpoint: &mut Endpoint,
        operation: &Operation<'_>,
        stamp: &Stamp,
        running: &mut Running,
    ) -> Result<(), TransportError> {
        let (buffers, combine) = sides(operation);
        // SAFETY: promised by the caller; the plan is lowered from a registered algorithm's schedule for this rank,
        // the cursor is new or was reset, and the request is idle and of this plan.
        unsafe { endpoint.begin(&mut running.request, stamp, buffers, combine) }
    }

    /// Runs a call whose shape has been called before; `None`: it has not, or its window is taken.
    ///
    /// # Safety
    /// As [`Endpoint::begin`] for the operation's buffers and operator.
    #[inline]
    pub(super) unsafe fn run_again(
        &mut self,
        operation: &Operation<'_>,
    ) -> Option<Result<(), Error>> {
        let (buffers, combine) = sides(operation);
        let entry = self.cache.find(operation, None)?;
        let others = Others {
            active: &mut self.active,
            under_way: &mut self.under_way,
            messages: &mut self.messages,
        };
        // SAFETY: passed on.
        unsafe { run_entry(&mut self.endpoint, entry, others, buffers, combine) }
    }

    /// As [`Inner::run_again`], of the call at a place in the cache.
    ///
    /// # Safety
    /// As [`Endpoint::begin`] for the buffers, of the lengths that the place was given for, and the operator.
    #[inline]
    pub(super) unsafe fn run_at(
        &mut self,
        place: Place,
        buffers: Buffers,
        combine: Option<Combine>,
    ) -> Option<Result<(), Error>> {
        let entry = self.cache.at(place)?;
        let others = Others {
            active: &mut self.active,
            under_way: &mut self.under_way,
            messages: &mut self.messages,
        };
        // SAFETY: passed on.
        unsafe { run_entry(&mut self.endpoint, entry, others, buffers, combine) }
    }

    /// Waits until a plan's window whose turn it is is free: one call at a time owns it.
    ///
    /// # Errors
    /// What stopped the communicator, if the call that had the window did not give it back.
    fn await_window(&mut self, prepared: &Arc<Prepared>) -> Result<(), TransportError> {
        let owner = |a: &Option<Active>| {
            a.as_ref()
                .is_some_and(|a| Arc::ptr_eq(&a.prepared, prepared) && a.result.is_none())
        };
        if let Some(number) = self.active.iter().position(owner) {
            self.wait_for(number);
        }
        let mut freed = false;
        // An ended call whose request has not been waited for gives its request back early.
        for active in self
            .active
            .iter_mut()
            .flatten()
            .filter(|a| Arc::ptr_eq(&a.prepared, prepared) && matches!(a.result, Some(Ok(()))))
        {
            if let Some(running) = active.running.take() {
                self.cache.give_back(prepared, running);
                freed = true;
            }
        }
        match self.endpoint.stopped() {
            Some(error) => Err(error),
            None if freed => Ok(()),
            None => Err(TransportError::CallDropped {
                rank: self.endpoint.global_rank(),
            }),
        }
    }

    /// Takes all active calls further until the one with this number has ended, one way or the other.
    pub(super) fn wait_for(&mut self, number: usize) {
        let call = super::call_of(self.active[number].as_ref());
        let (endpoint, mut others) = self.others();
        let waited = endpoint.wait_until(call, |endpoint| {
            progress(endpoint, &mut others);
            let ended = others.active[number]
                .as_ref()
                .is_none_or(|a| a.result.is_some());
            Ok(if ended { Status::Done } else { Status::Pending })
        });
        if let Err(error) = waited {
            self.fail(number, error);
        }
    }

    /// Takes every active call as far as it goes.
    pub(super) fn progress(&mut self) {
        let (endpoint, mut others) = self.others();
        progress(endpoint, &mut others);
    }

    /// Whether an active call has ended, one way or the other.
    pub(super) fn has_ended(&self, number: usize) -> bool {
        self.active[number]
            .as_ref()
            .is_none_or(|a| a.result.is_some())
    }

    /// The number of the oldest active call, or of the next one if none is active.
    pub(super) fn oldest_call(&self) -> u64 {
        let calls = self.active.iter().flatten();
        let active = calls.filter(|a| a.result.is_none());
        active
            .filter_map(|a| a.running.as_ref().map(|r| r.request.call()))
            .min()
            .unwrap_or(self.endpoint.begun())
    }

    /// Looks now and then whether an active call can end at all: who only ever tests it is to hear, too.
    pub(super) fn look_out(&mut self, number: usize) {
        if let Err(error) = self.endpoint.look_out(self.oldest_call()) {
            self.fail(number, error);
        }
    }

    /// Ends an active call that cannot complete.
    pub(super) fn fail(&mut self, number: usize, error: TransportError) {
        if let Some(active) = &mut self.active[number]
            && active.result.is_none()
        {
            if let Some(running) = &mut active.running {
                self.endpoint.stop(&mut running.request);
            }
            active.end(Err(error.into()));
            self.under_way -= 1;
        }
    }

    /// Keeps a call that has begun; gives its number.
    pub(super) fn keep(&mut self, active: Active) -> usize {
        self.under_way += 1;
        let free = self.active.iter().position(Option::is_none);
        let number = free.unwrap_or_else(|| {
            self.active.push(None);
            self.active.len() - 1
        });
        self.active[number] = Some(active);
        number
    }
}

/// The buffers of an operation, and what combines their elements.
#[inline(always)]
pub(super) fn sides(operation: &Operation<'_>) -> (Buffers, Option<Combine>) {
    // SAFETY: the operator lives as long as the operation's buffers, which who uses the one keeps as long as the other.
    let combine = operation.reduction.map(|r| unsafe { r.kernel.erase() });
    let buffers = Buffers {
        input: operation.input.start.cast_const(),
        output: operation.output.start,
    };
    (buffers, combine)
}

/// Runs a call of an entry's shape among the calls that are under way; `None`: its window is taken, or the communicator is
/// stopped.
///
/// # Safety
/// As [`Endpoint::begin`] for the buffers, of the lengths of the entry's shape, and the operator.
#[inline]
unsafe fn run_entry(
    endpoint: &mut Endpoint,
    entry: &mut Entry,
    mut others: Others<'_>,
    buffers: Buffers,
    combine: Option<Combine>,
) -> Option<Result<(), Error>> {
    let mut running = entry.ready_turn()?;
    let Running {
        request, cursor, ..
    } = &mut *running;
    let plan = &entry.prepared.plan;
    // SAFETY: promised by the caller; the plan is lowered from a registered algorithm's schedule for this rank, the cursor
    // is set below, and the request is idle and of this plan.
    if unsafe { endpoint.begin(request, &entry.stamp, buffers, combine) }.is_err() {
        // Who makes it as a new one hears why it cannot begin.
        entry.give_back(running);
        return None;
    }
    let ended = if *others.under_way == 0 {
        match endpoint.hurry(request, plan, cursor) {
            Status::Done => Ok(()),
            Status::Pending => endpoint.wait(request, plan, cursor),
        }
    } else {
        cursor.reset(plan);
        // A peer may need one of the calls that are under way before it comes to this one.
        endpoint.wait_until(request.call(), |endpoint| {
            progress(endpoint, &mut others);
            endpoint.test(request, plan, cursor)
        })
    };
    if let Err(error) = ended {
        // The request has ended for good.
        return Some(Err(error.into()));
    }
    entry.give_back(running);
    Some(Ok(()))
}

/// Takes every active call, and every message, as far as it goes.
pub(super) fn progress(endpoint: &mut Endpoint, others: &mut Others<'_>) {
    let unended = |active: &&mut Active| active.result.is_none();
    for active in others.active.iter_mut().flatten().filter(unended) {
        let Some(running) = &mut active.running else {
            continue;
        };
        match endpoint.test(
            &mut running.request,
            &active.prepared.plan,
            &mut running.cursor,
        ) {
            Ok(Status::Pending) => continue,
            Ok(Status::Done) => active.end(Ok(())),
            Err(error) => active.end(Err(error.into())),
        }
        *others.under_way -= 1;
    }
    others.progress_messages(endpoint);
}
