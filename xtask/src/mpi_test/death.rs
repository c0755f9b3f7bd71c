//! Death: a rank is killed in the middle of a collective, and whatever the launcher does, all others end soon.

use super::mpi::Mpi;
use super::{Error, Place, judge};
use crate::mpi_test::job::Job;
use std::fs;
use std::path::Path;
use std::time::Duration;

/// How long the others may take to end; a silent end is looked for after at most a few seconds.
const PATIENCE: Duration = Duration::from_secs(60);

/// Runs the program in which a rank dies; whether all of them ended, and left nothing.
pub(super) fn passes(place: &Place<'_>, mpi: &Mpi) -> Result<bool, Error> {
    let name = mpi.kind.name;
    let title = format!("a rank dies, {name}, 3 ranks");
    if !place.wants(&title) {
        return Ok(true);
    }
    let source = place.root.join("crates/allhands-mpi/tests/c/death.c");
    let binary = place.folder.join(format!("death-{name}"));
    mpi.compile(&source, &binary, &[])?;
    let mut launcher = mpi.launcher(3);
    launcher.arg(&binary);
    let job = Job {
        launcher,
        title: &title,
        patience: PATIENCE,
    };
    let before = segments();
    let outcome = job.run(
        Some(&place.library),
        mpi.libraries().as_deref(),
        &place.folder,
    );
    let mut findings = Vec::new();
    match outcome.findings().first() {
        None => findings.push("the launcher says that all went well".into()),
        Some(failure) if failure.contains("had not ended") => findings.push(failure.clone()),
        Some(_) => {}
    }
    if outcome.output.contains("ended with 0") {
        findings.push("a rank did not hear of it".into());
    }
    let left = still_running(&binary);
    if left > 0 {
        findings.push(format!("{left} processes are left"));
    }
    if segments() > before {
        findings.push("a segment of ours is left in /dev/shm".into());
    }
    Ok(judge(&title, &outcome, &findings))
}

/// How many processes run a program.
fn still_running(program: &Path) -> usize {
    let Ok(processes) = fs::read_dir("/proc") else {
        return 0;
    };
    let programs = processes
        .flatten()
        .map(|process| process.path().join("exe"));
    let running = programs.filter_map(|link| fs::read_link(link).ok());
    running.filter(|target| target == program).count()
}

/// How many segments have a name of ours; natively made ones are the MPI's.
fn segments() -> usize {
    let entries = fs::read_dir("/dev/shm").into_iter().flatten().flatten();
    let names = entries.map(|entry| entry.file_name().to_string_lossy().into_owned());
    names.filter(|name| name.contains("allhands")).count()
}
