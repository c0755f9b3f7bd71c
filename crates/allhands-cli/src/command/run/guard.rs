//! The guard: a small process that ends the ranks' process groups if the launcher goes without having done so.
//!
//! When the launcher is killed, the kernel kills the processes that it started, but not those that they started. The
//! guard reads a pipe: each rank writes the number of its process, which is also that of its group, before it becomes the
//! user's program; the launcher writes 0 when all is done. If the pipe ends without, the launcher is gone.

use anyhow::Context;
use rustix::fd::{AsFd, BorrowedFd};
use rustix::process::{Pid, Signal};
use std::io::{Read, Write};
use std::os::unix::process::CommandExt;
use std::process::{Child, ChildStdin, Command, ExitCode, Stdio};

/// Wait for the end of a launcher and end what it leaves (started by `allhands run`)
#[derive(clap::Args)]
pub struct Arguments {}

/// The launcher's side.
pub struct Guard {
    child: Child,
    pipe: ChildStdin,
}

impl Guard {
    /// Starts the guard, with the launcher's blocked signals, so that what ends the launcher does not end it.
    pub fn start() -> anyhow::Result<Guard> {
        let mut command = Command::new("/proc/self/exe");
        command
            .arg0("allhands")
            .arg("guard")
            .current_dir("/")
            .stdin(Stdio::piped())
            .stdout(Stdio::null())
            .stderr(Stdio::null());
        // SAFETY: between fork and exec the child makes one system call, which touches no memory.
        unsafe {
            command.pre_exec(|| Ok(rustix::process::setsid().map(|_| ())?));
        }
        let mut child = command
            .spawn()
            .context("cannot start the guard of the ranks")?;
        let pipe = child.stdin.take().context("the guard has no pipe")?;
        Ok(Guard { child, pipe })
    }

    /// Where a rank tells its number.
    pub fn pipe(&self) -> BorrowedFd<'_> {
        self.pipe.as_fd()
    }

    /// Tells the guard that nothing is left, and waits for its end.
    pub fn dismiss(mut self) {
        // If it has gone, that is as good.
        let _ = self.pipe.write_all(&0_u32.to_ne_bytes());
        drop(self.pipe);
        let _ = self.child.wait();
    }
}

/// What a rank writes into the pipe; fewer bytes than a pipe ever parts. May be called between fork and exec.
pub fn tell(pipe: i32) -> std::io::Result<()> {
    let record = rustix::process::getpid()
        .as_raw_nonzero()
        .get()
        .to_ne_bytes();
    // SAFETY: the launcher has the pipe open while it starts ranks, and this is its copy in the child.
    let pipe = unsafe { BorrowedFd::borrow_raw(pipe) };
    rustix::io::write(pipe, &record)?;
    Ok(())
}

/// The guard's side: reads until the pipe ends.
pub fn run(_: &Arguments) -> anyhow::Result<ExitCode> {
    let mut groups = Vec::new();
    let mut input = std::io::stdin().lock();
    anyhow::ensure!(
        rustix::fs::fstat(rustix::stdio::stdin()).is_ok_and(|stat| {
            rustix::fs::FileType::from_raw_mode(stat.st_mode) == rustix::fs::FileType::Fifo
        }),
        "allhands guard is started by allhands run; it is of no use otherwise"
    );
    let mut record = [0; 4];
    while input.read_exact(&mut record).is_ok() {
        match Pid::from_raw(i32::from_ne_bytes(record)) {
            Some(group) => groups.push(group),
            None => return Ok(ExitCode::SUCCESS),
        }
    }
    for group in groups {
        let _ = rustix::process::kill_process_group(group, Signal::KILL);
    }
    Ok(ExitCode::SUCCESS)
}
