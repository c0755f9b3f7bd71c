//! Regret: how much longer what is chosen takes than what is the fastest.

use super::input::Regret;
use super::page::Page;
use crate::command::figures::cells::file_name;
use crate::command::figures::chart::{Axis, Chart, Point, Scale, Series};
use crate::command::figures::{Figure, Table, number};
use crate::sizes::say;
use std::collections::BTreeMap;

/// By how many percent the choice takes longer.
fn percent(regret: &Regret) -> f64 {
    100.0 * (regret.chosen_us / regret.best_us - 1.0)
}

/// What choices cost.
pub fn section(page: &mut Page, regrets: &[Regret]) {
    if regrets.is_empty() {
        return;
    }
    page.section("What choices cost");
    let none = regrets
        .iter()
        .filter(|regret| regret.chosen == regret.best)
        .count();
    page.words(&format!(
        "How much longer what is chosen takes than the fastest that was measured. Of {} calls {none} are served by that one.",
        regrets.len()
    ));
    let mut of: BTreeMap<&str, Vec<f64>> = BTreeMap::new();
    for regret in regrets {
        of.entry(&regret.collective)
            .or_default()
            .push(percent(regret));
        of.entry("all").or_default().push(percent(regret));
    }
    let mut table = Table::new(&["collective", "calls", "mean %", "median %", "largest %"]);
    for (name, all) in &mut of {
        all.sort_by(f64::total_cmp);
        let mean = all.iter().sum::<f64>() / all.len() as f64;
        let values = [mean, all[all.len() / 2], all[all.len() - 1]].map(number);
        let mut row = vec![(*name).to_string(), all.len().to_string()];
        row.extend(values);
        table.rows.push(row);
    }
    page.table("What choices cost", &table);
    if let Some(all) = of.get("all") {
        page.figure(&figure(all, regrets));
    }
}

/// How many calls lose how much at most.
fn figure(sorted: &[f64], regrets: &[Regret]) -> Figure {
    let many = sorted.len() as f64;
    let point = |(at, loss): (usize, &f64)| Point {
        x: loss.max(0.0),
        y: 100.0 * (at + 1) as f64 / many,
        ends: None,
    };
    let title = "How many calls lose how much at most";
    let chart = Chart {
        title,
        x: Axis {
            words: "longer than the fastest, %",
            scale: Scale::Even,
        },
        y: Axis {
            words: "calls, %",
            scale: Scale::Even,
        },
        series: vec![Series {
            name: "all calls".into(),
            number: 0,
            is_predicted: false,
            points: sorted.iter().enumerate().map(point).collect(),
        }],
        across: None,
    };
    let head = [
        "collective",
        "ranks",
        "bytes",
        "chosen",
        "µs",
        "fastest",
        "µs",
        "longer by %",
    ];
    let mut table = Table::new(&head);
    let mut worst: Vec<&Regret> = regrets.iter().collect();
    worst.sort_by(|a, b| percent(b).total_cmp(&percent(a)));
    for it in worst {
        table.rows.push(vec![
            it.collective.clone(),
            it.ranks.to_string(),
            say(it.bytes),
            it.chosen.clone(),
            number(it.chosen_us),
            it.best.clone(),
            number(it.best_us),
            number(percent(it)),
        ]);
    }
    Figure {
        name: file_name(title),
        svg: chart.draw(),
        title: title.to_string(),
        table,
    }
}
