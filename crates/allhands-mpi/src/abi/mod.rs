//! The ABI: what handles and constants look like in the MPI that the process has loaded.
//!
//! It owns the handles, constants and predefined types and operators of each ABI, as tables, and what Fortran has of them. Every
//! other room asks it. It never calls the MPI: what stands in variables of a library is read by who hands in a way to find them.

mod combiner;
mod fortran;
mod operators;
mod symbols;
mod table;
mod types;

pub(crate) use combiner::Combiner;
pub(crate) use fortran::Fortran;
pub(crate) use operators::Operator;
pub(crate) use symbols::Symbols;
pub(crate) use types::{Class, Coding, Named, Number};

use std::ffi::{CStr, c_int};
use table::Table;

/// A handle as it is passed in a register: an `int` of MPICH's ABI or a pointer.
pub(crate) type Handle = usize;

/// An array of types' handles in a user's memory.
#[derive(Clone, Copy)]
pub(crate) enum Handles {
    /// As C has them.
    C(*const u8),
    /// As Fortran has them: numbers.
    Fortran(*const c_int),
}

impl Handles {
    /// Whether there is none.
    pub(crate) fn is_null(self) -> bool {
        match self {
            Handles::C(array) => array.is_null(),
            Handles::Fortran(array) => array.is_null(),
        }
    }
}

/// Which family of headers a program was compiled with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Family {
    /// MPICH and what keeps to its ABI, such as Intel MPI: handles are numbers of 32 bits.
    Mpich,
    /// Open MPI: handles are addresses of objects.
    OpenMpi,
    /// The standard ABI of MPI 5: handles are pointers, those of predefined objects small numbers.
    Standard,
}

/// The constants of an ABI.
pub(crate) struct Abi {
    pub(crate) family: Family,
    /// The bits of a register that are the handle.
    mask: usize,
    pub(crate) comm_world: Handle,
    pub(crate) comm_self: Handle,
    pub(crate) comm_null: Handle,
    pub(crate) datatype_null: Handle,
    pub(crate) info_null: Handle,
    pub(crate) errors_return: Handle,
    /// The handlers that end the program.
    pub(crate) errors_are_fatal: [Handle; 2],
    pub(crate) byte: Handle,
    /// `MPI_IN_PLACE`, an address.
    pub(crate) in_place: usize,
    pub(crate) comm_type_shared: c_int,
    pub(crate) order_c: c_int,
    /// The rank that is nobody.
    pub(crate) proc_null: c_int,
    pub(crate) err_truncate: c_int,
    pub(crate) err_other: c_int,
    /// `None` where Fortran comes through the C names.
    pub(crate) fortran: Option<Fortran>,
    tables: Tables,
}

/// What predefined handles are.
struct Tables {
    types: Table<Named>,
    operators: Table<Operator>,
    /// Predefined handles of operators that no collective takes.
    other_operators: Vec<Handle>,
}

impl Tables {
    fn of(family: Family, symbols: &dyn Symbols) -> Tables {
        let (operators, other_operators) = operators::tables(family, symbols);
        Tables {
            types: types::table(family, symbols),
            operators,
            other_operators,
        }
    }
}

impl Abi {
    /// The ABI of a loaded MPI of this family; `None` if it lacks names that every one has.
    pub(crate) fn of(family: Family, symbols: &dyn Symbols) -> Option<Abi> {
        let number = |name: &CStr| symbols.shared_symbol(name).map(|at| at as usize);
        let tables = Tables::of(family, symbols);
        Some(match family {
            Family::Mpich => Abi {
                family,
                mask: 0xffff_ffff,
                comm_world: 0x4400_0000,
                comm_self: 0x4400_0001,
                comm_null: 0x0400_0000,
                datatype_null: 0x0c00_0000,
                info_null: 0x1c00_0000,
                errors_return: 0x5400_0001,
                errors_are_fatal: [0x5400_0000, 0x5400_0003],
                byte: 0x4c00_010d,
                in_place: usize::MAX,
                comm_type_shared: 1,
                order_c: 56,
                proc_null: -1,
                err_truncate: 14,
                err_other: 15,
                fortran: None,
                tables,
            },
            Family::OpenMpi => Abi {
                family,
                mask: usize::MAX,
                comm_world: number(c"ompi_mpi_comm_world")?,
                comm_self: number(c"ompi_mpi_comm_self")?,
                comm_null: number(c"ompi_mpi_comm_null")?,
                datatype_null: number(c"ompi_mpi_datatype_null")?,
                info_null: number(c"ompi_mpi_info_null")?,
                errors_return: number(c"ompi_mpi_errors_return")?,
                // The second came with MPI 4.
                errors_are_fatal: [c"ompi_mpi_errors_are_fatal", c"ompi_mpi_errors_abort"]
                    .map(|name| number(name).unwrap_or_default()),
                byte: number(c"ompi_mpi_byte")?,
                in_place: 1,
                comm_type_shared: 0,
                order_c: 0,
                proc_null: -2,
                err_truncate: 15,
                err_other: 16,
                fortran: Fortran::of(symbols, 1),
                tables,
            },
            Family::Standard => Abi {
                family,
                mask: usize::MAX,
                comm_world: 0x101,
                comm_self: 0x102,
                comm_null: 0x100,
                datatype_null: 0x200,
                info_null: 0x130,
                errors_return: 0x143,
                // What the second of MPI 4 is, libraries do not agree on.
                errors_are_fatal: [0x141, 0x141],
                byte: 0x247,
                in_place: 1,
                comm_type_shared: 221,
                order_c: 12,
                proc_null: -3,
                err_truncate: 15,
                err_other: 16,
                fortran: None,
                tables,
            },
        })
    }

    /// A handle without what a register holds besides.
    #[inline]
    pub(crate) fn handle(&self, register: usize) -> Handle {
        register & self.mask
    }

    /// The handle at a place of an array of handles.
    ///
    /// # Safety
    /// The array has so many.
    pub(crate) unsafe fn handle_at(&self, array: Handles, index: usize) -> Handle {
        match (array, self.family) {
            // SAFETY: the caller's promise; handles are numbers of 32 bits.
            (Handles::C(array), Family::Mpich) => unsafe {
                array.cast::<u32>().add(index).read() as usize
            },
            // SAFETY: as above; handles are pointers.
            (Handles::C(array), Family::OpenMpi | Family::Standard) => unsafe {
                array.cast::<usize>().add(index).read()
            },
            (Handles::Fortran(array), _) => {
                // SAFETY: as above.
                let handle = unsafe { array.add(index).read() };
                let fortran = self.fortran.as_ref();
                fortran.map_or(self.datatype_null, |fortran| fortran.datatype(handle))
            }
        }
    }

    /// Puts a handle into a variable of C.
    ///
    /// # Safety
    /// There is room for one.
    pub(crate) unsafe fn store(&self, handle: Handle, into: *mut u8) {
        match self.family {
            // SAFETY: the caller's promise; handles are numbers of 32 bits.
            Family::Mpich => unsafe { into.cast::<u32>().write(handle as u32) },
            // SAFETY: as above; handles are pointers.
            Family::OpenMpi | Family::Standard => unsafe { into.cast::<usize>().write(handle) },
        }
    }

    /// What a predefined type is; `None` for derived ones.
    #[inline]
    pub(crate) fn named(&self, datatype: Handle) -> Option<&Named> {
        self.tables.types.get(datatype)
    }

    /// Which predefined operator this is; `None` for the user's own, and for what is none.
    #[inline]
    pub(crate) fn operator(&self, operator: Handle) -> Option<Operator> {
        self.tables.operators.get(operator).copied()
    }

    /// Whether an operator that is not predefined can be the user's own.
    pub(crate) fn is_users_operator(&self, operator: Handle) -> bool {
        match self.family {
            // Two bits say where the object is, which for a user's is not in the handle, and four that it is an operator.
            Family::Mpich => operator >> 30 >= 2 && operator >> 26 & 0xf == 6,
            Family::OpenMpi => !self.tables.other_operators.contains(&operator),
            // Predefined handles are numbers that are no address.
            Family::Standard => operator >= 0x1000,
        }
    }

    /// How a derived type was made, by the MPI's number for it.
    pub(crate) fn combiner(&self, number: c_int) -> Option<Combiner> {
        Combiner::of(self.family, number)
    }

    /// Whether a buffer's address says that the data is in the other one.
    #[inline]
    pub(crate) fn is_in_place(&self, address: *const u8) -> bool {
        address as usize == self.in_place
    }
}
