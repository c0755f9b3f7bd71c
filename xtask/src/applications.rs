//! The applications among the examples: each is run on threads, among processes and on hosts, and must say that its answer is right.

use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode, Output};
use std::time::Instant;

/// An example, with little to do.
struct Application {
    name: &'static str,
    settings: &'static [&'static str],
    /// What it prints once it has checked its answer.
    says: &'static [&'static str],
}

const APPLICATIONS: &[Application] = &[
    Application {
        name: "nbody",
        settings: &["bodies=1000", "steps=3"],
        says: &[
            "the same places, velocities and forces to the bit",
            "of sums over all bodies",
        ],
    },
    Application {
        name: "radix",
        settings: &["keys=100001", "skew=3"],
        says: &["in order, the same keys, the serial answer"],
    },
    Application {
        name: "power_iteration",
        settings: &["size=301"],
        says: &[
            "Rows: 301 x 301, 30 rounds",
            "Columns: 301 x 301, 30 rounds",
        ],
    },
    Application {
        name: "llm_decode",
        settings: &["model=gemma-3-12b", "tokens=3"],
        says: &[
            "3 tokens of 96 allreduces of 7680 bytes",
            "every sum and every token is right",
        ],
    },
];

/// Where ranks run: what stands before the application, which `allhands run` starts if there is something, and after it.
struct Place {
    before: &'static [&'static str],
    after: &'static [&'static str],
}

/// Hosts are names of this one, whose agents an `env` starts instead of ssh; between them there is TCP all the same.
const PLACES: &[Place] = &[
    Place {
        before: &[],
        after: &[],
    },
    Place {
        before: &[],
        after: &["4"],
    },
    Place {
        before: &["-n", "2"],
        after: &[],
    },
    Place {
        before: &["-n", "3"],
        after: &[],
    },
    Place {
        before: &[
            "--hosts",
            "a,b:2",
            "--launcher",
            "env HERE={host}",
            "--rendezvous",
            "127.0.0.1",
        ],
        after: &[],
    },
    Place {
        before: &[
            "--hosts",
            "a,b",
            "--launcher",
            "env HERE={host}",
            "--rendezvous",
            "127.0.0.1",
            "--tls",
        ],
        after: &[],
    },
];

/// What is refused: an application, its arguments, and words of the refusal.
const REFUSED: &[(&str, &[&str], &str)] = &[
    (
        "nbody",
        &["2", "bodies=1"],
        "nbody: bodies=1: it must be a number from 2 to",
    ),
    ("nbody", &["step=NaN"], "nbody: step=NaN: it must be"),
    (
        "radix",
        &["2", "key=5"],
        "radix: key=5: unknown; settings are keys, ",
    ),
    (
        "radix",
        &["trace=no-such-folder/trace"],
        "radix: trace=no-such-folder/trace: ",
    ),
    (
        "radix",
        &["bits=3", "bits=4"],
        "radix: bits=4: it is given twice",
    ),
    (
        "power_iteration",
        &["two"],
        "`two` is neither a number of ranks",
    ),
    (
        "llm_decode",
        &["model=x"],
        "model=x: it must be one of llama-3.2-3b, ",
    ),
];

/// Builds the applications and runs each in every place.
pub fn run(root: &Path) -> ExitCode {
    match build(root).and_then(|built| run_all(&built)) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("cargo xtask applications: {error}");
            ExitCode::FAILURE
        }
    }
}

/// The folder with what was built: as all tests are, whose step has built it already where both run.
fn build(root: &Path) -> Result<PathBuf, String> {
    let build = [
        "build",
        "--profile",
        "checked",
        "--locked",
        "--workspace",
        "--features",
        "allhands-cli/tls",
        "--bins",
        "--examples",
    ];
    let cargo = std::env::var("CARGO").unwrap_or_else(|_| "cargo".into());
    let built = Command::new(cargo).args(build).current_dir(root).status();
    if !built.map_err(|error| format!("cargo: {error}"))?.success() {
        return Err("the applications do not build".into());
    }
    let target = std::env::var("CARGO_TARGET_DIR").map_or_else(|_| root.join("target"), Into::into);
    Ok(target.join("checked"))
}

fn run_all(built: &Path) -> Result<(), String> {
    for application in APPLICATIONS {
        for place in PLACES {
            let begun = Instant::now();
            let words = run_one(built, application, place)?;
            println!("{:.1} s: {words}", begun.elapsed().as_secs_f64());
        }
    }
    traced(built)?;
    for (name, arguments, refusal) in REFUSED {
        let mut command = Command::new(built.join("examples").join(name));
        let output = output(command.args(*arguments))?;
        let said = String::from_utf8_lossy(&output.stderr);
        if output.status.success() || !said.contains(refusal) {
            return Err(format!(
                "{name} {arguments:?} does not say `{refusal}`: {said}"
            ));
        }
    }
    Ok(())
}

/// Runs one in one place; what was typed.
fn run_one(built: &Path, application: &Application, place: &Place) -> Result<String, String> {
    let example = built.join("examples").join(application.name);
    let mut command = if place.before.is_empty() {
        Command::new(example)
    } else {
        let mut command = Command::new(built.join("allhands"));
        command.arg("run").args(place.before).arg("--").arg(example);
        command
    };
    let output = output(command.args(place.after).args(application.settings))?;
    let words = [
        place.before,
        &[application.name],
        place.after,
        application.settings,
    ]
    .concat();
    let words = words.join(" ");
    let (out, said) = (
        String::from_utf8_lossy(&output.stdout),
        String::from_utf8_lossy(&output.stderr),
    );
    if !output.status.success() {
        return Err(format!("{words}: {}\n{out}{said}", output.status));
    }
    match application.says.iter().find(|says| !out.contains(**says)) {
        Some(missing) => Err(format!("{words} does not say `{missing}`:\n{out}{said}")),
        None => Ok(words),
    }
}

/// Runs one that writes the trace of its collective calls, whose lengths follow from what it is to sort.
fn traced(built: &Path) -> Result<(), String> {
    let path = built.join(format!("radix-{}.trace", std::process::id()));
    let mut command = Command::new(built.join("examples/radix"));
    command.args(["2", "keys=1001", "bits=16"]);
    let output = output(command.arg(format!("trace={}", path.display())))?;
    let said = String::from_utf8_lossy(&output.stderr);
    if !output.status.success() {
        return Err(format!("radix with a trace: {}\n{said}", output.status));
    }
    let text = std::fs::read_to_string(&path).map_err(|error| format!("radix's trace: {error}"))?;
    let _ = std::fs::remove_file(&path);
    let lines: Vec<&str> = text.lines().collect();
    let counts = "allgather 262144 262144";
    let wrong = || Err(format!("radix's trace is\n{text}"));
    let ["radix: 2 ranks", first, one, second, other] = lines[..] else {
        return wrong();
    };
    if [first, second] != [counts; 2] {
        return wrong();
    }
    for line in [one, other] {
        let numbers = line.strip_prefix("alltoall-v ").unwrap_or("").split(' ');
        let numbers: Vec<usize> = numbers.filter_map(|number| number.parse().ok()).collect();
        // Both ranks have half of all keys, of four bytes each, before and after each pass.
        if !matches!(numbers[..], [a, b, c, d] if a + b == 2000 && c + d == 2004 && a + c == 2000) {
            return wrong();
        }
    }
    Ok(())
}

fn output(command: &mut Command) -> Result<Output, String> {
    let output = command.output();
    output.map_err(|error| format!("{}: {error}", command.get_program().display()))
}
