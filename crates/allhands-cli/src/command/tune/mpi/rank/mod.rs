//! A rank: this program, started by an MPI's launcher, which loads that MPI and measures its collectives.

mod buffers;
mod conductor;
mod forcing;
pub mod library;
mod race;
mod tool;

use super::kind::Kind;
use super::record::{self, Family, Hello, Told};
use anyhow::Context;
use conductor::{Conductor, Place};
use forcing::Forcing;
use library::{Handle, Library};
use race::Contest;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::io::Write;
use std::process::ExitCode;
use std::time::{Duration, Instant};

/// Measure an MPI's collectives (started by `allhands tune --mpi`)
#[derive(clap::Args, Clone, Debug, Default)]
pub struct Arguments {
    /// The library
    #[arg(long)]
    pub library: Option<String>,
    /// Seconds for everything
    #[arg(long, default_value_t = 300.0)]
    pub time: f64,
    /// The collectives, by MPI's names
    #[arg(long, value_delimiter = ',')]
    pub kinds: Vec<String>,
    /// Sizes of whole vectors
    #[arg(long, value_delimiter = ',')]
    pub bytes: Vec<u64>,
    /// What has been measured: bcast/4096
    #[arg(long, value_delimiter = ';')]
    pub known: Vec<String>,
    /// What did not come back: bcast/4096/binomial
    #[arg(long, value_delimiter = ';')]
    pub without: Vec<String>,
    /// Each of these once, beside the default: bcast/4096/binomial
    #[arg(long, value_delimiter = ';')]
    pub once: Vec<String>,
}

/// Tells the tuner something; only rank 0 does.
fn tell(told: &Told) -> anyhow::Result<()> {
    let mut out = std::io::stdout().lock();
    writeln!(out, "{}", record::line(told)?)?;
    out.flush().context("the tuner does not listen")
}

/// Measures, as one of the ranks.
pub fn run(arguments: &Arguments) -> anyhow::Result<ExitCode> {
    let end = Instant::now() + Duration::from_secs_f64(arguments.time);
    let measured = measure(arguments, end);
    if let Err(error) = measured {
        tell(&Told::Wrong(format!("{error:#}")))?;
        return Err(error);
    }
    Ok(ExitCode::SUCCESS)
}

fn measure(arguments: &Arguments, end: Instant) -> anyhow::Result<()> {
    let library = Library::start(arguments.library.as_deref())?;
    let control = library.duplicate()?;
    let (hosts, is_here) = hosts(&library, control)?;
    let hello = Hello {
        family: library.family,
        version: library.version.clone(),
        ranks: library.ranks,
        hosts,
        library: library_file(),
    };
    let kinds = arguments
        .kinds
        .iter()
        .map(|name| Kind::from_name(name).with_context(|| format!("MPI has no collective {name}")));
    let kinds: Vec<Kind> = kinds.collect::<anyhow::Result<_>>()?;
    let forcing = Forcing::new(&library, &hello, &kinds)?;
    let mut place = Place::new(&library, forcing, control);
    match library.rank {
        0 => conduct(
            arguments,
            Conductor::new(place, is_here),
            (hello, &kinds),
            end,
        )?,
        _ => place.follow()?,
    }
    library.end()
}

/// Rank 0's part: cell by cell.
fn conduct(
    arguments: &Arguments,
    mut conductor: Conductor<'_>,
    (hello, kinds): (Hello, &[Kind]),
    end: Instant,
) -> anyhow::Result<()> {
    tell(&Told::Hello(hello))?;
    let contests = contests(arguments, kinds, &conductor);
    let is_once = !arguments.once.is_empty();
    // Of Intel MPI nothing can be forced while it runs: the tuner starts it with each variant.
    let has_nothing_to_do = !is_once && conductor.place().library.family == Family::Intel;
    let contests = if has_nothing_to_do {
        Vec::new()
    } else {
        contests
    };
    for (at, contest) in contests.iter().enumerate() {
        let left = end.saturating_duration_since(Instant::now());
        if left.is_zero() {
            break;
        }
        let weights = contests[at..].iter().map(Contest::weight).sum::<f64>();
        let share = left.mul_f64(contest.weight() / weights);
        let cell = match is_once {
            true => race::once(&mut conductor, contest)?,
            false => contest.run(&mut conductor, share, end)?,
        };
        tell(&Told::Cell(cell))?;
    }
    tell(&Told::Done {})?;
    conductor.quit()
}

/// All that is to be measured, in the order of collectives and sizes.
fn contests(arguments: &Arguments, kinds: &[Kind], conductor: &Conductor<'_>) -> Vec<Contest> {
    let forcing = &conductor.place().forcing;
    let place = |kind: Kind, bytes: u64| format!("{}/{bytes}", kind.name());
    let mut contests = Vec::new();
    for &kind in kinds {
        let sizes = match kind {
            Kind::Barrier => &[0],
            _ => arguments.bytes.as_slice(),
        };
        let ranks = conductor.place().library.ranks;
        let mut sizes: Vec<u64> = sizes
            .iter()
            .map(|bytes| kind.vector_bytes(*bytes, ranks))
            .collect();
        // A block has an element at least, so short vectors may be the same.
        sizes.dedup();
        for bytes in sizes {
            let place = place(kind, bytes);
            let variants = forcing.variants(kind);
            let is = |list: &[String], name: &str| list.contains(&format!("{place}/{name}"));
            if arguments.once.is_empty() && !arguments.known.contains(&place) {
                let is_left_out = |name: &str| is(&arguments.without, name);
                contests.push(Contest::new(kind, bytes, variants, is_left_out));
            } else if arguments
                .once
                .iter()
                .any(|cell| cell.starts_with(&format!("{place}/")))
            {
                let is_left_out = |name: &str| !is(&arguments.once, name);
                contests.push(Contest::new(kind, bytes, variants, is_left_out));
            }
        }
    }
    contests
}

/// How many hosts there are, and which ranks are on rank 0's; the latter is known to rank 0 alone.
pub fn hosts(library: &Library, control: Handle) -> anyhow::Result<(usize, Vec<bool>)> {
    let own = [host()];
    let mut answer = [0];
    if library.rank > 0 {
        library.send(control, 0, &own)?;
        library.receive(control, 0, &mut answer)?;
        return Ok((answer[0] as usize, Vec::new()));
    }
    let mut all = vec![own[0]];
    for rank in 1..library.ranks {
        library.receive(control, rank, &mut answer)?;
        all.push(answer[0]);
    }
    let is_here = all.iter().map(|host| *host == own[0]).collect();
    all.sort_unstable();
    all.dedup();
    for rank in 1..library.ranks {
        library.send(control, rank, &[all.len() as i64])?;
    }
    Ok((all.len(), is_here))
}

/// A number by which ranks of one start of one machine know one another.
fn host() -> i64 {
    let read = |file: &str| std::fs::read_to_string(file).unwrap_or_default();
    let mut hasher = DefaultHasher::new();
    read("/proc/sys/kernel/random/boot_id").hash(&mut hasher);
    read("/proc/sys/kernel/hostname").hash(&mut hasher);
    hasher.finish().cast_signed()
}

/// The file of the MPI that this process has loaded.
fn library_file() -> String {
    let maps = std::fs::read_to_string("/proc/self/maps").unwrap_or_default();
    let files = maps
        .lines()
        .filter_map(|line| line.split_whitespace().nth(5));
    let is_mpi = |file: &&str| {
        let name = file.rsplit('/').next().unwrap_or_default();
        name.starts_with("libmpi.so") || name.starts_with("libmpich.so")
    };
    let mut files = files.filter(is_mpi);
    files.next().unwrap_or_default().to_string()
}
