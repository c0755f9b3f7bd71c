//! DLPack: tensors of other libraries in memory, as <https://dmlc.github.io/dlpack> lays them out.

use crate::element::Element;
use pyo3::exceptions::{PyBufferError, PyTypeError};
use pyo3::prelude::*;
use pyo3::types::PyCapsule;
use std::ffi::c_void;

/// The kind of device that is a processor's memory.
const CPU: i32 = 1;

#[repr(C)]
struct DataType {
    code: u8,
    bits: u8,
    lanes: u16,
}

/// `DLTensor`.
#[repr(C)]
struct Tensor {
    data: *mut c_void,
    device: [i32; 2],
    dimensions: i32,
    data_type: DataType,
    shape: *const i64,
    strides: *const i64,
    byte_offset: u64,
}

/// Where a tensor's elements are.
pub(crate) struct Found {
    pub(crate) start: *mut u8,
    pub(crate) elements: usize,
    pub(crate) element: Element,
    pub(crate) is_contiguous: bool,
}

/// Where the elements of an object with `__dlpack__` are, and the capsule that keeps them there.
pub(crate) fn of(object: &Bound<'_, PyAny>) -> PyResult<(Found, Py<PyAny>)> {
    let capsule = object.call_method0("__dlpack__")?;
    let tensor = capsule.cast::<PyCapsule>()?;
    // A DLManagedTensor, which begins with its tensor.
    let tensor = tensor.pointer_checked(Some(c"dltensor"))?.cast::<Tensor>();
    // SAFETY: a capsule of that name has one, which lives as long as the capsule; nobody has consumed it.
    let tensor = unsafe { tensor.as_ref() };
    if tensor.device[0] != CPU {
        return Err(PyBufferError::new_err(format!(
            "the tensor is on a device of DLPack's kind {}, where the processor's memory, 1, would be right",
            tensor.device[0]
        )));
    }
    let DataType { code, bits, lanes } = tensor.data_type;
    let element = Element::of_dlpack(code, bits).filter(|_| lanes == 1);
    let element = element.ok_or_else(|| {
        PyTypeError::new_err(format!(
            "elements of DLPack's type {code} with {bits} bits and {lanes} lanes cannot be sent"
        ))
    })?;
    let lengths = |list: *const i64| match (tensor.dimensions, list.is_null()) {
        (0, _) | (_, true) => &[][..],
        // SAFETY: DLPack has as many as there are dimensions.
        (all, false) => unsafe { std::slice::from_raw_parts(list, all as usize) },
    };
    let (shape, strides) = (lengths(tensor.shape), lengths(tensor.strides));
    let elements: i64 = shape.iter().product();
    Ok((
        Found {
            start: tensor
                .data
                .cast::<u8>()
                .wrapping_add(tensor.byte_offset as usize),
            elements: elements as usize,
            element,
            is_contiguous: strides.is_empty() || is_contiguous(shape, strides),
        },
        capsule.unbind(),
    ))
}

/// Whether elements with these strides, counted in elements, stand one after another, row by row.
pub(crate) fn is_contiguous(shape: &[i64], strides: &[i64]) -> bool {
    let mut expected = 1;
    let rows = shape.iter().zip(strides).rev();
    let is_so = rows.fold(true, |is_so, (length, stride)| {
        let fits = *length == 1 || *stride == expected;
        expected *= length;
        is_so && fits
    });
    is_so || shape.contains(&0)
}
