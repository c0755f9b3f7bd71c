//! The communicator: a rank's front door to collective calls.

mod agreed;
pub mod bootstrap;
mod helm;
mod inner;
pub mod interposition;
mod outset;
mod repeat;
mod split;

use crate::error::Error;
use crate::interposition::Interposition;
use crate::operation::{self, Operation};
use crate::policy::{Forecast, Policy};
use crate::prepared::{PlanCache, Running, typed_name};
use crate::transport::endpoint::state::Port;
use crate::transport::net::Places;
use crate::transport::shm::memory::arena::Block;
use allhands_core::algorithm::Algorithm;
use allhands_core::call::{Call, Collective};
use allhands_core::machine::{Nodes, Torus};
use allhands_core::schedule::{Layout, Shape, learned};
use helm::Helm;
use inner::{Active, Arrival, Checked, Inner, Ready, Unknown, progress};
use std::time::Duration;

/// A block whose sender and receiver know different counts: from, to, elements sent, elements of room.
type Differing = (usize, usize, usize, usize);

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
    inner: Helm,
    rank: usize,
    size: usize,
}

impl Communicator {
    /// Looks into the cache of plans.
    #[cfg(test)]
    pub(crate) fn with_plans<T>(&self, look: impl FnOnce(&mut PlanCache) -> T) -> T {
        look(&mut self.inner.take().cache)
    }

    /// The communicator of a port, which may be joined to other nodes; policy and crowdedness are the same on every rank.
    pub(crate) fn new(port: Port, policy: Policy, crowded: bool) -> Communicator {
        let (rank, size) = (port.global_rank() as usize, port.global_ranks() as usize);
        let nodes = port.places().map_or_else(Nodes::one, Places::runs);
        let inner = Inner {
            cache: PlanCache::new(port.fabric().ranks()),
            port,
            active: Vec::new(),
            under_way: 0,
            policy,
            crowded,
            nodes,
            torus: None,
            forecast: None,
            next_window: 0,
        };
        Communicator {
            inner: Helm::new(inner),
            rank,
            size,
        }
    }

    /// The same communicator, with a thread that takes its nonblocking and persistent calls further while this rank does
    /// something else.
    ///
    /// Without one they go further in `test` and `wait`, and in every other call on the communicator. The thread gives the
    /// core to whoever computes: when calls are slow to end, it looks every 50 microseconds. Each call on the communicator
    /// takes a lock then. Other ranks need not have one, and communicators made of this one have none.
    ///
    /// ```
    /// use allhands::{Sum, operation, threads};
    ///
    /// threads::run(2, |comm| {
    ///     let comm = comm.with_progress_thread()?;
    ///     let request = comm.start(vec![1u32; 100_000], |v| operation::allreduce_in_place(v, &Sum))?;
    ///     // … a long computation, in which the sums are made …
    ///     assert!(request.wait()?.iter().all(|sum| *sum == 2));
    ///     Ok::<(), allhands::Error>(())
    /// })?;
    /// # Ok::<(), allhands::Error>(())
    /// ```
    ///
    /// # Errors
    /// [`Error::ProgressThread`] if the system gives no thread.
    pub fn with_progress_thread(self) -> Result<Communicator, Error> {
        let helm = self.inner.with_background();
        let inner = helm.map_err(|error| Error::ProgressThread(error.to_string()))?;
        Ok(Communicator { inner, ..self })
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

    /// Memory that all ranks of the node can reach: `bytes` zeros.
    pub(crate) fn allocate(&self, bytes: usize) -> Result<Block, Error> {
        Ok(self.inner.take().port.fabric().arena().allocate(bytes)?)
    }

    /// Whether the ranks' machine has more ranks than cores, so that they take turns; the same on every rank.
    #[must_use]
    pub fn is_crowded(&self) -> bool {
        self.inner.take().crowded
    }

    /// Sets who chooses algorithms; every rank must set the same.
    ///
    /// At first it is what [`policy::installed`](crate::policy::installed) says: the table that `allhands tune` has made
    /// on this machine, or the built-in one.
    pub fn set_policy(&self, policy: Policy) {
        let mut inner = self.inner.take();
        inner.policy = policy;
        inner.forget_plans();
    }

    /// Says which ranks share a node, for algorithms that treat nodes apart from what is between them (`hierarchical`);
    /// every rank must say the same.
    ///
    /// At first all ranks share one, or, in a world that was started with `allhands run --nodes`, those that it says; ranks that
    /// are on several nodes are on those, or, where the ranks of a node do not follow one another, on smaller ones.
    ///
    /// # Errors
    /// [`Error::Nodes`] if they have another number of ranks.
    pub fn set_nodes(&self, nodes: Nodes) -> Result<(), Error> {
        nodes.check(self.size as u32)?;
        let mut inner = self.inner.take();
        inner.nodes = nodes;
        inner.forecast = inner.forecast.take().map(Forecast::forget);
        inner.forget_plans();
        Ok(())
    }

    /// Which ranks share a node.
    #[must_use]
    pub fn nodes(&self) -> Nodes {
        self.inner.take().nodes.clone()
    }

    /// Says where the ranks are on a mesh or torus, for algorithms that ask for one (`torus-trees`, `hamiltonian`,
    /// `line-broadcast`, `multi-dimensional-ring`, `swing`), or that they are on none; every rank must say the same.
    ///
    /// At first they are on none. [`Communicator::split`] keeps it where the new ranks are a rectangle in the old order.
    ///
    /// # Errors
    /// [`Error::Torus`] if it has another number of ranks.
    pub fn set_torus(&self, torus: Option<Torus>) -> Result<(), Error> {
        if let Some(torus) = torus {
            torus.check(self.size as u32)?;
        }
        let mut inner = self.inner.take();
        inner.torus = torus;
        inner.forget_plans();
        Ok(())
    }

    /// Where the ranks are on a mesh or torus, if that is said.
    #[must_use]
    pub fn torus(&self) -> Option<Torus> {
        self.inner.take().torus
    }

    /// After how long a wait this rank says so on the standard error: `rank 1 has waited 10 s in barrier for rank 0`.
    ///
    /// At first it is 10 s; [`Duration::MAX`] is never. Of all that wait one rank says it, and again when the time has
    /// doubled. Communicators made of this one inherit it.
    pub fn tell_waits_after(&self, after: Duration) {
        self.inner.take().port.tell_waits_after(after);
    }

    /// Whether this process counts more ranks than cores.
    #[cfg(target_os = "linux")]
    pub(crate) fn is_fabric_crowded(&self) -> bool {
        self.inner.take().port.fabric().is_crowded()
    }

    /// Sets what the ranks have agreed on.
    #[cfg(target_os = "linux")]
    pub(crate) fn set_agreed(&self, policy: Policy, crowded: bool) {
        self.inner.take().crowded = crowded;
        self.set_policy(policy);
    }

    /// Runs an operation and waits for its end.
    ///
    /// # Errors
    /// [`Error`] says what was wrong, and whether the communicator stays usable.
    #[inline]
    pub fn run(&self, operation: Operation<'_>) -> Result<(), Error> {
        // SAFETY: the operation borrows its buffers until this function returns, and they have the lengths for which
        // the plan was lowered, as its key holds them.
        let again = unsafe { self.inner.take().run_again(&operation) };
        match again {
            Some(ended) => ended.inspect_err(|_| self.spread())?,
            None => self
                .run_new(&operation, |_| ())
                .inspect_err(|_| self.spread())?,
        }
        Arrival::of(&operation).verify()
    }

    /// Runs a call whose shape is new, and looks at what it has run with when it has ended.
    #[cold]
    fn run_new<T>(
        &self,
        operation: &Operation<'_>,
        look: impl FnOnce(&Running) -> T,
    ) -> Result<T, Error> {
        let checked = self.check(operation)?;
        let inner = &mut *self.inner.take();
        let Ready {
            prepared,
            stamp,
            mut running,
        } = inner.ready(operation, &checked)?;
        // SAFETY: the operation borrows its buffers until this function returns, and they have the lengths that
        // `check` compared with the layout which the plan was lowered for.
        unsafe { Inner::begin(&mut inner.port, operation, &stamp, &mut running)? };
        let Running { flight, cursor, .. } = &mut *running;
        let (active, under_way) = (&mut inner.active, &mut inner.under_way);
        // A peer may need one of the calls that are under way before it comes to this one.
        let ended = inner.port.wait_until(flight.call(), |port| {
            progress(port, active, under_way);
            port.test(flight, &prepared.plan, cursor)
        });
        ended?;
        let seen = look(&running);
        inner.cache.give_back(&prepared, running);
        Ok(seen)
    }

    /// Checks an operation's buffers, and tells ranks the counts that its algorithm needs.
    fn check(&self, operation: &Operation<'_>) -> Result<Checked, Error> {
        let (call, layout) = operation.check(self.rank, self.size)?;
        let unknown = self.inner.take().unknown_counts(operation, &call)?;
        let exchanged = !matches!(unknown, Unknown::None);
        let layout = match unknown {
            Unknown::None => layout,
            Unknown::All => {
                let told = self.exchange_counts(&call, &layout)?;
                self.compare_counts(&call, &layout, &told)?;
                told
            }
            Unknown::Passing(algorithm, shape) => self.pass_counts(&layout, algorithm, shape)?,
        };
        Ok(Checked {
            call,
            layout,
            exchanged,
        })
    }

    /// Tells every rank the counts of blocks that pass through it: the counts go the blocks' own way.
    fn pass_counts(
        &self,
        layout: &Layout,
        algorithm: &'static Algorithm,
        mut shape: Shape,
    ) -> Result<Layout, Error> {
        let Layout::Exchange { send, receive, .. } = layout else {
            return Ok(layout.clone());
        };
        shape.call.in_place = false;
        let name = typed_name(algorithm, &shape);
        let mut received = vec![0; self.size];
        let counts = operation::all_to_all(send, &mut received).algorithm(&name);
        let schedule = algorithm.schedule(&shape, self.rank as u32);
        let learn = |running: &Running| {
            let count_at = |at| running.flight.word_of_scratch(at);
            let count_bytes = size_of::<usize>();
            learned(&schedule, &shape.call, layout, count_bytes, count_at)
        };
        let learned = self.run_new(&counts, learn)?;
        let collective = algorithm.collective;
        self.refuse_differing(collective, self.differing(receive, |from| received[from]))?;
        learned.map_err(|source| Error::Layout {
            collective,
            algorithm: algorithm.name,
            source,
        })
    }

    /// Tells every rank all counts of an irregular call.
    fn exchange_counts(&self, call: &Call, layout: &Layout) -> Result<Layout, Error> {
        Ok(match layout {
            Layout::Exchange { send, .. } => {
                let mut counts = vec![0; self.size * self.size];
                self.run(operation::allgather(send, &mut counts))?;
                Layout::Pairs(counts)
            }
            Layout::Blocks(_) | Layout::Own { .. } if call.collective.rooted() => {
                let mut counts = match layout {
                    Layout::Blocks(counts) if self.rank == call.root as usize => counts.clone(),
                    _ => vec![0; self.size],
                };
                self.run(operation::broadcast(&mut counts, call.root as usize))?;
                Layout::Blocks(counts)
            }
            known => known.clone(),
        })
    }

    /// Complains, and tells the others, if the counts that ranks have told are not those by which this rank has made its buffers.
    fn compare_counts(&self, call: &Call, own: &Layout, told: &Layout) -> Result<(), Error> {
        let (rank, root) = (self.rank, call.root as usize);
        let differs = match (own, told) {
            (Layout::Own { elements, .. }, Layout::Blocks(counts)) if counts[rank] != *elements => {
                let is_sent = call.collective == Collective::Gather;
                let (from, to) = if is_sent { (rank, root) } else { (root, rank) };
                let (sent, room) = match is_sent {
                    true => (*elements, counts[rank]),
                    false => (counts[rank], *elements),
                };
                Some((from, to, sent, room))
            }
            (Layout::Exchange { receive, .. }, Layout::Pairs(counts)) => {
                self.differing(receive, |from| counts[from * self.size + rank])
            }
            _ => None,
        };
        self.refuse_differing(call.collective, differs)
    }

    /// The first rank that sends this one another number of elements than it has room for.
    fn differing(&self, room: &[usize], sent: impl Fn(usize) -> usize) -> Option<Differing> {
        let wrong = (0..self.size).find(|from| sent(*from) != room[*from]);
        wrong.map(|from| (from, self.rank, sent(from), room[from]))
    }

    /// Complains, and tells the others, if there is a block whose counts differ.
    fn refuse_differing(
        &self,
        collective: Collective,
        differing: Option<Differing>,
    ) -> Result<(), Error> {
        let Some((from, to, sent, room)) = differing else {
            return Ok(());
        };
        self.refuse(collective);
        Err(Error::CountsDiffer {
            collective,
            from,
            to,
            sent,
            room,
        })
    }

    /// Begins an operation and returns the number of its place among the active ones.
    ///
    /// # Safety
    /// The operation's buffers and operator stay valid and untouched until the call has ended, or for ever.
    pub(crate) unsafe fn begin(&self, operation: &Operation<'_>) -> Result<usize, Error> {
        let checked = self.check(operation)?;
        let inner = &mut *self.inner.take();
        let Ready {
            prepared,
            stamp,
            mut running,
        } = inner.ready(operation, &checked)?;
        // SAFETY: the caller promises it for the buffers; the scratch is the running's own, which the list of
        // active calls holds until the call has ended.
        unsafe { Inner::begin(&mut inner.port, operation, &stamp, &mut running)? };
        let active = Active {
            prepared,
            running: Some(running),
            arrival: Arrival::of(operation),
            result: None,
            told: None,
        };
        let number = inner.keep(active);
        inner.progress();
        Ok(number)
    }

    /// Whether an active call has ended; takes all of them further.
    pub(crate) fn test_active(&self, number: usize) -> bool {
        let inner = &mut *self.inner.take();
        inner.progress();
        if !inner.has_ended(number) {
            inner.look_out(number);
        }
        inner.has_ended(number)
    }

    /// Waits for an active call and frees its place.
    pub(crate) fn wait_active(&self, number: usize) -> Result<(), Error> {
        let inner = &mut *self.inner.take();
        inner.wait_for(number);
        let ended = inner.active[number].take();
        let Some(Active {
            prepared,
            running,
            arrival,
            result,
            ..
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
}

/// The number of an active call in the order of all calls, while it is under way.
fn call_of(active: Option<&Active>) -> u64 {
    let running = active.and_then(|active| active.running.as_ref());
    running.map_or(u64::MAX, |running| running.flight.call())
}

impl std::fmt::Debug for Communicator {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Communicator")
            .field("rank", &self.rank)
            .field("size", &self.size)
            .finish_non_exhaustive()
    }
}

/// Keeps the traits of [`bootstrap`] and [`interposition`] to communicators, so that methods can be added to them.
mod sealed {
    pub trait Sealed {}
    impl Sealed for super::Communicator {}
}
