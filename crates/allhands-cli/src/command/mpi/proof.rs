//! The proof: a run with the library preloaded, and what its report says.

use anyhow::Context;
use serde::Deserialize;
use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsString;
use std::fmt;
use std::path::{Path, PathBuf};
use std::process::Command;

/// The report, as the library writes it.
#[derive(Deserialize)]
struct Written {
    allhands: String,
    mpi: String,
    ended: String,
    calls: Vec<Row>,
}

/// A row of the report.
#[derive(Deserialize)]
struct Row {
    call: String,
    taken_over: u64,
    passed_through: u64,
    reason: Option<String>,
    algorithm: Option<String>,
}

/// What a run showed.
pub struct Proof {
    /// How it ended.
    pub status: std::process::ExitStatus,
    /// What rank 0 reported, if the library was active.
    pub report: Option<Report>,
}

/// What rank 0 counted.
#[derive(Debug, PartialEq, Eq)]
pub struct Report {
    /// The library's version, and the MPI with its own.
    pub allhands: String,
    pub mpi: String,
    /// By what the program ended.
    pub ended: String,
    pub taken: u64,
    pub passed: u64,
    /// The calls that were taken over, with the algorithms that served them.
    pub calls: BTreeMap<String, BTreeSet<String>>,
    /// How many passed through for which reason.
    pub reasons: BTreeMap<String, u64>,
}

/// What has a launcher's ranks loaded with the library, before what is preloaded already.
pub fn preload(library: &Path) -> OsString {
    let mut preload = OsString::from(library);
    if let Some(others) = std::env::var_os("LD_PRELOAD").filter(|others| !others.is_empty()) {
        preload.push(":");
        preload.push(others);
    }
    preload
}

/// Runs a launcher with the library preloaded.
pub fn run(words: &[String], library: &Path) -> anyhow::Result<Proof> {
    let file = Temporary::new();
    let (launcher, arguments) = words
        .split_first()
        .context("there is no launcher to start")?;
    let status = Command::new(launcher)
        .args(arguments)
        .env("LD_PRELOAD", preload(library))
        .env("ALLHANDS_REPORT", file.path())
        .status()
        .with_context(|| format!("{launcher} does not start"))?;
    let report = file.report()?;
    Ok(Proof { status, report })
}

/// A file's name that nobody else has, and that is gone afterwards.
pub struct Temporary(PathBuf);

impl Temporary {
    /// The one of this process.
    pub fn new() -> Temporary {
        let name = format!("allhands-report-{}.json", std::process::id());
        let path = std::env::temp_dir().join(name);
        // What somebody left by that name would be taken for the report.
        let _ = std::fs::remove_file(&path);
        Temporary(path)
    }

    /// Its name.
    pub fn path(&self) -> &Path {
        &self.0
    }

    /// The report that a run has left there, if it has.
    pub fn report(&self) -> anyhow::Result<Option<Report>> {
        match std::fs::read_to_string(&self.0) {
            Ok(text) => Ok(Some(read(&text).context("the report cannot be read")?)),
            Err(_) => Ok(None),
        }
    }
}

impl Drop for Temporary {
    fn drop(&mut self) {
        let _ = std::fs::remove_file(&self.0);
    }
}

fn read(text: &str) -> anyhow::Result<Report> {
    let written: Written = serde_json::from_str(text)?;
    let mut report = Report {
        allhands: written.allhands,
        mpi: written.mpi,
        ended: written.ended,
        taken: 0,
        passed: 0,
        calls: BTreeMap::new(),
        reasons: BTreeMap::new(),
    };
    for row in written.calls {
        report.taken += row.taken_over;
        report.passed += row.passed_through;
        if row.taken_over > 0 {
            let algorithms = report.calls.entry(row.call).or_default();
            algorithms.extend(row.algorithm);
        }
        if row.passed_through > 0 {
            *report
                .reasons
                .entry(row.reason.unwrap_or_default())
                .or_default() += row.passed_through;
        }
    }
    Ok(report)
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let reason = |(reason, calls): (&String, &u64)| format!("{calls} for: {reason}");
        let reasons: Vec<String> = self.reasons.iter().map(reason).collect();
        let passed = match reasons.as_slice() {
            [] => String::new(),
            reasons => format!(" ({})", reasons.join("; ")),
        };
        write!(
            f,
            "rank 0 had {} calls taken over and {} passed through{passed}",
            self.taken, self.passed
        )?;
        for (at, (call, algorithms)) in self.calls.iter().enumerate() {
            let algorithms: Vec<&str> = algorithms.iter().map(String::as_str).collect();
            let by = match algorithms.as_slice() {
                [] => String::new(),
                names => format!(" by {}", names.join(" and ")),
            };
            write!(f, "{} {call}{by}", if at == 0 { ":" } else { "," })?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_report_is_counted() {
        let text = r#"{"allhands": "0.1.0", "mpi": "MPICH 5", "ended": "MPI_Finalize", "calls": [
            {"call": "MPI_Bcast", "taken_over": 3, "passed_through": 0, "reason": null, "algorithm": "binomial", "size_class": 8},
            {"call": "MPI_Bcast", "taken_over": 2, "passed_through": 0, "reason": null, "algorithm": "ring", "size_class": 16},
            {"call": "MPI_Scan", "taken_over": 0, "passed_through": 4, "reason": "off", "algorithm": null, "size_class": null}
        ]}"#;
        let report = read(text).unwrap();
        assert_eq!((report.taken, report.passed), (5, 4));
        assert_eq!(
            report.to_string(),
            "rank 0 had 5 calls taken over and 4 passed through (4 for: off): MPI_Bcast by binomial and ring"
        );
    }

    #[test]
    fn what_is_no_report_is_an_error() {
        assert!(read("{").is_err());
    }
}
