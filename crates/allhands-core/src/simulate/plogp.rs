//! PLogP's times (C 3.1): overheads and gap are tables over sizes, and a message takes L + g(m) from end to end.
//!
//! The gap covers what both processors do: the sender's overhead lies at its start, the receiver's at its end. So two messages
//! leave a rank g(m) apart, and one is taken in at L + g(m) from the moment at which its sender begins. Nobody takes in what is put into a window: it is
//! there that much earlier.

use super::flat::Times;
use super::network::Work;
use super::time::Linear;
use alloc::vec::Vec;
use core::fmt;

/// A time for every length: some are given, and between two of them it changes evenly.
///
/// Below the first it is that of the first, beyond the last it grows as between the last two, or stays if it fell there.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Curve {
    /// Lengths in bytes, rising, and their times in picoseconds.
    points: Vec<(u64, u64)>,
}

/// Why there is no such curve, or no such times.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum CurveError {
    /// A curve without points.
    Empty,
    /// A length that is not more than the one before it.
    NotRising {
        /// The length.
        bytes: u64,
    },
    /// A gap that is less than an overhead, which it covers.
    GapTooShort {
        /// The length.
        bytes: u64,
    },
}

impl fmt::Display for CurveError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            CurveError::Empty => write!(f, "no point is given; one is enough"),
            CurveError::NotRising { bytes } => write!(
                f,
                "the length {bytes} is not more than the one before it; lengths rise"
            ),
            CurveError::GapTooShort { bytes } => write!(
                f,
                "with {bytes} bytes the gap is less than an overhead; it covers both processors' overheads, each alone"
            ),
        }
    }
}

impl core::error::Error for CurveError {}

impl Curve {
    /// A curve through points, each a length in bytes and a time in picoseconds.
    ///
    /// # Errors
    /// [`CurveError`], of the points alone.
    pub fn new(points: Vec<(u64, u64)>) -> Result<Curve, CurveError> {
        if points.is_empty() {
            return Err(CurveError::Empty);
        }
        for pair in points.windows(2) {
            let (bytes, _) = pair[1];
            if bytes <= pair[0].0 {
                return Err(CurveError::NotRising { bytes });
            }
        }
        Ok(Curve { points })
    }

    /// The time for `bytes` bytes, in picoseconds, rounded to whole ones: up where it rises.
    #[must_use]
    pub fn of(&self, bytes: u64) -> u64 {
        let after = self.points.partition_point(|(length, _)| *length < bytes);
        let (left, right) = match (after, self.points.len()) {
            (0, _) | (_, 1) => return self.points[0].1,
            (after, many) => {
                let right = after.min(many - 1);
                (self.points[right - 1], self.points[right])
            }
        };
        let part = |change: u64| {
            let part = u128::from(change) * u128::from(bytes - left.0);
            part.div_ceil(u128::from(right.0 - left.0)) as u64
        };
        match right.1.checked_sub(left.1) {
            Some(rise) => left.1 + part(rise),
            None if bytes > right.0 => right.1,
            None => left.1 - part(left.1 - right.1),
        }
    }

    /// The lengths that are given.
    fn lengths(&self) -> impl Iterator<Item = u64> + '_ {
        self.points.iter().map(|(bytes, _)| *bytes)
    }
}

/// PLogP's parameters but the latency, with what local work takes.
#[derive(Clone, Debug)]
pub struct PLogP {
    send: Curve,
    receive: Curve,
    gap: Curve,
    copy: Linear,
    reduce: Linear,
}

impl PLogP {
    /// Times with os(m), or(m) and g(m); a copy and a reduction take what is said.
    ///
    /// # Errors
    /// [`CurveError::GapTooShort`] where the gap is less than an overhead, at a length that one of the curves gives.
    pub fn new(
        [send, receive, gap]: [Curve; 3],
        copy: Linear,
        reduce: Linear,
    ) -> Result<PLogP, CurveError> {
        let lengths = send
            .lengths()
            .chain(receive.lengths())
            .chain(gap.lengths())
            // Beyond the last point curves go on as they rise there.
            .chain([1 << 40]);
        for bytes in lengths {
            if gap.of(bytes) < send.of(bytes).max(receive.of(bytes)) {
                return Err(CurveError::GapTooShort { bytes });
            }
        }
        Ok(PLogP {
            send,
            receive,
            gap,
            copy,
            reduce,
        })
    }
}

impl Times for PLogP {
    fn takes_ps(&self, work: Work) -> u64 {
        match work {
            // A get's request has nothing of what it asks for.
            Work::Get { .. } | Work::Notify { .. } => self.send.of(0),
            Work::Send { bytes, .. } | Work::Put { bytes, .. } => self.send.of(bytes),
            Work::Receive { bytes, .. } => self.receive.of(bytes),
            Work::Copy { bytes } => self.copy.of(bytes),
            Work::Reduce { bytes } | Work::Combine { bytes, .. } => self.reduce.of(bytes),
        }
    }

    fn gap_ps(&self, bytes: u64) -> u64 {
        self.gap.of(bytes)
    }

    fn inside_gap_ps(&self, bytes: u64) -> (u64, u64) {
        (self.send.of(bytes), self.receive.of(bytes))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::vec;

    fn curve(points: &[(u64, u64)]) -> Curve {
        Curve::new(points.to_vec()).expect("it rises")
    }

    #[test]
    fn between_points_a_time_grows_evenly_and_beyond_them_as_before() {
        let times = curve(&[(8, 100), (16, 200), (116, 250)]);
        let of = |bytes| times.of(bytes);
        assert_eq!([of(0), of(8), of(9), of(12)], [100, 100, 113, 150]);
        assert_eq!([of(16), of(18), of(116), of(136)], [200, 201, 250, 260]);
        // Where a protocol ends that costs more.
        let falls = curve(&[(0, 10), (10, 60), (20, 30)]);
        let of = |bytes| falls.of(bytes);
        assert_eq!([of(10), of(11), of(20), of(21)], [60, 57, 30, 30]);
        let one = curve(&[(8, 100)]);
        assert_eq!([one.of(0), one.of(1 << 30)], [100, 100]);
    }

    #[test]
    fn what_is_no_curve_is_named() {
        assert_eq!(Curve::new(vec![]), Err(CurveError::Empty));
        let bytes = 4;
        let equal = Curve::new(vec![(4, 1), (4, 2)]);
        assert_eq!(equal, Err(CurveError::NotRising { bytes }));
        let [send, gap] = [curve(&[(0, 5), (4, 9)]), curve(&[(0, 6), (8, 10)])];
        let none = Linear::default();
        let error = PLogP::new([send.clone(), send, gap], none, none).unwrap_err();
        assert_eq!(error, CurveError::GapTooShort { bytes });
    }
}
