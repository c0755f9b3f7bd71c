//! The rule that every algorithm's file stands in its collective's table: nothing else would notice one that is never compiled.

use super::citation::is_algorithm;
use super::{Finding, Tree};

/// How many `/` the path of a collective's folder has.
const DEPTH: usize = 4;

/// Finds algorithm files that their folder's `mod.rs` does not list.
#[must_use]
pub fn check(tree: &Tree) -> Vec<Finding> {
    let mut findings = Vec::new();
    for file in tree.rust().filter(|file| is_algorithm(file.path)) {
        let Some((folder, name)) = file.path.rsplit_once('/') else {
            continue;
        };
        // What lies deeper is a part of an algorithm.
        if folder.matches('/').count() != DEPTH {
            continue;
        }
        let name = name.trim_end_matches(".rs");
        let table = format!("{folder}/mod.rs");
        let row = format!("&{name}::ALGORITHM");
        let lists = |text: &str| {
            let rows = text.split([',', '[', ']']).map(str::trim);
            rows.into_iter().any(|listed| listed == row)
        };
        if !tree.text(&table).is_some_and(lists) {
            findings.push(Finding {
                file: file.path.to_owned(),
                line: 1,
                rule: "registered",
                what: format!("{table} does not list the algorithm"),
                right: format!("a row `{row}` in its table `ALL`"),
            });
        }
    }
    findings
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_that_no_table_lists_is_found() {
        let folder = "crates/allhands-core/src/algorithm/allgather";
        let table = "pub const ALL: &[&Algorithm] = &[\n    &ring::ALGORITHM,\n];\n";
        let [of_table, ring, other] =
            ["mod", "ring", "other"].map(|name| format!("{folder}/{name}.rs"));
        let tree = Tree::of(&[(&of_table, table), (&ring, ""), (&other, "")]);
        let found: Vec<String> = check(&tree).into_iter().map(|f| f.file).collect();
        assert_eq!(found, [other]);
    }
}
