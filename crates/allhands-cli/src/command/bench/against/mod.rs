//! `allhands bench --against`: the cells of an earlier file measured again, and beside what they took then.

mod compare;
mod old;
mod report;
mod student;

use super::cell::Record;
use super::key::Key;
use super::report::Summary;
use super::rounds::{Job, several};
use super::{Arguments, finish};
use crate::interrupt;
use compare::{Comparison, Variances, compare, holm};
use old::Old;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::Duration;

/// What is compared, and how much may differ.
#[derive(Clone, Debug, clap::Args)]
pub struct Against {
    /// Measure the cells of this file again, which an earlier --json has written, and compare; those of the collectives and of the numbers of ranks that are named, or all
    #[arg(
        id = "against",
        long = "against",
        value_name = "OLD.json",
        conflicts_with_all = ["algorithm", "bytes", "root", "layout", "settings", "fresh", "quick", "all", "latency", "bandwidth", "csv"]
    )]
    pub file: Option<PathBuf>,

    /// With --against: a time that is longer by so many percent is no regression
    #[arg(
        long,
        value_name = "PERCENT",
        default_value_t = 5.0,
        requires = "against"
    )]
    pub tolerance: f64,
}

/// How often something may look like a regression, or like the contrary, that is none, when all cells are taken together.
const OFTEN: f64 = 0.05;

/// The part of the time in which all cells are measured; in the rest those are measured again that look like regressions.
const FIRST: f64 = 0.65;

/// What became of a cell.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Verdict {
    /// As long as then, as far as anybody can tell.
    Same,
    Faster,
    /// Slower when all cells were measured, and again at the end.
    Slower,
    /// Slower at first, and not at the end.
    Unconfirmed,
    /// Measured, but not in two rounds.
    Unknown,
}

/// A cell, then and now.
#[derive(Clone, Debug)]
pub struct Pair {
    pub old: Record,
    pub new: Record,
    pub comparison: Option<Comparison>,
    pub verdict: Verdict,
    /// What it took when it was measured again at the end, by then.
    pub again: Option<Comparison>,
}

/// Measures and compares; exit status 1 if something is slower or wrong.
pub fn run(arguments: &Arguments, path: &Path) -> anyhow::Result<ExitCode> {
    let options = &arguments.against;
    anyhow::ensure!(
        options.tolerance.is_finite() && options.tolerance >= 0.0,
        "--tolerance {}: so many percent, 0 or more",
        options.tolerance
    );
    anyhow::ensure!(
        arguments.rounds() >= 2,
        "--rounds 1: how much times differ from round to round must be known; right would be 2 or more"
    );
    let mut old = Old::read(arguments, path)?;
    let job = job(old.keys());
    job.check(arguments)?;
    arguments.check_outputs()?;
    interrupt::ask_first();
    let budget = arguments.budget();
    let mut summary = Summary::begin(budget);
    summary.expect(0, std::mem::take(&mut old.left_out));
    let mut out = arguments.json.beside();
    report::head(&mut out, &job.numbers, &arguments.kind(), path)?;
    let (pairs, variances) = first(arguments, &old, &job, &mut summary)?;
    let pairs = again(arguments, pairs, &variances, &mut summary)?;
    report::table(&mut out, &pairs)?;
    summary.end();
    let records: Vec<report::Compared<'_>> = pairs.iter().map(report::Compared::of).collect();
    arguments.json.write(&records)?;
    let news: Vec<Record> = pairs.iter().map(|pair| pair.new.clone()).collect();
    let status = finish(arguments, &mut out, &news, &summary)?;
    report::verdict(&mut out, &pairs, options.tolerance)?;
    let is_slower = pairs.iter().any(|pair| pair.verdict == Verdict::Slower);
    Ok(match is_slower && !interrupt::is_asked() {
        true => ExitCode::FAILURE,
        false => status,
    })
}

/// The job of these cells.
fn job(keys: Vec<Key>) -> Job {
    let mut numbers: Vec<u32> = keys.iter().map(|key| key.ranks).collect();
    numbers.sort_unstable();
    numbers.dedup();
    Job {
        numbers,
        keys: Some(keys),
    }
}

/// Measures all cells, and compares.
fn first(
    arguments: &Arguments,
    old: &Old,
    job: &Job,
    summary: &mut Summary,
) -> anyhow::Result<(Vec<Pair>, Variances)> {
    let budget = arguments.budget().mul_f64(FIRST);
    let news = several(arguments, job, arguments.rounds(), budget, summary)?;
    let right = news.iter().filter(|record| record.correct);
    let variances = Variances::of(right);
    let tolerance = arguments.against.tolerance / 100.0;
    let mut pairs = Vec::new();
    for new in news {
        let key = Key::of(&new);
        let Some(old) = old.records.iter().find(|old| Key::of(old) == key) else {
            continue;
        };
        check_nodes(old, &new)?;
        let comparison = compare(old, &new, &variances, tolerance);
        pairs.push(Pair {
            old: old.clone(),
            comparison,
            verdict: Verdict::Unknown,
            again: None,
            new,
        });
    }
    anyhow::ensure!(
        !pairs.is_empty() || interrupt::is_asked(),
        "no cell could be measured again: {}",
        summary.left_out().join("; ")
    );
    judge(&mut pairs);
    Ok((pairs, variances))
}

/// Says of each pair what it looks like.
fn judge(pairs: &mut [Pair]) {
    let of = |which: fn(&Comparison) -> f64| {
        let found = pairs.iter().filter_map(|pair| pair.comparison.as_ref());
        holm(&found.map(which).collect::<Vec<_>>(), OFTEN)
    };
    let (slower, faster) = (of(|it| it.slower), of(|it| it.faster));
    let known = pairs.iter_mut().filter(|pair| pair.comparison.is_some());
    for ((pair, slower), faster) in known.zip(slower).zip(faster) {
        pair.verdict = match (slower, faster) {
            (true, _) => Verdict::Unconfirmed,
            (false, true) => Verdict::Faster,
            (false, false) => Verdict::Same,
        };
    }
}

/// Measures those again that look like regressions, and says which are.
fn again(
    arguments: &Arguments,
    mut pairs: Vec<Pair>,
    variances: &Variances,
    summary: &mut Summary,
) -> anyhow::Result<Vec<Pair>> {
    /// The least time for it, however little is left.
    const LEAST: Duration = Duration::from_millis(500);
    let is_suspect = |pair: &&mut Pair| pair.verdict == Verdict::Unconfirmed;
    let suspects: Vec<&mut Pair> = pairs.iter_mut().filter(is_suspect).collect();
    if suspects.is_empty() || interrupt::is_asked() {
        return Ok(pairs);
    }
    let keys = suspects.iter().map(|pair| Key::of(&pair.new)).collect();
    let budget = summary.left().max(LEAST);
    // What these come to was counted when they were measured first.
    let mut uncounted = Summary::begin(budget);
    let rounds = arguments.rounds();
    let news = several(arguments, &job(keys), rounds, budget, &mut uncounted)?;
    let tolerance = arguments.against.tolerance / 100.0;
    for pair in suspects {
        let key = Key::of(&pair.new);
        let new = news.iter().find(|new| Key::of(new) == key);
        pair.again = new.and_then(|new| compare(&pair.old, new, variances, tolerance));
        if pair.again.is_some_and(|again| again.slower <= OFTEN) {
            pair.verdict = Verdict::Slower;
        }
    }
    Ok(pairs)
}

/// Ranks that share memory with others than then measure something else.
fn check_nodes(old: &Record, new: &Record) -> anyhow::Result<()> {
    let say = |nodes: &Option<String>| nodes.clone().unwrap_or_else(|| "one".to_string());
    anyhow::ensure!(
        old.nodes == new.nodes,
        "the ranks' nodes were {}, and are {} now: right would be the same --nodes or --hosts",
        say(&old.nodes),
        say(&new.nodes)
    );
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::compare::tests::record;
    use super::*;

    fn pair(ratio: f64) -> Pair {
        let old = record(10.0, [9.8, 10.2], &[10.0, 9.9, 10.1, 10.05, 9.95]);
        let rounds: Vec<f64> = old.rounds_us.iter().map(|us| us * ratio).collect();
        let new = record(10.0 * ratio, [9.8 * ratio, 10.2 * ratio], &rounds);
        Pair {
            comparison: compare(&old, &new, &Variances::default(), 0.05),
            old,
            new,
            verdict: Verdict::Unknown,
            again: None,
        }
    }

    #[test]
    fn what_is_slower_is_a_suspect_at_first() {
        let mut pairs: Vec<Pair> = [1.0, 2.0, 0.5, 1.04].map(pair).into();
        pairs.push(Pair {
            comparison: None,
            ..pair(3.0)
        });
        judge(&mut pairs);
        let verdicts: Vec<Verdict> = pairs.iter().map(|pair| pair.verdict).collect();
        let expected = [
            Verdict::Same,
            Verdict::Unconfirmed,
            Verdict::Faster,
            Verdict::Same,
            Verdict::Unknown,
        ];
        assert_eq!(verdicts, expected);
    }

    #[test]
    fn other_nodes_are_named() {
        let (mut old, new) = (pair(1.0).old, pair(1.0).new);
        assert!(check_nodes(&old, &new).is_ok());
        old.nodes = Some("2x1".into());
        let said = check_nodes(&old, &new).unwrap_err().to_string();
        assert!(said.contains("were 2x1, and are one now"), "{said}");
    }
}
