//! `allhands tune --mpi` on a library that is taken for MPICH: what is faster is found, written, resumed and evaluated; mistakes are named.
#![cfg(target_os = "linux")]

use std::path::{Path, PathBuf};
use std::process::{Command, Output};

/// A folder with a library, removed at its end.
struct Bench {
    folder: PathBuf,
}

impl Bench {
    fn new(name: &str) -> Bench {
        let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("tune-mpi-{name}"));
        let _ = std::fs::remove_dir_all(&folder);
        std::fs::create_dir_all(&folder).expect("it can be made");
        let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/tune_mpi/library.c");
        let mut gcc = Command::new("gcc");
        gcc.args(["-shared", "-fPIC", "-O1", "-w", "-o"])
            .arg(folder.join("libmpi.so.12"))
            .arg(source);
        assert!(gcc.status().expect("gcc is there").success());
        Bench { folder }
    }

    /// The tuner with these words; `env` stands for a launcher of one rank.
    fn tune(&self, words: &[&str]) -> Output {
        let mut command = Command::new(env!("CARGO_BIN_EXE_allhands"));
        command
            .args(["tune", "--mpi", "broadcast", "--bytes", "8,4K", "--library"])
            .arg(self.folder.join("libmpi.so.12"))
            .arg("--output")
            .arg(self.folder.join("tuned"))
            .args(words)
            .args(["--", "env"]);
        command.output().expect("the program runs")
    }

    fn read(&self, name: &str) -> String {
        std::fs::read_to_string(self.folder.join("tuned").join(name)).expect("it was written")
    }
}

fn text(output: &Output) -> String {
    String::from_utf8_lossy(&[output.stdout.as_slice(), &output.stderr].concat()).into_owned()
}

#[test]
fn what_is_faster_is_found_and_written_and_the_library_goes_by_it() {
    let bench = Bench::new("whole");
    let output = bench.tune(&["--time", "20"]);
    let said = text(&output);
    // A result was wrong.
    assert_eq!(output.status.code(), Some(1), "{said}");
    assert!(
        said.contains("MPICH 4.9, 1 rank on 1 host: 2 of 2 places"),
        "{said}"
    );
    assert!(
        said.contains("scatter_ring_allgather: its result is wrong"),
        "{said}"
    );
    assert!(said.contains("tree:k=2: it never came back"), "{said}");
    let tree = bench.read("mpich.json").replace(['\n', ' '], "");
    let branch =
        r#""comm_size<=1":{"avg_msg_size=any":{"algorithm=MPIR_Bcast_intra_binomial":{}}}"#;
    assert!(tree.contains(branch), "{tree}");
    assert!(bench.read("mpich-posix.json").contains("release_gather"));
    assert!(
        bench
            .read("use.sh")
            .contains("export MPIR_CVAR_COLL_SELECTION_TUNING_JSON_FILE='")
    );

    // All is known, so nothing is measured again.
    let measured = bench.read("measured.txt");
    let output = bench.tune(&["--resume", "--time", "5"]);
    assert!(text(&output).contains("2 of 2 places"), "{}", text(&output));
    assert_eq!(bench.read("measured.txt"), measured);

    let json = bench.folder.join("evaluation.json");
    let output = bench.tune(&[
        "--evaluate",
        "--time",
        "20",
        "--json",
        json.to_str().expect("a name"),
    ]);
    let said = text(&output);
    assert!(output.status.success(), "{said}");
    assert!(said.contains("no interval lies below 0.97"), "{said}");
    let rows: serde_json::Value =
        serde_json::from_slice(&std::fs::read(json).expect("it was written")).expect("is JSON");
    for row in rows.as_array().expect("is an array") {
        assert_eq!(row["chosen"], "binomial");
        let low = row["file_ratio"][1].as_f64().expect("is a number");
        assert!(low > 2.0, "{row}");
    }
}

#[test]
fn mistakes_say_what_would_be_right() {
    let bench = Bench::new("mistakes");
    let said = text(&bench.tune(&["--evaluate"]));
    assert!(
        said.contains("in which `allhands tune --mpi` has measured"),
        "{said}"
    );
    let said = text(&bench.tune(&["--ranks", "4"]));
    assert!(said.contains("cannot be used with"), "{said}");
    let allhands = |words: &[&str]| {
        let mut command = Command::new(env!("CARGO_BIN_EXE_allhands"));
        let output = command
            .current_dir(&bench.folder)
            .arg("tune")
            .args(words)
            .output();
        let output = output.expect("the program runs");
        assert_eq!(output.status.code(), Some(2), "{words:?}");
        text(&output)
    };
    for (words, right) in [
        (&["--mpi"][..], "-- <LAUNCHER>"),
        (&["--", "mpiexec"], "--mpi"),
        (&["--mpi", "--", "./no-launcher"], "such as mpiexec -n 8"),
        (&["--mpi", "--", "true"], "before its ranks said anything"),
        (
            &[
                "--mpi",
                "--library",
                "no.so",
                "--",
                "env",
                "LD_LIBRARY_PATH=",
            ],
            "no.so",
        ),
    ] {
        let said = allhands(words);
        assert!(said.contains(right), "{words:?}: {said}");
    }
}
