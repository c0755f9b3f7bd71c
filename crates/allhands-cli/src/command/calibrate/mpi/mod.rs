//! `allhands calibrate --mpi`: the parameters of an MPI's messages, measured by ranks that its launcher starts.
//!
//! Each rank is this program, which loads the MPI and has every message of the microbenchmarks be one of the MPI's own; so ranks of one
//! host are apart, too, and what their messages take is what that MPI makes of shared memory.

mod messages;

use super::bed::Real;
use super::budget::Budget;
use super::{Arguments, file, measured, operators};
use crate::command::bench::{cell::Among, starts::Starts};
use crate::command::tune::mpi::launch::library_near;
use crate::command::tune::mpi::rank;
use crate::command::tune::mpi::rank::library::Library;
use allhands::bootstrap::Bootstrap;
use allhands::net::Places;
use allhands::transport::{Endpoint, SharedSegment};
use allhands::{Communicator, Policy};
use anyhow::{Context, ensure};
use messages::Messages;
use std::io::{BufRead, BufReader, Write};
use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::time::Instant;

/// What begins the line of rank 0's that is the file, as a JSON text; all others are the MPI's or the launcher's.
const MARK: &str = "allhands-calibrate-mpi ";

/// What belongs to `--mpi` alone.
#[derive(clap::Args)]
#[group(skip)]
pub struct Options {
    /// Measure the messages of an MPI, among ranks that its launcher behind `--` starts
    #[arg(long, requires = "launch", conflicts_with_all = ["ranks", "transport", "machine", "hosts", "nodes"])]
    pub mpi: bool,
    /// With --mpi: the file of the MPI's library; otherwise the one beside the launcher, or which the linker finds
    #[arg(long, value_name = "FILE")]
    library: Option<PathBuf>,
    /// Be one of these ranks
    #[arg(long, hide = true)]
    pub mpi_rank: bool,
    /// With --mpi: the launcher and its arguments, without a program
    #[arg(last = true, requires = "mpi", value_name = "LAUNCHER")]
    launch: Vec<String>,
}

/// Has a launcher start the ranks, and gives the file's text, which rank 0 says.
pub fn launched(arguments: &Arguments) -> anyhow::Result<String> {
    let options = &arguments.mpi;
    let (launcher, words) = options
        .launch
        .split_first()
        .context("there is no launcher")?;
    let own = std::env::current_exe().context("this program's own file is not known")?;
    let mut command = Command::new(launcher);
    command.args(words).arg(own).arg("calibrate");
    command.args(["--mpi-rank", "--time", &arguments.time.to_string()]);
    let library = options.library.clone().or_else(|| library_near(launcher));
    if let Some(library) = library {
        command.arg("--library").arg(library);
    }
    command.stdin(Stdio::null()).stdout(Stdio::piped());
    let mut child = command.spawn().with_context(|| {
        format!(
            "{launcher} does not start\n    right: a launcher behind `--`, such as mpiexec -n 4"
        )
    })?;
    let output = child.stdout.take().context("the launcher has no output")?;
    let mut text = None;
    for line in BufReader::new(output).lines() {
        let line = line.context("the launcher's output cannot be read")?;
        match line.strip_prefix(MARK) {
            Some(said) => text = Some(serde_json::from_str(said)?),
            None => eprintln!("{line}"),
        }
    }
    let status = child.wait().context("the launcher cannot be waited for")?;
    let line = options.launch.join(" ");
    ensure!(
        status.success(),
        "`{line}` failed ({status}); what it has said is above"
    );
    text.with_context(|| {
        format!("`{line}` ended, and no rank said anything; does it start programs?")
    })
}

/// Measures as one of the ranks; rank 0 says what the file has.
pub fn as_rank(arguments: &Arguments) -> anyhow::Result<()> {
    let begin = Instant::now();
    let file = arguments.mpi.library.as_ref();
    let file = file.map(|file| file.display().to_string());
    let library = Library::start(file.as_deref())?;
    ensure!(
        library.ranks > 1,
        "one rank has nobody to send to: right would be a launcher that starts two or more, such as mpiexec -n 2"
    );
    let control = library.duplicate()?;
    let (hosts, _) = rank::hosts(&library, control)?;
    let among = Among::far(
        communicator(&library, hosts)?,
        Starts::far(hosts == 1),
        "mpi",
        None,
    );
    let budget = Budget::new(begin, arguments.time);
    let mut bed = Real {
        among: vec![among],
        budget,
        again_s: 0.0,
    };
    let mut findings = measured(&mut bed)?;
    if library.rank == 0 {
        operators::add(&mut findings.alone);
        super::say_what_was_cut(&findings, arguments.time);
        let plural = if hosts == 1 { "" } else { "s" };
        let what = format!(
            "{} ranks on {hosts} host{plural} by messages of {}",
            library.ranks, library.version
        );
        let text = file::text(&findings, &what, library.ranks as u32)?;
        let mut out = std::io::stdout().lock();
        writeln!(out, "{MARK}{}", serde_json::to_string(&text)?)?;
        out.flush()
            .context("who has started the ranks does not listen")?;
    }
    // Nobody ends the MPI while others still wait for messages.
    bed.among[0].comm.barrier()?;
    drop(bed);
    library.end()
}

/// The communicator of all ranks, each of which is a node of its own.
fn communicator(library: &Library, hosts: usize) -> anyhow::Result<Communicator> {
    let messages = Messages::new(library, library.duplicate()?)?;
    let apart: Vec<u32> = (0..library.ranks as u32).collect();
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    let is_oversubscribed = library.ranks.div_ceil(hosts.max(1)) > cores;
    let endpoint = Endpoint::new(SharedSegment::new(1)?, 0)?.join(
        Box::new(messages),
        Places::new(&apart)?,
        library.rank as u32,
        is_oversubscribed,
    )?;
    Ok(Communicator::of_endpoint(
        endpoint,
        Policy::Mpich2005,
        is_oversubscribed,
    ))
}
