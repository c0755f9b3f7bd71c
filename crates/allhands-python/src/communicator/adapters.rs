//! Calls of memory by its address, for what Python has adapted to other packages.

use super::{Call, Communicator};
use crate::element::Element;
use crate::job::{Form, Job, Side};
use crate::operator::{BuiltIn, Operator};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;

/// Where elements are, and how many.
type Given = Option<(usize, usize)>;

impl Communicator {
    /// Makes a call, as `Communicator._call` says.
    pub(super) fn call_at(
        &self,
        py: Python<'_>,
        (form, element): (usize, Element),
        (input, output): (Given, Given),
        (root, operator): (usize, Option<usize>),
        (kept, nonblocking): (Py<PyAny>, bool),
    ) -> PyResult<Py<PyAny>> {
        let form = Form::of_number(form)
            .ok_or_else(|| PyValueError::new_err(format!("there is no form {form}")))?;
        let side = |(start, elements)| Side {
            start: std::ptr::with_exposed_provenance_mut(start),
            elements,
        };
        let operator = operator
            .map(BuiltIn::of_number)
            .transpose()?
            .map(Operator::BuiltIn);
        let job = Job {
            root,
            operator,
            ..Job::of_sides(form, element, input.map(side), output.map(side))
        };
        let result = py.None();
        if nonblocking {
            return self.start(py, job, (Vec::new(), vec![kept]), result);
        }
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
}
