//! The verdict on T's statements: how many hold, which miss, and why.

use super::super::{Entry, Standing};
use super::statement::{A_STEP_OFF, Kind, Statement};
use super::{patterns, statements};
use std::io::Write;

/// A statement as it is judged: those of T, and the comparisons of `patterns`, which are of one entry each.
struct Judged<'a> {
    kind: Kind,
    /// Its entries.
    entries: Vec<&'a Entry>,
    holds: bool,
    /// Which part of it comes out.
    part: f64,
    why: Option<String>,
}

impl Judged<'_> {
    fn fitted(&self) -> bool {
        self.entries.iter().any(|e| e.standing == Standing::Fitted)
    }
}

fn judged(entries: &[Entry]) -> Vec<Judged<'_>> {
    let of = |statement: &Statement| {
        let own: Vec<&Entry> = entries.iter().filter(|e| statement.owns(e)).collect();
        Judged {
            kind: statement.claim.kind(),
            holds: statement.holds(&own),
            part: statement.part(&own),
            why: statement.why.map(|why| why.to_string()),
            entries: own,
        }
    };
    let compared = entries
        .iter()
        .filter(|e| [patterns::NEAREST, patterns::CLOSE].contains(&e.column.as_str()));
    let alone = compared.map(|entry| Judged {
        kind: Kind::Factor,
        holds: entry.holds() == Some(true),
        part: f64::from(u8::from(entry.holds() == Some(true))),
        why: entry.why.map(|why| why.to_string()),
        entries: vec![entry],
    });
    let all = statements().map(of).chain(alone);
    all.filter(|judged| !judged.entries.is_empty()).collect()
}

/// How many hold, and of how many.
fn count<'a>(of: impl Iterator<Item = &'a Judged<'a>>) -> (usize, usize) {
    of.fold((0, 0), |(right, all), judged| {
        (right + usize::from(judged.holds), all + 1)
    })
}

/// The winners and crossings by which nothing was chosen: how many there are, and how many come out, each in the part of its sizes
/// and numbers of ranks that does.
pub fn named(entries: &[Entry]) -> (f64, usize) {
    let judged = judged(entries);
    let own = judged
        .iter()
        .filter(|judged| !judged.fitted() && judged.kind != Kind::Factor);
    own.fold((0.0, 0), |(right, all), judged| {
        (right + judged.part, all + 1)
    })
}

/// Says how many statements hold, and names those that miss.
///
/// # Errors
/// If it cannot be written.
pub fn print(out: &mut dyn Write, entries: &[Entry]) -> anyhow::Result<()> {
    let judged = judged(entries);
    let of = |fitted, kinds: &[Kind]| {
        let own = judged
            .iter()
            .filter(|judged| judged.fitted() == fitted && kinds.contains(&judged.kind));
        count(own)
    };
    let all = [Kind::Winner, Kind::Crossing, Kind::Factor];
    let (right, number) = of(false, &all);
    writeln!(
        out,
        "\nOf {number} statements by which nothing was chosen {right} hold, {:.0} %:",
        100.0 * right as f64 / number.max(1) as f64
    )?;
    for (kind, title) in all.into_iter().zip([
        "winners, within a size step",
        "crossings, within a size step",
        "factors",
    ]) {
        match of(false, &[kind]) {
            (_, 0) => continue,
            (right, number) => writeln!(out, "  {right} of {number} {title}")?,
        }
    }
    let (right, number) = named(entries);
    let near = entries.iter().filter(|e| e.row.contains(A_STEP_OFF));
    if number > 0 {
        writeln!(
            out,
            "Of the {number} winners and crossings {:.0} % come out, each counted in the part of its sizes and numbers of ranks that \
             does; {} sizes are right a step off.",
            100.0 * right / number as f64,
            near.count()
        )?;
    }
    let (right, number) = of(true, &all);
    if number > 0 {
        writeln!(
            out,
            "Of {number} statements that were looked at when a machine was described {right} hold."
        )?;
    }
    for missed in judged.iter().filter(|judged| !judged.holds) {
        name(out, missed)?;
    }
    Ok(())
}

/// Names a statement that misses: where, and why.
fn name(out: &mut dyn Write, missed: &Judged<'_>) -> anyhow::Result<()> {
    let Some(first) = missed.entries.first() else {
        return Ok(());
    };
    let wrong: Vec<&str> = missed
        .entries
        .iter()
        .filter(|entry| entry.holds() != Some(true))
        .map(|entry| entry.row.as_str())
        .collect();
    let at = match wrong.as_slice() {
        [only] => (*only).to_string(),
        [first, .., last] => format!(
            "{} sizes or numbers of ranks, {first} to {last}",
            wrong.len()
        ),
        [] => String::new(),
    };
    let looked_at = if missed.fitted() {
        ", though it was looked at"
    } else {
        ""
    };
    writeln!(
        out,
        "misses{looked_at}: {} {}, at {at}: {}",
        first.table,
        first.column,
        missed.why.as_deref().unwrap_or("no reason is known")
    )?;
    Ok(())
}
