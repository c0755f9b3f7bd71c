//! The rule that the tree says nothing that is true on one machine only.

use super::{Finding, SourceFile, Tree};

/// A text that no file may hold.
struct Forbidden {
    /// Written in two parts, so that this table keeps its own rule.
    text: &'static str,
    /// Whether it is a path from the machine's root: then the same letters inside a longer,
    /// relative path are no match.
    is_absolute_path: bool,
    /// Files that end so are looked at; an empty text is every file.
    files_ending: &'static str,
    /// The one file that may hold it.
    except: &'static [&'static str],
    right: &'static str,
}

const RELATIVE: &str = "a path relative to the repository's root, or one handed in";
const NO_HOST: &str = "the package's name alone: cargo knows where packages come from";

const FORBIDDEN: &[Forbidden] = &[
    absolute(concat!("/wo", "rk/")),
    absolute(concat!("/ro", "ot/")),
    absolute(concat!("/ho", "me/")),
    absolute(concat!("/Us", "ers/")),
    host(concat!("crates", ".io")),
    host(concat!("pypi", ".org")),
    host(concat!("pythonhosted", ".org")),
    host(concat!("npmjs", ".org")),
    host(concat!("deb.debian", ".org")),
    Forbidden {
        text: concat!("#[ig", "nore"),
        is_absolute_path: false,
        files_ending: ".rs",
        except: &[],
        right: "a test that runs, or none",
    },
];

const fn absolute(text: &'static str) -> Forbidden {
    Forbidden {
        text,
        is_absolute_path: true,
        files_ending: "",
        except: &[],
        right: RELATIVE,
    }
}

const fn host(text: &'static str) -> Forbidden {
    Forbidden {
        text,
        is_absolute_path: false,
        files_ending: "",
        // Of the workspace, and of the fuzz targets, which are one of their own.
        except: &["Cargo.lock", "fuzz/Cargo.lock"],
        right: NO_HOST,
    }
}

/// Finds machine paths, hosts of package registries and tests that do not run.
#[must_use]
pub fn check(tree: &Tree) -> Vec<Finding> {
    tree.texts().flat_map(check_file).collect()
}

fn check_file(file: SourceFile<'_>) -> Vec<Finding> {
    let applying: Vec<&Forbidden> = FORBIDDEN
        .iter()
        .filter(|word| file.path.ends_with(word.files_ending) && !word.except.contains(&file.path))
        .collect();
    let mut findings = Vec::new();
    for (index, line) in file.text.lines().enumerate() {
        for word in applying.iter().filter(|word| word.is_in(line)) {
            findings.push(Finding {
                file: file.path.to_owned(),
                line: index + 1,
                rule: "words",
                what: format!("`{}` stands here", word.text),
                right: word.right.to_owned(),
            });
        }
    }
    findings
}

impl Forbidden {
    fn is_in(&self, line: &str) -> bool {
        line.match_indices(self.text).any(|(at, _)| {
            let before = line[..at].chars().next_back();
            let goes_on = |c: char| c.is_alphanumeric() || "._-*})>]~$".contains(c);
            !self.is_absolute_path || !before.is_some_and(goes_on)
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_absolute_path_is_found_and_a_relative_one_is_not() {
        let absolute = format!("see {}x", FORBIDDEN[0].text);
        let relative = format!("see home{}x", FORBIDDEN[0].text);
        let tree = Tree::of(&[("a.md", &format!("{relative}\n{absolute}\n"))]);
        let findings = check(&tree);
        assert_eq!(findings.len(), 1);
        assert_eq!(findings[0].line, 2);
    }

    #[test]
    fn only_lock_files_name_a_registry() {
        let line = format!("source = \"registry+https://{}\"", concat!("crates", ".io"));
        let tree = Tree::of(&[
            ("Cargo.lock", &line),
            ("fuzz/Cargo.lock", &line),
            ("docs/Cargo.lock", &line),
            ("a.sh", &line),
        ]);
        let files: Vec<String> = check(&tree).into_iter().map(|found| found.file).collect();
        assert_eq!(files, ["a.sh", "docs/Cargo.lock"]);
    }

    #[test]
    fn a_test_that_does_not_run_is_found_in_rust_alone() {
        let text = concat!("#[ig", "nore = \"slow\"]");
        let tree = Tree::of(&[("a.rs", text), ("a.md", text)]);
        let files: Vec<String> = check(&tree).into_iter().map(|found| found.file).collect();
        assert_eq!(files, ["a.rs"]);
    }
}
