//! The repository's own rules: each is a function from the tree of files to what breaks it.

use std::fmt;

pub mod citation;
pub mod core_crate;
pub mod head;
mod imports;
pub mod papers;
pub mod registered;
pub mod retired;
pub mod river;
pub mod rooms;
pub mod size;
mod tree;
pub mod words;

pub use tree::{SourceFile, Tree};

/// One place that breaks a rule.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Finding {
    /// The file, relative to the repository's root.
    pub file: String,
    /// The line, counted from 1.
    pub line: usize,
    /// The rule's name.
    pub rule: &'static str,
    /// What is wrong.
    pub what: String,
    /// What would be right.
    pub right: String,
}

impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "{}:{}: {} [{}]\n    right: {}",
            self.file, self.line, self.what, self.rule, self.right
        )
    }
}

/// A rule: what in the tree breaks it.
pub type Rule = fn(&Tree) -> Vec<Finding>;

/// Every rule that `cargo xtask tidy` checks.
pub const RULES: &[Rule] = &[
    head::check,
    size::check,
    words::check,
    retired::check,
    river::check,
    rooms::check,
    core_crate::check,
    citation::check,
    papers::check,
    registered::check,
];

/// What in the tree breaks any rule, in the order of files and lines.
#[must_use]
pub fn findings(tree: &Tree) -> Vec<Finding> {
    let mut all: Vec<Finding> = RULES.iter().flat_map(|rule| rule(tree)).collect();
    all.sort();
    all
}
