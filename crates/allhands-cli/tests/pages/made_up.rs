//! Made-up files of every kind that a report is made of, with what could break a page in them.

use serde_json::{Value, json};
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

/// What no page may take for an element.
const ELEMENT: &str = "<img src=x onerror=alert(1)>";

pub fn allhands(arguments: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_allhands"))
        .args(arguments)
        .output()
        .expect("the program runs")
}

pub fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

/// A folder of this test's own.
pub fn folder(name: &str) -> PathBuf {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
    // What an earlier run has left; there may be nothing.
    let _ = std::fs::remove_dir_all(&folder);
    std::fs::create_dir_all(&folder).expect("it can be made");
    folder
}

/// A file's name in a folder, as an argument.
pub fn name(folder: &Path, file: &str) -> String {
    folder.join(file).to_str().expect("a name in UTF-8").into()
}

/// Writes a file of each kind, a machine's first, and measured times second; their names.
pub fn write_all(folder: &Path) -> Vec<String> {
    let machine = name(folder, "machine.toml");
    let calibrate = ["calibrate", "--machine", "loggp", "-n", "8", "-o", &machine];
    let output = allhands(&calibrate);
    assert!(output.status.success(), "{}", text(&output.stderr));
    let mut names = vec![machine];
    for (file, records) in [
        ("times.json", times()),
        ("regret.json", regrets()),
        ("guidelines.json", guidelines()),
        ("compare.json", compare()),
        ("lab.json", lab()),
    ] {
        let path = name(folder, file);
        let text = serde_json::to_string(&records).expect("it is JSON");
        std::fs::write(&path, text).expect("it can be written");
        names.push(path);
    }
    names
}

/// Times of algorithms with long names, and of one that no version has, at many sizes.
fn times() -> Vec<Value> {
    let names = [
        "recursive-doubling",
        "ring",
        "reduce-scatter-gather-broadcast",
        "rabenseifner",
        "direct",
        "binary-blocks",
        ELEMENT,
    ];
    let mut records = Vec::new();
    for ranks in [2, 3, 4, 8] {
        for exponent in [3, 6, 9, 12, 15, 18, 20] {
            for (at, algorithm) in names.iter().enumerate() {
                let bytes = 1_u64 << exponent;
                // Each of them is the fastest somewhere.
                let turn = (at + exponent) % names.len();
                let us =
                    (1.0 + bytes as f64 / 3000.0) * f64::from(ranks) * (1.0 + turn as f64 / 5.0);
                records.push(json!({
                    "collective": "allreduce", "algorithm": algorithm, "ranks": ranks, "bytes": bytes,
                    "total_bytes": bytes, "root": 0, "iterations": 400, "min_us": us * 0.8, "median_us": us,
                    "p99_us": us * 3.0, "q1_us": us * 0.9, "q3_us": us * 1.2, "rank_min_us": us, "rank_avg_us": us,
                    "rank_max_us": us, "correct": true, "transport": "shm",
                    "machine": "a-machine-with-a-name-of-some-length-64-cores-256-gib", "version": "0.1.0"
                }));
            }
        }
    }
    let mut barrier = records[0].clone();
    for (key, value) in [
        ("collective", json!("barrier")),
        ("algorithm", json!("dissemination")),
        ("bytes", json!(0)),
    ] {
        barrier[key] = value;
    }
    let mut wrong = records[1].clone();
    for (key, value) in [
        ("correct", json!(false)),
        ("median_us", Value::Null),
        ("bytes", json!(16)),
        ("failure", json!("rank 1 got a wrong result")),
    ] {
        wrong[key] = value;
    }
    records.extend([barrier, wrong]);
    records
}

fn regrets() -> Vec<Value> {
    let one = |at: u32| {
        let best_us = f64::from(at + 1);
        json!({
            "collective": "allgather", "bytes": 8_u64 << at, "ranks": 8, "chosen": "ring", "best": "bruck",
            "chosen_us": best_us * (1.0 + f64::from(at) / 20.0), "best_us": best_us, "regret": f64::from(at) / 20.0
        })
    };
    (0..16).map(one).collect()
}

fn guidelines() -> Vec<Value> {
    let one = |at: u32| {
        json!({
            "guideline": "allreduce takes no longer than reduce and broadcast one after another", "collective": "allreduce",
            "ranks": 8, "bytes": 8_u64 << at, "left_us": f64::from(at + 5), "right_us": 10.0,
            "left": "allreduce", "right": "reduce, then broadcast", "violated": at > 6
        })
    };
    (0..12).map(one).collect()
}

fn compare() -> Vec<Value> {
    let mut records = Vec::new();
    for (at, peer) in (0_u32..).zip([
        "mpich",
        "openmpi",
        "intel",
        "another-library-with-a-name-of-some-length",
    ]) {
        for exponent in [3, 12, 20] {
            let ratio = 0.7 + f64::from(at) / 2.0 + f64::from(exponent) / 30.0;
            records.push(json!({
                "collective": "broadcast", "bytes": 1_u64 << exponent, "ranks": 2, "peer": peer, "setting": "default",
                "ours_us": 2.0, "peer_us": 2.0 * ratio, "ratio": ratio, "spread": [ratio * 0.9, ratio * 1.1],
                "ours_p99_us": 3.0, "peer_p99_us": 4.0, "line_ns": null
            }));
        }
    }
    records
}

fn lab() -> Vec<Value> {
    vec![json!({
        "hosts": 4, "each": 1, "rails": 2, "has_half_rail": false, "collective": "scan", "bytes": 8, "vector_bytes": 8,
        "l_us": 500.0, "g_ns": 40.0, "bound_us": 1000.0, "floor_us": 1100.0,
        "times": [
            {"name": "tcp", "is_ours": true, "rounds_us": [1200.0], "us": 1200.0, "of_bound": 1.2},
            {"name": "mpich", "is_ours": false, "rounds_us": [2400.0], "us": 2400.0, "of_bound": 2.4}
        ],
        "ratios": [{"peer": "mpich", "ratio": 2.0, "interval": [null, null]}]
    })]
}
