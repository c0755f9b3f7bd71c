//! The rule that allhands-core stays true without a computer: no dependencies, no std, no unsafe code.

use super::{Finding, Tree};

const MANIFEST: &str = "crates/allhands-core/Cargo.toml";
const ROOT_MODULE: &str = "crates/allhands-core/src/lib.rs";

/// Exactly what allhands-core depends on, building included; what only its tests use is free.
const DEPENDENCIES: &[&str] = &[];

const ATTRIBUTES: &[&str] = &["#![no_std]", "#![forbid(unsafe_code)]"];

/// Finds dependencies of allhands-core that are not allowed and attributes that it lacks.
#[must_use]
pub fn check(tree: &Tree) -> Vec<Finding> {
    let mut findings = Vec::new();
    let mut push = |file: &str, line: usize, what: String, right: String| {
        findings.push(Finding {
            file: file.to_owned(),
            line,
            rule: "core",
            what,
            right,
        });
    };
    let found = dependencies(tree.text(MANIFEST).unwrap_or_default());
    for (line, name) in &found {
        if !DEPENDENCIES.contains(&name.as_str()) {
            push(
                MANIFEST,
                *line,
                format!("allhands-core depends on `{name}`"),
                format!("only {DEPENDENCIES:?}, the list in xtask/src/tidy/core_crate.rs"),
            );
        }
    }
    for listed in DEPENDENCIES {
        if !found.iter().any(|(_, name)| name == listed) {
            push(
                MANIFEST,
                1,
                format!("allhands-core no longer depends on `{listed}`"),
                "drop it from the list in xtask/src/tidy/core_crate.rs".to_owned(),
            );
        }
    }
    let root = tree.text(ROOT_MODULE).unwrap_or_default();
    for attribute in ATTRIBUTES {
        if !root.lines().any(|line| line.trim() == *attribute) {
            push(
                ROOT_MODULE,
                1,
                format!("`{attribute}` is missing"),
                "the attribute on a line of its own".to_owned(),
            );
        }
    }
    findings
}

/// The names of a manifest's dependencies, also a target's and the build script's, with their lines.
fn dependencies(manifest: &str) -> Vec<(usize, String)> {
    let mut names = Vec::new();
    let mut in_section = false;
    for (index, line) in manifest.lines().enumerate() {
        let line = line.trim();
        if let Some(header) = line.strip_prefix('[') {
            let header = header.split(']').next().unwrap_or_default();
            let parts: Vec<&str> = header.split('.').collect();
            let of_section = |part: &&str| ["dependencies", "build-dependencies"].contains(part);
            // In `[dependencies.name]` the name stands in the header.
            in_section = parts.last().is_some_and(of_section);
            if let [.., section, name] = parts.as_slice()
                && of_section(section)
            {
                names.push((index + 1, (*name).to_owned()));
            }
        } else if in_section
            && !line.starts_with('#')
            && let Some((key, _)) = line.split_once('=')
        {
            let name = key.split('.').next().unwrap_or_default();
            names.push((index + 1, name.trim().trim_matches('"').to_owned()));
        }
    }
    names
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dependencies_are_found_however_they_are_written() {
        let manifest = "[package]\nname = \"x\"\n[dependencies]\na = \"1\"\nb.workspace = true\n\
                        # c = \"1\"\n[dependencies.d]\nversion = \"1\"\n[dev-dependencies]\ne = \"1\"\n\
                        [build-dependencies]\nf = \"1\"\n[target.'cfg(unix)'.dependencies]\ng = \"1\"\n\
                        [lints]\nworkspace = true\n";
        let names: Vec<(usize, String)> = dependencies(manifest);
        let expected = [(4, "a"), (5, "b"), (7, "d"), (12, "f"), (14, "g")];
        assert_eq!(names, expected.map(|(line, name)| (line, name.to_owned())));
    }

    #[test]
    fn each_fault_is_found_at_its_place() {
        let tree = Tree::of(&[
            (MANIFEST, "[dependencies]\nlibm = \"0.2\"\n"),
            (
                ROOT_MODULE,
                "//! Core.\n// #![no_std]\n#![forbid(unsafe_code)]\n",
            ),
        ]);
        let found: Vec<(String, usize)> =
            check(&tree).into_iter().map(|f| (f.what, f.line)).collect();
        let expected = [
            ("allhands-core depends on `libm`", 2),
            ("`#![no_std]` is missing", 1),
        ];
        assert_eq!(found, expected.map(|(what, line)| (what.to_owned(), line)));
    }
}
