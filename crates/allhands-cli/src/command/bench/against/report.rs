//! What is said of cells then and now: the table, the records, the verdict.

use super::super::cell::Record;
use super::compare::Basis;
use super::{Comparison, Pair, Verdict};
use crate::sizes::say;
use serde::Serialize;
use std::io::Write;
use std::path::Path;

/// A record of now, with what it comes to beside that of then.
#[derive(Serialize)]
pub struct Compared<'a> {
    #[serde(flatten)]
    record: &'a Record,
    against_us: f64,
    #[serde(skip_serializing_if = "Option::is_none")]
    ratio: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    ratio_low: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    ratio_high: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    interval: Option<Basis>,
    #[serde(skip_serializing_if = "Option::is_none")]
    ratio_again: Option<f64>,
    verdict: Verdict,
}

impl<'a> Compared<'a> {
    pub fn of(pair: &'a Pair) -> Compared<'a> {
        let found = pair.comparison.as_ref();
        Compared {
            record: &pair.new,
            against_us: pair.old.median_us,
            ratio: found.map(|it| it.ratio),
            ratio_low: found.map(|it| it.low),
            ratio_high: found.map(|it| it.high),
            interval: found.map(|it| it.basis),
            ratio_again: pair.again.map(|it| it.ratio),
            verdict: pair.verdict,
        }
    }
}

/// What stands above the table.
pub fn head(out: &mut dyn Write, numbers: &[u32], kind: &str, path: &Path) -> std::io::Result<()> {
    let numbers: Vec<String> = numbers.iter().map(u32::to_string).collect();
    writeln!(
        out,
        "ranks {} as {kind}, beside {}\nmedian time then and now; the ratio is now by then, with an interval that holds in 95 of 100 cases, from the\nrounds of both (r), or from now's rounds and then's quartiles (q)\n",
        numbers.join(", "),
        path.display()
    )
}

/// The table: a row for each cell.
pub fn table(out: &mut dyn Write, pairs: &[Pair]) -> std::io::Result<()> {
    writeln!(
        out,
        "{:<14} {:>5} {:>5}  {:<28} {:>10} {:>10} {:>6}  {:<16}",
        "collective", "ranks", "bytes", "algorithm", "then µs", "now µs", "ratio", "[95 %]"
    )?;
    pairs.iter().try_for_each(|pair| {
        let Record {
            collective,
            ranks,
            bytes,
            algorithm,
            median_us,
            ..
        } = &pair.new;
        let line = format!(
            "{collective:<14} {ranks:>5} {:>5}  {algorithm:<28} {:>10.2} {median_us:>10.2} {}",
            say(*bytes),
            pair.old.median_us,
            found(pair)
        );
        writeln!(out, "{}", line.trim_end())
    })
}

/// The ratio, and what it says.
fn found(pair: &Pair) -> String {
    let Some(it) = &pair.comparison else {
        return "     ?  too few calls to compare".to_string();
    };
    let basis = match it.basis {
        Basis::Rounds => 'r',
        Basis::Quartiles => 'q',
    };
    let interval = format!("[{:.2}, {:.2}] {basis}", it.low, it.high);
    let words = match (pair.verdict, &pair.again) {
        (Verdict::Same | Verdict::Unknown, _) => String::new(),
        (Verdict::Faster, _) => "faster".to_string(),
        (Verdict::Slower, Some(again)) => format!("SLOWER, and again: {}", one(again)),
        (Verdict::Slower, None) => "SLOWER".to_string(),
        (Verdict::Unconfirmed, Some(again)) => format!("slower, but not again: {}", one(again)),
        (Verdict::Unconfirmed, None) => "slower, not measured again".to_string(),
    };
    format!("{:>6.2}  {interval:<16}  {words}", it.ratio)
}

fn one(it: &Comparison) -> String {
    format!("{:.2} [{:.2}, {:.2}]", it.ratio, it.low, it.high)
}

/// The last lines: how many of what, and the regressions by name.
pub fn verdict(out: &mut dyn Write, pairs: &[Pair], tolerance: f64) -> std::io::Result<()> {
    let count = |verdict| pairs.iter().filter(|pair| pair.verdict == verdict).count();
    writeln!(
        out,
        "{} slower by more than {tolerance} %, {} slower at first alone, {} faster, {} the same, {} not compared",
        count(Verdict::Slower),
        count(Verdict::Unconfirmed),
        count(Verdict::Faster),
        count(Verdict::Same),
        count(Verdict::Unknown)
    )?;
    let slower = pairs.iter().filter(|pair| pair.verdict == Verdict::Slower);
    for pair in slower {
        let ratio = pair.comparison.map_or(f64::NAN, |it| it.ratio);
        writeln!(
            out,
            "REGRESSION {} {}, {} ranks, {} bytes: {:.2} µs then, {:.2} now, {ratio:.2} times as long",
            pair.new.collective,
            pair.new.algorithm,
            pair.new.ranks,
            pair.new.bytes,
            pair.old.median_us,
            pair.new.median_us
        )?;
    }
    Ok(())
}
