//! The rule that PAPERS.md leads from a paper's section to a file that exists and a command that shows it.

use super::{Finding, Tree};

const FILE: &str = "PAPERS.md";
const COLUMNS: [&str; 4] = ["paper section", "what", "file", "command"];
const PROGRAMS: &[&str] = &["allhands ", "cargo "];

/// One row of a table of PAPERS.md.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Row {
    /// Its line in the file, counted from 1.
    pub line: usize,
    /// The files that it names.
    pub files: Vec<String>,
    /// The commands that it names.
    pub commands: Vec<String>,
}

/// Finds rows that name no file or no command, files that are not there and commands of other programs.
#[must_use]
pub fn check(tree: &Tree) -> Vec<Finding> {
    let finding = |line: usize, what: String, right: &str| Finding {
        file: FILE.to_owned(),
        line,
        rule: "papers",
        what,
        right: right.to_owned(),
    };
    let rows = match tree.text(FILE).map(rows) {
        Some(Ok(rows)) => rows,
        Some(Err((line, what))) => {
            return vec![finding(
                line,
                what,
                "`| paper section | what | file | command |`",
            )];
        }
        None => {
            return vec![finding(
                1,
                "the file is missing".to_owned(),
                "a file with that table",
            )];
        }
    };
    let mut findings = Vec::new();
    for row in rows {
        if row.files.is_empty() {
            let right = "at least one path between backticks, from the repository's root";
            findings.push(finding(row.line, "the row names no file".to_owned(), right));
        }
        if row.commands.is_empty() {
            let right = "at least one command between backticks";
            findings.push(finding(
                row.line,
                "the row names no command".to_owned(),
                right,
            ));
        }
        for path in row.files.iter().filter(|path| !tree.has(path)) {
            let right = "the path of a file or folder, from the repository's root";
            findings.push(finding(row.line, format!("`{path}` is not there"), right));
        }
        let ours = |command: &&String| PROGRAMS.iter().any(|program| command.starts_with(program));
        for command in row.commands.iter().filter(|command| !ours(command)) {
            let what = format!("the command `{command}` is none of ours");
            findings.push(finding(
                row.line,
                what,
                "a command that begins with `allhands ` or `cargo `",
            ));
        }
    }
    findings
}

/// The rows of every table whose columns are paper section, what, file and command.
///
/// # Errors
/// A line and what is wrong with it: no such table, or a row with another number of cells.
pub fn rows(text: &str) -> Result<Vec<Row>, (usize, String)> {
    let mut rows = Vec::new();
    let mut has_table = false;
    let mut in_table = false;
    for (index, line) in text.lines().enumerate() {
        let Some(cells) = cells(line) else {
            in_table = false;
            continue;
        };
        if cells.iter().map(|cell| cell.to_lowercase()).eq(COLUMNS) {
            (has_table, in_table) = (true, true);
        } else if in_table && !is_ruler(&cells) {
            let [_section, _what, files, commands] = cells.as_slice() else {
                return Err((index + 1, format!("the row has {} cells", cells.len())));
            };
            rows.push(Row {
                line: index + 1,
                files: quoted(files),
                commands: quoted(commands),
            });
        }
    }
    if has_table {
        Ok(rows)
    } else {
        Err((1, "there is no table of papers".to_owned()))
    }
}

/// The cells of a table's line; `\|` is a bar inside a cell.
fn cells(line: &str) -> Option<Vec<String>> {
    let inner = line.trim().strip_prefix('|')?.strip_suffix('|')?;
    let mut cells = vec![String::new()];
    let mut escaped = false;
    for c in inner.chars() {
        match (c, escaped) {
            ('\\', false) => escaped = true,
            ('|', false) => cells.push(String::new()),
            (_, was_escaped) => {
                if let Some(cell) = cells.last_mut() {
                    if was_escaped && c != '|' {
                        cell.push('\\');
                    }
                    cell.push(c);
                }
                escaped = false;
            }
        }
    }
    Some(cells.iter().map(|cell| cell.trim().to_owned()).collect())
}

fn is_ruler(cells: &[String]) -> bool {
    cells
        .iter()
        .all(|cell| !cell.is_empty() && cell.chars().all(|c| c == '-' || c == ':'))
}

/// What stands between backticks.
fn quoted(cell: &str) -> Vec<String> {
    let parts: Vec<&str> = cell.split('`').collect();
    parts
        .chunks_exact(2)
        .map(|pair| pair[1].trim().to_owned())
        .filter(|part| !part.is_empty())
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const HEAD: &str = "# Papers\n\n| Paper section | What | File | Command |\n|---|:--|---|---|\n";

    fn whats(rows: &str) -> Vec<(usize, String)> {
        let text = format!("{HEAD}{rows}");
        let tree = Tree::of(&[(FILE, &text), ("src/a.rs", "")]);
        check(&tree).into_iter().map(|f| (f.line, f.what)).collect()
    }

    #[test]
    fn a_row_names_files_and_commands() {
        let row = "| T 4.2 | x | `src/a.rs`, `src` | `allhands draw a \\| cat` or `cargo test` |\n";
        assert_eq!(whats(row), []);
        let parsed = rows(&format!("{HEAD}{row}")).expect("the row is whole");
        assert_eq!(parsed[0].line, 5);
        assert_eq!(parsed[0].files, ["src/a.rs", "src"]);
        assert_eq!(parsed[0].commands, ["allhands draw a | cat", "cargo test"]);
    }

    #[test]
    fn each_fault_is_found_at_its_line() {
        let found = whats("| T 1 | x | `src/b.rs` | `mpirun a` |\n| T 2 | x | src | none |\n");
        let expected = [
            (5, "`src/b.rs` is not there"),
            (5, "the command `mpirun a` is none of ours"),
            (6, "the row names no file"),
            (6, "the row names no command"),
        ];
        assert_eq!(found, expected.map(|(line, what)| (line, what.to_owned())));
        assert_eq!(
            whats("| T 1 | x | `src` |\n"),
            [(5, "the row has 3 cells".to_owned())]
        );
    }

    #[test]
    fn other_tables_are_free_and_a_missing_one_is_found() {
        assert_eq!(
            whats("\n| letter | paper |\n|---|---|\n| T | Thakur |\n"),
            []
        );
        assert_eq!(check(&Tree::of(&[(FILE, "# Papers\n")])).len(), 1);
        assert_eq!(check(&Tree::of(&[])).len(), 1);
    }
}
