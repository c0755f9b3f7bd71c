//! The test steps: a table of commands, run in order, each under a heading and timed.

use std::fmt;
use std::path::Path;
use std::process::{Command, ExitCode};
use std::time::{Duration, Instant};

use crate::needs::{NEEDS, Need, ensure};

/// One command of `cargo xtask test`.
#[derive(Debug, Clone, Copy)]
pub struct Step {
    /// What the heading says.
    pub name: &'static str,
    /// The arguments of cargo.
    pub cargo: &'static [&'static str],
    /// Variables that the environment has besides.
    pub environment: &'static [(&'static str, &'static str)],
    /// Programs of [`NEEDS`] without which the step is skipped.
    pub needs: &'static [&'static str],
    /// When there is something to run.
    pub when: When,
}

/// When a step has something to run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum When {
    /// Always.
    Always,
    /// Once this folder holds Rust files.
    RustFilesIn(&'static str),
    /// On this platform: an operating system and an architecture, as the standard library names them.
    On(&'static str, &'static str),
}

/// What a skip, for want of a program, does to the verdict.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Skips {
    /// It is reported and the run may still succeed.
    Allow,
    /// It fails the run.
    Fail,
}

/// The random calls run in full in the first step; others try fewer of them.
const FEW: (&str, &str) = ("ALLHANDS_SUITE", "few");

/// For a sanitizer the stable compiler wants this; the models have it too, as what is compiled for the compiler itself is then the same.
const BOOTSTRAP: (&str, &str) = ("RUSTC_BOOTSTRAP", "1");

/// Everything that `cargo xtask test` runs.
pub const STEPS: &[Step] = &[
    Step {
        name: "unit, integration and documentation tests, optimized and with every assertion",
        cargo: &["test", "--workspace", "--profile", "checked", "--locked"],
        environment: &[],
        needs: &[],
        when: When::Always,
    },
    Step {
        name: "proofs of every algorithm, all roots",
        cargo: &[
            "run",
            "--profile",
            "checked",
            "--locked",
            "--",
            "verify",
            "--ranks",
            "1..=64",
            "--all-roots",
            "--quiet",
        ],
        environment: &[],
        needs: &[],
        when: When::Always,
    },
    Step {
        // What only a release can break is what hangs on time, as assertions take some: ranks that run beside one another.
        name: "integration tests of real transports, as released",
        cargo: &[
            "test",
            "--release",
            "--locked",
            "--package",
            "allhands",
            "--test",
            "threads",
            "--test",
            "processes",
            "--test",
            "tcp",
            "--test",
            "waits",
        ],
        environment: &[FEW],
        needs: &[],
        when: When::RustFilesIn("crates/allhands/tests"),
    },
    Step {
        name: "examples that compare with a serial run",
        cargo: &[
            "run",
            "--release",
            "--locked",
            "--package",
            "allhands",
            "--example",
            "kmeans",
        ],
        environment: &[],
        needs: &[],
        when: When::Always,
    },
    Step {
        name: "examples that compare with a serial run",
        cargo: &[
            "run",
            "--release",
            "--locked",
            "--package",
            "allhands",
            "--example",
            "sample_sort",
        ],
        environment: &[],
        needs: &[],
        when: When::Always,
    },
    Step {
        name: "instructions of the interpreter",
        cargo: &[
            "run",
            "--quiet",
            "--profile",
            "checked",
            "--locked",
            "--package",
            "xtask",
            "--",
            "instructions",
        ],
        environment: &[],
        needs: &["valgrind"],
        when: When::Always,
    },
    Step {
        name: "time to build a schedule at 131,072 ranks",
        cargo: &[
            "bench",
            "--locked",
            "--package",
            "allhands-core",
            "--bench",
            "build",
        ],
        environment: &[],
        needs: &[],
        when: When::Always,
    },
    Step {
        name: "unsafe code under AddressSanitizer",
        // The machine of TCP has no unsafe code, and ten thousand of its worlds take long here. What drives it has some:
        // that is tested on sockets.
        cargo: &[
            "test",
            "--locked",
            "--package",
            "allhands",
            "--lib",
            "--tests",
            "--profile",
            "instrumented",
            "--target",
            "host-tuple",
            "--",
            "--skip",
            "tcp::protocol::simulation",
        ],
        // A test forgets a request on purpose: a leak, and the only one.
        environment: &[
            BOOTSTRAP,
            ("RUSTFLAGS", "-Zsanitizer=address"),
            ("ASAN_OPTIONS", "detect_leaks=0"),
            FEW,
        ],
        needs: &[],
        when: When::On("linux", "x86_64"),
    },
    Step {
        name: "models of the lock-free parts",
        cargo: &[
            "test",
            "--locked",
            "--package",
            "allhands",
            "--lib",
            "--profile",
            "instrumented",
            "--target",
            "host-tuple",
            "models",
        ],
        environment: &[BOOTSTRAP, ("RUSTFLAGS", "--cfg loom")],
        needs: &[],
        when: When::Always,
    },
];

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

/// Makes sure of [`NEEDS`], runs [`STEPS`] from the repository's root and prints a summary.
pub fn run(root: &Path, skips: Skips) -> ExitCode {
    let start = Instant::now();
    let missing = ensure(NEEDS);
    let mut results = Vec::new();
    for step in STEPS.iter().filter(|step| has_work(root, step.when)) {
        println!("\n==> {}: cargo {}", step.name, step.cargo.join(" "));
        let (step_start, processor_before) = (Instant::now(), processor_time());
        let outcome = run_step(root, step, &missing);
        let taken = Taken {
            clock: step_start.elapsed(),
            processor: processor_time().saturating_sub(processor_before),
        };
        println!("<== {} in {}", outcome.word(), seconds(taken.clock));
        results.push((step.name, outcome, taken));
    }

    println!("\nSummary: by the clock, and of processors");
    for (name, outcome, taken) in &results {
        println!("  {:<8}{taken}  {name}", outcome.word());
    }
    for need in &missing {
        println!("  missing  {}: {}", need.program, need.without_it);
    }
    let all = Taken {
        clock: start.elapsed(),
        processor: results.iter().map(|(_, _, taken)| taken.processor).sum(),
    };
    println!("  in all  {all}");
    let outcomes: Vec<Outcome> = results.iter().map(|(_, outcome, _)| *outcome).collect();
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

fn run_step(root: &Path, step: &Step, missing: &[&Need]) -> Outcome {
    let wanting = missing
        .iter()
        .find(|need| step.needs.contains(&need.program));
    if let Some(need) = wanting {
        println!("skipped: {} is missing", need.program);
        return Outcome::Skipped;
    }
    // Cargo tells its children which cargo it is; the nested one must be the same.
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    match Command::new(cargo)
        .args(step.cargo)
        .envs(step.environment.iter().copied())
        .current_dir(root)
        .status()
    {
        Ok(status) if status.success() => Outcome::Passed,
        Ok(_) => Outcome::Failed,
        Err(error) => {
            println!("cargo did not start: {error}");
            Outcome::Failed
        }
    }
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

/// What a step took: on a shared machine the processors' time says more than the clock.
struct Taken {
    clock: Duration,
    processor: Duration,
}

impl fmt::Display for Taken {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let [clock, processor] = [self.clock, self.processor].map(seconds);
        write!(f, "{clock:>9}  {processor:>9}")
    }
}

/// The time of processors that children took that have ended; nothing where the system does not say.
#[cfg(unix)]
fn processor_time() -> Duration {
    let mut usage = std::mem::MaybeUninit::<libc::rusage>::zeroed();
    // SAFETY: the system writes one `rusage` at most, for which there is room; all zeros are a value of it.
    let usage = unsafe {
        libc::getrusage(libc::RUSAGE_CHILDREN, usage.as_mut_ptr());
        usage.assume_init()
    };
    let of = |time: libc::timeval| {
        Duration::from_secs(time.tv_sec as u64) + Duration::from_micros(time.tv_usec as u64)
    };
    of(usage.ru_utime) + of(usage.ru_stime)
}

#[cfg(not(unix))]
fn processor_time() -> Duration {
    Duration::ZERO
}

fn seconds(elapsed: Duration) -> String {
    format!("{:.1} s", elapsed.as_secs_f64())
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
    fn every_step_needs_only_what_the_table_of_needs_has() {
        for step in STEPS {
            for program in step.needs {
                assert!(
                    NEEDS.iter().any(|need| need.program == *program),
                    "step `{}` needs `{program}`, which NEEDS does not list",
                    step.name
                );
            }
        }
    }

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
