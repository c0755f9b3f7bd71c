//! A contest: the times of all competitors of one of Q's figures, and of variants that Q did not run.

use super::super::{Entry, Standing};
use super::row;
use super::sentences::{BRUCK, DIRECT, GATHER_BROADCAST, SMP_BRUCK, SMP_DIRECT, STANDARD, TREE};
use super::testbed::{Testbed, WHOLE, Who};
use allhands_core::call::Collective;
use std::io::Write;

/// A figure of Q 7, with all that it shows.
struct Figure {
    section: &'static str,
    collective: Collective,
    /// The paper's competitors, with its k.
    paper: &'static [(&'static str, Who)],
    /// Ours, which the paper did not run.
    ours: &'static [(&'static str, Who)],
}

const FIGURES: [Figure; 3] = [
    Figure {
        section: "7.2",
        collective: Collective::Gather,
        paper: &[("tree", TREE), ("direct", DIRECT), ("elan", Who::Elan)],
        // The root takes blocks as they come: nobody waits for it.
        ours: &[("direct:ports=16", Who::Algorithm("direct", "ports=16"))],
    },
    Figure {
        section: "7.3",
        collective: Collective::Alltoall,
        paper: &[
            ("direct", DIRECT),
            ("standard", STANDARD),
            ("bruck", BRUCK),
            ("elan", Who::Elan),
        ],
        // As figure 6 has it, although its caption says two ports.
        ours: &[("bruck:radix=2", Who::Algorithm("bruck", "radix=2"))],
    },
    Figure {
        section: "7.4",
        collective: Collective::Allgather,
        paper: &[
            ("smp-g.-b.", GATHER_BROADCAST),
            ("smp-direct", SMP_DIRECT),
            ("smp-bruck", SMP_BRUCK),
            ("direct", DIRECT),
            ("standard", STANDARD),
            ("bruck", BRUCK),
            ("elan", Who::Elan),
        ],
        ours: &[("smp-bruck:ports=1", Who::Algorithm("smp-bruck", ""))],
    },
];

/// The sizes of Q's figures, from 8 B to 1 MB.
const EXPONENTS: std::ops::RangeInclusive<u32> = 3..=20;

/// A figure's times.
pub struct Contest {
    figure: &'static Figure,
    /// Bytes, and the times of all competitors in microseconds, the paper's first.
    rows: Vec<(u64, Vec<f64>)>,
}

/// The times of all figures.
///
/// # Errors
/// If something cannot be simulated.
pub fn all(testbed: &Testbed) -> anyhow::Result<Vec<Contest>> {
    FIGURES
        .iter()
        .map(|figure| contest(testbed, figure))
        .collect()
}

fn contest(testbed: &Testbed, figure: &'static Figure) -> anyhow::Result<Contest> {
    let row = |bytes| {
        let us = |(_, who): &(&str, Who)| testbed.call_us(*who, (figure.collective, WHOLE), bytes);
        let all = figure.paper.iter().chain(figure.ours);
        anyhow::Ok((bytes, all.map(us).collect::<anyhow::Result<_>>()?))
    };
    let rows = EXPONENTS.map(|exponent| row(1 << exponent)).collect();
    let rows: anyhow::Result<_> = rows;
    Ok(Contest {
        figure,
        rows: rows?,
    })
}

impl Contest {
    /// Prints the times: a star at the fastest of the paper's, and by how much it leads the next of them.
    ///
    /// # Errors
    /// If it cannot be written.
    pub fn print(&self, out: &mut dyn Write) -> std::io::Result<()> {
        let Figure {
            section,
            collective,
            paper,
            ours,
        } = self.figure;
        writeln!(
            out,
            "{section} {collective}, us; Q's algorithms with its two ports, * the fastest; (ours): not in Q"
        )?;
        write!(out, "{:>8}", "bytes")?;
        for (name, _) in *paper {
            write!(out, "{name:>13}")?;
        }
        write!(out, "{:>12}", "* leads by")?;
        for (name, _) in *ours {
            write!(out, "{:>26}", format!("(ours) {name}"))?;
        }
        writeln!(out)?;
        for (bytes, times) in &self.rows {
            let (papers, ours) = times.split_at(paper.len());
            let mut sorted = papers.to_vec();
            sorted.sort_by(f64::total_cmp);
            write!(out, "{bytes:>8}")?;
            for us in papers {
                let star = if *us <= sorted[0] { "*" } else { " " };
                write!(out, "{us:>12.2}{star}")?;
            }
            write!(out, "{:>12.2}", sorted[1] - sorted[0])?;
            for us in ours {
                write!(out, "{us:>26.2}")?;
            }
            writeln!(out)?;
        }
        writeln!(out)
    }

    /// The times as entries, of which the paper prints none.
    pub fn entries(&self) -> impl Iterator<Item = Entry> {
        let Figure {
            section,
            collective,
            paper,
            ours,
        } = self.figure;
        let paper = paper.iter().map(|(name, _)| format!("{name}, us"));
        let ours = ours.iter().map(|(name, _)| format!("{name}, ours, us"));
        let columns: Vec<String> = paper.chain(ours).collect();
        self.rows.iter().flat_map(move |(bytes, times)| {
            let row = row(*collective, *bytes);
            let entry = |(column, us): (&String, &f64)| {
                let entry = Entry::new(section, (&row, column), (f64::NAN, *us), false);
                entry.standing(Standing::Shown)
            };
            let entries: Vec<Entry> = columns.iter().zip(times).map(entry).collect();
            entries
        })
    }
}
