//! `allhands reproduce qsnet`: which algorithm wins where on a multi-rail cluster of SMP nodes, and by how much (Q 4, 7).
//!
//! Q prints its curves as pictures only. What its text says of them is: who wins in which range of sizes, at 16 ranks on four
//! nodes of four, and four factors. A winner's entry says by how much the best of the others is slower, at most 1: less than 1
//! where the named one does not win.

mod points;
mod testbed;

use super::Entry;
use allhands_core::call::Collective;
use std::io::Write;
use testbed::{Testbed, Who};

const KB: u64 = 1024;

/// The most by which ours may differ from the paper's.
const TOLERANCE: f64 = 0.25;

const TREE: Who = Who::Algorithm("binomial", "ports=2");
const BRUCK: Who = Who::Algorithm("bruck", "ports=2");
const DIRECT: Who = Who::Algorithm("direct", "ports=2");
/// The root takes blocks as they come: nobody waits for it.
const DIRECT_GATHER: Who = Who::Algorithm("direct", "ports=16");
const ALLGATHERS: &[Who] = &[
    Who::Elan,
    Who::Algorithm("smp-gather-broadcast", ""),
    Who::Algorithm("smp-direct", "ports=2"),
    Who::Algorithm("smp-bruck", ""),
    Who::Algorithm("smp-bruck", "ports=2"),
    DIRECT,
    BRUCK,
    Who::Algorithm("standard-exchange", "ports=2"),
];

/// A sentence of Q 7: who wins, against whom, from which size to which.
struct Sentence {
    section: &'static str,
    collective: Collective,
    winner: (Who, &'static str),
    others: &'static [Who],
    bytes: (u64, u64),
    /// Whether a constant of the machine was set by it, at this size.
    fitted_bytes: Option<u64>,
}

const fn sentence(
    section: &'static str,
    collective: Collective,
    winner: (Who, &'static str),
    others: &'static [Who],
    bytes: (u64, u64),
) -> Sentence {
    Sentence {
        section,
        collective,
        winner,
        others,
        bytes,
        fitted_bytes: None,
    }
}

/// What the text says; the least size in its figures is taken to be 8 B, and "very short" to be at most 64 B, as in Q 7.3.
const SENTENCES: &[Sentence] = &[
    Sentence {
        fitted_bytes: Some(256),
        ..sentence(
            "7.2",
            Collective::Gather,
            (Who::Qsnet, "tree over direct"),
            &[DIRECT_GATHER],
            (8, 256),
        )
    },
    sentence(
        "7.2",
        Collective::Gather,
        (Who::Qsnet, "direct over tree"),
        &[TREE],
        (512, KB * KB),
    ),
    sentence(
        "7.2",
        Collective::Gather,
        (Who::Elan, "elan over direct"),
        &[DIRECT_GATHER],
        (8, 512),
    ),
    sentence(
        "7.2",
        Collective::Gather,
        (Who::Qsnet, "direct over elan"),
        &[Who::Elan],
        (KB, KB * KB),
    ),
    sentence(
        "7.2",
        Collective::Gather,
        (TREE, "tree over elan"),
        &[Who::Elan],
        (KB, 8 * KB),
    ),
    // That the tree is better from 1 to 8 KB says that it is not below or beyond.
    sentence(
        "7.2",
        Collective::Gather,
        (Who::Elan, "elan over tree"),
        &[TREE],
        (8, 512),
    ),
    sentence(
        "7.2",
        Collective::Gather,
        (Who::Elan, "elan over tree"),
        &[TREE],
        (16 * KB, KB * KB),
    ),
    sentence(
        "7.3",
        Collective::Alltoall,
        (Who::Qsnet, "Bruck over direct"),
        &[DIRECT],
        (8, 64),
    ),
    sentence(
        "7.3",
        Collective::Alltoall,
        (Who::Qsnet, "direct over Bruck"),
        &[BRUCK],
        (128, KB * KB),
    ),
    Sentence {
        fitted_bytes: Some(64),
        ..sentence(
            "7.3",
            Collective::Alltoall,
            (Who::Elan, "elan over both"),
            &[BRUCK, DIRECT],
            (8, 64),
        )
    },
    sentence(
        "7.3",
        Collective::Alltoall,
        (Who::Qsnet, "direct over elan"),
        &[Who::Elan],
        (512, KB * KB),
    ),
    Sentence {
        fitted_bytes: Some(256),
        ..sentence(
            "7.4",
            Collective::Allgather,
            (Who::Qsnet, "gather-broadcast"),
            ALLGATHERS,
            (8, 256),
        )
    },
    sentence(
        "7.4",
        Collective::Allgather,
        (Who::Qsnet, "SMP-aware Bruck"),
        ALLGATHERS,
        (512, 8 * KB),
    ),
    Sentence {
        fitted_bytes: Some(16 * KB),
        ..sentence(
            "7.4",
            Collective::Allgather,
            (Who::Qsnet, "direct"),
            ALLGATHERS,
            (16 * KB, KB * KB),
        )
    },
];

/// The factors by which Q's best is faster than Quadrics' library: section, collective, block in bytes, factor.
const FACTORS: [(&str, Collective, u64, f64); 4] = [
    ("7.2", Collective::Gather, 4 * KB, 2.15),
    ("7.3", Collective::Alltoall, 2 * KB, 2.26),
    ("7.4", Collective::Allgather, 4 * KB, 1.96),
    ("7.4", Collective::Allgather, 32 * KB, 1.49),
];

/// Everything that Q's text prints of its testbed.
///
/// # Errors
/// If something cannot be simulated.
pub fn entries() -> anyhow::Result<Vec<Entry>> {
    let testbed = Testbed::new()?;
    let mut entries = points::entries(&testbed)?;
    for sentence in SENTENCES {
        let (mut bytes, last) = sentence.bytes;
        while bytes <= last {
            entries.push(sentence.entry(&testbed, bytes)?);
            bytes *= 2;
        }
    }
    for (section, collective, bytes, factor) in FACTORS {
        let us = |who| testbed.call_us(who, collective, bytes);
        let ours = us(Who::Elan)? / us(Who::Qsnet)?;
        let row = row(collective, bytes);
        entries.push(entry(section, &row, "elan by qsnet", factor, ours, false));
    }
    Ok(entries)
}

impl Sentence {
    fn entry(&self, testbed: &Testbed, bytes: u64) -> anyhow::Result<Entry> {
        let us = |who| testbed.call_us(who, self.collective, bytes);
        let winner_us = us(self.winner.0)?;
        let mut best_us = winner_us;
        for other in self.others {
            best_us = us(*other)?.min(best_us);
        }
        let fitted = self.fitted_bytes == Some(bytes);
        let (row, ours) = (row(self.collective, bytes), best_us / winner_us);
        Ok(entry(self.section, &row, self.winner.1, 1.0, ours, fitted))
    }
}

fn row(collective: Collective, bytes: u64) -> String {
    match bytes {
        bytes if bytes >= KB => format!("{collective}, {} KB", bytes / KB),
        bytes => format!("{collective}, {bytes} B"),
    }
}

fn entry(
    table: &'static str,
    row: &str,
    column: &str,
    paper: f64,
    ours: f64,
    used_to_fit: bool,
) -> Entry {
    Entry {
        table,
        row: row.to_string(),
        column: column.to_string(),
        paper,
        ours,
        ratio: ours / paper,
        used_to_fit,
        says: None,
    }
}

/// Whether an entry is one of a winner.
fn names_a_winner(entry: &Entry) -> bool {
    SENTENCES.iter().any(|s| s.winner.1 == entry.column)
}

/// Whether ours is another winner, or too far from the paper's number.
fn misses(entry: &Entry) -> bool {
    match names_a_winner(entry) {
        true => entry.ratio < 1.0,
        false => (entry.ratio - 1.0).abs() > TOLERANCE,
    }
}

/// Says which entries miss, and what of Q is not here.
///
/// # Errors
/// If it cannot be written.
pub fn print_misses(out: &mut dyn Write, entries: &[Entry]) -> anyhow::Result<()> {
    let missed: Vec<&Entry> = entries.iter().filter(|e| misses(e)).collect();
    writeln!(
        out,
        "\n{} of {} entries miss: another winner, or more than {:.0} % off",
        missed.len(),
        entries.len(),
        100.0 * TOLERANCE
    )?;
    for entry in missed {
        writeln!(out, "  {} {}, {}", entry.table, entry.row, entry.column)?;
    }
    writeln!(
        out,
        "\nNot here: Q's figures, which print no numbers; per-node gather and broadcast (Q 4.2, figure 3); the standard exchange \
         against Bruck (Q 7.3), as ours takes the factors of 16 and needs no correction steps; MPI applications (Q 7.4.1)."
    )?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn winners_and_factors_are_the_papers() {
        let entries = entries().expect("everything can be simulated");
        let missed: Vec<&Entry> = entries.iter().filter(|e| misses(e)).collect();
        assert!(missed.is_empty(), "{missed:?}");
        for (_, collective, bytes, _) in FACTORS {
            let own = |e: &&Entry| e.row == row(collective, bytes) && e.column == "elan by qsnet";
            let factor = entries.iter().find(own).expect("it is there");
            assert!(!factor.used_to_fit, "{factor:?}");
        }
    }
}
