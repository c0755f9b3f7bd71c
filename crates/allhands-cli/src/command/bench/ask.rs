//! What other commands ask the benchmark for: every algorithm among the ranks of a team, as records.

use super::cell::Record;
use super::rounds::{Job, Said};
use super::team::Team;
use super::{Arguments, Subject, hosts, processes};
use crate::interrupt;
use allhands_core::call::Collective;
use anyhow::ensure;
use clap::Parser;

/// The benchmark's arguments, where nothing is said.
#[derive(Parser)]
struct Defaults {
    #[command(flatten)]
    arguments: Arguments,
}

/// What is to be measured.
pub struct Ask<'a> {
    pub team: &'a Team,
    /// All, if none is named.
    pub collectives: &'a [Collective],
    pub bytes: &'a [usize],
    /// The type of the elements and the operator, if not the usual ones.
    pub element: Option<&'a str>,
    pub operator: Option<&'a str>,
    /// For everything.
    pub seconds: f64,
}

impl Ask<'_> {
    /// Measures it; nothing comes of that in a process that is a rank, which has done its part then.
    ///
    /// # Errors
    /// When arguments do not go together, or ranks fail.
    pub fn records(&self) -> anyhow::Result<Option<Vec<Record>>> {
        ensure!(
            self.seconds.is_finite() && self.seconds > 0.0,
            "--time {}: how many seconds there are, more than 0",
            self.seconds
        );
        let mut arguments = Defaults::try_parse_from(["bench"])?.arguments;
        arguments.team = self.team.clone();
        arguments.collectives = self.collectives.iter().copied().map(Subject::Of).collect();
        arguments.bytes = self.bytes.to_vec();
        arguments.element = self.element.map(str::to_string);
        arguments.operator = self.operator.map(str::to_string);
        arguments.time = self.seconds;
        hosts::check(self.team)?;
        if self.team.transport.is_processes() && processes::is_rank()? {
            ensure!(
                processes::is_collected(),
                "these ranks were started by others, and what they measure is compared by the command that starts them: right would be the command by itself"
            );
            processes::as_rank(&arguments)?;
            return Ok(None);
        }
        let job = Job::asked(&arguments)?;
        job.check(&arguments)?;
        interrupt::ask_first();
        let mut records = Vec::new();
        job.round(&arguments, arguments.budget(), &mut |said| {
            match said {
                Said::Begins(..) => {}
                Said::Row(row) => records.extend(row),
            }
            Ok(())
        })?;
        Ok(Some(records))
    }
}
