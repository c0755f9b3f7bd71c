//! Verification: a call that was served here is made once more by the native MPI, and the results are compared.

use crate::abi::Number;
use crate::buffer::{Part, packed, place};
use crate::library::Library;
use crate::takeover::{Here, Unserved};
use std::ffi::c_int;

/// What a call was about to write, and what stood there.
pub(crate) struct Witness {
    parts: Vec<Part>,
    before: Vec<u8>,
    /// The numbers that were combined, if any were.
    number: Option<Number>,
}

impl Witness {
    /// Looks at what is about to be written.
    pub(crate) fn new(
        here: &Here<'_>,
        parts: &[Part],
        number: Option<Number>,
    ) -> Result<Witness, Unserved> {
        Ok(Witness {
            parts: parts.to_vec(),
            before: packed(here, parts)?,
            number,
        })
    }
}

/// Makes the call once more and compares; the user's buffers then hold the native results.
pub(crate) fn verify(
    here: &Here<'_>,
    witness: Option<&Witness>,
    native: impl FnOnce(&Library) -> c_int,
) -> Result<(), Unserved> {
    let ours = match witness {
        Some(witness) => {
            let ours = packed(here, &witness.parts)?;
            place(here, &witness.parts, &witness.before)?;
            Some(ours)
        }
        None => None,
    };
    // Also a rank that gets nothing takes part in the native call.
    let error = native(here.library);
    if error != 0 {
        return Err(Unserved::Native(error));
    }
    let (Some(witness), Some(ours)) = (witness, ours) else {
        return Ok(());
    };
    let theirs = packed(here, &witness.parts)?;
    match first_difference(&ours, &theirs, witness.number) {
        None => Ok(()),
        Some(byte) => Err(Unserved::Differs(here.rank, byte)),
    }
}

/// The first byte of the first element in which results differ.
///
/// Sums and products of floating-point numbers may be combined in another order, so those are compared with the largest
/// magnitude of all: to 1e-4 of it in single and 1e-10 in double precision, which are chosen, not derived.
fn first_difference(ours: &[u8], theirs: &[u8], number: Option<Number>) -> Option<usize> {
    match number {
        Some(Number::F32 | Number::C32) => first_far(ours, theirs, 1e-4, |bytes: [u8; 4]| {
            f64::from(f32::from_ne_bytes(bytes))
        }),
        Some(Number::F64 | Number::C64) => first_far(ours, theirs, 1e-10, |bytes: [u8; 8]| {
            f64::from_ne_bytes(bytes)
        }),
        _ => ours
            .iter()
            .zip(theirs)
            .position(|(one, other)| one != other),
    }
}

/// The first byte of the first number that is farther off than `share` of the largest.
fn first_far<const N: usize>(
    ours: &[u8],
    theirs: &[u8],
    share: f64,
    number: impl Fn([u8; N]) -> f64,
) -> Option<usize> {
    let numbers = |bytes: &[u8]| -> Vec<f64> {
        let (chunks, _) = bytes.as_chunks::<N>();
        chunks.iter().map(|chunk| number(*chunk)).collect()
    };
    let (ours, theirs) = (numbers(ours), numbers(theirs));
    let finite = theirs.iter().map(|n| n.abs()).filter(|n| n.is_finite());
    let limit = share * finite.fold(0.0, f64::max);
    let is_near = |(one, other): (&f64, &f64)| {
        one == other || (one.is_nan() && other.is_nan()) || (one - other).abs() <= limit
    };
    let far = ours.iter().zip(&theirs).position(|pair| !is_near(pair));
    far.map(|index| index * N)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn bytes(numbers: &[f64]) -> Vec<u8> {
        numbers.iter().flat_map(|n| n.to_ne_bytes()).collect()
    }

    #[test]
    fn a_difference_is_found_and_rounding_is_none() {
        let right = bytes(&[1.0, 3.0, f64::NAN, f64::INFINITY]);
        let number = Some(Number::F64);
        let rounded = bytes(&[1.0 + 1e-14, 3.0, -f64::NAN, f64::INFINITY]);
        assert_eq!(first_difference(&rounded, &right, number), None);
        let wrong = bytes(&[1.0, 3.1, f64::NAN, f64::INFINITY]);
        assert_eq!(first_difference(&wrong, &right, number), Some(8));
        let infinite = bytes(&[1.0, 3.0, f64::NAN, 7.0]);
        assert_eq!(first_difference(&infinite, &right, number), Some(24));
        assert_eq!(first_difference(&[1, 2, 3], &[1, 2, 4], None), Some(2));
        assert_eq!(
            first_difference(&[1, 2, 3], &[1, 2, 3], Some(Number::U8)),
            None
        );
    }
}
