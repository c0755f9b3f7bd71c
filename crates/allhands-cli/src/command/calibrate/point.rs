//! A point: what was measured of messages of one length.

use super::solve::Terms;
use crate::command::paired::median;

/// What was measured of messages of one length, without what a call takes.
#[derive(Clone, Copy, Debug)]
pub struct Point {
    pub bytes: u64,
    pub terms: Terms,
}

/// Leaves a time as it is that lies between those of the next shorter and the next longer messages, and takes for any other the median
/// of it and of what lines through its neighbours say: what rises stays as it is, also by steps, and what one length was disturbed by is gone.
/// Hosts that share processors are disturbed often. The shortest one takes no longer than the median of the first three: every message of at most its
/// length goes by it.
pub fn steady(points: &mut [Point]) {
    let fields: [fn(&mut Terms) -> Option<&mut f64>; 6] = [
        |terms| Some(&mut terms.way_us),
        |terms| Some(&mut terms.scatter_us),
        |terms| Some(&mut terms.gather_us),
        |terms| Some(&mut terms.train_us),
        |terms| Some(&mut terms.shared_us),
        |terms| terms.burst_us.as_mut(),
    ];
    for field in fields {
        let each = points
            .iter_mut()
            .filter_map(|point| Some((point.bytes as f64, field(&mut point.terms)?)));
        let (lengths, mut each): (Vec<f64>, Vec<&mut f64>) = each.unzip();
        let times: Vec<f64> = each.iter().map(|time| **time).collect();
        for (at, time) in each.iter_mut().enumerate() {
            **time = among_neighbours(&lengths, &times, at);
        }
        if let ([first, ..], [_, _, _, ..]) = (&mut each[..], &times[..]) {
            **first = first.min(median(times[..3].iter().copied()));
        }
    }
}

/// What takes the place of a time.
fn among_neighbours(lengths: &[f64], times: &[f64], at: usize) -> f64 {
    const PAIRS: [[isize; 2]; 4] = [[-1, 1], [-2, 2], [-2, -1], [1, 2]];
    /// Of the second shortest, so that no neighbour has a part in more than two lines.
    const SECOND: [[isize; 2]; 4] = [[-1, 1], [-1, 2], [1, 3], [2, 3]];
    /// Of the longest, which has nothing behind it, and by which all longer ones go.
    const LAST: [[isize; 2]; 2] = [[-2, -1], [-3, -1]];
    let (here, is_last) = (times[at], at + 1 == times.len());
    let pairs = match at {
        _ if is_last => &LAST[..],
        1 if times.len() > 4 => &SECOND,
        _ => &PAIRS,
    };
    let place = |offset| {
        let place = at.checked_add_signed(offset);
        place.filter(|place| *place < times.len())
    };
    let pairs = pairs.iter();
    let pairs: Vec<(usize, usize)> = pairs
        .filter_map(|[one, other]| Some((place(*one)?, place(*other)?)))
        .collect();
    let is_between = |(before, after): (usize, usize)| {
        let (one, other) = (times[before], times[after]);
        (one.min(other)..=one.max(other)).contains(&here)
    };
    // With less than two lines, and of two neighbours that it lies between, it stays.
    if pairs.len() < 2 || (!is_last && is_between(pairs[0])) {
        return here;
    }
    let lines = pairs.into_iter().map(|(one, other)| {
        let part = (lengths[at] - lengths[one]) / (lengths[other] - lengths[one]);
        (times[one] + part * (times[other] - times[one])).max(0.0)
    });
    median(lines.chain([here]))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_one_length_was_disturbed_by_is_gone() {
        let point = |(at, shared_us): (usize, f64)| Point {
            bytes: 8 << at,
            terms: Terms {
                way_us: (1 << at) as f64,
                scatter_us: 1.0,
                gather_us: 1.0,
                train_us: 1.0,
                send_us: 0.0,
                exchange_us: 0.0,
                combine_us: 0.0,
                shared_us,
                burst_us: (at < 4).then(|| [70.0, 3.0, 4.0, 4.0][at]),
                turns_us: None,
                apart: None,
            },
        };
        let shared = [2.0, 2.0, 90.0, 3.0, 4.0, 0.1, 70.0];
        let mut points: Vec<Point> = shared.into_iter().enumerate().map(point).collect();
        steady(&mut points);
        let of = |time: fn(&Point) -> f64| points.iter().map(time).collect::<Vec<_>>();
        // What rises is as it was.
        assert_eq!(
            of(|p| p.terms.way_us),
            [1.0, 2.0, 4.0, 8.0, 16.0, 32.0, 64.0]
        );
        let steadied = of(|p| p.terms.shared_us);
        assert_eq!(steadied[..2], [2.0, 2.0]);
        assert!(steadied[6] < 10.0, "{steadied:?}");
        assert!(
            steadied[2..5].iter().all(|us| (1.9..6.0).contains(us)),
            "{steadied:?}"
        );
        assert!(steadied[5] > 4.0, "{steadied:?}");
        let bursts = points.iter().map(|point| point.terms.burst_us);
        let short = [4.0, 4.0, 4.0, 4.0].map(Some);
        assert!(bursts.eq(short.into_iter().chain([None; 3])));
    }

    #[test]
    fn steps_stay_and_what_is_missing_lies_between_its_neighbours() {
        let lengths: Vec<f64> = (3..12).map(|exponent| f64::from(1 << exponent)).collect();
        let line = |bytes: f64| 10.0 + bytes / 4.0;
        let steadied = |times: &[f64]| -> Vec<f64> {
            (0..times.len())
                .map(|at| among_neighbours(&lengths, times, at))
                .collect()
        };
        let step: Vec<f64> = lengths
            .iter()
            .map(|bytes| line(*bytes) + if *bytes > 100.0 { 500.0 } else { 0.0 })
            .collect();
        assert_eq!(steadied(&step), step);
        for wrong in [0.0, 0.4, 3.0] {
            let times: Vec<f64> = lengths.iter().map(|bytes| line(*bytes)).collect();
            for at in [2, 3, 5, 8] {
                let mut times = times.clone();
                times[at] *= wrong;
                let off = steadied(&times).into_iter().zip(&lengths);
                let off = off.map(|(us, bytes)| (us / line(*bytes) - 1.0).abs());
                assert!(off.fold(0.0, f64::max) < 1e-9, "{wrong} at {at}");
            }
        }
    }
}
