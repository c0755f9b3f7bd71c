//! `allhands calibrate`, `regret`, `guidelines` and `tune` between hosts: what is measured, and what it is taken for.

#![cfg(target_os = "linux")]

use serde_json::Value;
use std::path::PathBuf;
use std::process::{Command, Output};

/// A folder of this test.
struct Folder(PathBuf);

impl Folder {
    fn new(name: &str) -> Folder {
        let name = format!("allhands-{name}-{}", std::process::id());
        let folder = std::env::temp_dir().join(name);
        std::fs::create_dir_all(&folder).expect("a folder");
        Folder(folder)
    }

    fn path(&self, name: &str) -> String {
        self.0.join(name).to_str().expect("UTF-8").to_string()
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        std::fs::remove_dir_all(&self.0).expect("the files can be removed");
    }
}

fn run(arguments: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_allhands"));
    command.args(arguments).output().expect("it starts")
}

/// What a successful run prints.
fn printed(arguments: &[&str]) -> String {
    let output = run(arguments);
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{arguments:?} fails: {said}");
    String::from_utf8(output.stdout).expect("it prints text")
}

/// What a failing run says.
fn said(arguments: &[&str]) -> String {
    let output = run(arguments);
    assert!(!output.status.success(), "{arguments:?} succeeds");
    String::from_utf8_lossy(&output.stderr).into_owned()
}

fn records(path: &str) -> Vec<Value> {
    let text = std::fs::read_to_string(path).expect("it was written");
    serde_json::from_str(&text).expect("it is JSON")
}

fn number(record: &Value, key: &str) -> f64 {
    record[key].as_f64().expect(key)
}

const SHM: [&str; 4] = ["--transport", "shm", "-n", "2"];

#[test]
fn a_regret_is_of_what_is_chosen() {
    let folder = Folder::new("regret");
    let file = folder.path("regret.json");
    let asked = [
        "regret",
        "allreduce",
        "barrier",
        "--bytes",
        "64,64K",
        "--time",
        "3",
        "--json",
        &file,
    ];
    let output = run(&[&asked[..], &SHM].concat());
    assert!(output.status.success(), "{output:?}");
    let records = records(&file);
    assert_eq!(records.len(), 3, "{records:?}");
    for record in &records {
        assert!(number(record, "chosen_us") > 0.0 && number(record, "best_us") > 0.0);
        let (regret, least, most) = (
            number(record, "regret"),
            number(record, "least"),
            number(record, "most"),
        );
        assert!(least <= regret && regret <= most, "{record}");
        let excludes = least > 0.0 || most < 0.0;
        assert_eq!(record["counts"], excludes, "{record}");
        // Who is chosen regrets nothing.
        assert!(
            record["chosen"] != record["best"] || regret == 0.0,
            "{record}"
        );
    }
    let said = String::from_utf8_lossy(&output.stdout);
    assert!(said.contains("3 places: regret"), "{said}");
}

#[test]
fn a_violated_guideline_is_a_failure() {
    let folder = Folder::new("guidelines");
    let file = folder.path("guidelines.json");
    let asked = [
        "guidelines",
        "reduce",
        "barrier",
        "--bytes",
        "64,4K",
        "--time",
        "4",
        "--json",
        &file,
    ];
    let output = run(&[&asked[..], &SHM].concat());
    let records = records(&file);
    // Two patterns at two sizes, monotony once, and both halves; the barrier's.
    assert_eq!(records.len(), 8, "{records:?}");
    let violated = records.iter().any(|record| record["violated"] == true);
    assert_eq!(
        output.status.code(),
        Some(i32::from(violated)),
        "{output:?}"
    );
    for record in &records {
        let ratio = number(record, "ratio");
        assert!(number(record, "least") <= ratio && ratio <= number(record, "most"));
        let is_more = ratio > 1.05 && number(record, "least") > 1.0;
        assert!(is_more || record["violated"] == false, "{record}");
    }
    assert!(
        records
            .iter()
            .any(|record| record["right"] == "reduce-scatter(4K) + gather(2K)")
    );
}

#[test]
fn what_is_tuned_between_hosts_is_in_the_table() {
    let folder = Folder::new("apart");
    let file = folder.path("table.toml");
    let asked = [
        "tune",
        "allreduce",
        "barrier",
        "--transport",
        "tcp",
        "--nodes",
        "3x1",
        "--time",
        "8",
        "-o",
        &file,
    ];
    let sizes = |sizes: &'static str| [&asked[..], &["--bytes", sizes, "--resume"]].concat();
    let output = run(&sizes("64"));
    assert!(output.status.success(), "{output:?}");
    let text = std::fs::read_to_string(&file).expect("it was written");
    let rows = text.matches("transport = \"tcp\"").count();
    assert!(rows == 2 && text.contains("nodes = \"1,1,1\""), "{text}");
    assert!(
        text.contains("\n64 = [") && text.contains("\n0 = ["),
        "{text}"
    );
    // What is there is not measured again, on what is taken for the same network; this loopback's times may have changed by more.
    let again = run(&sizes("64,64K"));
    assert!(again.status.success(), "{again:?}");
    let text = std::fs::read_to_string(&file).expect("it is there still");
    assert!(text.contains("\n65536 = ["), "{text}");
}

#[test]
fn what_cannot_be_measured_is_said() {
    for (arguments, says) in [
        (&["regret"][..], "--transport shm, tcp or ofi"),
        (&["regret", "--transport", "shm", "-n", "1"], "two or more"),
        (
            &["guidelines", "--transport", "shm", "--time", "0"],
            "more than 0",
        ),
        (
            &["guidelines", "--transport", "shm", "--bytes", "64X"],
            "64K = 64KB = 64KiB",
        ),
    ] {
        let output = run(arguments);
        let said = String::from_utf8_lossy(&output.stderr);
        assert!(
            output.status.code() == Some(2) && said.contains(says),
            "{arguments:?}: {said}"
        );
    }
}

/// Calibrates two processes, in more time if it says that so much is too little, as it may be beside whatever else runs.
fn calibrate_processes(machine: &str) {
    let two = ["calibrate", "--transport", "shm", "-n", "2"];
    for time in ["4", "16"] {
        let output = run(&[&two[..], &["--time", time, "-o", machine]].concat());
        if output.status.success() {
            return;
        }
        let said = String::from_utf8_lossy(&output.stderr);
        assert!(said.contains("right would be --time "), "{said}");
        eprintln!("in {time} s: {said}");
    }
    printed(&[&two[..], &["--time", "64", "-o", machine]].concat());
}

#[test]
fn what_processes_calibrate_is_a_machine_that_predicts() {
    let folder = Folder::new("machine");
    let (machine, times) = (folder.path("machine.toml"), folder.path("times.json"));
    calibrate_processes(&machine);
    let cells = [
        "allreduce",
        "--transport",
        "shm",
        "-n",
        "2",
        "--bytes",
        "64",
    ];
    let bench = [&["bench"], &cells[..], &["--time", "2", "--json", &times]].concat();
    printed(&[&bench[..], &["--plots", &folder.path("plots")]].concat());
    let predict = ["predict", "--machine", &machine, "--measured", &times];
    let text = printed(&[&predict[..], &["--json", "-"]].concat());
    let predicted: Vec<Value> = serde_json::from_str(&text).expect("it is JSON");
    let is_whole = |r: &Value| {
        let number = |key: &str| r[key].as_f64().expect("a number");
        let error = (number("predicted_us") - number("measured_us")).abs() / number("measured_us");
        (error - number("error")).abs() < 1e-9 && number("predicted_us") > 0.0
    };
    assert!(
        !predicted.is_empty() && predicted.iter().all(is_whole),
        "{text}"
    );
    let left_out = ["--without", "contention", "--gap", "saturation"];
    let compare = ["predict", "--machine", &machine, "--compare", "--time", "1"];
    let compare = [&compare[..], &cells, &left_out, &["--json", &times]].concat();
    let text = printed(&compare);
    for part in ["nothing", "contention", "gap of peers", "both"] {
        assert!(text.lines().any(|line| line.starts_with(part)), "{text}");
    }
    let records = records(&times);
    let has_whole = |r: &Value| r["whole_us"].is_f64() && r["whole_error"].is_f64();
    assert!(
        !records.is_empty() && records.iter().all(has_whole),
        "{text}"
    );
    let typed = ["--type", "bf16", "--operator", "max"];
    let compare = ["predict", "--machine", &machine, "--compare", "--time", "1"];
    let typed = [&compare[..], &cells, &typed, &["--json", &times]].concat();
    assert!(printed(&typed).contains("allreduce"));
    assert!(said(&[&predict[..3], &cells[..]].concat()).contains("add --compare"));
    assert!(said(&["calibrate", "-n", "2"]).contains("--transport shm"));
    assert!(said(&["calibrate", "--transport", "shm", "-n", "1"]).contains("two or more"));
    assert!(said(&["predict", "--machine", "nowhere.toml"]).contains("nowhere.toml"));
    assert!(said(&[&predict[..3], &["--measured", &machine]].concat()).contains("bench --json"));
}
