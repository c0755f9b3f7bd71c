//! `allhands reproduce`: a paper's experiments run again on the model of its machine, beside what the paper prints.

mod bluegene;
mod cell;
mod mpich;
mod qsnet;
mod sensitivity;
mod statement;
mod times;
mod verdict;

use crate::output;
use allhands_core::cost::formula::Miss;
use anyhow::ensure;
use indicatif::{ProgressBar, ProgressStyle};
use serde::Serialize;
use std::fmt;
use std::io::{IsTerminal, Write};

use std::process::ExitCode;

/// Run a paper's experiments again, on the model of its machine
///
/// For every number that the paper prints: the paper's, ours, and the ratio of ours to the paper's. Marked are numbers by which a
/// constant of the machine was chosen (fitted), those that follow from what the machine was given and could not come out otherwise
/// (given), whose ratios say nothing of the model; and those told by the rate of a part of a run (extrapolated).
///
/// cell: Ali, Midkiff, Pai 2010 print no times, but models: for each line of their tables 1 to 5, as printed and corrected, on 2 to 16
/// SPEs and 64 bytes to 32 KB, the model's prediction, with parameters that their microbenchmarks measure on the simulated machine, and
/// the time of the simulated algorithm, in µs; and below them how many errors are less than 10 % and 15 % of the simulated time, beside the
/// paper's 94 % and 100 %, what the gap of a single sender and leaving contention out do (figure 11), and the models of clusters of
/// blades and of Roadrunner (C 6).
///
/// bluegene takes a quarter of an hour on two cores, nearly all of it for its table 2; --table and --figure run a part.
///
/// mpich: T prints its curves as pictures; its text says who wins, from which size or number of ranks on, and by how much.
///
/// qsnet: Q too. Of figure 3 (one node) and figures 9 to 11 (4, 8 and 16 ranks on four nodes) the times of all competitors are
/// printed first, each size a line; then what the text says of them and of table 1.
///
/// Keys of --json: table, row, column, paper, ours, ratio, standing, extrapolated.
///
/// Exit status 2 when the arguments are wrong.
///
/// Examples:
///   allhands reproduce bluegene --json bluegene.json
///   allhands reproduce cell --json cell.json
///   allhands reproduce mpich --json mpich.json
///   allhands reproduce mpich --figure 6
///   allhands reproduce qsnet --json qsnet.json
///   allhands reproduce bluegene --table 4
///   allhands reproduce qsnet --figure 9
///   allhands reproduce qsnet --table 1
///   allhands reproduce qsnet --sensitivity
///   allhands reproduce bluegene --figure 9
#[derive(clap::Args)]
#[command(verbatim_doc_comment)]
pub struct Arguments {
    /// The paper
    #[arg(value_enum)]
    paper: Paper,

    /// Only this table of the paper, by its number
    #[arg(long, conflicts_with = "figure")]
    table: Option<u32>,

    /// Only what the paper's text says of this figure, by its number
    #[arg(long)]
    figure: Option<u32>,

    /// Also change each constant of the machine by 10 % either way, and say how many entries come out otherwise then
    #[arg(long)]
    sensitivity: bool,

    #[command(flatten)]
    json: output::Json,
}

/// A paper whose experiments can be run again.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
enum Paper {
    /// Almási et al., MPI collectives on BlueGene/L
    Bluegene,
    /// Ali, Midkiff, Pai 2010: one Cell, two, and clusters of them
    Cell,
    /// Thakur, Rabenseifner, Gropp: MPICH's collectives on a Myrinet cluster, an IBM SP and a Cray T3E
    Mpich,
    /// Qian, Afsahi: collectives on multi-rail QsNetII SMP clusters
    Qsnet,
}

/// A number that a paper prints, and ours.
#[derive(Clone, Debug, Serialize)]
pub struct Entry {
    /// The paper's table or figure.
    pub table: &'static str,
    /// The row.
    pub row: String,
    /// The column.
    pub column: String,
    /// What the paper prints; no number where it prints none.
    pub paper: f64,
    /// What the simulation gives.
    pub ours: f64,
    /// Ours by the paper's.
    pub ratio: f64,
    /// What that says of the model.
    pub standing: Standing,
    /// Whether ours is told by the rate of a part of a run, which as a whole is too long to be simulated.
    pub extrapolated: bool,
    /// What the paper says of the number, if that is no value to be met.
    #[serde(skip)]
    pub says: Option<Says>,
    /// Why ours is not as the paper says, if it is not.
    #[serde(skip)]
    pub why: Option<Miss>,
}

/// What an entry says of the model.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Standing {
    /// Nothing of the machine was chosen by it.
    Predicted,
    /// A constant of the machine, or the form of a curve, was chosen by looking at it.
    Fitted,
    /// It follows from what the machine or the policy was given, so that it could not come out otherwise.
    Given,
    /// The paper prints nothing that it could be held against.
    Shown,
}

/// What a paper's text says of a number; entries have it in their column.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Says {
    /// It is below the one that is printed.
    Below,
    /// It is above.
    Above,
    /// It is above, by more than a hundredth: closer is a tie.
    Ahead,
    /// It is above, or a tie.
    NotBehind,
    /// It is that one, within this factor; 1: just that one.
    About(f64),
    /// It is from that one to this, or no further from them than [`SLACK`].
    To(f64),
}

/// The factor by which a number may be off that is read from a picture, or said to be about.
const SLACK: f64 = 1.25;

impl fmt::Display for Says {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Says::Below => write!(f, "below"),
            Says::Above => write!(f, "above"),
            Says::Ahead => write!(f, "ahead"),
            Says::NotBehind => write!(f, "not behind"),
            Says::About(factor) => write!(f, "within {factor}x"),
            Says::To(most) => write!(f, "to {most}"),
        }
    }
}

impl Entry {
    /// An entry of a table, by its row and column, with the paper's number and ours.
    fn new(
        table: &'static str,
        (row, column): (impl ToString, impl ToString),
        (paper, ours): (f64, f64),
        fitted: bool,
    ) -> Entry {
        Entry {
            table,
            row: row.to_string(),
            column: column.to_string(),
            paper,
            ours,
            ratio: ours / paper,
            standing: match fitted {
                true => Standing::Fitted,
                false => Standing::Predicted,
            },
            extrapolated: false,
            says: None,
            why: None,
        }
    }

    /// The same with another standing.
    fn standing(self, standing: Standing) -> Entry {
        Entry { standing, ..self }
    }

    /// The same, of which the paper says that.
    fn saying(self, says: Says) -> Entry {
        let says = Some(says);
        Entry { says, ..self }
    }

    /// The same, which misses for this reason.
    #[cfg(test)]
    fn missing(self, why: Miss) -> Entry {
        let why = Some(why);
        Entry { why, ..self }
    }

    /// Whether ours is as the paper says, if it says how.
    fn holds(&self) -> Option<bool> {
        let ratio = self.ratio;
        Some(match self.says? {
            Says::Below => ratio < 1.0,
            Says::Above => ratio > 1.0,
            Says::Ahead => ratio > 1.01,
            Says::NotBehind => ratio > 0.99,
            Says::About(factor) => (1.0 / factor..=factor).contains(&ratio),
            Says::To(most) => (self.paper / SLACK..=most * SLACK).contains(&self.ours),
        })
    }
}

/// Runs a paper's experiments and prints them.
pub fn run(arguments: &Arguments) -> anyhow::Result<ExitCode> {
    arguments.json.check()?;
    let mut out = arguments.json.beside();
    ensure!(
        arguments.table.is_none() || matches!(arguments.paper, Paper::Bluegene | Paper::Qsnet),
        "--table is for bluegene, whose tables take minutes, and qsnet; leave it out"
    );
    ensure!(
        arguments.figure.is_none() || arguments.paper != Paper::Cell,
        "--figure is for bluegene, mpich and qsnet, of whose figures the text says what can be decided; leave it out"
    );
    let asked = (arguments.table, arguments.figure);
    let (entries, notes) = match arguments.paper {
        Paper::Bluegene => bluegene::run(asked, &mut out)?,
        Paper::Cell => {
            let all = cell::reproduce()?;
            let notes = all.notes();
            (all.entries, notes)
        }
        Paper::Mpich => mpich::run(arguments.figure)?,
        Paper::Qsnet => qsnet::run(asked, &mut out)?,
    };
    print(&mut out, &entries)?;
    for note in &notes {
        writeln!(out, "{note}")?;
    }
    match arguments.paper {
        Paper::Bluegene => bluegene::verdict::print(&mut out, &entries)?,
        Paper::Cell => {}
        Paper::Mpich => mpich::verdict(&mut out, &entries)?,
        Paper::Qsnet => qsnet::verdict(&mut out, &entries)?,
    }
    if arguments.sensitivity {
        sensitivity::print(&mut out, arguments.paper, asked, &entries)?;
    }
    arguments.json.write(&entries)?;
    Ok(ExitCode::SUCCESS)
}

/// Says on a terminal how many of `all` pieces are done, by a template; elsewhere nothing.
fn progress_bar(all: usize, template: &str) -> ProgressBar {
    if !std::io::stderr().is_terminal() {
        return ProgressBar::hidden();
    }
    let style = ProgressStyle::with_template(template);
    ProgressBar::new(all as u64).with_style(style.unwrap_or_else(|_| ProgressStyle::default_bar()))
}

/// Prints the entries that the paper says something of.
fn print(out: &mut dyn Write, entries: &[Entry]) -> std::io::Result<()> {
    writeln!(
        out,
        "{:<10}{:<52}{:<42}{:>12}{:>12}{:>8}",
        "table", "row", "column", "paper", "ours", "ratio"
    )?;
    for entry in entries.iter().filter(|e| e.standing != Standing::Shown) {
        let Entry {
            table, row, column, ..
        } = entry;
        let note = match (entry.standing, entry.holds()) {
            (Standing::Fitted, _) => "  fitted",
            (Standing::Given, _) => "  given",
            (Standing::Predicted, Some(true)) => "  holds",
            (Standing::Predicted, Some(false)) => "  misses",
            (Standing::Predicted, None) | (Standing::Shown, _) => "",
        };
        let told = match entry.extrapolated {
            true => "  extrapolated",
            false => "",
        };
        writeln!(
            out,
            "{table:<10}{row:<52}{column:<42}{:>12.2}{:>12.2}{:>8.2}{note}{told}",
            entry.paper, entry.ours, entry.ratio
        )?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_paper_says_holds_or_misses() {
        let holds = |says, paper, ours| {
            let entry = Entry::new("", ("", ""), (paper, ours), false);
            entry.saying(says).holds()
        };
        assert_eq!(holds(Says::Below, 5.0, 4.9), Some(true));
        assert_eq!(holds(Says::Below, 5.0, 5.0), Some(false));
        assert_eq!(holds(Says::Above, 1.0, 1.2), Some(true));
        assert_eq!(holds(Says::Above, 1.0, 0.9), Some(false));
        assert_eq!(holds(Says::Ahead, 1.0, 1.02), Some(true));
        assert_eq!(holds(Says::Ahead, 1.0, 1.005), Some(false));
        assert_eq!(holds(Says::About(2.0), 2048.0, 1024.0), Some(true));
        assert_eq!(holds(Says::About(2.0), 2048.0, 4096.0), Some(true));
        assert_eq!(holds(Says::About(2.0), 2048.0, 512.0), Some(false));
        assert_eq!(holds(Says::About(1.0), 6.0, 5.0), Some(false));
        assert_eq!(holds(Says::To(3.0), 1.5, 3.0), Some(true));
        assert_eq!(holds(Says::To(3.0), 1.5, 1.25), Some(true));
        assert_eq!(holds(Says::To(3.0), 1.5, 3.8), Some(false));
        assert_eq!(holds(Says::Below, 1.0, f64::NAN), Some(false));
        assert_eq!(Entry::new("", ("", ""), (1.0, 1.0), false).holds(), None);
    }
}
