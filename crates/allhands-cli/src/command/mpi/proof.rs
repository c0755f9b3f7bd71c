//! The proof: a run with the library preloaded, and what its report says.

use anyhow::Context;
use serde::Deserialize;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::Command;

/// A row of the report.
#[derive(Deserialize)]
struct Row {
    call: String,
    taken_over: u64,
    passed_through: u64,
    reason: Option<String>,
}

/// What a run showed.
pub struct Proof {
    /// How it ended.
    pub status: std::process::ExitStatus,
    /// What rank 0 reported, if the library was active.
    pub report: Option<Counts>,
}

/// What rank 0 counted.
#[derive(Default, Debug, PartialEq, Eq)]
pub struct Counts {
    pub taken: u64,
    pub passed: u64,
    /// The calls that were taken over.
    pub calls: Vec<String>,
    /// How many passed through for which reason.
    pub reasons: BTreeMap<String, u64>,
}

/// Runs a launcher with the library preloaded.
pub fn run(words: &[String], library: &Path) -> anyhow::Result<Proof> {
    let file = Temporary::new();
    let mut preload = library.display().to_string();
    if let Ok(others) = std::env::var("LD_PRELOAD")
        && !others.is_empty()
    {
        preload = format!("{preload}:{others}");
    }
    let (launcher, arguments) = words
        .split_first()
        .context("there is no launcher to start")?;
    let status = Command::new(launcher)
        .args(arguments)
        .env("LD_PRELOAD", preload)
        .env("ALLHANDS_REPORT", &file.0)
        .status()
        .with_context(|| format!("{launcher} does not start"))?;
    let report = match std::fs::read_to_string(&file.0) {
        Ok(text) => Some(counts(&text).context("the report cannot be read")?),
        Err(_) => None,
    };
    Ok(Proof { status, report })
}

/// A file's name that nobody else has, and that is gone afterwards.
struct Temporary(PathBuf);

impl Temporary {
    fn new() -> Temporary {
        let name = format!("allhands-doctor-{}.json", std::process::id());
        let path = std::env::temp_dir().join(name);
        // What somebody left by that name would be taken for the report.
        let _ = std::fs::remove_file(&path);
        Temporary(path)
    }
}

impl Drop for Temporary {
    fn drop(&mut self) {
        let _ = std::fs::remove_file(&self.0);
    }
}

fn counts(text: &str) -> anyhow::Result<Counts> {
    let rows: Vec<Row> = serde_json::from_str(text)?;
    let mut counts = Counts::default();
    for row in rows {
        counts.taken += row.taken_over;
        counts.passed += row.passed_through;
        if row.taken_over > 0 && !counts.calls.contains(&row.call) {
            counts.calls.push(row.call);
        }
        if row.passed_through > 0 {
            *counts
                .reasons
                .entry(row.reason.unwrap_or_default())
                .or_default() += row.passed_through;
        }
    }
    Ok(counts)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_report_is_counted() {
        let text = r#"[
            {"call": "MPI_Bcast", "taken_over": 3, "passed_through": 0, "reason": null, "seconds": 0.5, "size_class": 8},
            {"call": "MPI_Bcast", "taken_over": 2, "passed_through": 0, "reason": null, "seconds": 0.5, "size_class": 16},
            {"call": "MPI_Scan", "taken_over": 0, "passed_through": 4, "reason": "off", "seconds": 0, "size_class": null}
        ]"#;
        let counts = counts(text).unwrap();
        assert_eq!((counts.taken, counts.passed), (5, 4));
        assert_eq!(counts.calls, ["MPI_Bcast"]);
        assert_eq!(counts.reasons, BTreeMap::from([("off".to_string(), 4)]));
    }

    #[test]
    fn what_is_no_report_is_an_error() {
        assert!(counts("{").is_err());
    }
}
