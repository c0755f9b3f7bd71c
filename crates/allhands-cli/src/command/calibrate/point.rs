//! A point: what was measured of messages of one length.

use super::solve::Terms;
use crate::command::paired::median;

/// What was measured of messages of one length, without what a call takes.
#[derive(Clone, Copy, Debug)]
pub struct Point {
    pub bytes: u64,
    pub terms: Terms,
}

/// Takes for each time the median of those at the five lengths around it: what rises steadily stays as it is, and what one of them was
/// disturbed by is gone. Hosts that share processors are disturbed often. The shortest one takes no longer than the median of the first three:
/// every message of at most its length goes by it.
pub fn steady(points: &mut [Point]) {
    const AROUND: usize = 2;
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
            .filter_map(|point| field(&mut point.terms));
        let mut each: Vec<&mut f64> = each.collect();
        let times: Vec<f64> = each.iter().map(|time| **time).collect();
        for (at, time) in each.iter_mut().enumerate() {
            let around = AROUND.min(at).min(times.len() - 1 - at);
            **time = median(times[at - around..=at + around].iter().copied());
        }
        if let ([first, ..], [_, _, _, ..]) = (&mut each[..], &times[..]) {
            **first = first.min(median(times[..3].iter().copied()));
        }
    }
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
        assert_eq!(
            of(|p| p.terms.shared_us),
            [2.0, 2.0, 3.0, 3.0, 4.0, 4.0, 70.0]
        );
        let bursts = points.iter().map(|point| point.terms.burst_us);
        let short = [4.0, 4.0, 4.0, 4.0].map(Some);
        assert!(bursts.eq(short.into_iter().chain([None; 3])));
    }
}
