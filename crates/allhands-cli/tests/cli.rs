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
    assert!(folder.join("allreduce-3-threads.svg").exists());
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
    // Time enough to begin every cell beside whatever else runs.
    let run = [
        "bench", "-n", "3", "--bytes", "64", "--time", "3", "--json", "-",
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

#[test]
fn sizes_are_read_alike_everywhere() {
    for size in ["65536", "64K", "64k", "64KB", "64KiB"] {
        let text = printed(&["explain", "allreduce", "--bytes", size]);
        assert!(text.contains("65536 bytes"), "{size}: {text}");
        let simulate = ["simulate", "scan", "--machine", "loggp", "--bytes", size];
        assert!(printed(&simulate).contains(" 64K "), "{size}");
    }
    for command in [
        &["explain", "scan"][..],
        &["bench", "scan"],
        &["tune", "scan"],
        &["simulate", "scan", "--machine", "loggp"],
    ] {
        let said = said(&[command, &["--bytes", "64X"]].concat());
        assert!(said.contains("64K = 64KB = 64KiB"), "{command:?}: {said}");
    }
    for command in ["explain", "bench", "tune", "simulate"] {
        assert!(printed(&[command, "--help"]).contains("powers of 2"));
    }
}

#[test]
fn only_times_that_decided_are_shown() {
    // No table or rule that decides here compares times, so no model speaks.
    for policy in ["shm", "mpich-2005", "ring"] {
        let text = printed(&["explain", "allreduce", "--policy", policy, "-n", "8"]);
        assert!(!text.contains("Hockney"), "{policy}: {text}");
        assert!(text.contains("No times were compared"), "{policy}: {text}");
    }
}

#[test]
fn one_sentence_has_the_chosen_time_the_next_and_what_decides() {
    // T 5.4 gives no rule here, so predictions decide: 6 rounds and twice 7/8 of the vector, beside ring's 14 rounds.
    let t3e = ["explain", "allreduce", "--policy", "t3e", "-n", "7"];
    let text = printed(&[&t3e[..], &["--bytes", "4M"]].concat());
    let line = text.lines().find(|line| line.contains("the next"));
    let line = line.unwrap_or_else(|| panic!("no sentence: {text}"));
    assert_eq!(line.matches(" µs").count(), 3, "{line}");
    assert!(
        line.contains("µs predicted") && line.contains("decide"),
        "{line}"
    );
    // A table's row decides by what was measured, of its own size.
    let file = std::env::temp_dir().join(format!("allhands-why-{}.toml", std::process::id()));
    let table = r#"format = 1
machine = "any"
version = "0"

[[row]]
transport = "shm"
collective = "allreduce"
ranks = 8
oversubscribed = true
measured = "2026-01-01"
1024 = ["recursive-doubling 30", "ring 70", "rabenseifner 60"]
"#;
    std::fs::write(&file, table).expect("there is room");
    let policy = file.to_string_lossy();
    let tuned = ["explain", "allreduce", "-n", "8", "--oversubscribed", "yes"];
    let text = printed(&[&tuned[..], &["--policy", &policy]].concat());
    let wanted = "A measured row decides: recursive-doubling: 30.0 µs measured; rabenseifner, the next, 60.0 µs: it has 6 rounds for 3";
    assert!(text.contains(wanted), "{text}");
    std::fs::remove_file(&file).expect("it is ours");
}

#[test]
fn what_a_network_takes_decides_between_nodes() {
    let of = |bytes, network| {
        let call = ["explain", "allreduce", "-n", "8", "--nodes", "8x1"];
        printed(&[&call[..], &["--bytes", bytes, "--network", network]].concat())
    };
    let slow = "latency_us=500,overhead_us=5,byte_ns=40";
    let (short, long) = (of("8", slow), of("4M", slow));
    let first = |text: &str| text.lines().next().map(str::to_string);
    assert!(
        short.contains("latency_us=500,overhead_us=5,long_overhead_us=5,"),
        "{short}"
    );
    assert_eq!(short.matches("chosen").count(), 1, "{short}");
    assert!(
        short.contains("the next, ") && short.contains("latency decides"),
        "{short}"
    );
    assert_ne!(
        first(&short),
        first(&long).map(|line| line.replace("4M", "8"))
    );
    let wrong = said(&["explain", "scan", "--network", "latency=5"]);
    assert!(wrong.contains("a network has no 'latency'"), "{wrong}");
    let many = [
        "explain",
        "scan",
        "-n",
        "100000",
        "--nodes",
        "100000x1",
        "--network",
        slow,
    ];
    // So many are not simulated: no scan whose ranks wait for all before them, one after another, is taken.
    let text = printed(&many);
    assert!(text.contains("doubling"), "{text}");
}

#[test]
fn simulations_are_sorted_and_the_winner_is_marked() {
    let text = printed(&[
        "simulate",
        "allreduce",
        "--machine",
        "loggp",
        "--bytes",
        "8,64K",
    ]);
    assert_eq!(text.matches(" fastest ").count(), 2, "{text}");
    let rows = text.lines().filter(|line| line.contains("×"));
    let times = rows.map(|row| {
        let words: Vec<&str> = row.split_whitespace().collect();
        let time = words[4].trim_end_matches('×').parse().expect("a multiple");
        (words[2] == "8", time)
    });
    let times: Vec<(bool, f64)> = times.collect();
    let of = |small: bool| times.iter().filter(move |t| t.0 == small).map(|t| t.1);
    assert!(of(true).is_sorted() && of(false).is_sorted(), "{text}");
    assert!(
        text.contains("left out, as ranks share no memory on this machine: "),
        "{text}"
    );
    let shared = |text: &str| text.lines().any(|line| line.starts_with("shared-memory"));
    assert!(!shared(&text), "{text}");
    let rails = [
        "simulate",
        "allreduce",
        "--machine",
        "multirail-smp:2x2",
        "-n",
        "4",
    ];
    assert!(!printed(&rails).contains("left out, as"));
}
