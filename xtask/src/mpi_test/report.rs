//! The report that the library writes: which calls were taken over, and why others passed through.

use serde::Deserialize;
use std::collections::BTreeMap;
use std::path::Path;

/// A row of it.
#[derive(Debug, Deserialize)]
struct Row {
    call: String,
    taken_over: u64,
    passed_through: u64,
    reason: Option<String>,
    between_nodes: bool,
}

/// What one rank wrote.
#[derive(Debug)]
pub(crate) struct Report(Vec<Row>);

/// Every blocking call that the library takes over.
const CALLS: [&str; 17] = [
    "MPI_Barrier",
    "MPI_Bcast",
    "MPI_Gather",
    "MPI_Gatherv",
    "MPI_Scatter",
    "MPI_Scatterv",
    "MPI_Allgather",
    "MPI_Allgatherv",
    "MPI_Alltoall",
    "MPI_Alltoallv",
    "MPI_Alltoallw",
    "MPI_Reduce",
    "MPI_Allreduce",
    "MPI_Reduce_scatter",
    "MPI_Reduce_scatter_block",
    "MPI_Scan",
    "MPI_Exscan",
];

/// Why a nonblocking call may pass through where a blocking one does not: by what the MPI has, by where the ranks are, and by what
/// was called before.
const NONBLOCKING: [&str; 3] = [
    "no progress hook",
    "several nodes",
    "no blocking call before",
];

impl Row {
    /// Whether the call is a nonblocking one.
    fn is_nonblocking(&self) -> bool {
        self.call.starts_with("MPI_I")
    }
}

impl Report {
    /// Reads a report; `None` if there is none.
    pub(crate) fn read(path: &Path) -> Option<Report> {
        Report::parse(&std::fs::read_to_string(path).ok()?)
    }

    fn parse(text: &str) -> Option<Report> {
        serde_json::from_str(text).ok().map(Report)
    }

    /// How many calls were taken over.
    pub(crate) fn taken(&self) -> u64 {
        self.0.iter().map(|row| row.taken_over).sum()
    }

    /// How many of them on communicators whose ranks are on several nodes.
    pub(super) fn between_nodes(&self) -> u64 {
        let rows = self.0.iter().filter(|row| row.between_nodes);
        rows.map(|row| row.taken_over).sum()
    }

    /// How many passed through.
    pub(crate) fn passed(&self) -> u64 {
        self.0.iter().map(|row| row.passed_through).sum()
    }

    /// What passed through for any but these reasons.
    pub(crate) fn passed_but_for(&self, reasons: &[&str]) -> Vec<String> {
        let rows = self.0.iter().filter(|row| row.passed_through > 0);
        rows.filter_map(|row| {
            let reason = row.reason.as_deref().unwrap_or("no reason");
            let finding = || {
                format!(
                    "{} passed through {} times: {reason}",
                    row.call, row.passed_through
                )
            };
            let is_excused = row.is_nonblocking() && NONBLOCKING.contains(&reason);
            (!reasons.contains(&reason) && !is_excused).then(finding)
        })
        .collect()
    }

    /// Which calls were taken over.
    pub(super) fn taken_calls(&self) -> Vec<String> {
        let rows = self.0.iter().filter(|row| row.taken_over > 0);
        let mut calls: Vec<String> = rows.map(|row| row.call.replace("MPI_", "")).collect();
        // The rows of a call follow one another.
        calls.dedup();
        calls
    }

    /// How often a call was made, either way.
    pub(super) fn calls(&self, call: &str) -> u64 {
        let rows = self.0.iter().filter(|row| row.call == call);
        rows.map(|row| row.taken_over + row.passed_through).sum()
    }

    /// How often a call was taken over.
    pub(super) fn taken_of(&self, call: &str) -> u64 {
        let rows = self.0.iter().filter(|row| row.call == call);
        rows.map(|row| row.taken_over).sum()
    }

    /// How many nonblocking calls were taken over.
    pub(super) fn begun(&self) -> u64 {
        let rows = self.0.iter().filter(|row| row.is_nonblocking());
        rows.map(|row| row.taken_over).sum()
    }

    /// Which blocking calls were never taken over, and, where they `can_begin`, which nonblocking ones.
    pub(crate) fn never_taken(&self, can_begin: bool) -> Vec<String> {
        let begun = |call: &&str| call.replacen("MPI_", "MPI_I", 1).to_lowercase();
        let calls = CALLS.iter().map(|call| call.to_lowercase());
        let nonblocking = CALLS.iter().map(begun).filter(|_| can_begin);
        let mut taken: BTreeMap<String, u64> =
            calls.chain(nonblocking).map(|call| (call, 0)).collect();
        for row in &self.0 {
            if let Some(calls) = taken.get_mut(&row.call.to_lowercase()) {
                *calls += row.taken_over;
            }
        }
        let never = taken.into_iter().filter(|(_, calls)| *calls == 0);
        never
            .map(|(call, _)| format!("{call} was never taken over"))
            .collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = r#"[
        {"call": "MPI_Bcast", "taken_over": 3, "passed_through": 0, "reason": null, "seconds": 0.5, "size_class": 8, "between_nodes": true},
        {"call": "MPI_Scan", "taken_over": 0, "passed_through": 2, "reason": "off", "seconds": 0, "size_class": null, "between_nodes": false}
    ]"#;

    #[test]
    fn what_was_not_taken_over_is_found() {
        let report = Report::parse(TEXT).unwrap();
        assert_eq!((report.taken(), report.passed()), (3, 2));
        assert_eq!(report.between_nodes(), 3);
        assert_eq!(report.passed_but_for(&["off"]), Vec::<String>::new());
        assert_eq!(
            report.passed_but_for(&["one rank"]),
            ["MPI_Scan passed through 2 times: off"]
        );
        let never = report.never_taken(false);
        assert_eq!(never.len(), CALLS.len() - 1);
        assert!(!never.contains(&"mpi_bcast was never taken over".to_string()));
        let never = report.never_taken(true);
        assert_eq!(never.len(), 2 * CALLS.len() - 1);
        assert!(never.contains(&"mpi_ibcast was never taken over".to_string()));
        assert_eq!(report.begun(), 0);
        assert!(Report::parse("[").is_none());
    }
}
