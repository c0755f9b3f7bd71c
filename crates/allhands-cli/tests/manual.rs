//! What shells, readers of manuals, and those who report errors are told: completions, man pages, the version.

use std::path::Path;
use std::process::Command;

fn allhands(arguments: &[&str]) -> String {
    let output = Command::new(env!("CARGO_BIN_EXE_allhands"))
        .args(arguments)
        .output()
        .expect("it starts");
    assert!(output.status.success(), "{arguments:?}: {output:?}");
    String::from_utf8(output.stdout).expect("text")
}

#[test]
fn completions_know_commands_and_algorithms() {
    for shell in ["bash", "zsh", "fish"] {
        let script = allhands(&["completions", shell]);
        // Of what has no option before it, as the collective, fish is told nothing.
        let collective = if shell == "fish" {
            "simulate"
        } else {
            "allreduce"
        };
        for word in ["simulate", collective, "binary-blocks", "mpich-2005"] {
            assert!(script.contains(word), "{shell}: no {word}");
        }
    }
}

#[test]
fn every_command_has_a_man_page() {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("man");
    allhands(&["man", folder.to_str().expect("a path in UTF-8")]);
    let page = |name: &str| {
        let file = folder.join(name);
        std::fs::read_to_string(&file).unwrap_or_else(|error| panic!("{}: {error}", file.display()))
    };
    assert!(
        page("allhands.1").contains("allhands\\-verify(1)"),
        "commands are listed"
    );
    for command in [
        "list", "verify", "draw", "explain", "simulate", "bench", "tune", "mpi",
    ] {
        assert!(
            page(&format!("allhands-{command}.1")).contains(".SH SYNOPSIS"),
            "{command}"
        );
    }
    assert!(
        page("allhands-draw.1").contains("rabenseifner"),
        "algorithms are listed"
    );
}

#[test]
fn a_name_in_the_lists_may_still_have_parameters() {
    let text = allhands(&[
        "draw",
        "allgather",
        "--algorithm",
        "bruck:radix=3",
        "--ranks",
        "4",
    ]);
    assert!(text.contains("bruck"), "{text}");
}

#[test]
fn the_version_names_a_commit_where_there_is_one() {
    let version = allhands(&["--version"]);
    let rest = version
        .trim()
        .strip_prefix(concat!("allhands ", env!("CARGO_PKG_VERSION")));
    let rest = rest.expect("the version of the package");
    let git = Command::new("git").args(["rev-parse", "HEAD"]).output();
    match git.ok().filter(|output| output.status.success()) {
        Some(_) => {
            let commit = rest.strip_prefix(" (").and_then(|r| r.strip_suffix(')'));
            let commit = commit.expect("a commit in parentheses");
            assert!(
                commit.len() >= 12 && commit.chars().all(|c| c.is_ascii_hexdigit()),
                "{rest}"
            );
        }
        None => assert_eq!(rest, ""),
    }
}
