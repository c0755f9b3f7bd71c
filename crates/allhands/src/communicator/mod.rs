//! The communicator: a rank's front door to collective calls.

mod agreed;
pub mod bootstrap;
mod cached_call;
mod counts;
mod inner;
pub mod interposition;
pub(crate) mod messages;
#[cfg(target_os = "linux")]
mod network_times;
mod nonblocking_start;
mod progress_thread;
mod split;

use crate::error::Error;
use crate::interposition::Interposition;
use crate::operation::Operation;
use crate::policy::{Forecast, NetworkTimes, Policy};
use crate::prepared::{PlanCache, Running};
use crate::transport::endpoint::state::endpoint::Endpoint;
use crate::transport::net::Places;
use crate::transport::shm::memory::arena::Block;
#[cfg(target_os = "linux")]
use crate::transport::shm::protocol::choose::{self, Measured};
use allhands_core::machine::{Nodes, Torus};
use counts::Unknown;
use inner::{Active, Arrival, Checked, Inner, Ready, progress};
use progress_thread::Progress;
use std::time::Duration;

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
    inner: Progress,
    rank: usize,
    size: usize,
}

impl Communicator {
    /// Looks into the cache of plans.
    #[cfg(test)]
    pub(crate) fn with_plans<T>(&self, look: impl FnOnce(&mut PlanCache) -> T) -> T {
        look(&mut self.inner.take().cache)
    }

    /// The communicator of an endpoint, which may be joined to other nodes; policy and oversubscription are the same on every rank.
    pub(crate) fn new(endpoint: Endpoint, policy: Policy, oversubscribed: bool) -> Communicator {
        let (rank, size) = (
            endpoint.global_rank() as usize,
            endpoint.global_ranks() as usize,
        );
        let nodes = endpoint.places().map_or_else(Nodes::one, Places::runs);
        let inner = Inner {
            messages: None,
            cache: PlanCache::new(endpoint.segment().ranks()),
            endpoint,
            active: Vec::new(),
            under_way: 0,
            policy,
            oversubscribed,
            nodes,
            torus: None,
            forecast: None,
            next_window: 0,
        };
        Communicator {
            inner: Progress::new(inner),
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
    /// })?
    /// .into_iter()
    /// .collect::<Result<(), _>>()?;
    /// # Ok::<(), allhands::Error>(())
    /// ```
    ///
    /// # Errors
    /// [`Error::ProgressThread`] if the system gives no thread.
    pub fn with_progress_thread(self) -> Result<Communicator, Error> {
        let progress = self.inner.with_background();
        let inner = progress.map_err(|error| Error::ProgressThread(error.to_string()))?;
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
        Ok(self
            .inner
            .take()
            .endpoint
            .segment()
            .arena()
            .allocate(bytes)?)
    }

    /// Whether the ranks' machine has more ranks than cores, so that they take turns; the same on every rank.
    #[must_use]
    pub fn is_oversubscribed(&self) -> bool {
        self.inner.take().oversubscribed
    }

    /// Sets who chooses algorithms; every rank must set the same.
    ///
    /// At first it is what [`policy::installed`](crate::policy::installed) says: the table that `allhands tune` has made
    /// on this machine, or the built-in one. Where ranks are on several hosts, it is at first what is the fastest by the measured times
    /// of the network between these, which no policy that is set here asks for.
    pub fn set_policy(&self, policy: Policy) {
        let mut inner = self.inner.take();
        inner.policy = policy;
        // Who names a policy wants that one's choice.
        inner.forecast = None;
        inner.forget_plans();
    }

    /// What messages between nodes were measured to take, by which algorithms are chosen; none where ranks are on one node, nobody knows, or
    /// somebody has set [who chooses](Communicator::set_policy).
    #[must_use]
    pub fn network_times(&self) -> Option<NetworkTimes> {
        let inner = self.inner.take();
        inner.forecast.as_ref().map(|forecast| forecast.measured)
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
    pub fn report_waits_after(&self, after: Duration) {
        self.inner.take().endpoint.report_waits_after(after);
    }

    /// After how long a wait for other ranks ends with an error that says who has not come
    /// ([`TransportError::GaveUp`](crate::TransportError::GaveUp)); `None`, as at first: never.
    ///
    /// The communicator has stopped then, for all ranks. Each rank may say something else; communicators made of this one inherit it.
    ///
    /// ```
    /// use allhands::threads;
    /// use std::time::Duration;
    ///
    /// let said = threads::run(2, |comm| {
    ///     comm.set_timeout(Some(Duration::from_millis(50)));
    ///     match comm.rank() {
    ///         0 => comm.barrier().unwrap_err().to_string(),
    ///         _ => {
    ///             std::thread::sleep(Duration::from_secs(1));
    ///             comm.barrier().unwrap_err().to_string()
    ///         }
    ///     }
    /// })?;
    /// assert!(said[0].ends_with("in barrier for rank 1, and gave up then"), "{}", said[0]);
    /// assert!(said[1].starts_with("stopped by an error that rank 0 found"), "{}", said[1]);
    /// # Ok::<(), allhands::Error>(())
    /// ```
    pub fn set_timeout(&self, after: Option<Duration>) {
        self.inner.take().endpoint.timeout = after;
    }

    /// Whether this process counts more ranks than cores.
    #[cfg(target_os = "linux")]
    pub(crate) fn is_segment_oversubscribed(&self) -> bool {
        self.inner.take().endpoint.segment().is_oversubscribed()
    }

    /// What this process decides by which protocol takes a long message.
    #[cfg(target_os = "linux")]
    pub(crate) fn protocols(&self) -> Measured {
        choose::measured(self.inner.take().endpoint.segment().arena())
    }

    /// Sets it; `fixed` has this process go by that alone, whatever its messages' receivers find.
    #[cfg(target_os = "linux")]
    pub(crate) fn set_protocols(&self, measured: Measured, fixed: bool) {
        choose::set(
            self.inner.take().endpoint.segment().arena(),
            measured,
            fixed,
        );
    }

    /// Sets what the ranks have agreed on.
    #[cfg(target_os = "linux")]
    pub(crate) fn set_agreed(&self, policy: Policy, oversubscribed: bool) {
        self.inner.take().oversubscribed = oversubscribed;
        self.set_policy(policy);
    }

    /// Runs an operation and waits for its end.
    ///
    /// ```
    /// use allhands::{operation, threads};
    ///
    /// let words = threads::run(3, |comm| {
    ///     let mut word = if comm.rank() == 0 { *b"yes" } else { *b"   " };
    ///     comm.run(operation::broadcast(&mut word, 0).algorithm("k-nomial:radix=3")).map(|()| word)
    /// })?;
    /// for word in words {
    ///     assert_eq!(&word?, b"yes");
    /// }
    /// # Ok::<(), allhands::Error>(())
    /// ```
    ///
    /// # Errors
    /// An [`Error`] says what was wrong, and [whether the communicator stays usable](Error::communicator_usable):
    ///
    /// - What a rank sees alone is found before anything is sent: [`Error::Length`], [`Error::NoSuchRoot`]; an algorithm by name, the
    ///   call's own or the policy's, may be [`Error::NoSuchAlgorithm`], or not serve the call: [`Error::Parameters`],
    ///   [`Error::Unsuitable`], [`Error::Layout`], [`Error::Choice`]. The rank can make the call again, rightly; ranks that made it
    ///   wait for that.
    /// - [`Error::Transport`] comes of ranks that call differently (another collective, root, length, element type, operator or
    ///   algorithm), panic, leave or die. A rank that receives or waits finds it; the others fail in this call or in their next, as one
    ///   that only sends may end well first. [`Error::CountsDiffer`] is what ranks find who tell one another the counts of an irregular
    ///   call.
    /// - [`Error::Arrival`] is a value that arrived and is none of the element type.
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
        unsafe { Inner::begin(&mut inner.endpoint, operation, &stamp, &mut running)? };
        let Running {
            request, cursor, ..
        } = &mut *running;
        // A peer may need one of the calls that are under way before it comes to this one.
        let (endpoint, mut others) = inner.others();
        let ended = endpoint.wait_until(request.call(), |endpoint| {
            progress(endpoint, &mut others);
            endpoint.test(request, &prepared.plan, cursor)
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
                let exchanged = self.exchange_counts(&call, &layout)?;
                self.compare_counts(&call, &layout, &exchanged)?;
                exchanged
            }
            Unknown::Passing(algorithm, shape) => self.pass_counts(&layout, algorithm, shape)?,
        };
        Ok(Checked {
            call,
            layout,
            exchanged,
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
        unsafe { Inner::begin(&mut inner.endpoint, operation, &stamp, &mut running)? };
        let active = Active {
            prepared,
            running: Some(running),
            arrival: Arrival::of(operation),
            result: None,
            end: None,
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
    running.map_or(u64::MAX, |running| running.request.call())
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
