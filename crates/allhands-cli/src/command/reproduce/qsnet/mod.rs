//! `allhands reproduce qsnet`: which algorithm wins where on a multi-rail cluster of SMP nodes, and by how much (Q 4, 7).
//!
//! Q prints its curves as pictures only. What its text says of them is: who wins in which range of sizes, on one node of four, and on
//! four nodes of one, two and four ranks each; where one gives way to another; and four factors. All of its competitors are timed,
//! with its k of two ports, and beside them, marked, variants that Q did not run.
//!
//! Fitted are sizes at which a constant of the machine was chosen so that the right one wins (machines/multirail-smp.toml names
//! them), and what was looked at when something that Q describes was put into how the testbed is used: Tports messages that are announced,
//! and the local moves of Bruck's algorithm.

mod applications;
mod figures;
mod points;
mod statements;
mod testbed;

use super::{Entry, statement, verdict};
use crate::command::simulate::machine::Machine;
use anyhow::ensure;
use figures::Contest;
use statements::STATEMENTS;
use std::io::Write;
use testbed::{On, Testbed};

/// A sentence of Q.
type Statement = statement::Statement<On>;

/// What of Q's figures and table is not here, and why.
const LEFT_OUT: &[&str] = &[
    "figures 1 to 3 and 9 to 11: their curves, of which the text prints no numbers; all times of ours are above",
    "figure 3, whose gather is how much faster where they are comparable, to 2 KB: Quadrics' is the same one here (Q 3.1)",
    "figure 10, the penalty of the standard exchange's correction steps: how Q corrects, and beside what it is one, it does not say",
    "figures 10 and 11, four and eight processes by size: the text names winners and sizes for sixteen alone",
    "table 1, the speedups of applications and of their communication themselves: what else N-BODY and RADIX do is not told; our \
     programs of the same kind (docs/applications.md) send other messages",
];

/// The numbers of figures and tables that there are here, in words.
const THERE: &str = "figure 1, 2, 3, 9, 10 or 11, or table 1";

/// All statements.
fn statements() -> impl Iterator<Item = &'static Statement> {
    STATEMENTS.iter().flat_map(|group| group.iter())
}

/// Which of the paper's tables and figures are asked for, by the name that an entry has.
fn is_asked((table, figure): (Option<u32>, Option<u32>), name: &str) -> bool {
    match (table, figure) {
        (None, None) => true,
        (Some(table), _) => name == format!("table {table}"),
        (None, Some(figure)) => name == format!("figure {figure}"),
    }
}

/// What Q's text says of its figures and its table, or of one, and what the machine gives, with all competitors' times, which are
/// printed too; and what is left out.
///
/// # Errors
/// If the text says nothing of that figure or table, or something cannot be simulated.
pub fn run(
    asked: (Option<u32>, Option<u32>),
    out: &mut dyn Write,
) -> anyhow::Result<(Vec<Entry>, Vec<String>)> {
    let testbed = Testbed::of(Machine::find("multirail-smp")?);
    let mut entries = said(&testbed, asked)?;
    ensure!(
        !entries.is_empty(),
        "there is no such figure or table here; right would be {THERE}"
    );
    let contests = figures::all(&testbed, |figure| is_asked(asked, figure))?;
    for contest in &contests {
        contest.print(out)?;
    }
    entries.extend(contests.iter().flat_map(Contest::entries));
    let left_out = LEFT_OUT.iter().filter(|_| asked == (None, None));
    let notes = left_out.map(|what| format!("left out: {what}"));
    Ok((entries, notes.collect()))
}

/// The same without the times of competitors, on a changed machine.
///
/// # Errors
/// If something cannot be simulated.
pub fn entries_on(
    machine: Machine,
    asked: (Option<u32>, Option<u32>),
) -> anyhow::Result<Vec<Entry>> {
    said(&Testbed::of(machine), asked)
}

/// The entries of what Q's text says.
fn said(testbed: &Testbed, asked: (Option<u32>, Option<u32>)) -> anyhow::Result<Vec<Entry>> {
    let mut entries = points::entries(testbed)?;
    entries.extend(applications::entries(testbed)?);
    entries.retain(|entry| is_asked(asked, entry.table));
    for statement in statements().filter(|statement| is_asked(asked, statement.table)) {
        entries.extend(statement.entries(testbed)?);
    }
    Ok(entries)
}

/// Says how many statements hold, and names those that miss.
///
/// # Errors
/// If it cannot be written.
pub fn verdict(out: &mut dyn Write, entries: &[Entry]) -> anyhow::Result<()> {
    verdict::print(out, &statements().collect::<Vec<_>>(), entries)
}

#[cfg(test)]
mod tests {
    use super::super::Standing;
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn what_the_text_names_comes_out_and_what_misses_has_a_reason() {
        let (entries, left_out) = run((None, None), &mut Vec::new()).expect("it is simulated");
        for statement in statements() {
            let own: Vec<&Entry> = entries.iter().filter(|e| statement.owns(e)).collect();
            assert!(!own.is_empty(), "{}", statement.title);
            let misses = !statement.holds(&own);
            assert_eq!(misses, statement.why.is_some(), "{}", statement.title);
        }
        let all: Vec<_> = statements().collect();
        let (right, number) = verdict::named(&all, &entries);
        assert!(right >= 0.8 * number as f64, "{right} of {number}");
        assert!(number >= 20 && left_out.len() == LEFT_OUT.len());
        let mut out = Vec::new();
        verdict(&mut out, &entries).expect("it is written");
        let text = String::from_utf8(out).expect("it is text");
        assert!(
            text.contains("misses: ") && !text.contains("no reason is known"),
            "{text}"
        );
        // Whatever Q ran is timed at every size, on a node, and with 4, 8 and 16 ranks.
        let timed = entries.iter().filter(|e| e.standing == Standing::Shown);
        assert!(timed.count() >= 18 * (5 + 3 * (3 + 4 + 7)));
    }

    #[test]
    fn a_figure_or_a_table_alone_has_its_entries_alone() {
        let (entries, left_out) = run((None, Some(3)), &mut Vec::new()).expect("it is simulated");
        assert!(entries.iter().all(|entry| entry.table == "figure 3"));
        assert!(left_out.is_empty() && !entries.is_empty());
        let (entries, _) = run((Some(1), None), &mut Vec::new()).expect("it is simulated");
        let rows: Vec<&str> = entries.iter().map(|entry| entry.row.as_str()).collect();
        assert!(rows.len() == 2 && rows[0].starts_with("N-BODY") && rows[1].starts_with("RADIX"));
        for asked in [(None, Some(4)), (Some(2), None)] {
            let error = run(asked, &mut Vec::new()).unwrap_err().to_string();
            assert!(error.contains(THERE), "{error}");
        }
    }

    #[test]
    fn a_title_is_one_statement_s_in_a_figure() {
        let named = statements().map(|own| (own.table, own.on, own.title));
        let all: BTreeSet<_> = named.collect();
        assert_eq!(all.len(), statements().count());
    }
}
