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
    verified: u64,
    reason: Option<String>,
    algorithm: Option<String>,
    between_nodes: bool,
}

/// What one rank wrote.
#[derive(Debug, Deserialize)]
pub struct Report {
    /// The library's version.
    allhands: String,
    /// What the MPI calls itself.
    mpi: String,
    /// By what the program ended.
    ended: String,
    calls: Vec<Row>,
}

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

/// Why calls pass through of which none is taken over.
const NEVER: [&str; 2] = ["persistent", "neighbourhood"];

impl Row {
    /// Whether the call is a nonblocking one.
    fn is_nonblocking(&self) -> bool {
        self.call.starts_with("MPI_I")
    }
}

impl Report {
    /// Reads a report; `None` if there is none.
    pub fn read(path: &Path) -> Option<Report> {
        Report::parse(&std::fs::read_to_string(path).ok()?)
    }

    fn parse(text: &str) -> Option<Report> {
        serde_json::from_str(text).ok()
    }

    /// What is wrong with what it says of the MPI, whose name begins so, and of the end, if that begins so, too.
    pub(crate) fn misnames(&self, make: &str, ended: Option<&str>) -> Vec<String> {
        let mut findings = Vec::new();
        if !self.mpi.starts_with(make) || !self.mpi.contains(|c: char| c.is_ascii_digit()) {
            findings.push(format!("the report calls the MPI '{}'", self.mpi));
        }
        if ended.is_some_and(|ended| !self.ended.starts_with(ended)) {
            findings.push(format!("the report says that it ended by {}", self.ended));
        }
        if self.allhands.is_empty() {
            findings.push("the report does not say which version wrote it".into());
        }
        findings
    }

    /// Blocking calls that were taken over by nobody knows which algorithm.
    pub(crate) fn unnamed(&self) -> Vec<String> {
        let unnamed =
            |row: &&Row| row.taken_over > 0 && !row.is_nonblocking() && row.algorithm.is_none();
        let rows = self.calls.iter().filter(unnamed);
        rows.map(|row| format!("the report does not say what served {}", row.call))
            .collect()
    }

    /// How many calls the native MPI made, too.
    pub(crate) fn verified(&self) -> u64 {
        self.calls.iter().map(|row| row.verified).sum()
    }

    /// How many calls passed through for a reason.
    pub(crate) fn passed_for(&self, reason: &str) -> u64 {
        let rows = self.calls.iter();
        rows.filter(|row| row.reason.as_deref() == Some(reason))
            .map(|row| row.passed_through)
            .sum()
    }

    /// How many calls an algorithm served.
    pub(crate) fn taken_by(&self, algorithm: &str) -> u64 {
        let rows = self.calls.iter();
        let is_its = |row: &&Row| {
            let text = row.algorithm.as_deref();
            text.and_then(|text| text.split(':').next()) == Some(algorithm)
        };
        rows.filter(is_its).map(|row| row.taken_over).sum()
    }

    /// How many calls were taken over.
    pub fn taken(&self) -> u64 {
        self.calls.iter().map(|row| row.taken_over).sum()
    }

    /// How many of them on communicators whose ranks are on several nodes.
    pub(super) fn between_nodes(&self) -> u64 {
        let rows = self.calls.iter().filter(|row| row.between_nodes);
        rows.map(|row| row.taken_over).sum()
    }

    /// How many passed through.
    pub fn passed(&self) -> u64 {
        self.calls.iter().map(|row| row.passed_through).sum()
    }

    /// What passed through for any but these reasons.
    pub(crate) fn passed_but_for(&self, reasons: &[&str]) -> Vec<String> {
        let rows = self.calls.iter().filter(|row| row.passed_through > 0);
        rows.filter_map(|row| {
            let reason = row.reason.as_deref().unwrap_or("no reason");
            let finding = || {
                format!(
                    "{} passed through {} times: {reason}",
                    row.call, row.passed_through
                )
            };
            let is_excused = row.is_nonblocking() && NONBLOCKING.contains(&reason);
            let is_excused = is_excused || NEVER.contains(&reason);
            (!reasons.contains(&reason) && !is_excused).then(finding)
        })
        .collect()
    }

    /// Which calls were taken over.
    pub(super) fn taken_calls(&self) -> Vec<String> {
        let rows = self.calls.iter().filter(|row| row.taken_over > 0);
        let mut calls: Vec<String> = rows.map(|row| row.call.replace("MPI_", "")).collect();
        // The rows of a call follow one another.
        calls.dedup();
        calls
    }

    /// How often a call was made, either way.
    pub(super) fn calls(&self, call: &str) -> u64 {
        let rows = self.calls.iter().filter(|row| row.call == call);
        rows.map(|row| row.taken_over + row.passed_through).sum()
    }

    /// How often a call was taken over.
    pub(super) fn taken_of(&self, call: &str) -> u64 {
        let rows = self.calls.iter().filter(|row| row.call == call);
        rows.map(|row| row.taken_over).sum()
    }

    /// How many nonblocking calls were taken over.
    pub(super) fn begun(&self) -> u64 {
        let rows = self.calls.iter().filter(|row| row.is_nonblocking());
        rows.map(|row| row.taken_over).sum()
    }

    /// Which blocking calls were never taken over, and, where they `can_begin`, which nonblocking ones.
    pub(crate) fn never_taken(&self, can_begin: bool) -> Vec<String> {
        let begun = |call: &&str| call.replacen("MPI_", "MPI_I", 1).to_lowercase();
        let calls = CALLS.iter().map(|call| call.to_lowercase());
        let nonblocking = CALLS.iter().map(begun).filter(|_| can_begin);
        let mut taken: BTreeMap<String, u64> =
            calls.chain(nonblocking).map(|call| (call, 0)).collect();
        for row in &self.calls {
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

    const TEXT: &str = r#"{"allhands": "0.1.0", "mpi": "MPICH 5.0.2", "rank": 0, "ranks": 2, "ended": "MPI_Finalize", "calls": [
        {"call": "MPI_Bcast", "taken_over": 3, "passed_through": 0, "verified": 1, "reason": null, "algorithm": "ring", "seconds": 0.5, "size_class": 8, "between_nodes": true},
        {"call": "MPI_Scan", "taken_over": 0, "passed_through": 2, "verified": 0, "reason": "off", "algorithm": null, "seconds": 0, "size_class": null, "between_nodes": false},
        {"call": "MPI_Scan_init", "taken_over": 0, "passed_through": 2, "verified": 0, "reason": "persistent", "algorithm": null, "seconds": 0, "size_class": null, "between_nodes": false}
    ]}"#;

    #[test]
    fn what_was_not_taken_over_is_found() {
        let report = Report::parse(TEXT).unwrap();
        assert_eq!((report.taken(), report.passed()), (3, 4));
        assert_eq!((report.verified(), report.taken_by("ring")), (1, 3));
        assert_eq!(report.passed_for("persistent"), 2);
        assert_eq!(
            report.misnames("MPICH", Some("MPI_Finalize")),
            Vec::<String>::new()
        );
        assert_eq!(report.misnames("Open MPI", Some("MPI_Abort")).len(), 2);
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
