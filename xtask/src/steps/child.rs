//! A child process: run at some priority, what it says seen or kept, and with the time that it and its own children took.

use std::fmt;
use std::io;
use std::process::Command;
use std::time::{Duration, Instant};

/// How a child is treated.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Treatment {
    /// As its parent, and it says what it says where its parent does.
    Seen,
    /// As its parent, but what it says is kept.
    Kept,
    /// It has what others leave of the processors, and what it says is kept.
    Idle,
}

/// A child that has ended.
pub(super) struct Child {
    pub(super) succeeded: bool,
    /// What it said, if that was kept.
    pub(super) said: Vec<u8>,
    pub(super) taken: Taken,
}

/// What a step took: on a shared machine the processors' time says more than the clock.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Taken {
    pub(super) clock: Duration,
    /// Of all processors; nothing where the system does not say.
    pub(super) processor: Duration,
}

impl fmt::Display for Taken {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let [clock, processor] = [self.clock, self.processor].map(seconds);
        write!(f, "{clock:>9}  {processor:>9}")
    }
}

pub(super) fn seconds(elapsed: Duration) -> String {
    format!("{:.1} s", elapsed.as_secs_f64())
}

impl Child {
    /// Runs a command to its end.
    pub(super) fn run(command: &mut Command, treatment: Treatment) -> io::Result<Child> {
        let start = Instant::now();
        let mut said = Vec::new();
        let mut child = match treatment {
            Treatment::Seen => command.spawn()?,
            Treatment::Kept | Treatment::Idle => {
                let (mut reader, writer) = io::pipe()?;
                command.stdout(writer.try_clone()?).stderr(writer);
                if treatment == Treatment::Idle {
                    lower(command);
                }
                let child = command.spawn()?;
                // The command keeps the ends that are written to, until it has others.
                command
                    .stdout(std::process::Stdio::inherit())
                    .stderr(std::process::Stdio::inherit());
                io::Read::read_to_end(&mut reader, &mut said)?;
                child
            }
        };
        let (succeeded, processor) = wait(&mut child)?;
        let clock = start.elapsed();
        Ok(Child {
            succeeded,
            said,
            taken: Taken { clock, processor },
        })
    }
}

/// Has a command run with what others leave of the processors. On Linux that is a policy of the scheduler: a processor on which
/// nothing else runs counts as one without work, so that others wake there at once instead of in a queue.
#[cfg(unix)]
fn lower(command: &mut Command) {
    use std::os::unix::process::CommandExt;
    let prepare = || {
        #[cfg(target_os = "linux")]
        {
            let none = libc::sched_param { sched_priority: 0 };
            // SAFETY: a call of the system that reads one structure, about the process that makes it. Where it may not be made,
            // the priority is what is left.
            unsafe { libc::sched_setscheduler(0, libc::SCHED_IDLE, &raw const none) };
        }
        // SAFETY: a call of the system that touches no memory, about the process that makes it.
        match unsafe { libc::setpriority(libc::PRIO_PROCESS, 0, 19) } {
            0 => Ok(()),
            _ => Err(io::Error::last_os_error()),
        }
    };
    // SAFETY: between fork and exec nothing but those calls is made, and nothing is allocated.
    unsafe { command.pre_exec(prepare) };
}

#[cfg(not(unix))]
fn lower(_: &mut Command) {}

/// Waits for a child; whether it succeeded, and the processors' time that it took with the children that it waited for.
#[cfg(unix)]
fn wait(child: &mut std::process::Child) -> io::Result<(bool, Duration)> {
    let (mut status, mut usage) = (0, std::mem::MaybeUninit::<libc::rusage>::zeroed());
    let number = child.id() as libc::pid_t;
    // SAFETY: the system writes one status and one `rusage` at most, for which there is room.
    while unsafe { libc::wait4(number, &raw mut status, 0, usage.as_mut_ptr()) } != number {
        let error = io::Error::last_os_error();
        if error.kind() != io::ErrorKind::Interrupted {
            return Err(error);
        }
    }
    // SAFETY: all zeros are a value of it, and so is what the system writes.
    let usage = unsafe { usage.assume_init() };
    let of = |time: libc::timeval| {
        Duration::from_secs(time.tv_sec as u64) + Duration::from_micros(time.tv_usec as u64)
    };
    let succeeded = libc::WIFEXITED(status) && libc::WEXITSTATUS(status) == 0;
    Ok((succeeded, of(usage.ru_utime) + of(usage.ru_stime)))
}

#[cfg(not(unix))]
fn wait(child: &mut std::process::Child) -> io::Result<(bool, Duration)> {
    Ok((child.wait()?.success(), Duration::ZERO))
}

#[cfg(all(test, unix))]
mod tests {
    use super::*;

    #[test]
    fn what_an_idle_child_says_is_kept_with_its_end() {
        let run = |script: &str, treatment| {
            Child::run(Command::new("sh").args(["-c", script]), treatment).unwrap()
        };
        let child = run("nice; echo no >&2; exit 3", Treatment::Idle);
        assert_eq!(String::from_utf8_lossy(&child.said), "19\nno\n");
        assert!(!child.succeeded);
        let child = run("echo yes", Treatment::Kept);
        assert!(child.succeeded && child.said == b"yes\n");
        let child = run("true", Treatment::Seen);
        assert!(child.succeeded && child.said.is_empty());
    }

    #[test]
    #[cfg(all(target_os = "linux", target_env = "gnu"))]
    fn an_idle_child_has_the_scheduler_s_policy_for_it() {
        // The 41st field of /proc/PID/stat; a shell's name has no spaces.
        let script = "cut -d ' ' -f 41 /proc/$$/stat";
        let child = Child::run(Command::new("sh").args(["-c", script]), Treatment::Idle);
        let said = child.unwrap().said;
        let policy = String::from_utf8_lossy(&said);
        assert_eq!(policy.trim(), libc::SCHED_IDLE.to_string());
    }
}
