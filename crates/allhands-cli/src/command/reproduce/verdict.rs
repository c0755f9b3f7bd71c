//! The verdict on a paper's statements: how many hold, which miss, and why.

use super::statement::{A_STEP_OFF, Kind, Statement};
use super::times::On;
use super::{Entry, Says, Standing};
use std::io::Write;

/// A statement as it is judged: one of the paper's, or a comparison of one entry that is no statement's.
struct Judged<'a> {
    kind: Kind,
    /// Its entries.
    entries: Vec<&'a Entry>,
    /// Whether all of them were looked at when a machine was described; if not, those that were do not count.
    fitted: bool,
    holds: bool,
    /// Which part of it comes out.
    part: f64,
    /// Whether it misses anywhere, also where it was looked at.
    misses: bool,
    why: Option<String>,
}

/// Those of its entries that count: which nothing was chosen by, if there are any.
fn counted<'a>(own: &[&'a Entry]) -> (bool, Vec<&'a Entry>) {
    let predicted = own
        .iter()
        .copied()
        .filter(|e| e.standing != Standing::Fitted);
    let predicted: Vec<&Entry> = predicted.collect();
    match predicted.is_empty() {
        true => (true, own.to_vec()),
        false => (false, predicted),
    }
}

fn judged<'a, O: On>(statements: &[&Statement<O>], entries: &'a [Entry]) -> Vec<Judged<'a>> {
    let of = |statement: &&Statement<O>| {
        let own: Vec<&Entry> = entries.iter().filter(|e| statement.owns(e)).collect();
        let (fitted, counted) = counted(&own);
        Judged {
            kind: statement.claim.kind(),
            fitted,
            holds: statement.holds(&counted),
            part: statement.part(&counted),
            misses: !statement.holds(&own),
            why: statement.why.map(|why| why.to_string()),
            entries: own,
        }
    };
    let told = [Standing::Predicted, Standing::Fitted];
    let compared = entries.iter().filter(|e| {
        e.says.is_some()
            && told.contains(&e.standing)
            && !statements.iter().any(|statement| statement.owns(e))
    });
    let alone = compared.map(|entry| {
        let holds = entry.holds() == Some(true);
        Judged {
            kind: match entry.says {
                Some(Says::About(_)) => Kind::Crossing,
                _ => Kind::Factor,
            },
            fitted: entry.standing == Standing::Fitted,
            holds,
            part: f64::from(u8::from(holds)),
            misses: !holds,
            why: entry.why.map(|why| why.to_string()),
            entries: vec![entry],
        }
    });
    let all = statements.iter().map(of).chain(alone);
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
pub fn named<O: On>(statements: &[&Statement<O>], entries: &[Entry]) -> (f64, usize) {
    let judged = judged(statements, entries);
    let own = judged
        .iter()
        .filter(|judged| !judged.fitted && judged.kind != Kind::Factor);
    own.fold((0.0, 0), |(right, all), judged| {
        (right + judged.part, all + 1)
    })
}

/// Says how many statements hold, and names those that miss.
///
/// # Errors
/// If it cannot be written.
pub fn print<O: On>(
    out: &mut dyn Write,
    statements: &[&Statement<O>],
    entries: &[Entry],
) -> anyhow::Result<()> {
    let judged = judged(statements, entries);
    let of = |fitted, kinds: &[Kind]| {
        let own = judged
            .iter()
            .filter(|judged| judged.fitted == fitted && kinds.contains(&judged.kind));
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
    let (right, number) = named(statements, entries);
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
    for missed in judged.iter().filter(|judged| judged.misses) {
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
    let fitted = |e: &&Entry| e.holds() != Some(true) && e.standing == Standing::Fitted;
    let looked_at = if missed.entries.iter().any(fitted) {
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
