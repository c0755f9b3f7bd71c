//! `allhands bench`: every algorithm on real data among real ranks, timed and checked.

mod busy;
pub(super) mod cell;
mod clocks;
pub(super) mod hosts;
mod limit;
mod pace;
mod peers;
pub(super) mod processes;
mod report;
pub(super) mod rows;
pub(super) mod spread;
mod starts;
pub(super) mod team;
mod workload;

use super::plot;
use crate::{interrupt, names, output, sizes};
use allhands::policy;
use allhands_core::call::Collective;
use allhands_core::machine::Torus;
use cell::{Least, Record};
use indicatif::{ProgressBar, ProgressStyle};
use report::{Printer, Summary};
use rows::{Ground, least_seconds, rows};
use spread::Spread;
use std::io::{IsTerminal, Write};
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::{Duration, Instant};
use team::{Team, Transport};

/// Run algorithms on real data: check every result, show what is fastest
///
/// Ranks are threads of this process or, with --transport, processes. A time is from the
/// moment at which all ranks start (which rank 0 says beforehand) to the last rank's end of one call;
/// inputs are new in every iteration. The table has a row for each collective and size: the fastest
/// algorithm, its median time, half the distance between the quartiles (±), how many samples that is
/// of, and how much longer the next two take (--all: all). Everything ends in --time seconds: where the
/// machine is slow there are fewer samples. Ctrl-C ends it sooner and keeps what has been measured.
/// `bench limit` measures what calls must at least cost on this machine: line exchanges, context
/// switches, copies.
///
/// With --transport tcp or ofi there is a network between ranks: they are on the hosts of --hosts,
/// which are started and joined as `allhands run` does it, by the same options (that comes on top of
/// --time); or, without --hosts, on this machine, each as if on a host of its own, and talk by its
/// loopback. A time is from the common start to the last end there, too: rank 0 says the start a
/// little ahead, each rank begins it by its own host's clock, and a call counts only if all had
/// heard of it by then. How far a host's clock is ahead of rank 0's is found by messages to and fro,
/// anew every 0.1 s (where finding it takes more than 10 ms, after ten times as long). So a time is
/// wrong by half of the shortest round trip at most (clock_us), and by what clocks drift apart
/// meanwhile; mostly by much less, as messages take about as long there as back. Ranks check what
/// came out when all have ended the call, and meet before the next one.
///
/// --latency and --bandwidth measure what is chosen without --algorithm, and print it as OSU's
/// benchmarks and nccl-tests do: of all ranks' mean times the mean, the least and the most; or
/// algbw (bytes over time) and busbw (what the links carry, as nccl-tests defines it).
///
/// Keys of --json: collective, algorithm, ranks, bytes, total_bytes, root, iterations, min_us,
/// median_us, p99_us, q1_us, q3_us, rank_min_us, rank_avg_us, rank_max_us, correct, transport,
/// machine, version; between hosts also hosts (or loopback), nodes (how many ranks share memory) and
/// clock_us.
///
/// Exit status 1 when a result is wrong, 2 when the arguments are, 130 after Ctrl-C.
///
/// Examples:
///   allhands bench --quick
///   allhands bench allreduce broadcast --ranks 2,4 --bytes 8,64K --json times.json
///   allhands bench allreduce --latency -n 2
///   allhands bench allreduce --bandwidth --csv --transport shm -n 2 --bytes 64K,1MB
///   allhands bench alltoall --layout random:1
///   allhands bench --transport shm -n 64 --time 60
///   allhands bench allreduce --transport shm -n 8 --nodes 2x4
///   allhands bench allreduce --transport tcp --hosts a,b:4 --launcher 'ssh {host}' --json times.json
///   allhands bench alltoall --transport ofi --provider efa --hosts a,b --latency
///   allhands bench --transport tcp --nodes 2x4
///   allhands bench broadcast -n 8 --torus 4x2 --algorithm torus-trees
///   allhands bench limit -n 2,8
#[derive(clap::Args)]
#[command(verbatim_doc_comment)]
pub struct Arguments {
    /// Only these collectives; or `limit`
    #[arg(value_parser = subject)]
    collectives: Vec<Subject>,

    /// Only this algorithm, NAME or NAME:key=value,… (for one collective)
    #[arg(long)]
    algorithm: Option<String>,

    /// Sizes, such as 8,64K,64KiB,1MB (all powers of 2): a block per rank or pair for gather, scatter, allgather and alltoall, the whole vector otherwise
    #[arg(long, value_delimiter = ',', value_parser = sizes::of_elements, default_values = ["8", "64", "512", "4K", "32K", "256K", "1M"])]
    bytes: Vec<usize>,

    /// The root
    #[arg(long, default_value_t = 0)]
    root: u32,

    /// The lengths of blocks: regular, uneven (a ramp from nothing to twice the size), random:SEED (up to twice the size)
    #[arg(long, default_value = "regular")]
    layout: Spread,

    #[command(flatten)]
    team: Team,

    /// Pretend a mesh or torus of all ranks, for algorithms that ask for one: 4x2 (a mesh below 512 nodes), 4x2x2:torus, 4x2:x
    #[arg(long)]
    torus: Option<Torus>,

    /// Every registered setting of each algorithm, not its default alone
    #[arg(long)]
    settings: bool,

    /// New buffers in every iteration
    #[arg(long)]
    fresh: bool,

    /// Seconds for everything
    #[arg(long, value_name = "S", default_value_t = 90.0)]
    time: f64,

    /// Three sizes in under 15 seconds
    #[arg(long)]
    quick: bool,

    /// In the table all algorithms, not the three best alone
    #[arg(long)]
    all: bool,

    /// Print latencies of what is chosen, as OSU's benchmarks do
    #[arg(long)]
    latency: bool,

    /// Print bandwidths of what is chosen, as nccl-tests do
    #[arg(long, conflicts_with = "latency")]
    bandwidth: bool,

    /// Latencies or bandwidths as comma-separated values
    #[arg(long)]
    csv: bool,

    #[command(flatten)]
    json: output::Json,

    /// Where the plots go, one SVG for each collective and number of ranks [default: target/bench/MACHINE-VERSION]
    #[arg(long, value_name = "FOLDER")]
    plots: Option<PathBuf>,
}

/// What is measured.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Subject {
    /// A collective.
    Of(Collective),
    /// What this machine allows.
    Limit,
}

fn subject(text: &str) -> Result<Subject, String> {
    match text {
        "limit" => Ok(Subject::Limit),
        _ => names::collective(text).map(Subject::Of),
    }
}

/// Runs the benchmark; exit status 1 if any result is wrong.
pub fn run(arguments: &Arguments) -> anyhow::Result<ExitCode> {
    if arguments.collectives.contains(&Subject::Limit) {
        anyhow::ensure!(
            arguments.collectives.len() == 1,
            "limit stands alone, as in: allhands bench limit -n 2,8"
        );
        return limit::run(&hosts::numbers(&arguments.team)?);
    }
    anyhow::ensure!(
        arguments.time.is_finite() && arguments.time > 0.0,
        "--time {}: how many seconds there are, more than 0",
        arguments.time
    );
    anyhow::ensure!(
        !arguments.csv || arguments.latency || arguments.bandwidth,
        "--csv is for --latency or --bandwidth; the table's records are had with --json"
    );
    hosts::check(&arguments.team)?;
    match arguments.team.transport {
        Transport::Threads => among_threads(arguments),
        Transport::Shm | Transport::Tcp | Transport::Ofi => processes::run(arguments),
    }
}

impl Arguments {
    /// The time for everything.
    fn budget(&self) -> Duration {
        let quick = if self.quick { 11.0 } else { f64::INFINITY };
        Duration::from_secs_f64(self.time.min(quick))
    }

    /// Whether what is measured is what serves a call that names no algorithm.
    fn is_chosen(&self) -> bool {
        self.algorithm.is_none() && (self.latency || self.bandwidth)
    }

    /// In which form what was measured is printed.
    fn printer(&self) -> Printer {
        match (self.latency, self.bandwidth) {
            (true, _) => Printer::Latency { csv: self.csv },
            (_, true) => Printer::Bandwidth { csv: self.csv },
            (false, false) => Printer::Table {
                all: self.all,
                width: output::width(),
            },
        }
    }

    /// What ranks are and where, as it stands above what is printed.
    fn kind(&self) -> String {
        let cores = std::thread::available_parallelism().map_or(1, usize::from);
        let nodes = self.team.nodes.map(|nodes| format!(" (nodes {nodes})"));
        match (self.team.transport, self.team.transport.network()) {
            (_, Some(network)) => hosts::kind(&self.team, network),
            (Transport::Threads, None) => format!("threads on {cores} cores"),
            (_, None) => format!("processes{} on {cores} cores", nodes.unwrap_or_default()),
        }
    }

    /// Where plots go, if there are some.
    fn plots(&self) -> Option<PathBuf> {
        let own = || {
            let name = format!("{}-{}", policy::machine(), env!("CARGO_PKG_VERSION"));
            PathBuf::from("target/bench").join(name)
        };
        let is_table = !self.latency && !self.bandwidth;
        let named = self.plots.clone();
        named.or_else(|| is_table.then(own))
    }

    /// Finds out whether what is to be written can be, before anything is measured.
    fn check_outputs(&self) -> anyhow::Result<()> {
        self.json.check()?;
        self.plots()
            .map_or(Ok(()), |folder| output::check_folder(&folder))
    }

    /// What tells the plots of this run from those of others: a part of their names, and the line below their titles.
    fn plot_names(&self) -> (String, String) {
        let mut name = match self.team.transport.network() {
            Some(network) => hosts::tag(&self.team, network),
            None => self.team.transport.name().to_string(),
        };
        let nodes = self.team.nodes.map(|nodes| format!("nodes-{nodes}"));
        let torus = self.torus.map(|torus| format!("torus-{torus}"));
        let layout = (self.layout != Spread::Regular).then(|| self.layout.to_string());
        let root = (self.root > 0).then(|| format!("root-{}", self.root));
        let named = self.algorithm.clone();
        for more in [nodes, torus, layout, root, named].into_iter().flatten() {
            name = format!("{name}-{more}");
        }
        let (machine, version) = (policy::machine(), env!("CARGO_PKG_VERSION"));
        let line = format!("{name}, {machine}, allhands {version}");
        (name.replace([':', ',', '=', '/'], "-"), line)
    }
}

fn among_threads(arguments: &Arguments) -> anyhow::Result<ExitCode> {
    let numbers = hosts::numbers(&arguments.team)?;
    if let Some(ranks) = numbers.iter().find(|ranks| **ranks > 256) {
        anyhow::bail!("ranks are threads here: at most 256, not {ranks}");
    }
    let rows = rows(arguments, &numbers, &|ranks| Ok(Ground::one(ranks)))?;
    rows.check()?;
    arguments.check_outputs()?;
    interrupt::ask_first();
    let mut summary = Summary::begin(arguments.budget());
    let (mut pace, bar) = (rows.pace(arguments.budget()), progress_bar(rows.len()));
    let (mut out, printer) = (arguments.json.beside(), arguments.printer());
    let head = (&numbers[..], &arguments.kind()[..]);
    printer.head(&mut out, head, arguments.budget())?;
    let mut records: Vec<Record> = Vec::with_capacity(rows.len());
    for row in &rows.cells {
        let first = records.len();
        for cell in row {
            // Every cell is taken from the pace, whether or not it is measured.
            let Some(share) = pace.next().filter(|_| !interrupt::is_asked()) else {
                continue;
            };
            let begin = Instant::now();
            let record = cell::measure(cell, (share, Least::One));
            if record.iterations <= 1 {
                pace.learn(least_seconds(cell), begin.elapsed());
            }
            records.push(record);
            bar.inc(1);
        }
        let row = &records[first..];
        bar.suspend(|| printer.row(&mut out, row).and_then(|()| out.flush()))?;
    }
    bar.finish_and_clear();
    summary.expect(rows.len(), rows.left_out);
    summary.end();
    finish(arguments, &mut out, &records, &summary)
}

/// Writes what comes after the table; the exit status says whether every result was right.
fn finish(
    arguments: &Arguments,
    out: &mut dyn Write,
    records: &[Record],
    summary: &Summary,
) -> anyhow::Result<ExitCode> {
    arguments.json.write(records)?;
    let right = records.iter().filter(|record| record.correct);
    let points = right.map(|record| plot::Point {
        collective: &record.collective,
        ranks: record.ranks,
        algorithm: &record.algorithm,
        bytes: record.bytes,
        us: record.median_us,
    });
    let (name, line) = arguments.plot_names();
    let labels = plot::Labels {
        what: "median µs",
        name: &name,
        line: &line,
    };
    let folder = arguments.plots();
    let plots = folder.as_deref().map(|f| plot::all(f, &labels, points));
    let plots = plots.transpose()?.unwrap_or(0);
    let wrong = records.iter().filter(|r| !r.correct).count();
    // Values that other programs read stand alone.
    let mut beside: Box<dyn Write> = match arguments.csv {
        true => Box::new(std::io::stderr()),
        false => Box::new(out),
    };
    summary.print(&mut beside, records, folder.as_deref().map(|f| (f, plots)))?;
    Ok(match wrong {
        _ if interrupt::is_asked() => ExitCode::from(interrupt::STATUS),
        0 => ExitCode::SUCCESS,
        _ => ExitCode::FAILURE,
    })
}

fn progress_bar(cells: usize) -> ProgressBar {
    if !std::io::stderr().is_terminal() {
        return ProgressBar::hidden();
    }
    let style = ProgressStyle::with_template("{bar:40} {pos}/{len} cells, {eta} left");
    ProgressBar::new(cells as u64)
        .with_style(style.unwrap_or_else(|_| ProgressStyle::default_bar()))
}
