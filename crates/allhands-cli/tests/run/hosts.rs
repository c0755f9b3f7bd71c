//! `allhands run --hosts`: the hosts are names of this one, whose agents an `env` starts instead of ssh.

use crate::world::{World, lines, marked, run, some_number, start, text, wait_for};
use allhands::{Communicator, Sum};
use rustix::process::{Pid, Signal, kill_process};
use std::time::{Duration, Instant};

/// Hosts that are pretended.
fn on<'a>(hosts: &'a str, rest: &[&'a str]) -> Vec<&'a str> {
    let first = [
        "--hosts",
        hosts,
        "--launcher",
        "env HERE={host}",
        "--rendezvous",
        "127.0.0.1",
    ];
    [&first[..], rest].concat()
}

/// The processes of a run that are agents.
fn agents(world: &World) -> Vec<i32> {
    let is_agent = |pid: &u32| {
        let line = std::fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
        line.ends_with(b"\0agent\0")
    };
    let processes = world.processes().into_iter().filter(is_agent);
    processes.map(|pid| pid as i32).collect()
}

#[test]
fn every_rank_is_told_its_place_and_its_host() {
    let script = "echo $ALLHANDS_RANK/$ALLHANDS_RANKS $ALLHANDS_HOST $HERE ${#ALLHANDS_SECRET} ${ALLHANDS_NODES-none} $GIVEN";
    let arguments = on(
        "a,b:2,c,a",
        &["--env", "GIVEN=x y", "--", "sh", "-c", script],
    );
    let expected = ["0/5 a", "1/5 b", "2/5 b", "3/5 c", "4/5 a"];
    let expected = expected.map(|line| format!("{line} {} 64 none x y", &line[4..]));
    assert_eq!(lines(&arguments), expected);
    let arguments = on(
        "a,b",
        &["-n", "3", "--prefix", "--", "sh", "-c", "pwd; wc -c"],
    );
    let here = std::env::current_dir().expect("there is one");
    let mut expected: Vec<String> = (0..3)
        .flat_map(|rank| {
            [
                format!("[{rank}] 0"),
                format!("[{rank}] {}", here.display()),
            ]
        })
        .collect();
    expected.sort();
    assert_eq!(lines(&arguments), expected);
}

#[test]
fn a_launcher_may_be_a_shell_that_talks_first() {
    let arguments = [
        "--hosts",
        "a,b",
        "--rendezvous",
        "127.0.0.1:0",
        "--launcher",
        "sh -c 'echo Welcome to {host}; exec {command}'",
        "sh",
        "-c",
        "echo $ALLHANDS_RANK",
    ];
    // That port is no port.
    let output = run(&arguments);
    assert_eq!(output.status.code(), Some(2), "{}", text(&output.stderr));
    let mut arguments = arguments;
    arguments[3] = "127.0.0.1";
    assert_eq!(lines(&arguments), ["0", "1"]);
}

#[test]
fn much_output_of_all_hosts_arrives_whole() {
    let script = "i=0; while [ $i -lt 2000 ]; do echo $i a line of some length that is written in one piece; i=$((i+1)); done; echo wrong >&2";
    let output = run(&on("a,b:2", &["--prefix", "sh", "-c", script]));
    let out = text(&output.stdout);
    assert_eq!(out.lines().count(), 6000);
    assert!(
        out.lines()
            .all(|l| l.ends_with("in one piece") && l.starts_with('['))
    );
    let mut said: Vec<String> = text(&output.stderr).lines().map(Into::into).collect();
    said.sort();
    assert_eq!(said, ["[0] wrong", "[1] wrong", "[2] wrong"]);
}

/// A rank in Rust: this program again, run for this one test.
#[test]
fn as_a_rank_on_a_host() {
    let Ok(part) = std::env::var("ALLHANDS_TEST_PART") else {
        return;
    };
    let comm = Communicator::world().expect("all come");
    let total = comm
        .allreduce_value(comm.rank() as u64 + 1, Sum)
        .expect("all call");
    println!("total {total} on {}", comm.nodes());
    if part == "die" && comm.rank() == 2 {
        kill_process(rustix::process::getpid(), Signal::KILL).expect("it is this process");
    }
    if part == "die" {
        let before = Instant::now();
        let error = loop {
            if let Err(error) = comm.barrier() {
                break error;
            }
        };
        println!("rank {} heard: {error}", comm.rank());
        let took = before.elapsed();
        assert!(took < Duration::from_secs(15), "it takes {took:?}");
        // Longer than it takes to end all that are told to.
        std::thread::sleep(Duration::from_secs(60));
    }
}

/// What this program, run as ranks, prints and says.
pub fn ranks_of_rust(part: &str, arguments: &[&str]) -> (Option<i32>, String, String) {
    ranks_of_test("hosts::as_a_rank_on_a_host", part, arguments)
}

/// The same, each rank of which is another one of this program's tests.
pub fn ranks_of_test(test: &str, part: &str, arguments: &[&str]) -> (Option<i32>, String, String) {
    let program = std::env::current_exe().expect("this program has a path");
    let program = program.to_str().expect("a name in UTF-8");
    let variable = format!("ALLHANDS_TEST_PART={part}");
    let rank = [
        "--env",
        &variable,
        "--",
        program,
        test,
        "--exact",
        "--nocapture",
    ];
    let output = run(&[arguments, &rank].concat());
    (
        output.status.code(),
        text(&output.stdout),
        text(&output.stderr),
    )
}

#[test]
fn ranks_of_several_hosts_are_one_world() {
    for (hosts, ranks, nodes) in [
        ("a,b", 2_u64, "1,1"),
        ("a:2,b:2", 4, "2,2"),
        ("a:2,b,c:3", 6, "2,1,3"),
        ("a:3", 3, "one"),
    ] {
        let (code, out, said) = ranks_of_rust("live", &on(hosts, &[]));
        assert_eq!(code, Some(0), "{hosts}: {said}{out}");
        let line = format!("total {} on ", ranks * (ranks + 1) / 2);
        assert_eq!(out.matches(&line).count() as u64, ranks, "{hosts}: {out}");
        assert!(out.contains(&format!("{line}{nodes}")), "{hosts}: {out}");
    }
}

#[test]
fn what_goes_between_hosts_can_be_encrypted() {
    let script = "echo ${ALLHANDS_TLS-none}";
    assert_eq!(lines(&on("a,b", &["--tls", "sh", "-c", script])), ["1"; 2]);
    assert_eq!(lines(&on("a,b", &["sh", "-c", script])), ["none"; 2]);
    let output = run(&on("a,b", &["--tls", "--network", "ofi", "true"]));
    let said = text(&output.stderr);
    assert!(
        !output.status.success() && said.contains("would not be encrypted"),
        "{said}"
    );
    let (code, out, said) = ranks_of_rust("live", &on("a:2,b,c", &["--tls"]));
    if cfg!(feature = "tls") {
        assert_eq!(code, Some(0), "{said}{out}");
        assert_eq!(out.matches("total 10 on 2,1,1").count(), 4, "{out}");
    } else {
        assert!(
            code != Some(0) && said.contains("built without TLS"),
            "{said}{out}"
        );
    }
}

#[test]
fn a_rank_that_is_killed_ends_all_hosts() {
    let before = Instant::now();
    let (code, _, said) = ranks_of_rust("die", &on("a:2,b:2,c", &[]));
    assert_eq!(code, Some(137), "{said}");
    let says =
        "allhands: rank 2 on host b was killed by signal 9 (SIGKILL); ending the other 4 ranks\n";
    assert!(said.contains(says), "{said}");
    assert!(before.elapsed() < Duration::from_secs(20));
    let script = "[ $ALLHANDS_RANK = 1 ] && exit 7; trap '' TERM; sleep 100 & sleep 100";
    let output = run(&on("a,b,c:2", &["sh", "-c", script]));
    assert_eq!(output.status.code(), Some(7));
    let says = "allhands: rank 1 on host b exited with code 7; ending the other 3 ranks\n";
    assert_eq!(text(&output.stderr), says);
}

#[test]
fn with_keep_going_other_hosts_go_on() {
    let script = "[ $ALLHANDS_RANK = 1 ] && exit 7; sleep 0.5; echo survived";
    let output = run(&on("a,b,c", &["--keep-going", "sh", "-c", script]));
    assert_eq!(output.status.code(), Some(7));
    assert_eq!(text(&output.stdout), "survived\nsurvived\n");
}

#[test]
fn an_agent_that_is_killed_leaves_nothing() {
    for _ in 0..3 {
        let mut world = start(&on(
            "a:2,b:2",
            &["sh", "-c", "sleep 100 & echo here; sleep 100"],
        ));
        world.read_lines(4);
        let agents = agents(&world);
        assert_eq!(agents.len(), 2);
        let victim = agents[some_number(2) as usize];
        kill_process(Pid::from_raw(victim).expect("a number"), Signal::KILL).expect("it runs");
        let (status, _, said) = world.end();
        assert_eq!(status.code(), Some(137), "{said}");
        assert!(said.contains("its agent has ended: 'env HERE="), "{said}");
    }
}

#[test]
fn a_launcher_of_hosts_that_is_killed_at_any_moment_leaves_nothing() {
    for round in 0..8 {
        let mut world = start(&on(
            "a:2,b:2",
            &["sh", "-c", "sleep 100 & echo here; sleep 100"],
        ));
        if round % 2 == 0 {
            world.read_lines(4);
        } else {
            std::thread::sleep(Duration::from_micros(some_number(100_000)));
        }
        world.signal(Signal::KILL);
        world.launcher.wait().expect("it has ended");
        world.assert_gone();
    }
}

#[test]
fn an_interrupt_reaches_all_hosts_and_a_second_one_kills() {
    let mut world = start(&on("a:2,b", &["sh", "-c", "echo ready; exec sleep 100"]));
    world.read_lines(3);
    world.signal(Signal::INT);
    let (status, _, said) = world.end();
    assert_eq!(status.code(), Some(130), "{said}");

    let deaf = "trap '' INT; echo ready; sleep 100 & sleep 100";
    let mut world = start(&on("a:2,b", &["sh", "-c", deaf]));
    world.read_lines(3);
    world.signal(Signal::INT);
    std::thread::sleep(Duration::from_millis(300));
    assert!(world.processes().len() > 3);
    world.signal(Signal::INT);
    assert_eq!(world.end().0.code(), Some(130));

    let script = "trap 'echo heard; exit 0' USR1; echo ready; while :; do sleep 0.02; done";
    let mut world = start(&on("a:2,b", &["sh", "-c", script]));
    world.read_lines(3);
    world.signal(Signal::USR1);
    let (status, out, said) = world.end();
    assert_eq!(
        (status.code(), out.as_str()),
        (Some(0), "heard\nheard\nheard\n"),
        "{said}"
    );
}

#[test]
fn a_host_that_cannot_be_reached_is_named() {
    let started = |launcher: &str| {
        let hosts = [
            "--hosts",
            "a,b",
            "--launcher",
            launcher,
            "--rendezvous",
            "127.0.0.1",
        ];
        let output = run(&[&hosts[..], &["sleep", "100"]].concat());
        (output.status.code(), text(&output.stderr))
    };
    let refuses = "sh -c '[ {host} = a ] && exec {command}; echo no route to {host}; exit 255'";
    let (code, said) = started(refuses);
    assert_eq!(code, Some(255), "{said}");
    assert!(
        said.contains("host b: no agent has answered")
            && said.contains("after it said 'no route to b'"),
        "{said}"
    );
    let (code, said) = started("no-such-launcher {host}");
    assert_eq!(code, Some(127), "{said}");
    assert!(
        said.contains("host a: cannot start 'no-such-launcher a "),
        "{said}"
    );
    let (code, said) = started("ssh '{host}");
    assert_eq!(code, Some(2), "{said}");
    assert!(said.contains("does not close it"), "{said}");
}

#[test]
fn mistakes_about_hosts_are_named() {
    for (arguments, code, says) in [
        (
            &["--hosts", "a:0", "true"][..],
            2,
            "right would be NAME or NAME:RANKS",
        ),
        (
            &["--hosts", "a:2,b:2", "-n", "5", "true"],
            2,
            "--hosts have 4 ranks, not the 5 of -n",
        ),
        (
            &["--hosts", "a", "--nodes", "1x1", "true"],
            2,
            "--nodes pretends nodes",
        ),
        (
            &["-n", "2", "--launcher", "rsh {host}", "true"],
            2,
            "--hosts",
        ),
        (
            &["--hosts", "a", "--env", "NO_SUCH_VARIABLE", "true"],
            2,
            "it is not set here",
        ),
    ] {
        let output = run(arguments);
        let said = text(&output.stderr);
        assert!(said.contains(says), "{arguments:?}: {said}");
        assert_eq!(output.status.code(), Some(code), "{said}");
    }
    let output = run(&on("a,b", &["no-such-program"]));
    let said = text(&output.stderr);
    assert_eq!(output.status.code(), Some(127), "{said}");
    assert!(
        said.contains("no program no-such-program in the folders of PATH"),
        "{said}"
    );
    let output = run(&on("a,b", &["--timeout", "0.7", "sleep", "100"]));
    assert_eq!(output.status.code(), Some(124));
    assert!(text(&output.stderr).contains("the 0.7 s of --timeout are over; ending all hosts"));
}

#[test]
fn an_agent_alone_does_nothing() {
    let (mut command, _) = marked(&[]);
    let program = command.get_program().to_owned();
    command = std::process::Command::new(program);
    let output = command
        .arg("agent")
        .stdin(std::process::Stdio::null())
        .output()
        .expect("it runs");
    assert_eq!(output.status.code(), Some(2));
    assert!(text(&output.stderr).contains("started by allhands run --hosts"));
    wait_for("nothing", || true);
}
