//! The words: what the library says of itself, in its report, its trace and its warnings, however a program ends.

use super::job::{Job, Outcome};
use super::mpi::Mpi;
use super::report::Report;
use super::{Error, Place, judge};
use std::path::{Path, PathBuf};
use std::time::Duration;

/// How long a run may take that an error ends.
const PATIENCE: Duration = Duration::from_secs(60);

/// How a program ends: its argument, whether that is well, and what the report says of it; `None`: that is the MPI's affair.
const ENDS: [(&str, bool, Option<&str>); 4] = [
    ("well", true, Some("MPI_Finalize")),
    ("abort-0", false, Some("MPI_Abort")),
    ("abort-1", false, Some("MPI_Abort")),
    ("error", false, Some("an error in MPI_B")),
];

/// Mistakes in the environment, and what is said of each.
const MISTAKES: [(&str, &str, &str); 4] = [
    ("REPROT", "x", "did you mean ALLHANDS_REPORT?"),
    ("BCAST", "binomail", "did you mean binomial?"),
    ("POLICY", "mpich-2050", "did you mean mpich-2005?"),
    ("VERIFY", "perhaps", "'perhaps', where on or off"),
];

/// Runs the program that ends in many ways; how many runs went wrong.
pub(super) fn failures(place: &Place<'_>, mpi: &Mpi) -> Result<usize, Error> {
    let name = mpi.kind.name;
    let binary = place.folder.join(format!("ends-{name}"));
    let source = place.root.join("crates/allhands-mpi/tests/c/ends.c");
    mpi.compile(&source, &binary, &[])?;
    let runs = Runs {
        place,
        mpi,
        binary: &binary,
    };
    let mut failed = 0;
    for (how, is_well, ended) in ENDS {
        let title = format!("ends by {how}, {name}, 2 ranks");
        if !place.wants(&title) {
            continue;
        }
        let outcome = runs.run(&title, how, &[]);
        let mut findings = match outcome.report.as_ref() {
            Some(report) => said(report, mpi, ended),
            None => vec!["there is no report".into()],
        };
        if outcome.findings().is_empty() != is_well {
            findings.push("it ended otherwise than it was to".into());
        }
        failed += usize::from(!judge(&title, &outcome, &findings));
    }
    failed += usize::from(!runs.mistakes_are_reported());
    failed += usize::from(!runs.algorithms_are_reported());
    Ok(failed)
}

/// What is wrong with what a report says.
fn said(report: &Report, mpi: &Mpi, ended: Option<&str>) -> Vec<String> {
    let mut findings = report.misnames(mpi.kind.makes, ended);
    findings.extend(report.unnamed());
    let (neighbours, persistent) = (
        report.passed_for("neighbourhood"),
        report.passed_for("persistent"),
    );
    if neighbours != 2 {
        findings.push(format!(
            "{neighbours} neighbourhood calls were counted, and 2 made"
        ));
    }
    if persistent != u64::from(mpi.kind.has_persistent) {
        findings.push(format!("{persistent} persistent calls were counted"));
    }
    findings
}

struct Runs<'a> {
    place: &'a Place<'a>,
    mpi: &'a Mpi,
    binary: &'a Path,
}

impl Runs<'_> {
    fn run(&self, title: &str, how: &str, variables: &[(String, String)]) -> Outcome {
        let mut launcher = self.mpi.launcher(2);
        launcher
            .envs(variables.iter().map(|(name, value)| (name, value)))
            .arg(self.binary)
            .arg(how);
        let job = Job {
            launcher,
            title,
            patience: PATIENCE,
        };
        let libraries = self.mpi.libraries();
        job.run(
            Some(&self.place.library),
            libraries.as_deref(),
            &self.place.folder,
        )
    }

    /// Whether each mistake in the environment is reported once, with what would be right.
    fn mistakes_are_reported(&self) -> bool {
        let title = format!("mistakes in the environment, {}", self.mpi.kind.name);
        if !self.place.wants(&title) {
            return true;
        }
        let variables = MISTAKES.map(|(name, value, _)| (variable(name), value.to_string()));
        let outcome = self.run(&title, "well", &variables);
        let mut findings = outcome.findings();
        for (name, _, words) in MISTAKES {
            let reported = outcome.output.matches(words).count();
            if reported != 1 {
                findings.push(format!(
                    "of {} '{words}' was said {reported} times",
                    variable(name)
                ));
            }
        }
        judge(&title, &outcome, &findings)
    }

    /// Whether report and trace name the algorithm of a call, and verified calls are counted.
    fn algorithms_are_reported(&self) -> bool {
        let title = format!("algorithms in report and trace, {}", self.mpi.kind.name);
        if !self.place.wants(&title) {
            return true;
        }
        let trace: PathBuf = self
            .place
            .folder
            .join(format!("trace-{}.json", self.mpi.kind.name));
        // There need not be one from an earlier run.
        let _ = std::fs::remove_file(&trace);
        let said = [
            ("ALLREDUCE", "ring".to_string()),
            ("VERIFY", "on".to_string()),
            ("TRACE", trace.display().to_string()),
        ];
        let variables = said.map(|(name, value)| (variable(name), value));
        let outcome = self.run(&title, "well", &variables);
        let mut findings = outcome.findings();
        match &outcome.report {
            Some(report) if report.taken_by("ring") < 5 => {
                findings.push(format!(
                    "{} calls were served by ring",
                    report.taken_by("ring")
                ));
            }
            Some(report) if report.verified() != report.taken() => {
                findings.push(format!("{} calls were verified", report.verified()));
            }
            Some(_) => {}
            None => findings.push("there is no report".into()),
        }
        let trace = std::fs::read_to_string(&trace).unwrap_or_default();
        if !trace.contains("\"algorithm\": \"ring") {
            findings.push("the trace does not name the algorithm".into());
        }
        judge(&title, &outcome, &findings)
    }
}

/// The variable of this name.
fn variable(name: &str) -> String {
    format!("ALLHANDS_{name}")
}
