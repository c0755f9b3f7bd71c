//! `allhands verify FILE.sched`: schedules of one's own, proved as they stand.

use std::path::{Path, PathBuf};
use std::process::Command;

/// The exit status and all that is said of a file, with more arguments.
fn verify(file: &Path, more: &[&str]) -> (i32, String) {
    let output = Command::new(env!("CARGO_BIN_EXE_allhands"))
        .arg("verify")
        .arg(file)
        .args(more)
        .output()
        .expect("the program runs");
    let said = [output.stdout, output.stderr].concat();
    let text = String::from_utf8(said).expect("it prints text");
    (output.status.code().expect("it ends by itself"), text)
}

fn testdata(name: &str) -> PathBuf {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    root.join("testdata/schedules").join(name)
}

/// A file of its own with this text.
fn written(name: &str, text: &str) -> PathBuf {
    let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
    std::fs::write(&path, text).expect("it can be written");
    path
}

const RIGHT: &str = "claims ports=1 steps=1 volume=1 work=0
call broadcast ranks 2 root 0
parts 1
rank 0 { strand 0 { step { copy in[0] into out[0] send to 1 port 0 in[0] } } }
rank 1 { strand 0 { step { recv from 0 port 0 into out[0] } } }
";

#[test]
fn golden_schedules_hold() {
    for name in [
        "allreduce-ring-p4.sched",
        "allreduce-shared-memory-p3.sched",
    ] {
        let (status, said) = verify(&testdata(name), &[]);
        assert_eq!(status, 0, "{said}");
        assert!(
            said.contains("laws 1 to 5 hold") && said.contains("as claimed"),
            "{said}"
        );
    }
}

#[test]
fn a_broken_law_is_named_with_lines() {
    let (status, said) = verify(&testdata("broken/1-strands-share-a-channel.sched"), &[]);
    assert_eq!(status, 1, "{said}");
    assert!(
        said.contains("law 1, rank 0: strands 0 and 1 both send on channel 0 from rank 0 to rank 1 (rank 0 begins in line 6)"),
        "{said}"
    );
    let (status, said) = verify(&testdata("broken/4-writes-input.sched"), &[]);
    assert_eq!(status, 1, "{said}");
    assert!(
        said.contains("law 4") && said.contains(" is in line "),
        "{said}"
    );
    let (status, json) = verify(
        &testdata("broken/6-more-ports.sched"),
        &["-q", "--json", "-"],
    );
    assert_eq!(status, 1, "{json}");
    assert!(
        json.contains("\"ok\":false") && json.contains("law 6"),
        "{json}"
    );
}

#[test]
fn mistakes_in_a_file_are_named_at_their_lines() {
    for (name, text, says) in [
        (
            "operation",
            RIGHT.replace("recv from", "receive from"),
            "line 5, column 28: unexpected 'receive'; right would be an operation",
        ),
        (
            "operator",
            RIGHT.replace("broadcast ranks 2", "reduce ranks 2"),
            "line 3, column 1: unexpected 'parts'; right would be 'commutative' or 'ordered'",
        ),
        (
            "claim",
            RIGHT.replace("steps=1", "step=1"),
            "line 1: 'step=1' is no claim; right would be such as",
        ),
        (
            "claims",
            RIGHT.replace(" work=0", ""),
            "line 1: the claims lack one of ports, steps, volume and work",
        ),
    ] {
        let file = written(&format!("verify-{name}.sched"), &text);
        let (status, said) = verify(&file, &[]);
        assert_eq!(status, 2, "{said}");
        assert!(said.contains(says), "{says} is not in {said}");
    }
    let (status, said) = verify(&written("verify-right.sched", RIGHT), &["-q"]);
    assert_eq!(status, 0, "{said}");
    let other = RIGHT.replace("steps=1", "steps=2");
    let (status, said) = verify(&written("verify-other.sched", &other), &[]);
    assert_eq!(status, 1, "{said}");
    assert!(
        said.contains("law 6, rank 0: counts steps 1 and claims 2"),
        "{said}"
    );
}

#[test]
fn what_says_nothing_of_a_file_is_refused() {
    let file = written("verify-options.sched", RIGHT);
    for option in [
        &["--ranks", "3"][..],
        &["--all-roots"],
        &["--algorithm", "ring"],
    ] {
        let (status, said) = verify(&file, option);
        assert_eq!(status, 2, "{said}");
        assert!(
            said.contains(&format!("{} is for registered algorithms", option[0])),
            "{said}"
        );
    }
    let (status, said) = verify(Path::new("there-is-none.sched"), &[]);
    assert_eq!(status, 2, "{said}");
    assert!(said.contains("cannot read there-is-none.sched"), "{said}");
}
