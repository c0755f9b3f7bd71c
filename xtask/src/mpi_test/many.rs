//! Many communicators: what they take of memory, each used a little, has a limit.

use super::job::Job;
use super::mpi::Mpi;
use super::{Error, PATIENCE, Place, judge};

/// The most kilobytes that 1,500 communicators of two ranks may take, with what the MPI has for them.
const MOST: &str = "60000";

/// Runs the program that makes them; whether they take no more.
pub(super) fn passes(place: &Place<'_>, mpi: &Mpi) -> Result<bool, Error> {
    let name = mpi.kind.name;
    let title = format!("many communicators, {name}, 2 ranks");
    if !place.wants(&title) {
        return Ok(true);
    }
    let binary = place.folder.join(format!("many-{name}"));
    let source = place.root.join("crates/allhands-mpi/tests/c/many.c");
    mpi.compile(&source, &binary, &[])?;
    let mut launcher = mpi.launcher(2);
    launcher.arg(&binary).arg(MOST);
    let job = Job {
        launcher,
        title: &title,
        patience: PATIENCE,
    };
    let outcome = job.run(
        Some(&place.library),
        mpi.libraries().as_deref(),
        &place.folder,
    );
    let mut findings = outcome.findings();
    if !outcome.output.contains("many: right") {
        findings.push("it does not say 'many: right'".into());
    }
    // Those that were passed through would take nothing of ours.
    match outcome.report.as_ref().map(super::Report::taken) {
        Some(taken) if taken >= 9000 => {}
        taken => findings.push(format!("{taken:?} calls were taken over")),
    }
    Ok(judge(&title, &outcome, &findings))
}
