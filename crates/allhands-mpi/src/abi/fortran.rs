//! Fortran: what its handles and special addresses are in C, where the MPI's Fortran does not come through the C names.

use super::Handle;
use super::symbols::Symbols;
use std::ffi::{CStr, c_int, c_void};

/// A function that makes a handle of a Fortran one.
type Convert = unsafe extern "C" fn(c_int) -> Handle;

/// The Fortran of Open MPI, whose bindings call the profiling names themselves.
pub(crate) struct Fortran {
    comm_f2c: Convert,
    type_f2c: Convert,
    op_f2c: Convert,
    /// The addresses of the variables that stand for `MPI_IN_PLACE`, one for each way to spell a common block.
    in_place: [usize; 4],
    /// The same for `MPI_BOTTOM`.
    bottom: [usize; 4],
    /// `MPI_IN_PLACE` of C.
    c_in_place: usize,
}

const IN_PLACE: [&CStr; 4] = [
    c"mpi_fortran_in_place_",
    c"mpi_fortran_in_place",
    c"mpi_fortran_in_place__",
    c"MPI_FORTRAN_IN_PLACE",
];
const BOTTOM: [&CStr; 4] = [
    c"mpi_fortran_bottom_",
    c"mpi_fortran_bottom",
    c"mpi_fortran_bottom__",
    c"MPI_FORTRAN_BOTTOM",
];

impl Fortran {
    /// What an Open MPI has; `None` if it was built without Fortran.
    pub(super) fn of(symbols: &dyn Symbols, c_in_place: usize) -> Option<Fortran> {
        let convert = |name: &CStr| {
            let address = symbols.symbol(name)?;
            // SAFETY: the standard says that a function of this name takes a number and gives a handle.
            Some(unsafe { std::mem::transmute::<*mut c_void, Convert>(address) })
        };
        // A variable that is not there has no address that a user could hand in.
        let addresses = |names: [&CStr; 4]| {
            names.map(|name| symbols.shared_symbol(name).map_or(0, |at| at as usize))
        };
        let (in_place, bottom) = (addresses(IN_PLACE), addresses(BOTTOM));
        in_place.iter().any(|address| *address != 0).then_some(())?;
        Some(Fortran {
            comm_f2c: convert(c"PMPI_Comm_f2c")?,
            type_f2c: convert(c"PMPI_Type_f2c")?,
            op_f2c: convert(c"PMPI_Op_f2c")?,
            in_place,
            bottom,
            c_in_place,
        })
    }

    /// The handle of a communicator.
    #[inline]
    pub(crate) fn communicator(&self, handle: c_int) -> Handle {
        // SAFETY: looks a number up, and gives a null handle for one that is none.
        unsafe { (self.comm_f2c)(handle) }
    }

    /// The handle of a type.
    #[inline]
    pub(crate) fn datatype(&self, handle: c_int) -> Handle {
        // SAFETY: as above.
        unsafe { (self.type_f2c)(handle) }
    }

    /// The handle of an operator.
    #[inline]
    pub(crate) fn operator(&self, handle: c_int) -> Handle {
        // SAFETY: as above.
        unsafe { (self.op_f2c)(handle) }
    }

    /// The address of a buffer, as C would hand it in.
    #[inline]
    pub(crate) fn address(&self, buffer: *const u8) -> *const u8 {
        let address = buffer as usize;
        if address == 0 {
            buffer
        } else if self.in_place.contains(&address) {
            self.c_in_place as *const u8
        } else if self.bottom.contains(&address) {
            std::ptr::null()
        } else {
            buffer
        }
    }
}
