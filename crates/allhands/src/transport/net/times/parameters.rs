//! The parameters of a network: LogGP's, as numbers, and as the text `latency_us=500,overhead_us=5,byte_ns=40`.

use std::fmt;
use std::str::FromStr;

/// LogGP's parameters of a network, and what processors add (C 3.1).
///
/// ```
/// use allhands::policy::NetworkTimes;
///
/// let times: NetworkTimes = "latency_us=500,overhead_us=5,byte_ns=40".parse()?;
/// assert_eq!((times.latency_ns, times.long_overhead_ns), (500_000.0, 5_000.0));
/// assert_eq!(times.to_string().parse(), Ok(times));
/// # Ok::<(), allhands::policy::TimesError>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct NetworkTimes {
    /// L: the time of a message on its way, in nanoseconds.
    pub latency_ns: f64,
    /// o: what a processor does for a message it sends or receives, in nanoseconds.
    pub overhead_ns: f64,
    /// o of a message of more than [`SHORT_BYTES`](NetworkTimes::SHORT_BYTES), in nanoseconds: it may be announced, granted and acknowledged.
    pub long_overhead_ns: f64,
    /// o of a short message while every node sends and receives several, in nanoseconds: hosts may share processors.
    pub burst_overhead_ns: f64,
    /// g: how long a message of no bytes keeps an interface busy, in nanoseconds.
    pub gap_ns: f64,
    /// G: how much longer for each byte, in nanoseconds.
    pub byte_ns: f64,
    /// For a processor to combine a byte, in nanoseconds.
    pub reduce_byte_ns: f64,
}

/// Why a text says no parameters of a network.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "{wrong}; right would be latency_us=500,overhead_us=5,byte_ns=40, with long_overhead_us, burst_overhead_us, gap_us and reduce_byte_ns if they are known"
)]
pub struct TimesError {
    wrong: String,
}

/// A parameter in a text: its name there, how many nanoseconds its unit has, and what it is if the text does not say it.
struct Key {
    name: &'static str,
    unit_ns: f64,
    otherwise: Otherwise,
}

/// What a parameter is that a text leaves out.
enum Otherwise {
    /// The text must say it.
    Missing,
    /// Another parameter, by its place.
    SameAs(usize),
    /// A number of nanoseconds.
    Ns(f64),
}

/// In the order of [`NetworkTimes::numbers`].
const KEYS: [Key; NetworkTimes::NUMBERS] = {
    const fn key(name: &'static str, unit_ns: f64, otherwise: Otherwise) -> Key {
        Key {
            name,
            unit_ns,
            otherwise,
        }
    }
    [
        key("latency_us", 1e3, Otherwise::Missing),
        key("overhead_us", 1e3, Otherwise::Missing),
        key("long_overhead_us", 1e3, Otherwise::SameAs(1)),
        key("burst_overhead_us", 1e3, Otherwise::SameAs(1)),
        key("gap_us", 1e3, Otherwise::Ns(0.0)),
        key("byte_ns", 1.0, Otherwise::Missing),
        // About what a core does with vectors in its cache.
        key("reduce_byte_ns", 1.0, Otherwise::Ns(0.1)),
    ]
};

impl NetworkTimes {
    /// The longest message that is short, in bytes: what our TCP copies; MPIs and libfabric's providers have their limits from 4 to 64 KB.
    pub const SHORT_BYTES: u64 = 8 << 10;

    /// How many numbers they are.
    pub const NUMBERS: usize = 7;

    /// As numbers, to be told to others.
    #[must_use]
    pub fn numbers(&self) -> [f64; NetworkTimes::NUMBERS] {
        [
            self.latency_ns,
            self.overhead_ns,
            self.long_overhead_ns,
            self.burst_overhead_ns,
            self.gap_ns,
            self.byte_ns,
            self.reduce_byte_ns,
        ]
    }

    /// What was told; none if any of it is not a number.
    #[must_use]
    pub fn of_numbers(numbers: [f64; NetworkTimes::NUMBERS]) -> Option<NetworkTimes> {
        let [
            latency_ns,
            overhead_ns,
            long_overhead_ns,
            burst_overhead_ns,
            gap_ns,
            byte_ns,
            reduce_byte_ns,
        ] = numbers;
        let is_told = numbers.iter().all(|number| number.is_finite());
        is_told.then_some(NetworkTimes {
            latency_ns,
            overhead_ns,
            long_overhead_ns,
            burst_overhead_ns,
            gap_ns,
            byte_ns,
            reduce_byte_ns,
        })
    }
}

impl fmt::Display for NetworkTimes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (place, (key, ns)) in KEYS.iter().zip(self.numbers()).enumerate() {
            let comma = if place > 0 { "," } else { "" };
            // A thousandth of the unit is less than any of it is known by.
            let number = (ns / key.unit_ns * 1e3).round() / 1e3;
            write!(f, "{comma}{}={number}", key.name)?;
        }
        Ok(())
    }
}

impl FromStr for NetworkTimes {
    type Err = TimesError;

    fn from_str(text: &str) -> Result<NetworkTimes, TimesError> {
        let wrong = |wrong: String| TimesError { wrong };
        let mut said = [None; NetworkTimes::NUMBERS];
        for part in text.split(',') {
            let (name, number) = part
                .trim()
                .split_once('=')
                .ok_or_else(|| wrong(format!("'{part}' is not NAME=NUMBER")))?;
            let place = KEYS
                .iter()
                .position(|key| key.name == name)
                .ok_or_else(|| wrong(format!("a network has no '{name}'")))?;
            let parsed = number.parse().ok();
            let number = parsed
                .filter(|number: &f64| number.is_finite() && *number >= 0.0)
                .ok_or_else(|| wrong(format!("{name} is no time: '{number}'")))?;
            if said[place].replace(number * KEYS[place].unit_ns).is_some() {
                return Err(wrong(format!("{name} is said twice")));
            }
        }
        let mut numbers = [0.0; NetworkTimes::NUMBERS];
        for (place, key) in KEYS.iter().enumerate() {
            numbers[place] = match (said[place], &key.otherwise) {
                (Some(ns), _) => ns,
                (None, Otherwise::Ns(ns)) => *ns,
                (None, Otherwise::SameAs(other)) => numbers[*other],
                (None, Otherwise::Missing) => {
                    return Err(wrong(format!("{} is missing", key.name)));
                }
            };
        }
        NetworkTimes::of_numbers(numbers).ok_or_else(|| wrong("it is too much".to_string()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_no_number_is_not_told() {
        let mut numbers = [1.0; NetworkTimes::NUMBERS];
        numbers[3] = f64::NAN;
        assert_eq!(NetworkTimes::of_numbers(numbers), None);
    }

    #[test]
    fn what_is_printed_can_be_read() {
        let times =
            NetworkTimes::of_numbers([501_234.0, 4_321.0, 9_000.0, 71_000.0, 120.0, 40.016, 0.083]);
        let times = times.expect("these are numbers");
        assert_eq!(
            times.to_string(),
            "latency_us=501.234,overhead_us=4.321,long_overhead_us=9,burst_overhead_us=71,gap_us=0.12,byte_ns=40.016,reduce_byte_ns=0.083"
        );
        let read: NetworkTimes = times.to_string().parse().expect("it was printed");
        for (read, printed) in read.numbers().iter().zip(times.numbers()) {
            assert!((read - printed).abs() < 1e-6 * printed, "{read} {printed}");
        }
    }

    #[test]
    fn what_is_wrong_is_named() {
        for (text, named) in [
            ("", "'' is not NAME=NUMBER"),
            ("latency_us", "'latency_us' is not NAME=NUMBER"),
            ("latency=5", "a network has no 'latency'"),
            ("latency_us=5 us", "latency_us is no time: '5 us'"),
            ("latency_us=-1", "latency_us is no time: '-1'"),
            ("latency_us=inf", "latency_us is no time: 'inf'"),
            ("latency_us=1,latency_us=2", "latency_us is said twice"),
            ("latency_us=1,byte_ns=2", "overhead_us is missing"),
        ] {
            let error = text.parse::<NetworkTimes>().expect_err(text).to_string();
            assert!(error.contains(named), "{text}: {error}");
        }
    }
}
