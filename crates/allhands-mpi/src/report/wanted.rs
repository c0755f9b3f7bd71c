//! What is wanted of the counts: a report, a trace, or nothing, and the files that they go to.

use crate::context::say::say;
use crate::context::settings::{REPORT, TIMES, TRACE, switch};
use crate::report::trace::Trace;

/// What this process's environment asks for.
pub(crate) struct Wanted {
    /// Whether calls are timed; to read a clock twice takes a good part of a short call.
    pub(crate) times: bool,
    /// The file that the report goes to.
    pub(crate) report: Option<String>,
    /// The file that the trace goes to, and the trace.
    pub(crate) trace: Option<(String, Trace)>,
}

impl Wanted {
    /// `None`: nothing is wanted.
    pub(crate) fn read() -> Option<Wanted> {
        let file = |name| std::env::var(name).ok().filter(|file| !file.is_empty());
        let times = file(TIMES).and_then(|said| switch(&said));
        let wanted = Wanted {
            times: times.unwrap_or(true) || file(TRACE).is_some(),
            report: file(REPORT),
            trace: file(TRACE).map(|file| (file, Trace::new())),
        };
        (wanted.report.is_some() || wanted.trace.is_some()).then_some(wanted)
    }
}

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
