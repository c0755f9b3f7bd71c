//! The roll among processes: who joins, who leaves, and who dies is seen by the others, without a launcher.
//!
//! A rank is this test program again, run for the one test [`as_a_rank`], which does what a variable tells it.

#![cfg(target_os = "linux")]

use allhands::launch::{
    How, LaunchError, Launcher, RANK, RANKS, Roll, SEGMENT, Segment, Standing, place,
};
use std::os::fd::AsRawFd;
use std::os::unix::process::CommandExt;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

const PART: &str = "ALLHANDS_TEST_PART";

/// A world of this test's own making.
struct World {
    segment: Segment,
    roll: Roll,
}

impl World {
    fn new(ranks: u32) -> World {
        let segment = Segment::create().expect("a segment can be made");
        let roll = Roll::begin(segment, ranks).expect("its roll begins");
        World { segment, roll }
    }

    /// Starts a rank that plays this part.
    fn start(&self, rank: u32, part: &str) -> Child {
        let program = std::env::current_exe().expect("this program has a path");
        let mut command = Command::new(program);
        let fd = self.segment.fd().as_raw_fd();
        command
            .args(["as_a_rank", "--exact", "--nocapture", "--test-threads=1"])
            .env(PART, part)
            .env(RANK, rank.to_string())
            .env(RANKS, self.roll.ranks().to_string())
            .env(SEGMENT, "90")
            .stdout(Stdio::null());
        // SAFETY: between fork and exec the child makes one system call, which touches no memory.
        unsafe {
            command.pre_exec(move || {
                let done = libc::dup2(fd, 90);
                (done == 90)
                    .then_some(())
                    .ok_or_else(std::io::Error::last_os_error)
            });
        }
        command.spawn().expect("the rank starts")
    }
}

/// Waits for something that comes soon.
fn wait_for(what: &str, is: impl Fn() -> bool) {
    let start = Instant::now();
    while !is() {
        assert!(
            start.elapsed() < Duration::from_secs(20),
            "{what} does not come"
        );
        std::thread::sleep(Duration::from_millis(1));
    }
}

/// What a rank does, when this program was started as one.
#[test]
fn as_a_rank() {
    let Ok(part) = std::env::var(PART) else {
        return;
    };
    let place = place().expect("the place is clear").expect("there is one");
    assert_eq!(place.launcher, Launcher::AllhandsRun);
    let roll = Roll::new(place.segment).expect("the roll has begun");
    match part.as_str() {
        "join and leave" => {
            roll.join(place.rank).expect("nobody else has this rank");
            roll.leave(place.rank);
        }
        "join and exit" => roll.join(place.rank).expect("nobody else has this rank"),
        "join and stay" => {
            roll.join(place.rank).expect("nobody else has this rank");
            // Neither another mapping nor another descriptor of the segment, when it goes, takes the lock with it.
            drop(place.segment.map().expect("it can be mapped"));
            drop(Roll::new(place.segment).expect("the roll has begun"));
            std::thread::sleep(Duration::from_secs(60));
        }
        "find it taken" => {
            let error = roll.join(place.rank).expect_err("somebody has this rank");
            assert!(
                matches!(error, LaunchError::RankTaken { rank: 1, .. }),
                "{error}"
            );
        }
        "find it used" => {
            let error = roll.join(place.rank).expect_err("somebody had this rank");
            assert!(
                matches!(error, LaunchError::RankUsed { rank: 1, .. }),
                "{error}"
            );
        }
        other => panic!("no such part: {other}"),
    }
}

#[test]
fn a_rank_that_is_killed_is_seen_to_be_dead() {
    let world = World::new(3);
    let mut child = world.start(1, "join and stay");
    wait_for("rank 1", || world.roll.standing(1) == Standing::Joined);
    std::thread::sleep(Duration::from_millis(50));
    assert!(world.roll.is_alive(1) && world.roll.how(1).is_none());
    assert_eq!(world.roll.pid(1), Some(child.id()));
    assert!(world.start(1, "find it taken").wait().unwrap().success());
    child.kill().expect("it is our child");
    // Not yet waited for: to the roll a zombie is dead.
    wait_for("the end of rank 1", || !world.roll.is_alive(1));
    assert_eq!(world.roll.how(1), Some(How::Unseen));
    world.roll.end(1, How::Killed(9));
    assert_eq!(world.roll.how(1), Some(How::Killed(9)));
    child.wait().expect("it has ended");
    assert!(world.start(1, "find it used").wait().unwrap().success());
    assert!(!world.roll.is_alive(0) && !world.roll.is_alive(2));
}

#[test]
fn a_rank_that_leaves_is_no_failure_and_one_that_only_exits_is() {
    let world = World::new(2);
    let before = world.roll.changes();
    assert!(world.start(0, "join and leave").wait().unwrap().success());
    assert!(world.start(1, "join and exit").wait().unwrap().success());
    assert_eq!(
        (world.roll.standing(0), world.roll.how(0)),
        (Standing::Left, None)
    );
    assert_eq!(
        (world.roll.standing(1), world.roll.how(1)),
        (Standing::Joined, Some(How::Unseen))
    );
    assert_eq!(world.roll.changes(), before + 3);
}

#[test]
fn many_ranks_join_at_once() {
    let world = World::new(16);
    let mut all: Vec<Child> = (0..16).map(|r| world.start(r, "join and stay")).collect();
    wait_for("every rank", || (0..16).all(|r| world.roll.is_alive(r)));
    for child in &mut all[..8] {
        child.kill().expect("it is our child");
    }
    wait_for("their ends", || (0..8).all(|r| !world.roll.is_alive(r)));
    assert!((8..16).all(|r| world.roll.is_alive(r)));
    for child in &mut all {
        let _ = child.kill();
        child.wait().expect("it has ended");
    }
}
