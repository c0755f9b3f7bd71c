//! The communicator as Python sees it: [`methods`], and here how a call of arrays becomes one of the library.

mod adapters;
mod messages;
mod methods;

use crate::errors::{self, Failure};
use crate::interrupt;
use crate::job::{Counts, Form, Job, Side};
use crate::memory::{Memory, Use};
use crate::operator::Operator;
use crate::request::{Pending, Request};
use allhands::interposition::Interposition;
use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::intern;
use pyo3::prelude::*;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

/// A communicator of the library, which one thread at a time uses; nobody waits for it with the interpreter's lock.
pub(crate) struct Shared {
    comm: Mutex<allhands::Communicator>,
    rank: usize,
    size: usize,
    aborted: Arc<AtomicBool>,
    /// Nanoseconds; u64::MAX for none.
    timeout_ns: AtomicU64,
    progresses_by_itself: bool,
}

impl Shared {
    /// Has its waits hear of Ctrl-C.
    pub(crate) fn new(comm: allhands::Communicator) -> Arc<Shared> {
        interrupt::watch();
        comm.set_interrupt(Some(interrupt::is_wait_interrupted));
        let (rank, size) = (comm.rank(), comm.size());
        let progresses_by_itself = comm.progresses_by_itself();
        let comm = Mutex::new(comm);
        Arc::new(Shared {
            comm,
            rank,
            size,
            aborted: Arc::default(),
            timeout_ns: AtomicU64::new(u64::MAX),
            progresses_by_itself,
        })
    }

    /// Whether a thread of the library's takes calls further.
    pub(crate) fn progresses_by_itself(&self) -> bool {
        self.progresses_by_itself
    }

    /// After how long waits end with an error.
    pub(crate) fn timeout(&self) -> Option<Duration> {
        let ns = self.timeout_ns.load(Ordering::Relaxed);
        (ns != u64::MAX).then_some(Duration::from_nanos(ns))
    }

    pub(crate) fn set_timeout(&self, after: Option<Duration>) {
        let ns = after.map_or(u64::MAX, |after| after.as_nanos() as u64);
        self.timeout_ns.store(ns, Ordering::Relaxed);
        self.lock().set_timeout(after);
    }

    /// Has whoever waits in a call give up, on whatever thread.
    pub(crate) fn abort(&self) {
        self.aborted.store(true, Ordering::Relaxed);
    }

    pub(crate) fn is_aborted(&self) -> bool {
        self.aborted.load(Ordering::Relaxed)
    }

    pub(crate) fn rank(&self) -> usize {
        self.rank
    }

    pub(crate) fn size(&self) -> usize {
        self.size
    }

    pub(crate) fn lock(&self) -> MutexGuard<'_, allhands::Communicator> {
        interrupt::makes_calls_of(&self.aborted);
        self.comm.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The ranks that call collectives together, as one of them sees them.
///
/// All ranks make the same calls in the same order. Arrays are anything with the buffer protocol, DLPack or the array interface on the
/// processor's memory: numpy's, PyTorch's, JAX's. Those that are written must stand in memory row by row; of others that are read a packed copy
/// is made. Without an output one like the input is made. `nonblocking=True` gives a `Request`.
#[pyclass(frozen, module = "allhands")]
pub(crate) struct Communicator {
    shared: Arc<Shared>,
}

/// A call and what keeps its memory.
struct Call {
    job: Job,
    input: Option<Memory>,
    output: Option<Memory>,
    result: Py<PyAny>,
    nonblocking: bool,
}

/// What most calls have besides their arrays.
struct Settings<'a, 'py> {
    root: usize,
    operator: Option<&'a Bound<'py, PyAny>>,
    counts: Counts,
    algorithm: Option<String>,
    nonblocking: bool,
}

/// How long an output is that is made.
#[derive(Clone, Copy)]
enum Length {
    /// As long as the input.
    Same,
    /// So many times as long, with a first axis for them.
    Times(usize),
    /// A block of so many.
    Part(usize),
    /// So many elements in a row.
    Elements(usize),
    /// There is none.
    Nothing,
}

impl Communicator {
    pub(crate) fn new(comm: allhands::Communicator) -> Communicator {
        Communicator::of(Shared::new(comm))
    }

    pub(crate) fn of(shared: Arc<Shared>) -> Communicator {
        Communicator { shared }
    }

    pub(crate) fn shared(&self) -> Arc<Shared> {
        Arc::clone(&self.shared)
    }

    /// Makes a call of arrays; without an input it is in place.
    fn call<'py>(
        &self,
        py: Python<'py>,
        form: Form,
        (input, output): (Option<&Bound<'py, PyAny>>, Option<Bound<'py, PyAny>>),
        length: Length,
        settings: Settings<'_, 'py>,
    ) -> PyResult<Py<PyAny>> {
        let memory = input.map(|input| Memory::of(input, "the input", Use::Read));
        let memory = memory.transpose()?;
        let output = match (output, input) {
            (Some(output), _) => Some(output),
            (None, Some(input)) => made(input, length)?,
            (None, None) => None,
        };
        let result = output
            .as_ref()
            .map_or_else(|| py.None(), |output| output.clone().unbind());
        let output = output.map(|output| Memory::of(&output, "the output", Use::Write));
        let output = output.transpose()?;
        let (input, is_in_place) = apart(form, memory, output.as_ref())?;
        let Some(element) = input
            .as_ref()
            .or(output.as_ref())
            .map(|memory| memory.element)
        else {
            return Err(PyTypeError::new_err(
                "neither an input nor an output was given",
            ));
        };
        let side = |memory: &Option<Memory>| {
            memory.as_ref().map_or(Side::NONE, |memory| Side {
                start: memory.start,
                elements: memory.elements,
            })
        };
        let operator = settings
            .operator
            .map(|given| Operator::of(given, element))
            .transpose()?;
        let job = Job {
            form,
            element,
            input: side(&input),
            output: side(&output),
            is_in_place,
            root: settings.root,
            counts: settings.counts,
            operator,
            algorithm: settings.algorithm,
        };
        let nonblocking = settings.nonblocking;
        self.make(
            py,
            Call {
                job,
                input,
                output,
                result,
                nonblocking,
            },
        )
    }

    /// Makes a call, or starts it.
    fn make(&self, py: Python<'_>, call: Call) -> PyResult<Py<PyAny>> {
        if call.nonblocking {
            let Call {
                job,
                input,
                output,
                result,
                ..
            } = call;
            let kept = input.into_iter().chain(output).collect();
            return self.start(py, job, (kept, Vec::new()), result);
        }
        let job = &call.job;
        let ended = py.detach(|| {
            interrupt::begin();
            // SAFETY: both sides are memory of arrays that are kept until this function returns, aligned for their elements, and apart; that
            // nobody else touches them meanwhile is for the program to see to, as with all that releases the interpreter's lock.
            let operation = unsafe { job.operation()? };
            self.shared.lock().run(operation).map_err(Failure::from)
        });
        ended.map_err(|failure| errors::raise(py, failure))?;
        if let Some(Operator::Function(function)) = &job.operator
            && let Some(raised) = function.take_raised()
        {
            return Err(raised);
        }
        Ok(call.result)
    }

    /// Starts a call; gives its request.
    fn start(
        &self,
        py: Python<'_>,
        job: Job,
        (kept, objects): (Vec<Memory>, Vec<Py<PyAny>>),
        result: Py<PyAny>,
    ) -> PyResult<Py<PyAny>> {
        let job = Box::new(job);
        let number = py.detach(|| {
            interrupt::begin();
            // SAFETY: as in `make`; the request keeps the memory, and the job with its operator, until the call has ended.
            let operation = unsafe { job.operation()? };
            // SAFETY: likewise.
            unsafe { Interposition::begin(&*self.shared.lock(), &operation) }.map_err(Failure::from)
        });
        let number = number.map_err(|failure| errors::raise(py, failure))?;
        let pending = Pending {
            number,
            job,
            kept,
            objects,
            result,
        };
        let request = Request::new(Arc::clone(&self.shared), pending);
        Ok(Py::new(py, request)?.into_any())
    }

    /// What every rank gives for itself, of all ranks.
    fn of_all(&self, py: Python<'_>, own: usize) -> PyResult<Vec<usize>> {
        let all = py.detach(|| {
            interrupt::begin();
            self.shared
                .lock()
                .allgather_value(own)
                .map_err(Failure::from)
        });
        all.map_err(|failure| errors::raise(py, failure))
    }

    fn is_root(&self, root: usize) -> bool {
        self.shared.rank == root
    }
}

/// An array for an output that is not given.
fn made<'py>(input: &Bound<'py, PyAny>, length: Length) -> PyResult<Option<Bound<'py, PyAny>>> {
    let py = input.py();
    let arrays = || py.import(intern!(py, "allhands._arrays"));
    let made = match length {
        Length::Nothing => return Ok(None),
        Length::Same => arrays()?.call_method1(intern!(py, "like"), (input,))?,
        Length::Times(blocks) => arrays()?.call_method1("blocks_like", (input, blocks))?,
        Length::Part(blocks) => arrays()?.call_method1("part_like", (input, blocks))?,
        Length::Elements(elements) => arrays()?.call_method1("row_like", (input, elements))?,
    };
    Ok(Some(made))
}

/// The input, unless it is the output: then the call is in place.
fn apart(
    form: Form,
    input: Option<Memory>,
    output: Option<&Memory>,
) -> PyResult<(Option<Memory>, bool)> {
    let Some(output) = output else {
        return Ok((input, false));
    };
    let Some(input) = input else {
        // What the root of a scatter sends only it has.
        return Ok((None, !matches!(form, Form::Broadcast | Form::Scatter)));
    };
    if input.element != output.element {
        return Err(PyTypeError::new_err(format!(
            "the input has {}, the output {}; right would be the same type",
            input.element.name(),
            output.element.name()
        )));
    }
    let range = |memory: &Memory| {
        let start = memory.start.addr();
        start..start + memory.elements * memory.element.bytes()
    };
    let (one, other) = (range(&input), range(output));
    if one == other && !one.is_empty() {
        return Ok((None, true));
    }
    if one.start < other.end && other.start < one.end {
        return Err(PyValueError::new_err(
            "the input and the output overlap; right would be the same array twice, which is in place, or two that are apart",
        ));
    }
    Ok((Some(input), false))
}

impl Communicator {
    /// A call in which all ranks have vectors of one length.
    fn vector<'py>(
        &self,
        py: Python<'py>,
        form: Form,
        (input, output): (Bound<'py, PyAny>, Option<Bound<'py, PyAny>>),
        op: Option<Bound<'py, PyAny>>,
        (algorithm, nonblocking): (Option<String>, bool),
    ) -> PyResult<Py<PyAny>> {
        let op = op.unwrap_or_else(|| sum(py));
        let counts = Counts::Equal;
        let settings = Settings {
            root: 0,
            operator: Some(&op),
            counts,
            algorithm,
            nonblocking,
        };
        self.call(py, form, (Some(&input), output), Length::Same, settings)
    }

    /// Counts of blocks as they are given: numbers, or the word that they are to be found out.
    fn counts(
        &self,
        py: Python<'_>,
        input: &Bound<'_, PyAny>,
        given: Option<Bound<'_, PyAny>>,
    ) -> PyResult<Counts> {
        let Some(given) = given else {
            return Ok(Counts::Equal);
        };
        match given.extract::<&str>() {
            Ok("any") => {
                let own = Memory::of(input, "the input", Use::Read)?.elements;
                self.of_all(py, own).map(Counts::Blocks)
            }
            Ok(word) => Err(PyValueError::new_err(format!(
                "counts is '{word}'; right would be a number of elements for each rank, 'any', or None"
            ))),
            Err(_) => Ok(Counts::Blocks(given.extract()?)),
        }
    }
}

/// The operator of reductions that name none.
fn sum(py: Python<'_>) -> Bound<'_, PyAny> {
    intern!(py, "sum").clone().into_any()
}
