//! Sensitivity: how many entries come out otherwise when a constant of the machine is changed by a tenth.

use super::{Entry, Paper, Standing, bluegene, cell, mpich, progress_bar, qsnet};
use crate::command::simulate::machine::Machine;
use std::io::Write;

/// What a constant is multiplied by.
const FACTORS: [f64; 2] = [0.9, 1.1];

/// The machines of a paper's experiments.
fn machines(paper: Paper) -> &'static [&'static str] {
    match paper {
        Paper::Bluegene => &["bluegene-l"],
        Paper::Cell => &["cell", "cell-blade"],
        Paper::Mpich => &mpich::MACHINES,
        Paper::Qsnet => &["multirail-smp"],
    }
}

/// Whether an entry comes out as the paper has it.
fn comes_out(paper: Paper, entry: &Entry) -> bool {
    match paper {
        Paper::Bluegene => bluegene::verdict::comes_out(entry),
        Paper::Cell => cell::near(entry),
        Paper::Mpich | Paper::Qsnet => entry.holds() == Some(true),
    }
}

/// The entries, of what is asked, with one constant multiplied in every machine that has it.
fn entries(
    paper: Paper,
    asked: (Option<u32>, Option<u32>),
    (place, factor): (&str, f64),
) -> anyhow::Result<Vec<Entry>> {
    let changed = |name: &str| Machine::with_constant(name, place, factor);
    match paper {
        Paper::Bluegene => bluegene::entries_on(&changed("bluegene-l")?, asked),
        Paper::Cell => Ok(cell::on(&cell::Machines::new(changed)?)?.entries),
        Paper::Mpich => {
            let [myrinet, sp, t3e] = mpich::MACHINES.map(changed);
            mpich::entries_on([myrinet?, sp?, t3e?], asked.1)
        }
        Paper::Qsnet => qsnet::entries_on(changed("multirail-smp")?, asked),
    }
}

/// Prints, for each constant, how many entries change sides between coming out and not.
///
/// # Errors
/// If something cannot be simulated, or it cannot be written.
pub fn print(
    out: &mut dyn Write,
    paper: Paper,
    asked: (Option<u32>, Option<u32>),
    before: &[Entry],
) -> anyhow::Result<()> {
    let judged = |e: &&Entry| matches!(e.standing, Standing::Predicted | Standing::Fitted);
    let sides = |entries: &[Entry]| -> Vec<(bool, bool)> {
        let all = entries.iter().filter(judged);
        all.map(|e| (e.standing == Standing::Fitted, comes_out(paper, e)))
            .collect()
    };
    let before = sides(before);
    let count = |fitted| before.iter().filter(|side| side.0 == fitted).count();
    writeln!(
        out,
        "\nOf {} predicted and {} fitted entries, this many come out otherwise with a constant changed:",
        count(false),
        count(true)
    )?;
    writeln!(
        out,
        "{:<40}{:>12}{:>12}{:>12}{:>12}",
        "", "predicted", "", "fitted", ""
    )?;
    writeln!(
        out,
        "{:<40}{:>12}{:>12}{:>12}{:>12}",
        "constant", "-10 %", "+10 %", "-10 %", "+10 %"
    )?;
    let mut places: Vec<String> = Vec::new();
    for name in machines(paper) {
        let own = Machine::constants(name)?;
        places.extend(
            own.into_iter()
                .filter(|place| !places.contains(place))
                .collect::<Vec<_>>(),
        );
    }
    // Each run takes about as long as any other.
    let runs = places.len() * FACTORS.len();
    let bar = progress_bar(runs, "{bar:40} {pos}/{len} changed machines, {eta} left");
    for place in places {
        let mut flips = [[0, 0]; 2];
        for (at, factor) in FACTORS.into_iter().enumerate() {
            let after = sides(&entries(paper, asked, (&place, factor))?);
            for (was, is) in before.iter().zip(&after).filter(|(was, is)| was.1 != is.1) {
                debug_assert_eq!(was.0, is.0);
                flips[usize::from(was.0)][at] += 1;
            }
            bar.inc(1);
        }
        let [[less, more], [fitted_less, fitted_more]] = flips;
        bar.suspend(|| {
            writeln!(
                out,
                "{place:<40}{less:>12}{more:>12}{fitted_less:>12}{fitted_more:>12}"
            )
        })?;
    }
    bar.finish_and_clear();
    Ok(())
}
