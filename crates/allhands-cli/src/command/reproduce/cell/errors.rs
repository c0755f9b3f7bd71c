//! How far predictions are from what is simulated: shares below C's limits, and the greatest.

/// What C counts errors below: figure 11's 1 %, and 7.2's 10 % and 15 %.
pub const LIMITS: [f64; 3] = [0.01, 0.10, 0.15];

/// The error of a prediction, as a part of what is simulated (C 7.2: "compared to the actual execution time").
pub fn error(predicted: f64, simulated: f64) -> f64 {
    (predicted - simulated).abs() / simulated
}

/// Errors, counted.
#[derive(Clone, Debug, Default)]
pub struct Errors {
    all: u32,
    below: [u32; LIMITS.len()],
    greatest: f64,
    /// Where the greatest is.
    place: String,
}

impl Errors {
    /// The head over the columns of [`Errors::say`], behind `what`.
    pub fn head(what: &str) -> String {
        let limits = LIMITS.map(|limit| format!("{:>9}", format!("< {:.0} %", limit * 100.0)));
        format!(
            "{what:<66}{:>8}{}{:>11}",
            "points",
            limits.concat(),
            "greatest"
        )
    }

    /// Counts one more.
    pub fn add(&mut self, error: f64, place: impl FnOnce() -> String) {
        self.all += 1;
        for (count, limit) in self.below.iter_mut().zip(LIMITS) {
            *count += u32::from(error < limit);
        }
        if error > self.greatest {
            self.greatest = error;
            self.place = place();
        }
    }

    /// How many there are.
    #[cfg(test)]
    pub fn all(&self) -> u32 {
        self.all
    }

    /// How many are not below C's largest error.
    pub fn missed(&self) -> u32 {
        self.all - self.below[LIMITS.len() - 1]
    }

    /// The share below a limit, by its number, in percent.
    pub fn percent_below(&self, limit: usize) -> f64 {
        f64::from(self.below[limit]) * 100.0 / f64::from(self.all)
    }

    /// The greatest, in percent.
    pub fn greatest_percent(&self) -> f64 {
        self.greatest * 100.0
    }

    /// A line: how many there are, how many are below each limit, and the greatest, of `what`.
    pub fn say(&self, what: &str) -> String {
        let below = self.below.map(|count| format!("{count:>9}"));
        let Errors { all, place, .. } = self;
        let greatest = self.greatest_percent();
        format!(
            "{what:<66}{all:>8}{}{greatest:>9.1} %  {place}",
            below.concat()
        )
        .trim_end()
        .to_string()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn errors_are_parts_of_what_is_simulated() {
        assert_eq!([error(3.0, 2.0), error(1.0, 2.0)], [0.5, 0.5]);
    }

    #[test]
    fn a_limit_counts_what_is_below_it() {
        let mut errors = Errors::default();
        for (place, error) in [0.001, 0.1, 0.12, 0.15, 1.4].into_iter().enumerate() {
            errors.add(error, || place.to_string());
        }
        let shares = [0, 1, 2].map(|limit| errors.percent_below(limit));
        assert_eq!(shares, [20.0, 20.0, 60.0]);
        assert_eq!((errors.all(), errors.missed()), (5, 2));
        assert_eq!(
            (errors.greatest_percent(), errors.place.as_str()),
            (140.0, "4")
        );
    }
}
