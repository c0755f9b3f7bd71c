//! `allhands calibrate --mpi`: the messages of the MPI are measured among ranks that its launcher starts, and predictions follow from the file.

use super::job::Job;
use super::mpi::Mpi;
use super::{Error, Place, complete, judge};
use std::fs;
use std::process::Command;
use std::time::Duration;

/// How long measuring and predicting may take.
const PATIENCE: Duration = Duration::from_secs(120);

/// Seconds for measuring; where others compute, too, fewer are too little.
const SECONDS: &str = "12";

/// The number of ranks.
const RANKS: usize = 2;

/// Calibrates, predicts, and gives the number of runs that failed.
pub(super) fn failed(place: &Place<'_>, mpi: &Mpi) -> Result<usize, Error> {
    let title = format!("calibrate --mpi, {}", mpi.kind.name);
    if !place.wants(&title) {
        return Ok(0);
    }
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let mut build = Command::new(cargo);
    // As the tests of all crates have built it.
    build.args(["build", "--workspace", "--features", "allhands-cli/tls"]);
    build.args(["--profile", "checked", "--locked", "--quiet"]);
    build.args(["--bin", "allhands"]).current_dir(place.root);
    complete(&mut build, "cargo build --bin allhands")?;
    let program = place.target.join("checked/allhands");
    let file = place
        .folder
        .join(format!("calibrated-{}.toml", mpi.kind.name));
    // There need not be one from an earlier run.
    let _ = fs::remove_file(&file);
    let started = mpi.launcher(RANKS);
    let mut calibrate = Command::new(&program);
    calibrate.args(["calibrate", "--mpi", "--time", SECONDS, "-o"]);
    calibrate.arg(&file).arg("--").arg(started.get_program());
    calibrate.args(started.get_args());
    for (name, value) in started.get_envs() {
        if let Some(value) = value {
            calibrate.env(name, value);
        }
    }
    let job = Job {
        launcher: calibrate,
        title: &title,
        patience: PATIENCE,
    };
    let outcome = job.run(None, mpi.libraries().as_deref(), &place.folder);
    let mut findings = outcome.findings();
    match fs::read_to_string(&file) {
        Ok(text) if text.contains("2 ranks on 1 host by messages of ") => {}
        Ok(_) => findings.push("the file does not say whose messages they are".into()),
        Err(error) => findings.push(format!("{}: {error}", file.display())),
    }
    let mut predict = Command::new(&program);
    predict.args([
        "predict",
        "allreduce",
        "-n",
        "2",
        "--bytes",
        "8,1K",
        "--machine",
    ]);
    match predict.arg(&file).output() {
        Ok(said) if said.status.success() => {
            let said = String::from_utf8_lossy(&said.stdout).into_owned();
            if !said.contains("recursive-doubling") {
                findings.push(format!("predict says nothing of an algorithm: {said}"));
            }
        }
        Ok(said) => findings.push(String::from_utf8_lossy(&said.stderr).into_owned()),
        Err(error) => findings.push(format!("predict does not start: {error}")),
    }
    Ok(usize::from(!judge(&title, &outcome, &findings)))
}
