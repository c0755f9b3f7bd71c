//! The rule that a Rust file begins with one sentence that says what it holds.

use super::{Finding, Tree};

/// Finds Rust files whose first line is no `//!` sentence.
#[must_use]
pub fn check(tree: &Tree) -> Vec<Finding> {
    tree.rust()
        .filter_map(|file| {
            let what = fault(file.text)?;
            Some(Finding {
                file: file.path.to_owned(),
                line: 1,
                rule: "head",
                what: what.to_owned(),
                right: "`//! ` and a sentence that names the file's noun and ends with a full stop"
                    .to_owned(),
            })
        })
        .collect()
}

fn fault(text: &str) -> Option<&'static str> {
    let mut paragraph = text
        .lines()
        .map_while(|line| line.strip_prefix("//! "))
        .map(str::trim)
        .peekable();
    match paragraph.peek() {
        None => return Some("the first line is no `//!` sentence"),
        Some(first) if first.starts_with(['#', '`']) && !first.contains(' ') => {
            return Some("the first line is a heading or a bare name, no sentence");
        }
        Some(_) => {}
    }
    let last = paragraph.last().unwrap_or_default();
    (!last.ends_with(['.', '!', '?', ':'])).then_some("the first sentence does not end")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_sentence_may_wrap_but_must_end() {
        assert_eq!(fault("//! The ring.\nfn f() {}"), None);
        assert_eq!(
            fault("//! The ring, which goes\n//! round.\n//!\n//! More"),
            None
        );
        assert!(fault("//! The ring\nfn f() {}").is_some());
        assert!(fault("//!\n//! The ring.").is_some());
        assert!(fault("// The ring.").is_some());
        assert!(fault("\n//! The ring.").is_some());
        assert!(fault("").is_some());
    }

    #[test]
    fn the_finding_names_the_file() {
        let tree = Tree::of(&[("a.rs", "fn f() {}"), ("b.md", "no rust")]);
        let findings = check(&tree);
        assert_eq!(findings.len(), 1);
        assert_eq!((findings[0].file.as_str(), findings[0].line), ("a.rs", 1));
    }
}
