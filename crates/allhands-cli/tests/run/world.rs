//! What the tests of `allhands run` share: starting it with a mark on every process, and looking for what it leaves.

use rustix::process::{Pid, Signal, kill_process};
use std::io::{BufRead, BufReader, Read};
use std::os::unix::process::CommandExt;
use std::process::{Child, ChildStdout, Command, ExitStatus, Output, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};

/// A run that goes on, every process of which has a mark in its environment.
pub struct World {
    pub launcher: Child,
    pub stdout: BufReader<ChildStdout>,
    mark: String,
}

/// An `allhands run` with a new mark for all that comes of it.
pub fn marked(arguments: &[&str]) -> (Command, String) {
    marked_program(&[&["run"], arguments].concat())
}

/// The same of any command of the program.
fn marked_program(arguments: &[&str]) -> (Command, String) {
    static NEXT: AtomicU32 = AtomicU32::new(0);
    let next = NEXT.fetch_add(1, Ordering::Relaxed);
    let mark = format!("mark-{}-{next}-end", std::process::id());
    let mut command = Command::new(env!("CARGO_BIN_EXE_allhands"));
    command.args(arguments).env("ALLHANDS_TEST_MARK", &mark);
    // The tests may have been started by a shell that lets what runs in the background ignore signals.
    let as_usual = || {
        for signal in [libc::SIGINT, libc::SIGQUIT, libc::SIGHUP, libc::SIGTSTP] {
            // SAFETY: a call of the system that touches no memory of this process, and may be made after a fork.
            unsafe { libc::signal(signal, libc::SIG_DFL) };
        }
        Ok(())
    };
    // SAFETY: `as_usual` allocates nothing and takes no lock.
    unsafe { command.pre_exec(as_usual) };
    (command, mark)
}

/// Runs ranks to the end, after which nothing may be left.
pub fn run(arguments: &[&str]) -> Output {
    run_program(&[&["run"], arguments].concat())
}

/// The same of any command of the program.
pub fn run_program(arguments: &[&str]) -> Output {
    let (mut command, mark) = marked_program(arguments);
    let output = command
        .stdin(Stdio::null())
        .output()
        .expect("the program runs");
    assert_eq!(
        left(&mark),
        Vec::<u32>::new(),
        "{arguments:?} leaves processes"
    );
    assert_no_files();
    output
}

/// What a run that succeeds prints, its lines in order.
pub fn lines(arguments: &[&str]) -> Vec<String> {
    let output = run(arguments);
    assert_eq!(
        output.status.code(),
        Some(0),
        "{arguments:?}: {}",
        text(&output.stderr)
    );
    let mut lines: Vec<String> = text(&output.stdout).lines().map(Into::into).collect();
    lines.sort();
    lines
}

pub fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

/// Starts a run and goes on.
pub fn start(arguments: &[&str]) -> World {
    start_program(&[&["run"], arguments].concat())
}

/// The same of any command of the program.
pub fn start_program(arguments: &[&str]) -> World {
    let (mut command, mark) = marked_program(arguments);
    command
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    let mut launcher = command.spawn().expect("the program runs");
    let stdout = launcher.stdout.take().expect("it is piped");
    World {
        launcher,
        stdout: BufReader::new(stdout),
        mark,
    }
}

impl World {
    /// Waits for so many lines of output.
    pub fn read_lines(&mut self, count: usize) -> Vec<String> {
        let mut read = || {
            let mut line = String::new();
            self.stdout.read_line(&mut line).expect("a line");
            line.trim_end().to_string()
        };
        (0..count).map(|_| read()).collect()
    }

    /// Sends a signal to the launcher alone.
    pub fn signal(&self, signal: Signal) {
        kill_process(Pid::from_child(&self.launcher), signal).expect("it is our child");
    }

    /// Waits for its end; how it ended, the rest of what it printed, and what it said.
    pub fn end(mut self) -> (ExitStatus, String, String) {
        let (mut out, mut said) = (Vec::new(), Vec::new());
        let mut stderr = self.launcher.stderr.take().expect("it is piped");
        self.stdout.read_to_end(&mut out).expect("it can be read");
        stderr.read_to_end(&mut said).expect("it can be read");
        let status = self.launcher.wait().expect("it ends");
        self.assert_gone();
        (status, text(&out), text(&said))
    }

    /// Waits until no process with the mark is left; what a launcher that was killed leaves goes a moment later.
    pub fn assert_gone(&self) {
        wait_for(&format!("the end of {:?}", left(&self.mark)), || {
            left(&self.mark).is_empty()
        });
        assert_no_files();
    }

    /// Processes of this run.
    pub fn processes(&self) -> Vec<u32> {
        left(&self.mark)
    }
}

/// Waits for something that comes soon.
pub fn wait_for(what: &str, mut is: impl FnMut() -> bool) {
    let start = Instant::now();
    while !is() {
        assert!(
            start.elapsed() < Duration::from_secs(30),
            "{what} does not come"
        );
        std::thread::sleep(Duration::from_millis(2));
    }
}

/// The letter of a process's state: S sleeps, T is stopped, Z has ended.
pub fn state(pid: u32) -> Option<char> {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    stat.rsplit_once(") ")?.1.chars().next()
}

/// Processes with a mark in their environment; what has ended, or is just becoming another program, has none.
fn left(mark: &str) -> Vec<u32> {
    let folders = std::fs::read_dir("/proc").expect("there is /proc");
    let pids = folders
        .flatten()
        .filter_map(|f| f.file_name().to_str()?.parse::<u32>().ok());
    let has_mark = |pid: &u32| {
        let environment = std::fs::read(format!("/proc/{pid}/environ")).unwrap_or_default();
        environment
            .windows(mark.len())
            .any(|window| window == mark.as_bytes())
    };
    pids.filter(has_mark).collect()
}

fn assert_no_files() {
    let files = std::fs::read_dir("/dev/shm")
        .into_iter()
        .flatten()
        .flatten();
    let ours = files.filter(|f| f.file_name().to_string_lossy().contains("allhands"));
    assert_eq!(ours.count(), 0, "a file is left in /dev/shm");
}

/// A number below `end` that differs from call to call.
pub fn some_number(end: u64) -> u64 {
    let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
    let nanos = now.map_or(0, |now| now.subsec_nanos());
    u64::from(nanos).wrapping_mul(0x9e37_79b9_7f4a_7c15) % end
}
