//! Combiners: how a derived type was made, as each ABI numbers it.

use super::Family;
use std::ffi::c_int;

/// What made a type, where its map can be made of what it was made of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Combiner {
    Named,
    Dup,
    Contiguous,
    Vector,
    Hvector,
    Indexed,
    Hindexed,
    IndexedBlock,
    HindexedBlock,
    Struct,
    Subarray,
    Resized,
    /// A Fortran number of some precision or range: as good as named.
    Fortran,
}

use Combiner::{
    Contiguous, Dup, Fortran, Hindexed, HindexedBlock, Hvector, Indexed, IndexedBlock, Named,
    Resized, Struct, Subarray, Vector,
};

/// Those of the standard ABI, from its lowest number on.
const STANDARD: (c_int, [Option<Combiner>; 16]) = (
    101,
    [
        Some(Named),
        Some(Dup),
        Some(Contiguous),
        Some(Vector),
        Some(Hvector),
        Some(Indexed),
        Some(Hindexed),
        Some(IndexedBlock),
        Some(HindexedBlock),
        Some(Struct),
        Some(Subarray),
        // A distributed array is left to the MPI.
        None,
        Some(Fortran),
        Some(Fortran),
        Some(Fortran),
        Some(Resized),
    ],
);

/// Those of MPICH and Open MPI, which number from 1 and from 0, in the order in which MPI grew; what of MPI 1 had integers for
/// addresses nobody makes any more.
const GROWN: [Option<Combiner>; 19] = [
    Some(Named),
    Some(Dup),
    Some(Contiguous),
    Some(Vector),
    None,
    Some(Hvector),
    Some(Indexed),
    None,
    Some(Hindexed),
    Some(IndexedBlock),
    None,
    Some(Struct),
    Some(Subarray),
    None,
    Some(Fortran),
    Some(Fortran),
    Some(Fortran),
    Some(Resized),
    Some(HindexedBlock),
];

impl Combiner {
    /// What a number of an ABI means.
    pub(super) fn of(family: Family, number: c_int) -> Option<Combiner> {
        let (lowest, all) = match family {
            Family::Standard => (STANDARD.0, &STANDARD.1[..]),
            Family::Mpich => (1, &GROWN[..]),
            Family::OpenMpi => (0, &GROWN[..]),
        };
        let index = usize::try_from(number.checked_sub(lowest)?).ok()?;
        *all.get(index)?
    }

    /// Whether types of this kind are the MPI's own, and not to be freed.
    pub(crate) fn is_predefined(self) -> bool {
        matches!(self, Named | Fortran)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_those_of_the_headers() {
        let number = |family, number| Combiner::of(family, number);
        // MPI_COMBINER_STRUCT and MPI_COMBINER_HINDEXED_BLOCK.
        assert_eq!(number(Family::Mpich, 12), Some(Struct));
        assert_eq!(number(Family::OpenMpi, 11), Some(Struct));
        assert_eq!(number(Family::Standard, 110), Some(Struct));
        assert_eq!(number(Family::Mpich, 19), Some(HindexedBlock));
        assert_eq!(number(Family::OpenMpi, 18), Some(HindexedBlock));
        assert_eq!(number(Family::Standard, 109), Some(HindexedBlock));
        assert_eq!(number(Family::Standard, 116), Some(Resized));
        // MPI_COMBINER_DARRAY, and none.
        assert_eq!(number(Family::Mpich, 14), None);
        assert_eq!(number(Family::OpenMpi, -1), None);
        assert_eq!(number(Family::Standard, 0), None);
    }
}
