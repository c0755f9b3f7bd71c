//! The solution: parameters that follow from what microbenchmarks take.

use crate::command::paired::median;
use crate::command::simulate::machine::cluster::LevelFile;

/// What was measured of messages of one length, in microseconds.
#[derive(Clone, Copy, Debug, Default)]
pub struct Terms {
    /// One way: os(m) + L(m) + or(m), and twice what it shares.
    pub way_us: f64,
    /// A further one to another peer: the most of os(m) and g(m); of a train, where there is one peer alone, here and below.
    pub scatter_us: f64,
    /// A further one from another peer: the most of or(m) and g(m).
    pub gather_us: f64,
    /// A further one of a train to one peer: what saturates.
    pub train_us: f64,
    /// A further one until its sender has done its part: os(m), where it need not wait for its port.
    pub send_us: f64,
    /// Two that are exchanged, until both ranks have theirs.
    pub exchange_us: f64,
    /// What combining what comes adds to the way, where processors copy messages.
    pub combine_us: f64,
    /// What each message has of what all share, at each end, as each rank has one alone: no less than to wake one.
    pub shared_us: f64,
    /// The same as each rank has many, where that was measured.
    pub burst_us: Option<f64>,
    /// One from each of two peers at once, each of which is answered, where that was measured.
    pub turns_us: Option<f64>,
    /// What tells processors from ports, where that was measured.
    pub apart: Option<Apart>,
}

/// What tells what processors do of messages of one length from what ports do, in microseconds.
#[derive(Clone, Copy, Debug, Default)]
pub struct Apart {
    /// A further one to another peer when the one before has left: os(m) and g(m), or os(m) alone where a processor need not wait for its port.
    pub steps_us: f64,
    /// A further one that a peer passes on: the most of os(m) + or(m) and g(m).
    pub relay_us: f64,
}

impl Terms {
    /// More by this much is clear.
    const CLEARLY: f64 = 1.1;

    /// Whether it is ports that further messages wait for: these go both ways at once, so passing one on takes no longer than one end does.
    fn waits_for_ports(&self) -> bool {
        let ends_us = self.scatter_us + self.gather_us;
        self.apart
            .is_some_and(|apart| apart.relay_us < 0.75 * ends_us)
    }

    /// What processors do of a message: os(m) and or(m), half of the way at most.
    ///
    /// Of what a further message takes nobody can tell by itself whether a processor or a port is busy, but it is no longer than to one
    /// peer or to another. It is the processors' unless it is clear that it is ports'. Then a sender's processor is seen where it does
    /// something before its port has the next one, and a receiver's is taken to do as much, if there is time for it on the way.
    fn processors_us(&self) -> [f64; 2] {
        let own = |further_us: f64| {
            let further_us = further_us.min(self.train_us);
            (further_us - 2.0 * self.shared_us).clamp(0.0, self.way_us / 2.0)
        };
        let most_us = [self.scatter_us, self.gather_us].map(own);
        let Some(apart) = self.apart.filter(|_| self.waits_for_ports()) else {
            return most_us;
        };
        let send_us = match apart.steps_us > Terms::CLEARLY * self.scatter_us {
            true => (apart.steps_us - self.scatter_us).min(most_us[0]),
            false => 0.0,
        };
        let left_us = self.way_us - self.scatter_us.max(self.gather_us);
        [send_us, send_us.min((left_us - send_us).max(0.0))]
    }
}

/// What a message has of what all share, at each end, where each of so many ranks sends to so many others at once, and one more for each rank
/// takes `each_us`.
///
/// If all have been sent when the first one comes, the end waits for the sending of one more for each rank, and otherwise for both ends of these.
/// Where that changes between the burst of one and that of many, the former ends when its last has come, by `ranks` parts and the way, and
/// the latter when both ends of all are done, `2 · ranks · others` parts.
pub fn burst_us(each_us: f64, way_us: f64, (ranks, others): (u32, u32)) -> f64 {
    let (ranks, others) = (f64::from(ranks), f64::from(others));
    let (one_end_us, both_ends_us) = (each_us / ranks, each_us / (2.0 * ranks));
    if ranks * others * one_end_us <= way_us {
        one_end_us
    } else if ranks * both_ends_us >= way_us {
        both_ends_us
    } else {
        ((others - 1.0) * each_us + way_us) / (ranks * (2.0 * others - 1.0) + 1.0)
    }
}

/// How long it takes to wake a rank, one after another: what short messages share if each rank has one, where that is more
/// than if each has many; otherwise 0, as none sleeps, or messages keep processors busy for longer.
pub fn wake_us(all: &[Terms]) -> f64 {
    /// By so many times at least, as both are uncertain.
    const MORE: f64 = 1.1;
    let measured = || all.iter().filter(|terms| terms.burst_us.is_some());
    let one_us = median(measured().map(|terms| terms.shared_us));
    let many_us = median(measured().filter_map(|terms| terms.burst_us));
    match one_us > MORE * many_us {
        true => rounded(one_us),
        false => 0.0,
    }
}

/// How long the messages of each length have what all share, at each end, where it takes `wake_us` to wake a rank: as bursts show, in
/// which all are awake, or if each rank has one. Of those that wake one for as long or longer nobody can tell then, so they are taken to lie
/// on lines between the others.
pub fn messages_us(lengths: &[u64], all: &[Terms], wake_us: f64) -> Vec<f64> {
    /// By so many times longer is it clearly the message that counts.
    const CLEARLY: f64 = 1.5;
    let known = |terms: &Terms| match terms.burst_us {
        Some(burst_us) => Some(burst_us.min(terms.shared_us)),
        None if wake_us == 0.0 => Some(terms.shared_us),
        None => (terms.shared_us > CLEARLY * wake_us).then_some(terms.shared_us),
    };
    let found = lengths.iter().zip(all);
    let found = found.filter_map(|(bytes, terms)| Some((*bytes, known(terms)?)));
    let (lengths_known, known_us): (Vec<u64>, Vec<f64>) = found.unzip();
    let lines = Lines(&lengths_known, &known_us);
    lengths.iter().map(|bytes| lines.at(*bytes)).collect()
}

/// Whether messages that come to a port at once are interleaved: both of two are answered after two gaps then, by turns the first one of them
/// after one.
pub fn interleaves(gaps_us: &[f64], all: &[Terms]) -> bool {
    let asked = gaps_us.iter().zip(all);
    let further = asked.filter_map(|(gap_us, terms)| {
        let further_us = terms.turns_us? - 2.0 * terms.way_us;
        (*gap_us > 0.0).then_some(further_us / gap_us)
    });
    median(further) > 1.5
}

/// os and or of a level's short messages, in microseconds: each the median of all lengths, as one alone is uncertain.
pub fn overheads(short: &[Terms]) -> [f64; 2] {
    [0, 1].map(|end| median(short.iter().map(|terms| terms.processors_us()[end])))
}

/// os and or of messages of one length, by those of short ones: more, if the messages are copied.
fn own_us(terms: &Terms, short_us: [f64; 2]) -> [f64; 2] {
    /// So many times as much is no copy if it is not clear that ports are waited for.
    const MOST: f64 = 1.5;
    let own_us = terms.processors_us();
    [0, 1].map(|end| {
        let least_us = short_us[end].min(terms.way_us / 2.0);
        match (terms.apart, terms.waits_for_ports()) {
            (None, _) => least_us,
            (Some(_), true) => own_us[end].max(least_us),
            (Some(_), false) => own_us[end].clamp(least_us, least_us * MOST),
        }
    })
}

/// Adds what follows for messages of `bytes` bytes, by what processors do of short ones, os and or: what does not fit into their part is the
/// port's, g(m), what saturates.
pub fn push(file: &mut LevelFile, bytes: u64, terms: &Terms, short_us: [f64; 2]) {
    let (wake_us, shared_us) = (file.wake_us, terms.shared_us);
    let [send_us, receive_us] = own_us(terms, short_us);
    let rest_us = (terms.way_us - send_us - receive_us - wake_us).max(0.0);
    let latency_us = (rest_us - 2.0 * shared_us).max(0.0);
    let shared_us = shared_us.min(rest_us / 2.0);
    // Further messages to other peers wait for these to be woken, which is no port's.
    let port_us = match wake_us > 0.0 && terms.scatter_us <= wake_us {
        true => terms.gather_us,
        false => terms.scatter_us.max(terms.gather_us),
    };
    // A port that has a message for less than a processor is seen where that waits for it.
    let steps_us = terms.apart.map_or(0.0, |apart| apart.steps_us);
    let hidden_us = match steps_us > Terms::CLEARLY * terms.scatter_us {
        true => (steps_us - send_us).max(0.0),
        false => 0.0,
    };
    let of_port = |us: f64| match us > send_us.max(receive_us) {
        true => us,
        false => hidden_us.min(us),
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
    // Processors that copy for one another at once go by another protocol.
    file.exchange_us.push(rounded(terms.exchange_us));
    file.combine_us.push(rounded(terms.combine_us));
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
    fn messages_are_interleaved_where_answers_wait_for_all_of_them() {
        let found = |turns_us: [Option<f64>; 4]| {
            let terms = turns_us.map(|turns_us| Terms {
                way_us: 10.0,
                turns_us,
                ..Terms::default()
            });
            interleaves(&[0.0, 8.0, 8.0, 8.0], &terms)
        };
        let (turns, interleaved) = (Some(28.5), Some(35.5));
        assert!(!found([None; 4]));
        // Nobody waits for a port that nothing has.
        assert!(!found([interleaved, None, turns, None]));
        assert!(!found([None, turns, turns, interleaved]));
        assert!(found([None, interleaved, turns, interleaved]));
    }

    #[test]
    fn bursts_tell_what_is_shared_however_long_they_are() {
        // The end of a burst of `many` for each of 13 ranks, of whom a message has 6 µs at each end.
        let end_us = |way_us: f64, many: f64| {
            let sent_us = 13.0 * many * 6.0;
            let is_sent_before = sent_us <= way_us;
            if is_sent_before {
                sent_us + way_us - 6.0
            } else {
                2.0 * sent_us
            }
        };
        for (way_us, others) in [(5000.0, 12), (500.0, 12), (500.0, 8), (20.0, 12), (20.0, 2)] {
            let many = f64::from(others);
            let each_us = (end_us(way_us, many) - end_us(way_us, 1.0)) / (many - 1.0);
            let found_us = burst_us(each_us, way_us, (13, others));
            assert!(
                (found_us - 6.0).abs() < 0.1,
                "{found_us} of {way_us}, {others}"
            );
        }
    }

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
