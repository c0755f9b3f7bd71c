//! Times beside earlier ones: what is slower is named and is a failure, and files that say nothing of it are refused.

#![cfg(target_os = "linux")]

use serde_json::{Value, json};
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::sync::{Mutex, MutexGuard, PoisonError};

/// What measures does so alone, as far as these tests go.
fn alone() -> MutexGuard<'static, ()> {
    static ALONE: Mutex<()> = Mutex::new(());
    // One test that failed is no reason for the next to fail.
    ALONE.lock().unwrap_or_else(PoisonError::into_inner)
}

fn allhands(arguments: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_allhands"))
        .args(arguments)
        .output()
        .expect("the program runs")
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

/// A folder of this test's own.
fn folder(name: &str) -> PathBuf {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
    // What an earlier run has left; there may be nothing.
    let _ = std::fs::remove_dir_all(&folder);
    std::fs::create_dir_all(&folder).expect("it can be made");
    folder
}

/// A file's name in a folder, as an argument.
fn name(folder: &Path, file: &str) -> String {
    folder.join(file).to_str().expect("a name in UTF-8").into()
}

/// What is measured: two sizes of two algorithms that take long enough for a clock. (On an EPYC of family 26 a copy of 1 MB takes 17 µs in some
/// rounds and 700 in others, so that no ratio of few rounds is certain.) There is one rank where nothing goes over a network:
/// where others compute at the same time, two would wait for a core more than they copy.
fn measured(transport: &str, path: &str, more: &[&str]) -> Vec<Value> {
    let mut records = Vec::new();
    for algorithm in ["ring", "recursive-doubling"] {
        let bench = ["bench", "allreduce", "--algorithm", algorithm];
        let ranks = if transport == "tcp" { "2" } else { "1" };
        let cells = ["-n", ranks, "--bytes", "4M,8M", "--time", "1"];
        let beside = ["--transport", transport, "--json", path];
        let plots = format!("{path}-plots");
        let plots = ["--plots", &plots];
        let output = allhands(&[&bench[..], &cells, &beside, &plots, more].concat());
        assert!(output.status.success(), "{}", text(&output.stderr));
        let written = std::fs::read_to_string(path).expect("it is written");
        let of_one: Vec<Value> = serde_json::from_str(&written).expect("it is JSON");
        records.extend(of_one);
    }
    records
}

/// The same records if everything had taken so many times as long.
fn times(records: &[Value], factor: f64) -> Vec<Value> {
    let longer = |value: &mut Value| *value = json!(value.as_f64().expect("a time") * factor);
    let mut records = records.to_vec();
    for record in &mut records {
        for key in ["median_us", "q1_us", "q3_us"] {
            longer(&mut record[key]);
        }
        let rounds = record.get_mut("rounds_us").and_then(Value::as_array_mut);
        rounds.into_iter().flatten().for_each(longer);
    }
    records
}

fn write(path: &str, records: &[Value]) {
    let text = serde_json::to_string(records).expect("it is JSON");
    std::fs::write(path, text).expect("it can be written");
}

/// Compares. Where others compute at the same time, and no longer or not yet when the file was made, times are ten times as long: that
/// much is tolerated, and more.
fn tolerantly(transport: &str, old: &str, more: &[&str]) -> Output {
    against(transport, old, &[more, &["--tolerance", "5000"]].concat())
}

/// Compares.
fn against(transport: &str, old: &str, more: &[&str]) -> Output {
    let bench = ["bench", "--transport", transport, "--time", "3"];
    allhands(&[&bench[..], &["--against", old], more].concat())
}

#[test]
fn what_is_slower_is_a_failure_that_is_named_and_what_is_not_is_none() {
    let _alone = alone();
    for (transport, rounds) in [("threads", &["--rounds", "5"][..]), ("shm", &[])] {
        let folder = folder(&format!("against-{transport}"));
        let old = name(&folder, "old.json");
        let now = name(&folder, "now.json");
        let records = measured(transport, &old, rounds);
        let basis = if rounds.is_empty() {
            "quartiles"
        } else {
            "rounds"
        };
        // One round may take forty times as long as the next, too, and the intervals are as wide then; that twice as long is enough where
        // rounds are alike, unit tests say.
        for (factor, verdict, code) in [(1e-6, "slower", 1), (1e6, "faster", 0), (1.0, "", 0)] {
            write(&old, &times(&records, factor));
            let compare = if verdict.is_empty() {
                tolerantly
            } else {
                against
            };
            let output = compare(transport, &old, &["--json", &now]);
            let said = text(&output.stdout);
            assert_eq!(output.status.code(), Some(code), "{factor}: {said}");
            let written = std::fs::read_to_string(&now).expect("it is written");
            let found: Vec<Value> = serde_json::from_str(&written).expect("it is JSON");
            assert_eq!(found.len(), 4, "{said}");
            for record in &found {
                assert_eq!(record["interval"], basis);
                assert_eq!(record["rounds_us"].as_array().map(Vec::len), Some(5));
                assert!(record["ratio_low"].as_f64() < record["ratio_high"].as_f64());
                assert!(
                    verdict.is_empty() || record["verdict"] == verdict,
                    "{record}"
                );
            }
            let names = said.matches("REGRESSION allreduce").count();
            assert_eq!(names, if code == 1 { 4 } else { 0 }, "{said}");
            assert_eq!(
                said.contains("REGRESSION allreduce ring, 1 ranks, 4194304 bytes"),
                code == 1
            );
        }
    }
}

#[test]
fn what_is_there_no_more_is_left_out_and_named() {
    let _alone = alone();
    let folder = folder("against-gone");
    let old = name(&folder, "old.json");
    let mut records = measured("threads", &old, &[]);
    records[0]["algorithm"] = json!("rign");
    records[1]["correct"] = json!(false);
    records[2]["ranks"] = json!(3);
    write(&old, &records);
    let output = tolerantly("threads", &old, &["-n", "1"]);
    let said = text(&output.stdout);
    assert_eq!(output.status.code(), Some(0), "{said}");
    assert!(
        said.contains("left out allreduce rign, 1 ranks, 4194304 bytes"),
        "{said}"
    );
    assert!(said.contains("did you mean ring?"), "{said}");
    assert!(said.contains("8388608 bytes: it was wrong then"), "{said}");
    assert!(
        said.contains("1 cells left out as the arguments ask"),
        "{said}"
    );
    let rows = said.lines().filter(|line| line.starts_with("allreduce "));
    assert_eq!(rows.count(), 1, "{said}");
    write(&old, &records[..2]);
    let output = against("threads", &old, &[]);
    let said = text(&output.stderr);
    assert_eq!(output.status.code(), Some(2), "{said}");
    assert!(
        said.contains("none of its cells is measured again"),
        "{said}"
    );
}

#[test]
fn a_file_that_says_nothing_of_it_is_refused_with_what_would_be_right() {
    let _alone = alone();
    let folder = folder("against-refused");
    let old = name(&folder, "old.json");
    let records = measured("threads", &old, &[]);
    let refused = |records: &[Value], transport: &str, more: &[&str], says: &str| {
        write(&old, records);
        let output = against(transport, &old, more);
        let said = text(&output.stderr);
        assert_eq!(output.status.code(), Some(2), "{said}");
        assert!(
            said.contains(says) && !said.contains("panicked"),
            "{says}: {said}"
        );
    };
    let with = |key: &str, value: Value| {
        let mut records = records.clone();
        records[0][key] = value;
        records
    };
    refused(&records, "shm", &[], "right would be --transport threads");
    refused(
        &with("machine", json!("pdp-11")),
        "threads",
        &[],
        "measured on the machine pdp-11",
    );
    refused(&[], "threads", &[], "it has no cells");
    refused(
        &[json!({"a": 1})],
        "threads",
        &[],
        "allhands bench --json has written",
    );
    refused(
        &records,
        "threads",
        &["--rounds", "1"],
        "right would be 2 or more",
    );
    refused(&records, "threads", &["--tolerance=-1"], "0 or more");
    refused(
        &records,
        "threads",
        &["--bytes", "8"],
        "cannot be used with",
    );
    refused(&records, "threads", &["-n", "5"], "none of its cells");
    refused(&records, "threads", &["scan"], "none of its cells");
    let mut far = with("transport", json!("tcp"));
    far[0]["hosts"] = json!("a,b");
    refused(&far, "tcp", &[], "its ranks were on the hosts a,b");
    let said = text(&against("threads", &name(&folder, "none.json"), &[]).stderr);
    assert!(
        said.contains("cannot read") && said.contains("none.json"),
        "{said}"
    );
    let said = text(&allhands(&["bench", "scan", "--tolerance", "3"]).stderr);
    assert!(said.contains("--against"), "{said}");
}

#[test]
fn ranks_over_a_network_are_compared_too() {
    let _alone = alone();
    let folder = folder("against-tcp");
    let old = name(&folder, "old.json");
    let records = measured("tcp", &old, &["--rounds", "4"]);
    assert!(
        records
            .iter()
            .all(|r| r["rounds_us"].as_array().is_some_and(|all| all.len() == 4))
    );
    write(&old, &times(&records, 1e7));
    let output = against("tcp", &old, &["--rounds", "4"]);
    let said = text(&output.stdout);
    assert_eq!(
        output.status.code(),
        Some(0),
        "{said} {}",
        text(&output.stderr)
    );
    assert!(
        said.contains("4 faster") && said.contains("loopback"),
        "{said}"
    );
}
