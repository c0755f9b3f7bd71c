//! The race: the variants of a collective with one size by turns, until those that cannot win are out and the time is up.

use super::super::decide;
use super::super::kind::Kind;
use super::super::record::{Cell, Times, Told, Trying};
use super::super::variant::{DEFAULT, Variant};
use super::conductor::Conductor;
use super::tell;
use std::time::{Duration, Instant};

/// What a turn takes, about, and the most calls in it.
const TURN: Duration = Duration::from_millis(20);
const MOST_CALLS: usize = 15;
/// Calls after which a turn is given up in which ranks begin late again and again.
const MOST_TRIES: usize = 4;
/// What takes longer is called once less.
const LONG_US: f64 = 1e5;
/// The most rounds.
const ROUNDS: usize = 15;
/// From which round on a variant is out that takes so many times as long as the best.
const OUT: [(usize, f64); 3] = [(1, 1.4), (3, 1.15), (6, 1.06)];
/// The same for the first call, by which not much is known.
const OUT_AT_ONCE: f64 = 3.0;

/// A collective with one size, and the variants of it that run.
pub struct Contest {
    pub kind: Kind,
    /// The whole vector.
    pub bytes: u64,
    /// The numbers of variants, and what they are called; the default is the first.
    pub entries: Vec<(usize, String)>,
}

struct Runner {
    index: usize,
    times: Times,
    /// What a call takes, about.
    about_us: f64,
    is_out: bool,
}

impl Contest {
    /// The default and those variants that are not to be left out.
    pub fn new(
        kind: Kind,
        bytes: u64,
        variants: &[Variant],
        is_left_out: impl Fn(&str) -> bool,
    ) -> Contest {
        let variants = variants.iter().enumerate();
        let named = variants.map(|(at, variant)| (at + 1, variant.name()));
        let entries = named.filter(|(_, name)| !is_left_out(name));
        Contest {
            kind,
            bytes,
            entries: [(0, DEFAULT.to_string())]
                .into_iter()
                .chain(entries)
                .collect(),
        }
    }

    /// How much of the time it is to have, beside others: long calls are worth more turns' time.
    pub fn weight(&self) -> f64 {
        let long = (self.bytes as f64 / f64::from(32 << 10)).sqrt();
        (1.0 + long) * (1 + self.entries.len()) as f64
    }

    /// Runs; `share` is the time that it is to have, and at `end` all is over.
    pub fn run(
        &self,
        conductor: &mut Conductor<'_>,
        share: Duration,
        end: Instant,
    ) -> anyhow::Result<Cell> {
        let begin = Instant::now();
        conductor.prepare(self.kind, self.bytes)?;
        let mut runners = self.warm(conductor)?;
        let mut order: Vec<usize> = (0..runners.len()).collect();
        for round in 0..ROUNDS {
            let late = begin.elapsed() > share && round >= decide::LEAST_ROUNDS;
            let alone = runners.iter().filter(|runner| !runner.is_out).count() < 2;
            if late || alone || begin.elapsed() > 4 * share || Instant::now() >= end {
                break;
            }
            shuffle(&mut order, round);
            for at in &order {
                let us = match runners[*at].is_out {
                    true => None,
                    false => turn(conductor, &mut runners[*at])?,
                };
                runners[*at].times.us.push(us);
            }
            drop_hopeless(&mut runners, round);
        }
        Ok(Cell {
            kind: self.kind,
            bytes: self.bytes,
            times: runners.into_iter().map(|runner| runner.times).collect(),
        })
    }

    /// Each variant's first calls: whether results are right, and whether it stands a chance.
    fn warm(&self, conductor: &mut Conductor<'_>) -> anyhow::Result<Vec<Runner>> {
        let mut runners = Vec::new();
        let mut least_us = f64::INFINITY;
        for (index, name) in &self.entries {
            tell(&Told::Trying(Trying {
                kind: self.kind,
                bytes: self.bytes,
                variant: name.clone(),
            }))?;
            conductor.force(*index, true)?;
            let first = conductor.call(true)?;
            // The first call finds caches cold and ranks that were late.
            let about_us = match first.about_us < LONG_US {
                true => conductor.call(false)?.about_us,
                false => first.about_us,
            };
            least_us = least_us.min(about_us);
            let failed = (!first.is_right).then(|| "its result is wrong".to_string());
            runners.push(Runner {
                index: *index,
                about_us,
                is_out: failed.is_some(),
                times: Times {
                    variant: name.clone(),
                    us: Vec::new(),
                    failed,
                },
            });
        }
        for runner in runners.iter_mut().skip(1) {
            runner.is_out |= runner.about_us > 1e4 && runner.about_us > OUT_AT_ONCE * least_us;
        }
        Ok(runners)
    }
}

/// The median of a turn's calls, in microseconds; `None` if ranks began all of them late.
fn turn(conductor: &mut Conductor<'_>, runner: &mut Runner) -> anyhow::Result<Option<f64>> {
    conductor.force(runner.index, false)?;
    let calls = TURN.as_micros() as f64 / runner.about_us.max(1.0);
    let calls = (calls as usize).clamp(1, MOST_CALLS);
    let mut us = Vec::new();
    for _ in 0..calls * MOST_TRIES {
        us.extend(conductor.call(false)?.us);
        if us.len() == calls {
            break;
        }
    }
    let median = decide::median(&us);
    if let Some(median) = median {
        runner.about_us = median;
    }
    Ok(median)
}

/// Has those out that take much longer than the best; the default stays, as all are compared with it.
fn drop_hopeless(runners: &mut [Runner], round: usize) {
    let median = |runner: &Runner| {
        let us: Vec<f64> = runner.times.us.iter().flatten().copied().collect();
        decide::median(&us).unwrap_or(f64::INFINITY)
    };
    let alive = runners.iter().filter(|runner| !runner.is_out);
    let best = alive.map(median).fold(f64::INFINITY, f64::min);
    let limit = OUT.iter().rev().find(|(from, _)| round >= *from);
    let Some((_, limit)) = limit else { return };
    for runner in runners.iter_mut().skip(1) {
        runner.is_out |= median(runner) > limit * best;
    }
}

/// Another order in each round: who comes behind whom is not to matter.
fn shuffle(order: &mut [usize], round: usize) {
    let mut state = 0x9e37_79b9_u64.wrapping_mul(2 * round as u64 + 1);
    for at in (1..order.len()).rev() {
        state = state
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        order.swap(at, (state >> 33) as usize % (at + 1));
    }
}

/// A cell once, for an evaluation: the default and one other variant, or the default alone.
pub fn once(conductor: &mut Conductor<'_>, contest: &Contest) -> anyhow::Result<Cell> {
    conductor.prepare(contest.kind, contest.bytes)?;
    let mut runners = contest.warm(conductor)?;
    // To and fro, so that neither is always the later one; long calls differ less, and once is enough.
    let is_long = runners.iter().any(|runner| runner.about_us > LONG_US);
    let back = if is_long { 0 } else { runners.len() };
    for at in (0..runners.len()).chain((0..back).rev()) {
        let us = turn(conductor, &mut runners[at])?;
        runners[at].times.us.push(us);
    }
    Ok(Cell {
        kind: contest.kind,
        bytes: contest.bytes,
        times: runners.into_iter().map(|runner| runner.times).collect(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_round_has_everybody_and_another_order() {
        let orders: Vec<Vec<usize>> = (0..4)
            .map(|round| {
                let mut order: Vec<usize> = (0..9).collect();
                shuffle(&mut order, round);
                order
            })
            .collect();
        for order in &orders {
            let mut sorted = order.clone();
            sorted.sort_unstable();
            assert_eq!(sorted, (0..9).collect::<Vec<_>>());
        }
        assert_ne!(orders[0], orders[1]);
        assert_ne!(orders[1], orders[2]);
    }

    #[test]
    fn the_default_is_never_out() {
        let runner = |us: &[f64]| Runner {
            index: 0,
            about_us: us[0],
            is_out: false,
            times: Times {
                variant: String::new(),
                us: us.iter().copied().map(Some).collect(),
                failed: None,
            },
        };
        let mut runners = [
            runner(&[90.0, 90.0]),
            runner(&[10.0, 10.0]),
            runner(&[15.0, 15.0]),
        ];
        drop_hopeless(&mut runners, 0);
        assert!(runners.iter().all(|runner| !runner.is_out));
        drop_hopeless(&mut runners, 1);
        let out: Vec<bool> = runners.iter().map(|runner| runner.is_out).collect();
        assert_eq!(out, [false, false, true]);
    }
}
