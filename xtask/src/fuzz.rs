//! The fuzz targets: built and run one after another, from seeds that the repository has anyway.

use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};

/// How long each target runs, unless it is said.
const SECONDS: u32 = 20;

/// What `cargo install` is asked for where it is not there.
const CARGO_FUZZ: &str = "cargo-fuzz@0.13.2";

/// One target.
struct Target {
    /// As `fuzz/Cargo.toml` has it.
    name: &'static str,
    /// The files, and folders of files, that the fuzzer begins with.
    seeds: &'static [&'static str],
    /// Short texts that it begins with.
    words: &'static [&'static str],
}

const TARGETS: &[Target] = &[
    Target {
        name: "schedule",
        seeds: &["testdata/schedules", "testdata/schedules/broken"],
        words: &[],
    },
    Target {
        name: "table",
        seeds: &["crates/allhands-core/src/choose/shm.toml"],
        words: &[
            "format = 1\nmachine = \"m\"\nversion = \"0\"\n",
            "format = 1\nmachine = \"\\\"\"\nversion = \"0\"\n[[row]]\ntransport = \"shm\"\ncollective = \"allreduce\"\nranks = 2\noversubscribed = false\n8 = [\"ring\"]\n",
        ],
    },
    Target {
        name: "policy",
        seeds: &[],
        words: &[
            "mpich-2005",
            "shm",
            "ring",
            "binomial:segments=4",
            "hierarchical:intra=binomial,inter=ring,leaders=2",
            "knomial:radix=3",
        ],
    },
    Target {
        name: "machine",
        seeds: &["crates/allhands-cli/machines"],
        words: &[],
    },
    Target {
        name: "protocols",
        seeds: &[],
        // What stands behind the head of a file.
        words: &[
            "one-way 8192 medium medium=1.120/2.270 bounce=1.600/2.300 direct=1.510/2.260\n",
            "one-way 65536 direct bounce=10.925/11.302 direct=3.731/8.064 assisted=11.520/11.743\nexchanged 65536 pipelined pipelined=7.270/9.500 direct=8.700/9.900\n",
        ],
    },
    Target {
        name: "tcp",
        seeds: &[],
        // An eager message of two bytes, one that waits, the word that its sender leaves, two bytes that are put into the first window,
        // and its second flag.
        words: &[
            "Ah\u{2}\u{1}\0\0\0\0\0\0\0\0\0\0\0\0\u{2}\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\u{2}\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0ab",
            "Ah\u{2}\u{2}\u{1}\0\0\0\0\0\0\0\0\0\0\0\t\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0",
            "Ah\u{2}\u{8}\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0",
            "Ah\u{2}\u{9}\0\0\0\0\0\0\0\0\0\0\0\0\u{2}\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\u{2}\0\0\0\0\0\0\0\u{5}\0\0\0\0\0\0\0ab",
            "Ah\u{2}\u{a}\0\0\0\0\u{2}\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\u{1}\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0",
        ],
    },
];

/// Why targets did not run.
#[derive(Debug, thiserror::Error)]
enum Mistake {
    #[error("`{word}` is no option and no target; right would be [--seconds N] [{}]", names().join("|"))]
    Word { word: String },
    #[error("--seconds has `{word}`; right would be a number of seconds, 1 or more")]
    Seconds { word: String },
    #[error("{}: {error}", path.display())]
    File {
        path: PathBuf,
        error: std::io::Error,
    },
    #[error("`{command}` did not start: {error}")]
    Start {
        command: String,
        error: std::io::Error,
    },
    #[error("`cargo install {CARGO_FUZZ}` failed")]
    Install,
}

fn names() -> Vec<&'static str> {
    TARGETS.iter().map(|target| target.name).collect()
}

/// Runs the targets that `words` name, or all, each for so long as `words` say.
pub fn run(root: &Path, words: &[&str]) -> ExitCode {
    match run_all(root, words) {
        Ok(failed) if failed.is_empty() => ExitCode::SUCCESS,
        Ok(failed) => {
            println!("fuzz: {} found something", failed.join(", "));
            ExitCode::FAILURE
        }
        Err(mistake) => {
            eprintln!("cargo xtask fuzz: {mistake}");
            ExitCode::from(2)
        }
    }
}

/// Runs targets; gives those that found something.
fn run_all(root: &Path, words: &[&str]) -> Result<Vec<&'static str>, Mistake> {
    let (seconds, targets) = arguments(words)?;
    let program = installed(root)?;
    let mut failed = Vec::new();
    for target in targets {
        println!("\n==> fuzz: {} for {seconds} s", target.name);
        if !target.run(root, &program, seconds)? {
            failed.push(target.name);
        }
    }
    Ok(failed)
}

fn arguments(words: &[&str]) -> Result<(u32, Vec<&'static Target>), Mistake> {
    let (mut seconds, mut targets) = (SECONDS, Vec::new());
    let mut words = words.iter();
    while let Some(&word) = words.next() {
        if word == "--seconds" {
            let word = words.next().copied().unwrap_or_default();
            let number = word.parse().ok().filter(|&seconds| seconds > 0);
            seconds = number.ok_or_else(|| Mistake::Seconds { word: word.into() })?;
        } else {
            let named = TARGETS.iter().find(|target| target.name == word);
            targets.push(named.ok_or_else(|| Mistake::Word { word: word.into() })?);
        }
    }
    if targets.is_empty() {
        targets.extend(TARGETS);
    }
    Ok((seconds, targets))
}

/// The program `cargo-fuzz`, which is installed into `target/tools` if it is not there.
fn installed(root: &Path) -> Result<PathBuf, Mistake> {
    let tools = root.join("target/tools");
    let program = tools.join("bin/cargo-fuzz");
    if program.is_file() {
        return Ok(program);
    }
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let mut install = Command::new(cargo);
    install.args(["install", CARGO_FUZZ, "--locked", "--root"]);
    match status(install.arg(&tools))? {
        true => Ok(program),
        false => Err(Mistake::Install),
    }
}

/// Runs a command; whether it succeeds.
fn status(command: &mut Command) -> Result<bool, Mistake> {
    let status = command.status().map_err(|error| Mistake::Start {
        command: command.get_program().to_string_lossy().into_owned(),
        error,
    })?;
    Ok(status.success())
}

impl Target {
    /// Runs the target; whether it found nothing. What it finds it leaves in `target/fuzz/found`, and says where.
    fn run(&self, root: &Path, program: &Path, seconds: u32) -> Result<bool, Mistake> {
        let home = root.join("target/fuzz");
        let [corpus, seeds, found] =
            ["corpus", "seeds", "found"].map(|folder| home.join(folder).join(self.name));
        for folder in [&corpus, &seeds, &found] {
            std::fs::create_dir_all(folder).map_err(|error| file(folder, error))?;
        }
        self.lay_seeds(root, &seeds)?;
        let mut command = Command::new(program);
        command.args(["fuzz", "run", "--target-dir"]);
        command.arg(home.join("build")).arg(self.name);
        // What it learns goes to the first folder.
        command.args([&corpus, &seeds]).arg("--");
        command.arg(format!("-max_total_time={seconds}"));
        command.arg(format!("-artifact_prefix={}/", found.display()));
        command.args(["-timeout=10", "-rss_limit_mb=2048", "-print_final_stats=1"]);
        // The sanitizer and the fuzzer's own instrumentation are not for a stable compiler otherwise.
        command.env("RUSTC_BOOTSTRAP", "1").current_dir(root);
        status(&mut command)
    }

    /// Copies the seeds to a folder of their own.
    fn lay_seeds(&self, root: &Path, into: &Path) -> Result<(), Mistake> {
        for path in self.seed_files(root)? {
            let name = path.file_name().unwrap_or_default();
            std::fs::copy(&path, into.join(name)).map_err(|error| file(&path, error))?;
        }
        for (number, words) in self.words.iter().enumerate() {
            let path = into.join(format!("words-{number}"));
            std::fs::write(&path, words).map_err(|error| file(&path, error))?;
        }
        Ok(())
    }

    fn seed_files(&self, root: &Path) -> Result<Vec<PathBuf>, Mistake> {
        let mut files = Vec::new();
        for seeds in self.seeds.iter().map(|path| root.join(path)) {
            if seeds.is_file() {
                files.push(seeds);
                continue;
            }
            let entries = std::fs::read_dir(&seeds).map_err(|error| file(&seeds, error))?;
            let paths = entries.flatten().map(|entry| entry.path());
            files.extend(paths.filter(|path| path.is_file()));
        }
        Ok(files)
    }
}

fn file(path: &Path, error: std::io::Error) -> Mistake {
    Mistake::File {
        path: path.to_path_buf(),
        error,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::repository_root;

    #[test]
    fn the_targets_are_those_of_the_crate_and_have_seeds() {
        let root = repository_root();
        let manifest = std::fs::read_to_string(root.join("fuzz/Cargo.toml")).unwrap();
        let built: Vec<&str> = manifest
            .lines()
            .filter_map(|line| line.strip_prefix("path = \"fuzz_targets/"))
            .filter_map(|line| line.strip_suffix(".rs\""))
            .collect();
        assert_eq!(built, names());
        for target in TARGETS {
            let seeds = target.seed_files(&root).unwrap().len() + target.words.len();
            assert!(seeds > 1, "{}", target.name);
        }
    }

    #[test]
    fn words_are_targets_and_seconds() {
        let of = |words: &[&str]| arguments(words).map(|(s, t)| (s, t.len()));
        assert_eq!(of(&[]).unwrap(), (SECONDS, TARGETS.len()));
        assert_eq!(of(&["table", "--seconds", "3"]).unwrap(), (3, 1));
        assert!(matches!(of(&["tables"]), Err(Mistake::Word { .. })));
        for wrong in [&["--seconds"][..], &["--seconds", "0"]] {
            assert!(matches!(of(wrong), Err(Mistake::Seconds { .. })));
        }
    }
}
