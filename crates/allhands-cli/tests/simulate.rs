//! What `allhands simulate` gives beside its table: traces, pictures, busy links, plots, checked results.

use serde_json::Value;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

fn allhands(arguments: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_allhands"))
        .args(arguments)
        .output()
        .expect("the program runs")
}

/// A folder of this test's own.
fn folder(name: &str) -> PathBuf {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
    std::fs::create_dir_all(&folder).expect("it can be made");
    folder
}

fn json(text: &[u8]) -> Value {
    serde_json::from_slice(text).expect("it is JSON")
}

#[test]
fn one_run_is_traced_and_drawn() {
    let folder = folder("one-run");
    let file = |name: &str| folder.join(name).to_string_lossy().into_owned();
    let [trace, picture, heat] = ["t.json", "p.svg", "h.svg"].map(file);
    let run = [
        "simulate",
        "alltoall",
        "--machine",
        "fat-tree",
        "--algorithm",
        "pairwise",
        "-n",
        "6",
        "--bytes",
        "1K",
        "--check",
        "--links",
        "--per-rank",
        "--json",
        "-",
        "--trace",
        &trace,
        "--picture",
        &picture,
        "--heat",
        &heat,
    ];
    let output = allhands(&run);
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{said}");
    let record = &json(&output.stdout)[0];
    let ends = record["ends_us"].as_array().expect("a time for each rank");
    let last = ends.iter().filter_map(Value::as_f64).fold(0.0, f64::max);
    assert_eq!(
        (ends.len(), Some(last)),
        (6, record["completion_us"].as_f64())
    );
    // Each rank sends and receives five blocks over its own links, and nothing leaves the first switch.
    let links = record["links"].as_array().expect("links");
    assert_eq!(links.len(), 12);
    assert!(
        links
            .iter()
            .all(|link| link["bytes"] == 5 * 1024 && link["messages"] == 5)
    );
    assert!(said.contains("host 0 to switch 1.0"), "{said}");

    let trace = json(&std::fs::read(&trace).expect("it is there"));
    let events = trace["traceEvents"].as_array().expect("events");
    let count = |kind: &str| events.iter().filter(|event| event["ph"] == kind).count();
    assert_eq!((count("s"), count("f")), (30, 30));
    let on_links = |event: &&Value| event["ph"] == "X" && event["cat"] == "link";
    assert_eq!(events.iter().filter(on_links).count(), 60);
    for (file, words) in [(picture, "rank 5"), (heat, "host 5 to switch 1.0")] {
        let svg = std::fs::read_to_string(&file).expect("it is there");
        assert!(svg.starts_with("<svg") && svg.contains(words), "{file}");
    }
}

#[test]
fn many_runs_are_plotted_and_checked_but_not_traced() {
    let folder = folder("many-runs").join("plots");
    let plots = folder.to_string_lossy();
    let run = ["simulate", "allreduce", "--machine", "plogp", "-n", "70"];
    let run = [&run[..], &["--bytes", "8,4K", "--check"]].concat();
    let output = allhands(&[&run[..], &["--plot", &plots]].concat());
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{said}");
    let svg = std::fs::read_to_string(folder.join("allreduce-70.svg"));
    assert!(svg.expect("it is there").contains("rabenseifner"));
    let output = allhands(&[&run[..], &["--trace", "none.json"]].concat());
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(
        output.status.code() == Some(2) && said.contains("one --algorithm"),
        "{said}"
    );
}

#[test]
fn more_ranks_than_hosts_are_an_error() {
    let run = [
        "simulate",
        "barrier",
        "--machine",
        "fat-tree",
        "-n",
        "11665",
    ];
    let run = [&run[..], &["--algorithm", "dissemination"]].concat();
    let output = allhands(&run);
    let said = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(2));
    assert!(said.contains("11664 hosts"), "{said}");
}
