//! `allhands bench`: every algorithm on real data among real ranks, timed and checked.

mod against;
pub(super) mod ask;
mod busy;
pub(super) mod cell;
mod clocks;
mod elements;
pub(super) mod hosts;
mod key;
mod limit;
mod pace;
mod peers;
pub(super) mod processes;
mod record;
mod report;
mod rounds;
pub(super) mod rows;
pub(super) mod spread;
pub mod starts;
pub(super) mod team;
mod thinned;
mod workload;

use super::plot;
use crate::{interrupt, names, output, sizes};
use allhands::policy;
use allhands_core::call::Collective;
use allhands_core::machine::Torus;
use cell::Record;
use elements::Elements;
use indicatif::{ProgressBar, ProgressStyle};
use report::{Printer, Summary};
use rounds::{Job, Said};
use spread::Spread;
use std::io::{IsTerminal, Write};
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Duration;
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
/// --against OLD.json measures the cells of an earlier --json again, in five rounds (--rounds), each
/// by ranks that are started anew, as times differ more from start to start than from call to call.
/// Each cell's ratio, now by then, is of the medians of rounds. Its interval (95 %) is Student's, of
/// logarithms, by the variance between the rounds of both files (r); there are no pairs, as both were
/// measured at different times. Where the old file has one round alone (made without --rounds), that
/// one counts as a round like those of now, and what its median is uncertain by, which follows from
/// its quartiles (McGill, Tukey, Larsen 1978), is added (q). The variance is the larger of the cell's
/// own and of the middle one of all cells of as many ranks and bytes. Cells are slower or faster by more than
/// --tolerance where that would come by chance alone in one of 20 comparisons of whole files (Holm's
/// correction for all their cells). What is slower is measured again in as many rounds at the end,
/// and is a regression only if it is slower by more than --tolerance then, too (95 %, one-sided). So
/// measure with --rounds what is to be compared with later. The file must be of this machine, of
/// the same transport, hosts and nodes; cells whose algorithm there is no more are left out and named.
///
/// Keys of --json: collective, algorithm, ranks, bytes, total_bytes, root, iterations, min_us,
/// median_us, p99_us, q1_us, q3_us, rank_min_us, rank_avg_us, rank_max_us, correct, transport,
/// machine, version; between hosts also hosts (or loopback), nodes (how many ranks share memory) and
/// clock_us; where asked for layout, type, operator, torus, fresh; with --rounds rounds_us; with --against also
/// against_us (the median then), ratio, ratio_low, ratio_high, interval (rounds or quartiles),
/// ratio_again and verdict (same, faster, slower, unconfirmed or unknown).
///
/// Exit status 1 when a result is wrong or, with --against, a cell is slower, 2 when the arguments
/// are wrong, 130 after Ctrl-C.
///
/// Examples:
///   allhands bench --quick
///   allhands bench allreduce broadcast --ranks 2,4 --bytes 8,64K --json times.json
///   allhands bench allreduce --latency -n 2
///   allhands bench allreduce --bandwidth --csv --transport shm -n 2 --bytes 64K,1MB
///   allhands bench alltoall --layout random:1
///   allhands bench allreduce --transport shm -n 2 --type bf16 --operator max
///   allhands bench --transport shm -n 64 --time 60
///   allhands bench allreduce --transport shm -n 8 --nodes 2x4
///   allhands bench allreduce --transport tcp --hosts a,b:4 --launcher 'ssh {host}' --json times.json
///   allhands bench alltoall --transport ofi --provider efa --hosts a,b --latency
///   allhands bench --transport tcp --nodes 2x4
///   allhands bench broadcast -n 8 --torus 4x2 --algorithm torus-trees
///   allhands bench allreduce --transport shm -n 2 --rounds 5 --json before.json
///   allhands bench --transport shm --against before.json
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

    /// The lengths of blocks: regular; by the irregular call equal, first (all in the first block), uneven (a ramp from nothing to twice the size), random:SEED (up to twice the size)
    #[arg(long, default_value = "regular")]
    layout: Spread,

    /// The type of the elements: u64, i64, i32, u8, f64, f32, f16, bf16 [default: u64]
    #[arg(long = "type", value_name = "NAME")]
    element: Option<String>,

    /// The operator by which they are combined: sum, product, min, max; of integers also "bitwise and", "bitwise or", "bitwise xor" [default: sum]
    #[arg(long, value_name = "NAME")]
    operator: Option<String>,

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

    /// So many rounds within that time, each with ranks that are started anew: times are medians of the rounds', which records have as well [default: 1, with --against 5]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=1000))]
    rounds: Option<u32>,

    #[command(flatten)]
    against: against::Against,

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
    if arguments.team.transport.is_processes() && processes::is_rank()? {
        return processes::as_rank(arguments);
    }
    match &arguments.against.file {
        Some(file) => against::run(arguments, file),
        None => measure(arguments),
    }
}

impl Arguments {
    /// The time for everything.
    fn budget(&self) -> Duration {
        let quick = if self.quick { 11.0 } else { f64::INFINITY };
        Duration::from_secs_f64(self.time.min(quick))
    }

    /// Of which type elements are, and what combines them.
    fn elements(&self) -> anyhow::Result<Elements> {
        Elements::named(self.element.as_deref(), self.operator.as_deref())
    }

    /// How many rounds there are.
    fn rounds(&self) -> u32 {
        let default = if self.against.file.is_some() { 5 } else { 1 };
        self.rounds.unwrap_or(default)
    }

    /// Whether ranks are started more than once for the same cells.
    fn is_several(&self) -> bool {
        self.against.file.is_some() || self.rounds() > 1
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
        let is_table = !self.latency && !self.bandwidth && self.against.file.is_none();
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
        let (element, operator) = (self.element.clone(), self.operator.clone());
        let names = [nodes, torus, layout, element, operator, root, named];
        for more in names.into_iter().flatten() {
            name = format!("{name}-{more}");
        }
        let (machine, version) = (policy::machine(), env!("CARGO_PKG_VERSION"));
        let line = format!("{name}, {machine}, allhands {version}");
        (name.replace([':', ',', '=', '/', ' '], "-"), line)
    }
}

/// Measures what the arguments ask for, and prints it.
fn measure(arguments: &Arguments) -> anyhow::Result<ExitCode> {
    let job = Job::asked(arguments)?;
    job.check(arguments)?;
    arguments.check_outputs()?;
    interrupt::ask_first();
    let (budget, printer) = (arguments.budget(), arguments.printer());
    let mut summary = Summary::begin(budget);
    let mut out = arguments.json.beside();
    printer.head(&mut out, (&job.numbers, &arguments.kind()), budget)?;
    let mut records: Vec<Record> = Vec::new();
    match arguments.rounds() {
        1 => job.round(arguments, budget, &mut |said| {
            match said {
                Said::Begins(cells, left_out) => summary.expect(cells, left_out),
                Said::Row(row) => {
                    printer.row(&mut out, &row)?;
                    out.flush()?;
                    records.extend(row);
                }
            }
            Ok(())
        })?,
        times => {
            records = rounds::several(arguments, &job, times, budget, &mut summary)?;
            let is_row = |a: &Record, b: &Record| {
                (&a.collective, a.ranks, a.bytes) == (&b.collective, b.ranks, b.bytes)
            };
            for row in records.chunk_by(is_row) {
                printer.row(&mut out, row)?;
            }
        }
    }
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
    if arguments.against.file.is_none() {
        arguments.json.write(records)?;
    }
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
