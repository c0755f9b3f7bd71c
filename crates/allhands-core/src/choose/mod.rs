//! Choosing: which algorithm serves a call, and why; the only place that knows thresholds.
//!
//! A policy is a table of rules, tried in order. Every rule asks only what all ranks know to be equal, so ranks never
//! disagree. A rule whose algorithm does not serve the call gives way to the next one; an algorithm never
//! falls back to another by itself.

mod presets;
mod rule;

#[cfg(test)]
mod tests;

pub use presets::{MPICH_2005, T3E};
pub use rule::{Condition, Facts, Rule, Take, counts_known, largest_exponent_gap};

use crate::algorithm::{self, Algorithm, ParameterError, Requirement, Unsuitable};
use crate::call::{Call, Collective};
use crate::schedule::Shape;
use alloc::string::{String, ToString};
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
    /// A block for each rank (gather, scatter, allgather) or pair (all-to-all), the whole vector otherwise. In an
    /// irregular allgather the mean block, rounded up.
    pub bytes: u64,
    /// Whether blocks differ in length; where then not every rank knows all counts, sizes do not decide.
    pub irregular: bool,
    /// Whether the operator is the user's own.
    pub user_operator: bool,
}

impl Question {
    /// A regular call with `bytes` and an operator of the library's.
    #[must_use]
    pub const fn new(call: Call, bytes: u64) -> Question {
        Question {
            call,
            bytes,
            irregular: false,
            user_operator: false,
        }
    }
}

/// Who chooses.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum Policy {
    /// The cutoffs of T sections 4.1 to 4.5.
    #[default]
    Mpich2005,
    /// The fastest on a Cray T3E (T 5.4).
    T3e,
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
    pub const NAMES: [&'static str; 2] = ["mpich-2005", "t3e"];

    /// The preset called `text`, or the algorithm that `text` says as `name[:key=value,…]`.
    #[must_use]
    pub fn parse(text: &str) -> Policy {
        match text {
            "mpich-2005" => Policy::Mpich2005,
            "t3e" => Policy::T3e,
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
            Policy::Mpich2005 => MPICH_2005,
            Policy::T3e if T3E.iter().any(|r| r.collective == collective) => T3E,
            Policy::T3e => MPICH_2005,
            Policy::Fixed { .. } => &[],
        };
        own.iter().filter(move |r| r.collective == collective)
    }
}

impl fmt::Display for Policy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Policy::Mpich2005 => f.pad("mpich-2005"),
            Policy::T3e => f.pad("t3e"),
            Policy::Fixed { name, parameters } if parameters.is_empty() => f.pad(name),
            Policy::Fixed { name, parameters } => write!(f, "{name}:{parameters}"),
        }
    }
}

/// What was chosen.
#[derive(Clone, Debug)]
pub struct Choice {
    /// The algorithm.
    pub algorithm: &'static Algorithm,
    /// The call with the parameters that go with it.
    pub shape: Shape,
    /// The rule that decided; `None` if the user did.
    pub rule: Option<&'static Rule>,
    /// Why, in words: the rule, its source, and which rules before it had to give way.
    pub reason: String,
}

/// What became of a rule.
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
    Missing(&'static str),
    /// The algorithm does not have the parameters.
    Parameters(ParameterError),
    /// A rule before it decided.
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
            Verdict::NotReached => write!(f, "not reached"),
        }
    }
}

/// A rule and what became of it.
#[derive(Clone, Debug, PartialEq)]
pub struct Considered {
    /// The rule.
    pub rule: &'static Rule,
    /// What became of it.
    pub verdict: Verdict,
    /// The predicted times that it compared.
    pub predictions: Vec<(&'static str, f64)>,
}

/// A choice with everything that was considered, for `explain`.
#[derive(Clone, Debug)]
pub struct Explanation {
    /// What the rules were asked about.
    pub facts: Facts,
    /// Every rule of the policy for this collective; empty if the user fixed the algorithm.
    pub considered: Vec<Considered>,
    /// What was chosen.
    pub choice: Choice,
}

/// Why nothing was chosen.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum ChooseError {
    /// The collective has no algorithm of this name.
    NoSuchAlgorithm {
        /// The collective.
        collective: Collective,
        /// What was typed.
        name: String,
    },
    /// The algorithm that the user fixed does not have these parameters.
    Parameters(ParameterError),
    /// The algorithm that the user fixed does not serve the call.
    Unsuitable {
        /// Its name.
        name: &'static str,
        /// Why not.
        why: Unsuitable,
    },
    /// The algorithm that the user fixed passes blocks through ranks that do not know their lengths.
    NeedsAllCounts {
        /// Its name.
        name: &'static str,
    },
    /// No rule's algorithm serves the call.
    NoRule {
        /// The collective.
        collective: Collective,
    },
}

impl fmt::Display for ChooseError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            ChooseError::NoSuchAlgorithm { collective, name } => {
                let known: Vec<&str> = algorithm::of(*collective).map(|a| a.name).collect();
                let presets = Policy::NAMES.join(", ");
                write!(
                    f,
                    "{collective} has no algorithm '{name}'; it has {} (and the policies {presets})",
                    known.join(", ")
                )
            }
            ChooseError::Parameters(error) => error.fmt(f),
            ChooseError::Unsuitable { name, why } => write!(f, "{name} {why}"),
            ChooseError::NeedsAllCounts { name } => write!(
                f,
                "{name} passes blocks through ranks that do not know their lengths; it needs equal blocks"
            ),
            ChooseError::NoRule { collective } => {
                write!(f, "no rule's algorithm serves this {collective}")
            }
        }
    }
}

impl core::error::Error for ChooseError {}

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

/// [`choose`], with every rule that was considered and what became of it.
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
    for rule in policy.rules(collective) {
        let mut predictions = Vec::new();
        let verdict = if chosen.is_some() {
            Verdict::NotReached
        } else {
            match apply(rule, &facts, predict, &mut predictions) {
                Ok((algorithm, shape)) => {
                    let reason = reason(policy, rule, &considered);
                    let rule = Some(rule);
                    chosen = Some(Choice {
                        algorithm,
                        shape,
                        rule,
                        reason,
                    });
                    Verdict::Decided
                }
                Err(verdict) => verdict,
            }
        };
        considered.push(Considered {
            rule,
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

/// What the rule takes, or what is against it.
fn apply(
    rule: &'static Rule,
    facts: &Facts,
    predict: Predictor<'_>,
    predictions: &mut Vec<(&'static str, f64)>,
) -> Result<(&'static Algorithm, Shape), Verdict> {
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
    let nothing = against.unwrap_or(Verdict::Missing("algorithm to compare"));
    best.map(|(_, found)| found).ok_or(nothing)
}

/// The algorithm if it serves the call, or what is against it.
fn suitable(
    facts: &Facts,
    name: &'static str,
    parameters: &str,
) -> Result<(&'static Algorithm, Shape), Verdict> {
    let call = facts.call;
    let algorithm = algorithm::find(call.collective, name).ok_or(Verdict::Missing(name))?;
    let shape = algorithm
        .shape(call, parameters)
        .map_err(Verdict::Parameters)?;
    algorithm
        .admits(&shape)
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
            rule: None,
            reason: "fixed by the user".to_string(),
        }),
        Err(Verdict::Parameters(error)) => Err(ChooseError::Parameters(error)),
        Err(Verdict::Unsuitable(name, why)) => Err(ChooseError::Unsuitable { name, why }),
        Err(Verdict::NeedsAllCounts(name)) => Err(ChooseError::NeedsAllCounts { name }),
        Err(Verdict::Decided | Verdict::Fails(_) | Verdict::Missing(_) | Verdict::NotReached) => {
            Err(missing())
        }
    }
}

fn reason(policy: &Policy, rule: &Rule, before: &[Considered]) -> String {
    let mut reason = alloc::format!("{policy}: {rule} ({})", rule.citation);
    for Considered { rule, verdict, .. } in before {
        match verdict {
            Verdict::Unsuitable(..)
            | Verdict::NeedsAllCounts(_)
            | Verdict::Missing(_)
            | Verdict::Parameters(_) => {
                reason.push_str(&alloc::format!("; the rule \"{rule}\" {verdict}"));
            }
            Verdict::Decided | Verdict::Fails(_) | Verdict::NotReached => {}
        }
    }
    reason
}
