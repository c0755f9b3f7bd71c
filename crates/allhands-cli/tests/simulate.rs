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
    is_well_formed(events);
    for (file, words) in [(picture, "rank 5"), (heat, "host 5 to switch 1.0")] {
        let svg = std::fs::read_to_string(&file).expect("it is there");
        assert!(svg.starts_with("<svg") && svg.contains(words), "{file}");
    }
}

/// What viewers ask of a trace: named tracks, slices one after another on each, and arrows that start and end in slices.
fn is_well_formed(events: &[Value]) {
    let track = |event: &Value| (event["pid"].as_u64(), event["tid"].as_u64());
    let number = |event: &Value, key: &str| event[key].as_f64().expect("a number");
    let named = |what: &str| {
        let names = events
            .iter()
            .filter(|e| e["ph"] == "M" && e["name"] == what);
        names.map(track).collect::<Vec<_>>()
    };
    let (threads, processes) = (named("thread_name"), named("process_name"));
    let mut slices = std::collections::BTreeMap::new();
    for event in events.iter().filter(|event| event["ph"] == "X") {
        let (from, track) = (number(event, "ts"), track(event));
        let to = from + number(event, "dur");
        assert!(threads.contains(&track) && processes.contains(&(track.0, Some(0))));
        let on_track: &mut Vec<(f64, f64)> = slices.entry(track).or_default();
        let before = on_track.last().map_or(0.0, |last| last.1);
        assert!(from >= before - 1e-6 && to > from, "{event}");
        on_track.push((from, to));
    }
    for event in events.iter().filter(|e| e["ph"] == "s" || e["ph"] == "f") {
        let ts = number(event, "ts");
        let holds = |(from, to): &(f64, f64)| (*from..*to).contains(&ts);
        assert!(slices[&track(event)].iter().any(holds), "{event}");
    }
}

#[test]
fn two_ranks_share_a_node_of_the_torus() {
    let run = |collective: &str, more: &[&str]| {
        let machine = ["simulate", collective, "--machine", "bluegene-l:2x2x2"];
        let output = allhands(&[&machine[..], &["--bytes", "1K", "--check"], more].concat());
        let said = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        (
            output.status.code(),
            said(&output.stdout),
            said(&output.stderr),
        )
    };
    let among = ["--algorithm", "hierarchical:inter=torus-trees"];
    for (collective, more) in [
        ("broadcast", ["-n", "16"]),
        ("allreduce", ["--nodes", "8x2"]),
    ] {
        let (code, table, said) = run(collective, &[&among[..], &more].concat());
        assert_eq!(code, Some(0), "{said}");
        assert!(
            table.lines().last().is_some_and(|row| row.contains(" 16 ")),
            "{table}"
        );
    }
    let (code, _, said) = run("broadcast", &["-n", "16", "--algorithm", "torus-trees"]);
    assert_eq!(code, Some(2));
    assert!(said.contains("right for several is hierarchical"), "{said}");
    let (_, _, said) = run("broadcast", &["-n", "12"]);
    assert!(said.contains("8 ranks, or 16 with two on each"), "{said}");
    let (_, _, said) = run("broadcast", &["-n", "16", "--nodes", "4x4"]);
    assert!(said.contains("right would be 8x2"), "{said}");
    let named = ["verify", "broadcast", "--algorithm", "torus-trees"];
    let output = allhands(&[&named[..], &["--torus", "4x2", "--nodes", "8x2"]].concat());
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(said.contains("right for several is hierarchical"), "{said}");
    let proofs = ["verify", "--machine", "bluegene-l:2x2x1", "--nodes", "4x2"];
    let output = allhands(&[&proofs[..], &["-q"]].concat());
    let said = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(
        output.status.success() && said.contains(" 0 failed"),
        "{said}"
    );
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
    let svg = std::fs::read_to_string(folder.join("allreduce-70-plogp.svg"));
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
