//! Ranks that wait and ranks that fail: who is waited for is named, and who failed first says why before all are ended.

use crate::world::{World, marked, start, text};
use allhands::{Communicator, Error};
use rustix::process::Signal;
use std::time::Duration;

/// A rank in Rust: this program again, run for this one test.
#[test]
fn as_a_rank() {
    let Ok(part) = std::env::var("ALLHANDS_TEST_PART") else {
        return;
    };
    let rank = std::env::var("ALLHANDS_RANK").expect("it is a rank");
    if part == "absent" && rank == "0" {
        std::thread::sleep(Duration::from_secs(100));
    }
    let ended = Communicator::world().and_then(|comm| match part.as_str() {
        "mistaken" => make_a_mistake(&comm),
        _ => wait(&comm),
    });
    if let Err(error) = ended {
        if rank == "1" {
            // As somebody else has the core.
            std::thread::sleep(Duration::from_millis(400));
        }
        eprintln!("my error: {error:?}");
        std::process::exit(if rank == "1" { 7 } else { 1 });
    }
}

/// Rank 0 never comes to the second barrier.
fn wait(comm: &Communicator) -> Result<(), Error> {
    comm.report_waits_after(Duration::from_millis(300));
    comm.barrier()?;
    println!("ready");
    if comm.rank() == 0 {
        std::thread::sleep(Duration::from_secs(100));
    }
    comm.barrier()
}

/// Rank 1 alone asks for a root that there is not.
fn make_a_mistake(comm: &Communicator) -> Result<(), Error> {
    let root = if comm.rank() == 1 { 9 } else { 0 };
    comm.broadcast(&mut [0u8], root)?;
    comm.barrier()
}

/// The command that runs this part on three ranks.
fn arguments<'a>(program: &'a str, more: &[&'a str]) -> Vec<&'a str> {
    let rank = [program, "waits::as_a_rank", "--exact", "--nocapture"];
    [&["-n", "3"], more, &["--"], &rank[..]].concat()
}

fn program() -> String {
    let program = std::env::current_exe().expect("this program has a path");
    program.to_str().expect("a name in UTF-8").into()
}

/// What is said of a part that ends, and the exit code.
fn ended(part: &str, more: &[&str]) -> (Option<i32>, String) {
    let (mut command, _) = marked(&arguments(&program(), more));
    let output = command.env("ALLHANDS_TEST_PART", part).output();
    let output = output.expect("it runs");
    (output.status.code(), text(&output.stderr))
}

#[test]
fn who_failed_first_says_why_before_the_others_are_ended() {
    let says = "my error: broadcast: there is no rank 9 to be the root";
    let (code, said) = ended("mistaken", &[]);
    assert!(said.contains(says), "{said}");
    assert!(
        said.contains("allhands: rank 1 exited with code 7"),
        "{said}"
    );
    assert_eq!(code, Some(7), "{said}");
}

#[test]
fn who_is_waited_for_is_named_when_time_is_up() {
    let (code, said) = ended("late", &["--timeout", "3"]);
    assert_eq!(code, Some(124), "{said}");
    let one = said.lines().filter(|line| {
        line.starts_with("allhands: rank ") && line.ends_with("s in barrier for rank 0")
    });
    assert!((1..=4).contains(&one.count()), "{said}");
    let all = said
        .lines()
        .filter(|line| line.starts_with("allhands: ranks 1 and 2 have waited "));
    let all: Vec<&str> = all.collect();
    assert!(
        all.len() == 1 && all[0].ends_with("s in barrier for rank 0"),
        "{said}"
    );
    let (_, said) = ended("absent", &["--timeout", "3"]);
    let says = " for rank 0; rank 0 has not come to Communicator::world\n";
    assert!(said.contains(says), "{said}");
}

/// A world whose ranks 1 and 2 wait for rank 0.
fn waiting() -> World {
    // The variable is handed on by the shell, as a world is started without variables of its own.
    let script = "ALLHANDS_TEST_PART=late exec \"$0\" waits::as_a_rank --exact --nocapture";
    let mut world = start(&["-n", "3", "--", "sh", "-c", script, &program()]);
    let mut ready = 0;
    while ready < 3 {
        ready += world.read_lines(1)[0].matches("ready").count();
    }
    std::thread::sleep(Duration::from_secs(1));
    world
}

#[test]
fn who_is_waited_for_is_named_when_somebody_asks() {
    let world = waiting();
    world.signal(Signal::USR1);
    std::thread::sleep(Duration::from_millis(300));
    // Nobody has a handler for it, and nobody died of it.
    assert!(world.processes().len() >= 4);
    world.signal(Signal::INT);
    let (status, _, said) = world.end();
    assert_eq!(status.code(), Some(130), "{said}");
    let told = said.matches("allhands: ranks 1 and 2 have waited ").count();
    assert_eq!(told, 2, "{said}");
}
