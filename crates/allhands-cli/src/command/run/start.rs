//! Starting one rank's process: its place in the environment, its cpu, its group, and what becomes of it if the launcher dies.

use super::guard;
use super::signals::Mask;
use allhands::launch::{
    CPUS, HOST, NODES, Nodes, RANK, RANKS, RENDEZVOUS, SECRET, SEGMENT, SIZE, Segment,
};
use anyhow::Context;
use rustix::fd::{AsRawFd, IntoRawFd, OwnedFd, RawFd};
use rustix::io::Errno;
use rustix::process::{Pid, PidfdFlags, Resource, Rlimit, Signal};
use rustix::thread::CpuSet;
use std::ffi::OsString;
use std::io::ErrorKind;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Command, Stdio};

/// The descriptor that is the segment in every rank: above those that shells use for themselves, below every limit.
const SEGMENT_FD: RawFd = 100;

/// What all ranks have in common.
pub struct Plan {
    pub program: OsString,
    pub arguments: Vec<OsString>,
    pub ranks: u32,
    /// The descriptor of the segment, which is not [`SEGMENT_FD`] in the launcher.
    pub segment: RawFd,
    pub nodes: Option<Nodes>,
    /// The world that these ranks are part of, if there are others on other hosts.
    pub world: Option<World>,
    /// The cpus of each rank.
    pub cpus: Option<Vec<CpuSet>>,
    /// Whether output comes to the launcher.
    pub piped: bool,
    /// Whether the launcher hands rank 0 what is typed.
    pub typed: bool,
    /// The signals that are blocked in the ranks.
    pub mask: Mask,
    /// The limit of open files in the ranks; the launcher needs more.
    pub files: Rlimit,
}

/// A world on several hosts, some of whose ranks are started here.
pub struct World {
    /// The numbers of those that are.
    pub ranks: Vec<u32>,
    pub all: u32,
    /// Where they meet.
    pub place: String,
    pub secret: String,
    /// What this host is called.
    pub host: String,
    /// What ranks have in their environment besides what the host has.
    pub environment: Vec<(String, String)>,
}

/// A rank's process, as it was started.
pub struct Started {
    pub pid: Pid,
    /// A descriptor that becomes readable when the process ends.
    pub watch: OwnedFd,
    pub stdin: Option<OwnedFd>,
    pub stdout: Option<OwnedFd>,
    pub stderr: Option<OwnedFd>,
}

/// Why a rank did not start, and the exit status that shells have for that.
#[derive(Debug)]
pub struct StartError {
    pub says: String,
    pub code: u8,
}

impl Plan {
    /// The number in the world of a rank that is started here.
    pub fn name(&self, rank: u32) -> u32 {
        let world = self.world.as_ref();
        let name = world.and_then(|world| world.ranks.get(rank as usize));
        name.copied().unwrap_or(rank)
    }

    /// As messages name it.
    pub fn describe(&self, rank: u32) -> String {
        match &self.world {
            Some(world) => format!("rank {} on host {}", self.name(rank), world.host),
            None => format!("rank {rank}"),
        }
    }

    /// Says in a rank's environment how it finds those on other hosts, or that there are none.
    fn place(&self, command: &mut Command) {
        for name in [NODES, RENDEZVOUS, SIZE, SECRET] {
            command.env_remove(name);
        }
        if let Some(world) = &self.world {
            command
                .envs(world.environment.iter().map(|(name, value)| (name, value)))
                .env(RANKS, world.all.to_string())
                .env(RENDEZVOUS, &world.place)
                .env(SECRET, &world.secret)
                .env(HOST, &world.host);
        }
        if let Some(nodes) = self.nodes {
            command.env(NODES, nodes.to_string());
        }
    }

    /// Starts a rank.
    pub fn start(&self, rank: u32, guard: RawFd) -> Result<Started, StartError> {
        let mut command = Command::new(&self.program);
        command
            .args(&self.arguments)
            .env(RANK, self.name(rank).to_string())
            .env(RANKS, self.ranks.to_string())
            .env(SEGMENT, SEGMENT_FD.to_string())
            .env(CPUS, cpus().to_string())
            .process_group(0)
            .stdin(match rank {
                _ if self.world.is_some() => Stdio::null(),
                0 if self.typed => Stdio::piped(),
                0 => Stdio::inherit(),
                _ => Stdio::null(),
            });
        self.place(&mut command);
        if self.piped {
            command.stdout(Stdio::piped()).stderr(Stdio::piped());
        }
        self.prepare(&mut command, rank, guard);
        let mut child = command
            .spawn()
            .map_err(|error| self.explain(rank, &error))?;
        let pid = Pid::from_child(&child);
        let watch = rustix::process::pidfd_open(pid, PidfdFlags::empty());
        let watch = watch.map_err(|error| self.explain(rank, &error.into()))?;
        Ok(Started {
            pid,
            watch,
            stdin: child.stdin.take().map(OwnedFd::from),
            stdout: child.stdout.take().map(OwnedFd::from),
            stderr: child.stderr.take().map(OwnedFd::from),
        })
    }

    /// What the child does between fork and exec.
    fn prepare(&self, command: &mut Command, rank: u32, guard: RawFd) {
        let launcher = rustix::process::getpid();
        let segment = self.segment;
        let (mask, files) = (self.mask, self.files);
        let cpus = self.cpus.as_ref().map(|cpus| cpus[rank as usize]);
        let in_child = move || {
            rustix::process::set_parent_process_death_signal(Some(Signal::KILL))?;
            // If the launcher has died already, that signal never comes.
            if rustix::process::getppid() != Some(launcher) {
                return Err(Errno::SRCH.into());
            }
            guard::tell(guard)?;
            if let Some(set) = &cpus {
                rustix::thread::sched_setaffinity(None, set)?;
            }
            // SAFETY: dup2 touches no memory; nothing that this child still needs has that number, as `reserve` has seen to.
            if unsafe { libc::dup2(segment, SEGMENT_FD) } < 0 {
                return Err(std::io::Error::last_os_error());
            }
            rustix::process::setrlimit(Resource::Nofile, files)?;
            mask.set().map(|_| ())
        };
        // SAFETY: all that the closure does is make system calls, on values that it holds; it allocates nothing and takes
        // no lock, and the errors that it makes are numbers.
        unsafe { command.pre_exec(in_child) };
    }

    fn explain(&self, rank: u32, error: &std::io::Error) -> StartError {
        let program = Path::new(&self.program).display();
        let (says, code) = match error.kind() {
            ErrorKind::NotFound if Path::new(&self.program).exists() => (
                format!(
                    "{program} cannot start: the program that its first line names does not exist"
                ),
                127,
            ),
            ErrorKind::NotFound if self.program.to_string_lossy().contains('/') => {
                (format!("there is no program {program}"), 127)
            }
            ErrorKind::NotFound => (
                format!(
                    "there is no program {program} in the folders of PATH; one in this folder is ./{program}"
                ),
                127,
            ),
            ErrorKind::PermissionDenied => (
                format!("{program} is not an executable program ({error})"),
                126,
            ),
            _ if error.raw_os_error() == Some(libc::ENOEXEC) => (
                format!(
                    "{program} is no program for this machine, and has no first line that names an interpreter"
                ),
                126,
            ),
            _ => (
                format!("cannot start {}: {error}", self.describe(rank)),
                126,
            ),
        };
        StartError { says, code }
    }
}

/// Makes sure that nothing in the launcher takes the number [`SEGMENT_FD`]; a descriptor of the segment with another.
///
/// Otherwise a pipe of the launcher might have it, and be lost in a child where the segment takes its place.
pub fn reserve(segment: Segment) -> anyhow::Result<RawFd> {
    let segment = segment.fd();
    let copy = rustix::io::fcntl_dupfd_cloexec(segment, SEGMENT_FD);
    // Open until the process ends, so that the number stays taken.
    let copy = copy
        .context("cannot copy the descriptor of the segment")?
        .into_raw_fd();
    let both = [segment.as_raw_fd(), copy].into_iter();
    both.filter(|fd| *fd != SEGMENT_FD)
        .min()
        .context("two descriptors have one number")
}

/// Allows this process so many open files; the limit from before, which the ranks are to have.
pub fn allow_files(files: u64) -> anyhow::Result<Rlimit> {
    let before = rustix::process::getrlimit(Resource::Nofile);
    if before.current.is_some_and(|now| now < files) {
        anyhow::ensure!(
            before.maximum.is_none_or(|most| most >= files),
            "so many ranks need {files} open files, but at most {} are allowed (ulimit -Hn)",
            before.maximum.unwrap_or(0)
        );
        let current = Some(files);
        rustix::process::setrlimit(Resource::Nofile, Rlimit { current, ..before })?;
    }
    Ok(before)
}

/// How many cpus the ranks together may use.
fn cpus() -> usize {
    std::thread::available_parallelism().map_or(1, usize::from)
}
