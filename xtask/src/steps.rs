//! The test steps: a table of commands.

mod child;
mod run;
#[cfg(test)]
mod tests;
mod when;

pub use self::run::{Skips, run};
pub use self::when::{Beside, When};

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
    /// The step that must have ended before.
    pub after: Option<&'static str>,
}

/// The random calls run in full in the first step; others try fewer of them.
const FEW: (&str, &str) = ("ALLHANDS_SUITE", "few");

/// For a sanitizer the stable compiler wants this; the models have it too, as what is compiled for the compiler itself is then the same.
const BOOTSTRAP: (&str, &str) = ("RUSTC_BOOTSTRAP", "1");

/// The environment of the tests under AddressSanitizer. A test forgets a request on purpose: a leak, and the only one. Who asked for
/// memory is not remembered, which takes a tenth of the time and finds nothing: without ASAN_OPTIONS a report says it.
const SANITIZER: &[(&str, &str)] = &[
    BOOTSTRAP,
    ("RUSTFLAGS", "-Zsanitizer=address"),
    ("ASAN_OPTIONS", "detect_leaks=0:malloc_context_size=0"),
    FEW,
];

/// The step that compiles for those that run what is compiled in it.
const COMPILED: &str = "all tests, optimized and with every assertion, compiled";
/// The same as released.
const RELEASED: &str = "integration tests of real transports, compiled as released";
/// The same for AddressSanitizer.
const SANITIZED: &str = "the tests for AddressSanitizer, compiled";

/// The arguments with which cargo tests what is optimized and has every assertion. All packages are named together, whatever is run:
/// features, and so what must be compiled, would differ otherwise. This build has TLS; that as released, and that under
/// AddressSanitizer, do not.
macro_rules! checked {
    ($($more:literal),*) => {
        &[
            "test", "--workspace", "--features", "allhands-cli/tls", "--profile", "checked", "--locked", $($more),*
        ]
    };
}

/// The arguments with which cargo tests what a release alone can break: what hangs on time, as assertions take some, where ranks run
/// beside one another.
macro_rules! released {
    ($($more:literal),*) => {
        &[
            "test", "--release", "--locked", "--package", "allhands",
            "--test", "threads", "--test", "processes", "--test", "tcp", "--test", "waits", $($more),*
        ]
    };
}

/// The arguments with which cargo tests under AddressSanitizer.
macro_rules! sanitized {
    ($($more:literal),*) => {
        &[
            "test", "--locked", "--package", "allhands", "--profile", "instrumented", "--target", "host-tuple", $($more),*
        ]
    };
}

/// A step, but for what it does.
const STEP: Step = Step {
    name: "",
    cargo: &[],
    environment: &[],
    needs: &[],
    when: When::Always,
    beside: Beside::Others,
    after: None,
};

/// An example that compares what it finds with a serial run.
const EXAMPLE: Step = Step {
    name: "examples that compare with a serial run",
    ..STEP
};

/// Tests under AddressSanitizer.
const UNDER_SANITIZER: Step = Step {
    environment: SANITIZER,
    when: When::On("linux", "x86_64"),
    after: Some(SANITIZED),
    ..STEP
};

/// Everything that `cargo xtask test` runs.
pub const STEPS: &[Step] = &[
    Step {
        name: COMPILED,
        cargo: checked!("--no-run"),
        ..STEP
    },
    Step {
        name: "unit tests",
        cargo: checked!("--exclude", "allhands-core", "--lib", "--bins"),
        ..STEP
    },
    Step {
        name: "integration tests of transports and communicators",
        cargo: checked!(
            "--test",
            "communicator",
            "--test",
            "descriptors",
            "--test",
            "idle",
            "--test",
            "launch",
            "--test",
            "messages",
            "--test",
            "nodes",
            "--test",
            "ofi",
            "--test",
            "processes",
            "--test",
            "tcp",
            "--test",
            "threads",
            "--test",
            "tls"
        ),
        ..STEP
    },
    Step {
        name: "integration tests that wait: late ranks, refusals, clusters, and the program with ranks of its own",
        cargo: checked!(
            "--test", "run", "--test", "cluster", "--test", "refusals", "--test", "waits",
            "--test", "bench", "--test", "against", "--test", "tune", "--test", "measured",
            "--test", "tune_mpi"
        ),
        beside: Beside::Waiting,
        after: Some(COMPILED),
        ..STEP
    },
    Step {
        name: RELEASED,
        cargo: released!("--no-run"),
        environment: &[FEW],
        when: When::RustFilesIn("crates/allhands/tests"),
        beside: Beside::Idle,
        ..STEP
    },
    Step {
        // What is compiled while others wait is not waited for afterwards. It is what has unsafe code, and some more: what counts
        // a process's time, or only starts others, has none of its own.
        name: SANITIZED,
        cargo: sanitized!(
            "--no-run",
            "--lib",
            "--test",
            "cluster",
            "--test",
            "communicator",
            "--test",
            "descriptors",
            "--test",
            "kernels",
            "--test",
            "messages",
            "--test",
            "nan",
            "--test",
            "nodes",
            "--test",
            "ofi",
            "--test",
            "processes",
            "--test",
            "properties",
            "--test",
            "refusals",
            "--test",
            "tcp",
            "--test",
            "threads",
            "--test",
            "values",
            "--test",
            "waits"
        ),
        environment: SANITIZER,
        when: When::On("linux", "x86_64"),
        beside: Beside::Idle,
        ..STEP
    },
    Step {
        // It depends on nothing, so that nothing has other features when it is alone.
        name: "unit tests of the core",
        cargo: &[
            "test",
            "--package",
            "allhands-core",
            "--profile",
            "checked",
            "--locked",
            "--lib",
        ],
        beside: Beside::Idle,
        after: Some(COMPILED),
        ..STEP
    },
    Step {
        name: "integration tests that compute: schedules, kernels, random calls, answers of the program, the repository's rules",
        cargo: checked!(
            "--test",
            "figures",
            "--test",
            "interleavings",
            "--test",
            "mutation",
            "--test",
            "schedules",
            "--test",
            "settings",
            "--test",
            "text",
            "--test",
            "torus",
            "--test",
            "kernels",
            "--test",
            "nan",
            "--test",
            "properties",
            "--test",
            "tuned",
            "--test",
            "values",
            "--test",
            "cli",
            "--test",
            "manual",
            "--test",
            "mpi",
            "--test",
            "papers",
            "--test",
            "protocols",
            "--test",
            "report",
            "--test",
            "simulate",
            "--test",
            "verify_file",
            "--test",
            "tidy"
        ),
        beside: Beside::Idle,
        after: Some(COMPILED),
        ..STEP
    },
    Step {
        name: "reports in a browser",
        cargo: checked!("--test", "browser"),
        needs: &["chromium"],
        beside: Beside::Idle,
        after: Some(COMPILED),
        ..STEP
    },
    Step {
        name: "documentation tests",
        cargo: checked!("--doc"),
        beside: Beside::Idle,
        after: Some(COMPILED),
        ..STEP
    },
    Step {
        name: "proofs of every algorithm, all roots",
        cargo: &[
            "run",
            "--features",
            "tls",
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
        beside: Beside::Idle,
        after: Some(COMPILED),
        ..STEP
    },
    Step {
        name: "integration tests of real transports, as released",
        cargo: released!(),
        environment: &[FEW],
        when: When::RustFilesIn("crates/allhands/tests"),
        after: Some(RELEASED),
        ..STEP
    },
    Step {
        cargo: &[
            "run",
            "--release",
            "--locked",
            "--package",
            "allhands",
            "--example",
            "kmeans",
        ],
        ..EXAMPLE
    },
    Step {
        cargo: &[
            "run",
            "--release",
            "--locked",
            "--package",
            "allhands",
            "--example",
            "sample_sort",
        ],
        ..EXAMPLE
    },
    Step {
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
        ..EXAMPLE
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
        when: When::On("linux", "x86_64"),
        ..STEP
    },
    Step {
        name: "unsafe code under AddressSanitizer",
        // The machines of TCP and of the rendezvous have no unsafe code, and ten thousand worlds of the one, and a thousand
        // ranks of the other, take long here. What drives them has some: that is tested on sockets.
        cargo: sanitized!(
            "--lib",
            "--test",
            "communicator",
            "--test",
            "descriptors",
            "--test",
            "messages",
            "--test",
            "nodes",
            "--test",
            "ofi",
            "--test",
            "processes",
            "--test",
            "tcp",
            "--test",
            "threads",
            "--",
            "--skip",
            "tcp::protocol::simulation",
            "--skip",
            "rendezvous::simulation"
        ),
        ..UNDER_SANITIZER
    },
    Step {
        name: "unsafe code under AddressSanitizer: what waits",
        cargo: sanitized!("--test", "cluster", "--test", "refusals", "--test", "waits"),
        beside: Beside::Waiting,
        ..UNDER_SANITIZER
    },
    Step {
        name: "unsafe code under AddressSanitizer: what computes",
        cargo: sanitized!(
            "--test",
            "kernels",
            "--test",
            "nan",
            "--test",
            "properties",
            "--test",
            "values"
        ),
        beside: Beside::Idle,
        ..UNDER_SANITIZER
    },
    Step {
        // The last beside others, as the tests under AddressSanitizer would wait while it is compiled: cargo compiles one thing at a
        // time in this profile.
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
        beside: Beside::Idle,
        ..STEP
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
        needs: &["valgrind"],
        beside: Beside::Nothing,
        ..STEP
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
        beside: Beside::Nothing,
        ..STEP
    },
];
