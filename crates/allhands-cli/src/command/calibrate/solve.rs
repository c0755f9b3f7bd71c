//! The solution: parameters that follow from what microbenchmarks take.

use crate::command::simulate::machine::cluster::LevelFile;

/// What was measured of messages of one length, in microseconds.
#[derive(Clone, Copy, Debug)]
pub struct Terms {
    /// One way: os(m) + L(m) + or(m), and twice what it shares.
    pub way_us: f64,
    /// A further one to another peer: the most of os(m) and g(m).
    pub scatter_us: f64,
    /// A further one from another peer: the most of or(m) and g(m).
    pub gather_us: f64,
    /// What each message has of what all share, at each end.
    pub shared_us: f64,
}

/// Adds what follows for messages of `bytes` bytes.
///
/// Of what a further message takes nobody can tell whether a processor or a port is busy. Of the shortest messages it is taken to be the
/// processor, half of the way at most; of longer ones the same, and the rest the port: o is as in LogGP, and g(m) what saturates.
pub fn push(file: &mut LevelFile, bytes: u64, terms: &Terms) {
    let own = |further_us: f64| (further_us - 2.0 * terms.shared_us).clamp(0.0, terms.way_us / 2.0);
    let first = |list: &[f64], us: f64| list.first().copied().unwrap_or(us);
    let (send_us, receive_us) = (
        first(&file.send_us, own(terms.scatter_us)).min(terms.way_us / 2.0),
        first(&file.receive_us, own(terms.gather_us)).min(terms.way_us / 2.0),
    );
    let latency_us = (terms.way_us - send_us - receive_us - 2.0 * terms.shared_us).max(0.0);
    let shared_us = terms
        .shared_us
        .min((terms.way_us - send_us - receive_us) / 2.0);
    let port_us = terms.scatter_us.max(terms.gather_us);
    let gap_us = match port_us > send_us.max(receive_us) {
        true => port_us.min(latency_us),
        false => 0.0,
    };
    file.bytes.push(bytes);
    file.send_us.push(rounded(send_us));
    file.receive_us.push(rounded(receive_us));
    file.latency_us.push(rounded(latency_us));
    file.gap_us.push(rounded(gap_us));
    file.shared_us.push(rounded(shared_us));
}

/// The line through points by least squares of relative errors: at 0, and its slope.
pub fn line(points: &[(f64, f64)]) -> (f64, f64) {
    let mut sums = [0.0; 5];
    for (x, y) in points {
        let weight = 1.0 / (y * y);
        let terms = [
            weight,
            weight * x,
            weight * x * x,
            weight * y,
            weight * x * y,
        ];
        sums.iter_mut()
            .zip(terms)
            .for_each(|(sum, term)| *sum += term);
    }
    let [w, wx, wxx, wy, wxy] = sums;
    let determinant = w * wxx - wx * wx;
    if determinant <= 0.0 {
        return (0.0, 0.0);
    }
    let (at_0, slope) = (
        (wxx * wy - wx * wxy) / determinant,
        (w * wxy - wx * wy) / determinant,
    );
    (at_0.max(0.0), slope.max(0.0))
}

/// To a picosecond, which is what machines' files are read to.
fn rounded(us: f64) -> f64 {
    (us * 1e6).round() / 1e6
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_is_found_again() {
        let points = [8.0, 64.0, 4096.0].map(|x| (x, 0.5 + 0.25 * x));
        let (at_0, slope) = line(&points);
        assert!((at_0 - 0.5).abs() < 1e-9 && (slope - 0.25).abs() < 1e-9);
        assert_eq!(line(&points[..1]), (0.0, 0.0));
    }
}
