//! The errors of predictions: how many are how large, and what of a model that is left out adds to them.

use super::{Record, UNCERTAIN_MOST};
use crate::sizes::say;
use allhands_core::call::Collective;
use std::io::Write;

/// What stands above shares.
fn print_head(out: &mut dyn Write, first: &str) -> std::io::Result<()> {
    writeln!(
        out,
        "{first:<16}{:>7}{:>10}{:>9}{:>9}{:>9}{:>12}{:>12}",
        "cells", "median %", "<10 %", "<15 %", "<20 %", "largest %", "uncertain"
    )
}

/// Whether runs agree.
fn is_certain(record: &&Record) -> bool {
    record.uncertain.is_some_and(|part| part <= UNCERTAIN_MOST)
}

/// A line of the table: how many errors there are, how large they are, and how many cells are uncertain.
fn print_shares(
    out: &mut dyn Write,
    name: &str,
    mut errors: Vec<f64>,
    uncertain: Option<usize>,
) -> std::io::Result<()> {
    errors.sort_by(f64::total_cmp);
    let below = |most: f64| {
        let below = errors.iter().filter(|error| **error < most).count();
        100.0 * below as f64 / errors.len().max(1) as f64
    };
    let at = |place: usize| errors.get(place).map_or(f64::NAN, |error| 100.0 * error);
    writeln!(
        out,
        "{name:<16}{:>7}{:>10.1}{:>9.0}{:>9.0}{:>9.0}{:>12.0}{:>12}",
        errors.len(),
        at(errors.len() / 2),
        below(0.10),
        below(0.15),
        below(0.20),
        at(errors.len().saturating_sub(1)),
        uncertain.map_or(String::new(), |many| many.to_string()),
    )
}

/// How many errors of the cells are how large, collective by collective, and the largest.
pub(super) fn print_errors(
    out: &mut dyn Write,
    records: &[Record],
    of_runs: Vec<f64>,
) -> std::io::Result<()> {
    /// So many of the largest are shown.
    const LARGEST: usize = 12;
    print_head(out, "collective")?;
    let line = |out: &mut dyn Write, name: &str, is_in: &dyn Fn(&&Record) -> bool| {
        let these: Vec<&Record> = records.iter().filter(is_in).collect();
        let certain = these.iter().copied().filter(is_certain);
        let errors: Vec<f64> = certain.filter_map(|record| record.error).collect();
        let uncertain = these.len() - errors.len();
        match these.is_empty() {
            true => Ok(()),
            false => print_shares(out, name, errors, Some(uncertain)),
        }
    };
    for collective in Collective::ALL {
        let name = collective.name();
        line(out, name, &|record| record.collective == name)?;
    }
    line(out, "all", &|_| true)?;
    let uncertain = records.iter().filter(|record| !is_certain(record));
    let errors: Vec<f64> = uncertain.filter_map(|record| record.error).collect();
    if !errors.is_empty() {
        print_shares(out, "the uncertain", errors, None)?;
    }
    if !of_runs.is_empty() {
        print_shares(out, "one run of all", of_runs, None)?;
    }
    print_damages(out, records)?;
    let mut largest: Vec<&Record> = records.iter().filter(is_certain).collect();
    largest.sort_by(|a, b| b.error.unwrap_or(0.0).total_cmp(&a.error.unwrap_or(0.0)));
    writeln!(out, "\nThe largest errors, of those that are certain:")?;
    for record in largest.iter().take(LARGEST) {
        writeln!(
            out,
            "{:<16}{:<30}{:>5} ranks{:>8}{:>12.2} µs predicted{:>12.2} measured{:>7.0} %",
            record.collective,
            record.algorithm,
            record.ranks,
            say(record.bytes),
            record.predicted_us,
            record.measured_us.unwrap_or(f64::NAN),
            100.0 * record.error.unwrap_or(f64::NAN)
        )?;
    }
    Ok(())
}

/// The errors of all cells that are certain: of the whole model, and of each part that is left out of it.
fn print_damages(out: &mut dyn Write, records: &[Record]) -> std::io::Result<()> {
    let variants = records.first().map_or(&[][..], |record| &record.damages);
    if variants.len() < 2 {
        return Ok(());
    }
    writeln!(out)?;
    print_head(out, "left out")?;
    for (at, (what, _)) in variants.iter().enumerate() {
        let certain = records.iter().filter(is_certain);
        let errors = certain.filter_map(|record| record.damages.get(at));
        let errors = errors.map(|(_, error)| *error).collect();
        print_shares(out, what.name(), errors, None)?;
    }
    Ok(())
}
