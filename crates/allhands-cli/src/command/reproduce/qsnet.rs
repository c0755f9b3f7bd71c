//! `allhands reproduce qsnet`: which algorithm wins where on a multi-rail cluster of SMP nodes, and by how much (Q 4, 7).
//!
//! Q prints its curves as pictures only. What its text says of them is: who wins in which range of sizes, at 16 ranks on four
//! nodes of four, and four factors. All of its competitors are timed, with its k of two ports, and beside them, marked, variants
//! that Q did not run. An entry of a winner says by how much the fastest of those that it is to beat is
//! slower; less than a hundredth is a tie, and no win.

mod contest;
mod points;
mod sentences;
mod testbed;

use super::{Entry, Standing};
use crate::command::simulate::machine::Machine;
use allhands_core::call::Collective;
use sentences::SENTENCES;
use std::io::Write;
use testbed::{Testbed, WHOLE, Who};

const KB: u64 = 1024;

/// The most by which ours may differ from the paper's.
const TOLERANCE: f64 = 0.25;

/// Everything that Q's text prints of its testbed, with all competitors' times, which are printed too; nothing is said below.
///
/// # Errors
/// If something cannot be simulated.
pub fn run(out: &mut dyn Write) -> anyhow::Result<(Vec<Entry>, Vec<String>)> {
    let testbed = Testbed::of(Machine::find("multirail-smp")?);
    let contests = contest::all(&testbed)?;
    for contest in &contests {
        contest.print(out)?;
    }
    let mut entries = said(&testbed)?;
    entries.extend(contests.iter().flat_map(contest::Contest::entries));
    Ok((entries, Vec::new()))
}

/// The same without the times of competitors, on a changed machine.
///
/// # Errors
/// If something cannot be simulated.
pub fn entries_on(machine: Machine) -> anyhow::Result<Vec<Entry>> {
    said(&Testbed::of(machine))
}

/// The entries of what Q's text says.
fn said(testbed: &Testbed) -> anyhow::Result<Vec<Entry>> {
    let mut entries = points::entries(testbed)?;
    for sentence in SENTENCES {
        entries.extend(sentence.entries(testbed)?);
    }
    for (section, collective, bytes, who, factor) in FACTORS {
        let us = |who| testbed.call_us(who, (collective, WHOLE), bytes);
        let ours = us(Who::Elan)? / us(who)?;
        let row = row(collective, bytes);
        entries.push(Entry::new(section, (row, BEST), (factor, ours), false));
    }
    Ok(entries)
}

/// The column of the factors.
const BEST: &str = "elan by Q's best";

/// The factors by which Q's best is faster than Quadrics' library: section, collective, block in bytes, who that is, factor.
const FACTORS: [(&str, Collective, u64, Who, f64); 4] = [
    ("7.2", Collective::Gather, 4 * KB, sentences::DIRECT, 2.15),
    ("7.3", Collective::Alltoall, 2 * KB, sentences::DIRECT, 2.26),
    (
        "7.4",
        Collective::Allgather,
        4 * KB,
        sentences::SMP_BRUCK,
        1.96,
    ),
    (
        "7.4",
        Collective::Allgather,
        32 * KB,
        sentences::DIRECT,
        1.49,
    ),
];

fn row(collective: Collective, bytes: u64) -> String {
    match bytes {
        bytes if bytes >= KB => format!("{collective}, {} KB", bytes / KB),
        bytes => format!("{collective}, {bytes} B"),
    }
}

/// Whether ours is the paper's winner, or near enough to its number.
pub fn comes_out(entry: &Entry) -> bool {
    match entry.holds() {
        Some(holds) => holds,
        None => (entry.ratio - 1.0).abs() <= TOLERANCE,
    }
}

/// Says how many predicted entries come out, sentence by sentence, which miss and why, and what of Q is not here.
///
/// # Errors
/// If it cannot be written.
pub fn verdict(out: &mut dyn Write, entries: &[Entry]) -> anyhow::Result<()> {
    let predicted = || entries.iter().filter(|e| e.standing == Standing::Predicted);
    let fitted = entries.iter().filter(|e| e.standing == Standing::Fitted);
    let right = |of: &mut dyn Iterator<Item = &Entry>| {
        of.fold([0, 0], |[right, all], e| {
            [right + u32::from(comes_out(e)), all + 1]
        })
    };
    let [winners, sizes] = right(&mut predicted().filter(|e| e.says.is_some()));
    let [near, numbers] = right(&mut predicted().filter(|e| e.says.is_none()));
    let whole = SENTENCES.iter().filter(|sentence| {
        let mut own = entries.iter().filter(|e| sentence.says(e));
        own.all(comes_out)
    });
    writeln!(
        out,
        "\nOf {} sentences on winners {} hold at every size; at {sizes} sizes by which nothing was chosen, {winners} times.\n\
         Of {numbers} numbers by which nothing was chosen {near} are within {:.0} %; {} entries were looked at when constants \
         were chosen.",
        SENTENCES.len(),
        whole.count(),
        100.0 * TOLERANCE,
        fitted.count(),
    )?;
    for sentence in SENTENCES {
        let missed: Vec<&Entry> = entries
            .iter()
            .filter(|e| sentence.says(e) && !comes_out(e))
            .collect();
        let Some(worst) = missed.iter().map(|e| e.ratio).reduce(f64::min) else {
            continue;
        };
        let rows: Vec<&str> = missed.iter().map(|e| e.row.as_str()).collect();
        writeln!(
            out,
            "misses: {} {} at {}, down to {worst:.3}: {}",
            sentence.section,
            sentence.title,
            rows.join("; "),
            sentence
                .why
                .map_or("no reason is known".to_owned(), |why| why.to_string())
        )?;
    }
    for entry in predicted().filter(|e| e.says.is_none() && !comes_out(e)) {
        writeln!(
            out,
            "misses: {} {}, {}: no reason is known",
            entry.table, entry.row, entry.column
        )?;
    }
    writeln!(
        out,
        "\nNot here: Q's figures, which print no numbers; MPI applications (Q 7.4.1)."
    )?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::super::Says;
    use super::*;

    #[test]
    fn what_misses_has_a_reason() {
        let (entries, _) = run(&mut Vec::new()).expect("everything can be simulated");
        for sentence in SENTENCES {
            let missed = entries.iter().any(|e| sentence.says(e) && !comes_out(e));
            assert_eq!(missed, sentence.why.is_some(), "{}", sentence.title);
        }
        let numbers = entries
            .iter()
            .filter(|e| e.says.is_none() && e.standing == Standing::Predicted);
        assert!(numbers.clone().all(comes_out) && numbers.count() >= FACTORS.len());
        // Whatever Q ran is timed at every size.
        let timed = entries.iter().filter(|e| e.standing == Standing::Shown);
        assert!(timed.count() >= 18 * (3 + 4 + 7));
    }

    #[test]
    fn a_tie_is_no_win() {
        let entry = Entry::new("7.4", ("", ""), (1.0, 1.0), false).saying(Says::Ahead);
        assert!(!comes_out(&entry));
    }
}
