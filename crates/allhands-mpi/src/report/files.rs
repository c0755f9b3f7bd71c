//! The files that the report and the trace go to, and how texts stand in them.

use crate::context::say::say;

/// The name of the file of a rank, if it writes one: each does where the name has a `%r`, otherwise rank 0, and a rank that `ends`
/// the program.
pub(crate) fn file_of(name: &str, rank: usize, ends: bool) -> Option<String> {
    (rank == 0 || ends || name.contains("%r")).then(|| name.replace("%r", &rank.to_string()))
}

/// A text as JSON has it.
pub(crate) fn quoted(text: &str) -> String {
    let mut quoted = String::from("\"");
    for c in text.chars() {
        match c {
            '"' | '\\' => quoted.extend(['\\', c]),
            c if c.is_control() => quoted.push(' '),
            c => quoted.push(c),
        }
    }
    quoted.push('"');
    quoted
}

/// Writes a file, or says why that cannot be.
pub(crate) fn save(what: &str, file: &str, text: &str) {
    if let Err(error) = std::fs::write(file, text) {
        say(format_args!(
            "the {what} cannot be written to {file}: {error}"
        ));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_rank_0_writes_a_file_that_is_not_each_ranks_own() {
        assert_eq!(file_of("a.%r.json", 7, false).as_deref(), Some("a.7.json"));
        assert_eq!(file_of("a.json", 0, false).as_deref(), Some("a.json"));
        assert_eq!(file_of("a.json", 7, false), None);
        assert_eq!(file_of("a.json", 7, true).as_deref(), Some("a.json"));
    }

    #[test]
    fn texts_are_quoted() {
        assert_eq!(quoted("a \"b\" \\ c\nd"), r#""a \"b\" \\ c d""#);
    }
}
