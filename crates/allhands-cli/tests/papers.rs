//! PAPERS.md: every entry names a file that is there and a command that runs.

use std::path::{Path, PathBuf};
use std::process::Command;

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// The rows of the tables: section, what, file, command.
fn rows(text: &str) -> Vec<[String; 4]> {
    let cells = |line: &str| -> Option<[String; 4]> {
        let cells: Vec<String> = line
            .trim()
            .trim_matches('|')
            .split(" | ")
            .map(|c| c.trim().to_string())
            .collect();
        cells.try_into().ok()
    };
    text.lines()
        .filter(|line| {
            line.starts_with("| ") && !line.contains("---") && !line.starts_with("| paper section")
        })
        .map(|line| cells(line).unwrap_or_else(|| panic!("PAPERS.md: not four cells: {line}")))
        .collect()
}

#[test]
fn every_entry_names_a_file_and_a_command_that_runs() {
    let root = root();
    let text = std::fs::read_to_string(root.join("PAPERS.md")).expect("PAPERS.md");
    let rows = rows(&text);
    assert!(rows.len() >= 60, "only {} entries", rows.len());
    let folder = std::env::temp_dir().join(format!("allhands-papers-test-{}", std::process::id()));
    std::fs::create_dir_all(&folder).expect("a folder for pictures");
    for [section, _, file, command] in &rows {
        let file = file.trim_matches('`');
        assert!(root.join(file).exists(), "{section}: there is no {file}");
        let command = command.trim_matches('`');
        let words: Vec<&str> = command.split_whitespace().collect();
        let ["allhands", arguments @ ..] = &words[..] else {
            panic!("{section}: '{command}' does not run allhands")
        };
        let output = Command::new(env!("CARGO_BIN_EXE_allhands"))
            .args(arguments)
            .current_dir(&folder)
            .output()
            .expect("the program runs");
        let said = String::from_utf8_lossy(&output.stderr);
        assert!(
            output.status.success(),
            "{section}: '{command}' fails: {said}"
        );
    }
    std::fs::remove_dir_all(&folder).expect("the pictures can be removed");
}

#[test]
fn every_algorithm_has_an_entry() {
    let text = std::fs::read_to_string(root().join("PAPERS.md")).expect("PAPERS.md");
    for algorithm in allhands_core::algorithm::all() {
        let name = algorithm.name.replace('-', "_");
        // No module's name begins with a digit: 123-doubling is in doubling_123.rs.
        let name = match name.split_once('_') {
            Some((number, word)) if number.parse::<u32>().is_ok() => format!("{word}_{number}"),
            _ => name,
        };
        let file = format!(
            "crates/allhands-core/src/algorithm/{}/{name}.rs",
            algorithm.collective.name().replace('-', "_"),
        );
        assert!(
            root().join(&file).exists(),
            "{algorithm:?} is not in {file}"
        );
        assert!(text.contains(&file), "PAPERS.md does not name {file}");
    }
}
