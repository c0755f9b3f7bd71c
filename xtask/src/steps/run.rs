//! A run of the test steps: each under a heading and timed, some beside others, and a summary.

use super::child::{Child, Taken, Treatment, seconds};
use super::{Beside, STEPS, Step, When};
use crate::needs::{NEEDS, Need, ensure};
use std::path::Path;
use std::process::{Command, ExitCode};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Condvar, Mutex, PoisonError};
use std::time::Instant;

/// What a skip, for want of a program, does to the verdict.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Skips {
    /// It is reported and the run may still succeed.
    Allow,
    /// It fails the run.
    Fail,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Outcome {
    Passed,
    Failed,
    Skipped,
}

impl Skips {
    /// [`Skips::Fail`] where the environment says `CI=true`.
    #[must_use]
    pub fn from_environment() -> Self {
        if std::env::var_os("CI").is_some_and(|value| value == "true") {
            Self::Fail
        } else {
            Self::Allow
        }
    }
}

/// A step that has run.
struct Result {
    name: &'static str,
    outcome: Outcome,
    taken: Taken,
}

/// The steps that have ended, whatever came of them, for those that come after them.
#[derive(Default)]
struct Ended {
    names: Mutex<Vec<&'static str>>,
    more: Condvar,
}

impl Ended {
    fn add(&self, name: &'static str) {
        let mut names = self.names.lock().unwrap_or_else(PoisonError::into_inner);
        names.push(name);
        self.more.notify_all();
    }

    fn wait_for(&self, name: &str) {
        let names = self.names.lock().unwrap_or_else(PoisonError::into_inner);
        let is_running = |names: &mut Vec<&str>| !names.contains(&name);
        drop(self.more.wait_while(names, is_running));
    }
}

/// Makes sure of [`NEEDS`], runs [`STEPS`] from the repository's root and prints a summary.
pub fn run(root: &Path, skips: Skips) -> ExitCode {
    let start = Instant::now();
    let missing = ensure(NEEDS);
    let ended = Ended::default();
    let queues = Beside::ALL.map(|_| AtomicUsize::new(0));
    let all_of = |beside: Beside| -> Vec<Result> {
        let steps = STEPS.iter().filter(move |step| step.beside == beside);
        let steps: Vec<&Step> = steps.filter(|step| has_work(root, step.when)).collect();
        // Whoever is free takes the next one.
        let next = || steps.get(queues[beside as usize].fetch_add(1, Ordering::Relaxed));
        let run = |step: &&Step| {
            step.after.iter().for_each(|name| ended.wait_for(name));
            let result = run_step(root, step, &missing);
            ended.add(step.name);
            result
        };
        std::iter::from_fn(next).map(run).collect()
    };
    let all_of = &all_of;
    let mut results: Vec<Result> = std::thread::scope(|scope| {
        let beside = [Beside::Waiting, Beside::Idle, Beside::Idle];
        let beside = beside.map(|beside| scope.spawn(move || all_of(beside)));
        let others = all_of(Beside::Others);
        println!("\nStill to end: what runs beside these");
        let beside = beside.map(|steps| steps.join().expect("a step that fails panics nowhere"));
        others
            .into_iter()
            .chain(beside.into_iter().flatten())
            .collect()
    });
    results.extend(all_of(Beside::Nothing));

    println!("\nSummary: by the clock, and of processors");
    for Result {
        name,
        outcome,
        taken,
    } in &results
    {
        println!("  {:<8}{taken}  {name}", outcome.word());
    }
    for need in &missing {
        println!("  missing  {}: {}", need.program, need.without_it);
    }
    let all = Taken {
        clock: start.elapsed(),
        processor: results.iter().map(|result| result.taken.processor).sum(),
    };
    println!("  in all  {all}");
    let outcomes: Vec<Outcome> = results.iter().map(|result| result.outcome).collect();
    if succeeded(&outcomes, !missing.is_empty(), skips) {
        return ExitCode::SUCCESS;
    }
    if succeeded(&outcomes, !missing.is_empty(), Skips::Allow) {
        println!(
            "This fails because something was skipped, and CI=true or --no-skip allows no skips."
        );
    }
    ExitCode::FAILURE
}

/// Runs one step. What it says is seen at once, or, if it runs beside others, when it has ended.
fn run_step(root: &Path, step: &Step, missing: &[&Need]) -> Result {
    let heading = format!("\n==> {}: cargo {}", step.name, step.cargo.join(" "));
    let result = |outcome, taken| Result {
        name: step.name,
        outcome,
        taken,
    };
    let wanting = missing
        .iter()
        .find(|need| step.needs.contains(&need.program));
    if let Some(need) = wanting {
        println!("{heading}\nskipped: {} is missing", need.program);
        return result(Outcome::Skipped, Taken::default());
    }
    // Cargo tells its children which cargo it is; the nested one must be the same.
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let mut command = Command::new(cargo);
    command
        .args(step.cargo)
        // What `allhands tune` has left in the user's cache would decide what is tested.
        .env("XDG_CACHE_HOME", root.join("target/tests-cache"))
        .envs(step.environment.iter().copied())
        .current_dir(root);
    let treatment = match step.beside {
        Beside::Others | Beside::Nothing => Treatment::Seen,
        Beside::Waiting => Treatment::Kept,
        Beside::Idle => Treatment::Idle,
    };
    match treatment {
        Treatment::Seen => println!("{heading}"),
        Treatment::Kept | Treatment::Idle => println!(
            "\n==> beside what follows, and shown when it has ended: {}",
            step.name
        ),
    }
    let (outcome, taken) = match Child::run(&mut command, treatment) {
        Ok(child) => {
            if treatment != Treatment::Seen {
                // In one piece, as two steps may have this to say at the same time.
                println!("{heading}\n{}", String::from_utf8_lossy(&child.said));
            }
            let outcome = if child.succeeded {
                Outcome::Passed
            } else {
                Outcome::Failed
            };
            (outcome, child.taken)
        }
        Err(error) => {
            println!("cargo did not run: {error}");
            (Outcome::Failed, Taken::default())
        }
    };
    println!(
        "<== {} in {}: {}",
        outcome.word(),
        seconds(taken.clock),
        step.name
    );
    result(outcome, taken)
}

fn has_work(root: &Path, when: When) -> bool {
    match when {
        When::Always => true,
        When::RustFilesIn(folder) => std::fs::read_dir(root.join(folder)).is_ok_and(|entries| {
            entries
                .flatten()
                .any(|entry| entry.path().extension().is_some_and(|end| end == "rs"))
        }),
        When::On(system, architecture) => {
            (system, architecture) == (std::env::consts::OS, std::env::consts::ARCH)
        }
    }
}

fn succeeded(outcomes: &[Outcome], something_missing: bool, skips: Skips) -> bool {
    let skipped = something_missing || outcomes.contains(&Outcome::Skipped);
    match skips {
        Skips::Allow => !outcomes.contains(&Outcome::Failed),
        Skips::Fail => !outcomes.contains(&Outcome::Failed) && !skipped,
    }
}

impl Outcome {
    fn word(self) -> &'static str {
        match self {
            Self::Passed => "passed",
            Self::Failed => "FAILED",
            Self::Skipped => "skipped",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::repository_root;

    #[test]
    fn a_skip_fails_the_run_only_where_skips_are_refused() {
        let skipped = [Outcome::Passed, Outcome::Skipped];
        assert!(succeeded(&skipped, false, Skips::Allow));
        assert!(!succeeded(&skipped, false, Skips::Fail));
        assert!(succeeded(&[Outcome::Passed], true, Skips::Allow));
        assert!(!succeeded(&[Outcome::Passed], true, Skips::Fail));
        assert!(succeeded(&[Outcome::Passed], false, Skips::Fail));
        assert!(!succeeded(
            &[Outcome::Passed, Outcome::Failed],
            false,
            Skips::Allow
        ));
    }

    #[test]
    fn a_step_for_absent_tests_has_no_work() {
        let root = repository_root();
        assert!(has_work(&root, When::Always));
        assert!(has_work(&root, When::RustFilesIn("xtask/src")));
        assert!(!has_work(&root, When::RustFilesIn("no/such/folder")));
        assert!(!has_work(&root, When::On("linux", "no-such-architecture")));
    }
}
