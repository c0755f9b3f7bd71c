//! The drop-in's side of the comparison: a peer with the library preloaded.

use super::{OWN, Run};
use crate::error::Error;
use crate::group::Name;
use std::fs::File;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};
use xtask::mpi_test::report::Report;
use xtask::peers::{self, Setting};
use xtask::processes;

/// What is built of our own: the library that is preloaded, and the worker.
pub(super) const OWN_LIBRARY: [&str; 7] = [
    "--package",
    "allhands-mpi",
    "--lib",
    "--package",
    "allhands-compare",
    "--bin",
    "compare-worker",
];

/// How often to look whether the user wants to end.
const LOOK: Duration = Duration::from_millis(200);

impl Run<'_> {
    /// A peer with the drop-in preloaded: the name of that group, and what starts its ranks.
    pub(super) fn preloaded(
        &self,
        peer: &'static str,
        ranks: usize,
        oversubscribed: bool,
    ) -> (Name, Command) {
        let name = Name {
            library: OWN.library,
            setting: peer,
        };
        let mut launcher = match peers::placed(peer, oversubscribed) {
            Some(setting) => self.under(setting, ranks, oversubscribed),
            None => self.installed(peer).launcher(ranks),
        };
        self.preload(&mut launcher, &self.report_path(peer, ranks));
        (name, launcher)
    }

    pub(super) fn preload(&self, launcher: &mut Command, report: &Path) {
        launcher
            .env("LD_PRELOAD", self.target.join("release/liballhands_mpi.so"))
            .env("ALLHANDS_REPORT", report)
            // Counts alone: clocks would be measured as well.
            .env("ALLHANDS_REPORT_TIMES", "off");
    }

    pub(super) fn report_path(&self, peer: &str, ranks: usize) -> PathBuf {
        self.folder.0.join(format!("report-{peer}-{ranks}.json"))
    }

    /// Whether the library took calls over in the peer's group that has ended; otherwise all its times are the peer's own.
    pub(super) fn was_active(&self, peer: &'static str, ranks: usize) -> Result<(), Error> {
        let path = self.report_path(peer, ranks);
        match Report::read(&path) {
            Some(report) if report.taken() > 0 => Ok(()),
            _ => Err(Error::Inactive { peer, ranks }),
        }
    }

    /// What the ranks are compared with: the peer as it comes, or, where ranks share cores, that and every setting for it.
    pub(super) fn settings(&self, peers: &[&str], oversubscribed: bool) -> Vec<&'static Setting> {
        if self.before.is_some() {
            return Vec::new();
        }
        let all = peers::settings(peers, oversubscribed);
        let alike =
            |setting: &&Setting| oversubscribed || !self.arguments.dropin || is_default(setting);
        all.filter(alike).collect()
    }
}

fn is_default(setting: &Setting) -> bool {
    setting.name == "default"
}

/// Why a run printed nothing that counts.
#[derive(Debug, thiserror::Error)]
pub(super) enum Ended {
    #[error("{0}")]
    Failed(String),
    #[error("did not finish within {0:.0?}")]
    Late(Duration),
    #[error("interrupted")]
    Interrupted,
}

/// What a launcher's ranks print, if they end in time; the log is for that.
pub(super) fn run(command: &mut Command, log: &Path, limit: Duration) -> Result<String, Ended> {
    let failed = |error: std::io::Error| Ended::Failed(error.to_string());
    let file = File::create(log).map_err(failed)?;
    let errors = file.try_clone().map_err(failed)?;
    command.stdout(file).stderr(errors);
    let mut child = processes::start(command).map_err(failed)?;
    let begin = Instant::now();
    while !processes::wait(&mut child, LOOK) {
        if processes::interrupted() || begin.elapsed() > limit {
            processes::end(&mut child, &[]);
            return Err(match processes::interrupted() {
                true => Ended::Interrupted,
                false => Ended::Late(limit),
            });
        }
    }
    let status = child.wait().map_err(failed)?;
    let output = std::fs::read(log).map_err(failed)?;
    let output = String::from_utf8_lossy(&output).into_owned();
    match status.success() {
        true => Ok(output),
        false => Err(Ended::Failed(format!("ended with {status}: {output}"))),
    }
}
