//! Measurements from the outside: they keep their time, survive an interrupt, and print what others can read.

#![cfg(target_os = "linux")]

use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::time::{Duration, Instant};

fn allhands(arguments: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_allhands"))
        .args(arguments)
        .output()
        .expect("the program runs")
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

/// What a successful run prints.
fn printed(arguments: &[&str]) -> String {
    let output = allhands(arguments);
    let said = text(&output.stderr);
    assert!(output.status.success(), "{arguments:?} fails: {said}");
    text(&output.stdout)
}

/// A folder of this test's own.
fn folder(name: &str) -> PathBuf {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
    // What an earlier run has left; there may be nothing.
    let _ = std::fs::remove_dir_all(&folder);
    std::fs::create_dir_all(&folder).expect("it can be made");
    folder
}

fn records(text: &str) -> Vec<Value> {
    serde_json::from_str(text).expect("it is JSON")
}

#[test]
fn a_path_that_cannot_be_written_is_an_error_before_anything_is_measured() {
    let folder = folder("unwritable");
    let file = folder.join("file");
    std::fs::write(&file, "text").expect("it can be written");
    let below = file.join("below");
    let below = below.to_str().expect("a name in UTF-8");
    let bench = ["bench", "scan", "-n", "2", "--time", "60"];
    let simulate = ["simulate", "scan", "--machine", "loggp"];
    let verify = ["verify", "--ranks", "1-64", "--all-roots"];
    let start = Instant::now();
    for arguments in [
        [&bench[..], &["--json", below]].concat(),
        [&bench[..], &["--plots", below]].concat(),
        [&bench[..], &["--transport", "shm", "--json", below]].concat(),
        [&["tune", "scan", "--time", "60", "-o"][..], &[below]].concat(),
        [&simulate[..], &["--json", below]].concat(),
        [&simulate[..], &["--plot", below]].concat(),
        [&verify[..], &["--json", below]].concat(),
    ] {
        let output = allhands(&arguments);
        let said = text(&output.stderr);
        assert_eq!(output.status.code(), Some(2), "{arguments:?}: {said}");
        let path = file.to_str().expect("a name in UTF-8");
        assert!(said.contains("cannot") && said.contains(path), "{said}");
        assert!(!text(&output.stdout).contains("µs"), "{arguments:?}");
    }
    // Each of them would take seconds if it measured.
    assert!(start.elapsed() < Duration::from_secs(30));
}

#[test]
fn everything_ends_in_time() {
    let plots = folder("in-time");
    let plots = plots.to_str().expect("a name in UTF-8");
    for transport in ["threads", "shm"] {
        let start = Instant::now();
        let bench = ["bench", "-n", "8", "--bytes", "8,64K,1M", "--time", "4"];
        let said = printed(&[&bench[..], &["--transport", transport, "--plots", plots]].concat());
        // A fifth more and a second, one cell that has begun, and plots.
        assert!(start.elapsed() < Duration::from_secs(12), "{said}");
        assert!(said.contains("at most 4 s in all"), "{said}");
        assert!(said.contains("have fewer than 10 samples"), "{said}");
    }
    // Plots of both are beside one another.
    for name in ["barrier-8-threads.svg", "barrier-8-shm.svg"] {
        let svg = std::fs::read_to_string(Path::new(plots).join(name)).expect(name);
        let machine = allhands::policy::machine();
        assert!(
            svg.contains(&machine) && svg.contains("allhands 0."),
            "{name}"
        );
    }
}

/// Interrupts a run after a while; its exit code.
fn interrupted(arguments: &[&str]) -> Option<i32> {
    let mut command = Command::new(env!("CARGO_BIN_EXE_allhands"));
    command.args(arguments).stdout(Stdio::null());
    // The tests may have been started by what ignores interrupts.
    let as_usual = || {
        // SAFETY: a call of the system that touches no memory of this process, and may be made after a fork.
        unsafe { libc::signal(libc::SIGINT, libc::SIG_DFL) };
        Ok(())
    };
    // SAFETY: `as_usual` allocates nothing and takes no lock.
    unsafe { std::os::unix::process::CommandExt::pre_exec(&mut command, as_usual) };
    let mut child = command.spawn().expect("the program runs");
    std::thread::sleep(Duration::from_secs(4));
    let start = Instant::now();
    kill_process(Pid::from_child(&child), Signal::INT).expect("it is our child");
    let status = child.wait().expect("it ends");
    assert!(start.elapsed() < Duration::from_secs(20), "{arguments:?}");
    status.code()
}

#[test]
fn what_was_measured_survives_an_interrupt() {
    let folder = folder("interrupted");
    let name = |name: &str| folder.join(name).to_string_lossy().into_owned();
    for transport in ["threads", "shm"] {
        let (json, plots) = (name(&format!("{transport}.json")), name(transport));
        let bench = [
            "bench",
            "-n",
            "2",
            "--time",
            "100",
            "--transport",
            transport,
        ];
        let code = interrupted(&[&bench[..], &["--json", &json, "--plots", &plots]].concat());
        assert_eq!(code, Some(130));
        let records = records(&std::fs::read_to_string(&json).expect("it is there"));
        assert!(!records.is_empty() && records.iter().all(|r| r["correct"] == true));
        assert!(records.iter().all(|r| r["transport"] == transport));
        let plots = std::fs::read_dir(&plots).expect("it is there");
        assert!(plots.count() > 0);
    }
    let table = name("table.toml");
    let tune = ["tune", "barrier", "allreduce", "-n", "2", "-o", &table];
    let long = [&tune[..], &["--time", "20"]].concat();
    assert_eq!(interrupted(&long), Some(130));
    assert!(folder.join("table.partial").exists() && !Path::new(&table).exists());
    let said = printed(&[&tune[..], &["--resume", "--time", "2"]].concat());
    assert!(said.contains(&table), "{said}");
}

#[test]
fn latencies_and_bandwidths_are_printed_as_others_do() {
    let bench = [
        "bench",
        "allreduce",
        "-n",
        "2",
        "--bytes",
        "8,64KiB,1MB",
        "--time",
        "1",
    ];
    let rows = |more: &[&str]| -> Vec<Vec<String>> {
        let text = printed(&[&bench[..], more].concat());
        let rows = text.lines().filter(|line| line.starts_with("allreduce"));
        let words = |line: &str| line.split_whitespace().map(Into::into).collect();
        rows.map(words).collect()
    };
    let number = |text: &str| -> f64 { text.parse().expect(text) };
    let latencies = rows(&["--latency"]);
    assert_eq!(latencies.len(), 3, "{latencies:?}");
    for row in &latencies {
        let [avg, min, max] = [3, 4, 5].map(|at| number(&row[at]));
        assert!(min <= avg && avg <= max && min > 0.0, "{row:?}");
    }
    let sizes = |rows: &[Vec<String>]| rows.iter().map(|row| number(&row[2])).collect::<Vec<f64>>();
    assert_eq!(sizes(&latencies), [8.0, 65536.0, 1048576.0]);
    let bandwidths = rows(&["--bandwidth", "--transport", "shm"]);
    assert_eq!(sizes(&bandwidths), [8.0, 65536.0, 1048576.0]);
    for row in &bandwidths {
        let [size, us, algbw, busbw] = [2, 7, 8, 9].map(|at| number(&row[at]));
        // Of an allreduce between two ranks both are the same; two digits are printed.
        assert!(
            (algbw - size / us / 1e3).abs() < 0.02 && algbw == busbw,
            "{row:?}"
        );
    }
    let csv = printed(&[&bench[..], &["--bandwidth", "--csv"]].concat());
    let lines: Vec<&str> = csv.lines().collect();
    assert_eq!(lines.len(), 4, "{csv}");
    assert!(lines[0].starts_with("collective,algorithm,ranks,size_bytes,count"));
    let said = text(&allhands(&["bench", "scan", "--csv"]).stderr);
    assert!(said.contains("--latency or --bandwidth"), "{said}");
}

#[test]
fn tables_have_the_three_best_and_fit() {
    let folder = folder("tables");
    let plots = folder.to_str().expect("a name in UTF-8");
    let bench = [
        "bench",
        "allreduce",
        "-n",
        "2",
        "--bytes",
        "64",
        "--time",
        "1",
    ];
    let rows = |more: &[&str]| {
        let run = [&bench[..], &["--plots", plots], more].concat();
        let output = Command::new(env!("CARGO_BIN_EXE_allhands"))
            .args(run)
            .env("COLUMNS", "110")
            .output();
        text(&output.expect("the program runs").stdout)
    };
    let few = rows(&[]);
    let row = few.lines().find(|line| line.starts_with("allreduce"));
    let row = row.expect("a row");
    assert!(
        row.chars().count() <= 110 && row.matches('×').count() <= 2,
        "{row}"
    );
    let all = rows(&["--all"]);
    assert!(all.matches('×').count() > 5, "{all}");
    assert!(
        all.lines()
            .filter(|l| l.contains('×'))
            .all(|l| l.chars().count() <= 110)
    );
    assert_eq!(few.matches(plots).count(), 1, "{few}");
}

#[test]
fn records_go_where_every_command_is_told() {
    let folder = folder("json");
    let file = folder.join("records.json");
    let path = file.to_str().expect("a name in UTF-8");
    let simulate = ["simulate", "scan", "--machine", "loggp", "--bytes", "8"];
    for command in [
        &["list", "scan"][..],
        &["explain", "scan"],
        &["verify", "scan", "--ranks", "3"],
        &simulate,
    ] {
        let count = |text: &str| records(text).len();
        let dash = printed(&[command, &["--json", "-"]].concat());
        let bare = printed(&[command, &["--json"]].concat());
        let beside = printed(&[command, &["--json", path]].concat());
        let written = std::fs::read_to_string(&file).expect("it is written");
        assert!(count(&dash) > 0, "{command:?}");
        assert_eq!(
            (count(&bare), count(&written)),
            (count(&dash), count(&dash))
        );
        assert!(!beside.contains('{') && !beside.is_empty(), "{beside}");
    }
    let said = text(&allhands(&["list", "--json", "scan"]).stderr);
    assert!(said.contains("put --json last"), "{said}");
}

#[test]
fn elements_of_every_type_are_checked_and_combined_by_every_operator() {
    let plots = folder("types");
    let plots = plots.to_str().expect("a name in UTF-8");
    for (element, operators) in [
        ("u8", &["sum", "bitwise xor"][..]),
        ("i32", &["product", "bitwise and"]),
        ("f64", &["min"]),
        ("bf16", &["sum", "product", "max"]),
    ] {
        for operator in operators {
            let bench = ["bench", "scan", "reduce-scatter", "alltoall", "-n", "3"];
            let asked = ["--bytes", "8,4K", "--time", "1"];
            let elements = ["--type", element, "--operator", operator];
            let outputs = ["--json", "-", "--plots", plots];
            let said = printed(&[&bench[..], &asked, &elements, &outputs].concat());
            let records = records(&said);
            assert!(!records.is_empty(), "{element} {operator}");
            for record in &records {
                assert_eq!(record["type"], *element, "{record}");
                let is_combined = record["collective"] != "alltoall" && *operator != "sum";
                let named = if is_combined {
                    Value::from(*operator)
                } else {
                    Value::Null
                };
                assert_eq!(record["operator"], named, "{record}");
            }
        }
    }
    for (wrong, right) in [
        (["--type", "f8"], "bf16"),
        (["--operator", "plus"], "sum, product"),
    ] {
        let output = allhands(&[&["bench", "scan", "-n", "2"][..], &wrong].concat());
        let said = text(&output.stderr);
        assert_eq!(output.status.code(), Some(2), "{said}");
        assert!(said.contains(right), "{said}");
    }
}
