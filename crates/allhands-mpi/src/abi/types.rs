//! Predefined types: their handles in each ABI, their sizes, and which numbers they are.

use super::symbols::Symbols;
use super::table::Table;
use super::{Family, Handle};
use std::ffi::CString;

/// The classes by which the standard says which operators combine a type (MPI 5.0, 6.9.2).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Class {
    Integer,
    FortranInteger,
    Floating,
    Complex,
    /// Truth values.
    Logical,
    Byte,
    MultiLanguage,
    /// A value and an index.
    Pair,
    /// What no operator of the standard combines.
    Other,
}

/// The numbers for which there are kernels.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Number {
    I8,
    I16,
    I32,
    I64,
    U8,
    U16,
    U32,
    U64,
    F32,
    F64,
    C32,
    C64,
    FloatInt,
    TwoInt,
}

/// How a number of some bytes is written down.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Coding {
    Signed,
    Unsigned,
    Float,
    /// A `long double` of C, or two of them.
    LongFloat,
    Complex,
    FloatInt,
    TwoInt,
    /// Bytes without gaps.
    Opaque,
    /// What C has as a structure of a value of so many bytes and an int, with gaps.
    Spread(usize),
}

/// What is known of a predefined type.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Named {
    pub(crate) class: Class,
    pub(crate) coding: Coding,
    /// The size of the C type; 0 where the Fortran compiler decides, and the MPI is to be asked.
    pub(crate) bytes: usize,
}

impl Named {
    /// Whether elements follow one another without gaps, inside or between.
    pub(crate) fn is_contiguous(&self) -> bool {
        self.spread().is_none()
    }

    /// The bytes of the value, where there are gaps around an int behind it.
    pub(crate) fn spread(&self) -> Option<usize> {
        match self.coding {
            Coding::Spread(value) => Some(value),
            _ => None,
        }
    }

    /// The number that it is, if it has so many bytes and there are kernels for it.
    pub(crate) fn number(&self, bytes: usize) -> Option<Number> {
        Some(match (self.coding, bytes) {
            (Coding::Signed, 1) => Number::I8,
            (Coding::Signed, 2) => Number::I16,
            (Coding::Signed, 4) => Number::I32,
            (Coding::Signed, 8) => Number::I64,
            (Coding::Unsigned, 1) => Number::U8,
            (Coding::Unsigned, 2) => Number::U16,
            (Coding::Unsigned, 4) => Number::U32,
            (Coding::Unsigned, 8) => Number::U64,
            (Coding::Float, 4) => Number::F32,
            (Coding::Float, 8) => Number::F64,
            (Coding::Complex, 8) => Number::C32,
            (Coding::Complex, 16) => Number::C64,
            (Coding::FloatInt, 8) => Number::FloatInt,
            (Coding::TwoInt, 8) => Number::TwoInt,
            _ => return None,
        })
    }
}

/// A type's name in Open MPI's symbol, its handle in MPICH's ABI and in the standard ABI (0: it has none there), its
/// class, its coding and its bytes.
type Row = (&'static str, Handle, Handle, Class, Coding, usize);

const TYPES: &[Row] = {
    use Class::{Byte, Floating, FortranInteger, Integer, Logical, MultiLanguage, Other, Pair};
    use Coding::{Float, FloatInt, LongFloat, Opaque, Signed, Spread, TwoInt, Unsigned};
    &[
        ("byte", 0x4c00_010d, 0x247, Byte, Unsigned, 1),
        ("packed", 0x4c00_010f, 0x207, Other, Opaque, 1),
        ("char", 0x4c00_0101, 0x243, Other, Opaque, 1),
        ("wchar", 0x4c00_040e, 0x23c, Other, Opaque, 0),
        ("signed_char", 0x4c00_0118, 0x244, Integer, Signed, 1),
        ("unsigned_char", 0x4c00_0102, 0x245, Integer, Unsigned, 1),
        ("short", 0x4c00_0203, 0x208, Integer, Signed, 2),
        ("unsigned_short", 0x4c00_0204, 0x20c, Integer, Unsigned, 2),
        ("int", 0x4c00_0405, 0x209, Integer, Signed, 4),
        ("unsigned", 0x4c00_0406, 0x20d, Integer, Unsigned, 4),
        ("long", 0x4c00_0807, 0x20a, Integer, Signed, 8),
        ("unsigned_long", 0x4c00_0808, 0x20e, Integer, Unsigned, 8),
        ("long_long_int", 0x4c00_0809, 0x20b, Integer, Signed, 8),
        (
            "unsigned_long_long",
            0x4c00_0819,
            0x20f,
            Integer,
            Unsigned,
            8,
        ),
        ("int8_t", 0x4c00_0137, 0x240, Integer, Signed, 1),
        ("int16_t", 0x4c00_0238, 0x248, Integer, Signed, 2),
        ("int32_t", 0x4c00_0439, 0x250, Integer, Signed, 4),
        ("int64_t", 0x4c00_083a, 0x258, Integer, Signed, 8),
        ("uint8_t", 0x4c00_013b, 0x241, Integer, Unsigned, 1),
        ("uint16_t", 0x4c00_023c, 0x249, Integer, Unsigned, 2),
        ("uint32_t", 0x4c00_043d, 0x251, Integer, Unsigned, 4),
        ("uint64_t", 0x4c00_083e, 0x259, Integer, Unsigned, 8),
        ("aint", 0x4c00_0843, 0x201, MultiLanguage, Signed, 8),
        ("offset", 0x4c00_0844, 0x203, MultiLanguage, Signed, 8),
        ("count", 0x4c00_0845, 0x202, MultiLanguage, Signed, 8),
        ("float", 0x4c00_040a, 0x210, Floating, Float, 4),
        ("double", 0x4c00_080b, 0x214, Floating, Float, 8),
        ("long_double", 0x4c00_100c, 0x220, Floating, LongFloat, 16),
        ("c_bool", 0x4c00_013f, 0x238, Logical, Unsigned, 1),
        ("cxx_bool", 0x4c00_0133, 0x239, Logical, Unsigned, 1),
        (
            "c_float_complex",
            0x4c00_0840,
            0x212,
            Class::Complex,
            Coding::Complex,
            8,
        ),
        (
            "c_double_complex",
            0x4c00_1041,
            0x216,
            Class::Complex,
            Coding::Complex,
            16,
        ),
        (
            "c_long_double_complex",
            0x4c00_2042,
            0x224,
            Class::Complex,
            LongFloat,
            32,
        ),
        (
            "cxx_cplex",
            0x4c00_0834,
            0x213,
            Class::Complex,
            Coding::Complex,
            8,
        ),
        (
            "cxx_dblcplex",
            0x4c00_1035,
            0x217,
            Class::Complex,
            Coding::Complex,
            16,
        ),
        (
            "cxx_ldblcplex",
            0x4c00_2036,
            0x225,
            Class::Complex,
            LongFloat,
            32,
        ),
        ("float_int", 0x8c00_0000, 0x228, Pair, FloatInt, 8),
        ("2int", 0x4c00_0816, 0x22b, Pair, TwoInt, 8),
        ("double_int", 0x8c00_0001, 0x229, Pair, Spread(8), 0),
        ("long_int", 0x8c00_0002, 0x22a, Pair, Spread(8), 0),
        ("short_int", 0x8c00_0003, 0x22c, Pair, Spread(2), 0),
        ("longdbl_int", 0x8c00_0004, 0x22d, Pair, Spread(16), 0),
        ("character", 0x4c00_011a, 0x21e, Other, Opaque, 0),
        ("2integer", 0x4c00_0820, 0x232, Pair, TwoInt, 0),
        ("2real", 0x4c00_0821, 0x230, Pair, Opaque, 0),
        ("2dblprec", 0x4c00_1023, 0x231, Pair, Opaque, 0),
        ("logical", 0x4c00_041d, 0x218, Logical, Opaque, 0),
        ("logical1", 0x4c00_0147, 0x2c0, Logical, Opaque, 1),
        ("logical2", 0x4c00_0248, 0x2c8, Logical, Opaque, 2),
        ("logical4", 0x4c00_0449, 0x2d0, Logical, Opaque, 4),
        ("logical8", 0x4c00_084a, 0x2d8, Logical, Opaque, 8),
        ("integer", 0x4c00_041b, 0x219, FortranInteger, Signed, 0),
        ("integer1", 0x4c00_012d, 0x2c1, FortranInteger, Signed, 1),
        ("integer2", 0x4c00_022f, 0x2c9, FortranInteger, Signed, 2),
        ("integer4", 0x4c00_0430, 0x2d1, FortranInteger, Signed, 4),
        ("integer8", 0x4c00_0831, 0x2d9, FortranInteger, Signed, 8),
        ("real", 0x4c00_041c, 0x21a, Floating, Float, 0),
        ("real4", 0x4c00_0427, 0x2d2, Floating, Float, 4),
        ("real8", 0x4c00_0829, 0x2da, Floating, Float, 8),
        ("dblprec", 0x4c00_081f, 0x21c, Floating, Float, 0),
        (
            "cplex",
            0x4c00_081e,
            0x21b,
            Class::Complex,
            Coding::Complex,
            0,
        ),
        (
            "dblcplex",
            0x4c00_1022,
            0x21d,
            Class::Complex,
            Coding::Complex,
            0,
        ),
        (
            "complex8",
            0x4c00_0828,
            0x2db,
            Class::Complex,
            Coding::Complex,
            8,
        ),
        (
            "complex16",
            0x4c00_102a,
            0x2e3,
            Class::Complex,
            Coding::Complex,
            16,
        ),
    ]
};

/// The predefined types of a family.
///
/// Those that are not here are taken for derived ones, which is right but slower.
pub(super) fn table(family: Family, symbols: &dyn Symbols) -> Table<Named> {
    Table::new(TYPES.iter().filter_map(|row| {
        let (name, mpich, standard, class, coding, bytes) = *row;
        let handle = match family {
            Family::Mpich => mpich,
            Family::Standard => standard,
            Family::OpenMpi => {
                let symbol = CString::new(format!("ompi_mpi_{name}")).ok()?;
                symbols.shared_symbol(&symbol)? as usize
            }
        };
        let named = Named {
            class,
            coding,
            bytes,
        };
        Some((handle, named))
    }))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn no_two_types_share_a_handle() {
        for column in [|row: &Row| row.1, |row: &Row| row.2] {
            let handles: BTreeSet<Handle> = TYPES.iter().map(column).collect();
            assert_eq!(handles.len(), TYPES.len());
        }
    }

    #[test]
    fn mpichs_handles_hold_the_sizes_that_are_said() {
        for (name, mpich, _, _, _, bytes) in TYPES {
            // A builtin handle of MPICH has the size of its type in its second byte.
            let is_builtin = mpich >> 24 == 0x4c;
            assert!(
                !is_builtin || *bytes == 0 || mpich >> 8 & 0xff == *bytes,
                "{name}"
            );
        }
    }
}
