//! The repository keeps its own rules.

use xtask::{repository_root, tidy};

#[test]
fn the_repository_is_tidy() {
    let tree = tidy::Tree::read(&repository_root()).expect("the repository can be read");
    let findings = tidy::findings(&tree);
    let shown: Vec<String> = findings.iter().map(ToString::to_string).collect();
    assert!(findings.is_empty(), "\n\n{}\n", shown.join("\n\n"));
}
