//! Q's figures with all that they show: the times of all competitors, and of variants that Q did not run.

use super::super::statement::size;
use super::super::times::{On as _, Testbed as _};
use super::super::{Entry, Standing};
use super::statements::{
    BRUCK, DIRECT, GATHER_BROADCAST, IN_WINDOW, SMP_BRUCK, SMP_DIRECT, SOFTWARE, STANDARD, TREE,
};
use super::testbed::{ELAN, HARDWARE, On, Place, Testbed};
use allhands_core::call::Collective;
use std::io::Write;

/// A competitor's name in a table, and as it is typed.
type Competitor = (&'static str, &'static str);

/// A figure, or a half of it.
struct Figure {
    name: &'static str,
    on: On,
    collective: Collective,
    /// The numbers of ranks of which it has a plot.
    ranks: &'static [u32],
    /// The paper's competitors, with its k.
    paper: &'static [Competitor],
    /// Ours, which the paper did not run.
    ours: &'static [Competitor],
}

/// As many as there are processors on four nodes, two, and one each.
const RANKS: &[u32] = &[16, 8, 4];

const FIGURES: [Figure; 5] = [
    Figure {
        name: "figure 3",
        on: On::Node,
        collective: Collective::Gather,
        ranks: &[4],
        paper: &[("memory", IN_WINDOW), ("elan", ELAN)],
        ours: &[],
    },
    Figure {
        name: "figure 3",
        on: On::Node,
        collective: Collective::Broadcast,
        ranks: &[4],
        paper: &[
            ("memory", IN_WINDOW),
            ("hardware", HARDWARE),
            ("software", SOFTWARE),
        ],
        ours: &[],
    },
    Figure {
        name: "figure 9",
        on: On::Nodes,
        collective: Collective::Gather,
        ranks: RANKS,
        paper: &[("tree", TREE), ("direct", DIRECT), ("elan", ELAN)],
        // The root takes blocks as they come: nobody waits for it.
        ours: &[("direct:ports=16", "direct:ports=16")],
    },
    Figure {
        name: "figure 10",
        on: On::Nodes,
        collective: Collective::Alltoall,
        ranks: RANKS,
        paper: &[
            ("direct", DIRECT),
            ("standard", STANDARD),
            ("bruck", BRUCK),
            ("elan", ELAN),
        ],
        // As figure 6 has it, although its caption says two ports.
        ours: &[("bruck:radix=2", "bruck:radix=2")],
    },
    Figure {
        name: "figure 11",
        on: On::Nodes,
        collective: Collective::Allgather,
        ranks: RANKS,
        paper: &[
            ("smp-g.-b.", GATHER_BROADCAST),
            ("smp-direct", SMP_DIRECT),
            ("smp-bruck", SMP_BRUCK),
            ("direct", DIRECT),
            ("standard", STANDARD),
            ("bruck", BRUCK),
            ("elan", ELAN),
        ],
        ours: &[("smp-bruck:ports=1", "smp-bruck")],
    },
];

/// The sizes of Q's figures, from 8 B to 1 MB.
const EXPONENTS: std::ops::RangeInclusive<u32> = 3..=20;

/// The times of a figure with one number of ranks.
pub struct Contest {
    figure: &'static Figure,
    ranks: u32,
    /// Bytes, and the times of all competitors in microseconds, the paper's first.
    rows: Vec<(u64, Vec<f64>)>,
}

/// The times of all figures that are asked for by their names.
///
/// # Errors
/// If something cannot be simulated.
pub fn all(testbed: &Testbed, is_asked: impl Fn(&str) -> bool) -> anyhow::Result<Vec<Contest>> {
    let asked = FIGURES.iter().filter(|figure| is_asked(figure.name));
    let each = asked.flat_map(|figure| figure.ranks.iter().map(move |ranks| (figure, *ranks)));
    each.map(|(figure, ranks)| contest(testbed, figure, ranks))
        .collect()
}

fn contest(testbed: &Testbed, figure: &'static Figure, ranks: u32) -> anyhow::Result<Contest> {
    let row = |bytes| {
        let place = figure.place(ranks, bytes);
        let us = |(_, typed): &Competitor| testbed.time_us(place, typed);
        let all = figure.paper.iter().chain(figure.ours);
        anyhow::Ok((bytes, all.map(us).collect::<anyhow::Result<_>>()?))
    };
    let rows = EXPONENTS.map(|exponent| row(1 << exponent)).collect();
    let rows: anyhow::Result<_> = rows;
    Ok(Contest {
        figure,
        ranks,
        rows: rows?,
    })
}

impl Figure {
    fn place(&self, ranks: u32, bytes: u64) -> Place {
        Place {
            on: self.on,
            collective: self.collective,
            ranks,
            bytes,
        }
    }
}

impl Contest {
    /// Prints the times: a star at the fastest of the paper's, and by how much it leads the next of them.
    ///
    /// # Errors
    /// If it cannot be written.
    pub fn print(&self, out: &mut dyn Write) -> std::io::Result<()> {
        let Figure {
            name,
            on,
            collective,
            paper,
            ours,
            ..
        } = self.figure;
        let (on, ranks) = (on.name(), self.ranks);
        writeln!(
            out,
            "{name}, {on}, {collective}, {ranks} ranks, us; Q's algorithms with its two ports, * the fastest; (ours): not in Q"
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
    pub fn entries(&self) -> Vec<Entry> {
        let Figure {
            name,
            on,
            collective,
            paper,
            ours,
            ..
        } = self.figure;
        let paper = paper.iter().map(|(name, _)| format!("{name}, us"));
        let ours = ours.iter().map(|(name, _)| format!("{name}, ours, us"));
        let columns: Vec<String> = paper.chain(ours).collect();
        let mut entries = Vec::new();
        for (bytes, times) in &self.rows {
            let (on, ranks, size) = (on.name(), self.ranks, size(*bytes));
            let row = format!("{on}, {collective}, {ranks} ranks, {size}");
            for (column, us) in columns.iter().zip(times) {
                let entry = Entry::new(name, (&row, column), (f64::NAN, *us), false);
                entries.push(entry.standing(Standing::Shown));
            }
        }
        entries
    }
}
