//! DLPack: tensors of other libraries in memory, as <https://dmlc.github.io/dlpack> lays them out.

use crate::element::Element;
use pyo3::exceptions::{PyBufferError, PyTypeError};
use pyo3::intern;
use pyo3::prelude::*;
use pyo3::types::{PyCapsule, PyType};
use std::ffi::{c_int, c_void};
use std::mem::MaybeUninit;

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

/// `DLPackExchangeAPI`: what a class of tensors offers to callers in C.
#[repr(C)]
struct Exchange {
    /// Major and minor.
    _version: [u32; 2],
    /// That of an older version, and functions that make tensors: not used here.
    _others: [*const c_void; 4],
    /// `dltensor_from_py_object_no_sync`, which lends a tensor's description; 0 if it could.
    tensor_of_object: Option<unsafe extern "C" fn(*mut c_void, *mut Tensor) -> c_int>,
}

/// The only major version of [`Exchange`] whose layout is known here.
const EXCHANGE_MAJOR: u32 = 1;

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
    let found = found(unsafe { tensor.as_ref() })?;
    Ok((found, capsule.unbind()))
}

/// The element type's number, the address and the number of elements of a tensor on the processor whose elements stand in order. None, if that is
/// not so, or if it cannot be told quickly: its class is not `class`, or that has no `__dlpack_c_exchange_api__`, as PyTorch's has.
#[pyfunction]
pub(crate) fn in_order(
    object: &Bound<'_, PyAny>,
    class: &Bound<'_, PyType>,
) -> Option<(usize, (usize, usize))> {
    let py = object.py();
    // One derived from it may hold its elements in another way.
    if !object.get_type().is(class) {
        return None;
    }
    let capsule = class.getattr(intern!(py, "__dlpack_c_exchange_api__"));
    let capsule = capsule.ok()?.cast_into::<PyCapsule>().ok()?;
    let exchange = capsule.pointer_checked(Some(c"dlpack_exchange_api")).ok()?;
    // SAFETY: a capsule of that name has a table, which lives as long as the process and begins with its version, whatever that is.
    if unsafe { exchange.cast::<u32>().read() } != EXCHANGE_MAJOR {
        return None;
    }
    // SAFETY: as before, and it is of the version whose layout this is.
    let tensor_of_object = unsafe { exchange.cast::<Exchange>().as_ref() }.tensor_of_object?;
    let mut tensor = MaybeUninit::<Tensor>::uninit();
    // SAFETY: the thread is attached, the object is of the class that offers the function, and there is room for the result.
    if unsafe { tensor_of_object(object.as_ptr().cast(), tensor.as_mut_ptr()) } != 0 {
        // As for a sparse one; whoever asks differently hears why.
        drop(PyErr::take(py));
        return None;
    }
    // SAFETY: the function has filled it in, and what it points to lives as long as the object.
    let found = found(unsafe { tensor.assume_init_ref() }).ok()?;
    let side = (found.start.expose_provenance(), found.elements);
    found
        .is_contiguous
        .then_some((found.element as usize, side))
}

fn found(tensor: &Tensor) -> PyResult<Found> {
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
    Ok(Found {
        start: tensor
            .data
            .cast::<u8>()
            .wrapping_add(tensor.byte_offset as usize),
        elements: elements as usize,
        element,
        is_contiguous: strides.is_empty() || is_contiguous(shape, strides),
    })
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
