//! The files of the repository that rules look at, held in memory.

use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::path::{Path, PathBuf};
use std::process::Command;

/// One text file.
#[derive(Debug, Clone, Copy)]
pub struct SourceFile<'a> {
    /// The path from the repository's root, with `/` between its parts.
    pub path: &'a str,
    /// What it holds.
    pub text: &'a str,
}

/// Every file of the repository, and the text of those that are text.
#[derive(Debug, Clone, Default)]
pub struct Tree {
    texts: BTreeMap<String, String>,
    paths: BTreeSet<String>,
}

impl Tree {
    /// Reads what git tracks, and what it would track if asked; without git, everything outside
    /// of hidden folders and build output.
    ///
    /// # Errors
    /// When a folder or a file cannot be read.
    pub fn read(root: &Path) -> io::Result<Self> {
        let paths = match git_files(root) {
            Some(paths) => paths,
            None => walk(root)?,
        };
        let mut tree = Self::default();
        for path in paths {
            let full = root.join(&path);
            // Git still lists a file that was deleted without being told.
            if !full.is_file() {
                continue;
            }
            if let Ok(text) = String::from_utf8(std::fs::read(full)?) {
                tree.texts.insert(path.clone(), text);
            }
            tree.paths.insert(path);
        }
        Ok(tree)
    }

    /// A tree of these files.
    pub fn of(files: &[(&str, &str)]) -> Self {
        let own = |&(path, text): &(&str, &str)| (path.to_owned(), text.to_owned());
        Self {
            texts: files.iter().map(own).collect(),
            paths: files.iter().map(|(path, _)| (*path).to_owned()).collect(),
        }
    }

    /// The text files, in the order of their paths.
    pub fn texts(&self) -> impl Iterator<Item = SourceFile<'_>> {
        self.texts
            .iter()
            .map(|(path, text)| SourceFile { path, text })
    }

    /// The Rust files, in the order of their paths.
    pub fn rust(&self) -> impl Iterator<Item = SourceFile<'_>> {
        self.texts().filter(|file| file.path.ends_with(".rs"))
    }

    /// The text of one file.
    #[must_use]
    pub fn text(&self, path: &str) -> Option<&str> {
        self.texts.get(path).map(String::as_str)
    }

    /// Whether there is such a file, or a folder with a file in it.
    #[must_use]
    pub fn has(&self, path: &str) -> bool {
        let folder = format!("{}/", path.trim_end_matches('/'));
        self.paths.contains(path)
            || self
                .paths
                .range(folder.clone()..)
                .next()
                .is_some_and(|first| first.starts_with(&folder))
    }

    /// How many files there are.
    #[must_use]
    pub fn len(&self) -> usize {
        self.paths.len()
    }

    /// Whether there is no file at all.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.paths.is_empty()
    }
}

/// `None` where git is missing or the folder is not a working copy.
fn git_files(root: &Path) -> Option<Vec<String>> {
    let output = Command::new("git")
        .args([
            "ls-files",
            "-z",
            "--cached",
            "--others",
            "--exclude-standard",
        ])
        .current_dir(root)
        .output()
        .ok()?;
    if !output.status.success() {
        return None;
    }
    let names = output.stdout.split(|byte| *byte == 0);
    let paths: Vec<String> = names
        .filter(|name| !name.is_empty())
        .map(|name| String::from_utf8_lossy(name).into_owned())
        .collect();
    (!paths.is_empty()).then_some(paths)
}

fn walk(root: &Path) -> io::Result<Vec<String>> {
    let mut folders: Vec<PathBuf> = vec![root.to_path_buf()];
    let mut paths = Vec::new();
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(&folder)? {
            let entry = entry?;
            let name = entry.file_name();
            let full = entry.path();
            if entry.file_type()?.is_dir() {
                if name != "target" && !name.to_string_lossy().starts_with('.') {
                    folders.push(full);
                }
            } else if let Ok(path) = full.strip_prefix(root) {
                let parts: Vec<_> = path.iter().map(|part| part.to_string_lossy()).collect();
                paths.push(parts.join("/"));
            }
        }
    }
    Ok(paths)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::repository_root;

    #[test]
    fn a_folder_counts_as_there_when_a_file_is_in_it() {
        let tree = Tree::of(&[("a/b/c.rs", ""), ("a/bc.rs", "")]);
        for there in ["a", "a/b", "a/b/", "a/b/c.rs", "a/bc.rs"] {
            assert!(tree.has(there), "{there}");
        }
        for absent in ["a/c", "a/b/c", "b"] {
            assert!(!tree.has(absent), "{absent}");
        }
    }

    #[test]
    fn walking_finds_every_source_file_that_git_lists() {
        let root = repository_root();
        let walked = walk(&root).expect("the repository can be read");
        let this_file = "xtask/src/tidy/tree.rs".to_owned();
        assert!(walked.contains(&this_file));
        assert!(!walked.iter().any(|path| path.starts_with("target/")));
        for listed in git_files(&root).unwrap_or_default() {
            let hidden = listed.split('/').any(|part| part.starts_with('.'));
            if !hidden && root.join(&listed).is_file() {
                assert!(walked.contains(&listed), "{listed}");
            }
        }
    }
}
