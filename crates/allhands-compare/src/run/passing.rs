//! Calls that pass through: how much longer they take with the drop-in preloaded than without.

use super::Run;
use super::dropin::{Ended, run};
use crate::error::Error;
use crate::statistics::median;
use std::time::Duration;
use xtask::mpi_test::report::Report;
use xtask::{peers, processes};

/// Runs under each peer without the library, and as many with it, by turns.
const RUNS: usize = 5;
const RANKS: usize = 2;
/// Longer than any run.
const PATIENCE: Duration = Duration::from_secs(60);
/// The most that a call may take longer, in nanoseconds.
const MOST_NS: f64 = 50.0;

impl Run<'_> {
    /// Times `MPI_Bcast` on `MPI_COMM_SELF` under each peer, and prints a line for each.
    pub(super) fn time_passing(&mut self) -> Result<(), Error> {
        println!(
            "\nA call that passes through (MPI_Bcast on MPI_COMM_SELF), medians of {RUNS} runs:"
        );
        for index in 0..self.arguments.peers.len() {
            let peer = self.arguments.peers[index];
            let mut times = [Vec::new(), Vec::new()];
            for _ in 0..RUNS {
                for is_preloaded in [false, true] {
                    let time = self.passing_ns(peer, is_preloaded)?;
                    times[usize::from(is_preloaded)].push(time);
                }
            }
            let [native_ns, ours_ns] = times.map(|times| median(&times));
            let more_ns = ours_ns - native_ns;
            let verdict = if more_ns < MOST_NS {
                "below"
            } else {
                "NOT below"
            };
            println!(
                "  {peer:<8} {native_ns:.1} ns, preloaded {ours_ns:.1} ns: {more_ns:.1} ns more, {verdict} {MOST_NS:.0} ns"
            );
        }
        Ok(())
    }

    /// The time of one call in one run.
    fn passing_ns(&mut self, peer: &'static str, is_preloaded: bool) -> Result<f64, Error> {
        let failed = |why: String| Error::Passing { peer, why };
        let setting = peers::placed(peer, false);
        let setting = setting.ok_or_else(|| failed("it has no default setting".into()))?;
        let mut launcher = self.under(setting, RANKS, false);
        launcher.arg("--passing");
        let report = self.report_path(peer, 0);
        if is_preloaded {
            self.preload(&mut launcher, &report);
        }
        let log = self.folder.0.join("passing");
        let turn = || run(&mut launcher, &log, PATIENCE);
        let printed = match self.quiet.during(turn, processes::interrupted).0 {
            Err(Ended::Interrupted) => return Err(Error::Interrupted),
            Err(ended) => return Err(failed(ended.to_string())),
            Ok(printed) => printed,
        };
        if is_preloaded && Report::read(&report).is_none_or(|report| report.passed() == 0) {
            return Err(failed("the library was not active".into()));
        }
        let number = printed.lines().find_map(|line| line.trim().parse().ok());
        number.ok_or_else(|| failed(format!("the worker printed no time: {printed}")))
    }
}
