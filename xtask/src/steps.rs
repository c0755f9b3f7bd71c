//! The test steps: a table of commands.

mod child;
mod run;

pub use self::run::{Skips, run};

/// One command of `cargo xtask test`.
#[derive(Debug, Clone, Copy)]
pub struct Step {
    /// What the heading says.
    pub name: &'static str,
    /// The arguments of cargo.
    pub cargo: &'static [&'static str],
    /// Variables that the environment has besides.
    pub environment: &'static [(&'static str, &'static str)],
    /// Programs of [`crate::needs::NEEDS`] without which the step is skipped.
    pub needs: &'static [&'static str],
    /// When there is something to run.
    pub when: When,
    /// Beside what it runs.
    pub beside: Beside,
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

/// Beside what a step runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Beside {
    /// Beside the steps of [`Beside::Idle`] alone, in the order of the table.
    Others,
    /// Beside all others, one of them after another, with what these leave of the processors.
    Idle,
    /// Beside nothing, after all others: what counts or measures.
    Nothing,
}

/// The random calls run in full in the first step; others try fewer of them.
const FEW: (&str, &str) = ("ALLHANDS_SUITE", "few");

/// For a sanitizer the stable compiler wants this; the models have it too, as what is compiled for the compiler itself is then the same.
const BOOTSTRAP: (&str, &str) = ("RUSTC_BOOTSTRAP", "1");

/// The environment of the tests under AddressSanitizer. A test forgets a request on purpose: a leak, and the only one.
const SANITIZER: &[(&str, &str)] = &[
    BOOTSTRAP,
    ("RUSTFLAGS", "-Zsanitizer=address"),
    ("ASAN_OPTIONS", "detect_leaks=0"),
    FEW,
];

/// The arguments with which cargo tests under AddressSanitizer what has unsafe code, and some more. What counts a process's time, or
/// only starts others, has none of its own.
macro_rules! sanitized {
    ($($more:literal),*) => {
        &[
            "test", "--locked", "--package", "allhands", "--lib",
            "--test", "cluster", "--test", "communicator", "--test", "descriptors", "--test", "kernels",
            "--test", "messages", "--test", "nan", "--test", "nodes", "--test", "ofi", "--test", "processes", "--test", "properties",
            "--test", "refusals", "--test", "tcp", "--test", "threads", "--test", "values", "--test", "waits",
            "--profile", "instrumented", "--target", "host-tuple", $($more),*
        ]
    };
}

/// Everything that `cargo xtask test` runs.
pub const STEPS: &[Step] = &[
    Step {
        name: "unit, integration and documentation tests, optimized and with every assertion",
        cargo: &["test", "--workspace", "--profile", "checked", "--locked"],
        environment: &[],
        needs: &[],
        when: When::Always,
        beside: Beside::Others,
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
            "--config",
            "profile.instrumented.package.allhands-core.opt-level=0",
            "--target",
            "host-tuple",
            "models",
        ],
        environment: &[BOOTSTRAP, ("RUSTFLAGS", "--cfg loom")],
        needs: &[],
        when: When::Always,
        beside: Beside::Idle,
    },
    Step {
        // What is compiled while others wait is not waited for afterwards.
        name: "the tests for AddressSanitizer, compiled",
        cargo: sanitized!("--no-run"),
        environment: SANITIZER,
        needs: &[],
        when: When::On("linux", "x86_64"),
        beside: Beside::Idle,
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
        beside: Beside::Idle,
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
        beside: Beside::Others,
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
        beside: Beside::Others,
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
        beside: Beside::Others,
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
            "halo",
            "--",
            "6",
        ],
        environment: &[],
        needs: &[],
        when: When::Always,
        beside: Beside::Others,
    },
    Step {
        name: "applications, on threads, among processes and on hosts",
        cargo: &[
            "run",
            "--quiet",
            "--profile",
            "checked",
            "--locked",
            "--package",
            "xtask",
            "--",
            "applications",
        ],
        environment: &[],
        needs: &[],
        when: When::On("linux", "x86_64"),
        beside: Beside::Others,
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
        beside: Beside::Nothing,
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
        beside: Beside::Nothing,
    },
    Step {
        name: "unsafe code under AddressSanitizer",
        // The machine of TCP has no unsafe code, and ten thousand of its worlds take long here. What drives it has some:
        // that is tested on sockets.
        cargo: sanitized!("--", "--skip", "tcp::protocol::simulation"),
        environment: SANITIZER,
        needs: &[],
        when: When::On("linux", "x86_64"),
        beside: Beside::Others,
    },
];

#[cfg(test)]
mod tests {
    use super::*;
    use crate::needs::NEEDS;

    /// What docs/testing.md says of these.
    const NOT_SANITIZED: [&str; 3] = ["idle", "launch", "tuned"];

    #[test]
    fn every_integration_test_is_sanitized_or_left_out_on_purpose() {
        let arguments: &[&str] = sanitized!();
        let folder = crate::repository_root().join("crates/allhands/tests");
        for entry in std::fs::read_dir(folder).expect("the folder is there") {
            let path = entry.expect("it can be listed").path();
            let name = path.file_stem().and_then(|name| name.to_str());
            let name = name.expect("it has a name");
            let is_test = path.is_file() || path.join("main.rs").is_file();
            let listed = arguments.windows(2).any(|pair| pair == ["--test", name]);
            assert_eq!(
                is_test && !NOT_SANITIZED.contains(&name),
                listed,
                "{name}: in `sanitized!`, or in `NOT_SANITIZED` and docs/testing.md"
            );
        }
    }

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
}
