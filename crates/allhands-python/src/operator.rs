//! Operators: the built-in ones by their names, and functions of Python.

use crate::element::Element;
use allhands::kernel::Kernel;
use allhands::operator::OperatorSignature;
use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::ffi;
use pyo3::prelude::*;
use std::sync::Mutex;

/// How contributions are combined.
pub(crate) enum Operator {
    BuiltIn(BuiltIn),
    Function(Box<Function>),
}

/// A built-in operator.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum BuiltIn {
    Sum,
    Product,
    Min,
    Max,
    BitAnd,
    BitOr,
    BitXor,
    LogicalAnd,
    LogicalOr,
    LogicalXor,
}

/// Every built-in operator by its name, in the order of `allhands._types`.
const NAMES: [(&str, BuiltIn); 10] = [
    ("sum", BuiltIn::Sum),
    ("product", BuiltIn::Product),
    ("min", BuiltIn::Min),
    ("max", BuiltIn::Max),
    ("bitwise_and", BuiltIn::BitAnd),
    ("bitwise_or", BuiltIn::BitOr),
    ("bitwise_xor", BuiltIn::BitXor),
    ("logical_and", BuiltIn::LogicalAnd),
    ("logical_or", BuiltIn::LogicalOr),
    ("logical_xor", BuiltIn::LogicalXor),
];

impl BuiltIn {
    /// By its number in the order of [`NAMES`].
    pub(crate) fn of_number(number: usize) -> PyResult<BuiltIn> {
        let found = NAMES.get(number).map(|found| found.1);
        found.ok_or_else(|| {
            let last = NAMES.len() - 1;
            PyValueError::new_err(format!(
                "there is no operator {number}: they are 0 to {last}"
            ))
        })
    }

    /// What it is of truth values, which have no arithmetic: numpy's, where a sum is true if any is.
    pub(crate) fn of_truth_values(self) -> BuiltIn {
        match self {
            BuiltIn::Sum | BuiltIn::Max | BuiltIn::BitOr | BuiltIn::LogicalOr => BuiltIn::LogicalOr,
            BuiltIn::Product | BuiltIn::Min | BuiltIn::BitAnd | BuiltIn::LogicalAnd => {
                BuiltIn::LogicalAnd
            }
            BuiltIn::BitXor | BuiltIn::LogicalXor => BuiltIn::LogicalXor,
        }
    }

    /// Its name.
    pub(crate) fn name(self) -> &'static str {
        NAMES[self as usize].0
    }
}

impl Operator {
    /// What a program gives: a name, or a function of two arrays, which is commutative if it has an attribute that says so.
    pub(crate) fn of(given: &Bound<'_, PyAny>, element: Element) -> PyResult<Operator> {
        if let Ok(name) = given.extract::<&str>() {
            let found = NAMES.iter().find(|(other, _)| *other == name);
            return match found {
                Some((_, operator)) => Ok(Operator::BuiltIn(*operator)),
                None => {
                    let names: Vec<&str> = NAMES.iter().map(|found| found.0).collect();
                    Err(PyValueError::new_err(format!(
                        "there is no operator '{name}'; right would be one of {}, or a function of two arrays",
                        names.join(", ")
                    )))
                }
            };
        }
        if !given.is_callable() {
            let kind = given.get_type().name()?;
            return Err(PyTypeError::new_err(format!(
                "a {kind} is no operator; right would be a name, as 'sum', or a function of two arrays"
            )));
        }
        let is_commutative = given.getattr("commutative");
        let name = given
            .getattr("__qualname__")
            .and_then(|name| name.extract());
        Ok(Operator::Function(Box::new(Function {
            function: given.clone().unbind(),
            element,
            is_commutative: is_commutative.and_then(|is| is.extract()).unwrap_or(false),
            name: name.unwrap_or_else(|_| "a function".to_string()),
            raised: Mutex::new(None),
        })))
    }
}

/// A function of two arrays that gives a third.
pub(crate) struct Function {
    function: Py<PyAny>,
    element: Element,
    is_commutative: bool,
    name: String,
    /// What it raised first.
    raised: Mutex<Option<PyErr>>,
}

impl Function {
    /// What the library combines elements with.
    pub(crate) fn kernel(&self) -> (Kernel<'_>, OperatorSignature, bool) {
        let context = std::ptr::from_ref(self).cast();
        // SAFETY: `combine` takes this function as its context, which outlives the kernel, is Sync, and uses no more memory than the
        // kernel's condition says.
        let kernel = unsafe { Kernel::from_raw_parts(self.element.bytes(), combine, context) };
        let signature = OperatorSignature::user(&self.name, self.is_commutative);
        (kernel, signature, self.is_commutative)
    }

    /// What it raised, if anything.
    pub(crate) fn take_raised(&self) -> Option<PyErr> {
        self.raised
            .lock()
            .unwrap_or_else(|poisoned| poisoned.into_inner())
            .take()
    }

    /// Calls it with views of memory.
    ///
    /// # Safety
    /// As [`Kernel::combine`].
    unsafe fn call(
        &self,
        py: Python<'_>,
        operands: [*const u8; 2],
        out: *mut u8,
        elements: usize,
    ) -> PyResult<()> {
        let bytes = elements * self.element.bytes();
        let [left, right] = operands.map(|start| {
            // SAFETY: so many bytes can be read. The view is released before this function returns, so that nobody keeps it.
            let view = unsafe {
                ffi::PyMemoryView_FromMemory(
                    start.cast_mut().cast(),
                    bytes as isize,
                    ffi::PyBUF_READ,
                )
            };
            // SAFETY: a new object, or none and an exception.
            unsafe { Bound::from_owned_ptr_or_err(py, view) }
        });
        let (left, right) = (left?, right?);
        let apply = py.import("allhands._arrays")?.getattr("apply")?;
        let arguments = (self.function.bind(py), &left, &right, self.element.name());
        let result: Bound<'_, pyo3::types::PyBytes> = apply.call1(arguments)?.cast_into()?;
        let result = result.as_bytes();
        if result.len() != bytes {
            return Err(PyValueError::new_err(format!(
                "the operator {} gave {} bytes for arrays of {bytes}: right would be an array like its arguments",
                self.name,
                result.len()
            )));
        }
        // SAFETY: so many bytes can be written, and nobody else touches them; the result is memory of its own.
        unsafe { std::ptr::copy_nonoverlapping(result.as_ptr(), out, bytes) };
        Ok(())
    }
}

/// Combines elements by a [`Function`], the context.
///
/// # Safety
/// As [`Kernel::combine`]; the context is a function.
unsafe fn combine(
    context: *const (),
    left: *const u8,
    right: *const u8,
    out: *mut u8,
    elements: usize,
) {
    // SAFETY: promised by the caller.
    let function = unsafe { &*context.cast::<Function>() };
    if elements == 0 {
        return;
    }
    Python::attach(|py| {
        // SAFETY: promised by the caller.
        if let Err(error) = unsafe { function.call(py, [left, right], out, elements) } {
            let mut raised = function
                .raised
                .lock()
                .unwrap_or_else(|poisoned| poisoned.into_inner());
            raised.get_or_insert(error);
        }
    });
}
