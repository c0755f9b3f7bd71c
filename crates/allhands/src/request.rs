//! Requests: calls that have been started and not yet waited for.

use crate::communicator::Communicator;
use crate::error::Error;
use crate::message_request::Pending;
use crate::operation::Operation;
use std::cell::RefCell;
use std::marker::PhantomData;
use std::mem::ManuallyDrop;

/// A nonblocking call that owns its buffers until [`Request::wait`] gives them back.
///
/// A request that is dropped waits for its call. One that is leaked leaks its buffers too, so no peer ever
/// touches freed memory.
#[must_use = "a request does nothing for you until it is waited for"]
pub struct Request<'c, B: 'static> {
    communicator: &'c Communicator,
    number: usize,
    /// From `Box::into_raw`: the call's addresses stay good while the box is not touched.
    buffers: *mut B,
    ended: bool,
}

impl<B> Request<'_, B> {
    /// Whether the call has ended, well or not; takes all calls of the communicator further.
    ///
    /// ```
    /// use allhands::{Sum, operation, threads};
    ///
    /// let sums = threads::run(2, |comm| {
    ///     let mut request = comm.start([comm.rank() + 1], |buffer| operation::allreduce_in_place(buffer, &Sum))?;
    ///     while !request.test() {
    ///         // … a piece of something else …
    ///         std::thread::yield_now();
    ///     }
    ///     request.wait()
    /// })?;
    /// for sum in sums {
    ///     assert_eq!(sum?, [3]);
    /// }
    /// # Ok::<(), allhands::Error>(())
    /// ```
    pub fn test(&mut self) -> bool {
        self.communicator.test_active(self.number)
    }

    /// Waits for the end of the call and gives the buffers back, as [`Communicator::start`] shows.
    ///
    /// # Errors
    /// What stopped the call, of the errors of [`Communicator::run`] those that come of other ranks and of what arrives; the others are
    /// [`Communicator::start`]'s. No peer touches the buffers any more; they are dropped.
    pub fn wait(mut self) -> Result<B, Error> {
        self.ended = true;
        let ended = self.communicator.wait_active(self.number);
        // SAFETY: from `Box::into_raw` in `start`, and taken back once: `ended` tells `drop`. The call has ended, so
        // nobody else has its addresses.
        let buffers = unsafe { Box::from_raw(self.buffers) };
        ended.map(|()| *buffers)
    }
}

impl<B> Drop for Request<'_, B> {
    fn drop(&mut self) {
        if !self.ended {
            // Whoever drops a request has no use for its error; the next call reports it.
            let _ = self.communicator.wait_active(self.number);
            // SAFETY: as in `wait`, which has not run.
            drop(unsafe { Box::from_raw(self.buffers) });
        }
    }
}

/// A call that is planned once and started many times, with buffers of its own; [`Communicator::persistent`] makes one.
pub struct Persistent<'c, B: 'static, F> {
    communicator: &'c Communicator,
    describe: F,
    buffers: *mut B,
    started: Option<usize>,
}

impl<B, F> Persistent<'_, B, F>
where
    F: for<'b> Fn(&'b mut B) -> Operation<'b>,
{
    /// The buffers, between two calls; waits for the call that is under way, if any.
    ///
    /// # Errors
    /// What stopped that call.
    pub fn buffers(&mut self) -> Result<&mut B, Error> {
        self.wait()?;
        // SAFETY: from `Box::into_raw`, freed only in `drop`; no call is under way, so this is the one user.
        Ok(unsafe { &mut *self.buffers })
    }

    /// Starts the call once more; waits for the one before, if it is under way.
    ///
    /// # Errors
    /// What stopped the one before; otherwise as [`Communicator::start`].
    pub fn start(&mut self) -> Result<(), Error> {
        self.wait()?;
        // SAFETY: as in `buffers`.
        let operation = (self.describe)(unsafe { &mut *self.buffers });
        // SAFETY: the buffers are this object's until the call has ended: `buffers`, `wait` and `drop` wait for it, and a
        // leaked object leaks them. An operator that the operation borrows lives in them or for ever.
        self.started = Some(unsafe { self.communicator.begin(&operation)? });
        Ok(())
    }

    /// Whether no call is under way; takes all calls of the communicator further.
    pub fn test(&mut self) -> bool {
        self.started
            .is_none_or(|number| self.communicator.test_active(number))
    }
}

impl<B, F> Persistent<'_, B, F> {
    /// Waits for the end of the call that was started last; returns at once if none was, or it was waited for.
    ///
    /// # Errors
    /// What stopped the call, as [`Request::wait`] says.
    pub fn wait(&mut self) -> Result<(), Error> {
        self.started
            .take()
            .map_or(Ok(()), |number| self.communicator.wait_active(number))
    }
}

impl<B, F> Drop for Persistent<'_, B, F> {
    fn drop(&mut self) {
        // As for a request: the next call reports the error.
        let _ = self.wait();
        // SAFETY: from `Box::into_raw`, and no call is under way.
        drop(unsafe { Box::from_raw(self.buffers) });
    }
}

/// Starts calls on borrowed buffers; see [`Communicator::scope`].
pub struct Scope<'scope, 'env: 'scope> {
    pub(crate) communicator: &'scope Communicator,
    started: RefCell<Vec<usize>>,
    /// Messages, until they are waited for; all are when the scope ends.
    pub(crate) messages: RefCell<Vec<Option<ManuallyDrop<Pending<'scope>>>>>,
    environment: PhantomData<&'env mut &'env ()>,
}

impl<'scope, 'env> Scope<'scope, 'env> {
    /// Starts a call on buffers that are borrowed from outside of the scope; it has ended when the scope has.
    ///
    /// # Errors
    /// As [`Communicator::start`].
    pub fn start(&'scope self, operation: Operation<'env>) -> Result<(), Error> {
        // SAFETY: buffers and operator are borrowed for 'env, which outlives the scope, and the scope waits for every
        // call before `Communicator::scope` returns or unwinds.
        let number = unsafe { self.communicator.begin(&operation)? };
        self.started.borrow_mut().push(number);
        Ok(())
    }

    /// Whether every call and message that was started here has ended, well or not; takes them further.
    pub fn test(&'scope self) -> bool {
        let (started, messages) = (self.started.borrow(), self.messages.borrow());
        let mut started = started.iter();
        started.all(|number| self.communicator.test_active(*number))
            && messages.iter().flatten().all(|pending| pending.test())
    }

    /// Waits for every call and message that was started here.
    fn finish(&self) -> Result<(), Error> {
        let mut all = self.finish_messages();
        for number in self.started.take() {
            let ended = self.communicator.wait_active(number);
            all = all.and(ended);
        }
        all
    }
}

impl Communicator {
    /// Starts a call on buffers that move in and come back from [`Request::wait`].
    ///
    /// ```
    /// use allhands::{Sum, operation, threads};
    ///
    /// threads::run(3, |comm| {
    ///     let buffers = (vec![comm.rank() as i64; 4], vec![0; 4]);
    ///     let request = comm.start(buffers, |(input, output)| operation::allreduce(input, output, &Sum))?;
    ///     // … something else in the meantime …
    ///     let (_, output) = request.wait()?;
    ///     assert_eq!(output, [3, 3, 3, 3]);
    ///     Ok::<(), allhands::Error>(())
    /// })?
    /// .into_iter()
    /// .collect::<Result<(), _>>()?;
    /// # Ok::<(), allhands::Error>(())
    /// ```
    ///
    /// All ranks make their calls in the same order, started and blocking ones alike. Buffers have the lengths that the function in
    /// [`operation`](crate::operation) says.
    ///
    /// An irregular call whose algorithm needs all counts exchanges them here, and so waits for the other ranks.
    ///
    /// # Errors
    /// What a rank sees alone in [`Communicator::run`], such as wrong lengths, what came of such an exchange, and what has stopped the
    /// communicator before; the buffers are then dropped. All else comes from [`Request::wait`].
    pub fn start<B: 'static>(
        &self,
        buffers: B,
        describe: impl for<'b> FnOnce(&'b mut B) -> Operation<'b>,
    ) -> Result<Request<'_, B>, Error> {
        let buffers = Box::into_raw(Box::new(buffers));
        // SAFETY: a fresh box, used by nobody else.
        let operation = describe(unsafe { &mut *buffers });
        // SAFETY: the box is freed only after the call has ended (`wait`, `drop`), or never. An operator that the
        // operation borrows lives in the box or for ever, as `describe` takes any lifetime.
        match unsafe { self.begin(&operation) } {
            Ok(number) => Ok(Request {
                communicator: self,
                number,
                buffers,
                ended: false,
            }),
            Err(error) => {
                // SAFETY: from `Box::into_raw` above; no call began.
                drop(unsafe { Box::from_raw(buffers) });
                Err(error)
            }
        }
    }

    /// A call on its own buffers that is planned once and started many times.
    ///
    /// Nothing is checked or sent before [`Persistent::start`], which asks `describe` for the operation each time.
    ///
    /// ```
    /// use allhands::{Max, operation, threads};
    ///
    /// threads::run(2, |comm| {
    ///     let mut maximum = comm.persistent([0u32; 2], |buffer| operation::allreduce_in_place(buffer, &Max));
    ///     for round in 0..3 {
    ///         *maximum.buffers()? = [round, comm.rank() as u32];
    ///         maximum.start()?;
    ///         maximum.wait()?;
    ///         assert_eq!(*maximum.buffers()?, [round, 1]);
    ///     }
    ///     Ok::<(), allhands::Error>(())
    /// })?
    /// .into_iter()
    /// .collect::<Result<(), _>>()?;
    /// # Ok::<(), allhands::Error>(())
    /// ```
    pub fn persistent<B: 'static, F>(&self, buffers: B, describe: F) -> Persistent<'_, B, F>
    where
        F: for<'b> Fn(&'b mut B) -> Operation<'b>,
    {
        Persistent {
            communicator: self,
            describe,
            buffers: Box::into_raw(Box::new(buffers)),
            started: None,
        }
    }

    /// Runs `body`, in which calls and messages on borrowed buffers may be started; returns when all of them have ended.
    ///
    /// ```
    /// use allhands::{Sum, operation, threads};
    ///
    /// threads::run(2, |comm| {
    ///     let (input, mut sums, mut copies) = ([1u8, 2], [0u8; 2], [0u8; 4]);
    ///     comm.scope(|scope| {
    ///         scope.start(operation::allreduce(&input, &mut sums, &Sum))?;
    ///         scope.start(operation::allgather(&input, &mut copies))
    ///     })??;
    ///     assert_eq!((sums, copies), ([2, 4], [1, 2, 1, 2]));
    ///     Ok::<(), allhands::Error>(())
    /// })?
    /// .into_iter()
    /// .collect::<Result<(), _>>()?;
    /// # Ok::<(), allhands::Error>(())
    /// ```
    ///
    /// # Errors
    /// The first error with which a call or message that was started in the body, and not waited for there, ended. What [`Scope::start`] itself returned is the body's to
    /// pass on.
    pub fn scope<'env, R>(
        &self,
        body: impl for<'scope> FnOnce(&'scope Scope<'scope, 'env>) -> R,
    ) -> Result<R, Error> {
        /// Waits for the calls even if the body panics.
        struct Finish<'a, 'scope, 'env>(&'a Scope<'scope, 'env>);
        impl Drop for Finish<'_, '_, '_> {
            fn drop(&mut self) {
                // Only after a panic is there still something to wait for, and then nobody to hear of an error.
                let _ = self.0.finish();
            }
        }
        let scope = Scope {
            communicator: self,
            started: RefCell::default(),
            messages: RefCell::default(),
            environment: PhantomData,
        };
        let finish = Finish(&scope);
        let value = body(&scope);
        let ended = scope.finish();
        drop(finish);
        ended.map(|()| value)
    }
}
