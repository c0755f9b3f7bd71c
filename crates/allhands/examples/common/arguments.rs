//! The arguments of an application: a number of threads to be its ranks, or none under a launcher, and settings as `name=value`.

use super::{Failure, ensure};
use allhands::{Communicator, threads};
use std::fmt::Display;
use std::ops::RangeInclusive;
use std::str::FromStr;

/// What was typed, and which settings the application knows.
pub struct Arguments {
    ranks: Option<usize>,
    settings: Vec<(String, String)>,
    known: Vec<String>,
}

/// Reads a number, which must be in this range.
pub fn within<T: FromStr + PartialOrd + Display>(
    range: RangeInclusive<T>,
) -> impl Fn(&str) -> Result<T, String> {
    move |text| {
        let number = text.parse().ok().filter(|number| range.contains(number));
        number.ok_or_else(|| format!("a number from {} to {}", range.start(), range.end()))
    }
}

impl Arguments {
    /// Those of this program.
    pub fn of_program() -> Result<Arguments, Failure> {
        let (mut ranks, mut settings) = (None, Vec::new());
        for argument in std::env::args().skip(1) {
            if let Some((name, value)) = argument.split_once('=') {
                settings.push((name.to_owned(), value.to_owned()));
            } else {
                ensure(ranks.is_none(), || {
                    format!("`{argument}`: the number of ranks was given before it")
                })?;
                let number = within(1..=1024)(&argument).map_err(|right| {
                    format!(
                        "`{argument}` is neither a number of ranks, {right}, nor a setting, name=value"
                    )
                })?;
                ranks = Some(number);
            }
        }
        let known = Vec::new();
        Ok(Arguments {
            ranks,
            settings,
            known,
        })
    }

    /// The value of a setting, or this one if it was not given.
    pub fn take<T>(
        &mut self,
        name: &str,
        default: T,
        read: impl Fn(&str) -> Result<T, String>,
    ) -> Result<T, Failure> {
        self.known.push(name.to_owned());
        let Some(at) = self.settings.iter().position(|(given, _)| given == name) else {
            return Ok(default);
        };
        let (_, value) = self.settings.remove(at);
        read(&value).map_err(|right| format!("{name}={value}: it must be {right}").into())
    }

    /// Runs the application on its ranks: threads, if a number of them was given, else the processes of a launcher, or one alone.
    pub fn run(
        self,
        on_rank: impl Fn(&Communicator) -> Result<(), Failure> + Sync,
    ) -> Result<(), Failure> {
        if let Some((name, value)) = self.settings.first() {
            let twice = self.known.contains(name);
            let why = if twice {
                "it is given twice"
            } else {
                "unknown"
            };
            let known = self.known.join(", ");
            return Err(format!("{name}={value}: {why}; settings are {known}").into());
        }
        let Some(ranks) = self.ranks else {
            return on_rank(&Communicator::world()?);
        };
        ensure(std::env::var_os("ALLHANDS_RANK").is_none(), || {
            format!("`{ranks}`: a launcher has started the ranks, so none are to be threads")
        })?;
        let ended = threads::run(ranks, |comm| on_rank(&comm))?;
        // What all ranks say is said once.
        let mut failures: Vec<(usize, String)> = ended
            .into_iter()
            .enumerate()
            .filter_map(|(rank, end)| end.err().map(|failure| (rank, failure.to_string())))
            .collect();
        failures.dedup_by(|(_, later), (_, earlier)| later == earlier);
        let lines: Vec<String> = failures
            .iter()
            .map(|(rank, failure)| format!("rank {rank}: {failure}"))
            .collect();
        ensure(lines.is_empty(), || lines.join("\n"))
    }
}
