//! Process groups: a rank's process and those that it starts.

use rustix::process::{Pid, Signal, kill_process, kill_process_group};
use std::time::{Duration, Instant};

/// The process groups of ranks. Their leaders are not waited for until the end, so no number is used a second time.
#[derive(Default)]
pub struct Groups(Vec<Pid>);

impl Groups {
    /// Adds the group that this process leads.
    pub fn add(&mut self, leader: Pid) {
        self.0.push(leader);
    }

    /// Sends a signal to every process of every group.
    pub fn signal(&self, signal: Signal) {
        for group in &self.0 {
            // A group whose processes have all gone wants no signal.
            let _ = kill_process_group(*group, signal);
        }
    }

    /// Sends a signal to every process of every group that has a handler for it, as it would end the others.
    pub fn signal_who_handles(&self, signal: Signal) {
        for process in self.alive() {
            let status = std::fs::read_to_string(format!("/proc/{process}/status"));
            let pid = Pid::from_raw(process);
            if let Some(pid) = pid.filter(|_| status.is_ok_and(|s| handles(&s, signal.as_raw()))) {
                // What has ended meanwhile wants no signal.
                let _ = kill_process(pid, signal);
            }
        }
    }

    /// Whether any process of any group still runs.
    pub fn any_alive(&self) -> bool {
        self.alive().next().is_some()
    }

    /// The numbers of all processes of all groups that still run.
    fn alive(&self) -> impl Iterator<Item = i32> {
        let mut groups: Vec<i32> = self
            .0
            .iter()
            .map(|group| group.as_raw_nonzero().get())
            .collect();
        groups.sort_unstable();
        let folder = std::fs::read_dir("/proc").into_iter().flatten();
        folder.flatten().filter_map(move |entry| {
            let number = entry.file_name().to_str()?.parse().ok()?;
            let text = std::fs::read_to_string(entry.path().join("stat")).ok()?;
            let group = alive_in(&text)?;
            groups.binary_search(&group).is_ok().then_some(number)
        })
    }

    /// Ends every process that still runs, and waits until they have gone.
    pub fn end(&self) {
        self.signal(Signal::KILL);
        // What was killed goes at once; what the kernel holds up is not waited for.
        let until = Instant::now() + Duration::from_secs(1);
        while self.any_alive() && Instant::now() < until {
            std::thread::sleep(Duration::from_millis(5));
        }
    }
}

/// The group of a process by its line in /proc, unless it has ended.
fn alive_in(stat: &str) -> Option<i32> {
    // The name, which stands between parentheses, may hold anything.
    let (_, rest) = stat.rsplit_once(") ")?;
    let mut words = rest.split(' ');
    let state = words.next()?;
    let group = words.nth(1)?.parse().ok()?;
    (!matches!(state, "Z" | "X" | "x")).then_some(group)
}

/// Whether a process has a handler for a signal, by its status in /proc.
fn handles(status: &str, signal: i32) -> bool {
    let caught = status.lines().find_map(|line| line.strip_prefix("SigCgt:"));
    let caught = caught.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok());
    caught.is_some_and(|mask| mask >> (signal - 1) & 1 == 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_status_of_proc_tells_which_signals_have_handlers() {
        let status = "Name:\tx\nSigIgn:\t0000000000000004\nSigCgt:\t0000000000000200\n";
        assert!(handles(status, 10));
        assert!(!handles(status, 12) && !handles(status, 3) && !handles("", 10));
    }

    #[test]
    fn a_line_of_proc_tells_group_and_end() {
        assert_eq!(alive_in("12 (a) b) S 1 10 9 0"), Some(10));
        assert_eq!(alive_in("12 (sh) Z 1 10 9 0"), None);
        assert_eq!(alive_in(""), None);
    }

    #[test]
    fn our_own_group_is_alive() {
        let mut groups = Groups::default();
        assert!(!groups.any_alive());
        groups.add(rustix::process::getpgrp());
        assert!(groups.any_alive());
    }
}
