//! What is wanted of the counts: a report, a trace, or nothing.

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
