//! The program from the outside: what it prints, how it fails, and that it ends quietly.

use std::io::{BufRead, BufReader};
use std::process::{Command, Output, Stdio};

fn allhands(arguments: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_allhands"))
        .args(arguments)
        .output()
        .expect("the program runs")
}

/// What a successful run prints.
fn printed(arguments: &[&str]) -> String {
    let output = allhands(arguments);
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(
        output.status.success(),
        "allhands {arguments:?} fails: {said}"
    );
    String::from_utf8(output.stdout).expect("it prints text")
}

/// What a failing run says.
fn said(arguments: &[&str]) -> String {
    let output = allhands(arguments);
    assert!(!output.status.success(), "allhands {arguments:?} succeeds");
    String::from_utf8_lossy(&output.stderr).into_owned()
}

#[test]
fn every_command_has_help_that_explains() {
    let commands = [
        "list",
        "verify",
        "draw",
        "explain",
        "simulate",
        "bench",
        "tune",
        "run",
        "completions",
    ];
    let top = printed(&["--help"]);
    for command in commands {
        assert!(top.contains(command), "--help does not name {command}");
        let help = printed(&[command, "--help"]);
        assert!(
            help.len() > 200,
            "{command} --help says too little:\n{help}"
        );
    }
}

#[test]
fn list_prints_a_json_array_with_every_key() {
    let list: serde_json::Value =
        serde_json::from_str(&printed(&["list", "--json"])).expect("it is JSON");
    let records = list.as_array().expect("an array");
    assert!(records.len() > 50, "only {} algorithms", records.len());
    for record in records {
        for key in ["collective", "name", "citation"] {
            assert!(
                record[key].as_str().is_some_and(|text| !text.is_empty()),
                "{record} lacks {key}"
            );
        }
        assert!(record["requires"].is_array());
    }
}

#[test]
fn verify_writes_one_record_a_proof() {
    let text = printed(&["verify", "allreduce", "--ranks", "1-5", "--json", "-"]);
    let records: Vec<serde_json::Value> = serde_json::from_str(&text).expect("it is JSON");
    assert!(records.len() >= 10);
    let keys = [
        "collective",
        "algorithm",
        "parameters",
        "ranks",
        "root",
        "ports",
        "ok",
        "steps",
        "volume",
        "work",
        "bound_steps",
        "bound_volume",
    ];
    for record in &records {
        assert!(
            keys.iter().all(|key| !record[key].is_null()),
            "{record} lacks a key"
        );
        assert_eq!(record["ok"], true);
    }
}

#[test]
fn mistakes_are_named_with_what_would_be_right() {
    for (arguments, says) in [
        (&["verify", "alreduce"][..], "did you mean allreduce"),
        (
            &["verify", "allreduce", "--algorithm", "rign"],
            "did you mean ring",
        ),
        (
            &["verify", "allreduce", "--algorithm", "ring:x=1"],
            "unknown key 'x'",
        ),
        (&["verify", "--ranks", "0"], "from 1 to"),
        (&["verify", "--ranks", "9-3"], "is empty"),
        (
            &[
                "draw",
                "broadcast",
                "--algorithm",
                "binomial",
                "--ranks",
                "4",
                "--root",
                "9",
            ],
            "the root must be a rank, 0 to 3",
        ),
        (&["bench", "--bytes", "3"], "multiples of 8"),
        (
            &[
                "simulate",
                "alltoall",
                "--machine",
                "loggp",
                "--algorithm",
                "pairwise",
                "-n",
                "65536",
            ],
            "take fewer ranks",
        ),
        (
            &["simulate", "scan", "--machine", "hokney"],
            "hockney, loggp",
        ),
        (
            &["simulate", "scatter", "--machine", "loggp", "--root", "8"],
            "one of 0..8",
        ),
        (&["bench", "--nodes", "2x4"], "add --transport shm"),
        (&["explain", "allreduce", "--policy", "none"], "mpich-2005"),
    ] {
        let said = said(arguments);
        assert!(said.contains(says), "allhands {arguments:?} says: {said}");
        assert!(!said.contains("panicked"), "{said}");
    }
}

#[test]
fn a_reader_that_leaves_early_is_no_failure() {
    let mut child = Command::new(env!("CARGO_BIN_EXE_allhands"))
        .args(["list", "--json"])
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("the program runs");
    let mut first = String::new();
    let mut reader = BufReader::new(child.stdout.take().expect("it is piped"));
    reader.read_line(&mut first).expect("a line");
    drop(reader);
    let output = child.wait_with_output().expect("it ends");
    assert!(
        output.status.success() && output.stderr.is_empty(),
        "{}",
        String::from_utf8_lossy(&output.stderr)
    );
}

#[test]
fn a_short_benchmark_checks_its_results_and_writes_records() {
    let folder = std::env::temp_dir().join(format!("allhands-cli-test-{}", std::process::id()));
    let plots = folder.to_str().expect("a name in UTF-8");
    let text = printed(&[
        "bench",
        "allreduce",
        "-n",
        "3",
        "--bytes",
        "8,4K",
        "--time",
        "0.5",
        "--json",
        "-",
        "--plots",
        plots,
    ]);
    let records: Vec<serde_json::Value> = serde_json::from_str(&text).expect("it is JSON");
    let keys = [
        "collective",
        "algorithm",
        "ranks",
        "bytes",
        "total_bytes",
        "root",
        "iterations",
        "min_us",
        "median_us",
        "p99_us",
        "correct",
    ];
    for record in &records {
        assert!(
            keys.iter().all(|key| !record[key].is_null()),
            "{record} lacks a key"
        );
        assert_eq!(record["correct"], true, "{record}");
    }
    assert!(folder.join("allreduce-3.svg").exists());
    std::fs::remove_dir_all(&folder).expect("the plots can be removed");
}

#[test]
fn what_is_simulated_is_the_same_every_time() {
    let run = ["simulate", "allreduce", "--machine", "hockney", "-n", "4,8"];
    let run = || printed(&[&run[..], &["--bytes", "8", "--json", "-"]].concat());
    let read =
        |text: &str| -> Vec<serde_json::Value> { serde_json::from_str(text).expect("it is JSON") };
    let (first, second) = (read(&run()), read(&run()));
    assert!(first.len() > 10, "only {} records", first.len());
    for (one, other) in first.iter().zip(&second) {
        for key in [
            "collective",
            "algorithm",
            "machine",
            "ranks",
            "bytes",
            "completion_us",
            "messages",
            "events",
        ] {
            assert!(
                !one[key].is_null() && one[key] == other[key],
                "{key}: {one} {other}"
            );
        }
        assert!(!one["wall_s"].is_null());
    }
    // Three steps of 5 us and 8 bytes of 10 ns each, and of 2 ns for their sum.
    let doubling =
        |r: &&serde_json::Value| r["algorithm"] == "recursive-doubling" && r["ranks"] == 8;
    let record = first.iter().find(doubling).expect("it is there");
    assert_eq!(record["completion_us"], 3.0 * (5.0 + 0.08 + 0.016));
}

#[test]
fn completions_name_the_commands() {
    for shell in ["bash", "zsh", "fish"] {
        assert!(printed(&["completions", shell]).contains("verify"));
    }
}

#[test]
fn irregular_layouts_are_measured_where_there_are_any() {
    let folder = std::env::temp_dir().join(format!("allhands-cli-layout-{}", std::process::id()));
    let plots = folder.to_str().expect("a name in UTF-8");
    let run = [
        "bench", "-n", "3", "--bytes", "64", "--time", "0.5", "--json", "-",
    ];
    let text = printed(&[&run[..], &["--layout", "random:3", "--plots", plots]].concat());
    let records: Vec<serde_json::Value> = serde_json::from_str(&text).expect("it is JSON");
    for collective in [
        "scatter",
        "gather",
        "allgather",
        "alltoall",
        "reduce-scatter",
    ] {
        assert!(records.iter().any(|r| r["collective"] == collective));
    }
    let right = |r: &serde_json::Value| r["correct"] == true && r["layout"] == "random:3";
    assert!(records.iter().all(right), "{text}");
    assert!(said(&["bench", "scan", "--layout", "uneven"]).contains("no irregular form"));
    assert!(said(&["bench", "--layout", "random"]).contains("random:SEED"));
    std::fs::remove_dir_all(&folder).expect("the plots can be removed");
}

#[test]
fn the_picture_in_the_readme_is_what_is_drawn() {
    let file = std::env::temp_dir().join(format!("allhands-cli-{}.svg", std::process::id()));
    let path = file.to_str().expect("a name in UTF-8");
    printed(&[
        "draw",
        "allgather",
        "--algorithm",
        "bruck",
        "-n",
        "6",
        "-o",
        path,
    ]);
    let drawn = std::fs::read_to_string(&file).expect("it was written");
    assert!(drawn == include_str!("../../../docs/allgather-bruck-6.svg"));
    std::fs::remove_file(&file).expect("it can be removed");
}
