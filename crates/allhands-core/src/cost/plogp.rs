//! The extended PLogP model (C 3.1): latency, gap and contention as tables over the length of a message.

use alloc::vec::Vec;

/// A time that was measured at some lengths.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Measured {
    /// Length in bytes, and time in microseconds; by rising length.
    points: Vec<(u64, f64)>,
}

impl Measured {
    /// From points in any order; of those of one length the first counts.
    #[must_use]
    pub fn new(mut points: Vec<(u64, f64)>) -> Measured {
        points.sort_by_key(|point| point.0);
        points.dedup_by_key(|point| point.0);
        Measured { points }
    }

    /// The time at a length, in microseconds: on the line between the measured ones around it, on that of the last two beyond
    /// them, and below the shortest like that one. 0 if nothing was measured.
    #[must_use]
    pub fn at_us(&self, bytes: f64) -> f64 {
        let above = self.points.partition_point(|point| point.0 as f64 <= bytes);
        let upper = above.min(self.points.len().saturating_sub(1));
        let Some(&(to, to_us)) = self.points.get(upper) else {
            return 0.0;
        };
        let Some(&(from, from_us)) = upper.checked_sub(1).and_then(|at| self.points.get(at)) else {
            return to_us;
        };
        if above == 0 {
            return to_us;
        }
        let slope = (to_us - from_us) / (to - from) as f64;
        from_us + slope * (bytes - from as f64)
    }
}

/// What messages between two ranks take: on a chip, or between chips.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Way {
    /// L(m): an address and the data, half of a round trip with both (C 3.3, figure 3 b); overheads included.
    pub latency: Measured,
    /// L(1): a notification of 16 bytes, half of a round trip (C 3.3, figure 3 a); overheads included.
    pub notice_us: f64,
    /// g(m): how much later a further message from the same rank is there.
    pub gap: Measured,
    /// gAck: how much later a further acknowledgement to the same rank is there.
    pub acknowledgement_gap_us: f64,
}

impl Way {
    /// L(m) + L(1): the data and an acknowledgement, a round of C 4's patterns, in microseconds.
    #[must_use]
    pub fn round_us(&self, bytes: f64) -> f64 {
        self.latency.at_us(bytes) + self.notice_us
    }
}

/// The parameters of a machine of one or two Cells (C 3.1, 3.3).
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ExtendedPlogp {
    /// os: what issuing a DMA takes; part of L.
    pub send_us: f64,
    /// or: nothing, as receiving is part of the DMA (C 3.3).
    pub receive_us: f64,
    /// L, g where a single chip takes part.
    pub single: Way,
    /// L1, g1: inside a chip, where two take part.
    pub inside: Way,
    /// L2, g2: between two chips.
    pub between: Way,
    /// C(m, n), by n: how much longer n messages across the BIF take than two.
    pub contention: Vec<(u32, Measured)>,
    /// γ: the time to reduce a byte.
    pub gamma_us_per_byte: f64,
}

impl ExtendedPlogp {
    /// Messages up to this length meet no contention (C 4).
    pub const FREE_BYTES: f64 = 256.0;

    /// C(m > 256) for n messages across the BIF; of the numbers that were measured, the next that is not below n counts.
    #[must_use]
    pub fn contention_us(&self, bytes: f64, messages: u32) -> f64 {
        if bytes <= ExtendedPlogp::FREE_BYTES || messages <= 2 {
            return 0.0;
        }
        let enough = self.contention.iter().find(|(n, _)| *n >= messages);
        enough.map_or(0.0, |(_, measured)| measured.at_us(bytes))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::vec;

    #[test]
    fn between_points_lies_a_line() {
        let measured = Measured::new(vec![(64, 3.0), (16, 1.0), (128, 4.0)]);
        let times = [1.0, 16.0, 40.0, 64.0, 96.0, 192.0].map(|bytes| measured.at_us(bytes));
        assert_eq!(times, [1.0, 1.0, 2.0, 3.0, 3.5, 5.0]);
        assert_eq!(Measured::default().at_us(5.0), 0.0);
        assert_eq!(Measured::new(vec![(8, 2.0)]).at_us(99.0), 2.0);
    }

    #[test]
    fn short_messages_and_few_ones_meet_no_contention() {
        let flat = |us| Measured::new(vec![(1, us)]);
        let machine = ExtendedPlogp {
            contention: vec![(4, flat(1.0)), (16, flat(5.0))],
            ..ExtendedPlogp::default()
        };
        let found = [(256.0, 16), (257.0, 2), (257.0, 3), (257.0, 4), (257.0, 14)];
        let found = found.map(|(bytes, n)| machine.contention_us(bytes, n));
        assert_eq!(found, [0.0, 0.0, 1.0, 1.0, 5.0]);
    }
}
