//! A point: what was measured of messages of one length.

use super::solve::Terms;

/// What was measured of messages of one length, in microseconds, without what a call takes.
#[derive(Clone, Copy, Debug)]
pub struct Point {
    pub bytes: u64,
    /// From one rank to another.
    pub way_us: f64,
    /// A further message to another peer, and from another one; of a train, where there is one peer alone.
    pub scatter_us: f64,
    pub gather_us: f64,
    /// A further message of a train.
    pub train_us: f64,
    /// A further message of rank 0, to its own end.
    pub send_us: f64,
    /// A pair that exchanges.
    pub exchange_us: f64,
    /// For how long each message of pairs that exchange has what they share, at both ends.
    pub shared_us: f64,
    /// The same as every rank exchanges with many, of short messages: a port has many long ones for longer.
    pub burst_us: Option<f64>,
}

impl Point {
    /// What parameters follow from.
    pub fn terms(&self) -> Terms {
        Terms {
            way_us: self.way_us,
            scatter_us: self.scatter_us,
            gather_us: self.gather_us,
            train_us: self.train_us,
            send_us: self.send_us,
            exchange_us: self.exchange_us,
            shared_us: self.shared_us,
            burst_us: self.burst_us,
        }
    }
}

/// Takes for each time the median of those at the five lengths around it: what rises steadily stays as it is, and what one of them was
/// disturbed by is gone. Hosts that share processors are disturbed often.
pub fn steady(points: &mut [Point]) {
    const AROUND: usize = 2;
    let fields: [fn(&mut Point) -> &mut f64; 5] = [
        |point| &mut point.way_us,
        |point| &mut point.scatter_us,
        |point| &mut point.gather_us,
        |point| &mut point.train_us,
        |point| &mut point.shared_us,
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
            way_us: (1 << at) as f64,
            scatter_us: 1.0,
            gather_us: 1.0,
            train_us: 1.0,
            send_us: 0.0,
            exchange_us: 0.0,
            shared_us,
            burst_us: None,
        };
        let shared = [2.0, 2.0, 90.0, 3.0, 4.0, 0.1, 70.0];
        let mut points: Vec<Point> = shared.into_iter().enumerate().map(point).collect();
        steady(&mut points);
        let of = |time: fn(&Point) -> f64| points.iter().map(time).collect::<Vec<_>>();
        // What rises is as it was.
        assert_eq!(of(|p| p.way_us), [1.0, 2.0, 4.0, 8.0, 16.0, 32.0, 64.0]);
        assert_eq!(of(|p| p.shared_us), [2.0, 2.0, 3.0, 3.0, 4.0, 4.0, 70.0]);
    }
}
