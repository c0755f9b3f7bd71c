//! The memory of Python objects: where an array's elements are, of which type, and what keeps them there.

use crate::dlpack;
use crate::element::Element;
use pyo3::buffer::PyUntypedBuffer;
use pyo3::exceptions::{PyBufferError, PyTypeError};
use pyo3::ffi;
use pyo3::intern;
use pyo3::prelude::*;

/// The elements of an array, one after another.
pub(crate) struct Memory {
    pub(crate) start: *mut u8,
    pub(crate) elements: usize,
    pub(crate) element: Element,
    /// What keeps them where they are.
    _kept: Kept,
}

/// What keeps an array's memory.
#[expect(dead_code, reason = "it is there to be dropped")]
enum Kept {
    Buffer(PyUntypedBuffer),
    Object(Py<PyAny>),
    /// A copy, row by row, of what lies elsewhere.
    Packed(Box<[u128]>),
}

// SAFETY: the memory is used by one call at a time, which has been told so; what keeps it is dropped with the interpreter's lock,
// which its own drop takes.
unsafe impl Send for Memory {}
// SAFETY: a shared reference gives nothing but numbers.
unsafe impl Sync for Memory {}

/// What is done with an array.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Use {
    Read,
    Write,
}

impl Memory {
    /// The bytes of the elements, to be read.
    ///
    /// # Safety
    /// Nobody writes them while the result lives, and what keeps them outlives it.
    pub(crate) unsafe fn bytes<'a>(&self) -> &'a [u8] {
        match self.elements * self.element.bytes() {
            0 => &[],
            // SAFETY: so many are there as long as they are kept, which the caller promises, as it does the rest.
            bytes => unsafe { std::slice::from_raw_parts(self.start, bytes) },
        }
    }

    /// The bytes of the elements, to be written.
    ///
    /// # Safety
    /// Nobody else touches them while the result lives, and what keeps them outlives it.
    pub(crate) unsafe fn bytes_mut<'a>(&self) -> &'a mut [u8] {
        match self.elements * self.element.bytes() {
            0 => &mut [],
            // SAFETY: as in `bytes`.
            bytes => unsafe { std::slice::from_raw_parts_mut(self.start, bytes) },
        }
    }

    /// The elements of an object with the buffer protocol, the array interface or DLPack; `what` it is in errors.
    ///
    /// Those that do not stand one after another are copied, if they are only read.
    pub(crate) fn of(object: &Bound<'_, PyAny>, what: &str, used: Use) -> PyResult<Memory> {
        let memory = match Memory::of_buffer(object, what, used)? {
            Some(memory) => memory,
            None => Memory::of_interface(object, what, used)?,
        };
        let alignment = crate::element::with_element!(memory.element, T => align_of::<T>());
        if memory.elements > 0 && !memory.start.addr().is_multiple_of(alignment) {
            return Err(PyBufferError::new_err(format!(
                "{what}: its {} begin at no multiple of {alignment} bytes; right would be an aligned array, as numpy.require(x, requirements='A') makes one",
                memory.element.name()
            )));
        }
        Ok(memory)
    }

    /// By the buffer protocol; none, if the object does not have it for what it holds.
    fn of_buffer(object: &Bound<'_, PyAny>, what: &str, used: Use) -> PyResult<Option<Memory>> {
        // SAFETY: an object, and the thread is attached.
        if unsafe { ffi::PyObject_CheckBuffer(object.as_ptr()) } == 0 {
            return Ok(None);
        }
        // numpy has no format for bfloat16.
        let Ok(buffer) = PyUntypedBuffer::get(object) else {
            return Ok(None);
        };
        let found = Element::of_format(buffer.format().to_bytes(), buffer.item_size());
        let Some(element) = found else {
            let format = buffer.format().to_string_lossy();
            return Err(unknown(what, &format!("the format '{format}'")));
        };
        let elements = buffer.item_count();
        if used == Use::Write && buffer.readonly() {
            return Err(read_only(what));
        }
        if buffer.is_c_contiguous() {
            return Ok(Some(Memory {
                start: buffer.buf_ptr().cast(),
                elements,
                element,
                _kept: Kept::Buffer(buffer),
            }));
        }
        if used == Use::Write {
            return Err(scattered(what));
        }
        Memory::packed(object, element, elements).map(Some)
    }

    /// A copy of what does not stand one after another.
    fn packed(object: &Bound<'_, PyAny>, element: Element, elements: usize) -> PyResult<Memory> {
        let bytes = elements * element.bytes();
        let mut copy = vec![0u128; bytes.div_ceil(size_of::<u128>())].into_boxed_slice();
        let start = copy.as_mut_ptr().cast::<u8>();
        let mut view = std::mem::MaybeUninit::<ffi::Py_buffer>::uninit();
        let flags = ffi::PyBUF_FULL_RO;
        // SAFETY: an object, and room for a view, which is there if this succeeds, and is released below.
        if unsafe { ffi::PyObject_GetBuffer(object.as_ptr(), view.as_mut_ptr(), flags) } != 0 {
            return Err(PyErr::fetch(object.py()));
        }
        // SAFETY: the view is there, and the copy has room for all of its bytes.
        let copied = unsafe {
            let view = view.as_mut_ptr();
            let copied = ffi::PyBuffer_ToContiguous(start.cast(), view, (*view).len, b'C' as _);
            ffi::PyBuffer_Release(view);
            copied
        };
        if copied != 0 {
            return Err(PyErr::fetch(object.py()));
        }
        Ok(Memory {
            start,
            elements,
            element,
            _kept: Kept::Packed(copy),
        })
    }

    /// By the array interface, or DLPack.
    fn of_interface(object: &Bound<'_, PyAny>, what: &str, used: Use) -> PyResult<Memory> {
        let py = object.py();
        if let Ok(interface) = object.getattr(intern!(py, "__array_interface__")) {
            return Memory::of_array_interface(object, &interface, what, used);
        }
        if !object.hasattr(intern!(py, "__dlpack__"))? {
            let kind = object.get_type().name()?;
            return Err(PyTypeError::new_err(format!(
                "{what}: a {kind} is no array; right would be an object with the buffer protocol, DLPack or __array_interface__"
            )));
        }
        // What JAX hands out is not to be written.
        let module = object.get_type().module()?;
        if used == Use::Write && module.to_string_lossy().starts_with("jax") {
            return Err(read_only(what));
        }
        let (found, capsule) = dlpack::of(object)?;
        if !found.is_contiguous {
            return Err(scattered(what));
        }
        Ok(Memory {
            start: found.start,
            elements: found.elements,
            element: found.element,
            _kept: Kept::Object(capsule),
        })
    }

    fn of_array_interface(
        object: &Bound<'_, PyAny>,
        interface: &Bound<'_, PyAny>,
        what: &str,
        used: Use,
    ) -> PyResult<Memory> {
        let text: String = interface.get_item("typestr")?.extract()?;
        let name = object
            .getattr("dtype")
            .and_then(|kind| kind.getattr("name"));
        let name: String = name.and_then(|name| name.extract()).unwrap_or_default();
        let found = Element::of_type_string(&text, &name);
        let element = found.ok_or_else(|| unknown(what, &format!("'{text}' {name}")))?;
        let (start, is_read_only): (usize, bool) = interface.get_item("data")?.extract()?;
        if used == Use::Write && is_read_only {
            return Err(read_only(what));
        }
        let shape: Vec<i64> = interface.get_item("shape")?.extract()?;
        let strides = interface.call_method1("get", ("strides",))?;
        let strides: Option<Vec<i64>> = strides.extract()?;
        let strides = strides.map(|all| {
            let bytes = element.bytes() as i64;
            all.iter()
                .map(|stride| stride / bytes)
                .collect::<Vec<i64>>()
        });
        if strides.is_some_and(|strides| !dlpack::is_contiguous(&shape, &strides)) {
            return Err(scattered(what));
        }
        Ok(Memory {
            start: std::ptr::with_exposed_provenance_mut(start),
            elements: shape.iter().product::<i64>() as usize,
            element,
            _kept: Kept::Object(object.clone().unbind()),
        })
    }
}

fn unknown(what: &str, kind: &str) -> PyErr {
    PyTypeError::new_err(format!(
        "{what}: elements of {kind} cannot be sent; right would be integers of 8 to 64 bits, float16, bfloat16, float32, float64, complex numbers or bool, in the processor's byte order"
    ))
}

fn read_only(what: &str) -> PyErr {
    PyBufferError::new_err(format!(
        "{what}: it is read-only, and the result is written there; right would be an array that can be written, or none: then one is made"
    ))
}

fn scattered(what: &str) -> PyErr {
    PyBufferError::new_err(format!(
        "{what}: its elements do not stand one after another in memory; right would be a C-contiguous array, as numpy.ascontiguousarray makes one"
    ))
}
