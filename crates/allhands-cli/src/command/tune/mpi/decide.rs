//! The decision: which variant is measurably faster than the default, size by size, and where one gives way to another.

use super::kind::Kind;
use super::record::Cell;
use super::variant::DEFAULT;
use std::collections::BTreeMap;

/// The fewest rounds whose median has a 95 % interval.
pub const LEAST_ROUNDS: usize = 6;
/// What is gained less than this is not worth a rule.
const LEAST_GAIN: f64 = 1.02;
/// A variant that serves all sizes may lose so much in one, as far as few rounds can tell.
const MOST_LOSS: f64 = 0.97;

/// The bytes of an element.
const ELEMENT: u64 = 8;

/// The middle value, or the mean of the two in the middle.
pub fn median(values: &[f64]) -> Option<f64> {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    let half = sorted.len() / 2;
    match sorted.len() {
        0 => None,
        odd if odd % 2 == 1 => Some(sorted[half]),
        _ => Some(f64::midpoint(sorted[half - 1], sorted[half])),
    }
}

/// The default's time by another's, paired by round: above 1 the other is faster.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Ratio {
    pub median: f64,
    /// A 95 % interval of the median, or nothing known if there are too few rounds.
    pub interval: [f64; 2],
}

/// The ratio of two series of rounds; `None` if they have no round in common. No assumption on the distribution stands behind the
/// interval: two of the sorted ratios, as far inside as they cover the median with 95 % (the sign test).
pub fn ratio(default: &[Option<f64>], other: &[Option<f64>]) -> Option<Ratio> {
    let pairs = default.iter().zip(other);
    let both = pairs.filter_map(|(default, other)| Some((*default)? / (*other)?));
    let mut ratios: Vec<f64> = both.collect();
    ratios.sort_by(f64::total_cmp);
    let (count, median) = (ratios.len(), median(&ratios)?);
    let interval = match count < LEAST_ROUNDS {
        true => [0.0, f64::INFINITY],
        false => {
            let outside = left_out(count);
            [ratios[outside], ratios[count - 1 - outside]]
        }
    };
    Some(Ratio { median, interval })
}

/// How many of the sorted values may be left out at each end.
fn left_out(count: usize) -> usize {
    let half = 0.5_f64.powi(count as i32);
    let (mut outcomes, mut below) = (1.0, 0.0);
    for at in 0..count {
        below += outcomes * half;
        if below > 0.025 {
            return at.saturating_sub(1);
        }
        outcomes *= (count - at) as f64 / (at + 1) as f64;
    }
    0
}

/// What is chosen for a range of sizes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Range {
    /// The longest vector of the range in bytes; `None`: all that are longer.
    pub to: Option<u64>,
    /// A variant's name; `None`: the MPI's default.
    pub variant: Option<String>,
}

/// What is chosen, by collective; those for which the default stays everywhere are not there.
pub type Choices = BTreeMap<Kind, Vec<Range>>;

/// The ratio of a variant in a cell, if it may be used there.
pub fn gain(cell: &Cell, variant: &str) -> Option<Ratio> {
    let (default, other) = (cell.of(DEFAULT)?, cell.of(variant)?);
    match other.failed.is_some() {
        true => None,
        false => ratio(&default.us, &other.us),
    }
}

/// The variant with the highest ratio in a cell, with it, whether that is significant or not.
pub fn fastest(cell: &Cell) -> Option<(&str, Ratio)> {
    let others = cell.times.iter().filter(|times| times.variant != DEFAULT);
    let rated =
        others.filter_map(|times| Some((times.variant.as_str(), gain(cell, &times.variant)?)));
    rated.max_by(|a, b| a.1.median.total_cmp(&b.1.median))
}

/// The variant that is measurably the fastest, if one is faster than the default.
pub fn winner(cell: &Cell) -> Option<&str> {
    let others = cell.times.iter().map(|times| times.variant.as_str());
    let others = others.filter(|variant| *variant != DEFAULT);
    let rated = others.filter_map(|variant| Some((variant, gain(cell, variant)?)));
    let faster = rated.filter(|(_, ratio)| ratio.interval[0] > 1.0 && ratio.median >= LEAST_GAIN);
    let best = faster.max_by(|a, b| a.1.median.total_cmp(&b.1.median));
    best.map(|(variant, _)| variant)
}

/// Whether there was time for it.
fn is_measured(cell: &Cell) -> bool {
    let default = cell.of(DEFAULT);
    default.is_some_and(|times| times.us.iter().any(Option::is_some))
}

/// The one variant for all sizes: measurably faster in one of them, and in none slower, of those for which there was time.
fn for_all_sizes(cells: &[&Cell]) -> Option<String> {
    let cells: Vec<&Cell> = cells.iter().copied().filter(|c| is_measured(c)).collect();
    let mut best: Option<(f64, &str)> = None;
    for times in &cells.first()?.times {
        let variant = times.variant.as_str();
        let ratios: Option<Vec<Ratio>> = cells.iter().map(|cell| gain(cell, variant)).collect();
        let Some(ratios) = ratios.filter(|_| variant != DEFAULT) else {
            continue;
        };
        let is_safe = ratios
            .iter()
            .all(|r| r.median >= MOST_LOSS && r.interval[1] > 1.0);
        let is_faster = ratios
            .iter()
            .any(|r| r.interval[0] > 1.0 && r.median >= LEAST_GAIN);
        let sum: f64 = ratios.iter().map(|r| r.median.ln()).sum();
        if is_safe && is_faster && best.is_none_or(|(known, _)| sum > known) {
            best = Some((sum, variant));
        }
    }
    best.map(|(_, variant)| variant.to_string())
}

/// What is chosen of each collective; `is_one_for_all` says which can have one variant only, whatever the size.
pub fn choose(cells: &[Cell], is_one_for_all: impl Fn(Kind) -> bool) -> Choices {
    let mut choices = Choices::new();
    for kind in Kind::ALL {
        let mut own: Vec<&Cell> = cells.iter().filter(|cell| cell.kind == kind).collect();
        own.sort_by_key(|cell| cell.bytes);
        let ranges = match is_one_for_all(kind) {
            true => vec![Range {
                to: None,
                variant: for_all_sizes(&own),
            }],
            false => ranges(own.iter().map(|cell| (cell.bytes, winner(cell)))),
        };
        if ranges.iter().any(|range| range.variant.is_some()) {
            choices.insert(kind, ranges);
        }
    }
    choices
}

/// Ranges of sizes from what wins at some of them, in ascending order: they meet in the geometric middle, or behind
/// the single element.
pub fn ranges<'a>(winners: impl Iterator<Item = (u64, Option<&'a str>)>) -> Vec<Range> {
    let mut ranges: Vec<Range> = Vec::new();
    let mut before = 0_u64;
    for (bytes, winner) in winners {
        let variant = winner.map(str::to_string);
        match ranges.last_mut() {
            Some(last) if last.variant == variant => {}
            last => {
                if let Some(last) = last {
                    // What is best for one element, of which nothing can be parted, says nothing of more.
                    let middle = match before <= ELEMENT {
                        true => before,
                        false => (before as f64 * bytes as f64).sqrt() as u64,
                    };
                    last.to = Some(middle.clamp(before, bytes - 1));
                }
                ranges.push(Range { to: None, variant });
            }
        }
        before = bytes;
    }
    ranges
}

/// What is chosen for a size.
pub fn at(choices: &Choices, kind: Kind, bytes: u64) -> Option<&str> {
    let ranges = choices.get(&kind)?;
    let range = ranges
        .iter()
        .find(|range| range.to.is_none_or(|to| bytes <= to));
    range?.variant.as_deref()
}

#[cfg(test)]
mod tests {
    use super::super::record::Times;
    use super::*;

    fn cell(bytes: u64, variants: &[(&str, &[f64])]) -> Cell {
        let times = variants.iter().map(|(variant, us)| Times {
            variant: (*variant).to_string(),
            us: us.iter().copied().map(Some).collect(),
            failed: None,
        });
        Cell {
            kind: Kind::Bcast,
            bytes,
            times: times.collect(),
        }
    }

    const TEN: &[f64] = &[10.0; 6];

    #[test]
    fn the_interval_is_that_of_the_sign_test() {
        for (count, low) in [(6, 1), (8, 1), (9, 2), (11, 2), (12, 3), (15, 4), (20, 6)] {
            assert_eq!(left_out(count) + 1, low, "{count} rounds");
        }
        let default: Vec<Option<f64>> = (1..=6).map(|n| Some(f64::from(n))).collect();
        let other = [Some(1.0), None, Some(1.0), Some(1.0), Some(1.0), Some(1.0)];
        let few = ratio(&default, &other).unwrap();
        assert_eq!((few.median, few.interval), (4.0, [0.0, f64::INFINITY]));
        let all = ratio(&default, &[Some(2.0); 6]).unwrap();
        assert_eq!((all.median, all.interval), (1.75, [0.5, 3.0]));
        assert_eq!(ratio(&default, &[None; 6]), None);
    }

    #[test]
    fn only_what_is_measurably_faster_wins() {
        let sure = cell(8, &[(DEFAULT, TEN), ("a", &[8.0; 6]), ("b", &[7.0; 6])]);
        assert_eq!(winner(&sure), Some("b"));
        let now_and_then = cell(
            8,
            &[(DEFAULT, TEN), ("a", &[5.0, 5.0, 5.0, 5.0, 5.0, 11.0])],
        );
        assert_eq!(winner(&now_and_then), None);
        assert_eq!(fastest(&now_and_then).unwrap().0, "a");
        let few = cell(8, &[(DEFAULT, TEN), ("a", &[5.0; 5])]);
        assert_eq!(winner(&few), None);
        let hardly = cell(8, &[(DEFAULT, TEN), ("a", &[9.9; 6])]);
        assert_eq!(winner(&hardly), None);
        let mut wrong = cell(8, &[(DEFAULT, TEN), ("a", &[5.0; 6])]);
        wrong.times[1].failed = Some("its result is wrong".into());
        assert_eq!((winner(&wrong), fastest(&wrong)), (None, None));
    }

    #[test]
    fn ranges_meet_in_the_geometric_middle() {
        let a = |bytes| cell(bytes, &[(DEFAULT, TEN), ("a", &[5.0; 6])]);
        let none = cell(1 << 20, &[(DEFAULT, TEN), ("a", &[20.0; 6])]);
        let cells = [a(64), none, a(1 << 10)];
        let choices = choose(&cells, |_| false);
        let ranges = &choices[&Kind::Bcast];
        assert_eq!(ranges[0].to, Some(1 << 15));
        assert_eq!(ranges.len(), 2);
        assert_eq!(at(&choices, Kind::Bcast, 1 << 15), Some("a"));
        assert_eq!(at(&choices, Kind::Bcast, (1 << 15) + 1), None);
        assert_eq!(at(&choices, Kind::Reduce, 8), None);
        assert!(choose(&cells[1..2], |_| false).is_empty());
        let of_one = super::ranges([(8, Some("a")), (64, None)].into_iter());
        assert_eq!(of_one[0].to, Some(8));
    }

    #[test]
    fn one_for_all_sizes_loses_in_none() {
        let faster = cell(8, &[(DEFAULT, TEN), ("a", &[5.0; 6]), ("b", &[8.0; 6])]);
        let slower = cell(64, &[(DEFAULT, TEN), ("a", &[11.0; 6]), ("b", &[9.0; 6])]);
        let even = cell(64, &[(DEFAULT, TEN), ("a", TEN), ("b", &[9.0; 6])]);
        let chosen = |cells: &[Cell]| {
            let choices = choose(cells, |_| true);
            at(&choices, Kind::Bcast, 8).map(str::to_string)
        };
        assert_eq!(chosen(&[faster.clone(), slower]).as_deref(), Some("b"));
        // A size for which there was no time says nothing; one at which the default was measured alone does.
        let mut none = cell(1 << 20, &[(DEFAULT, &[]), ("a", &[]), ("b", &[])]);
        assert_eq!(
            chosen(&[faster.clone(), none.clone()]).as_deref(),
            Some("a")
        );
        none.times[0].us = vec![Some(10.0)];
        assert_eq!(chosen(&[faster.clone(), none]), None);
        // As long as the default in every round is no loss, but nothing is above 1 there either.
        assert_eq!(chosen(&[faster, even]).as_deref(), Some("b"));
    }
}
