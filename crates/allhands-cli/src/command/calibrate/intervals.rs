//! Intervals: between which values each parameter lies in 95 of 100 cases, and where it jumps by more than that.
//!
//! What was measured is drawn again, [`DRAWS`] times, and each time solved as a whole: so what a parameter has of all the times that it
//! follows from is in its interval (the bootstrap; Efron 1979).

use super::bed::{Bed, Question};
use super::measure::{self, Findings, Scope};
use super::replay::Again;
use super::sample::{DRAWS, Sample, rising};
use crate::command::simulate::machine::cluster::{IntervalsFile, LevelFile};
use crate::sizes::say;

/// Adds the intervals of all levels.
///
/// # Errors
/// When what was answered does not tell all that was found.
pub fn add(
    findings: &mut Findings,
    answers: &[(Question, Sample)],
    bed: &dyn Bed,
) -> anyhow::Result<()> {
    if answers.iter().all(|(_, sample)| sample.drawn_us.is_empty()) {
        return Ok(());
    }
    let (nodes, ranks) = bed.ranks();
    let scope = Scope::of(findings);
    let mut drawn = Vec::new();
    for draw in 0..DRAWS {
        let mut again = Again {
            answers,
            next: 0,
            draw: Some(draw),
            nodes: nodes.clone(),
            ranks,
            shares_memory: bed.shares_memory(),
        };
        drawn.push(measure::all(&mut again, &scope, &mut |_| ())?);
    }
    let of = |level: fn(&Findings) -> Option<&LevelFile>| -> Vec<&LevelFile> {
        drawn.iter().filter_map(level).collect()
    };
    let inside = of(|findings| findings.inside.as_ref());
    let between = of(|findings| findings.between.as_ref());
    for (level, drawn) in [
        (&mut findings.inside, inside),
        (&mut findings.between, between),
    ] {
        if let Some(level) = level {
            level.intervals = Some(intervals(level.bytes.len(), &drawn));
        }
    }
    Ok(())
}

fn intervals(lengths: usize, drawn: &[&LevelFile]) -> IntervalsFile {
    let of = |column: fn(&LevelFile) -> &Vec<f64>| -> [Vec<f64>; 2] {
        let ends = (0..lengths).map(|at| {
            let times = rising(drawn.iter().map(|level| column(level)[at]));
            // One in forty lies below, and one above.
            let below = times.len() / 40;
            [times[below], times[times.len() - 1 - below]]
        });
        let ends: Vec<[f64; 2]> = ends.collect();
        [0, 1].map(|end| ends.iter().map(|ends| ends[end]).collect())
    };
    let [send_low_us, send_high_us] = of(|level| &level.send_us);
    let [receive_low_us, receive_high_us] = of(|level| &level.receive_us);
    let [latency_low_us, latency_high_us] = of(|level| &level.latency_us);
    let [gap_low_us, gap_high_us] = of(|level| &level.gap_us);
    let [shared_low_us, shared_high_us] = of(|level| &level.shared_us);
    IntervalsFile {
        send_low_us,
        send_high_us,
        receive_low_us,
        receive_high_us,
        latency_low_us,
        latency_high_us,
        gap_low_us,
        gap_high_us,
        shared_low_us,
        shared_high_us,
    }
}

/// Where a level's os(m), or(m) or L(m) jump, as a protocol gives way to another: in words, each with the two lengths.
pub fn jumps(level: &LevelFile) -> Vec<String> {
    let Some(intervals) = &level.intervals else {
        return Vec::new();
    };
    let columns = [
        ("os", [&intervals.send_low_us, &intervals.send_high_us]),
        (
            "or",
            [&intervals.receive_low_us, &intervals.receive_high_us],
        ),
        ("L", [&intervals.latency_low_us, &intervals.latency_high_us]),
    ];
    let mut all = Vec::new();
    for next in 1..level.bytes.len() {
        let jumping = columns
            .iter()
            .filter(|(_, ends)| jumps_at(&level.bytes, *ends, next));
        let names: Vec<&str> = jumping.map(|(name, _)| *name).collect();
        if !names.is_empty() {
            let [short, long] = [next - 1, next].map(|at| say(level.bytes[at] as usize));
            all.push(format!("{} between {short} and {long}", names.join(", ")));
        }
    }
    all
}

/// Whether times rise from a length to the next by more than they do around it, or fall, both with certainty.
fn jumps_at(bytes: &[u64], [low, high]: [&Vec<f64>; 2], next: usize) -> bool {
    /// By this part at least, and so many times as fast as around it.
    const LEAST: f64 = 0.1;
    const STEEP: f64 = 2.0;
    let last = next - 1;
    if high[next] < low[last] * (1.0 - LEAST) {
        return true;
    }
    // The steepest that a line there could be.
    let slope = |from: usize, to: usize| (high[to] - low[from]) / (bytes[to] - bytes[from]) as f64;
    let before = last.checked_sub(1).map(|first| slope(first, last));
    let after = (next + 1 < bytes.len()).then(|| slope(next, next + 1));
    let around = before.into_iter().chain(after).fold(0.0, f64::max);
    let expected_us = STEEP * around * (bytes[next] - bytes[last]) as f64;
    low[next] > high[last] * (1.0 + LEAST) && low[next] - high[last] > expected_us
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A level whose L(m) is 1 µs and a nanosecond a byte, `more_us` more beyond 100 bytes; each certain to `part`.
    fn level(more_us: f64, part: f64) -> LevelFile {
        let bytes: Vec<u64> = (3..10).map(|exponent| 1 << exponent).collect();
        let latency = |bytes: &u64| {
            let more_us = if *bytes > 100 { more_us } else { 0.0 };
            1.0 + *bytes as f64 * 1e-3 + more_us
        };
        let latency_us: Vec<f64> = bytes.iter().map(latency).collect();
        let flat = vec![0.5; bytes.len()];
        let with = |part: f64| latency_us.iter().map(|us| us * (1.0 + part)).collect();
        let intervals = IntervalsFile {
            send_low_us: flat.clone(),
            send_high_us: flat.clone(),
            receive_low_us: flat.clone(),
            receive_high_us: flat.clone(),
            latency_low_us: with(-part),
            latency_high_us: with(part),
            ..IntervalsFile::default()
        };
        LevelFile {
            bytes,
            latency_us,
            intervals: Some(intervals),
            ..LevelFile::default()
        }
    }

    #[test]
    fn a_jump_is_found_where_it_is_certain() {
        assert_eq!(jumps(&level(1.0, 0.01)), ["L between 64 and 128"]);
        assert_eq!(jumps(&level(-0.6, 0.01)), ["L between 64 and 128"]);
        assert!(jumps(&level(0.0, 0.01)).is_empty(), "a line has none");
        assert!(jumps(&level(1.0, 0.4)).is_empty(), "it could be by chance");
    }
}
