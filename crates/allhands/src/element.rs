//! Elements: the types of value that travel between ranks, and the signature two ranks compare.

use std::any::TypeId;
use std::fmt;

use bytemuck::{CheckedBitPattern, NoUninit, Pod, Zeroable};
use half::{bf16, f16};
use num_complex::Complex;

/// A type whose values can be sent as bytes and rebuilt from bytes.
///
/// Every type without padding whose bit patterns are all valid, or can be checked, is one: the
/// integers, `f32`, `f64`, [`struct@f16`], [`bf16`], [`Complex`] of both, `bool`, [`Pair`], arrays of
/// these, and the user's own `#[repr(C)]` types that are [`bytemuck::Pod`]. Nothing has to be
/// implemented: the trait follows from bytemuck's.
///
/// ```
/// use allhands::element::{Element, TypeSignature};
///
/// use allhands::bytemuck::{self, Pod, Zeroable};
///
/// #[derive(Clone, Copy, Pod, Zeroable)]
/// #[bytemuck(crate = "allhands::bytemuck")] // As this program does not depend on bytemuck by itself.
/// #[repr(C)]
/// struct Particle {
///     position: [f64; 3],
///     charge: f64,
/// }
///
/// fn bytes_of_one<T: Element>() -> usize {
///     TypeSignature::of::<T>().bytes()
/// }
/// assert_eq!(bytes_of_one::<Particle>(), 32);
/// assert_eq!(bytes_of_one::<bool>(), 1);
/// ```
pub trait Element: NoUninit + CheckedBitPattern + Send + Sync + 'static {}

impl<T: NoUninit + CheckedBitPattern + Send + Sync + 'static> Element for T {}

/// A value and the index it came from, for [`MinLoc`](crate::operator::MinLoc) and
/// [`MaxLoc`](crate::operator::MaxLoc).
///
/// It is an [`Element`] for the combinations without padding: `(f32, i32)`, `(f32, u32)`,
/// `(f64, i64)`, `(f64, u64)`, `(i32, i32)`, `(u32, u32)`, `(i64, i64)` and `(u64, u64)`.
///
/// ```
/// use allhands::element::Pair;
/// use allhands::operator::{MinLoc, Operator};
///
/// let (here, there) = (Pair { value: 2.5, index: 7_i64 }, Pair { value: 2.5, index: 3 });
/// assert_eq!(MinLoc.combine(&here, &there).index, 3);
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[repr(C)]
pub struct Pair<V, I> {
    /// What is compared.
    pub value: V,
    /// Where the value stands; of equal values the lower index wins.
    pub index: I,
}

// SAFETY: zero bytes are a valid `V` and a valid `I`, and padding may hold anything.
unsafe impl<V: Zeroable, I: Zeroable> Zeroable for Pair<V, I> {}

macro_rules! pod_pair {
    ($($value:ty, $index:ty;)*) => {$(
        const _: () = assert!(
            size_of::<Pair<$value, $index>>() == size_of::<$value>() + size_of::<$index>()
        );
        // SAFETY: both fields are Pod, the layout is C's, and the assertion above shows that
        // the fields fill the struct, so there is no padding.
        unsafe impl Pod for Pair<$value, $index> {}
    )*};
}

pod_pair! {
    f32, i32; f32, u32; i32, i32; u32, u32;
    f64, i64; f64, u64; i64, i64; u64, u64;
}

/// The bit that marks the code of a type that is not built in.
const USER: u64 = 1 << 63;

/// What two ranks compare to learn whether they call with the same element type.
///
/// A built-in type is a small number that will not change between versions; `usize` and `isize`
/// are the fixed-width integers of the same size. Any other type is its size and a hash of its
/// [name](std::any::type_name), which is the same on all ranks that run the same program.
///
/// ```
/// use allhands::element::TypeSignature;
///
/// assert_eq!(TypeSignature::of::<f64>().to_string(), "f64");
/// assert_ne!(TypeSignature::of::<f64>(), TypeSignature::of::<i64>());
/// let sent = TypeSignature::of::<f64>().code();
/// assert_eq!(TypeSignature::from_code(sent), TypeSignature::of::<f64>());
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct TypeSignature(u64);

/// One row of the table of built-in types.
struct BuiltIn {
    code: u64,
    bytes: usize,
    name: &'static str,
    id: TypeId,
}

macro_rules! built_in_types {
    ($($code:literal $type:ty, $name:literal;)*) => {
        const BUILT_IN: &[BuiltIn] = &[$(BuiltIn {
            code: $code,
            bytes: size_of::<$type>(),
            name: $name,
            id: TypeId::of::<$type>(),
        }),*];
    };
}

// A code once given is never given to another type.
built_in_types! {
    1 i8, "i8";
    2 i16, "i16";
    3 i32, "i32";
    4 i64, "i64";
    5 u8, "u8";
    6 u16, "u16";
    7 u32, "u32";
    8 u64, "u64";
    9 f16, "f16";
    10 bf16, "bf16";
    11 f32, "f32";
    12 f64, "f64";
    13 Complex<f32>, "Complex<f32>";
    14 Complex<f64>, "Complex<f64>";
    15 bool, "bool";
    16 Pair<f32, i32>, "Pair<f32, i32>";
    17 Pair<f32, u32>, "Pair<f32, u32>";
    18 Pair<i32, i32>, "Pair<i32, i32>";
    19 Pair<u32, u32>, "Pair<u32, u32>";
    20 Pair<f64, i64>, "Pair<f64, i64>";
    21 Pair<f64, u64>, "Pair<f64, u64>";
    22 Pair<i64, i64>, "Pair<i64, i64>";
    23 Pair<u64, u64>, "Pair<u64, u64>";
}

impl TypeSignature {
    /// The signature of `T`. For a type that is not built in this hashes its name, so keep the
    /// result rather than ask once a call.
    #[must_use]
    pub fn of<T: Element>() -> Self {
        let id = fixed_width(TypeId::of::<T>());
        if let Some(row) = BUILT_IN.iter().find(|row| row.id == id) {
            return Self(row.code);
        }
        let bytes = size_of::<T>() as u64;
        // The size has 31 bits here; a larger one still tells types apart through the hash.
        let hash = hash32(std::any::type_name::<T>().as_bytes(), bytes);
        Self(USER | (bytes & 0x7fff_ffff) << 32 | u64::from(hash))
    }

    /// The signature of elements of so many bytes that have no type here.
    pub(crate) fn opaque(bytes: usize) -> Self {
        let bytes = bytes as u64;
        Self(USER | (bytes & 0x7fff_ffff) << 32 | u64::from(hash32(b"opaque", bytes)))
    }

    /// The number that travels.
    #[must_use]
    pub const fn code(self) -> u64 {
        self.0
    }

    /// The signature that a peer's [`code`](Self::code) stands for.
    #[must_use]
    pub const fn from_code(code: u64) -> Self {
        Self(code)
    }

    /// Bytes of one element; 0 for a code that no type has.
    #[must_use]
    pub fn bytes(self) -> usize {
        if self.0 & USER != 0 {
            return (self.0 >> 32 & 0x7fff_ffff) as usize;
        }
        self.row().map_or(0, |row| row.bytes)
    }

    fn row(self) -> Option<&'static BuiltIn> {
        BUILT_IN.iter().find(|row| row.code == self.0)
    }
}

/// The human name: the type's own for a built-in one, else its size and hash, as the name itself
/// does not travel.
impl fmt::Display for TypeSignature {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.row() {
            Some(row) => f.write_str(row.name),
            None if self.0 & USER != 0 => {
                let hash = self.0 & 0xffff_ffff;
                write!(f, "user type {hash:08x} of {} bytes", self.bytes())
            }
            None => write!(f, "unknown type {}", self.0),
        }
    }
}

impl fmt::Debug for TypeSignature {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "TypeSignature({self})")
    }
}

/// The fixed-width type that stands for `usize` and `isize`.
fn fixed_width(id: TypeId) -> TypeId {
    let wide = usize::BITS == 64;
    if id == TypeId::of::<usize>() {
        if wide {
            TypeId::of::<u64>()
        } else {
            TypeId::of::<u32>()
        }
    } else if id == TypeId::of::<isize>() {
        if wide {
            TypeId::of::<i64>()
        } else {
            TypeId::of::<i32>()
        }
    } else {
        id
    }
}

/// FNV-1a over a name and a number, folded to 32 bits: the same on every machine.
pub(crate) fn hash32(name: &[u8], number: u64) -> u32 {
    let bytes = name.iter().copied().chain(number.to_le_bytes());
    let hash = bytes.fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x100_0000_01b3)
    });
    (hash >> 32 ^ hash) as u32
}

/// Bytes arrived that are not a value of the element type.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ArrivalError {
    /// An element's bits are no value of the type, as 2 is no bool.
    #[error("element {index} that arrived is not a valid {type_name}")]
    InvalidElement {
        /// Which element, counted from 0.
        index: usize,
        /// The element type's name.
        type_name: &'static str,
    },
    /// The bytes are not a whole number of elements.
    #[error(
        "{bytes} bytes arrived, which is no whole number of {type_name} of {element_bytes} bytes"
    )]
    PartialElement {
        /// How many bytes arrived.
        bytes: usize,
        /// Bytes of one element.
        element_bytes: usize,
        /// The element type's name.
        type_name: &'static str,
    },
}

/// What [`arrival_check`] gives: a check of received bytes with the type erased.
pub type ArrivalCheck = fn(&[u8]) -> Result<(), ArrivalError>;

/// The check that received bytes must pass before they are a `[T]`, or `None` if every bit
/// pattern is a valid `T` and there is nothing to check.
///
/// ```
/// use allhands::element::{ArrivalError, arrival_check};
///
/// assert!(arrival_check::<f64>().is_none());
/// let check = arrival_check::<bool>().unwrap();
/// assert_eq!(check(&[0, 1, 1]), Ok(()));
/// let invalid = ArrivalError::InvalidElement { index: 1, type_name: "bool" };
/// assert_eq!(check(&[0, 2, 1]), Err(invalid));
/// ```
#[must_use]
pub fn arrival_check<T: Element>() -> Option<ArrivalCheck> {
    // bytemuck gives a type its own `Bits` exactly when any bit pattern will do.
    if TypeId::of::<T>() == TypeId::of::<T::Bits>() {
        None
    } else {
        Some(check_elements::<T>)
    }
}

fn check_elements<T: Element>(bytes: &[u8]) -> Result<(), ArrivalError> {
    let type_name = std::any::type_name::<T>();
    let element_bytes = size_of::<T>();
    if element_bytes == 0 || !bytes.len().is_multiple_of(element_bytes) {
        if bytes.is_empty() {
            return Ok(());
        }
        return Err(ArrivalError::PartialElement {
            bytes: bytes.len(),
            element_bytes,
            type_name,
        });
    }
    let valid =
        |element: &[u8]| T::is_valid_bit_pattern(&bytemuck::pod_read_unaligned::<T::Bits>(element));
    // A fold without an early exit is one vector loop; only bad news pays for the position.
    if bytes
        .chunks_exact(element_bytes)
        .fold(true, |all, element| all & valid(element))
    {
        return Ok(());
    }
    let bad = bytes
        .chunks_exact(element_bytes)
        .position(|element| !valid(element));
    match bad {
        Some(index) => Err(ArrivalError::InvalidElement { index, type_name }),
        None => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn built_in_signatures_differ_and_survive_the_wire() {
        let codes: BTreeSet<u64> = BUILT_IN.iter().map(|row| row.code).collect();
        assert_eq!(codes.len(), BUILT_IN.len());
        for row in BUILT_IN {
            let signature = TypeSignature::from_code(row.code);
            assert_eq!(
                (signature.bytes(), signature.to_string()),
                (row.bytes, row.name.into())
            );
        }
        assert_eq!(
            TypeSignature::of::<Pair<f32, u32>>().to_string(),
            "Pair<f32, u32>"
        );
        assert_eq!(
            TypeSignature::from_code(200).to_string(),
            "unknown type 200"
        );
    }

    #[test]
    fn pointer_sized_integers_are_the_fixed_width_ones() {
        assert_eq!(TypeSignature::of::<usize>().bytes(), size_of::<usize>());
        assert_eq!(
            TypeSignature::of::<usize>().to_string(),
            format!("u{}", usize::BITS)
        );
        assert_eq!(
            TypeSignature::of::<isize>().to_string(),
            format!("i{}", usize::BITS)
        );
    }

    #[test]
    fn user_types_are_told_apart_by_name_and_size() {
        let signatures = [
            TypeSignature::of::<[f64; 3]>(),
            TypeSignature::of::<[f64; 4]>(),
            TypeSignature::of::<[i64; 3]>(),
            TypeSignature::of::<char>(),
            TypeSignature::of::<f64>(),
        ];
        assert_eq!(
            signatures.iter().collect::<BTreeSet<_>>().len(),
            signatures.len()
        );
        assert_eq!(signatures[0], TypeSignature::of::<[f64; 3]>());
        assert_eq!(signatures[0].bytes(), 24);
        assert!(signatures[0].to_string().ends_with("of 24 bytes"));
    }

    #[test]
    fn arrival_is_checked_only_where_a_pattern_can_be_invalid() {
        assert!(arrival_check::<Pair<f32, i32>>().is_none());
        assert!(arrival_check::<bf16>().is_none());
        assert!(arrival_check::<()>().is_none());
        let check = arrival_check::<char>().expect("a char can be invalid");
        let good = ['a', '√'].map(u32::from);
        assert_eq!(check(bytemuck::cast_slice(&good)), Ok(()));
        let bad = check(bytemuck::cast_slice(&[97_u32, 0xd800]));
        assert_eq!(
            bad,
            Err(ArrivalError::InvalidElement {
                index: 1,
                type_name: "char"
            })
        );
        let partial = check(&[0; 5]).expect_err("five bytes are no chars");
        assert!(partial.to_string().contains("5 bytes"));
    }

    #[test]
    fn a_bool_anywhere_is_checked() {
        let check = arrival_check::<bool>().expect("a bool can be invalid");
        for index in 0..200 {
            let mut bytes = vec![1; 200];
            assert_eq!(check(&bytes), Ok(()));
            bytes[index] = 0x80;
            let error = check(&bytes).expect_err("0x80 is no bool");
            assert_eq!(
                error,
                ArrivalError::InvalidElement {
                    index,
                    type_name: "bool"
                }
            );
        }
    }
}
