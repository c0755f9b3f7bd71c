//! The rule that words of our own stay retired for which the field has others.

use super::{Finding, SourceFile, Tree};

/// A word that was used here once, in small letters, and is not any more.
struct Retired {
    word: &'static str,
    /// What others call it.
    right: &'static str,
    /// Paths that begin so may have it: there it means something else.
    allowed: &'static [&'static str],
}

/// Where the word is a name of its own: this table, and names of packages.
const EVERYWHERE: &[&str] = &["xtask/src/tidy/retired.rs", "Cargo.lock", "fuzz/Cargo.lock"];

/// What hardware does: the wires and trees in which all ranks meet.
const HARDWARE: &[&str] = &[
    "crates/allhands-core/",
    "crates/allhands-cli/",
    "crates/allhands/tests/",
    "crates/allhands/src/policy/forecast/candidates.rs",
    "crates/allhands/src/transport/endpoint/engine/operations.rs",
    "crates/allhands/src/transport/error.rs",
    "crates/allhands/src/transport/net/ofi/",
    "docs/schedules.md",
    "docs/machines.md",
    "testdata/schedules/",
    // Intel MPI calls a setting so.
    "xtask/src/peers.rs",
];

/// Where names of Python's packages stand.
const PYTHON: &[&str] = &["crates/allhands-python/", "docs/python.md"];

const fn word(word: &'static str, right: &'static str) -> Retired {
    but(word, right, &[])
}

const fn but(word: &'static str, right: &'static str, allowed: &'static [&'static str]) -> Retired {
    Retired {
        word,
        right,
        allowed,
    }
}

const RETIRED: &[Retired] = &[
    word("flight", "request; its state is RequestState"),
    word("flights", "requests"),
    but("fabric", "shared segment; a fabric is hardware", HARDWARE),
    but("fabrics", "shared segments; a fabric is hardware", HARDWARE),
    word("crowded", "oversubscribed"),
    word("crowdedness", "oversubscription"),
    but(
        "slab",
        "medium buffer",
        &["crates/allhands-core/src/simulate/cell/"],
    ),
    word("slabs", "medium buffers"),
    word("parcel", "pipeline buffer"),
    word("parcels", "pipeline buffers"),
    word("outbox", "send descriptors"),
    word("manner", "copy protocol; elsewhere way or style"),
    word("manners", "copy protocols; elsewhere ways"),
    word(
        "invitation",
        "ready to receive (receiver-initiated rendezvous)",
    ),
    word("shortcut", "fast path"),
    word("bell", "wait queue"),
    word("vigil", "liveness"),
    word("helm", "progress thread"),
    word("deck", "state lock"),
    word("outset", "nonblocking start"),
    but("meeting", "agreement; ranks meet in hardware", HARDWARE),
    word("take_over", "claim_for_write"),
    // PyTorch and JAX call it so.
    but("all_to_all", "alltoall", PYTHON),
    word("all-to-all", "alltoall"),
];

/// Finds retired words, as words of their own or as parts of a name, in large letters and in small.
#[must_use]
pub fn check(tree: &Tree) -> Vec<Finding> {
    tree.texts().flat_map(check_file).collect()
}

fn check_file(file: SourceFile<'_>) -> Vec<Finding> {
    let begins = |paths: &[&str]| paths.iter().any(|path| file.path.starts_with(path));
    if begins(EVERYWHERE) {
        return Vec::new();
    }
    let applying: Vec<&Retired> = RETIRED.iter().filter(|r| !begins(r.allowed)).collect();
    let mut findings = Vec::new();
    for (index, line) in file.text.lines().enumerate() {
        let line = line.to_lowercase();
        for retired in applying.iter().filter(|r| r.is_in(&line)) {
            findings.push(Finding {
                file: file.path.to_owned(),
                line: index + 1,
                rule: "retired",
                what: format!("`{}` stands here", retired.word),
                right: retired.right.to_owned(),
            });
        }
    }
    findings
}

impl Retired {
    /// Whether a line in small letters has the word; what is in flight is the field's word.
    fn is_in(&self, line: &str) -> bool {
        line.match_indices(self.word).any(|(at, _)| {
            let before = line[..at].chars().next_back();
            let after = line[at + self.word.len()..].chars().next();
            let goes_on = |c: Option<char>| c.is_some_and(char::is_alphanumeric);
            let is_idiom = self.word == "flight" && line[..at].ends_with("in ");
            !goes_on(before) && !goes_on(after) && !is_idiom
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(path: &str, text: &str) -> Vec<usize> {
        let tree = Tree::of(&[(path, text)]);
        check(&tree).into_iter().map(|found| found.line).collect()
    }

    #[test]
    fn words_and_parts_of_names_are_found() {
        let text = "a slab\nSLAB_BYTES\nfn send_parcel()\nmessages in flight\nmeshlabs\nThe Flight\nall-to-all\n";
        assert_eq!(found("crates/allhands/src/a.rs", text), [1, 2, 3, 6, 7]);
    }

    #[test]
    fn hardware_has_fabrics() {
        assert!(found("crates/allhands-core/src/a.rs", "a fabric").is_empty());
        assert_eq!(found("crates/allhands/src/a.rs", "a fabric"), [1]);
    }
}
