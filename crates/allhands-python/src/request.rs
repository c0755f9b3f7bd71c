//! Requests: calls that go on while the program does something else.

use crate::communicator::Shared;
use crate::errors::{self, Failure};
use crate::interrupt;
use crate::job::Job;
use crate::memory::Memory;
use crate::operator::Operator;
use crate::patience;
use allhands::interposition::Interposition;
use pyo3::prelude::*;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

/// A call that was started with `nonblocking=True`.
///
/// `wait()` gives what the call gives, and `await` does so in a coroutine. A request that is dropped waits for its call.
#[pyclass(frozen, module = "allhands")]
pub(crate) struct Request {
    shared: Arc<Shared>,
    state: Mutex<State>,
}

enum State {
    UnderWay(Pending),
    Ended(Py<PyAny>),
    Failed,
}

/// What a call that is under way needs.
pub(crate) struct Pending {
    pub(crate) number: usize,
    pub(crate) job: Box<Job>,
    /// What keeps its memory.
    #[expect(dead_code, reason = "it is there to be dropped")]
    pub(crate) kept: Vec<Memory>,
    #[expect(dead_code, reason = "likewise")]
    pub(crate) objects: Vec<Py<PyAny>>,
    /// What the call gives.
    pub(crate) result: Py<PyAny>,
}

impl Request {
    pub(crate) fn new(shared: Arc<Shared>, pending: Pending) -> Request {
        Request {
            shared,
            state: Mutex::new(State::UnderWay(pending)),
        }
    }

    /// Ends the call, which is over, or whose time is up after so long a wait.
    fn end(&self, py: Python<'_>, waited: Duration) -> PyResult<Py<PyAny>> {
        py.detach(|| {
            let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
            let State::UnderWay(pending) = &*state else {
                return Ok(());
            };
            let ended = self.shared.lock().end_after(pending.number, waited);
            let State::UnderWay(pending) = std::mem::replace(&mut *state, State::Failed) else {
                return Ok(());
            };
            ended.map_err(Failure::from)?;
            *state = State::Ended(pending.result);
            if let Some(Operator::Function(function)) = &pending.job.operator
                && let Some(raised) = function.take_raised()
            {
                return Err(Failure::Raised(raised));
            }
            Ok(())
        })
        .map_err(|failure| errors::raise(py, failure))?;
        match &*self.state.lock().unwrap_or_else(PoisonError::into_inner) {
            State::Ended(result) => Ok(result.clone_ref(py)),
            State::UnderWay(_) | State::Failed => Err(pyo3::exceptions::PyRuntimeError::new_err(
                "the call has failed, as an earlier wait has said",
            )),
        }
    }

    fn has_ended(&self) -> bool {
        match &*self.state.lock().unwrap_or_else(PoisonError::into_inner) {
            State::UnderWay(pending) => self.shared.lock().has_ended(pending.number),
            State::Ended(_) | State::Failed => true,
        }
    }
}

#[pymethods]
impl Request {
    /// Whether the call has ended, well or not; takes all calls of its communicator further.
    fn test(&self, py: Python<'_>) -> bool {
        py.detach(|| self.has_ended())
    }

    /// Waits for the end of the call, and gives what it gives.
    ///
    /// With `timeout`, in seconds, it raises `TimeoutError` after so long; the call goes on then.
    #[pyo3(signature = (timeout=None))]
    fn wait(&self, py: Python<'_>, timeout: Option<f64>) -> PyResult<Py<PyAny>> {
        let since = Instant::now();
        let own = timeout.map(|seconds| Duration::from_secs_f64(seconds.clamp(0.0, 1e9)));
        let limit = own.into_iter().chain(self.shared.timeout()).min();
        let progresses = self.shared.progresses_by_itself();
        let look = || {
            let has_ended = || self.has_ended();
            let is_to_stop = || self.shared.is_aborted() || interrupt::is_interrupted();
            patience::look((since, limit), progresses, has_ended, is_to_stop)
        };
        interrupt::begin();
        if !progresses && timeout.is_none() {
            // Nobody else takes the call further, and this sleeps where others wake it.
            return self.end(py, Duration::ZERO);
        }
        while !py.detach(look) {
            let waited = since.elapsed();
            if self
                .shared
                .timeout()
                .is_some_and(|timeout| waited >= timeout)
                || self.shared.is_aborted()
                || interrupt::is_interrupted()
            {
                break;
            }
            if own.is_some_and(|own| waited >= own) {
                let says = format!("the call has not ended within {} s", waited.as_secs_f64());
                return Err(pyo3::exceptions::PyTimeoutError::new_err(says));
            }
            py.check_signals()?;
        }
        // It has ended, or this names whom it waits for.
        self.end(py, since.elapsed())
    }

    fn __await__<'py>(this: &Bound<'py, Self>) -> PyResult<Bound<'py, PyAny>> {
        let py = this.py();
        py.import("allhands._arrays")?
            .getattr("awaited")?
            .call1((this,))
    }
}

impl Drop for Request {
    fn drop(&mut self) {
        let state = self.state.get_mut().unwrap_or_else(PoisonError::into_inner);
        if let State::UnderWay(pending) = state {
            // The call may reach into the memory that is kept; its error comes again from the next call.
            let number = pending.number;
            Python::attach(|py| py.detach(|| drop(self.shared.lock().end(number))));
        }
    }
}
