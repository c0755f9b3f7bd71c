//! Guidelines: calls that should take no longer than others that do the same.

use super::input::Guideline;
use super::page::Page;
use crate::command::figures::{Table, number};
use crate::sizes::say;
use std::collections::BTreeMap;

/// How often each guideline is kept, and where it is not.
pub fn section(page: &mut Page, guidelines: &[Guideline]) {
    if guidelines.is_empty() {
        return;
    }
    page.section("Performance guidelines");
    page.words("A call should take no longer than others that do the same or more: the left by the right is the ratio.");
    let mut of: BTreeMap<&str, (usize, usize, f64)> = BTreeMap::new();
    for it in guidelines {
        let counts = of.entry(&it.guideline).or_default();
        counts.0 += 1;
        counts.1 += usize::from(it.violated);
        counts.2 = counts.2.max(it.left_us / it.right_us);
    }
    let mut table = Table::new(&["guideline", "calls", "violated", "largest ratio"]);
    for (name, (calls, violated, largest)) in of {
        let counts = [calls.to_string(), violated.to_string(), number(largest)];
        table
            .rows
            .push(std::iter::once(name.to_string()).chain(counts).collect());
    }
    page.table("Guidelines", &table);
    let violated: Vec<&Guideline> = guidelines.iter().filter(|it| it.violated).collect();
    match violated.is_empty() {
        true => page.words("None is violated."),
        false => {
            page.part(&format!(
                "Violated: {} of {}",
                violated.len(),
                guidelines.len()
            ));
            page.table("Violated guidelines", &rows(violated));
        }
    }
    page.details("All guidelines", &rows(guidelines.iter().collect()));
}

/// One row each, the largest ratio first.
fn rows(mut all: Vec<&Guideline>) -> Table {
    let ratio = |it: &Guideline| it.left_us / it.right_us;
    all.sort_by(|a, b| ratio(b).total_cmp(&ratio(a)));
    let head = [
        "guideline",
        "collective",
        "ranks",
        "bytes",
        "left",
        "µs",
        "right",
        "µs",
        "ratio",
        "",
    ];
    let mut table = Table::new(&head);
    for it in all {
        table.rows.push(vec![
            it.guideline.clone(),
            it.collective.clone(),
            it.ranks.to_string(),
            say(it.bytes),
            it.left.clone(),
            number(it.left_us),
            it.right.clone(),
            number(it.right_us),
            number(ratio(it)),
            if it.violated { "violated" } else { "kept" }.to_string(),
        ]);
    }
    table
}
