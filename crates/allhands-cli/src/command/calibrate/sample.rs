//! Samples: what was measured of one question, and what it could have been by chance.

use crate::command::bench::cell::Record;

/// How often what was measured is drawn again.
pub const DRAWS: usize = 200;

/// A time, in microseconds, and how certain it is.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Sample {
    /// The median of how long it takes until all ranks are done.
    pub us: f64,
    /// The same until rank 0 is.
    pub own_us: f64,
    /// Half of the interval that has it in 95 of 100 cases: 1.57 times the distance of the quartiles by the root of how many there are
    /// (McGill, Tukey, Larsen 1978).
    pub more_or_less_us: f64,
    /// Both medians as they could have been (the bootstrap: of as many times, each drawn from all); none where all are the same.
    pub drawn_us: Vec<[f64; 2]>,
}

/// What one run of calls gave, in memory of its own.
#[derive(Clone, Debug)]
pub struct Run {
    us: f64,
    own_us: f64,
    more_or_less_us: f64,
    iterations: usize,
    /// Some of the times that all ranks took, and of rank 0's, rising.
    spread_us: [Vec<f64>; 2],
}

impl Run {
    /// Of a record.
    pub fn of(record: &Record) -> Run {
        let iterations = record.iterations;
        Run {
            us: record.median_us,
            own_us: record.first_us,
            more_or_less_us: 1.57 * (record.q3_us - record.q1_us) / (iterations as f64).sqrt(),
            iterations,
            spread_us: record.spread_us.clone(),
        }
    }

    /// The medians if the calls had been others of the same kind. Which of n rising times is the median of n that are drawn from them is
    /// almost normal, around the middle with a deviation of half the root of n.
    fn drawn(&self, dice: &mut Dice) -> [f64; 2] {
        let place = 0.5 + dice.normal() * 0.5 / (self.iterations.max(1) as f64).sqrt();
        self.spread_us.each_ref().map(|times| {
            let at = place.clamp(0.0, 1.0) * times.len().saturating_sub(1) as f64;
            times.get(at.round() as usize).copied().unwrap_or(f64::NAN)
        })
    }
}

impl Sample {
    /// The median of what was found each time, and how far the times were from one another: of several the interval that has theirs.
    pub fn of(runs: &[Run]) -> Sample {
        let of = |time: fn(&Run) -> f64| rising(runs.iter().map(time));
        let (us, own_us, within) = (of(|s| s.us), of(|s| s.own_us), of(|s| s.more_or_less_us));
        let middle = runs.len() / 2;
        let [first, last] = [us.len() / 4, us.len() - 1 - us.len() / 4].map(|at| us[at]);
        let between_us = 1.57 * (last - first) / (us.len() as f64).sqrt();
        let mut dice = Dice::default();
        let drawn_us = (0..DRAWS).map(|_| {
            let runs: Vec<[f64; 2]> = (0..runs.len())
                .map(|_| runs[dice.below(runs.len())].drawn(&mut dice))
                .collect();
            [0, 1].map(|which| rising(runs.iter().map(|run| run[which]))[middle])
        });
        Sample {
            us: us[middle],
            own_us: own_us[middle],
            more_or_less_us: within[middle].max(between_us),
            drawn_us: drawn_us.collect(),
        }
    }

    /// As it could have been.
    pub fn drawn(&self, draw: usize) -> Sample {
        let [us, own_us] = self
            .drawn_us
            .get(draw)
            .copied()
            .unwrap_or([self.us, self.own_us]);
        Sample {
            us,
            own_us,
            ..Sample::default()
        }
    }
}

/// The values in rising order.
pub fn rising(values: impl Iterator<Item = f64>) -> Vec<f64> {
    let mut values: Vec<f64> = values.collect();
    values.sort_by(f64::total_cmp);
    values
}

/// Numbers by chance, the same each time (xorshift).
#[derive(Debug)]
struct Dice(u64);

impl Default for Dice {
    fn default() -> Dice {
        Dice(0x9e37_79b9_7f4a_7c15)
    }
}

impl Dice {
    /// From 0 to 1.
    fn unit(&mut self) -> f64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 >> 11) as f64 / (1_u64 << 53) as f64
    }

    fn below(&mut self, many: usize) -> usize {
        ((self.unit() * many as f64) as usize).min(many - 1)
    }

    /// Around 0, with a deviation of 1: the sum of twelve.
    fn normal(&mut self) -> f64 {
        (0..12).map(|_| self.unit()).sum::<f64>() - 6.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn run(middle_us: f64, iterations: usize) -> Run {
        // Evenly from half to one and a half of the middle.
        let times = (0..101).map(|at| middle_us * (0.5 + f64::from(at) / 100.0));
        let times: Vec<f64> = times.collect();
        Run {
            us: middle_us,
            own_us: middle_us / 2.0,
            more_or_less_us: 0.0,
            iterations,
            spread_us: [times.clone(), times.iter().map(|us| us / 2.0).collect()],
        }
    }

    #[test]
    fn medians_are_as_uncertain_as_so_many_times_make_them() {
        for iterations in [25, 400] {
            let sample = Sample::of(&[run(10.0, iterations)]);
            let drawn = rising(sample.drawn_us.iter().map(|[us, _]| *us));
            let (low, high) = (drawn[5], drawn[194]);
            // Of even times over 10 µs the median of n has a deviation of 5 µs by the root of n.
            let width = 2.0 * 1.96 * 5.0 / (iterations as f64).sqrt();
            assert!(
                ((high - low) / width - 1.0).abs() < 0.25,
                "{low} to {high}, and not {width}"
            );
            assert!(low < 10.0 && high > 10.0);
            let is_half = |[us, own_us]: &[f64; 2]| (us / own_us - 2.0).abs() < 1e-9;
            assert!(sample.drawn_us.iter().all(is_half));
        }
    }

    #[test]
    fn runs_that_differ_are_drawn_as_well() {
        let sample = Sample::of(&[10.0, 20.0, 30.0].map(|us| run(us, 1_000_000)));
        assert_eq!(sample.us, 20.0);
        let drawn = rising(sample.drawn_us.iter().map(|[us, _]| *us));
        assert!((drawn[5] - 10.0).abs() < 0.2 && (drawn[194] - 30.0).abs() < 0.2);
    }
}
