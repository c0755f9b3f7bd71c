//! `allhands run` from the outside: places, output, input, exit codes, signals, and that nothing stays behind.

#![cfg(target_os = "linux")]

mod bench;
mod cuts;
mod hosts;
mod managers;
mod namespaces;
mod netns;
mod waits;
mod world;

use allhands::launch::{How, Roll, Standing, place};
use rustix::process::{Pid, Signal, kill_process};
use std::io::Write;
use std::process::Stdio;
use std::time::{Duration, Instant};
use world::{lines, marked, run, some_number, start, state, text, wait_for};

/// The exit code and what is said.
fn ended(arguments: &[&str]) -> (i32, String) {
    let output = run(arguments);
    let code = output.status.code().expect("it exits");
    (code, text(&output.stderr))
}

#[test]
fn every_rank_is_told_its_place() {
    let script = "echo $ALLHANDS_RANK/$ALLHANDS_RANKS ${ALLHANDS_NODES-none} $(readlink /proc/$$/fd/$ALLHANDS_SEGMENT)";
    let there = "/memfd:allhands (deleted)";
    let expected: Vec<String> = (0..3)
        .map(|rank| format!("{rank}/3 none {there}"))
        .collect();
    assert_eq!(lines(&["-n", "3", "sh", "-c", script]), expected);
    let expected: Vec<String> = (0..4).map(|rank| format!("{rank}/4 2x2 {there}")).collect();
    assert_eq!(
        lines(&["--nodes", "2x2", "--", "sh", "-c", script]),
        expected
    );
}

#[test]
fn prefixes_are_before_whole_lines_and_streams_stay_apart() {
    let script = "echo one; echo wrong >&2; printf 'two without end'";
    let output = run(&["-n", "2", "--prefix", "--", "sh", "-c", script]);
    let mut out: Vec<String> = text(&output.stdout).lines().map(Into::into).collect();
    out.sort();
    let expected = [
        "[0] one",
        "[0] two without end",
        "[1] one",
        "[1] two without end",
    ];
    assert_eq!(out, expected);
    assert!(output.stdout.ends_with(b"\n"));
    let mut said: Vec<String> = text(&output.stderr).lines().map(Into::into).collect();
    said.sort();
    assert_eq!(said, ["[0] wrong", "[1] wrong"]);
}

#[test]
fn much_output_arrives_whole() {
    let script = "i=0; while [ $i -lt 2000 ]; do echo $i a line of some length that is written in one piece; i=$((i+1)); done";
    let all = lines(&["-n", "3", "--prefix", "sh", "-c", script]);
    assert_eq!(all.len(), 6000);
    assert!(
        all.iter()
            .all(|line| line.ends_with("in one piece") && line.starts_with('['))
    );
}

#[test]
fn input_goes_to_rank_0_alone() {
    for prefix in [&[][..], &["--prefix"]] {
        let (mut command, _) =
            marked(&[&["-n", "3"], prefix, &["--", "sh", "-c", "wc -c"]].concat());
        command.stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut child = command.spawn().expect("the program runs");
        let mut stdin = child.stdin.take().expect("it is piped");
        stdin.write_all(b"hello").expect("rank 0 reads");
        drop(stdin);
        let output = child.wait_with_output().expect("it ends");
        let out = text(&output.stdout);
        let mut counts: Vec<&str> = out
            .split_whitespace()
            .filter(|w| !w.starts_with('['))
            .collect();
        counts.sort_unstable();
        assert_eq!(counts, ["0", "0", "5"], "{out}");
    }
}

#[test]
fn the_first_failure_ends_all_and_gives_the_exit_code() {
    let at = |rank: u32, what: &str| format!("[ $ALLHANDS_RANK = {rank} ] && {what}; sleep 100");
    let start = Instant::now();
    let (code, said) = ended(&["-n", "4", "sh", "-c", &at(2, "exit 3")]);
    assert_eq!(code, 3);
    assert!(
        said.contains("allhands: rank 2 exited with code 3"),
        "{said}"
    );
    let (code, said) = ended(&[
        "-n",
        "8",
        "sh",
        "-c",
        &format!("sleep 0.5; {}", at(3, "kill -9 $$")),
    ]);
    assert_eq!(code, 137);
    let says = "allhands: rank 3 was killed by signal 9 (SIGKILL); ending the other 7 ranks\n";
    assert_eq!(said, says);
    // Who does not hear SIGTERM is killed.
    let deaf = format!("trap '' TERM; sleep 0.3; {}", at(0, "exit 1"));
    let (code, _) = ended(&["-n", "2", "sh", "-c", &deaf]);
    assert_eq!(code, 1);
    assert!(start.elapsed() < Duration::from_secs(20));
}

#[test]
fn a_rank_that_ends_well_does_not_end_the_others() {
    let script = "[ $ALLHANDS_RANK = 0 ] && exit 0; sleep 0.3; echo still here";
    assert_eq!(
        lines(&["-n", "3", "sh", "-c", script]),
        ["still here", "still here"]
    );
}

#[test]
fn with_keep_going_the_others_go_on() {
    let script = "[ $ALLHANDS_RANK = 1 ] && exit 7; sleep 0.3; [ $ALLHANDS_RANK = 2 ] && exit 8; echo survived";
    let output = run(&["-n", "3", "--keep-going", "sh", "-c", script]);
    assert_eq!(output.status.code(), Some(7));
    assert_eq!(text(&output.stdout), "survived\n");
    let said = text(&output.stderr);
    assert!(
        said.contains("rank 1 exited with code 7; the other 2 ranks go on"),
        "{said}"
    );
    assert!(said.contains("rank 2 exited with code 8"), "{said}");
}

#[test]
fn mistakes_are_named_with_what_would_be_right() {
    let script = std::env::temp_dir().join(format!("allhands-run-{}", std::process::id()));
    std::fs::write(&script, "#!/no/such/interpreter\n").expect("it can be written");
    let executable = std::os::unix::fs::PermissionsExt::from_mode(0o755);
    std::fs::set_permissions(&script, executable).expect("it is ours");
    let script_name = script.to_str().expect("a name in UTF-8");
    for (arguments, code, says) in [
        (&["-n", "0", "true"][..], 2, "0 is not in 1..=1000"),
        (&["-n", "1001", "true"], 2, "1001 is not in 1..=1000"),
        (&["true"], 2, "--ranks"),
        (&["-n", "2"], 2, "PROGRAM"),
        (
            &["-n", "2", "no-such-program"],
            127,
            "no program no-such-program in the folders of PATH",
        ),
        (
            &["-n", "2", "./no-such"],
            127,
            "there is no program ./no-such",
        ),
        (
            &["-n", "2", script_name],
            127,
            "its first line names does not exist",
        ),
        (
            &["-n", "2", "./Cargo.toml"],
            126,
            "is not an executable program",
        ),
        (&["-n", "2", "--bind", "9999", "true"], 2, "0,2,4-7"),
        (&["-n", "2", "--bind", "1000", "true"], 2, "no cpu 1000"),
        (
            &["-n", "900", "--bind", "cores", "true"],
            2,
            "900 ranks, but only",
        ),
        (
            &["-n", "3", "--nodes", "2x2", "true"],
            2,
            "--nodes 2x2 are 4 ranks, not the 3",
        ),
        (&["--nodes", "2by2", "true"], 2, "4x8 is four nodes"),
        (&["-n", "1", "--timeout", "-1", "true"], 2, "--timeout"),
    ] {
        let (got, said) = ended(arguments);
        assert!(said.contains(says), "{arguments:?}: {said}");
        assert_eq!(got, code, "{arguments:?}: {said}");
        assert!(!said.contains("panicked"), "{said}");
    }
    std::fs::remove_file(&script).expect("it is ours");
}

#[test]
fn after_the_time_everything_ends() {
    let before = Instant::now();
    let (code, said) = ended(&[
        "-n",
        "3",
        "--timeout",
        "0.5",
        "sh",
        "-c",
        "sleep 100 & sleep 100",
    ]);
    assert_eq!(code, 124);
    assert_eq!(
        said,
        "allhands: the 0.5 s of --timeout are over; ending 3 ranks\n"
    );
    assert!(before.elapsed() < Duration::from_secs(10));
}

#[test]
fn signals_are_handed_on() {
    let script = "trap 'echo heard; exit 0' USR1; echo ready; while :; do sleep 0.02; done";
    for (signal, name) in [
        (Signal::USR1, "USR1"),
        (Signal::USR2, "USR2"),
        (Signal::TERM, "TERM"),
        (Signal::HUP, "HUP"),
        (Signal::INT, "INT"),
    ] {
        // Processes that the shell starts hear it too; what they make of it is not the shell's end.
        let script = format!("trap '' PIPE; {}", script.replace("USR1", name));
        let mut world = start(&["-n", "3", "sh", "-c", &script]);
        world.read_lines(3);
        world.signal(signal);
        let (status, out, said) = world.end();
        assert_eq!(out, "heard\nheard\nheard\n", "{name}: {said}");
        assert_eq!(status.code(), Some(0), "{name}: {said}");
    }
}

#[test]
fn an_interrupt_ends_and_a_second_one_kills() {
    // By exec: a shell that is interrupted while it starts a program waits for that program first.
    let mut world = start(&["-n", "3", "sh", "-c", "echo ready; exec sleep 100"]);
    world.read_lines(3);
    world.signal(Signal::INT);
    let (status, _, said) = world.end();
    assert_eq!((status.code(), said.as_str()), (Some(130), ""));

    let deaf = "trap '' INT; echo ready; sleep 100 & sleep 100";
    let mut world = start(&["-n", "3", "sh", "-c", deaf]);
    world.read_lines(3);
    world.signal(Signal::INT);
    std::thread::sleep(Duration::from_millis(100));
    assert!(world.processes().len() > 3);
    world.signal(Signal::INT);
    assert_eq!(world.end().0.code(), Some(130));
}

#[test]
fn stopping_stops_all_and_continuing_continues() {
    let mut world = start(&["-n", "2", "sh", "-c", "echo $$; sleep 2; echo done"]);
    let pids: Vec<u32> = world
        .read_lines(2)
        .iter()
        .map(|l| l.parse().unwrap())
        .collect();
    world.signal(Signal::TSTP);
    let launcher = world.launcher.id();
    // A shell waits in the kernel (D) if the program that it is just starting has been stopped.
    let is_stopped = |pid: &u32| matches!(state(*pid), Some('T' | 'D'));
    wait_for("that all stop", || {
        state(launcher) == Some('T') && pids.iter().all(is_stopped)
    });
    world.signal(Signal::CONT);
    let (status, out, _) = world.end();
    assert_eq!((status.code(), out.as_str()), (Some(0), "done\ndone\n"));
}

#[test]
fn a_rank_that_is_killed_at_any_moment_leaves_nothing() {
    for _ in 0..8 {
        let mut world = start(&["-n", "4", "sh", "-c", "sleep 100 & echo $$; sleep 100"]);
        let pids: Vec<i32> = world
            .read_lines(4)
            .iter()
            .map(|l| l.parse().unwrap())
            .collect();
        std::thread::sleep(Duration::from_micros(some_number(20_000)));
        let victim = pids[some_number(4) as usize];
        kill_process(Pid::from_raw(victim).unwrap(), Signal::KILL).expect("it runs");
        let (status, _, said) = world.end();
        assert_eq!(status.code(), Some(137), "{said}");
        assert!(
            said.contains("was killed by signal 9 (SIGKILL); ending the other 3 ranks"),
            "{said}"
        );
    }
}

#[test]
fn a_launcher_that_is_killed_at_any_moment_leaves_nothing() {
    for round in 0..16 {
        let mut world = start(&[
            "-n",
            "6",
            "sh",
            "-c",
            "sleep 100 & sleep 100 & echo here; sleep 100",
        ]);
        if round % 4 == 0 {
            world.read_lines(6);
            assert!(world.processes().len() >= 6 * 3);
        } else {
            // While it starts the guard and the ranks.
            std::thread::sleep(Duration::from_micros(some_number(30_000)));
        }
        world.signal(Signal::KILL);
        world.launcher.wait().expect("it has ended");
        world.assert_gone();
    }
}

#[test]
fn what_ranks_leave_in_the_background_ends_with_them() {
    let before = Instant::now();
    for prefix in [&[][..], &["--prefix"]] {
        let arguments = [
            &["-n", "3"],
            prefix,
            &["--", "sh", "-c", "sleep 100 & exit 0"],
        ]
        .concat();
        assert_eq!(ended(&arguments), (0, String::new()));
    }
    assert!(before.elapsed() < Duration::from_secs(20));
}

#[test]
fn two_hundred_ranks_start_and_end_soon() {
    for prefix in [&[][..], &["--prefix"]] {
        let before = Instant::now();
        let arguments = [&["-n", "200"], prefix, &["--", "sh", "-c", "echo x"]].concat();
        assert_eq!(lines(&arguments).len(), 200);
        let took = before.elapsed();
        // Half a second on an idle machine with two cores; this one may be busy with other tests.
        assert!(took < Duration::from_secs(60), "it takes {took:?}");
    }
}

/// A rank in Rust: this program again, run for this one test.
#[test]
fn as_a_rank() {
    let Ok(part) = std::env::var("ALLHANDS_TEST_PART") else {
        return;
    };
    let place = place().expect("the place is clear").expect("there is one");
    let roll = Roll::new(place.segment).expect("the roll has begun");
    roll.join(place.rank).expect("nobody else has this rank");
    wait_for("every rank", || {
        (0..place.ranks).all(|r| roll.standing(r) != Standing::Absent)
    });
    if part == "die" && place.rank == 1 {
        kill_process(rustix::process::getpid(), Signal::KILL).expect("it is this process");
    }
    if part == "die" {
        wait_for("the end of rank 1", || !roll.is_alive(1));
        wait_for("word of it", || roll.how(1) == Some(How::Killed(9)));
    }
    roll.leave(place.rank);
}

#[test]
fn survivors_read_in_the_roll_how_a_rank_ended() {
    let program = std::env::current_exe().expect("this program has a path");
    let program = program.to_str().expect("a name in UTF-8");
    let rank = [program, "as_a_rank", "--exact", "--nocapture"];
    for (part, code) in [("live", 0), ("die", 137)] {
        let arguments = [&["-n", "4", "--keep-going", "--prefix", "--"], &rank[..]].concat();
        let (mut command, _) = marked(&arguments);
        let output = command
            .env("ALLHANDS_TEST_PART", part)
            .output()
            .expect("it runs");
        let said = text(&output.stderr);
        assert_eq!(output.status.code(), Some(code), "{part}: {said}");
        let survivors = text(&output.stdout)
            .matches("test as_a_rank ... ok")
            .count();
        let expected = if part == "die" { 3 } else { 4 };
        assert_eq!(survivors, expected, "{said}{}", text(&output.stdout));
    }
}
