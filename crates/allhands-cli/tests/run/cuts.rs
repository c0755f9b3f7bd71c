//! What goes wrong between hosts that go on: links that are cut without a word, ranks that are killed there, and rails that fail.

use crate::hosts::ranks_of_test;
use crate::netns::{Hosts, OVER_LIBFABRIC, has_libfabric};
use allhands::{Communicator, Sum};
use rustix::process::{Signal, getpid, kill_process};
use rustix::time::{ClockId, clock_gettime};
use std::time::Duration;

/// How soon every survivor must know.
const WITHIN_MS: u64 = 5000;
/// What a rank of these tests is run as.
const RANK: &str = "cuts::as_a_rank_that_is_left";

/// The time that all processes of this machine share.
fn now_ms() -> u64 {
    let now = clock_gettime(ClockId::Monotonic);
    now.tv_sec as u64 * 1000 + now.tv_nsec as u64 / 1_000_000
}

/// Prints a line of its own in one piece: ranks have one output together, and what others print must not come between.
fn say(line: &str) {
    let line = format!("\n{line}\n");
    print!("{line}");
}

fn variable(name: &str) -> String {
    std::env::var(name).unwrap_or_default()
}

/// Does the commands that stand in a variable, one after another, after so long; says when.
fn cut_later() {
    let after = variable("TEST_AFTER_MS").parse().unwrap_or(500);
    std::thread::sleep(Duration::from_millis(after));
    say(&format!("cut at {}", now_ms()));
    for command in variable("TEST_CUT").split(';') {
        let mut words = command.split(' ');
        let program = words.next().expect("a program");
        let status = std::process::Command::new(program).args(words).status();
        assert!(status.is_ok_and(|status| status.success()), "{command}");
    }
}

#[test]
fn as_a_rank_that_is_left() {
    let Ok(part) = std::env::var("ALLHANDS_TEST_PART") else {
        return;
    };
    let comm = Communicator::world().expect("all come");
    let rank = comm.rank();
    let is_victim = variable("ALLHANDS_HOST") == variable("TEST_VICTIM");
    if rank == 0 && !variable("TEST_CUT").is_empty() {
        std::thread::spawn(cut_later);
    }
    if part == "goes on" {
        return go_on(&comm, is_victim);
    }
    let (long, mut sum) = (vec![1_u64; 1 << 18], vec![0; 1 << 18]);
    let mut call = || match part.as_str() {
        "barriers" | "idle" => comm.barrier(),
        _ => comm.allreduce(&long, &mut sum, Sum),
    };
    if part == "idle" && is_victim {
        call().expect("all are there");
        std::thread::sleep(Duration::from_secs(8));
    }
    if part == "killed" && is_victim && rank + 1 == comm.size() {
        call().expect("all are there");
        say(&format!("cut at {}", now_ms()));
        kill_process(getpid(), Signal::KILL).expect("it is this process");
    }
    if part == "stopped" && is_victim {
        call().expect("all are there");
        kill_process(getpid(), Signal::STOP).expect("it is this process");
    }
    let error = loop {
        if let Err(error) = call() {
            break error;
        }
    };
    say(&format!("rank {rank} heard at {}: {error}", now_ms()));
}

/// Calls for as long as a variable says, all of which must end well; what is cut meanwhile is no more than some rails, and whoever
/// is stopped goes on.
fn go_on(comm: &Communicator, is_victim: bool) {
    let rank = comm.rank() as u64;
    let count: usize = variable("TEST_COUNT").parse().unwrap_or(1 << 18);
    let lasts = variable("TEST_LASTS_MS").parse().unwrap_or(8000);
    let (began, mut calls, mut longest) = (now_ms(), 0_u64, 0);
    if is_victim && variable("TEST_STOPS") == "1" {
        // Somebody else lets it go on.
        let resume = format!("sleep 3.5; kill -CONT {}", getpid().as_raw_nonzero());
        let mut command = std::process::Command::new("sh");
        let mut child = command.args(["-c", &resume]).spawn().expect("it starts");
        kill_process(getpid(), Signal::STOP).expect("it is this process");
        child.wait().expect("it ends");
    }
    loop {
        let (before, of_call) = (now_ms(), calls);
        let mine: Vec<u64> = (0..count as u64)
            .map(|at| at * (rank + 1) + of_call)
            .collect();
        let mut sum = vec![0; count];
        comm.allreduce(&mine, &mut sum, Sum).expect("all go on");
        let ranks = comm.size() as u64;
        let factor = ranks * (ranks + 1) / 2;
        let is_right = |(at, sum): (u64, &u64)| *sum == at * factor + ranks * of_call;
        assert!((0..).zip(&sum).all(is_right), "call {calls} is wrong");
        calls += 1;
        longest = longest.max(now_ms() - before);
        let is_over = comm.allreduce_value(u64::from(now_ms() - began >= lasts), Sum);
        if is_over.expect("all go on") > 0 {
            break;
        }
    }
    say(&format!(
        "rank {rank} went on: {calls} calls, the longest {longest} ms"
    ));
}

/// When the cut was, and when each rank that says so heard what.
fn heard(out: &str) -> (u64, Vec<(u32, u64, String)>) {
    let words = |line: &str| -> Option<(u32, u64, String)> {
        let (rank, rest) = line.strip_prefix("rank ")?.split_once(" heard at ")?;
        let (at, says) = rest.split_once(": ")?;
        Some((rank.parse().ok()?, at.parse().ok()?, says.to_string()))
    };
    let cut = out.lines().find_map(|line| line.strip_prefix("cut at "));
    let cut = cut.and_then(|at| at.parse().ok());
    let cut = cut.unwrap_or_else(|| panic!("nothing was cut: {out}"));
    let mut all: Vec<_> = out.lines().filter_map(words).collect();
    all.sort();
    (cut, all)
}

/// Runs ranks on hosts of which c is cut off; all others must say soon, and name it and its ranks.
fn cut_off(part: &str, list: &str, cut: &str, more: &[&str]) {
    cut_off_rails(1, part, list, cut, more);
}

fn cut_off_rails(rails: u8, part: &str, list: &str, cut: &str, more: &[&str]) {
    let Some(hosts) = Hosts::new(3, rails) else {
        return;
    };
    let cut = cut.replace("SWITCH", &hosts.space('s'));
    let cut = cut.replace("HOST", &hosts.space('a'));
    let variable = format!("TEST_CUT={cut}");
    let variables = [
        "--env",
        &variable,
        "--env",
        "TEST_VICTIM=c",
        "--keep-going",
        "--timeout",
        "20",
    ];
    let arguments = hosts.arguments(list);
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let all = [&arguments[..], &variables, more].concat();
    let (code, out, said) = ranks_of_test(RANK, part, &all);
    // Who is stopped is killed by the launcher in the end; all others end by themselves, those on c too.
    if part != "stopped" {
        assert_eq!(code, Some(0), "{part}, {cut}: {said}{out}");
    }
    let (at, heard) = heard(&out);
    let ranks = ranks_of(list);
    let lost = ranks.iter().filter(|(_, host)| *host == "c");
    let lost: Vec<String> = lost.map(|(rank, _)| rank.to_string()).collect();
    let lost = match &lost[..] {
        [one] => format!("rank {one} is lost"),
        [all @ .., last] => format!("ranks {} and {last} are lost", all.join(", ")),
        [] => panic!("c has no ranks"),
    };
    for (rank, _) in ranks.iter().filter(|(_, host)| *host != "c") {
        let found = heard.iter().find(|(other, ..)| other == rank);
        let (_, when, says) =
            found.unwrap_or_else(|| panic!("{part}, {cut}: rank {rank} says nothing: {out}{said}"));
        let took = when.saturating_sub(at);
        println!("{part} on {list}, {cut}: rank {rank} heard after {took} ms: {says}");
        assert!(
            took <= WITHIN_MS,
            "{part}, {cut}: rank {rank} takes {took} ms"
        );
        let right = format!("host c does not answer any more; {lost}");
        assert!(says.contains(&right), "{part}, {cut}: rank {rank}: {says}");
    }
}

/// Runs ranks on hosts with so many rails that must go on; what they say.
fn go_on_with(hosts: &Hosts, list: &str, variables: &[(&str, &str)]) -> String {
    let words = variables
        .iter()
        .map(|(name, value)| format!("{name}={value}"));
    let words: Vec<String> = words.collect();
    let arguments = hosts.arguments(list);
    let environment = words.iter().flat_map(|word| ["--env", word]);
    let all = arguments.iter().map(String::as_str).chain(environment);
    let all: Vec<&str> = all.collect();
    let (code, out, said) = ranks_of_test(RANK, "goes on", &all);
    assert_eq!(code, Some(0), "{variables:?}: {said}{out}");
    let lines: Vec<&str> = out
        .lines()
        .filter(|line| line.contains("went on"))
        .collect();
    assert_eq!(lines.len(), ranks_of(list).len(), "{out}");
    println!("{variables:?}: {}\n{said}", lines[0]);
    said
}

#[test]
fn a_rank_that_is_killed_on_another_host_is_named_on_all_soon() {
    let Some(hosts) = Hosts::new(3, 1) else {
        return;
    };
    for over in [&[][..], &OVER_LIBFABRIC] {
        if !over.is_empty() && !has_libfabric() {
            continue;
        }
        let list = "a:2,b:2,c:2";
        let arguments = hosts.arguments(list);
        let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
        let victim = ["--env", "TEST_VICTIM=c", "--keep-going"];
        let all = [&arguments[..], &victim, over].concat();
        let (code, out, said) = ranks_of_test(RANK, "killed", &all);
        assert_eq!(code, Some(137), "{said}{out}");
        let (at, heard) = heard(&out);
        assert_eq!(heard.len(), 5, "{out}{said}");
        for (rank, when, says) in heard {
            let took = when.saturating_sub(at);
            println!("killed {over:?}: rank {rank} heard after {took} ms: {says}");
            assert!(took <= WITHIN_MS, "rank {rank} takes {took} ms");
            assert!(says.contains("rank 5 "), "rank {rank}: {says}");
        }
    }
}

#[test]
fn a_rank_that_is_stopped_for_seconds_is_waited_for() {
    let Some(hosts) = Hosts::new(2, 1) else {
        return;
    };
    for (count, list) in [("1", "a,b"), ("262144", "a,b"), ("300000", "a:2,b:2")] {
        let variables = [
            ("TEST_VICTIM", "b"),
            ("TEST_STOPS", "1"),
            ("TEST_COUNT", count),
            ("TEST_LASTS_MS", "1000"),
        ];
        go_on_with(&hosts, list, &variables);
    }
}

#[test]
fn a_slow_rail_with_long_messages_under_way_is_waited_for() {
    let Some(hosts) = Hosts::new(2, 1) else {
        return;
    };
    if let Err(why) = hosts.slow_down('b', 0, "1mbit", "2s") {
        eprintln!("SKIPPED: no rates here: {why}");
        return;
    }
    for (list, count) in [("a,b", "60000"), ("a:2,b:2", "60000")] {
        let variables = [("TEST_COUNT", count), ("TEST_LASTS_MS", "6000")];
        go_on_with(&hosts, list, &variables);
    }
}

#[test]
fn when_a_rail_is_cut_the_other_carries_all_and_both_are_named() {
    let Some(hosts) = Hosts::new(3, 2) else {
        return;
    };
    // They are named, or chosen, as all hosts have both networks.
    for (rail, count, named) in [(1, "262144", "eth0,eth1"), (0, "262144", ""), (1, "16", "")] {
        let cut = format!("ip -n {} link set pc{rail} nomaster", hosts.space('s'));
        let variables = [
            ("ALLHANDS_RAILS", named),
            ("TEST_CUT", &cut),
            ("TEST_COUNT", count),
        ];
        let said = go_on_with(&hosts, "a,b:2,c:2", &variables);
        let from = hosts.address('a', rail);
        let to = hosts.address('c', rail);
        let says = format!(
            " on host a reaches host c over rail {rail} (eth{rail}, {from} to {to}) no more: "
        );
        assert!(said.contains(&says), "{said}");
        // The host that is cut reaches neither of the others over it, which reach one another.
        for (one, other) in [("a", "b"), ("b", "a")] {
            let wrong = format!(" on host {one} reaches host {other} over");
            assert!(!said.contains(&wrong), "{said}");
        }
        let mend = format!("-n {} link set pc{rail} master br{rail}", hosts.space('s'));
        crate::netns::ip(&mend).expect("it is put back");
    }
}

#[test]
fn when_all_rails_of_a_host_are_cut_it_is_named_soon() {
    let both = "ip -n SWITCH link set pc0 nomaster;ip -n SWITCH link set pc1 nomaster";
    for part in ["longs", "idle"] {
        cut_off_rails(
            2,
            part,
            "a,b,c:2",
            both,
            &["--env", "ALLHANDS_RAILS=eth0,eth1"],
        );
    }
}

/// The ranks of a list of hosts, and where they are.
fn ranks_of(list: &str) -> Vec<(u32, &str)> {
    let hosts = list.split(',').flat_map(|host| {
        let (name, count) = host.split_once(':').unwrap_or((host, "1"));
        std::iter::repeat_n(name, count.parse().expect("a number"))
    });
    (0..).zip(hosts).collect()
}

/// The link has no carrier; packets go nowhere; and the neighbours' addresses must be asked for anew, in vain.
const DOWN: &str = "ip -n SWITCH link set pc0 down";
const OUT: &str = "ip -n SWITCH link set pc0 nomaster";
const FORGOTTEN: &str = "ip -n SWITCH link set pc0 nomaster;ip -n HOST neigh flush dev eth0";

#[test]
fn a_host_that_is_cut_off_between_short_messages_is_named_with_its_ranks_soon() {
    for cut in [DOWN, OUT, FORGOTTEN] {
        cut_off("barriers", "a,b,c", cut, &[]);
    }
    cut_off("barriers", "a:3,b:3,c:3", OUT, &[]);
}

#[test]
fn a_host_that_is_cut_off_in_long_messages_is_named_with_its_ranks_soon() {
    for cut in [DOWN, FORGOTTEN] {
        cut_off("longs", "a,b,c", cut, &[]);
    }
    cut_off("longs", "a:2,b:2,c:2", OUT, &[]);
}

#[test]
fn a_host_that_is_cut_off_when_nothing_is_under_way_is_named_with_its_ranks_soon() {
    for cut in [DOWN, FORGOTTEN] {
        cut_off("idle", "a,b,c", cut, &[]);
    }
    cut_off("idle", "a:2,b:2,c:2", OUT, &[]);
}

#[test]
fn a_host_that_is_cut_off_while_its_ranks_read_nothing_is_named_with_its_ranks_soon() {
    for cut in [OUT, FORGOTTEN] {
        cut_off("stopped", "a,b,c", cut, &[]);
    }
}

#[test]
fn a_host_that_is_cut_off_under_libfabric_is_named_with_its_ranks_soon() {
    if has_libfabric() {
        for part in ["barriers", "longs", "idle"] {
            cut_off(part, "a,b:2,c:2", OUT, &OVER_LIBFABRIC);
        }
    }
}

/// What goes over it cannot be sent again: who has messages with the host ends as if all its rails were cut.
#[test]
fn when_one_of_two_rails_is_cut_under_libfabric_all_end_soon() {
    if !has_libfabric() {
        return;
    }
    let list = "a,b:2,c:2";
    for (part, named) in [("longs", "eth0,eth1"), ("longs", ""), ("barriers", "")] {
        let Some(hosts) = Hosts::new(3, 2) else {
            return;
        };
        let cut = format!("TEST_CUT=ip -n {} link set pc1 nomaster", hosts.space('s'));
        let rails = format!("ALLHANDS_RAILS={named}");
        let arguments = hosts.arguments(list);
        let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
        let variables = [
            "--env",
            &cut,
            "--env",
            &rails,
            "--keep-going",
            "--timeout",
            "20",
        ];
        let all = [&arguments[..], &variables, &OVER_LIBFABRIC].concat();
        let (code, out, said) = ranks_of_test(RANK, part, &all);
        assert_eq!(code, Some(0), "{part}: {said}{out}");
        let (at, heard) = heard(&out);
        assert_eq!(heard.len(), ranks_of(list).len(), "{part}: {out}{said}");
        for (rank, when, says) in &heard {
            let took = when.saturating_sub(at);
            println!("{part}: rank {rank} heard after {took} ms: {says}");
            assert!(took <= WITHIN_MS, "{part}: rank {rank} takes {took} ms");
        }
        // Whoever finds it out says so, and so does the other end.
        let is_its =
            |says: &str| says.contains("over rail 1 (eth1, ") && says.contains("no more: ");
        let is_named = heard.iter().any(|(_, _, says)| is_its(says));
        assert!(is_named, "{heard:?}");
    }
}
