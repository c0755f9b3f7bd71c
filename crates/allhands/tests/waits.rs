//! A rank that is late: one of those that wait for it says so, and for whom, among threads and on nodes.
#![cfg(all(target_os = "linux", not(loom)))]

use allhands::transport::net::{Places, Threads};
use allhands::{Communicator, Error, threads};
use std::process::Command;
use std::time::Duration;

/// The variable that says which part a process of this program has.
const PART: &str = "ALLHANDS_WAITS_PART";
/// After how long waits are told here.
const REPORT_AFTER: Duration = Duration::from_millis(300);
/// How late the last rank is.
const LATE: Duration = Duration::from_millis(1500);

/// One barrier, to which rank `late` comes late.
fn wait_for(late: usize, comm: &Communicator) -> Result<(), Error> {
    comm.report_waits_after(REPORT_AFTER);
    comm.barrier()?;
    if comm.rank() == late {
        std::thread::sleep(LATE);
    }
    comm.barrier()
}

fn on_nodes(node_of: &[u32], late: usize) {
    let places = Places::new(node_of).expect("there are ranks");
    let network = Threads::new(node_of.len() as u32);
    let ended = threads::run_on_nodes(&places, &network, |comm| wait_for(late, &comm));
    let ended = ended.expect("nobody panics");
    assert!(ended.iter().all(Result::is_ok), "{ended:?}");
}

/// What a process of this program says on its standard error while it runs `body`; nothing, in that process itself.
fn said(test: &str, body: impl FnOnce()) -> Option<String> {
    if std::env::var(PART).is_ok_and(|part| part == test) {
        body();
        return None;
    }
    let output = Command::new(std::env::current_exe().expect("a program"))
        .args([test, "--exact", "--nocapture"])
        .env(PART, test)
        .output()
        .expect("it runs");
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(output.status.success(), "{said}");
    Some(said)
}

/// The waits that were told, of which each is at least twice as long as the one before.
fn is_told(said: &str, of: &str, tellers: std::ops::Range<usize>) {
    let told = said.lines().filter(|line| line.starts_with("allhands: "));
    let told: Vec<&str> = told.collect();
    assert!((1..=3).contains(&told.len()), "{said}");
    for (at, line) in told.into_iter().enumerate() {
        let waited = |teller| line.starts_with(&format!("allhands: rank {teller} has waited "));
        assert!(tellers.clone().any(waited), "{line}");
        // Who is told to say it last may look when the late rank has just come.
        let has_come = line.ends_with("s in barrier, to which every rank has come");
        let is_late = line.ends_with(&format!("s in barrier for {of}"));
        assert!(is_late || (has_come && at > 0), "{said}");
    }
}

#[test]
fn a_late_thread_is_named() {
    let body = || {
        let ended = threads::run(4, |comm| wait_for(0, &comm)).expect("nobody panics");
        assert!(ended.iter().all(Result::is_ok), "{ended:?}");
    };
    if let Some(said) = said("a_late_thread_is_named", body) {
        is_told(&said, "rank 0", 1..4);
    }
}

#[test]
fn a_late_rank_of_another_node_is_named() {
    let body = || on_nodes(&[0, 1, 2, 3], 2);
    if let Some(said) = said("a_late_rank_of_another_node_is_named", body) {
        // Of all nodes the lowest rank tells.
        is_told(&said, "rank 2", 0..1);
    }
}

#[test]
fn a_late_rank_that_shares_a_node_is_named() {
    let body = || on_nodes(&[0, 1, 1, 0, 1], 4);
    if let Some(said) = said("a_late_rank_that_shares_a_node_is_named", body) {
        is_told(&said, "rank 4", 0..1);
    }
}

#[test]
fn nothing_is_told_that_nobody_wants_to_hear() {
    let body = || {
        let ended = threads::run(3, |comm| {
            let (late, part) = (comm.rank() == 0, comm.dup()?);
            part.report_waits_after(Duration::MAX);
            let last = part.dup()?;
            if late {
                std::thread::sleep(LATE);
            }
            last.barrier()
        });
        assert!(ended.expect("nobody panics").iter().all(Result::is_ok));
    };
    if let Some(said) = said("nothing_is_told_that_nobody_wants_to_hear", body) {
        assert!(!said.contains("has waited"), "{said}");
    }
}
