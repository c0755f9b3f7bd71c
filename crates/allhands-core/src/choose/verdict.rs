//! Verdicts: what was considered for a call, what became of it, and what was chosen.

use super::table::{Entry, Table};
use super::{Condition, Facts, Rule};
use crate::algorithm::{Algorithm, ParameterError, Unsuitable};
use crate::call::Collective;
use crate::schedule::Shape;
use alloc::string::{String, ToString};
use alloc::vec::Vec;
use core::fmt;

/// What was chosen.
#[derive(Clone, Debug)]
pub struct Choice {
    /// The algorithm.
    pub algorithm: &'static Algorithm,
    /// The call with the parameters that go with it.
    pub shape: Shape,
    /// The rule or the table's entry that decided; `None` if the user did.
    pub candidate: Option<Candidate>,
    /// Why, in words: what decided, its source, and what before it had to give way.
    pub reason: String,
}

/// What became of a rule, or of an entry of a table.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum Verdict {
    /// It decided.
    Decided,
    /// This condition does not hold.
    Fails(Condition),
    /// Its algorithm does not serve the call.
    Unsuitable(&'static str, Unsuitable),
    /// Its algorithm passes blocks through ranks that do not know their lengths.
    NeedsAllCounts(&'static str),
    /// There is no such algorithm.
    Missing(String),
    /// The table has nothing about such calls.
    NotMeasured,
    /// The algorithm does not have the parameters.
    Parameters(ParameterError),
    /// One before it decided.
    NotReached,
}

impl fmt::Display for Verdict {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Verdict::Decided => write!(f, "decides"),
            Verdict::Fails(condition) => write!(f, "no: not {condition}"),
            Verdict::Unsuitable(name, why) => write!(f, "gives way: {name} {why}"),
            Verdict::NeedsAllCounts(name) => write!(
                f,
                "gives way: {name} passes blocks through ranks that do not know their lengths"
            ),
            Verdict::Missing(name) => write!(f, "gives way: there is no {name}"),
            Verdict::Parameters(error) => write!(f, "gives way: {error}"),
            Verdict::NotMeasured => write!(f, "no: not in the table"),
            Verdict::NotReached => write!(f, "not reached"),
        }
    }
}

/// An entry of a table, at the place where a question found it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Listed {
    /// The algorithm, and its time there.
    pub entry: Entry,
    /// The number of ranks there.
    pub ranks: u32,
    /// The size there.
    pub bytes: u64,
    /// The table, and when it was measured.
    pub source: String,
}

/// What may decide.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Candidate {
    /// A rule.
    Rule(&'static Rule),
    /// An entry of a table.
    Listed(Listed),
    /// A table that has no entry for such calls.
    Unlisted {
        /// The collective.
        collective: Collective,
        /// Whether there are more ranks than cores.
        oversubscribed: bool,
        /// The table.
        source: String,
    },
}

impl Candidate {
    /// The entries of a table that a question finds, or that it finds none.
    pub(super) fn of_table(table: &Table, facts: &Facts) -> Vec<Candidate> {
        let Some((row, cell)) = table.find(facts) else {
            return alloc::vec![Candidate::Unlisted {
                collective: facts.call.collective,
                oversubscribed: facts.oversubscribed,
                source: table.name.clone(),
            }];
        };
        let when = match &row.measured {
            Some(day) => alloc::format!("measured {day} on {}", table.machine),
            None => "not measured".to_string(),
        };
        let listed = |entry: &Entry| Listed {
            entry: entry.clone(),
            ranks: row.ranks,
            bytes: cell.bytes,
            source: alloc::format!("{}, {when}", table.name),
        };
        let ranking = cell.ranking.iter();
        ranking.map(|e| Candidate::Listed(listed(e))).collect()
    }

    /// Where it is from.
    #[must_use]
    pub fn source(&self) -> &str {
        match self {
            Candidate::Rule(rule) => rule.citation,
            Candidate::Listed(Listed { source, .. }) | Candidate::Unlisted { source, .. } => source,
        }
    }
}

impl fmt::Display for Candidate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Candidate::Rule(rule) => rule.fmt(f),
            Candidate::Listed(Listed {
                entry,
                ranks,
                bytes,
                ..
            }) => {
                let us = if entry.time_ns.is_some() { " µs" } else { "" };
                write!(f, "{entry}{us}: {ranks} ranks, {bytes} B")
            }
            Candidate::Unlisted {
                collective,
                oversubscribed,
                ..
            } => {
                let cores = if *oversubscribed { "more" } else { "no more" };
                write!(f, "{collective} among {cores} ranks than cores")
            }
        }
    }
}

/// A rule or an entry of a table, and what became of it.
#[derive(Clone, Debug, PartialEq)]
pub struct Considered {
    /// What might have decided.
    pub candidate: Candidate,
    /// What became of it.
    pub verdict: Verdict,
    /// The predicted times that it compared.
    pub predictions: Vec<(&'static str, f64)>,
}

/// A choice with everything that was considered, for `explain`.
#[derive(Clone, Debug)]
pub struct Explanation {
    /// What was asked about.
    pub facts: Facts,
    /// Every entry and rule of the policy for such calls, in order; empty if the user fixed the algorithm.
    pub considered: Vec<Considered>,
    /// What was chosen.
    pub choice: Choice,
}
