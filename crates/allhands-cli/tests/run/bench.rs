//! `allhands bench` between hosts: on the loopback, on hosts that are names of this one, and on some with networks of their own.

use crate::netns::{Hosts, has_libfabric};
use crate::world::{World, run_program, start_program, text};
use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

/// Hosts that are pretended by the launcher.
const NAMES: [&str; 6] = [
    "--hosts",
    "a:2,b",
    "--launcher",
    "env HERE={host}",
    "--rendezvous",
    "127.0.0.1",
];

/// A folder of this test's own.
fn folder(name: &str) -> PathBuf {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("hosts-{name}"));
    // What an earlier run has left; there may be nothing.
    let _ = std::fs::remove_dir_all(&folder);
    std::fs::create_dir_all(&folder).expect("it can be made");
    folder
}

/// Measures, and gives what is printed and the records, of which all must be right.
fn measured(name: &str, arguments: &[&str]) -> (String, Vec<Value>) {
    let folder = folder(name);
    let name = |name: &str| folder.join(name).to_string_lossy().into_owned();
    let (json, plots) = (name("records.json"), name("plots"));
    let rest = ["--json", &json, "--plots", &plots];
    let output = run_program(&[&["bench"], arguments, &rest].concat());
    let (out, said) = (text(&output.stdout), text(&output.stderr));
    assert_eq!(output.status.code(), Some(0), "{arguments:?}: {said}{out}");
    assert!(out.contains("every result right"), "{out}");
    let written = std::fs::read_to_string(&json).expect("it is written");
    let records: Vec<Value> = serde_json::from_str(&written).expect("it is JSON");
    assert!(!records.is_empty(), "{out}");
    for record in &records {
        assert_eq!(record["correct"], true, "{record}");
        assert!(record["median_us"].as_f64().is_some_and(|us| us > 0.0));
        assert!(record["rank_min_us"].as_f64() <= record["rank_max_us"].as_f64());
    }
    (out, records)
}

/// Whether all records say this.
fn all_say(records: &[Value], key: &str, value: &str) -> bool {
    records.iter().all(|record| record[key] == value)
}

#[test]
fn ranks_of_one_machine_talk_by_its_loopback_as_if_each_had_its_own() {
    let bench = [
        "allreduce",
        "barrier",
        "--transport",
        "tcp",
        "--bytes",
        "8,32K",
        "--time",
        "2",
    ];
    let (out, records) = measured("two", &[&bench[..], &["-n", "2"]].concat());
    assert!(
        out.contains("over tcp by the loopback of this machine"),
        "{out}"
    );
    for (key, value) in [
        ("transport", "tcp"),
        ("hosts", "loopback"),
        ("nodes", "1,1"),
    ] {
        assert!(all_say(&records, key, value), "{key}: {records:?}");
    }
    // There is one clock.
    assert!(records.iter().all(|record| record["clock_us"].is_null()));
    let of = |name: &str| records.iter().any(|record| record["algorithm"] == name);
    assert!(of("rabenseifner") && of("hierarchical") && !of("shared-memory"));

    let pretended = ["--nodes", "2x2", "--root", "3", "--layout", "random:1"];
    let bench = ["gather", "--transport", "tcp", "--bytes", "1K"];
    let (out, records) = measured(
        "nodes",
        &[&bench[..], &pretended, &["--time", "2"]].concat(),
    );
    assert!(out.contains("as if on 2 hosts of 2 each"), "{out}");
    assert!(all_say(&records, "nodes", "2,2"), "{records:?}");
    assert!(all_say(&records, "layout", "random:1") && records[0]["root"] == 3);
}

#[test]
fn what_goes_between_ranks_is_encrypted_where_that_is_built() {
    let bench = ["broadcast", "--transport", "tcp", "-n", "2", "--tls"];
    let bench = [&bench[..], &["--bytes", "8", "--time", "1"]].concat();
    if cfg!(feature = "tls") {
        measured("tls", &bench);
    } else {
        let output = run_program(&[&["bench"], &bench[..]].concat());
        let said = text(&output.stderr);
        assert_eq!(output.status.code(), Some(2), "{said}");
        assert!(said.contains("built without TLS"), "{said}");
    }
}

#[test]
fn ranks_talk_over_libfabric() {
    if !has_libfabric() {
        return;
    }
    let bench = ["broadcast", "--transport", "ofi", "--provider", "tcp"];
    let rest = ["-n", "2", "--bytes", "8,64K", "--time", "2"];
    let (out, records) = measured("ofi", &[&bench[..], &rest].concat());
    assert!(
        out.contains("over ofi by the loopback of this machine"),
        "{out}"
    );
    assert!(all_say(&records, "transport", "ofi"), "{records:?}");
    assert!(all_say(&records, "hosts", "loopback"), "{records:?}");
}

#[test]
fn hosts_that_are_named_have_clocks_and_choose_by_their_network() {
    let bench = ["allgather", "--transport", "tcp", "--bytes", "64", "--time"];
    let (out, records) = measured("names", &[&bench[..], &["2"], &NAMES].concat());
    assert!(out.contains("over tcp on hosts a:2,b"), "{out}");
    assert!(out.contains("the clocks of hosts were compared"), "{out}");
    for (key, value) in [("transport", "tcp"), ("hosts", "a:2,b:1"), ("nodes", "2,1")] {
        assert!(all_say(&records, key, value), "{key}: {records:?}");
    }
    for record in &records {
        let clock = record["clock_us"].as_f64().expect("a number");
        assert!(clock > 0.0 && record["ranks"] == 3, "{record}");
    }
    // What the ranks choose, which is nothing that all must share memory for; so many ranks on the same hosts.
    let hosts = [&["--hosts", "a,b"], &NAMES[2..]].concat();
    let rest = ["-n", "3,4", "--latency", "--csv", "--bytes", "8"];
    let bench = ["allreduce", "--transport", "tcp", "--time", "2"];
    let output = run_program(&[&["bench"], &bench[..], &hosts, &rest].concat());
    let (out, said) = (text(&output.stdout), text(&output.stderr));
    assert_eq!(output.status.code(), Some(0), "{said}{out}");
    let rows: Vec<&str> = out.lines().skip(1).collect();
    assert_eq!(rows.len(), 2, "{out}");
    for (row, ranks) in rows.iter().zip(["3", "4"]) {
        assert!(row.starts_with("allreduce,") && !row.contains("shared-memory"));
        assert!(row.contains(&format!(",{ranks},8,")), "{row}");
    }
}

#[test]
fn hosts_with_networks_of_their_own_are_measured() {
    let Some(hosts) = Hosts::new(3, 1) else {
        return;
    };
    let on = hosts.arguments("a,b:2,c");
    let on: Vec<&str> = on.iter().map(String::as_str).collect();
    let bench = ["alltoall", "reduce", "--bytes", "8,16K", "--time", "3"];
    let tcp = ["--transport", "tcp", "--bind", "none"];
    let (_, records) = measured("netns", &[&bench[..], &tcp, &on].concat());
    assert!(all_say(&records, "hosts", "a:1,b:2,c:1"), "{records:?}");
    assert!(all_say(&records, "nodes", "1,2,1"), "{records:?}");
    assert!(records.iter().all(|record| record["clock_us"].is_f64()));
    if has_libfabric() {
        let ofi = ["--transport", "ofi", "--provider", "tcp", "--bind", "none"];
        let (_, records) = measured("netns-ofi", &[&bench[..], &ofi, &on].concat());
        assert!(all_say(&records, "transport", "ofi"), "{records:?}");
    }
}

#[test]
fn a_call_takes_as_long_as_the_network_between_hosts_does() {
    let Some(hosts) = Hosts::new(2, 1) else {
        return;
    };
    if let Err(why) = hosts.slow_down('b', 0, "100mbit", "400ms") {
        eprintln!("SKIPPED: no rates here: {why}");
        return;
    }
    let on = hosts.arguments("a,b");
    let on: Vec<&str> = on.iter().map(String::as_str).collect();
    let bench = ["broadcast", "--bytes", "256K", "--time", "3"];
    let tcp = ["--transport", "tcp", "--algorithm", "one-to-all"];
    let (_, records) = measured("rate", &[&bench[..], &tcp, &on].concat());
    let us = records[0]["median_us"].as_f64().expect("a number");
    // At 12.5 bytes a microsecond, whatever of it a burst of 4,000 bytes lets through at once.
    let least = f64::from((256 << 10) - 8000) / 12.5;
    assert!(us > least && us < 3.0 * least, "{us}, not {least}");
}

#[test]
fn ranks_that_another_launcher_has_started_measure_too() {
    let json = folder("others").join("records.json");
    let program = env!("CARGO_BIN_EXE_allhands");
    let bench = [
        "--",
        program,
        "bench",
        "allreduce",
        "--latency",
        "--bytes",
        "8",
    ];
    let rest = ["--time", "1", "--json", &json.to_string_lossy()];
    let bench = [&bench[..], &rest].concat();
    let tcp = ["--transport", "tcp"];
    let output = run_program(&[&["run"], &NAMES[..], &bench, &tcp].concat());
    let (out, said) = (text(&output.stdout), text(&output.stderr));
    assert_eq!(output.status.code(), Some(0), "{said}{out}");
    assert!(
        out.contains("among ranks 3 as processes over tcp:"),
        "{out}"
    );
    let written = std::fs::read_to_string(&json).expect("it is written");
    let records: Vec<Value> = serde_json::from_str(&written).expect("it is JSON");
    assert!(all_say(&records, "nodes", "2,1") && records.len() == 1);
    assert!(records[0]["hosts"].is_null() && records[0]["clock_us"].is_f64());
    for (launcher, transport, says) in [
        (&NAMES[..], "ofi", "messages go over tcp"),
        (&["-n", "2"], "tcp", "these 2 ranks share memory"),
    ] {
        let asked = [&["run"], launcher, &bench, &["--transport", transport]].concat();
        let output = run_program(&asked);
        let said = text(&output.stderr);
        assert_eq!(output.status.code(), Some(2), "{said}");
        assert!(said.contains(says), "{said}");
    }
}

/// A benchmark of many cells that has printed some; it goes on for long.
fn begun(more: &[&str]) -> World {
    let bench = ["bench", "--transport", "tcp", "--latency", "--time", "300"];
    let mut world = start_program(&[&bench[..], &NAMES, more].concat());
    // Two lines stand above the rows.
    let lines = world.read_lines(4);
    assert!(lines[3].starts_with("broadcast"), "{lines:?}");
    world
}

#[test]
fn an_interrupt_keeps_what_was_measured_and_leaves_nothing() {
    let json = folder("interrupted").join("records.json");
    let world = begun(&["--json", &json.to_string_lossy()]);
    world.signal(Signal::INT);
    let before = Instant::now();
    let (status, out, said) = world.end();
    assert_eq!(status.code(), Some(130), "{said}{out}");
    assert!(before.elapsed() < Duration::from_secs(15));
    assert!(out.contains("cells were not measured"), "{out}");
    let written = std::fs::read_to_string(&json).expect("it is written");
    let records: Vec<Value> = serde_json::from_str(&written).expect("it is JSON");
    assert!(records.len() >= 2 && all_say(&records, "transport", "tcp"));

    let mut world = begun(&[]);
    world.signal(Signal::KILL);
    world.launcher.wait().expect("it has ended");
    world.assert_gone();
}

#[test]
fn a_rank_that_is_killed_ends_the_benchmark_with_an_error() {
    let world = begun(&[]);
    let is_rank = |pid: &u32| {
        let variables = std::fs::read(format!("/proc/{pid}/environ")).unwrap_or_default();
        let mut variables = variables.split(|byte| *byte == 0);
        variables.any(|variable| variable == b"ALLHANDS_RANK=2")
    };
    let victim = world.processes().into_iter().find(is_rank);
    let victim = Pid::from_raw(victim.expect("it runs") as i32).expect("a number");
    let before = Instant::now();
    kill_process(victim, Signal::KILL).expect("it runs");
    let (status, _, said) = world.end();
    assert!(before.elapsed() < Duration::from_secs(15));
    assert_eq!(status.code(), Some(2), "{said}");
    assert!(
        said.contains("rank 2 on host b was killed by signal 9")
            && said.contains("the ranks failed"),
        "{said}"
    );
}

#[test]
fn options_that_do_not_go_together_are_named() {
    let tcp = ["--transport", "tcp"];
    let with = |rest: &[&'static str]| [&tcp[..], rest].concat();
    for (arguments, says) in [
        (vec!["--hosts", "a,b"], "add --transport tcp"),
        (
            vec!["--transport", "shm", "--tls"],
            "--tls is for ranks between which there is a network",
        ),
        (vec!["--bind", "cores"], "--bind is for processes"),
        (with(&["--provider", "efa"]), "add --transport ofi"),
        (
            vec!["--transport", "ofi", "--tls"],
            "would not be encrypted",
        ),
        (with(&["-n", "1"]), "there is one host alone"),
        (
            with(&["--hosts", "a:4"]),
            "all ranks are on host a and share memory",
        ),
        (
            with(&["--hosts", "a:2,b:2", "-n", "3"]),
            "--hosts have 4 ranks, not the 3 of -n",
        ),
        (
            with(&["--hosts", "a,b", "--nodes", "2x1"]),
            "--nodes pretends nodes on one machine",
        ),
        (
            with(&["--nodes", "2x2", "-n", "3"]),
            "--nodes 2x2 are 4 ranks, not the 3 of -n",
        ),
        (with(&["--rendezvous", "x"]), "add --hosts, as in a,b:4"),
        (
            with(&["-n", "2", "--algorithm", "shared-memory"]),
            "needs memory that all ranks share",
        ),
        (with(&["-n", "4", "--torus", "2x3"]), "torus"),
        (
            with(&["-n", "2", "--rails", "no-such-rail"]),
            "has no rail no-such-rail",
        ),
    ] {
        let output = run_program(&[&["bench", "allreduce"], &arguments[..]].concat());
        let said = text(&output.stderr);
        assert_eq!(output.status.code(), Some(2), "{arguments:?}: {said}");
        assert!(said.contains(says), "{arguments:?}: {said}");
        assert!(!text(&output.stdout).contains("every result"));
    }
}
