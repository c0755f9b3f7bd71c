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
    /// A further one of a train to one peer: what saturates.
    pub train_us: f64,
    /// A further one until its sender has done its part: os(m), where it need not wait for its port.
    pub send_us: f64,
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
    let of_port = |us: f64| match us > send_us.max(receive_us) {
        true => us,
        false => 0.0,
    };
    let gap_us = of_port(port_us).min(latency_us);
    let saturated_us = of_port(terms.train_us);
    add(
        file,
        bytes,
        [
            send_us,
            receive_us,
            latency_us,
            gap_us,
            saturated_us,
            shared_us,
        ],
    );
}

/// The same where messages are copied by processors, and no port does anything: a sender's own end tells os(m), and a further message at
/// its receiver or(m), which is the greater of the two.
pub fn push_of_processors(file: &mut LevelFile, bytes: u64, terms: &Terms) {
    let way_us = terms.way_us;
    let send_us = terms.send_us.min(way_us);
    let receive_us = terms.gather_us.min(way_us - send_us);
    let rest_us = way_us - send_us - receive_us;
    // What messages share is of the way, even where two that go both ways take longer than twice of it.
    let shared_us = terms.shared_us.min(rest_us / 2.0);
    let latency_us = rest_us - 2.0 * shared_us;
    add(
        file,
        bytes,
        [
            send_us,
            receive_us,
            latency_us,
            0.0,
            terms.train_us,
            shared_us,
        ],
    );
}

fn add(file: &mut LevelFile, bytes: u64, times_us: [f64; 6]) {
    file.bytes.push(bytes);
    let columns = [
        &mut file.send_us,
        &mut file.receive_us,
        &mut file.latency_us,
        &mut file.gap_us,
        &mut file.gap_saturated_us,
        &mut file.shared_us,
    ];
    columns
        .into_iter()
        .zip(times_us)
        .for_each(|(column, us)| column.push(rounded(us)));
}

/// Times at some lengths, with lines between them.
pub struct Lines<'a>(pub &'a [u64], pub &'a [f64]);

impl Lines<'_> {
    /// The time at a length; beyond the first or the last length theirs.
    pub fn at(&self, bytes: u64) -> f64 {
        let Lines(lengths, times) = *self;
        let next = lengths.partition_point(|length| *length < bytes);
        match (next.checked_sub(1), lengths.get(next)) {
            (Some(before), Some(after)) => {
                let part = (bytes - lengths[before]) as f64 / (after - lengths[before]) as f64;
                times[before] + part * (times[next] - times[before])
            }
            (Some(before), None) => times[before],
            (None, _) => times.first().copied().unwrap_or(0.0),
        }
    }
}

/// The line through times at some lengths by least squares of relative errors: at 0, and its slope.
pub fn line(lengths: &[u64], times: &[f64]) -> (f64, f64) {
    let mut sums = [0.0; 5];
    for (bytes, y) in lengths.iter().zip(times) {
        let x = *bytes as f64;
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
        let lengths = [8, 64, 4096];
        let times = lengths.map(|bytes| 0.5 + 0.25 * bytes as f64);
        let (at_0, slope) = line(&lengths, &times);
        assert!((at_0 - 0.5).abs() < 1e-9 && (slope - 0.25).abs() < 1e-9);
        assert_eq!(line(&lengths[..1], &times), (0.0, 0.0));
        for bytes in [8, 24, 64, 1000] {
            let between = Lines(&lengths, &times).at(bytes);
            assert!((between - 0.5 - 0.25 * bytes as f64).abs() < 1e-9);
        }
        assert_eq!(Lines(&lengths, &times).at(1), times[0]);
        assert_eq!(Lines(&lengths, &times).at(9999), times[2]);
    }
}
