//! `allhands run`: processes on one machine, each with its rank and the memory that they share, or on several hosts.

mod binding;
mod group;
pub mod guard;
pub mod hosts;
mod lines;
mod ready;
mod signals;
mod start;
mod supervisor;
mod typed;
mod waits;

use allhands::launch::{MAX_RANKS, Nodes, Roll, Segment};
use anyhow::Context;
pub use binding::{Bind, Binding};
use std::ffi::OsString;
use std::process::ExitCode;
use std::time::{Duration, Instant};

/// Run a program in several processes, which find one another in shared memory
///
/// Each process is told its rank in the environment: ALLHANDS_RANK, ALLHANDS_RANKS and, as an open
/// descriptor, ALLHANDS_SEGMENT. What is written comes out as it is written; what is typed goes to
/// rank 0. Signals are handed on to all ranks and what they have started; a second SIGINT kills.
///
/// When a rank ends with another code than 0, or is killed, all others are ended: by SIGTERM, and
/// half a second later by SIGKILL; but where it failed because of another rank, that one first has
/// a second to say why. The exit status is that of the first rank that failed, 128 and
/// the signal's number if it was killed. Whatever happens, no process and no file stays behind.
///
/// A rank that has waited 10 s in a call says for whom. SIGUSR1 asks for that at once (and reaches
/// only those processes that have a handler for it); --timeout and SIGINT say it before they end.
///
/// With --hosts, the ranks are on several hosts, and find one another by name and TCP: this program
/// must be there too, and is started by the launcher. It ends everything on all hosts in the same
/// way. Variables that begin with ALLHANDS_ are handed on, and those of --env; ranks have no input.
///
/// Exit status 2 when the arguments are wrong, 124 after --timeout, 126 when the program cannot be
/// executed, 127 when there is none.
///
/// Examples:
///   allhands run -n 4 ./program --its-own-option
///   allhands run -n 4 --prefix -- sh -c 'echo "I am $ALLHANDS_RANK of $ALLHANDS_RANKS"'
///   allhands run -n 16 --nodes 4x4 --timeout 60 ./program
///   allhands run --hosts a,b:4 --launcher 'ssh {host}' ./program
#[derive(clap::Args)]
#[command(verbatim_doc_comment)]
pub struct Arguments {
    /// The number of ranks (with --nodes: as many as they have; with --hosts: those that have no number share the rest)
    #[arg(long, short = 'n', value_parser = clap::value_parser!(u32).range(1..=i64::from(MAX_RANKS)), required_unless_present_any = ["nodes", "hosts"])]
    ranks: Option<u32>,

    /// Pretend nodes: 4x8 is four of eight ranks each
    #[arg(long, value_name = "NODESxRANKS")]
    nodes: Option<Nodes>,

    #[command(flatten)]
    on: hosts::Options,

    /// What carries messages between hosts: tcp, the kernel's own, or ofi, libfabric's
    #[arg(long, value_name = "NETWORK", requires = "hosts", value_parser = [hosts::TCP, hosts::OFI])]
    network: Option<String>,

    /// Begin each line of output with its rank, as in: [3] text
    #[arg(long)]
    prefix: bool,

    #[command(flatten)]
    binding: Binding,

    /// When a rank fails, say so and let the others go on
    #[arg(long)]
    keep_going: bool,

    /// End everything after so many seconds, with exit status 124
    #[arg(long, value_name = "S", value_parser = seconds)]
    timeout: Option<f64>,

    /// The program and its arguments
    #[arg(
        required = true,
        trailing_var_arg = true,
        allow_hyphen_values = true,
        value_name = "PROGRAM"
    )]
    program: Vec<OsString>,
}

/// Reads a number of seconds.
fn seconds(text: &str) -> Result<f64, String> {
    let seconds = text.parse().ok().filter(|s: &f64| *s > 0.0 && *s <= 1e9);
    seconds.ok_or_else(|| format!("'{text}' is no number of seconds greater than 0"))
}

/// Runs the ranks; the exit status is that of the first that failed.
pub fn run(arguments: &Arguments) -> anyhow::Result<ExitCode> {
    if !arguments.on.hosts.is_empty() {
        return hosts::run(arguments).map(ExitCode::from);
    }
    if let Some(option) = arguments.on.of_starting().or(arguments.on.of_reaching()) {
        anyhow::bail!("{option} is for ranks on hosts: name these with --hosts, as in a,b:4");
    }
    let ranks = ranks(arguments)?;
    let cpus = arguments.binding.bind.cpus(ranks)?;
    // For each rank what tells its end and two pipes, and what the launcher has besides.
    let each = if arguments.prefix { 3 } else { 1 };
    let files = start::allow_files(u64::from(ranks) * each + 200)?;
    let segment = Segment::create()?;
    let roll = Roll::begin(segment, ranks)?;
    let signals = signals::Signals::take()?;
    let guard = guard::Guard::start()?;
    let (program, rest) = arguments
        .program
        .split_first()
        .context("no program is named")?;
    let plan = start::Plan {
        program: program.clone(),
        arguments: rest.to_vec(),
        ranks,
        segment: start::reserve(segment)?,
        nodes: arguments.nodes,
        world: None,
        cpus,
        piped: arguments.prefix,
        typed: rustix::termios::isatty(rustix::stdio::stdin()),
        mask: signals.before,
        files,
    };
    let supervisor = supervisor::Supervisor {
        plan: &plan,
        roll: &roll,
        signals: &signals,
        guard: &guard,
        keep_going: arguments.keep_going,
        until: arguments
            .timeout
            .map(|s| (Instant::now() + Duration::from_secs_f64(s), s)),
        state: supervisor::State::default(),
    };
    // If this fails, the guard is not dismissed, and ends what runs.
    let code = supervisor.run()?;
    guard.dismiss();
    Ok(ExitCode::from(code))
}

fn ranks(arguments: &Arguments) -> anyhow::Result<u32> {
    let pretended = arguments.nodes.map(|nodes| (nodes, nodes.ranks()));
    match (arguments.ranks, pretended) {
        (Some(ranks), Some((nodes, all))) => {
            anyhow::ensure!(
                u64::from(ranks) == all,
                "--nodes {nodes} are {all} ranks, not the {ranks} of -n"
            );
            Ok(ranks)
        }
        (Some(ranks), None) => Ok(ranks),
        (None, Some((nodes, all))) => {
            let ranks = u32::try_from(all).ok().filter(|ranks| *ranks <= MAX_RANKS);
            ranks.with_context(|| {
                format!("--nodes {nodes} are {all} ranks; there can be {MAX_RANKS}")
            })
        }
        (None, None) => anyhow::bail!("how many ranks? -n 4 is four"),
    }
}
