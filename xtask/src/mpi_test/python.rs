//! mpi4py's own suite: fetching it and running it.

use super::job::Job;
use super::mpi::Mpi;
use super::{Error, Place, complete, judge};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

/// The modules of the suite that are run, as its `-i` takes them.
const SUITE: [&str; 4] = ["test_cco", "test_op", "test_comm", "util_pkl5"];
const MPI4PY: &str = "mpi4py==4.1.2";

/// The longest time of the suite.
const PATIENCE: Duration = Duration::from_secs(900);

/// mpi4py: the folder to import it from, and the one with its suite.
pub(super) struct Python {
    modules: PathBuf,
    source: PathBuf,
}

/// Fetches mpi4py, with pip, if it is not there.
pub(super) fn fetched(place: &Place<'_>) -> Result<Python, Error> {
    let home = place.target.join("peers/mpi4py");
    let (modules, archives) = (home.join("modules"), home.join("archives"));
    let source = home.join(MPI4PY.replace("==", "-"));
    if !source.join("test/main.py").exists() || !modules.exists() {
        let pip = |words: &[&str], folder: &Path, option: &str| {
            let mut command = Command::new("python3");
            command.args(["-m", "pip", "--quiet", "--disable-pip-version-check"]);
            command.args(words).arg(option).arg(folder).arg(MPI4PY);
            complete(
                &mut command,
                &format!("python3 -m pip {} {MPI4PY}", words.join(" ")),
            )
        };
        pip(&["install", "--no-deps"], &modules, "--target")?;
        pip(
            &["download", "--no-deps", "--no-binary", "mpi4py"],
            &archives,
            "--dest",
        )?;
        let archive = archives.join(format!("{}.tar.gz", MPI4PY.replace("==", "-")));
        let mut tar = Command::new("tar");
        tar.arg("-xf").arg(&archive).arg("-C").arg(&home);
        complete(&mut tar, "tar -xf of mpi4py's source")?;
    }
    Ok(Python { modules, source })
}

/// Runs mpi4py's suite; whether it passed.
pub(super) fn suite(
    place: &Place<'_>,
    mpi: &Mpi,
    python: &Python,
    (ranks, nodes): (usize, Option<&str>),
) -> bool {
    let mut title = format!("mpi4py's suite, {}, {ranks} ranks", mpi.kind.name);
    if !place.wants(&title) {
        return true;
    }
    let mut launcher = mpi.launcher(ranks);
    launcher.args(["python3", "test/main.py", "-q"]);
    for module in SUITE {
        launcher.args(["-i", module]);
    }
    launcher
        .current_dir(&python.source)
        .env("PYTHONPATH", &python.modules);
    if let Some(nodes) = nodes {
        title.push_str(&format!(", nodes {nodes}"));
        launcher.env(super::NODES, nodes);
    }
    let job = Job {
        launcher,
        title: &title,
        patience: PATIENCE,
    };
    let outcome = job.run(
        Some(place.library.as_path()),
        mpi.libraries().as_deref(),
        &place.folder,
    );
    let mut findings = outcome.findings();
    match &outcome.report {
        Some(report) => findings.extend(report.never_taken(mpi.kind.has_hook && nodes.is_none())),
        None => findings.push("there is no report: was the library preloaded?".into()),
    }
    judge(&title, &outcome, &findings)
}
