//! A point: what was measured of messages of one length.

use super::solve::Terms;

/// What was measured of messages of one length, without what a call takes.
#[derive(Clone, Copy, Debug)]
pub struct Point {
    pub bytes: u64,
    pub terms: Terms,
}

/// Takes for each time the median of those at the five lengths around it: what rises steadily stays as it is, and what one of them was
/// disturbed by is gone. Hosts that share processors are disturbed often.
pub fn steady(points: &mut [Point]) {
    const AROUND: usize = 2;
    let fields: [fn(&mut Point) -> &mut f64; 5] = [
        |point| &mut point.terms.way_us,
        |point| &mut point.terms.scatter_us,
        |point| &mut point.terms.gather_us,
        |point| &mut point.terms.train_us,
        |point| &mut point.terms.shared_us,
    ];
    for field in fields {
        let times: Vec<f64> = points.iter_mut().map(|point| *field(point)).collect();
        for (at, point) in points.iter_mut().enumerate() {
            let around = AROUND.min(at).min(times.len() - 1 - at);
            let mut near = times[at - around..=at + around].to_vec();
            near.sort_by(f64::total_cmp);
            *field(point) = near[around];
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
                burst_us: None,
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
    }
}
