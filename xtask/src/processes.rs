//! Processes of a group: started apart, ended with everything that they started and left.

use std::fs;
use std::io;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

static INTERRUPTED: AtomicBool = AtomicBool::new(false);

extern "C" fn note(_: libc::c_int) {
    INTERRUPTED.store(true, Ordering::Relaxed);
}

/// From now on what launchers leave behind is ours to put away.
pub fn adopt_orphans() {
    // SAFETY: a system call without pointers.
    unsafe { libc::prctl(libc::PR_SET_CHILD_SUBREAPER, 1) };
}

/// From now on Ctrl-C and SIGTERM are noted, so that everything is put away before the end.
pub fn note_interrupts() {
    let handler: extern "C" fn(libc::c_int) = note;
    for signal in [libc::SIGINT, libc::SIGTERM, libc::SIGHUP] {
        // SAFETY: the handler stores to an atomic and does nothing else.
        unsafe { libc::signal(signal, handler as libc::sighandler_t) };
    }
}

/// Whether the user wants to end.
pub fn interrupted() -> bool {
    INTERRUPTED.load(Ordering::Relaxed)
}

/// Starts a launcher in a process group of its own, so that Ctrl-C reaches the conductor alone; it ends with us.
///
/// # Errors
/// Those of the system.
pub fn start(command: &mut Command) -> io::Result<Child> {
    let orphaned = || {
        // SAFETY: a system call without pointers, allowed between fork and exec.
        match unsafe { libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGTERM) } {
            0 => Ok(()),
            _ => Err(io::Error::last_os_error()),
        }
    };
    // SAFETY: the closure makes one system call and touches no memory that is shared.
    unsafe { command.pre_exec(orphaned) };
    command.process_group(0).spawn()
}

/// Waits for a launcher to end by itself.
pub fn wait(child: &mut Child, limit: Duration) -> bool {
    let start = Instant::now();
    loop {
        match child.try_wait() {
            Ok(None) if start.elapsed() < limit => std::thread::sleep(Duration::from_millis(5)),
            Ok(None) => return false,
            Ok(Some(_)) | Err(_) => return true,
        }
    }
}

/// Ends a launcher, all that it started and its ranks, and removes the shared memory that they had.
pub fn end(child: &mut Child, ranks: &[u32]) {
    let mut family = family(child.id());
    // Ranks whose launcher is gone descend from it no longer.
    family.extend(ranks);
    let memory: Vec<PathBuf> = family.iter().flat_map(|pid| shared_memory(*pid)).collect();
    let send = |pid: u32, signal| {
        // SAFETY: a system call without pointers.
        unsafe { libc::kill(pid as libc::pid_t, signal) };
    };
    // A launcher that is asked ends its ranks and removes its own files.
    if let Ok(None) = child.try_wait() {
        send(child.id(), libc::SIGTERM);
    }
    wait(child, Duration::from_secs(2));
    for &pid in &family {
        // A number may have been given anew since; then its family is another.
        if pid == child.id() || ranks.contains(&pid) || shares_group(pid, &family) {
            send(pid, libc::SIGKILL);
        }
    }
    if let Err(error) = child.wait() {
        eprintln!("a launcher was not waited for: {error}");
    }
    for &pid in family.iter().filter(|pid| **pid != child.id()) {
        reap(pid);
    }
    for path in memory {
        // Gone already, where the library removed it itself.
        let _ = fs::remove_file(path);
    }
}

/// Waits for a process that has become ours and is dead or dying.
fn reap(pid: u32) {
    let start = Instant::now();
    while process(pid).is_some() && start.elapsed() < Duration::from_secs(1) {
        // SAFETY: a system call whose pointer may be null.
        unsafe { libc::waitpid(pid as libc::pid_t, std::ptr::null_mut(), libc::WNOHANG) };
        std::thread::sleep(Duration::from_millis(1));
    }
}

/// A process and all that descend from it.
fn family(root: u32) -> Vec<u32> {
    let all: Vec<(u32, Process)> = fs::read_dir("/proc")
        .into_iter()
        .flatten()
        .flatten()
        .filter_map(|entry| entry.file_name().to_str()?.parse().ok())
        .filter_map(|pid| Some((pid, process(pid)?)))
        .collect();
    let mut family = vec![root];
    let mut at = 0;
    while at < family.len() {
        let children = all.iter().filter(|(_, p)| p.parent == family[at]);
        let children: Vec<u32> = children.map(|(pid, _)| *pid).collect();
        family.extend(children);
        at += 1;
    }
    family
}

struct Process {
    parent: u32,
    group: u32,
}

fn process(pid: u32) -> Option<Process> {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    // The name stands in parentheses and may hold anything, so the last one ends it.
    let fields: Vec<&str> = stat.rsplit_once(')')?.1.split_whitespace().collect();
    Some(Process {
        parent: fields.get(1)?.parse().ok()?,
        group: fields.get(2)?.parse().ok()?,
    })
}

fn shares_group(pid: u32, family: &[u32]) -> bool {
    process(pid).is_some_and(|process| family.contains(&process.group))
}

/// Whether a process has this file in its memory.
pub fn maps(pid: u32, file: &Path) -> bool {
    let maps = fs::read_to_string(format!("/proc/{pid}/maps")).unwrap_or_default();
    maps.lines()
        .any(|line| line.ends_with(&*file.to_string_lossy()))
}

fn shared_memory(pid: u32) -> Vec<PathBuf> {
    let maps = fs::read_to_string(format!("/proc/{pid}/maps")).unwrap_or_default();
    let mut files: Vec<PathBuf> = maps
        .lines()
        .filter_map(|line| Some(PathBuf::from(&line[line.find("/dev/shm/")?..])))
        .collect();
    files.dedup();
    files
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_launcher_is_ended_with_what_it_started() {
        adopt_orphans();
        let mut shell = Command::new("sh");
        shell.args(["-c", "trap '' TERM; sleep 100 & sleep 100; sleep 100"]);
        let mut child = start(&mut shell).expect("there is a shell");
        let start = Instant::now();
        while family(child.id()).len() < 3 && start.elapsed() < Duration::from_secs(5) {
            std::thread::sleep(Duration::from_millis(5));
        }
        let family = family(child.id());
        assert_eq!(family.len(), 3);
        end(&mut child, &[]);
        for pid in family {
            assert!(process(pid).is_none(), "{pid} is still there");
        }
    }
}
