//! The types of elements that arrays have, as the array interface, the buffer protocol and DLPack call them.

use pyo3::prelude::*;

/// A type of element.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Element {
    I8,
    I16,
    I32,
    I64,
    U8,
    U16,
    U32,
    U64,
    F16,
    BF16,
    F32,
    F64,
    C64,
    C128,
    /// A truth value, of one byte.
    Bool,
}

/// What kinds of numbers there are, of several lengths each.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    Signed,
    Unsigned,
    Float,
    Brain,
    Complex,
    Bool,
}

/// Every type, with its number in `allhands._types`, its name there and in numpy, its kind and its length in bytes.
const ALL: [(Element, &str, Kind, usize); 15] = [
    (Element::I8, "int8", Kind::Signed, 1),
    (Element::I16, "int16", Kind::Signed, 2),
    (Element::I32, "int32", Kind::Signed, 4),
    (Element::I64, "int64", Kind::Signed, 8),
    (Element::U8, "uint8", Kind::Unsigned, 1),
    (Element::U16, "uint16", Kind::Unsigned, 2),
    (Element::U32, "uint32", Kind::Unsigned, 4),
    (Element::U64, "uint64", Kind::Unsigned, 8),
    (Element::F16, "float16", Kind::Float, 2),
    (Element::BF16, "bfloat16", Kind::Brain, 2),
    (Element::F32, "float32", Kind::Float, 4),
    (Element::F64, "float64", Kind::Float, 8),
    (Element::C64, "complex64", Kind::Complex, 8),
    (Element::C128, "complex128", Kind::Complex, 16),
    (Element::Bool, "bool", Kind::Bool, 1),
];

/// What an element is in Rust: `with_element!(element, T => …)`. A truth value is a byte, as nobody can promise that it is 0 or 1.
macro_rules! with_element {
    ($element:expr, $T:ident => $body:expr) => {
        match $element {
            $crate::element::Element::I8 => {
                type $T = i8;
                $body
            }
            $crate::element::Element::I16 => {
                type $T = i16;
                $body
            }
            $crate::element::Element::I32 => {
                type $T = i32;
                $body
            }
            $crate::element::Element::I64 => {
                type $T = i64;
                $body
            }
            $crate::element::Element::U8 | $crate::element::Element::Bool => {
                type $T = u8;
                $body
            }
            $crate::element::Element::U16 => {
                type $T = u16;
                $body
            }
            $crate::element::Element::U32 => {
                type $T = u32;
                $body
            }
            $crate::element::Element::U64 => {
                type $T = u64;
                $body
            }
            $crate::element::Element::F16 => {
                type $T = allhands::half::f16;
                $body
            }
            $crate::element::Element::BF16 => {
                type $T = allhands::half::bf16;
                $body
            }
            $crate::element::Element::F32 => {
                type $T = f32;
                $body
            }
            $crate::element::Element::F64 => {
                type $T = f64;
                $body
            }
            $crate::element::Element::C64 => {
                type $T = allhands::num_complex::Complex<f32>;
                $body
            }
            $crate::element::Element::C128 => {
                type $T = allhands::num_complex::Complex<f64>;
                $body
            }
        }
    };
}
pub(crate) use with_element;

impl Element {
    fn of(kind: Kind, bytes: usize) -> Option<Element> {
        let mut all = ALL.iter();
        let found = all.find(|(_, _, other, length)| *other == kind && *length == bytes);
        found.map(|found| found.0)
    }

    /// That of a buffer with this format (of the module `struct`, with numpy's `Z` for complex numbers) and so many bytes each.
    pub(crate) fn of_format(format: &[u8], bytes: usize) -> Option<Element> {
        let code = match format {
            [b'@' | b'=' | b'<', code @ ..] => code,
            code => code,
        };
        let kind = match code {
            b"b" | b"h" | b"i" | b"l" | b"q" | b"n" => Kind::Signed,
            b"B" | b"H" | b"I" | b"L" | b"Q" | b"N" | b"c" => Kind::Unsigned,
            b"e" | b"f" | b"d" => Kind::Float,
            b"Zf" | b"Zd" => Kind::Complex,
            b"?" => Kind::Bool,
            _ => return None,
        };
        Element::of(kind, bytes)
    }

    /// That of an array whose array interface has this type, `<f4`; `name` is what numpy calls types that it does not know by itself.
    pub(crate) fn of_type_string(text: &str, name: &str) -> Option<Element> {
        let (order, rest) = text.split_at_checked(1)?;
        let (kind, bytes) = rest.split_at_checked(1)?;
        if !matches!(order, "<" | "|" | "=") {
            return None;
        }
        let kind = match (kind, name) {
            ("i", _) => Kind::Signed,
            ("u", _) => Kind::Unsigned,
            ("f", _) => Kind::Float,
            ("c", _) => Kind::Complex,
            ("b", _) => Kind::Bool,
            ("V", "bfloat16") => Kind::Brain,
            _ => return None,
        };
        Element::of(kind, bytes.parse().ok()?)
    }

    /// That of a tensor with DLPack's type code and so many bits.
    pub(crate) fn of_dlpack(code: u8, bits: u8) -> Option<Element> {
        let kind = match code {
            0 => Kind::Signed,
            1 => Kind::Unsigned,
            2 => Kind::Float,
            4 => Kind::Brain,
            5 => Kind::Complex,
            6 => Kind::Bool,
            _ => return None,
        };
        Element::of(kind, usize::from(bits / 8))
    }

    /// The length in bytes.
    pub(crate) fn bytes(self) -> usize {
        ALL[self as usize].3
    }

    /// What numpy calls it.
    pub(crate) fn name(self) -> &'static str {
        ALL[self as usize].1
    }
}

/// By its number in the order of [`ALL`], as `allhands._types` has it.
impl FromPyObject<'_, '_> for Element {
    type Error = PyErr;

    fn extract(object: Borrowed<'_, '_, PyAny>) -> PyResult<Element> {
        let number: usize = object.extract()?;
        let found = ALL.get(number).map(|found| found.0);
        found.ok_or_else(|| {
            let says = format!(
                "there is no element type {number}: they are 0 to {}",
                ALL.len() - 1
            );
            pyo3::exceptions::PyValueError::new_err(says)
        })
    }
}
