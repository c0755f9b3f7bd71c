//! Verification: a call that was served here is made once more by the native MPI, and the results are compared.

use super::here::Here;
use crate::buffer::part::{Packer, Part, packed, place};
use crate::context::library::Library;
use crate::context::unserved::Unserved;
use crate::datatype::Likeness;
use std::ffi::c_int;

/// What a call was about to write, and what stood there.
pub(crate) struct Witness {
    parts: Vec<Part>,
    before: Vec<u8>,
    likeness: Likeness,
}

impl Witness {
    /// Looks at what is about to be written.
    pub(crate) fn new(
        packer: Packer<'_>,
        parts: &[Part],
        likeness: Likeness,
    ) -> Result<Witness, Unserved> {
        Ok(Witness {
            parts: parts.to_vec(),
            before: packed(packer, parts)?,
            likeness,
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
            let ours = packed(here.packer(), &witness.parts)?;
            place(here.packer(), &witness.parts, &witness.before)?;
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
    let theirs = packed(here.packer(), &witness.parts)?;
    match first_difference(&ours, &theirs, witness.likeness) {
        None => Ok(()),
        Some(byte) => Err(Unserved::Differs(here.rank, byte)),
    }
}

/// The first byte of the first element in which results differ.
fn first_difference(ours: &[u8], theirs: &[u8], likeness: Likeness) -> Option<usize> {
    match likeness {
        Likeness::Exact => first_unequal(ours, theirs, |_| true),
        Likeness::Any => None,
        Likeness::Single => first_far(ours, theirs, 1e-4, |bytes: [u8; 4]| {
            f64::from(f32::from_ne_bytes(bytes))
        }),
        Likeness::Double => first_far(ours, theirs, 1e-10, f64::from_ne_bytes),
        Likeness::Long => first_far(ours, theirs, 1e-10, extended),
        // Of sixteen bytes ten are the number's; four for the index follow.
        Likeness::LongPair => first_unequal(ours, theirs, |at| !(10..16).contains(&(at % 20))),
    }
}

/// The first byte that differs, among those that mean something.
fn first_unequal(ours: &[u8], theirs: &[u8], means: impl Fn(usize) -> bool) -> Option<usize> {
    let mut pairs = ours.iter().zip(theirs).enumerate();
    pairs.find_map(|(at, (one, other))| (one != other && means(at)).then_some(at))
}

/// The value of a `long double`, rounded: a sign, fifteen bits of exponent, and a significand with its first bit.
fn extended(bytes: [u8; 16]) -> f64 {
    let bits = u128::from_ne_bytes(bytes);
    let (significand, exponent) = (bits as u64, (bits >> 64) as i32 & 0x7fff);
    let magnitude = match (exponent, significand << 1) {
        (0x7fff, 0) => f64::INFINITY,
        (0x7fff, _) => f64::NAN,
        _ => significand as f64 * 2f64.powi(exponent - 16383 - 63),
    };
    if bits >> 79 & 1 == 1 {
        -magnitude
    } else {
        magnitude
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
        let double = Likeness::Double;
        let rounded = bytes(&[1.0 + 1e-14, 3.0, -f64::NAN, f64::INFINITY]);
        assert_eq!(first_difference(&rounded, &right, double), None);
        let wrong = bytes(&[1.0, 3.1, f64::NAN, f64::INFINITY]);
        assert_eq!(first_difference(&wrong, &right, double), Some(8));
        assert_eq!(first_difference(&wrong, &right, Likeness::Any), None);
        let infinite = bytes(&[1.0, 3.0, f64::NAN, 7.0]);
        assert_eq!(first_difference(&infinite, &right, double), Some(24));
        let exact = Likeness::Exact;
        assert_eq!(first_difference(&[1, 2, 3], &[1, 2, 4], exact), Some(2));
        assert_eq!(first_difference(&[1, 2, 3], &[1, 2, 3], exact), None);
    }

    #[test]
    fn long_doubles_are_read_and_their_padding_is_not() {
        let long = |exponent: u128, significand: u64, padding: u128| {
            (padding << 80 | exponent << 64 | u128::from(significand)).to_ne_bytes()
        };
        let one = long(16383, 1 << 63, 0);
        assert_eq!(extended(one), 1.0);
        assert_eq!(extended(long(1 << 15 | 16384, 3 << 62, 5)), -3.0);
        assert_eq!(extended(long(0, 0, 7)), 0.0);
        assert!(extended(long(0x7fff, 3 << 62, 0)).is_nan());
        assert_eq!(extended(long(0x7fff, 1 << 63, 0)), f64::INFINITY);
        let same = long(16383, 1 << 63, 99);
        assert_eq!(first_difference(&one, &same, Likeness::Long), None);
        let pair = |number: [u8; 16], index: u32| [&number[..], &index.to_ne_bytes()].concat();
        let kind = Likeness::LongPair;
        assert_eq!(first_difference(&pair(one, 3), &pair(same, 3), kind), None);
        assert_eq!(
            first_difference(&pair(one, 3), &pair(same, 4), kind),
            Some(16)
        );
    }
}
