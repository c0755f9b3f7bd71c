//! The methods of the communicator, with their names, defaults and documentation in Python.

use super::{Call, Communicator, Length, Settings, sum};
use crate::element::Element;
use crate::errors::{self, Failure};
use crate::interrupt;
use crate::job::{Counts, Form, Job};
use crate::message::MessageRequest;
use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use std::time::Duration;

#[pymethods]
impl Communicator {
    /// This rank's number, from 0.
    #[getter]
    fn rank(&self) -> usize {
        self.shared.rank
    }

    /// The number of ranks.
    #[getter]
    fn size(&self) -> usize {
        self.shared.size
    }

    fn __repr__(&self) -> String {
        format!(
            "<allhands.Communicator rank {} of {}>",
            self.shared.rank, self.shared.size
        )
    }

    /// After how many seconds a wait for other ranks ends with `Timeout`, which says who has not come; None, as at first: never.
    fn set_timeout(&self, py: Python<'_>, seconds: Option<f64>) {
        let after = seconds.map(|seconds| Duration::from_secs_f64(seconds.clamp(0.0, 1e9)));
        py.detach(|| self.shared.set_timeout(after));
    }

    /// No rank leaves before every rank has entered.
    #[pyo3(signature = (*, algorithm=None, nonblocking=false))]
    fn barrier(
        &self,
        py: Python<'_>,
        algorithm: Option<String>,
        nonblocking: bool,
    ) -> PyResult<Py<PyAny>> {
        let job = Job {
            algorithm,
            ..Job::of_sides(Form::Barrier, Element::U8, None, None)
        };
        let result = py.None();
        self.make(
            py,
            Call {
                job,
                input: None,
                output: None,
                result,
                nonblocking,
            },
        )
    }

    /// The root's array reaches every rank's, which is as long; gives the array.
    #[pyo3(signature = (array, root=0, *, algorithm=None, nonblocking=false))]
    fn broadcast<'py>(
        &self,
        py: Python<'py>,
        array: Bound<'py, PyAny>,
        root: usize,
        algorithm: Option<String>,
        nonblocking: bool,
    ) -> PyResult<Py<PyAny>> {
        let settings = Settings {
            root,
            operator: None,
            counts: Counts::Equal,
            algorithm,
            nonblocking,
        };
        self.call(
            py,
            Form::Broadcast,
            (None, Some(array)),
            Length::Nothing,
            settings,
        )
    }

    /// Block r of the root's input reaches the output of rank r; other ranks give None. The root's output, if there is none, is made.
    #[pyo3(signature = (input=None, output=None, root=0, counts=None, *, algorithm=None, nonblocking=false))]
    #[expect(clippy::too_many_arguments, reason = "they are Python's, by name")]
    fn scatter<'py>(
        &self,
        py: Python<'py>,
        input: Option<Bound<'py, PyAny>>,
        output: Option<Bound<'py, PyAny>>,
        root: usize,
        counts: Option<Vec<usize>>,
        algorithm: Option<String>,
        nonblocking: bool,
    ) -> PyResult<Py<PyAny>> {
        let is_root = self.is_root(root);
        if output.is_none() && !is_root {
            return Err(PyTypeError::new_err(
                "scatter: only the root knows what it sends; right would be an output on every other rank",
            ));
        }
        let own = counts
            .as_ref()
            .and_then(|counts| counts.get(self.shared.rank).copied());
        let length = own.map_or(Length::Part(self.shared.size), Length::Elements);
        let counts = match counts {
            Some(counts) if is_root => Counts::Blocks(counts),
            Some(_) => Counts::Blocks(Vec::new()),
            None => Counts::Equal,
        };
        let settings = Settings {
            root,
            operator: None,
            counts,
            algorithm,
            nonblocking,
        };
        let input = input.filter(|_| is_root);
        self.call(
            py,
            Form::Scatter,
            (input.as_ref(), output),
            length,
            settings,
        )
    }

    /// The input of rank r reaches the root's output as block r; gives the output, on other ranks None.
    ///
    /// With `counts`, rank r gives so many elements; the root's alone matter. With `counts="any"` the root finds out.
    #[pyo3(signature = (input, output=None, root=0, counts=None, *, algorithm=None, nonblocking=false))]
    #[expect(clippy::too_many_arguments, reason = "they are Python's, by name")]
    fn gather<'py>(
        &self,
        py: Python<'py>,
        input: Bound<'py, PyAny>,
        output: Option<Bound<'py, PyAny>>,
        root: usize,
        counts: Option<Bound<'py, PyAny>>,
        algorithm: Option<String>,
        nonblocking: bool,
    ) -> PyResult<Py<PyAny>> {
        let is_root = self.is_root(root);
        let counts = self.counts(py, &input, counts)?;
        let length = match (&counts, is_root) {
            (_, false) => Length::Nothing,
            (Counts::Blocks(counts), _) => Length::Elements(counts.iter().sum()),
            _ => Length::Times(self.shared.size),
        };
        let counts = match counts {
            Counts::Blocks(_) if !is_root => Counts::Blocks(Vec::new()),
            counts => counts,
        };
        let settings = Settings {
            root,
            operator: None,
            counts,
            algorithm,
            nonblocking,
        };
        let output = output.filter(|_| is_root);
        self.call(py, Form::Gather, (Some(&input), output), length, settings)
    }

    /// The input of rank r reaches every rank's output as block r. Without an input each rank's block already stands in the output.
    ///
    /// With `counts`, rank r gives so many elements; with `counts="any"` the ranks find out.
    #[pyo3(signature = (input=None, output=None, counts=None, *, algorithm=None, nonblocking=false))]
    fn allgather<'py>(
        &self,
        py: Python<'py>,
        input: Option<Bound<'py, PyAny>>,
        output: Option<Bound<'py, PyAny>>,
        counts: Option<Bound<'py, PyAny>>,
        algorithm: Option<String>,
        nonblocking: bool,
    ) -> PyResult<Py<PyAny>> {
        let counts = match &input {
            Some(input) => self.counts(py, input, counts)?,
            None => Counts::Equal,
        };
        let length = match &counts {
            Counts::Blocks(counts) => Length::Elements(counts.iter().sum()),
            _ => Length::Times(self.shared.size),
        };
        let settings = Settings {
            root: 0,
            operator: None,
            counts,
            algorithm,
            nonblocking,
        };
        self.call(
            py,
            Form::Allgather,
            (input.as_ref(), output),
            length,
            settings,
        )
    }

    /// Block d of the input of rank s reaches the output of rank d as block s; without an input the output has the blocks, which are replaced.
    ///
    /// With `send_counts`, this rank has so many elements for each rank; `receive_counts` are found out if they are not given.
    #[pyo3(signature = (input=None, output=None, send_counts=None, receive_counts=None, *, algorithm=None, nonblocking=false))]
    #[expect(clippy::too_many_arguments, reason = "they are Python's, by name")]
    fn alltoall<'py>(
        &self,
        py: Python<'py>,
        input: Option<Bound<'py, PyAny>>,
        output: Option<Bound<'py, PyAny>>,
        send_counts: Option<Vec<usize>>,
        receive_counts: Option<Vec<usize>>,
        algorithm: Option<String>,
        nonblocking: bool,
    ) -> PyResult<Py<PyAny>> {
        let counts = match (send_counts, receive_counts) {
            (None, None) => Counts::Equal,
            (Some(send), Some(receive)) => Counts::Exchange(send, receive),
            (Some(send), None) => {
                let receive = py.detach(|| {
                    interrupt::begin();
                    self.shared
                        .lock()
                        .alltoall_values(&send)
                        .map_err(Failure::from)
                });
                let receive = receive.map_err(|failure| errors::raise(py, failure))?;
                Counts::Exchange(send, receive)
            }
            (None, Some(_)) => {
                return Err(PyTypeError::new_err(
                    "alltoall: receive_counts without send_counts; right would be both, or send_counts alone",
                ));
            }
        };
        let length = match &counts {
            Counts::Exchange(_, receive) => Length::Elements(receive.iter().sum()),
            _ => Length::Same,
        };
        let settings = Settings {
            root: 0,
            operator: None,
            counts,
            algorithm,
            nonblocking,
        };
        self.call(
            py,
            Form::Alltoall,
            (input.as_ref(), output),
            length,
            settings,
        )
    }

    /// The reduction of all inputs reaches the root's output; gives it, on other ranks None.
    ///
    /// `op` is 'sum', 'product', 'min', 'max', 'bitwise_and', 'bitwise_or', 'bitwise_xor', 'logical_and', 'logical_or', 'logical_xor', or an
    /// associative function of two numpy arrays that gives a third; one with a true attribute `commutative` may take them in any order.
    #[pyo3(signature = (input, output=None, op=None, root=0, *, algorithm=None, nonblocking=false))]
    #[expect(clippy::too_many_arguments, reason = "they are Python's, by name")]
    fn reduce<'py>(
        &self,
        py: Python<'py>,
        input: Bound<'py, PyAny>,
        output: Option<Bound<'py, PyAny>>,
        op: Option<Bound<'py, PyAny>>,
        root: usize,
        algorithm: Option<String>,
        nonblocking: bool,
    ) -> PyResult<Py<PyAny>> {
        let op = op.unwrap_or_else(|| sum(py));
        let counts = Counts::Equal;
        let settings = Settings {
            root,
            operator: Some(&op),
            counts,
            algorithm,
            nonblocking,
        };
        let length = if self.is_root(root) {
            Length::Same
        } else {
            Length::Nothing
        };
        let output = output.filter(|_| self.is_root(root));
        self.call(py, Form::Reduce, (Some(&input), output), length, settings)
    }

    /// The reduction of all inputs reaches every output. With the same array twice the result replaces the input, on all ranks alike.
    #[pyo3(signature = (input, output=None, op=None, *, algorithm=None, nonblocking=false))]
    fn allreduce<'py>(
        &self,
        py: Python<'py>,
        input: Bound<'py, PyAny>,
        output: Option<Bound<'py, PyAny>>,
        op: Option<Bound<'py, PyAny>>,
        algorithm: Option<String>,
        nonblocking: bool,
    ) -> PyResult<Py<PyAny>> {
        self.vector(
            py,
            Form::Allreduce,
            (input, output),
            op,
            (algorithm, nonblocking),
        )
    }

    /// Rank r gets the reduction of the inputs of ranks 0 to r.
    #[pyo3(signature = (input, output=None, op=None, *, algorithm=None, nonblocking=false))]
    fn scan<'py>(
        &self,
        py: Python<'py>,
        input: Bound<'py, PyAny>,
        output: Option<Bound<'py, PyAny>>,
        op: Option<Bound<'py, PyAny>>,
        algorithm: Option<String>,
        nonblocking: bool,
    ) -> PyResult<Py<PyAny>> {
        self.vector(
            py,
            Form::Scan,
            (input, output),
            op,
            (algorithm, nonblocking),
        )
    }

    /// Rank r gets the reduction of the inputs of ranks 0 to r - 1; on rank 0 the output stays as it is.
    #[pyo3(signature = (input, output=None, op=None, *, algorithm=None, nonblocking=false))]
    fn exscan<'py>(
        &self,
        py: Python<'py>,
        input: Bound<'py, PyAny>,
        output: Option<Bound<'py, PyAny>>,
        op: Option<Bound<'py, PyAny>>,
        algorithm: Option<String>,
        nonblocking: bool,
    ) -> PyResult<Py<PyAny>> {
        self.vector(
            py,
            Form::Exscan,
            (input, output),
            op,
            (algorithm, nonblocking),
        )
    }

    /// Block r of the reduction of all inputs reaches the output of rank r. With `counts`, which all ranks give, that of rank r has so many elements.
    #[pyo3(signature = (input, output=None, op=None, counts=None, *, algorithm=None, nonblocking=false))]
    #[expect(clippy::too_many_arguments, reason = "they are Python's, by name")]
    fn reduce_scatter<'py>(
        &self,
        py: Python<'py>,
        input: Bound<'py, PyAny>,
        output: Option<Bound<'py, PyAny>>,
        op: Option<Bound<'py, PyAny>>,
        counts: Option<Vec<usize>>,
        algorithm: Option<String>,
        nonblocking: bool,
    ) -> PyResult<Py<PyAny>> {
        let op = op.unwrap_or_else(|| sum(py));
        let own = counts
            .as_ref()
            .and_then(|counts| counts.get(self.shared.rank).copied());
        let length = own.map_or(Length::Part(self.shared.size), Length::Elements);
        let counts = counts.map_or(Counts::Equal, Counts::Blocks);
        let settings = Settings {
            root: 0,
            operator: Some(&op),
            counts,
            algorithm,
            nonblocking,
        };
        self.call(
            py,
            Form::ReduceScatter,
            (Some(&input), output),
            length,
            settings,
        )
    }

    /// Sends an array to rank `to`.
    #[pyo3(signature = (array, to, tag=0, *, timeout=None))]
    fn send(
        &self,
        py: Python<'_>,
        array: &Bound<'_, PyAny>,
        to: usize,
        tag: u32,
        timeout: Option<f64>,
    ) -> PyResult<()> {
        self.begin_send(array, (to, tag))?.wait(py, timeout)?;
        Ok(())
    }

    /// Receives from rank `source`, or any, what has this tag, or any, to the start of an array; gives the source, the tag and how many elements
    /// have come.
    #[pyo3(signature = (array, source=None, tag=None, *, timeout=None))]
    fn recv(
        &self,
        py: Python<'_>,
        array: &Bound<'_, PyAny>,
        source: Option<usize>,
        tag: Option<u32>,
        timeout: Option<f64>,
    ) -> PyResult<Option<(usize, u32, usize)>> {
        self.begin_receive(array, (source, tag))?.wait(py, timeout)
    }

    /// Begins to send an array, which must stay as it is until the request has been waited for.
    #[pyo3(signature = (array, to, tag=0))]
    fn isend(&self, array: &Bound<'_, PyAny>, to: usize, tag: u32) -> PyResult<MessageRequest> {
        self.begin_send(array, (to, tag))
    }

    /// Begins to receive an array, as `recv` does.
    #[pyo3(signature = (array, source=None, tag=None))]
    fn irecv(
        &self,
        array: &Bound<'_, PyAny>,
        source: Option<usize>,
        tag: Option<u32>,
    ) -> PyResult<MessageRequest> {
        self.begin_receive(array, (source, tag))
    }

    /// Ends this rank's waits in calls of this communicator, on whatever thread they are, with `Interrupted`; every further call fails, and other
    /// ranks hear that this one has given up.
    fn abort(&self) {
        self.shared.abort();
    }

    /// A communicator of the same ranks whose calls have nothing to do with this one's.
    fn dup(&self, py: Python<'_>) -> PyResult<Communicator> {
        let new = py.detach(|| self.shared.lock().dup().map_err(Failure::from));
        new.map(Communicator::new)
            .map_err(|failure| errors::raise(py, failure))
    }

    /// A communicator of the ranks that give the same colour, ordered by key and then by rank; None for a rank whose colour is None.
    #[pyo3(signature = (colour, key=0))]
    fn split(
        &self,
        py: Python<'_>,
        colour: Option<u32>,
        key: u64,
    ) -> PyResult<Option<Communicator>> {
        let new = py.detach(|| self.shared.lock().split(colour, key).map_err(Failure::from));
        let new = new.map_err(|failure| errors::raise(py, failure))?;
        Ok(new.map(Communicator::new))
    }

    /// A call of memory by its addresses, for adapters to other packages: `allhands._types` has the numbers of forms, elements and operators.
    ///
    /// What is kept stays until the call has ended. The addresses must be those of so many elements each, aligned, apart, or in place
    /// without an input; nothing checks that.
    #[pyo3(signature = (form, element, input, output, root, operator, kept, nonblocking))]
    #[expect(
        clippy::too_many_arguments,
        reason = "adapters hand over numbers alone"
    )]
    fn _call(
        &self,
        py: Python<'_>,
        form: usize,
        element: Element,
        input: Option<(usize, usize)>,
        output: Option<(usize, usize)>,
        root: usize,
        operator: Option<usize>,
        kept: Py<PyAny>,
        nonblocking: bool,
    ) -> PyResult<Py<PyAny>> {
        let sides = (input, output);
        self.call_at(
            py,
            (form, element),
            sides,
            (root, operator),
            (kept, nonblocking),
        )
    }
}
