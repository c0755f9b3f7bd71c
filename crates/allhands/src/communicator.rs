//! The communicator: a rank's front door to collective calls.

use crate::error::Error;
use crate::operation::{self, Operation};
use crate::policy::{self, Policy};
use crate::prepared::{Key, PlanCache, Prepared, Running, named};
use crate::transport::threads::{Buffers, Fabric, Port, Stamp};
use crate::transport::{Signature, TransportError};
use allhands_core::algorithm::{Algorithm, Requirement};
use allhands_core::call::{Call, Collective};
use allhands_core::progress::Status;
use allhands_core::schedule::{Layout, Shape};
use std::cell::RefCell;
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

/// The ranks that call collectives together, as one of them sees them.
///
/// A communicator can be sent to another thread, but one thread at a time uses it. All ranks make the
/// same calls in the same order; a rank that calls differently, panics or leaves is an
/// [error](Error) on every rank that waits for it.
///
/// Each method runs one call at once. [`Communicator::run`] does the same for an [`Operation`], which can name its
/// algorithm; [`start`](Communicator::start), [`scope`](Communicator::scope) and
/// [`persistent`](Communicator::persistent) run operations without waiting.
pub struct Communicator {
    pub(crate) inner: RefCell<Inner>,
    rank: usize,
    size: usize,
    world: Arc<World>,
}

/// What all communicators of one run share: fabrics on their way to the ranks of a new communicator.
#[derive(Default)]
pub(crate) struct World {
    /// By (parent's number, its how-manieth split, colour): number, fabric, and how many ranks have not taken it yet.
    opening: Mutex<BTreeMap<(u64, u64, u64), Opening>>,
    communicators: std::sync::atomic::AtomicU64,
}

struct Opening {
    number: u64,
    fabric: Arc<Fabric>,
    missing: usize,
}

pub(crate) struct Inner {
    pub(crate) port: Port,
    cache: PlanCache,
    /// Nonblocking calls, by the number of their request; a finished one waits for its request here.
    pub(crate) active: Vec<Option<Active>>,
    under_way: usize,
    policy: Policy,
    next_window: u64,
    number: u64,
    splits: u64,
}

/// A nonblocking call.
pub(crate) struct Active {
    prepared: Arc<Prepared>,
    running: Option<Running>,
    arrival: Arrival,
    pub(crate) result: Option<Result<(), Error>>,
}

/// What is checked when a call has ended: that what arrived are values.
#[derive(Clone, Copy)]
struct Arrival {
    collective: Collective,
    check: Option<crate::element::ArrivalCheck>,
    start: *const u8,
    bytes: usize,
}

// SAFETY: the address is that of the call's output, which outlives the call and is only read through this, on
// whichever thread the communicator is then.
unsafe impl Send for Arrival {}

impl Arrival {
    fn of(operation: &Operation<'_>) -> Arrival {
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

    fn verify(&self) -> Result<(), Error> {
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

/// The plan of a call, and what runs it.
struct Ready {
    prepared: Arc<Prepared>,
    stamp: Stamp,
    running: Running,
}

impl Communicator {
    pub(crate) fn new(port: Port, world: Arc<World>, number: u64) -> Communicator {
        let (rank, size) = (port.rank() as usize, port.ranks() as usize);
        let inner = Inner {
            port,
            cache: PlanCache::new(),
            active: Vec::new(),
            under_way: 0,
            policy: Policy::default(),
            next_window: 0,
            number,
            splits: 0,
        };
        Communicator {
            inner: RefCell::new(inner),
            rank,
            size,
            world,
        }
    }

    /// This rank's number, from 0.
    #[must_use]
    pub fn rank(&self) -> usize {
        self.rank
    }

    /// The number of ranks.
    #[must_use]
    pub fn size(&self) -> usize {
        self.size
    }

    /// Sets who chooses algorithms; every rank must set the same.
    pub fn set_policy(&self, policy: Policy) {
        let mut inner = self.inner.borrow_mut();
        inner.policy = policy;
        inner.cache = PlanCache::new();
    }

    /// Runs an operation and waits for its end.
    ///
    /// # Errors
    /// [`Error`] says what was wrong, and whether the communicator stays usable.
    pub fn run(&self, operation: Operation<'_>) -> Result<(), Error> {
        let (call, layout) = self.check(&operation)?;
        let arrival = Arrival::of(&operation);
        let inner = &mut *self.inner.borrow_mut();
        let Ready {
            prepared,
            stamp,
            mut running,
        } = inner.ready(&operation, &call, &layout)?;
        // SAFETY: the operation borrows its buffers until this function returns, and they have the lengths that
        // `check` compared with the layout which the plan was lowered for; the scratch is the running's own.
        unsafe { inner.begin(&operation, &prepared, &stamp, &mut running)? };
        let Running { flight, cursor, .. } = &mut running;
        if inner.under_way == 0 {
            inner.port.wait(flight, &prepared.plan, cursor)?;
        } else {
            // A peer may need one of the calls that are under way before it comes to this one.
            let oldest = inner.oldest_call().min(flight.call());
            let (active, under_way) = (&mut inner.active, &mut inner.under_way);
            inner.port.wait_until(oldest, |port| {
                progress(port, active, under_way);
                port.test(flight, &prepared.plan, cursor)
            })?;
        }
        inner.cache.give_back(&prepared, running);
        arrival.verify()
    }

    /// Checks an operation's buffers, and tells all ranks the counts if its algorithm needs them.
    fn check(&self, operation: &Operation<'_>) -> Result<(Call, Layout), Error> {
        let (call, layout) = operation.check(self.rank, self.size)?;
        if operation.irregular() && self.inner.borrow().needs_all_counts(operation, &call)? {
            return Ok((call, self.exchange_counts(&call, layout)?));
        }
        Ok((call, layout))
    }

    /// Tells every rank all counts of an irregular call.
    fn exchange_counts(&self, call: &Call, layout: Layout) -> Result<Layout, Error> {
        Ok(match layout {
            Layout::Exchange { send, .. } => {
                let mut counts = vec![0; self.size * self.size];
                self.run(operation::allgather(&send, &mut counts))?;
                Layout::Pairs(counts)
            }
            Layout::Blocks(_) | Layout::Own { .. } if call.collective.rooted() => {
                let mut counts = match layout {
                    Layout::Blocks(counts) if self.rank == call.root as usize => counts,
                    _ => vec![0; self.size],
                };
                self.run(operation::broadcast(&mut counts, call.root as usize))?;
                Layout::Blocks(counts)
            }
            known => known,
        })
    }

    /// Begins an operation and returns the number of its place among the active ones.
    ///
    /// # Safety
    /// The operation's buffers and operator stay valid and untouched until the call has ended, or for ever.
    pub(crate) unsafe fn begin(&self, operation: &Operation<'_>) -> Result<usize, Error> {
        let (call, layout) = self.check(operation)?;
        let inner = &mut *self.inner.borrow_mut();
        inner.await_window(operation, &call, &layout)?;
        let Ready {
            prepared,
            stamp,
            mut running,
        } = inner.ready(operation, &call, &layout)?;
        // SAFETY: the caller promises it for the buffers; the scratch is the running's own, which the list of
        // active calls holds until the call has ended.
        unsafe { inner.begin(operation, &prepared, &stamp, &mut running)? };
        let active = Active {
            prepared,
            running: Some(running),
            arrival: Arrival::of(operation),
            result: None,
        };
        inner.under_way += 1;
        let number = inner
            .active
            .iter()
            .position(Option::is_none)
            .unwrap_or_else(|| {
                inner.active.push(None);
                inner.active.len() - 1
            });
        inner.active[number] = Some(active);
        progress(&mut inner.port, &mut inner.active, &mut inner.under_way);
        Ok(number)
    }

    /// Whether an active call has ended; takes all of them further.
    pub(crate) fn test_active(&self, number: usize) -> bool {
        let inner = &mut *self.inner.borrow_mut();
        progress(&mut inner.port, &mut inner.active, &mut inner.under_way);
        inner.active[number]
            .as_ref()
            .is_none_or(|a| a.result.is_some())
    }

    /// Waits for an active call and frees its place.
    pub(crate) fn wait_active(&self, number: usize) -> Result<(), Error> {
        let inner = &mut *self.inner.borrow_mut();
        inner.wait_for(number);
        let ended = inner.active[number].take();
        let Some(Active {
            prepared,
            running,
            arrival,
            result,
        }) = ended
        else {
            return Ok(());
        };
        result.unwrap_or(Ok(()))?;
        if let Some(running) = running {
            inner.cache.give_back(&prepared, running);
        }
        arrival.verify()
    }

    /// A communicator of the same ranks, whose calls are apart from this one's.
    ///
    /// # Errors
    /// As any call: every rank must duplicate.
    pub fn dup(&self) -> Result<Communicator, Error> {
        let new = self.split(Some(0), self.rank as u64)?;
        new.ok_or(Error::NoRanks)
    }

    /// Divides the ranks by colour: those of one colour form a new communicator, ordered by `key` and then by rank.
    ///
    /// A rank whose colour is `None` gets none.
    ///
    /// # Errors
    /// As any call: every rank must split.
    pub fn split(&self, colour: Option<u32>, key: u64) -> Result<Option<Communicator>, Error> {
        let mine = [colour.map_or(u64::MAX, u64::from), key];
        let mut all = vec![0; 2 * self.size];
        self.run(operation::allgather(&mine, &mut all))?;
        let (parent, split) = {
            let mut inner = self.inner.borrow_mut();
            inner.splits += 1;
            (inner.number, inner.splits)
        };
        let Some(colour) = colour.map(u64::from) else {
            return Ok(None);
        };
        let mut members: Vec<(u64, usize)> = (0..self.size)
            .filter(|r| all[2 * r] == colour)
            .map(|r| (all[2 * r + 1], r))
            .collect();
        members.sort_unstable();
        let rank = members.iter().position(|m| m.1 == self.rank).unwrap_or(0);
        let (fabric, number) = self.world.fabric((parent, split, colour), members.len())?;
        let port = Port::new(fabric, rank as u32)?;
        let policy = self.inner.borrow().policy.clone();
        let new = Communicator::new(port, Arc::clone(&self.world), number);
        new.set_policy(policy);
        Ok(Some(new))
    }
}

impl std::fmt::Debug for Communicator {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Communicator")
            .field("rank", &self.rank)
            .field("size", &self.size)
            .finish_non_exhaustive()
    }
}

impl World {
    /// The fabric of a new communicator of `ranks` ranks, each of which asks once.
    fn fabric(
        &self,
        key: (u64, u64, u64),
        ranks: usize,
    ) -> Result<(Arc<Fabric>, u64), TransportError> {
        let mut opening = self.opening.lock().unwrap_or_else(PoisonError::into_inner);
        if !opening.contains_key(&key) {
            let number = 1 + self
                .communicators
                .fetch_add(1, std::sync::atomic::Ordering::Relaxed);
            let fabric = Fabric::new(ranks as u32)?;
            opening.insert(
                key,
                Opening {
                    number,
                    fabric,
                    missing: ranks,
                },
            );
        }
        let Some(found) = opening.get_mut(&key) else {
            return Err(TransportError::NoRanks);
        };
        found.missing -= 1;
        let taken = (Arc::clone(&found.fabric), found.number);
        if found.missing == 0 {
            opening.remove(&key);
        }
        Ok(taken)
    }
}

impl Inner {
    /// Which algorithm serves a call: the named one, or the policy's choice.
    fn choose(
        &self,
        operation: &Operation<'_>,
        call: &Call,
        layout: &Layout,
    ) -> Result<(&'static Algorithm, Shape), Error> {
        match &operation.algorithm {
            Some(name) => named(call, name),
            None => policy::choose(&self.policy, operation, call, layout),
        }
    }

    fn needs_all_counts(&self, operation: &Operation<'_>, call: &Call) -> Result<bool, Error> {
        let told = matches!(
            call.collective,
            Collective::Gather | Collective::Scatter | Collective::Alltoall
        );
        let (algorithm, _) = self.choose(operation, call, &Layout::Regular(0))?;
        Ok(told && algorithm.requires.contains(&Requirement::AllCounts))
    }

    /// The plan of a call with all that runs it: from the cache, or made and kept there.
    fn ready(
        &mut self,
        operation: &Operation<'_>,
        call: &Call,
        layout: &Layout,
    ) -> Result<Ready, Error> {
        if let Some(entry) = self.cache.find(call, layout, operation) {
            let (prepared, stamp) = (Arc::clone(&entry.prepared), entry.stamp);
            let running = match entry.idle.pop() {
                Some(mut running) => {
                    running.cursor.reset(&prepared.plan);
                    running
                }
                None => Running::new(&self.port, &prepared.plan, entry.window_key)?,
            };
            return Ok(Ready {
                prepared,
                stamp,
                running,
            });
        }
        let (algorithm, shape) = self.choose(operation, call, layout)?;
        let rank = self.port.rank() as usize;
        let prepared = Arc::new(Prepared::new(
            algorithm,
            shape,
            rank,
            layout,
            operation.element.bytes,
        )?);
        let stamp = self
            .port
            .fabric()
            .stamp(&signature(operation, call, layout, &prepared));
        let window_key = self.next_window;
        self.next_window += u64::from(prepared.has_window());
        let running = Running::new(&self.port, &prepared.plan, window_key)?;
        if let Some(key) = Key::of(call, layout, operation) {
            self.cache
                .insert(key, Arc::clone(&prepared), stamp, window_key);
        }
        Ok(Ready {
            prepared,
            stamp,
            running,
        })
    }

    /// Begins a call's flight.
    ///
    /// # Safety
    /// As [`Port::begin`] for the operation's buffers and operator.
    unsafe fn begin(
        &mut self,
        operation: &Operation<'_>,
        prepared: &Prepared,
        stamp: &Stamp,
        running: &mut Running,
    ) -> Result<(), Error> {
        // SAFETY: the operator lives as long as the operation's buffers, which the caller keeps until the call has ended.
        let combine = operation.reduction.map(|r| unsafe { r.kernel.erase() });
        let output = operation.output.start;
        let input = operation.input.start.cast_const();
        let buffers = Buffers {
            input,
            output,
            scratch: running.scratch.address(),
        };
        debug_assert_eq!(running.scratch.len(), prepared.plan.space_bytes[2]);
        // SAFETY: promised by the caller; the plan is lowered from a registered algorithm's schedule for this rank,
        // the cursor is new or was reset, and the flight is idle and of this plan.
        unsafe {
            self.port
                .begin(&mut running.flight, stamp, buffers, combine)?
        };
        Ok(())
    }

    /// Waits until the window of a call's plan is free: one call at a time owns it.
    fn await_window(
        &mut self,
        operation: &Operation<'_>,
        call: &Call,
        layout: &Layout,
    ) -> Result<(), Error> {
        let Some(entry) = self.cache.find(call, layout, operation) else {
            return Ok(());
        };
        if !entry.prepared.has_window() {
            return Ok(());
        }
        let prepared = Arc::clone(&entry.prepared);
        let owner = |a: &Option<Active>| {
            a.as_ref()
                .is_some_and(|a| Arc::ptr_eq(&a.prepared, &prepared) && a.result.is_none())
        };
        if let Some(number) = self.active.iter().position(owner) {
            self.wait_for(number);
        }
        // An ended call whose request has not been waited for gives its flight back early.
        for active in self
            .active
            .iter_mut()
            .flatten()
            .filter(|a| Arc::ptr_eq(&a.prepared, &prepared))
        {
            if let (Some(Ok(())), Some(running)) = (&active.result, active.running.take()) {
                self.cache.give_back(&prepared, running);
            }
        }
        Ok(())
    }

    fn oldest_call(&self) -> u64 {
        let calls = self.active.iter().flatten().filter(|a| a.result.is_none());
        calls
            .filter_map(|a| a.running.as_ref().map(|r| r.flight.call()))
            .min()
            .unwrap_or(u64::MAX)
    }

    /// Takes all active calls further until the one with this number has ended, one way or the other.
    fn wait_for(&mut self, number: usize) {
        let oldest = self.oldest_call();
        let (active, under_way) = (&mut self.active, &mut self.under_way);
        let waited = self.port.wait_until(oldest, |port| {
            progress(port, active, under_way);
            let ended = active[number].as_ref().is_none_or(|a| a.result.is_some());
            Ok(if ended { Status::Done } else { Status::Pending })
        });
        if let (Err(error), Some(active)) = (waited, &mut self.active[number])
            && active.result.is_none()
        {
            if let Some(running) = &mut active.running {
                self.port.stop(&mut running.flight);
            }
            active.result = Some(Err(error.into()));
            self.under_way -= 1;
        }
    }
}

/// Takes every active call as far as it goes.
fn progress(port: &mut Port, active: &mut [Option<Active>], under_way: &mut usize) {
    for active in active.iter_mut().flatten().filter(|a| a.result.is_none()) {
        let Some(running) = &mut active.running else {
            continue;
        };
        match port.test(
            &mut running.flight,
            &active.prepared.plan,
            &mut running.cursor,
        ) {
            Ok(Status::Pending) => continue,
            Ok(Status::Done) => active.result = Some(Ok(())),
            Err(error) => active.result = Some(Err(error.into())),
        }
        *under_way -= 1;
    }
}

/// What all ranks must agree on.
fn signature(
    operation: &Operation<'_>,
    call: &Call,
    layout: &Layout,
    prepared: &Prepared,
) -> Signature {
    let bytes = match layout {
        Layout::Even(elements) | Layout::Regular(elements) => elements * operation.element.bytes,
        // Ranks may lawfully know different counts.
        Layout::Blocks(_) | Layout::Pairs(_) | Layout::Own { .. } | Layout::Exchange { .. } => 0,
    };
    let barrier = call.collective == Collective::Barrier;
    Signature {
        collective: call.collective,
        algorithm: prepared.name().into(),
        root: call.root,
        bytes: bytes as u64,
        element: if barrier {
            "".into()
        } else {
            operation.element.signature.to_string().into()
        },
        operator: operation
            .reduction
            .map_or_else(|| "".into(), |r| r.signature.to_string().into()),
    }
}
