//! Time to build the schedule of one rank among 131,072, for every algorithm with a logarithmic number of steps, of messages at
//! once, and of vectors that a rank combines.
//!
//! Run: `cargo bench -p allhands-core --bench build`. The exit status is 1 if any takes a millisecond or more; alltoall by
//! standard exchange, whose last ranks list many spans of destinations where p is no power of two, may take 0.2 microseconds a rank
//! there.

use allhands_core::algorithm::{self, Algorithm, Claims};
use allhands_core::call::{Call, Collective};
use allhands_core::schedule::Shape;
use std::hint::black_box;
use std::process::ExitCode;
use std::time::Instant;

const RANKS: [u32; 2] = [131_072, 131_071];
const LIMIT_US: f64 = 1000.0;
/// Twice up and down a binary tree of 2^17 leaves, with room for folds and for radix parameters.
const LOGARITHMIC_STEPS: u32 = 4 * 17 + 8;

/// The slowest of a few ranks, each the median of several builds, in microseconds; and its operations.
fn build_us(algorithm: &Algorithm, shape: &Shape) -> (f64, usize) {
    let p = shape.ranks();
    let ranks = [0, 1, p / 3, p / 2, p - 2, p - 1];
    let one = |rank: u32| {
        let mut times: Vec<f64> = (0..9)
            .map(|_| {
                let start = Instant::now();
                black_box(algorithm.schedule(black_box(shape), rank));
                start.elapsed().as_secs_f64() * 1e6
            })
            .collect();
        times.sort_by(f64::total_cmp);
        (times[4], algorithm.schedule(shape, rank).ops.len())
    };
    ranks
        .into_iter()
        .map(one)
        .max_by(|a, b| a.0.total_cmp(&b.0))
        .unwrap_or((0.0, 0))
}

/// The time that an algorithm may take, in microseconds.
fn limit_us(algorithm: &Algorithm, ranks: u32) -> f64 {
    match (algorithm.collective, algorithm.name) {
        (Collective::Alltoall, "standard-exchange") if !ranks.is_power_of_two() => {
            0.2 * f64::from(ranks)
        }
        _ => LIMIT_US,
    }
}

/// Whether an algorithm has few operations, as far as it claims how many.
fn is_logarithmic(algorithm: &Algorithm, shape: &Shape) -> bool {
    let claims = (algorithm.claims)(shape);
    let combined = match claims.work {
        Claims::UNCLAIMED => 0,
        blocks => blocks / u64::from((algorithm.parts)(shape).max(1)),
    };
    let most = claims.steps.max(claims.ports);
    u64::from(most).max(combined) <= u64::from(LOGARITHMIC_STEPS)
}

fn main() -> ExitCode {
    let mut slow = 0;
    println!(
        "{:<15} {:<28} {:>8} {:>6} {:>10}",
        "collective", "algorithm", "ranks", "ops", "build µs"
    );
    for algorithm in algorithm::all() {
        for ranks in RANKS {
            let call = Call::new(algorithm.collective, ranks);
            let Ok(shape) = algorithm.shape(call, "") else {
                continue;
            };
            if algorithm.admits(&shape).is_err() || !is_logarithmic(algorithm, &shape) {
                continue;
            }
            let (us, ops) = build_us(algorithm, &shape);
            let is_slow = us >= limit_us(algorithm, ranks);
            let verdict = if is_slow { "  TOO LONG" } else { "" };
            slow += usize::from(is_slow);
            println!(
                "{:<15} {:<28} {ranks:>8} {ops:>6} {us:>10.1}{verdict}",
                algorithm.collective.name(),
                algorithm.name
            );
        }
    }
    if slow == 0 {
        ExitCode::SUCCESS
    } else {
        ExitCode::FAILURE
    }
}
