//! Predefined operators: their handles in each ABI.

use super::symbols::Symbols;
use super::table::Table;
use super::types::Class;
use super::{Family, Handle};
use std::ffi::CString;

/// A predefined operator with which can be reduced.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Operator {
    Max,
    Min,
    Sum,
    Product,
    LogicalAnd,
    BitAnd,
    LogicalOr,
    BitOr,
    LogicalXor,
    BitXor,
    MaxLoc,
    MinLoc,
}

/// The operator, its name in Open MPI's symbol, its handle in MPICH's ABI, and in the standard ABI.
const OPERATORS: [(Operator, &str, Handle, Handle); 12] = [
    (Operator::Max, "max", 0x5800_0001, 0x23),
    (Operator::Min, "min", 0x5800_0002, 0x22),
    (Operator::Sum, "sum", 0x5800_0003, 0x21),
    (Operator::Product, "prod", 0x5800_0004, 0x24),
    (Operator::LogicalAnd, "land", 0x5800_0005, 0x30),
    (Operator::BitAnd, "band", 0x5800_0006, 0x28),
    (Operator::LogicalOr, "lor", 0x5800_0007, 0x31),
    (Operator::BitOr, "bor", 0x5800_0008, 0x29),
    (Operator::LogicalXor, "lxor", 0x5800_0009, 0x32),
    (Operator::BitXor, "bxor", 0x5800_000a, 0x2a),
    (Operator::MinLoc, "minloc", 0x5800_000b, 0x38),
    (Operator::MaxLoc, "maxloc", 0x5800_000c, 0x39),
];

/// The operators of a family.
fn table(family: Family, symbols: &dyn Symbols) -> Table<Operator> {
    Table::new(OPERATORS.iter().filter_map(|row| {
        let (operator, name, mpich, standard) = *row;
        let handle = match family {
            Family::Mpich => mpich,
            Family::Standard => standard,
            Family::OpenMpi => {
                let symbol = CString::new(format!("ompi_mpi_op_{name}")).ok()?;
                symbols.shared_symbol(&symbol)? as usize
            }
        };
        Some((handle, operator))
    }))
}

impl Operator {
    /// The name that ranks compare.
    pub(crate) fn name(self) -> &'static str {
        let row = OPERATORS.iter().find(|row| row.0 == self);
        row.map_or("", |row| row.1)
    }

    /// Whether the standard (MPI 5.0, 6.9.2) lets this operator combine types of a class.
    pub(crate) fn combines(self, class: Class) -> bool {
        match self {
            Operator::Max | Operator::Min => matches!(
                class,
                Class::Integer | Class::FortranInteger | Class::Floating | Class::MultiLanguage
            ),
            Operator::Sum | Operator::Product => matches!(
                class,
                Class::Integer
                    | Class::FortranInteger
                    | Class::Floating
                    | Class::Complex
                    | Class::MultiLanguage
            ),
            Operator::LogicalAnd | Operator::LogicalOr | Operator::LogicalXor => {
                matches!(class, Class::Integer | Class::Logical)
            }
            Operator::BitAnd | Operator::BitOr | Operator::BitXor => matches!(
                class,
                Class::Integer | Class::FortranInteger | Class::Byte | Class::MultiLanguage
            ),
            Operator::MaxLoc | Operator::MinLoc => class == Class::Pair,
        }
    }
}

/// The predefined operators of collectives, and the handles of the others.
pub(super) fn tables(family: Family, symbols: &dyn Symbols) -> (Table<Operator>, Vec<Handle>) {
    (table(family, symbols), others(symbols))
}

/// The predefined operators of Open MPI that no collective takes.
fn others(symbols: &dyn Symbols) -> Vec<Handle> {
    let names = [
        c"ompi_mpi_op_null",
        c"ompi_mpi_op_replace",
        c"ompi_mpi_op_no_op",
    ];
    let address = |name| symbols.shared_symbol(name).map(|address| address as usize);
    names.into_iter().filter_map(address).collect()
}
