//! Choosing: which algorithm serves a call, and why; the only place that knows thresholds.
//!
//! A policy is a table of rules, tried in order, or a table of what was measured with the rules behind it. Both ask only
//! what all ranks know to be equal, so ranks never disagree. A rule or an entry whose algorithm does not serve the call
//! gives way to the next one; an algorithm never falls back to another by itself.

mod error;
mod presets;
mod rule;
mod table;
mod text;
mod verdict;

#[cfg(test)]
mod tests;

pub use error::ChooseError;
pub use presets::{ELAN, MPICH_2005, QSNET, T3E};
pub use rule::{Condition, Facts, Rule, Take, counts_known, largest_exponent_gap};
pub use table::{Cell, Entry, Row, Site, Table};
pub use text::{Mistake, TableError};
pub use verdict::{Candidate, Choice, Considered, Explanation, Listed, Verdict};

use crate::algorithm::{self, Algorithm, Requirement};
use crate::call::{Call, Collective};
use crate::schedule::Shape;
use alloc::string::{String, ToString};
use alloc::sync::Arc;
use alloc::vec::Vec;
use core::fmt;

/// Predicts the time of an algorithm for a shape and the bytes of the vector, or of all blocks of a rank together;
/// smaller is better. Must be the same function on every rank.
pub type Predictor<'a> = &'a dyn Fn(&Algorithm, &Shape, u64) -> f64;

/// What a policy is asked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Question {
    /// The call.
    pub call: Call,
    /// A block for each rank (gather, scatter, allgather) or pair (alltoall), the whole vector otherwise. In an
    /// irregular allgather the mean block, rounded up.
    pub bytes: u64,
    /// Whether blocks differ in length; where then not every rank knows all counts, sizes do not decide.
    pub irregular: bool,
    /// Whether the operator is the user's own.
    pub user_operator: bool,
    /// Whether there are more ranks than cores; every rank must say the same.
    pub oversubscribed: bool,
    /// Whether ranks reach the memory of their own node alone, so that nobody can put to another; every rank must say the same.
    pub apart: bool,
}

impl Question {
    /// A regular call with `bytes` and an operator of the library's, among no more ranks than cores, who reach one another's memory.
    #[must_use]
    pub const fn new(call: Call, bytes: u64) -> Question {
        Question {
            call,
            bytes,
            irregular: false,
            user_operator: false,
            oversubscribed: false,
            apart: false,
        }
    }
}

/// The built-in table for ranks that share memory, as `allhands tune` writes one.
const SHARED_MEMORY: &str = include_str!("shm.toml");

/// Who chooses.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum Policy {
    /// The cutoffs of T sections 4.1 to 4.5.
    #[default]
    Mpich2005,
    /// The fastest on a Cray T3E (T 5.4).
    T3e,
    /// The fastest on a QsNetII cluster with two rails (Q 7).
    Qsnet,
    /// Quadrics' own library there (Q 3.1).
    Elan,
    /// What was the fastest when it was measured; where nothing of it serves the call, [`Policy::Mpich2005`].
    Tuned(Arc<Table>),
    /// The user: one algorithm.
    Fixed {
        /// Its name.
        name: String,
        /// Its parameters, `key=value,…`.
        parameters: String,
    },
}

impl Policy {
    /// The policies that are presets, by the names that the user types.
    pub const NAMES: [&'static str; 5] = ["mpich-2005", "t3e", "qsnet", "elan", "shm"];

    /// The built-in table for ranks that share memory.
    ///
    /// # Panics
    /// Never: the table is a part of this crate, and read in its tests.
    #[must_use]
    pub fn shared_memory() -> Policy {
        let table = Table::parse("shm", SHARED_MEMORY).expect("the built-in table is right");
        Policy::Tuned(Arc::new(table))
    }

    /// The preset called `text`, or the algorithm that `text` says as `name[:key=value,…]`.
    #[must_use]
    pub fn parse(text: &str) -> Policy {
        match text {
            "mpich-2005" => Policy::Mpich2005,
            "t3e" => Policy::T3e,
            "qsnet" => Policy::Qsnet,
            "elan" => Policy::Elan,
            "shm" => Policy::shared_memory(),
            _ => {
                let (name, parameters) = text.split_once(':').unwrap_or((text, ""));
                Policy::Fixed {
                    name: name.to_string(),
                    parameters: parameters.to_string(),
                }
            }
        }
    }

    /// The rules for a collective, in the order in which they are tried; none if the user fixed the algorithm.
    pub fn rules(&self, collective: Collective) -> impl Iterator<Item = &'static Rule> + use<> {
        let own: &'static [Rule] = match self {
            Policy::T3e => T3E,
            Policy::Qsnet => QSNET,
            Policy::Elan => ELAN,
            Policy::Mpich2005 | Policy::Tuned(_) => MPICH_2005,
            Policy::Fixed { .. } => &[],
        };
        let is_for = move |rule: &&Rule| rule.collective == collective;
        let is_fixed = matches!(self, Policy::Fixed { .. });
        let of = match is_fixed || own.iter().any(|rule| is_for(&rule)) {
            true => own,
            false => MPICH_2005,
        };
        of.iter().filter(is_for)
    }

    /// Whether its rules for a collective are those of a cluster, and say themselves what the ranks of a node do.
    #[must_use]
    pub fn knows_nodes(&self, collective: Collective) -> bool {
        let own = match self {
            Policy::Qsnet => QSNET,
            Policy::Elan => ELAN,
            Policy::Mpich2005 | Policy::T3e | Policy::Tuned(_) | Policy::Fixed { .. } => &[],
        };
        own.iter().any(|rule| rule.collective == collective)
    }

    /// What is tried for such calls, in order: what tables have about them, then rules.
    fn candidates(&self, facts: &Facts) -> Vec<Candidate> {
        let mut candidates = Vec::new();
        if let Policy::Tuned(first) = self {
            candidates.extend(first.chain().flat_map(|t| Candidate::of_table(t, facts)));
        }
        candidates.extend(self.rules(facts.call.collective).map(Candidate::Rule));
        candidates
    }
}

impl fmt::Display for Policy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Policy::Mpich2005 => f.pad("mpich-2005"),
            Policy::T3e => f.pad("t3e"),
            Policy::Qsnet => f.pad("qsnet"),
            Policy::Elan => f.pad("elan"),
            Policy::Tuned(table) => f.pad(&table.name),
            Policy::Fixed { name, parameters } if parameters.is_empty() => f.pad(name),
            Policy::Fixed { name, parameters } => write!(f, "{name}:{parameters}"),
        }
    }
}

/// The algorithm that `policy` takes for `question`.
///
/// # Errors
/// A [`ChooseError`], for presets only if the call itself is wrong (a root that is no rank, no ranks).
pub fn choose(
    policy: &Policy,
    question: &Question,
    predict: Predictor<'_>,
) -> Result<Choice, ChooseError> {
    explain(policy, question, predict).map(|explanation| explanation.choice)
}

/// [`choose`], with every rule and entry that was considered and what became of it.
///
/// # Errors
/// As [`choose`].
pub fn explain(
    policy: &Policy,
    question: &Question,
    predict: Predictor<'_>,
) -> Result<Explanation, ChooseError> {
    let facts = Facts::of(question);
    if let Policy::Fixed { name, parameters } = policy {
        let choice = fixed(&facts, name, parameters)?;
        return Ok(Explanation {
            facts,
            considered: Vec::new(),
            choice,
        });
    }
    let collective = question.call.collective;
    let (mut considered, mut chosen) = (Vec::new(), None);
    for candidate in policy.candidates(&facts) {
        let mut predictions = Vec::new();
        let verdict = if chosen.is_some() {
            Verdict::NotReached
        } else {
            match apply(&candidate, &facts, predict, &mut predictions) {
                Ok((algorithm, shape)) => {
                    chosen = Some(Choice {
                        algorithm,
                        shape,
                        reason: reason(policy, &candidate, &considered),
                        candidate: Some(candidate.clone()),
                    });
                    Verdict::Decided
                }
                Err(verdict) => verdict,
            }
        };
        considered.push(Considered {
            candidate,
            verdict,
            predictions,
        });
    }
    let choice = chosen.ok_or(ChooseError::NoRule { collective })?;
    Ok(Explanation {
        facts,
        considered,
        choice,
    })
}

/// What the candidate takes, or what is against it.
fn apply(
    candidate: &Candidate,
    facts: &Facts,
    predict: Predictor<'_>,
    predictions: &mut Vec<(&'static str, f64)>,
) -> Result<(&'static Algorithm, Shape), Verdict> {
    let rule = match candidate {
        Candidate::Rule(rule) => rule,
        Candidate::Listed(listed) => {
            return suitable(facts, &listed.entry.name, &listed.entry.parameters);
        }
        Candidate::Unlisted { .. } => return Err(Verdict::NotMeasured),
    };
    if let Some(fails) = rule.when.iter().find(|c| !c.holds(facts)) {
        return Err(Verdict::Fails(fails.clone()));
    }
    let names = match rule.take {
        Take::Algorithm { name, parameters } => return suitable(facts, name, parameters),
        Take::Fastest(names) => names,
    };
    let (mut best, mut against) = (None, None);
    for &name in names {
        match suitable(facts, name, "") {
            Err(verdict) => against = against.or(Some(verdict)),
            Ok((algorithm, shape)) => {
                let time = predict(algorithm, &shape, facts.total_bytes());
                predictions.push((name, time));
                if best.as_ref().is_none_or(|(least, _)| time < *least) {
                    best = Some((time, (algorithm, shape)));
                }
            }
        }
    }
    let nothing = against.unwrap_or(Verdict::Missing("algorithm to compare".into()));
    best.map(|(_, found)| found).ok_or(nothing)
}

/// The algorithm if it serves the call, or what is against it.
fn suitable(
    facts: &Facts,
    name: &str,
    parameters: &str,
) -> Result<(&'static Algorithm, Shape), Verdict> {
    let call = facts.call;
    let found = algorithm::find(call.collective, name);
    let algorithm = found.ok_or_else(|| Verdict::Missing(name.into()))?;
    let name = algorithm.name;
    let shape = algorithm
        .shape(call, parameters)
        .map_err(Verdict::Parameters)?;
    algorithm
        .admits(&shape)
        .map_err(|why| Verdict::Unsuitable(name, why))?;
    let reached = |_: &_| true;
    let apart = facts
        .apart
        .then(|| algorithm.admits_apart(&shape, false, reached));
    apart
        .unwrap_or(Ok(()))
        .map_err(|why| Verdict::Unsuitable(name, why))?;
    if facts.size.is_none() && algorithm.requires.contains(&Requirement::AllCounts) {
        return Err(Verdict::NeedsAllCounts(name));
    }
    Ok((algorithm, shape))
}

fn fixed(facts: &Facts, name: &str, parameters: &str) -> Result<Choice, ChooseError> {
    let collective = facts.call.collective;
    let missing = || ChooseError::NoSuchAlgorithm {
        collective,
        name: name.to_string(),
    };
    let name = algorithm::find(collective, name).ok_or_else(missing)?.name;
    match suitable(facts, name, parameters) {
        Ok((algorithm, shape)) => Ok(Choice {
            algorithm,
            shape,
            candidate: None,
            reason: "fixed by the user".to_string(),
        }),
        Err(Verdict::Parameters(error)) => Err(ChooseError::Parameters(error)),
        Err(Verdict::Unsuitable(name, why)) => Err(ChooseError::Unsuitable { name, why }),
        Err(Verdict::NeedsAllCounts(name)) => Err(ChooseError::NeedsAllCounts { name }),
        Err(
            Verdict::Decided
            | Verdict::Fails(_)
            | Verdict::Missing(_)
            | Verdict::NotMeasured
            | Verdict::NotReached,
        ) => Err(missing()),
    }
}

fn reason(policy: &Policy, decides: &Candidate, before: &[Considered]) -> String {
    let mut reason = alloc::format!("{policy}: {decides} ({})", decides.source());
    for considered in before {
        let Considered {
            candidate, verdict, ..
        } = considered;
        match verdict {
            Verdict::Unsuitable(..)
            | Verdict::NeedsAllCounts(_)
            | Verdict::Missing(_)
            | Verdict::NotMeasured
            | Verdict::Parameters(_) => {
                let what = match candidate {
                    Candidate::Rule(_) => "rule",
                    Candidate::Listed(_) => "entry",
                    Candidate::Unlisted { .. } => "question",
                };
                reason.push_str(&alloc::format!("; the {what} \"{candidate}\" {verdict}"));
            }
            Verdict::Decided | Verdict::Fails(_) | Verdict::NotReached => {}
        }
    }
    reason
}
