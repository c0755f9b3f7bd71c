//! The rule that an algorithm's file says where the algorithm is published and shows it as a figure.

use super::{Finding, SourceFile, Tree};

const FOLDER: &str = "crates/allhands-core/src/algorithm/";

/// The papers that have a letter of their own; PAPERS.md says which they are.
const LETTERS: &[&str] = &["T", "Q", "C", "B"];

/// Authors of every other publication that an algorithm comes from; with them stands the year.
const AUTHORS: &[&str] = &[
    "Almási",
    "Bar-Noy",
    "Bruck",
    "Chan",
    "Chen",
    "Cowan",
    "Geijn",
    "De Sensi",
    "Fan",
    "Hensgen",
    "Ho",
    "Hoefler",
    "Jeaugey",
    "Johnsson",
    "Jung",
    "Kipnis",
    "Kolmakov",
    "Koslovski",
    "Li",
    "Loch",
    "Patarasuk",
    "Rabenseifner",
    "Ruefenacht",
    "Sabharwal",
    "Sack",
    "Sakharnykh",
    "Sanders",
    "Speck",
    "Thakur",
    "Träff",
    "Yuan",
];

/// Finds algorithm files whose head lacks a citation or a figure.
#[must_use]
pub fn check(tree: &Tree) -> Vec<Finding> {
    tree.rust()
        .filter(|file| is_algorithm(file.path))
        .flat_map(check_file)
        .collect()
}

/// Whether this is `algorithm/<collective>/<name>.rs` or below.
pub(super) fn is_algorithm(path: &str) -> bool {
    let Some((collective, file)) = path
        .strip_prefix(FOLDER)
        .and_then(|rest| rest.split_once('/'))
    else {
        return false;
    };
    let name = file.rsplit('/').next().unwrap_or(file);
    // Phases are parts of algorithms, and composition is that of several; the algorithms' files say whose.
    !matches!(collective, "phase" | "compose")
        && name != "mod.rs"
        && name != "tests.rs"
        && !file.starts_with("tests/")
}

fn check_file(file: SourceFile<'_>) -> Vec<Finding> {
    let head: Vec<&str> = file
        .text
        .lines()
        .map_while(|line| line.strip_prefix("//!"))
        .map(str::trim)
        .collect();
    let finding = |what: &str, right: &str| Finding {
        file: file.path.to_owned(),
        line: 1,
        rule: "citation",
        what: what.to_owned(),
        right: right.to_owned(),
    };
    let mut findings = Vec::new();
    if !cites(&head.join(" ")) {
        findings.push(finding(
            "the file's head cites no source",
            "`T`, `Q`, `C` or `B` and a section (`T 4.1.2`, `C table 2`), or an author and the \
             year (`Träff 2023`); a new author goes into xtask/src/tidy/citation.rs",
        ));
    }
    if !has_figure(&head) {
        findings.push(finding(
            "the file's head has no figure",
            "a fenced block that begins with ```text, shows the steps for a small number of ranks \
             and ends with ```",
        ));
    }
    findings
}

fn cites(head: &str) -> bool {
    let words: Vec<&str> = head
        .split(|c: char| c.is_whitespace() || "([,;:".contains(c))
        .filter(|word| !word.is_empty())
        .collect();
    let by_letter = words
        .windows(2)
        .any(|pair| LETTERS.contains(&pair[0]) && is_section(pair[1]));
    let by_author =
        AUTHORS.iter().any(|author| has_word(head, author)) && words.iter().any(is_year);
    by_letter || by_author
}

fn is_section(word: &str) -> bool {
    let digits = word.trim_start_matches('§');
    digits.starts_with(|c: char| c.is_ascii_digit())
        || [
            "table", "tables", "fig", "fig.", "figs", "figure", "figures", "section",
        ]
        .contains(&word)
}

fn has_word(text: &str, word: &str) -> bool {
    text.match_indices(word).any(|(at, _)| {
        let before = text[..at].chars().next_back();
        let after = text[at + word.len()..].chars().next();
        !before.is_some_and(char::is_alphanumeric) && !after.is_some_and(char::is_alphanumeric)
    })
}

fn is_year(word: &&str) -> bool {
    let digits = word.trim_matches(|c: char| !c.is_ascii_digit());
    let year: Option<u32> = (digits.len() == 4).then(|| digits.parse().ok()).flatten();
    year.is_some_and(|year| (1950..2100).contains(&year))
}

fn has_figure(head: &[&str]) -> bool {
    let Some(open) = head.iter().position(|line| *line == "```text") else {
        return false;
    };
    let body = &head[open + 1..];
    body.iter()
        .position(|line| *line == "```")
        .is_some_and(|close| body[..close].iter().any(|line| !line.is_empty()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn algorithm_files_are_those_below_a_collective() {
        for (path, expected) in [
            ("algorithm/broadcast/binomial.rs", true),
            ("algorithm/reduce/rabenseifner/fold.rs", true),
            ("algorithm/broadcast/mod.rs", false),
            ("algorithm/broadcast/tests.rs", false),
            ("algorithm/registry.rs", false),
            ("pattern/ring.rs", false),
        ] {
            let path = format!("crates/allhands-core/src/{path}");
            assert_eq!(is_algorithm(&path), expected, "{path}");
        }
    }

    #[test]
    fn citations_are_a_letter_and_a_section_or_an_author_and_a_year() {
        for cited in [
            "the dissemination barrier (T 4.1.2, C 5.1).",
            "cost Q (1)",
            "C table 2",
            "B §3.1",
            "after Träff (2023)",
            "Sanders, Speck and Träff, 2009.",
        ] {
            assert!(cites(cited), "{cited}");
        }
        for uncited in [
            "A barrier.",
            "T and Q",
            "since 2005",
            "by Sanders",
            "Hope in 2005",
            "type T1 4",
        ] {
            assert!(!cites(uncited), "{uncited}");
        }
    }

    #[test]
    fn a_figure_is_a_closed_block_with_something_in_it() {
        assert!(has_figure(&["```text", "0 -> 1", "```"]));
        assert!(!has_figure(&["```text", "", "```"]));
        assert!(!has_figure(&["```text", "0 -> 1"]));
        assert!(!has_figure(&["```", "0 -> 1", "```"]));
    }

    #[test]
    fn a_bare_file_lacks_both() {
        let path = format!("{FOLDER}barrier/direct.rs");
        let whole = "//! Direct (T 4.2).\n//!\n//! ```text\n//! 0 -> 1\n//! ```\n";
        assert_eq!(check(&Tree::of(&[(&path, whole)])), []);
        assert_eq!(check(&Tree::of(&[(&path, "//! Direct.\n")])).len(), 2);
    }
}
