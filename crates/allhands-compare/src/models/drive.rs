//! The driver: steps of a part, each a program that writes one file, which is not run again where the file is there.

use crate::error::{Error, at};
use crate::lab::{self, Lab};
use rustix::process::{Pid, Signal, kill_process};
use std::fs;
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};
use xtask::processes;

/// How often is looked whether a program has ended, or the user has asked to.
const LOOK: Duration = Duration::from_millis(50);
/// How long a program that was interrupted may take to end.
const TO_END: Duration = Duration::from_secs(30);
/// What a program may take beyond its time, and by which factor.
const BEYOND: Duration = Duration::from_secs(600);
/// By what times are divided with --quick.
const QUICKER: u32 = 10;

/// Where the ranks of a part are.
pub(super) enum Site<'a> {
    /// So many on this machine, sharing memory.
    Here(u32),
    /// On the lab's hosts.
    Hosts(Lab<'a>),
}

/// What runs the steps of a part.
pub(super) struct Driver<'a> {
    pub root: &'a Path,
    /// The program `allhands`.
    pub program: &'a Path,
    /// Where the part's files are.
    pub folder: PathBuf,
    /// Whether every step has a tenth of its time.
    pub is_quick: bool,
}

/// How a program has ended: with which status, after how many seconds.
pub(super) struct Ended {
    pub status: i32,
    pub seconds: f64,
}

impl Driver<'_> {
    /// The seconds of a step that has so many in a whole evaluation.
    pub(super) fn seconds(&self, whole: u32) -> u32 {
        match self.is_quick {
            true => (whole / QUICKER).max(4),
            false => whole,
        }
    }

    /// A file of the part's.
    pub(super) fn file(&self, name: &str) -> PathBuf {
        self.folder.join(name)
    }

    /// The user's cache as programs have it: none of their tables is the user's own.
    pub(super) fn cache(&self) -> PathBuf {
        self.file("cache")
    }

    /// A command of the program's, without ranks.
    pub(super) fn allhands(&self, verb: &str) -> Command {
        let mut command = Command::new(self.program);
        command.arg(verb).env("XDG_CACHE_HOME", self.cache());
        command
    }

    /// A command of the program's among ranks that are there.
    pub(super) fn among(&self, site: &Site<'_>, verb: &str) -> Command {
        match site {
            Site::Here(ranks) => {
                let mut command = self.allhands(verb);
                command.args(["--transport", "shm", "-n", &ranks.to_string()]);
                command
            }
            Site::Hosts(lab) => {
                let program = self.program.to_string_lossy();
                let hosts: Vec<String> = (1..=lab.hosts())
                    .map(|host| format!("h{host}-r0"))
                    .collect();
                let launcher = format!("{} {{host}}", Lab::folder().join("labssh").display());
                let mut command = lab.command(&["exec", "0", &program, verb]);
                command.args(["--transport", "tcp", "--hosts", &hosts.join(",")]);
                command.args(["--launcher", &launcher, "--env", "XDG_CACHE_HOME"]);
                command
                    .env("ALLHANDS_RAILS", "rail0")
                    .env("XDG_CACHE_HOME", self.cache());
                command
            }
        }
    }

    /// Runs a step unless its file is there: what `command` makes writes the file that it is handed, takes about so many seconds, and
    /// ends with one of these statuses.
    pub(super) fn step(
        &self,
        name: &str,
        seconds: u32,
        statuses: &[i32],
        command: impl FnOnce(&Path) -> Command,
    ) -> Result<(), Error> {
        let file = self.file(name);
        if file.exists() {
            return Ok(());
        }
        let partial = self.file(&format!("partial-{name}"));
        let ended = self.run(&mut command(&partial), name, seconds, None)?;
        if !statuses.contains(&ended.status) {
            return Err(self.failed(name, &format!("ended with status {}", ended.status)));
        }
        fs::rename(&partial, &file).map_err(at(&partial))?;
        if ended.seconds >= 1.0 {
            println!("    {name}: {:.0} s", ended.seconds);
        }
        Ok(())
    }

    /// Runs a program, whose words go to the step's log; with `interrupt` it gets SIGINT after so long.
    pub(super) fn run(
        &self,
        command: &mut Command,
        step: &str,
        seconds: u32,
        interrupt: Option<Duration>,
    ) -> Result<Ended, Error> {
        let path = self.file(&format!("{step}.log"));
        let mut options = fs::File::options();
        let log = options.create(true).append(true).open(&path);
        let log = log.map_err(at(&path))?;
        let both = log.try_clone().map_err(at(&path))?;
        command.stdin(Stdio::null()).stdout(log).stderr(both);
        let begin = Instant::now();
        let child = processes::start(command);
        let mut child = child.map_err(at(Path::new(command.get_program())))?;
        let limit = 2 * Duration::from_secs(seconds.into()) + BEYOND;
        let mut interrupt = interrupt;
        loop {
            match child.try_wait().map_err(at(&path))? {
                Some(status) => {
                    // As shells say it.
                    let signal = status.signal().map_or(1, |signal| 128 + signal);
                    return Ok(Ended {
                        status: status.code().unwrap_or(signal),
                        seconds: begin.elapsed().as_secs_f64(),
                    });
                }
                None if processes::interrupted() => {
                    give_up(&mut child);
                    return Err(Error::Interrupted);
                }
                None if begin.elapsed() > limit => {
                    give_up(&mut child);
                    let why = format!("did not end in {} s", limit.as_secs());
                    return Err(self.failed(step, &why));
                }
                None if interrupt.is_some_and(|after| begin.elapsed() > after) => {
                    interrupt = None;
                    ask(&child);
                }
                None => std::thread::sleep(LOOK),
            }
        }
    }

    /// That a step failed, and where it says why.
    pub(super) fn failed(&self, step: &str, why: &str) -> Error {
        let log = self.file(&format!("{step}.log"));
        Error::Models(format!("{step} {why}; {} says why", log.display()))
    }
}

/// Asks a program to end, as Ctrl-C does.
fn ask(child: &Child) {
    if let Some(pid) = Pid::from_raw(child.id() as i32) {
        // It may have ended meanwhile.
        let _ = kill_process(pid, Signal::INT);
    }
}

/// Ends a program, and all that it has started.
fn give_up(child: &mut Child) {
    ask(child);
    processes::wait(child, TO_END);
    processes::end(child, &[]);
}

/// The lab's hosts and its MPIs, which are fetched once.
pub(super) fn peers(root: &Path) -> Result<(), Error> {
    let folder = Lab::folder();
    let is_there = |name: &str| folder.join("bin").join(name).exists();
    if !(is_there("mbench") && is_there("mbench_ompi")) {
        lab::output(&mut lab::command(root, &["peers"]))?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn driver(name: &str) -> Driver<'static> {
        let name = format!("allhands-models-{name}-{}", std::process::id());
        let folder = std::env::temp_dir().join(name);
        fs::create_dir_all(&folder).expect("there is room");
        Driver {
            root: Path::new("."),
            program: Path::new("allhands"),
            folder,
            is_quick: false,
        }
    }

    fn shell(text: &str, file: &Path) -> Command {
        let mut command = Command::new("sh");
        command.args(["-c", text]).arg("sh").arg(file);
        command
    }

    #[test]
    fn a_step_whose_file_is_there_is_not_run_again() {
        let driver = driver("again");
        let write = |text: &'static str, statuses: &[i32]| {
            driver.step("a.json", 1, statuses, |file| shell(text, file))
        };
        let failed = write("echo half > \"$1\"; exit 3", &[0]).expect_err("3 is none of these");
        assert!(failed.to_string().contains("a.json.log"), "{failed}");
        assert!(!driver.file("a.json").exists(), "half a file is none");
        write("echo whole > \"$1\"; exit 1", &[0, 1]).expect("1 is one of these");
        write("exit 3", &[0]).expect("it is not run");
        let text = fs::read_to_string(driver.file("a.json")).expect("it is there");
        assert_eq!(text, "whole\n");
        fs::remove_dir_all(&driver.folder).expect("it is ours");
    }

    #[test]
    fn a_program_is_interrupted_half_way() {
        let driver = driver("interrupt");
        let mut command = shell(
            "trap 'exit 130' INT; while :; do sleep 0.02; done",
            Path::new(""),
        );
        let after = Some(Duration::from_millis(200));
        let ended = driver.run(&mut command, "tune", 1, after).expect("it ends");
        assert_eq!(ended.status, 130);
        assert!(ended.seconds >= 0.2, "{} s", ended.seconds);
        fs::remove_dir_all(&driver.folder).expect("it is ours");
    }
}
