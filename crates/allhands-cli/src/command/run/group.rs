//! Process groups: a rank's process and those that it starts.

use rustix::process::{Pid, Signal, kill_process_group};
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

    /// Whether any process of any group still runs.
    pub fn any_alive(&self) -> bool {
        let Ok(folder) = std::fs::read_dir("/proc") else {
            return false;
        };
        let mut groups: Vec<i32> = self
            .0
            .iter()
            .map(|group| group.as_raw_nonzero().get())
            .collect();
        groups.sort_unstable();
        folder.flatten().any(|entry| {
            let name = entry.file_name();
            let is_process = name
                .to_str()
                .is_some_and(|n| n.starts_with(|c: char| c.is_ascii_digit()));
            let text = is_process.then(|| std::fs::read_to_string(entry.path().join("stat")));
            let Some(Ok(text)) = text else { return false };
            alive_in(&text).is_some_and(|group| groups.binary_search(&group).is_ok())
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

#[cfg(test)]
mod tests {
    use super::*;

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
