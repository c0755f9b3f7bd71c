//! The Python package: how its wheel is built, and how it is tried.

use std::ffi::OsStr;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};

/// What `--help` says.
const HELP: &str = "\
cargo xtask wheel            builds the wheel of crates/allhands-python, below target/wheels
cargo xtask python-test      builds it, makes an environment below target/python, installs the wheel there, and runs
                             the tests of numpy; with --all those of PyTorch, JAX and Ray, too, which pip fetches (1 GB)
                             further words go to pytest, as -k nonblocking

Needed: python3 of 3.11 or later with venv, and a network that reaches pip's index; for --all a C compiler.";

/// What builds wheels.
const MATURIN: &str = "maturin>=1.9,<2";
/// What the tests of numpy need.
const NUMPY: &[&str] = &["numpy", "pytest"];
/// What JAX's need besides.
const JAX: &[&str] = &["jax", "ml_dtypes"];
/// What Ray's need besides.
const RAY: &[&str] = &["ray"];
/// What torch imports on a processor alone, and its own tests; the rest of what its wheel asks for is CUDA.
const TORCH: &[&str] = &[
    "filelock",
    "fsspec",
    "jinja2",
    "networkx",
    "sympy",
    "typing_extensions",
    "packaging",
    "expecttest",
];

/// Why something could not be done.
struct Failure(String);

type Done<T> = Result<T, Failure>;

/// Runs `cargo xtask wheel`.
#[must_use]
pub fn wheel_command(root: &Path, words: &[&str]) -> ExitCode {
    match words {
        [] => ended(wheel(root).map(|wheel| println!("{}", wheel.display()))),
        _ => help(words),
    }
}

/// Runs `cargo xtask python-test`.
#[must_use]
pub fn test_command(root: &Path, words: &[&str]) -> ExitCode {
    if words.iter().any(|word| matches!(*word, "--help" | "-h")) {
        return help(words);
    }
    let is_all = words.first() == Some(&"--all");
    let words = if is_all { &words[1..] } else { words };
    ended(test(root, is_all, words))
}

fn help(words: &[&str]) -> ExitCode {
    if let ["--help" | "-h", ..] = words {
        println!("{HELP}");
        return ExitCode::SUCCESS;
    }
    eprintln!(
        "cargo xtask: {} is not known here.\n\n{HELP}",
        words.join(" ")
    );
    ExitCode::from(2)
}

fn ended(done: Done<()>) -> ExitCode {
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(Failure(says)) => {
            eprintln!("cargo xtask: {says}");
            ExitCode::FAILURE
        }
    }
}

/// Runs a command, and says what was run if it fails.
fn run(command: &mut Command) -> Done<()> {
    let shown = format!("{command:?}");
    match command.status() {
        Ok(status) if status.success() => Ok(()),
        Ok(status) => Err(Failure(format!("{shown} ended with {status}"))),
        Err(error) => Err(Failure(format!("{shown} did not start: {error}"))),
    }
}

/// A Python environment.
struct Environment {
    folder: PathBuf,
}

impl Environment {
    /// The one below this folder, which is made if it is not there.
    fn at(folder: PathBuf) -> Done<Environment> {
        let environment = Environment { folder };
        if !environment.python().exists() {
            run(Command::new("python3")
                .args(["-m", "venv"])
                .arg(&environment.folder))
            .map_err(|Failure(says)| {
                Failure(format!("{says}\n    right: `apt-get install python3-venv`"))
            })?;
        }
        Ok(environment)
    }

    fn python(&self) -> PathBuf {
        self.folder.join("bin/python")
    }

    /// Installs packages, with options of pip's before them.
    fn install<S: AsRef<OsStr>>(&self, options: &[&str], packages: &[S]) -> Done<()> {
        let mut command = Command::new(self.python());
        command.args([
            "-m",
            "pip",
            "--quiet",
            "--disable-pip-version-check",
            "install",
        ]);
        run(command.args(options).args(packages))
    }

    fn has(&self, module: &str) -> bool {
        let code =
            format!("import importlib.util as u, sys; sys.exit(u.find_spec('{module}') is None)");
        let found = Command::new(self.python()).args(["-c", &code]).status();
        found.is_ok_and(|status| status.success())
    }
}

/// Builds the wheel; gives its path.
fn wheel(root: &Path) -> Done<PathBuf> {
    let environment = Environment::at(root.join("target/python/build"))?;
    if !environment.has("maturin") {
        environment.install(&[], &[MATURIN])?;
    }
    let wheels = root.join("target/wheels");
    let _ = fs::remove_dir_all(&wheels);
    let mut command = Command::new(environment.python());
    command.args([
        "-m",
        "maturin",
        "build",
        "--release",
        "--locked",
        "--strip",
        "--manifest-path",
    ]);
    command.arg(root.join("crates/allhands-python/Cargo.toml"));
    run(command.arg("--out").arg(&wheels))?;
    let built = fs::read_dir(&wheels)
        .ok()
        .and_then(|mut all| all.next()?.ok());
    let built = built.ok_or_else(|| Failure("maturin has built no wheel".to_string()))?;
    Ok(built.path())
}

fn test(root: &Path, is_all: bool, words: &[&str]) -> Done<()> {
    let wheel = wheel(root)?;
    let environment = Environment::at(root.join("target/python/test"))?;
    environment.install(&[], NUMPY)?;
    environment.install(&["--force-reinstall", "--no-deps"], &[&wheel])?;
    let tests = root.join("crates/allhands-python/tests");
    let mut command = Command::new(environment.python());
    command.args(["-m", "pytest", "--quiet", "--durations=5"]);
    // Without --all, too: the environment has torch, once --all has been here.
    let stubs = root.join("target/python/stubs");
    command.env("LD_LIBRARY_PATH", &stubs);
    if is_all {
        environment.install(&[], JAX)?;
        environment.install(&[], RAY)?;
        environment.install(&[], TORCH)?;
        environment.install(&["--no-deps"], &["torch"])?;
        if !stubs.exists() {
            let mut make = Command::new("python3");
            make.arg(tests.join("torch_stubs.py"));
            run(make.arg(environment.python()).arg(&stubs))?;
        }
        command.arg(&tests);
    } else {
        command.args(
            [
                "test_numpy.py",
                "test_random.py",
                "test_examples.py",
                "test_docs.py",
            ]
            .map(|file| tests.join(file)),
        );
    }
    run(command.args(words))
}
