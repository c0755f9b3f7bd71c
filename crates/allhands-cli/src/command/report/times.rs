//! Measured and predicted times: where they are from, and for each collective latency, maps and bandwidth.

use super::page::Page;
use crate::command::bench::cell::Record as Measured;
use crate::command::figures::cells::{Cell, by_collective, place, point};
use crate::command::figures::{Table, bandwidth, decision, latency, number};
use std::collections::BTreeMap;

/// What there is of times.
pub fn sections(page: &mut Page, measured: &[Measured], cells: &[Cell]) {
    if !measured.is_empty() {
        origin(page, measured, cells.len());
    }
    let groups = by_collective(cells);
    if groups.is_empty() {
        return;
    }
    if cells
        .iter()
        .any(|cell| cell.measured.is_some() && cell.predicted_us.is_some())
    {
        errors(page, cells);
    }
    page.section("Latency by size");
    page.words(
        "Medians from the common start to the last rank's end. Full marks and lines are measured, with the interval that has the median in 95 of 100 cases; hollow marks and dashed lines are predicted.",
    );
    for group in &groups {
        latency::figures(group)
            .iter()
            .for_each(|figure| page.figure(figure));
        page.end_figures();
    }
    page.section("Which algorithm is the fastest");
    page.words(
        "A letter for each algorithm, by size and number of ranks, as in figure 14 of Thakur, Rabenseifner and Gropp (2005). Where a prediction takes another than what was measured to be the fastest, ×1.10 says that it was measured to take 1.10 times as long (an asterisk, where there is no room).",
    );
    for group in &groups {
        decision::maps(group)
            .iter()
            .for_each(|figure| page.figure(figure));
        page.end_figures();
    }
    let charts: Vec<_> = groups
        .iter()
        .filter_map(|group| bandwidth::chart(group))
        .collect();
    page.section("Bandwidth against the number of ranks");
    match charts.is_empty() {
        true => page.words("There is one number of ranks alone: right would be a benchmark or a prediction with several, as with -n 2,4,8."),
        false => page.words("The size by the median time, at the size that is nearest to 32K, as in figure 15 of the same paper."),
    }
    charts.iter().for_each(|figure| page.figure(figure));
}

/// Where, by which version, and how much was measured; and what was wrong.
fn origin(page: &mut Page, measured: &[Measured], shown: usize) {
    page.section("What was measured");
    let mut places: BTreeMap<(String, &str), (usize, usize, Vec<u32>)> = BTreeMap::new();
    for record in measured {
        let of = places.entry((place(record), &*record.version)).or_default();
        of.0 += 1;
        of.1 += record.iterations;
        if !of.2.contains(&record.ranks) {
            of.2.push(record.ranks);
        }
    }
    let mut table = Table::new(&["where", "version", "ranks", "cells", "timed calls"]);
    for ((place, version), (cells, calls, mut ranks)) in places {
        ranks.sort_unstable();
        let ranks: Vec<String> = ranks.iter().map(u32::to_string).collect();
        let counts = [cells.to_string(), calls.to_string()];
        let mut row = vec![place, version.to_string(), ranks.join(", ")];
        row.extend(counts);
        table.rows.push(row);
    }
    page.table("What was measured", &table);
    let right = measured.iter().filter(|record| record.correct).count();
    if right > shown {
        page.words(&format!(
            "{} of these cells were measured more than once: of each the last counts, in the order of the files.",
            right - shown
        ));
    }
    let wrong: Vec<&Measured> = measured.iter().filter(|record| !record.correct).collect();
    if !wrong.is_empty() {
        page.words(&format!(
            "{} cells had wrong results and are left out below:",
            wrong.len()
        ));
        let mut table = Table::new(&["collective", "algorithm", "where", "what"]);
        for record in wrong {
            let at = point(record.ranks, record.bytes);
            let what = record
                .failure
                .clone()
                .unwrap_or_else(|| "nothing was measured".into());
            let name = record.collective.to_string();
            table
                .rows
                .push(vec![name, record.algorithm.clone(), at, what]);
        }
        page.table("Wrong results", &table);
    }
}

/// By how much predictions miss, collective by collective.
fn errors(page: &mut Page, cells: &[Cell]) {
    page.section("How far predictions are off");
    page.words("|predicted − measured| by measured, of all cells that have both.");
    let mut of: BTreeMap<&str, Vec<f64>> = BTreeMap::new();
    for cell in cells {
        if let (Some(time), Some(us)) = (cell.measured, cell.predicted_us) {
            let error = (us - time.us).abs() / time.us;
            of.entry(&cell.collective).or_default().push(error);
            of.entry("all").or_default().push(error);
        }
    }
    let head = [
        "collective",
        "cells",
        "median %",
        "<10 %",
        "<15 %",
        "<20 %",
        "largest %",
    ];
    let mut table = Table::new(&head);
    for (name, mut errors) in of {
        errors.sort_by(f64::total_cmp);
        let at = |place: usize| errors.get(place).map_or(f64::NAN, |error| 100.0 * error);
        let below = |most: f64| {
            let below = errors.iter().filter(|error| **error < most).count();
            format!("{:.0} %", 100.0 * below as f64 / errors.len() as f64)
        };
        table.rows.push(vec![
            name.to_string(),
            errors.len().to_string(),
            number(at(errors.len() / 2)),
            below(0.10),
            below(0.15),
            below(0.20),
            number(at(errors.len() - 1)),
        ]);
    }
    page.table("How far predictions are off", &table);
}
