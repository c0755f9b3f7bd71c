//! A race: which of several candidates is the fastest, found by halving their number while each gets more time.

use std::time::{Duration, Instant};

/// The favourite is beaten only by what is this much faster; less is noise.
pub(super) const MARGIN: f64 = 0.95;
/// The winner is clear when the next takes this many times as long.
const CLEAR: f64 = 1.5;
/// Heats of the last two against each other.
const LAST_HEATS: u32 = 3;

/// Turns in which the favourite and who seems to beat it are measured alternately, as the machine may have been disturbed.
const DUEL: u32 = 6;

/// What measures one candidate for about some time: its microseconds, or why it has none.
pub type Measure<'a> = dyn FnMut(usize, Duration) -> Result<f64, String> + 'a;

/// How a race ended.
#[derive(Clone, Debug, PartialEq)]
pub struct Outcome {
    /// Candidates and their microseconds, the best first.
    pub ranking: Vec<(usize, f64)>,
    /// Candidates that failed, and how.
    pub failed: Vec<(usize, String)>,
}

/// Where a candidate stands.
struct Runner {
    candidate: usize,
    us: f64,
    /// The last round that it ran in.
    round: u32,
}

/// Lets `candidates` candidates race for about `budget`. The `favourite` is in every round, and first at the end unless
/// another is measurably faster.
pub fn race(
    candidates: usize,
    favourite: Option<usize>,
    budget: Duration,
    measure: &mut Measure<'_>,
) -> Outcome {
    let start = Instant::now();
    let mut failed = Vec::new();
    let mut out = Vec::new();
    let runner = |candidate| Runner {
        candidate,
        us: f64::INFINITY,
        round: 0,
    };
    let mut running: Vec<Runner> = (0..candidates).map(runner).collect();
    let rounds = candidates.next_power_of_two().trailing_zeros() + 1;
    for round in 1..=rounds {
        // One share is for the duel.
        let left = budget.saturating_sub(start.elapsed()) / (rounds + 2 - round);
        let heats = if running.len() <= 2 { LAST_HEATS } else { 1 };
        let each = left / heats / running.len().max(1) as u32;
        for _ in 0..heats {
            run(&mut running, round, each, measure, &mut failed);
        }
        running.sort_by(|a, b| a.us.total_cmp(&b.us));
        if start.elapsed() >= budget || running.len() <= 2 && round > 1 || is_clear(&running, round)
        {
            break;
        }
        let keep = running.len().div_ceil(2).max(2);
        let is_favourite = |r: &Runner| Some(r.candidate) == favourite;
        let mut place = 0;
        let (stay, go) = running.into_iter().partition(|r| {
            place += 1;
            place <= keep || is_favourite(r)
        });
        running = stay;
        out.extend::<Vec<Runner>>(go);
    }
    let each = budget / ((rounds + 1) * 2 * DUEL);
    duel(&mut running, favourite, each, measure);
    // Who ran longer is known better.
    out.sort_by(|a, b| b.round.cmp(&a.round).then(a.us.total_cmp(&b.us)));
    let ranking = running.iter().chain(&out);
    Outcome {
        ranking: ranking.map(|r| (r.candidate, r.us)).collect(),
        failed,
    }
}

/// One heat of all that run; who fails is out.
fn run(
    running: &mut Vec<Runner>,
    round: u32,
    each: Duration,
    measure: &mut Measure<'_>,
    failed: &mut Vec<(usize, String)>,
) {
    running.retain_mut(|runner| match measure(runner.candidate, each) {
        Ok(us) => {
            // A disturbance only ever makes a time longer.
            runner.us = runner.us.min(us);
            runner.round = round;
            true
        }
        Err(why) => {
            failed.push((runner.candidate, why));
            false
        }
    });
}

/// Whether the first is so much faster that nobody need run again; one quick pass is not enough to say so.
fn is_clear(running: &[Runner], round: u32) -> bool {
    round > 1 && matches!(running, [first, second, ..] if second.us > CLEAR * first.us)
}

/// Puts the favourite first unless the first is measurably faster, turn after turn.
fn duel(
    running: &mut [Runner],
    favourite: Option<usize>,
    each: Duration,
    measure: &mut Measure<'_>,
) {
    let Some(place) = running.iter().position(|r| Some(r.candidate) == favourite) else {
        return;
    };
    for turn in 0..=DUEL {
        if running[0].us >= MARGIN * running[place].us {
            running[..=place].rotate_right(1);
            return;
        }
        if turn < DUEL {
            for at in [place, 0] {
                let us = measure(running[at].candidate, each);
                running[at].us = running[at].us.min(us.unwrap_or(f64::INFINITY));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A race of candidates with these times, and how often each was measured.
    fn outcome(times: &[f64], favourite: Option<usize>) -> (Vec<usize>, Vec<u32>) {
        let mut counts = vec![0; times.len()];
        let outcome = race(
            times.len(),
            favourite,
            Duration::from_secs(9),
            &mut |i, _| {
                counts[i] += 1;
                // Noise that grows less: up to a tenth more.
                Ok(times[i] * (1.0 + 0.1 / f64::from(counts[i])))
            },
        );
        let order = outcome.ranking.iter().map(|r| r.0).collect();
        (order, counts)
    }

    #[test]
    fn the_fastest_wins_and_the_slow_are_measured_once() {
        let times = [9.0, 3.0, 4.0, 8.0, 30.0, 3.2, 7.0];
        let (order, counts) = outcome(&times, None);
        assert_eq!(order, [1, 5, 2, 6, 3, 0, 4]);
        assert_eq!(counts[4], 1);
        assert!(counts[1] > 3 && counts[5] > 3, "{counts:?}");
    }

    #[test]
    fn a_clear_winner_ends_the_race() {
        let (order, counts) = outcome(&[9.0, 1.0, 8.0, 7.0, 6.0, 5.0, 4.0, 3.0], None);
        assert_eq!(order[..2], [1, 7]);
        assert_eq!(counts[1], 2);
    }

    #[test]
    fn the_favourite_stays_unless_another_is_measurably_faster() {
        let times = [1.0, 2.0, 3.0, 4.0, 1.03];
        assert_eq!(outcome(&times, Some(4)).0[..2], [4, 0]);
        assert_eq!(outcome(&times, Some(1)).0[0], 0);
        // It is measured in every round, however slow.
        let (order, counts) = outcome(&[5.0, 1.0, 1.2, 1.3, 1.1, 1.15], Some(0));
        assert_eq!(order[0], 1);
        assert!(counts[0] > 2, "{counts:?}");
    }

    #[test]
    fn who_fails_is_out_and_named() {
        let outcome = race(3, Some(0), Duration::from_secs(9), &mut |i, _| match i {
            0 => Err("wrong".into()),
            i => Ok(i as f64),
        });
        let order: Vec<usize> = outcome.ranking.iter().map(|r| r.0).collect();
        assert_eq!(order, [1, 2]);
        assert_eq!(outcome.failed, [(0, "wrong".to_string())]);
        let nobody = race(0, None, Duration::ZERO, &mut |_, _| Ok(1.0));
        assert!(nobody.ranking.is_empty());
        let alone = race(1, Some(0), Duration::ZERO, &mut |_, _| Ok(1.0));
        assert_eq!(alone.ranking, [(0, 1.0)]);
    }

    #[test]
    fn a_favourite_that_was_disturbed_is_not_beaten() {
        let mut calls = 0;
        let outcome = race(4, Some(2), Duration::from_secs(9), &mut |i, _| {
            calls += 1;
            // For a while, everything that the favourite does takes much longer.
            let disturbed = i == 2 && calls < 12;
            Ok(if disturbed {
                1000.0
            } else {
                1.0 + i as f64 / 100.0
            })
        });
        assert_eq!(outcome.ranking[0], (2, 1.02));
    }
}
