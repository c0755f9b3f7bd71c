//! `allhands tune`: measures what is fastest on this machine, and installs the table by which calls choose.

#[cfg(target_os = "linux")]
mod apart;
mod finals;
#[cfg(target_os = "linux")]
pub mod mpi;
mod race;
pub mod store;
mod team;

use super::{bench, memory};
use crate::sizes::say;
use crate::{interrupt, names, output, sizes};
use allhands::policy::{self, predict};
use allhands_core::algorithm::{self, Algorithm, Requirement, print_parameters};
use allhands_core::call::{Call, Collective};
use allhands_core::choose::{self, Cell, Entry, Policy, Question, Row, Table};
use allhands_core::schedule::Shape;
use anyhow::Context;
use indicatif::{ProgressBar, ProgressStyle};
use std::io::{IsTerminal, Write};
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::{Duration, Instant};
use store::Store;
use team::{Request, Team};

/// Measure what is fastest on this machine, and choose by it from then on
///
/// Every setting of every algorithm that serves a call runs, and the better half again for longer, until
/// the winner is clear or the time for this size is up; at the end the best of all sizes run once more, by
/// turns. What the built-in table chooses stays where nothing else is measurably faster (by 5 %). Ranks are
/// processes that share memory or, with --transport threads, threads of this process; the table serves both.
///
/// Between hosts (--transport tcp or ofi, with --hosts as for `allhands bench`) the forecast proposes: what it takes for near the best
/// is measured by turns, and what is measurably faster (by 3 %) takes the place of what it chooses, on these nodes, where the network's times
/// are like those of now. Where it names no second, or where calls take too long for the time there is, its choice stands.
///
/// The table goes to the user's cache ($XDG_CACHE_HOME or ~/.cache)/allhands/tuned-MACHINE-VERSION.toml,
/// where every program that uses Allhands finds it; `allhands explain` says what is chosen from it. Remove the
/// file to go back to the built-in table.
///
/// It takes --time seconds, 300 unless told otherwise, or fewer. Ctrl-C ends it sooner: what has been measured is kept
/// beside the file, and --resume goes on from there.
///
/// With --mpi, what is measured are the algorithms that an MPI has itself, each forced by that MPI's settings, among the ranks that the
/// launcher behind `--` starts: this program is put behind the launcher, loads the MPI, and needs no compiler. --bytes are those of
/// whole vectors. What is measurably faster than the default goes into the files that MPICH, Open MPI or Intel MPI reads, with the
/// default everywhere else; docs/tuning-mpis.md says how to use them. --evaluate measures what they gain, of what could be gained.
///
/// Exit status 1 when a result is wrong, or when the files gain too little in an evaluation (less than 80 % of what the best forced
/// algorithms do, or an interval below 0.97 of the default), 2 when the arguments are wrong, 130 after Ctrl-C.
///
/// Keys of --json: library, ranks, hosts, collective, bytes (of the whole vector), forced (the fastest when it was tuned), chosen (what
/// the files say), default_us, forced_us and file_us (medians of rounds), file_ratio and forced_ratio (the default's time by the
/// other's: median and ends of its 95 % interval).
///
/// Examples:
///   allhands tune
///   allhands tune allreduce broadcast --ranks 2,4 --bytes 8,4K,1M --time 60
///   allhands tune --transport tcp --hosts a,b,c,d
///   allhands tune --resume
///   allhands tune --mpi --time 600 -- mpiexec -n 8
///   allhands tune --mpi --evaluate --json evaluation.json -- mpiexec -n 8
#[derive(clap::Args)]
#[command(verbatim_doc_comment, mut_arg("transport", |transport| transport.default_value("shm")))]
pub struct Arguments {
    /// Only these collectives
    #[arg(value_parser = names::collective)]
    collectives: Vec<Collective>,

    #[command(flatten)]
    team: bench::team::Team,

    /// Sizes, such as 8,64K,64KiB,1MB (all powers of 2): a block per rank or pair for gather, scatter, allgather and alltoall, the whole vector otherwise
    #[arg(long, value_delimiter = ',', value_parser = sizes::of_elements, default_values = ["8", "32", "128", "512", "2K", "4K", "8K", "32K", "128K", "256K", "512K", "1M", "4M"])]
    bytes: Vec<usize>,

    /// Seconds for everything
    #[arg(long, value_name = "S", default_value_t = 300.0)]
    time: f64,

    /// Write the table to this file instead
    #[arg(long, short, value_name = "FILE")]
    output: Option<PathBuf>,

    /// Keep what the file has, also one of a run that was ended, and measure only what it lacks
    #[arg(long)]
    resume: bool,

    #[cfg(target_os = "linux")]
    #[command(flatten)]
    mpi: mpi::Options,
}

impl Arguments {
    /// What of it is for the tuner of an MPI, too.
    #[cfg(target_os = "linux")]
    fn of_mpi(&self) -> mpi::Asked<'_> {
        mpi::Asked {
            collectives: &self.collectives,
            bytes: &self.bytes,
            seconds: self.time,
            folder: self.output.as_deref(),
            is_resumed: self.resume,
        }
    }
}

/// A place in the table, and who races for it.
struct Contest {
    collective: Collective,
    ranks: u32,
    oversubscribed: bool,
    bytes: usize,
    candidates: Vec<Candidate>,
    /// The built-in table's choice among them.
    favourite: usize,
}

impl Contest {
    /// Where it stands in the table.
    fn row(&self) -> Row {
        Row::new(self.collective, self.ranks, self.oversubscribed)
    }

    /// What a table has there.
    fn cell<'a>(&self, table: &'a Table) -> Option<&'a Cell> {
        let row = table.row(self.collective, self.ranks, self.oversubscribed)?;
        let mut cells = row.cells().iter();
        cells.find(|cell| cell.bytes == self.bytes as u64)
    }
}

struct Candidate {
    algorithm: &'static Algorithm,
    parameters: String,
    /// Whether it serves every call: any number of ranks, any operator, any counts.
    serves_all: bool,
}

impl Candidate {
    fn name(&self) -> String {
        names::typed(self.algorithm.name, &self.parameters)
    }
}

/// What all ranks of a measurement may hold together; sizes that need more are left out.
const MOST_BYTES: usize = 256 << 20;
/// The length of a ranking.
pub const RANKED: usize = 4;

/// Measures and writes the table; exit status 1 if any result is wrong.
pub fn run(arguments: &Arguments) -> anyhow::Result<ExitCode> {
    #[cfg(target_os = "linux")]
    if arguments.team.transport.network().is_some() {
        return apart::run(arguments, &mut std::io::stdout());
    }
    if team::is_member()? {
        return team::serve();
    }
    anyhow::ensure!(
        arguments.time.is_finite() && arguments.time > 0.0,
        "--time {}: how many seconds there are, more than 0",
        arguments.time
    );
    #[cfg(target_os = "linux")]
    if arguments.mpi.is_asked() {
        return mpi::run(&arguments.mpi, &arguments.of_mpi());
    }
    // Every measurement would fail on a broken table.
    policy::installed()?;
    let mut store = open(arguments)?;
    let all = contests(arguments)?;
    let is_new = |contest: &&Contest| contest.cell(store.table()).is_none();
    let contests: Vec<&Contest> = all.iter().filter(is_new).collect();
    let has_begun = !contests.is_empty() || store.partial().exists();
    let mut out = std::io::stdout().lock();
    let budget = Duration::from_secs_f64(arguments.time);
    writeln!(
        out,
        "{} places to measure on {}, allhands {}, in at most {} s\n",
        contests.len(),
        policy::machine(),
        env!("CARGO_PKG_VERSION"),
        arguments.time
    )?;
    let bind = arguments.team.binding.bind.clone();
    let ranks = contests.iter().map(|contest| contest.ranks);
    let mut team = Team::new(arguments.team.transport, bind, ranks)?;
    interrupt::ask_first();
    let (start, many) = (Instant::now(), contests.len() as f64);
    let races = budget.mul_f64(many / (many + finals::PART * all.len() as f64).max(1.0));
    let (done, wrong) = contend_all(&contests, races, (&mut team, &mut store), &mut out)?;
    if done == contests.len() && has_begun && !interrupt::is_asked() {
        let left = budget.saturating_sub(start.elapsed());
        let changed = finals::hold(&all, left, (&mut team, &mut store), &mut out)?;
        writeln!(out, "\n{changed} places changed in their finals")?;
    }
    if interrupt::is_asked() {
        let file = store.partial();
        writeln!(
            out,
            "\ninterrupted: {done} places measured, kept in {}; allhands tune --resume goes on",
            file.display()
        )?;
        return Ok(ExitCode::from(interrupt::STATUS));
    }
    store.finish()?;
    let file = store.file().display();
    writeln!(out, "\n{done} places measured; wrote {file}")?;
    if done < contests.len() {
        let rest = contests.len() - done;
        writeln!(
            out,
            "the time was up before {rest} more; allhands tune --resume goes on"
        )?;
    }
    for line in &wrong {
        writeln!(out, "{line}")?;
    }
    Ok(ExitCode::from(u8::from(!wrong.is_empty())))
}

/// The table that is to be made, if its file can be written.
fn open(arguments: &Arguments) -> anyhow::Result<Store> {
    let file = arguments.output.clone().or_else(policy::file);
    let file = file
        .context("this user has no cache folder ($HOME is not set); name a file with --output")?;
    output::check_folder(store::folder(&file))?;
    output::check_file(&file)?;
    Store::open(file, arguments.resume)
}

/// Measures place by place until the time is up; gives how many, and what was wrong.
fn contend_all(
    contests: &[&Contest],
    budget: Duration,
    (team, store): (&mut Team, &mut Store),
    out: &mut dyn Write,
) -> anyhow::Result<(usize, Vec<String>)> {
    writeln!(
        out,
        "{:<15}{:>5}{:>6}  {:<30}{:>10}{:>6}{:>6}  built-in choice",
        "collective", "ranks", "bytes", "fastest", "median µs", "±", "n"
    )?;
    let start = Instant::now();
    let bar = progress_bar(contests.len());
    let mut wrong = Vec::new();
    for (at, contest) in contests.iter().enumerate() {
        let left = budget.saturating_sub(start.elapsed());
        if left.is_zero() {
            bar.finish_and_clear();
            return Ok((at, wrong));
        }
        // What one does not need is for those that are left.
        let (outcome, samples) = contend(contest, team, left / (contests.len() - at) as u32);
        // What ranks that were interrupted say is no result.
        if interrupt::is_asked() {
            bar.finish_and_clear();
            return Ok((at, Vec::new()));
        }
        let line = line(contest, &outcome, &samples);
        bar.suspend(|| writeln!(out, "{line}").and_then(|()| out.flush()))?;
        let Contest {
            collective,
            ranks,
            bytes,
            ..
        } = **contest;
        for (candidate, why) in &outcome.failed {
            let name = contest.candidates[*candidate].name();
            wrong.push(format!(
                "WRONG {collective} {name}, {ranks} ranks, {bytes} bytes: {why}"
            ));
        }
        let ranking = ranking(contest, &outcome);
        if !ranking.is_empty() {
            let bytes = bytes as u64;
            store.add(contest.row(), Cell { bytes, ranking })?;
        }
        bar.inc(1);
    }
    bar.finish_and_clear();
    Ok((contests.len(), wrong))
}

fn progress_bar(places: usize) -> ProgressBar {
    if !std::io::stderr().is_terminal() {
        return ProgressBar::hidden();
    }
    let style = ProgressStyle::with_template("{bar:40} {pos}/{len} places, {eta} left");
    ProgressBar::new(places as u64)
        .with_style(style.unwrap_or_else(|_| ProgressStyle::default_bar()))
}

/// What was asked for.
fn collectives(arguments: &Arguments) -> Vec<Collective> {
    match arguments.collectives.as_slice() {
        [] => Collective::ALL.to_vec(),
        named => named.to_vec(),
    }
}

/// Everything to measure, by number of ranks, collective and size.
fn contests(arguments: &Arguments) -> anyhow::Result<Vec<Contest>> {
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    let ranks = match &arguments.team.ranks {
        Some(ranks) => ranks.0.clone(),
        None => {
            let mut ranks = vec![2, 4, 8, cores.clamp(2, 256) as u32];
            ranks.sort_unstable();
            ranks.dedup();
            ranks
        }
    };
    let collectives = collectives(arguments);
    let policy = Policy::shared_memory();
    let mut contests = Vec::new();
    for ranks in ranks {
        anyhow::ensure!(ranks <= 256, "at most 256 ranks, not {ranks}");
        for &collective in &collectives {
            let sizes = match collective {
                Collective::Barrier => &[0],
                _ => arguments.bytes.as_slice(),
            };
            for &bytes in sizes {
                if memory::of_data(collective, ranks as usize, bytes) <= MOST_BYTES {
                    let oversubscribed = ranks as usize > cores;
                    contests.push(contest(&policy, collective, ranks, oversubscribed, bytes)?);
                }
            }
        }
    }
    Ok(contests)
}

fn contest(
    policy: &Policy,
    collective: Collective,
    ranks: u32,
    oversubscribed: bool,
    bytes: usize,
) -> anyhow::Result<Contest> {
    let call = Call::new(collective, ranks);
    let question = Question {
        oversubscribed,
        ..Question::new(call, bytes as u64)
    };
    let built_in = choose::choose(policy, &question, &predict)?;
    let (mut candidates, mut favourite) = (Vec::new(), None);
    let mut add = |algorithm: &'static Algorithm, shape: &Shape, parameters: String| {
        if algorithm.name == built_in.algorithm.name && *shape == built_in.shape {
            favourite = Some(candidates.len());
        }
        candidates.push(Candidate {
            algorithm,
            parameters,
            serves_all: serves_all(algorithm, shape),
        });
    };
    for algorithm in algorithm::of(collective) {
        // All ranks share one node here, on which such an algorithm is only a part of itself.
        if algorithm.requires.contains(&Requirement::Nodes) {
            continue;
        }
        for setting in algorithm.settings {
            let shape = names::shape(algorithm, call, setting)?;
            if algorithm.admits(&shape).is_ok() {
                add(algorithm, &shape, (*setting).to_string());
            }
        }
    }
    let favourite = favourite.unwrap_or_else(|| {
        let (algorithm, shape) = (built_in.algorithm, &built_in.shape);
        candidates.push(Candidate {
            algorithm,
            parameters: print_parameters(algorithm.keys, &shape.parameters),
            serves_all: serves_all(algorithm, shape),
        });
        candidates.len() - 1
    });
    Ok(Contest {
        collective,
        ranks,
        oversubscribed,
        bytes,
        candidates,
        favourite,
    })
}

/// Whether an algorithm serves every call of so many ranks: with any operator, on any nodes, of any lengths.
pub fn serves_all(algorithm: &Algorithm, shape: &Shape) -> bool {
    let narrow = |r: &Requirement| match r {
        Requirement::PowerOfTwo
        | Requirement::AllCounts
        | Requirement::PassingCounts
        | Requirement::Nodes
        | Requirement::Torus
        | Requirement::Fabric(_) => true,
        Requirement::Window | Requirement::DisjointStreams => false,
    };
    (algorithm.ordered)(shape) && !algorithm.requires.iter().any(narrow)
}

/// How often a candidate was measured, and how far the quartiles were from the median then, in percent.
#[derive(Clone, Copy, Default)]
struct Samples {
    calls: usize,
    spread: f64,
}

/// What the ranks are asked for.
fn request(contest: &Contest, (name, parameters): (&str, &str), budget: Duration) -> Request {
    Request {
        collective: contest.collective.name().into(),
        algorithm: name.into(),
        parameters: parameters.into(),
        ranks: contest.ranks,
        bytes: contest.bytes,
        seconds: budget.as_secs_f64(),
    }
}

/// Lets the candidates of a place race.
fn contend(contest: &Contest, team: &mut Team, budget: Duration) -> (race::Outcome, Vec<Samples>) {
    let mut samples = vec![Samples::default(); contest.candidates.len()];
    let mut measure = |at: usize, budget: Duration| {
        let candidate = &contest.candidates[at];
        let named = (candidate.algorithm.name, &candidate.parameters[..]);
        let record = team.measure(&request(contest, named, budget))?;
        samples[at].calls += record.iterations;
        samples[at].spread = 50.0 * (record.q3_us - record.q1_us) / record.median_us;
        Ok(record.median_us)
    };
    let favourite = Some(contest.favourite);
    let outcome = race::race(contest.candidates.len(), favourite, budget, &mut measure);
    (outcome, samples)
}

/// The few best algorithms, each in its best setting, and at their end one that serves every call, if none of them does.
fn ranking(contest: &Contest, outcome: &race::Outcome) -> Vec<Entry> {
    let of = |ranked: &(usize, f64)| &contest.candidates[ranked.0];
    let mut best: Vec<(usize, f64)> = Vec::new();
    for ranked in &outcome.ranking {
        let name = of(ranked).algorithm.name;
        if best.iter().all(|other| of(other).algorithm.name != name) {
            best.push(*ranked);
        }
    }
    let few = best.len().min(RANKED);
    let last = match best[..few].iter().any(|ranked| of(ranked).serves_all) {
        true => None,
        false => outcome.ranking.iter().find(|ranked| of(ranked).serves_all),
    };
    let entry = |ranked: &(usize, f64)| Entry {
        name: of(ranked).algorithm.name.into(),
        parameters: of(ranked).parameters.clone(),
        time_ns: Some((ranked.1 * 1e3).round() as u64),
    };
    best[..few].iter().chain(last).map(entry).collect()
}

/// What is printed about a place: the winner, and how much longer the built-in choice takes.
fn line(contest: &Contest, outcome: &race::Outcome, samples: &[Samples]) -> String {
    let Contest {
        collective,
        ranks,
        bytes,
        ..
    } = contest;
    let Some((winner, us)) = outcome.ranking.first() else {
        return format!(
            "{collective:<15}{ranks:>5}{:>6}  nothing that works",
            say(*bytes)
        );
    };
    let name = contest.candidates[*winner].name();
    let built_in = &contest.candidates[contest.favourite];
    let same = outcome.ranking.iter().find(|r| r.0 == contest.favourite);
    let than = match same {
        _ if *winner == contest.favourite => "the same".to_string(),
        Some((_, longer)) => format!("{} {:.2}×", built_in.name(), longer / us),
        None => format!("{} failed", built_in.name()),
    };
    format!(
        "{collective:<15}{ranks:>5}{:>6}  {name:<30}{us:>10.2}{:>5.0}%{:>6}  {than}",
        say(*bytes),
        samples[*winner].spread,
        samples[*winner].calls
    )
}
