//! Nonblocking calls that nobody waits for: the library says on which rank, and the program ends all the same.

use super::job::Job;
use super::mpi::Mpi;
use super::{Error, Place, judge};
use std::time::Duration;

/// How long a program may take that must not wait.
const PATIENCE: Duration = Duration::from_secs(60);

/// The number of ranks of every run.
const RANKS: usize = 2;

/// What goes wrong, and what must be said of it.
const MISTAKES: [(&str, &[&str]); 3] = [
    (
        "nobody-waits",
        &[
            "rank 0 ends with 2 calls of MPI_Iallreduce that it never waited for",
            "rank 0 ends with 1 call of MPI_Ibarrier that it never waited for",
        ],
    ),
    (
        "rank-0-does-not-wait",
        &["rank 0 ends with 1 call of MPI_Iallreduce that it never waited for"],
    ),
    (
        "rank-0-does-not-call",
        &["rank 1 ends with 1 call of MPI_Iallreduce that it never waited for"],
    ),
];

/// Runs the program with every mistake, where such calls are taken over, and gives the number of runs that failed.
pub(super) fn failed(place: &Place<'_>, mpi: &Mpi) -> Result<usize, Error> {
    let name = mpi.kind.name;
    if !mpi.kind.has_hook {
        return Ok(0);
    }
    let source = place.root.join("crates/allhands-mpi/tests/c/unwaited.c");
    let binary = place.folder.join(format!("unwaited-{name}"));
    mpi.compile(&source, &binary, &[])?;
    let mut failed = 0;
    for (mistake, said) in MISTAKES {
        let title = format!("unwaited, {mistake}, {name}");
        if !place.wants(&title) {
            continue;
        }
        let mut launcher = mpi.launcher(RANKS);
        launcher.arg(&binary).arg(mistake);
        let job = Job {
            launcher,
            title: &title,
            patience: PATIENCE,
        };
        let libraries = mpi.libraries();
        let outcome = job.run(Some(&place.library), libraries.as_deref(), &place.folder);
        let mut findings = outcome.findings();
        let ends = (0..RANKS).map(|rank| format!("rank {rank}: ended"));
        for line in said.iter().map(ToString::to_string).chain(ends) {
            if !outcome.output.contains(&line) {
                findings.push(format!("it does not say '{line}'"));
            }
        }
        failed += usize::from(!judge(&title, &outcome, &findings));
    }
    Ok(failed)
}
