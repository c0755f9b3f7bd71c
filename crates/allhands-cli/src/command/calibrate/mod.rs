//! `allhands calibrate`: a machine's parameters, measured by microbenchmarks and written as the machine's file.

mod bed;
mod budget;
mod file;
mod intervals;
mod measure;
mod mpi;
mod operators;
mod point;
mod reach;
mod replay;
mod sample;
mod solve;
#[cfg(test)]
mod tests;

use super::bench::{cell::Among, hosts, processes, team::Team};
use super::simulate::machine::Machine;
use crate::output;
use allhands::policy::protocols::Protocols;
use allhands_core::machine::Nodes;
use anyhow::{Context, ensure};
use bed::{Bed, Question, Real, Simulated};
use budget::Budget;
use indicatif::{ProgressBar, ProgressStyle};
use measure::{Findings, Scope};
use replay::{Again, Kept, Listens};
use sample::Sample;
use std::io::{IsTerminal, Read, Write};
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::{Duration, Instant};

/// Measure a machine's parameters, and write them as a file that simulate and predict read
///
/// The microbenchmarks are schedules like those of algorithms, so messages go as those of collectives do: round trips,
/// trains of messages to one peer, messages to many peers and from many at once, pairs that exchange, all ranks that send to
/// many others at once, messages that are sent when the one before has left, or passed on while more come, which tell what
/// processors do from what ports do, and, where ranks share memory, flags, puts and gets; copies and reductions of one rank. From these
/// follow, for each length, os(m), or(m), L(m), g(m) and what messages share (the extended PLogP model, C 3.1), inside nodes and
/// between them; and what exchanges take in shared memory, what it takes to wake a rank of another node, and whether messages at a port
/// share it.
///
/// What calls take is found out first, and the time is shared among all measurements, of which each is made three times at
/// least; where there is no time for that, long messages are left out, and a line says how much time would do. Between hosts, which are
/// disturbed for minutes, what is short is measured again at the end, and the quieter time counts.
///
/// Measured times are drawn again at random, 200 times, and everything follows from them anew (the bootstrap): so the file has
/// intervals that each parameter lies in in 95 of 100 cases, and its first lines say at which lengths os(m), or(m) or L(m)
/// jump by more, as one protocol gives way to another.
///
/// Where ranks share memory, the table [protocols] has what this machine's ranks have measured of protocols at their first starts, in
/// the form that the user's cache has it in.
///
/// What every operator takes on elements of each type is in the table [network.alone.operators], by which predict --operator goes.
///
/// Ranks are processes that share memory (--transport shm, two if nothing is said), or are on hosts, or on pretended
/// ones, as for `allhands bench`. With --machine it is the machine of a simulation that is measured. With --mpi they are what an MPI's
/// launcher starts, and messages are that MPI's, also those of ranks that share a host: the file says what it makes of both.
///
/// Exit status 2 when the arguments are wrong, or ranks fail.
///
/// Examples:
///   allhands calibrate --transport shm -n 2 -o machine.toml
///   allhands calibrate --transport tcp --hosts a,b,c,d --time 60 -o cluster.toml
///   allhands calibrate --machine loggp -n 8 -o again.toml
///   allhands calibrate --mpi -o mpich.toml -- mpiexec -n 4
#[derive(clap::Args)]
#[command(verbatim_doc_comment)]
pub struct Arguments {
    #[command(flatten)]
    team: Team,

    /// A machine that is simulated, by its name or its file
    #[arg(long, conflicts_with_all = ["transport", "hosts"])]
    machine: Option<String>,

    /// Seconds for all that is measured, after the ranks have started
    #[arg(long, value_name = "S", default_value_t = 30.0)]
    time: f64,

    /// Where the file goes [default: standard output]
    #[arg(long, short = 'o', value_name = "FILE.toml")]
    output: Option<PathBuf>,

    #[command(flatten)]
    mpi: mpi::Options,
}

/// Of how many places in memory each question is asked.
const MEMORIES: usize = 5;

/// The part of the time in which what is short is asked again between hosts, and how long that is at most, in bytes.
const PART_OF_AGAIN: f64 = 0.3;
const MOST_BYTES_AGAIN: usize = 32 << 10;

/// Measures, and writes the file.
pub fn run(arguments: &Arguments) -> anyhow::Result<ExitCode> {
    ensure!(
        arguments.time.is_finite() && arguments.time > 0.0,
        "--time {}: how many seconds there are, more than 0",
        arguments.time
    );
    if arguments.mpi.mpi_rank {
        return mpi::as_rank(arguments).map(|()| ExitCode::SUCCESS);
    }
    if let Some(path) = &arguments.output
        && (arguments.mpi.mpi || !processes::is_rank().unwrap_or(false))
    {
        // Ranks would get in one another's way.
        output::check_file(path)?;
    }
    let text = match &arguments.machine {
        Some(name) => simulated(arguments, name)?,
        None if arguments.mpi.mpi => mpi::launched(arguments)?,
        None => match real(arguments)? {
            Some(text) => text,
            None => return Ok(ExitCode::SUCCESS),
        },
    };
    match &arguments.output {
        Some(path) => std::fs::write(path, &text)
            .with_context(|| format!("cannot write {}", path.display()))?,
        None => std::io::stdout().write_all(text.as_bytes())?,
    }
    Ok(ExitCode::SUCCESS)
}

fn simulated(arguments: &Arguments, name: &str) -> anyhow::Result<String> {
    let machine = Machine::find(name)?;
    let numbers = arguments.team.ranks.as_ref().map(|ranks| ranks.0.clone());
    let ranks = numbers.and_then(|numbers| numbers.first().copied());
    let ranks = ranks.or(machine.ranks()).unwrap_or(8);
    machine.admits(ranks)?;
    let nodes = match (&machine.nodes, machine.shares_memory()) {
        (Some(nodes), _) => nodes.clone(),
        (None, true) => Nodes::one(),
        (None, false) => Nodes::of_sizes(&vec![1; ranks as usize]),
    };
    let mut bed = Simulated {
        machine: &machine,
        nodes,
        ranks,
    };
    let findings = measured(&mut bed)?;
    file::text(&findings, &format!("the simulated machine {name}"), ranks)
}

/// The file's text, if this process is the one to write it.
fn real(arguments: &Arguments) -> anyhow::Result<Option<String>> {
    let team = &arguments.team;
    hosts::check(team)?;
    let network = team.transport.network();
    ensure!(
        network.is_some() || team.transport.is_processes(),
        "--transport threads: threads go as processes do that share memory; right would be --transport shm, tcp or ofi, or --machine"
    );
    let begin = Instant::now();
    if processes::is_rank()? {
        let (among, _) = processes::among(team)?;
        let is_first = among.comm.rank() == 0;
        let what = format!("{} ranks over {}", among.comm.size(), team.transport.name());
        let ranks = among.comm.size() as u32;
        let mut among = vec![among];
        if network.is_none() {
            for _ in 1..MEMORIES {
                among.push(Among::near(among[0].comm.dup()?));
            }
        }
        // Among ranks that share memory, it is where that lies that differs.
        let again_s = network.map_or(0.0, |_| PART_OF_AGAIN * arguments.time);
        let budget = Budget::new(begin, arguments.time).but_for(again_s);
        let mut findings = measured(&mut Real {
            among,
            budget,
            again_s,
        })?;
        if is_first {
            operators::add(&mut findings.alone);
        }
        if is_first {
            say_what_was_cut(&findings, arguments.time);
        }
        let mut text = file::text(&findings, &what, ranks)?;
        if network.is_none()
            && let Some(protocols) = Protocols::read()
        {
            text = format!("{text}\n{}", protocols.text());
        }
        if is_first && processes::is_collected() {
            std::io::stdout().write_all(text.as_bytes())?;
            return Ok(None);
        }
        return Ok(is_first.then_some(text));
    }
    let numbers = match (&team.ranks, network) {
        (None, None) => vec![2],
        _ => hosts::numbers(team)?,
    };
    ensure!(
        numbers.len() == 1 && numbers[0] > 1,
        "-n: one number of ranks, two or more"
    );
    let budget = Duration::from_secs_f64(arguments.time);
    let mut child = processes::start(team, numbers[0], budget)?;
    let mut text = String::new();
    let said = child.stdout.take().context("ranks say what they find")?;
    std::io::BufReader::new(said).read_to_string(&mut text)?;
    let status = child.wait()?;
    ensure!(status.success(), "the ranks failed: {status}");
    Ok(Some(text))
}

/// Says for which messages there was no time, and how much would do, if that is so.
fn say_what_was_cut(findings: &Findings, seconds: f64) {
    if let Some((bytes, wanted)) = findings.cut {
        eprintln!(
            "allhands: in {seconds:.0} s messages of up to {} bytes were measured, each at least three times: all lengths, to 1M, would need about --time {wanted:.0}",
            crate::sizes::say(bytes as usize),
        );
    }
}

fn measured(bed: &mut dyn Bed) -> anyhow::Result<Findings> {
    let (nodes, ranks) = bed.ranks();
    let mut listens = Listens {
        asked: Vec::new(),
        nodes,
        ranks,
        shares_memory: bed.shares_memory(),
    };
    measure::all(&mut listens, &Scope::default(), &mut |_| ())?;
    let bar = match std::io::stderr().is_terminal() {
        true => ProgressBar::new(listens.asked.len() as u64),
        false => ProgressBar::hidden(),
    };
    if let Ok(style) = ProgressStyle::with_template("{bar:40} {msg}") {
        bar.set_style(style);
    }
    bed.expect(listens.asked)?;
    let mut kept = Kept {
        bed,
        answers: Vec::new(),
    };
    let mut findings = measure::all(&mut kept, &Scope::default(), &mut |name| {
        bar.set_message(name.to_string());
        bar.inc(1);
    })?;
    bar.finish_and_clear();
    let mut answers = kept.answers;
    if ask_again(bed, &mut answers)? {
        let (nodes, ranks) = bed.ranks();
        let mut again = Again {
            answers: &answers,
            next: 0,
            draw: None,
            nodes,
            ranks,
            shares_memory: bed.shares_memory(),
        };
        let quieter = measure::all(&mut again, &Scope::of(&findings), &mut |_| ())?;
        findings = Findings {
            cut: findings.cut,
            ..quieter
        };
    }
    intervals::add(&mut findings, &answers, bed)?;
    Ok(findings)
}

/// Asks again what is short, and keeps the quieter answers; whether it does.
fn ask_again(bed: &mut dyn Bed, answers: &mut [(Question, Sample)]) -> anyhow::Result<bool> {
    let is_short = |question: &Question| question.bytes <= MOST_BYTES_AGAIN;
    let short = answers.iter().map(|(question, _)| question.clone());
    if !bed.asks_again(short.filter(is_short).collect()) {
        return Ok(false);
    }
    for (question, sample) in answers.iter_mut().filter(|(one, _)| is_short(one)) {
        let again = bed.time(question)?;
        if again.us < sample.us {
            *sample = again;
        }
    }
    Ok(true)
}
