//! Clusters without an MPI: our ranks on the lab's hosts, over TCP and libfabric, by turns with MPICH's and Open MPI's.
//!
//! Everybody's ranks are on the hosts at once, asleep at the board that `cargo xtask compare` has, which hosts of one machine can share:
//! so the start that ranks agree on, the inputs, the clock and the checks are the same for all, and use nothing of what is measured.
//! A call's time is from the start to the last rank's end; the start is 5 ms after all have come.

use crate::error::{Error, at};
use crate::lab::{Lab, plain};
use crate::run::{OWN_PROGRAMS, build};
use arguments::Arguments;
use conductor::{Outcome, Stage};
use record::{Network, Record};
use replay::Replay;
use serde::Serialize;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::{Duration, Instant};
use xtask::peers::{Installed, PEERS};
use xtask::processes;

mod arguments;
mod conductor;
mod contender;
pub(crate) mod needs;
mod rails;
mod record;
mod replay;
mod report;

/// What cells are called whose last rail has half its rate.
const HALF: &str = "half";

/// Runs `cargo xtask lab` with these words behind it.
pub(crate) fn command(root: &Path, words: &[String]) -> ExitCode {
    let arguments = match Arguments::read(words) {
        Ok(arguments) => arguments,
        Err(mistake) => {
            // Nobody is left to be told that it could not be printed.
            let _ = mistake.print();
            return ExitCode::from(mistake.exit_code() as u8);
        }
    };
    processes::note_interrupts();
    processes::adopt_orphans();
    match compare(root, &arguments) {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(Error::Interrupted) => ExitCode::from(130),
        Err(error) => {
            eprintln!("cargo xtask lab: {error}");
            ExitCode::FAILURE
        }
    }
}

/// Compares; whether everything is right, and all that is demanded is shown.
fn compare(root: &Path, arguments: &Arguments) -> Result<bool, Error> {
    if let Some(missing) = needs::missing() {
        return Err(Error::Lab(missing));
    }
    let target =
        std::env::var("CARGO_TARGET_DIR").map_or_else(|_| root.join("target"), PathBuf::from);
    let begin = Instant::now();
    let (json, holds) = match arguments.plain {
        true => {
            let (records, holds) = plain::compare(root, &target, arguments.rounds)?;
            (json(&records)?, holds)
        }
        false => in_turns(root, &target, arguments)?,
    };
    let path = root.join(&arguments.json);
    if let Some(folder) = path.parent() {
        fs::create_dir_all(folder).map_err(at(folder))?;
    }
    fs::write(&path, json).map_err(at(&path))?;
    let seconds = begin.elapsed().as_secs_f64();
    println!("{seconds:.0} s, records in {}", path.display());
    Ok(holds)
}

/// Everybody's ranks in turns: the records, and whether everything is right and all that is demanded is shown.
fn in_turns(root: &Path, target: &Path, arguments: &Arguments) -> Result<(String, bool), Error> {
    let (files, each) = (&arguments.replay, arguments.each);
    let replay = (!files.is_empty()).then(|| Replay::read(root, files, each));
    let replay = replay.transpose()?;
    let worker = build(root, target, &OWN_PROGRAMS)?;
    let begin = Instant::now();
    let folder = target.join(format!("compare/clusters-{}", std::process::id()));
    fs::create_dir_all(&folder).map_err(at(&folder))?;
    let stage = Stage {
        arguments,
        worker,
        installed: installed(root, arguments, target, &folder)?,
        folder,
        end: begin + Duration::from_secs_f64(arguments.seconds),
    };
    let compared = match replay {
        Some(replay) => replay
            .play(root, &stage)
            .and_then(|(rows, holds)| Ok((json(&rows)?, holds))),
        None => all_hosts(root, &stage).and_then(|(records, holds)| Ok((json(&records)?, holds))),
    };
    fs::remove_dir_all(&stage.folder).map_err(at(&stage.folder))?;
    compared
}

/// Records as a file has them.
fn json(records: &impl Serialize) -> Result<String, Error> {
    serde_json::to_string_pretty(records).map_err(|error| Error::Lab(error.to_string()))
}

/// The MPIs of the peers that are asked for, each with what makes the worker's calls.
fn installed(
    root: &Path,
    arguments: &Arguments,
    target: &Path,
    folder: &Path,
) -> Result<Vec<Installed>, Error> {
    let source = root.join("crates/allhands-compare/c/shim.c");
    let wanted = |library: &str| arguments.peers().iter().any(|peer| peer.library == library);
    let mut all = Vec::new();
    for peer in PEERS.iter().filter(|peer| wanted(peer.name)) {
        let installed = Installed::fetched(peer.name, &target.join("peers"))?;
        let shim = folder.join(format!("shim-{}.so", peer.name));
        installed.compile_shared(&source, &shim)?;
        all.push(installed);
    }
    Ok(all)
}

/// Every number of hosts: all records, and whether what is demanded is shown.
fn all_hosts(root: &Path, stage: &Stage<'_>) -> Result<(Vec<Record>, bool), Error> {
    let arguments = stage.arguments;
    println!(
        "{} rail(s) of {}, {} one way; {} rounds; of a turn's calls the median",
        arguments.rails,
        arguments.rate().text,
        arguments.delay,
        arguments.rounds
    );
    let (mut records, mut holds) = (Vec::new(), true);
    let hosts = arguments.hosts();
    for (at, &count) in hosts.iter().enumerate() {
        let left = stage.end.saturating_duration_since(Instant::now());
        let end = Instant::now() + left / (hosts.len() - at) as u32;
        let rate = arguments.rate().text;
        let lab = Lab::up(root, count, arguments.rails, [&rate, &arguments.delay])?;
        let (found, is_right) = match arguments.rails {
            1 => beside_peers(stage, &lab, end)?,
            _ => on_rails(stage, &lab, end)?,
        };
        records.extend(found);
        holds &= is_right;
    }
    Ok((records, holds))
}

/// Ours and the peers on one rail.
fn beside_peers(
    stage: &Stage<'_>,
    lab: &Lab<'_>,
    end: Instant,
) -> Result<(Vec<Record>, bool), Error> {
    let entries = stage.contenders(lab);
    let outcome = played(stage, lab, "peers", entries, end)?;
    if !stage.arguments.policies.is_empty() {
        println!("{}", report::fastest_of_ours(&outcome.records));
    }
    if stage.arguments.each > 1 {
        // What is demanded is of one rank a host.
        return Ok(ended("", outcome, true));
    }
    let (text, holds) = report::summary(lab.hosts(), &outcome.records);
    println!("{text}");
    Ok(ended("", outcome, holds))
}

/// Ours on all rails, ours on one of them, and on two of which one has half its rate.
fn on_rails(stage: &Stage<'_>, lab: &Lab<'_>, end: Instant) -> Result<(Vec<Record>, bool), Error> {
    let (rails, network) = (stage.arguments.rails, &stage.arguments.networks[0]);
    let mut entries = vec![
        stage.ours(lab, network, network, rails),
        stage.ours(lab, rails::ONE, network, 1),
    ];
    entries.extend(stage.peers(lab));
    let left = end.saturating_duration_since(Instant::now());
    // The half rail has one contender.
    let first_end = if rails == 2 { end - left / 4 } else { end };
    let even = played(stage, lab, "rails", entries, first_end)?;
    let (text, mut holds) = rails::speed_ups(rails, &even.records);
    println!("{text}");
    if rails != 2 {
        return Ok(ended("", even, holds));
    }
    lab.slow_rail(stage.arguments.rate().mbit_s / 2.0, &stage.arguments.delay)?;
    let entries = vec![stage.ours(lab, network, network, rails)];
    let uneven = played(stage, lab, HALF, entries, end)?;
    let (text, is_right) = rails::half(&even.records, &uneven.records);
    println!("{text}");
    holds &= is_right;
    let (mut records, is_even_right) = ended("", even, holds);
    let (others, is_uneven_right) = ended(" with half a rail", uneven, holds);
    records.extend(others);
    Ok((records, is_even_right && is_uneven_right))
}

/// Says what was left out; gives the records, and whether they are right and enough.
fn ended(what: &str, outcome: Outcome, holds: bool) -> (Vec<Record>, bool) {
    if !outcome.left_out.is_empty() {
        println!(
            "left out{what}, as --time is over: {}",
            outcome.left_out.join(", ")
        );
    }
    (outcome.records, holds && !outcome.has_failed)
}

/// Starts these ranks and plays all cells.
fn played(
    stage: &Stage<'_>,
    lab: &Lab<'_>,
    name: &str,
    entries: Vec<conductor::Entry>,
    end: Instant,
) -> Result<Outcome, Error> {
    let hosts = lab.hosts();
    let [l_us, of_rail] = lab.network()?;
    let (board, path) = stage.board(&format!("board-{hosts}-{name}"), entries.len())?;
    let each = stage.arguments.each;
    let mut cast = stage.cast(hosts * each, (&board, &path), entries)?;
    let has_half_rail = name == HALF;
    let rails = stage.arguments.rails;
    let whole = f64::from(rails) - if has_half_rail { 0.5 } else { 0.0 };
    let network = Network {
        hosts,
        each,
        rails,
        has_half_rail,
        l_us,
        g_us: of_rail / whole,
        empty_us: stage.empty_us(&mut cast)?,
    };
    let names = cast.names();
    let names: Vec<&str> = names.iter().map(String::as_str).collect();
    println!("{}", report::head(network, &names));
    stage.play(&mut cast, network, end, |record| {
        println!("{}", report::row(record, &names))
    })
}
