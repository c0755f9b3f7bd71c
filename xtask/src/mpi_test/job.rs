//! The job: one run of a program by an MPI's launcher, with the library preloaded or without, and a limit to its time.

use super::Report;
use crate::processes;
use std::fs::{self, File};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

/// A run to come.
pub(super) struct Job<'a> {
    pub(super) launcher: Command,
    pub(super) title: &'a str,
    pub(super) patience: Duration,
}

/// What became of a run.
pub(super) struct Outcome {
    /// What was wrong with its end, if anything was.
    failure: Option<String>,
    pub(super) output: String,
    pub(super) report: Option<Report>,
    pub(super) time: Duration,
}

impl Outcome {
    /// What was wrong with its end.
    pub(super) fn findings(&self) -> Vec<String> {
        self.failure.iter().cloned().collect()
    }

    /// Whether the MPI's own messages went wrong in its `MPI_Init`, when nothing of the library is in use yet: MPICH over UCX came upon
    /// one that it did not expect, once in some 300 runs.
    fn failed_in_init(&self) -> bool {
        let has = |words: &str| self.output.contains(words);
        self.report.is_none() && has("Fatal error in internal_Init: Message truncated")
    }
}

impl Job<'_> {
    /// Runs it, and once more if the MPI could not begin; files that are needed meanwhile are in `folder`.
    pub(super) fn run(
        mut self,
        library: Option<&Path>,
        libraries: Option<&Path>,
        folder: &Path,
    ) -> Outcome {
        let outcome = self.run_once(library, libraries, folder);
        if !outcome.failed_in_init() {
            return outcome;
        }
        println!("again   {}: the MPI failed in MPI_Init", self.title);
        self.run_once(library, libraries, folder)
    }

    /// The launcher has the library preloaded too, as it would have from a user's command line.
    fn run_once(
        &mut self,
        library: Option<&Path>,
        libraries: Option<&Path>,
        folder: &Path,
    ) -> Outcome {
        let name: String = self
            .title
            .chars()
            .map(|c| if c.is_alphanumeric() { c } else { '-' })
            .collect();
        let (log, report) = (
            folder.join(format!("{name}.log")),
            folder.join(format!("{name}.json")),
        );
        // There need not be one from an earlier run.
        let _ = fs::remove_file(&report);
        let begin = Instant::now();
        let failure = match File::create(&log).and_then(|out| Ok((out.try_clone()?, out))) {
            Ok((out, errors)) => {
                self.launcher
                    .envs(library.map(|library| ("LD_PRELOAD", library)))
                    .envs(libraries.map(|folder| ("LD_LIBRARY_PATH", folder)))
                    .env("ALLHANDS_REPORT", &report)
                    // What `allhands tune` has measured here would have other algorithms serve than the tests know.
                    .env("XDG_CACHE_HOME", folder.join("cache"))
                    .stdin(Stdio::null())
                    .stdout(out)
                    .stderr(errors);
                // Whoever ends us, say by `timeout`, ends the launcher too, and it its ranks.
                match processes::start(&mut self.launcher) {
                    Ok(child) => end(child, self.patience),
                    Err(error) => Some(format!("the launcher did not start: {error}")),
                }
            }
            Err(error) => Some(format!("{}: {error}", log.display())),
        };
        let output = fs::read(&log).unwrap_or_default();
        Outcome {
            failure,
            output: String::from_utf8_lossy(&output).into_owned(),
            report: Report::read(&report),
            time: begin.elapsed(),
        }
    }
}

/// Waits for the end; says what was wrong with it.
fn end(mut child: Child, patience: Duration) -> Option<String> {
    let begin = Instant::now();
    loop {
        match child.try_wait() {
            Ok(Some(status)) if status.success() => return None,
            Ok(Some(status)) => return Some(format!("it ended with {status}")),
            Ok(None) if begin.elapsed() < patience => std::thread::sleep(Duration::from_millis(20)),
            Ok(None) => break,
            Err(error) => return Some(format!("it cannot be waited for: {error}")),
        }
    }
    for signal in [libc::SIGTERM, libc::SIGKILL] {
        // SAFETY: signals the process group that this child leads, as it was made for it alone; the child has not been
        // waited for, so its number is still its own.
        unsafe { libc::kill(-(child.id() as i32), signal) };
        std::thread::sleep(Duration::from_secs(2));
        if let Ok(Some(_)) = child.try_wait() {
            break;
        }
    }
    Some(format!("it had not ended after {} s", patience.as_secs()))
}
