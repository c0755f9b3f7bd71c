//! Tuning from the outside: a table is measured, found, explained and, if it is broken, named.

use allhands_core::choose::Table;
use std::path::PathBuf;
use std::process::{Command, Output};

/// A cache folder of a test's own, removed at its end.
struct Cache(PathBuf);

impl Cache {
    fn new(name: &str) -> Cache {
        let folder = format!("allhands-tune-{name}-{}", std::process::id());
        let folder = std::env::temp_dir().join(folder);
        std::fs::create_dir_all(&folder).expect("it can be made");
        Cache(folder)
    }

    fn allhands(&self, arguments: &[&str]) -> Output {
        Command::new(env!("CARGO_BIN_EXE_allhands"))
            .args(arguments)
            .env("XDG_CACHE_HOME", &self.0)
            .output()
            .expect("the program runs")
    }

    fn printed(&self, arguments: &[&str]) -> String {
        let output = self.allhands(arguments);
        let said = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{arguments:?} fails: {said}");
        String::from_utf8(output.stdout).expect("it prints text")
    }

    fn said(&self, arguments: &[&str]) -> String {
        let output = self.allhands(arguments);
        assert!(!output.status.success(), "{arguments:?} succeeds");
        String::from_utf8_lossy(&output.stderr).into_owned()
    }

    /// How many processes with this cache folder are ranks now.
    fn ranks(&self) -> usize {
        let cache = format!("XDG_CACHE_HOME={}", self.0.display());
        let is_rank = |environment: &Vec<u8>| {
            let set: Vec<&[u8]> = environment.split(|byte| *byte == 0).collect();
            set.contains(&cache.as_bytes()) && set.iter().any(|v| v.starts_with(b"ALLHANDS_RANK="))
        };
        let processes = std::fs::read_dir("/proc")
            .expect("processes are listed")
            .flatten();
        let environments = processes.map(|p| std::fs::read(p.path().join("environ")));
        environments.flatten().filter(is_rank).count()
    }

    /// Where this machine's table is.
    fn table(&self) -> PathBuf {
        let name = allhands::policy::file().expect("there is a home");
        let folder = self.0.join("allhands");
        std::fs::create_dir_all(&folder).expect("it can be made");
        folder.join(name.file_name().expect("it is a file"))
    }
}

impl Drop for Cache {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

#[test]
fn what_was_tuned_is_what_is_chosen() {
    let cache = Cache::new("whole");
    assert!(
        cache
            .said(&["explain", "scan", "--policy", "tuned"])
            .contains("allhands tune makes one")
    );
    let tune = [
        "tune",
        "allreduce",
        "barrier",
        "-n",
        "2",
        "--bytes",
        "8,512",
        "--time",
        "5",
    ];
    let text = cache.printed(&tune);
    assert!(text.contains("3 places measured"), "{text}");
    let text = std::fs::read_to_string(cache.table()).expect("it was written");
    let table = Table::parse("t", &text).expect("it is right");
    let sizes = table.rows().iter().map(|row| row.cells().len());
    assert_eq!(sizes.collect::<Vec<_>>(), [1, 2]);
    let best = &table.rows()[1].cells()[1].ranking[0];
    assert!(best.time_ns.is_some_and(|ns| ns > 0));
    // Nothing is left to do; and processes choose by it.
    let again = cache.printed(&[&tune[..], &["--resume"]].concat());
    assert!(again.contains("0 places measured"), "{again}");
    let bench = [
        "bench",
        "allreduce",
        "-n",
        "2",
        "--bytes",
        "64",
        "--time",
        "0.3",
    ];
    let plots = cache.0.to_str().unwrap();
    cache.printed(&[&bench[..], &["--transport", "shm", "--plots", plots]].concat());
    is_explained(&cache, &table);
}

#[test]
fn ranks_that_are_tuned_are_processes_or_threads_and_no_ranks_of_others() {
    let cache = Cache::new("ranks");
    let (table, program) = (cache.0.join("t.toml"), env!("CARGO_BIN_EXE_allhands"));
    let tune = ["tune", "barrier", "-n", "2,3", "--time", "1", "-o"];
    let tune = [&tune[..], &[table.to_str().unwrap()]].concat();
    for transport in ["threads", "shm"] {
        let text = cache.printed(&[&tune[..], &["--transport", transport]].concat());
        assert!(text.contains("2 places measured"), "{text}");
    }
    for (transport, processes) in [("threads", 0), ("shm", 3)] {
        let long = ["tune", "barrier", "-n", "3", "--time", "2", "-o"];
        let long = [&long[..], &[table.to_str().unwrap()]].concat();
        let mut tune = Command::new(program)
            .args([&long[..], &["--transport", transport]].concat())
            .env("XDG_CACHE_HOME", &cache.0)
            .stdout(std::process::Stdio::null())
            .spawn()
            .expect("the program runs");
        let mut most = 0;
        while tune.try_wait().expect("it can be asked").is_none() {
            most = most.max(cache.ranks());
            std::thread::sleep(std::time::Duration::from_millis(10));
        }
        assert_eq!(most, processes, "ranks as processes, with {transport}");
    }
    let said = cache.said(&["run", "-n", "2", "--", program, "tune", "barrier"]);
    assert!(said.contains("tune starts its own ranks"), "{said}");
}

/// A table decides by itself, and what is chosen says where it is from.
fn is_explained(cache: &Cache, table: &Table) {
    let best = &table.rows()[1].cells()[1].ranking[0];
    let oversubscribed = if table.rows()[1].oversubscribed {
        "yes"
    } else {
        "no"
    };
    let explain = [
        "explain",
        "allreduce",
        "-n",
        "2",
        "--bytes",
        "600",
        "--oversubscribed",
        oversubscribed,
    ];
    for more in [
        &[][..],
        &["--policy", "tuned"],
        &["--policy", cache.table().to_str().unwrap()],
    ] {
        let said = cache.printed(&[&explain[..], more].concat());
        let file = cache
            .table()
            .file_name()
            .unwrap()
            .to_str()
            .unwrap()
            .to_string();
        for part in [
            file.as_str(),
            "measured 20",
            "2 ranks, 512 B",
            &best.name,
            "not reached",
        ] {
            assert!(said.contains(part), "no {part} in: {said}");
        }
        assert_eq!(said.matches(&file).count(), 1, "{said}");
    }
    // What it has not measured, the built-in table decides.
    let said = cache.printed(&["explain", "scan", "-n", "2", "--oversubscribed", "no"]);
    assert!(said.contains("(shm, "), "{said}");
    assert!(said.contains("no: not in the table"), "{said}");
}

#[test]
fn a_broken_table_is_named_with_its_line() {
    let cache = Cache::new("broken");
    let broken = "format = 1\nmachine = \"m\"\nversion = \"0.1.0\"\n\n[[row]]\nranks = 0\n";
    std::fs::write(cache.table(), broken).expect("it is written");
    let path = cache.table().display().to_string();
    let bench = ["bench", "barrier", "-n", "2", "--transport", "shm"];
    for arguments in [
        &["explain", "scan"][..],
        &["explain", "scan", "--policy", "tuned"],
        &["explain", "scan", "--policy", &path],
        &["tune", "scan"],
        &bench,
    ] {
        let said = cache.said(arguments);
        let says = format!("{path}, line 6: the value of 'ranks' must be");
        assert!(said.contains(&says), "{arguments:?} says: {said}");
        assert!(!said.contains("panicked"), "{said}");
    }
    let missing = ["explain", "scan", "--policy", "nowhere.toml"];
    assert!(cache.said(&missing).contains("nowhere.toml cannot be read"));
}

#[test]
fn mistakes_are_named() {
    let cache = Cache::new("mistakes");
    for (arguments, says) in [
        (&["tune", "alreduce"][..], "did you mean allreduce"),
        (&["tune", "--bytes", "3"], "multiples of 8"),
        (&["tune", "--time", "0"], "more than 0"),
        (&["tune", "-n", "300"], "at most 256"),
        (
            &["explain", "scan", "--oversubscribed", "maybe"],
            "neither yes nor no",
        ),
    ] {
        let said = cache.said(arguments);
        assert!(said.contains(says), "{arguments:?} says: {said}");
    }
}
