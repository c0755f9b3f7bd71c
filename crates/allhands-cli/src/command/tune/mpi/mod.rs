//! `allhands tune --mpi`: measures an MPI's own algorithms, and writes the files by which that MPI chooses.

mod decide;
mod evaluate;
mod files;
mod intel;
mod kind;
pub mod launch;
mod mpich;
mod openmpi;
pub mod rank;
mod record;
mod starts;
mod store;
mod tree;
mod variant;

use crate::sizes::say;
use crate::{interrupt, output};
use allhands_core::call::Collective;
use decide::Choices;
use kind::Kind;
use launch::{Ended, Launch};
use record::{Cell, Family, Hello};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::{Duration, Instant};
use store::Store;
use variant::DEFAULT;

/// The folder that is written, where none is named.
const FOLDER: &str = "tuned-mpi";

/// What belongs to `--mpi` alone.
#[derive(clap::Args)]
#[group(skip)]
pub struct Options {
    /// Measure the algorithms of an MPI, whose launcher stands behind `--`, and write what it chooses by, into the folder --output
    #[arg(long, requires = "launch", conflicts_with_all = ["ranks", "transport"])]
    mpi: bool,
    /// With --mpi: the file of the MPI's library; otherwise the one beside the launcher, or which the linker finds
    #[arg(long, value_name = "FILE", requires = "mpi")]
    library: Option<PathBuf>,
    /// With --mpi: measure the default, the best forced algorithm, and the files that were written, by turns
    #[arg(long, requires = "mpi", conflicts_with = "resume")]
    evaluate: bool,
    /// With --evaluate: write what was found as a JSON array to FILE
    #[arg(long, value_name = "FILE", requires = "evaluate")]
    json: Option<PathBuf>,
    /// With --mpi: the launcher and its arguments, without a program
    #[arg(last = true, requires = "mpi", value_name = "LAUNCHER")]
    launch: Vec<String>,
}

impl Options {
    /// Whether an MPI is meant.
    pub fn is_asked(&self) -> bool {
        self.mpi
    }
}

/// What is asked of this tuner and the other alike.
pub struct Asked<'a> {
    pub collectives: &'a [Collective],
    pub bytes: &'a [usize],
    pub seconds: f64,
    pub folder: Option<&'a Path>,
    pub is_resumed: bool,
}

/// Measures and writes, or evaluates what was written.
pub fn run(options: &Options, asked: &Asked<'_>) -> anyhow::Result<ExitCode> {
    let folder = asked.folder.unwrap_or(Path::new(FOLDER));
    if let Some(json) = &options.json {
        output::check_file(json)?;
    }
    let library = options.library.clone();
    let near = || launch::library_near(options.launch.first()?);
    let session = Session {
        words: &options.launch,
        ask: rank::Arguments {
            library: library.or_else(near).map(|file| file.display().to_string()),
            time: asked.seconds,
            kinds: kinds(asked.collectives)
                .iter()
                .map(|kind| kind.name().to_string())
                .collect(),
            bytes: asked.bytes.iter().map(|bytes| *bytes as u64).collect(),
            ..rank::Arguments::default()
        },
        end: Instant::now() + Duration::from_secs_f64(asked.seconds),
    };
    interrupt::ask_first();
    if options.evaluate {
        return evaluate::run(
            &session,
            &Store::read(folder)?,
            folder,
            options.json.as_deref(),
        );
    }
    output::check_folder(folder)?;
    let mut store = match asked.is_resumed {
        true => Store::read(folder)?,
        false => Store::new(folder)?,
    };
    tune(&session, &mut store, folder)
}

/// The collectives of MPI that are meant.
fn kinds(collectives: &[Collective]) -> Vec<Kind> {
    match collectives {
        [] => Kind::ALL.to_vec(),
        named => named
            .iter()
            .flat_map(|named| Kind::of(*named))
            .copied()
            .collect(),
    }
}

/// A launcher, and what its ranks are asked for.
struct Session<'a> {
    words: &'a [String],
    ask: rank::Arguments,
    end: Instant,
}

impl Session<'_> {
    fn left(&self) -> Duration {
        self.end.saturating_duration_since(Instant::now())
    }

    /// The launcher with variables of the environment.
    fn launch(&self, environment: Vec<(String, String)>) -> Launch<'_> {
        Launch {
            words: self.words,
            environment,
        }
    }
}

fn tune(session: &Session<'_>, store: &mut Store, folder: &Path) -> anyhow::Result<ExitCode> {
    let mut out = std::io::stdout().lock();
    writeln!(
        out,
        "{:<21}{:>6}  {:<38}{:>11}{:>8}  95 % interval",
        "collective", "bytes", "fastest", "median µs", "ratio"
    )?;
    let places = session.ask.kinds.len() * session.ask.bytes.len().max(1);
    let bar = super::progress_bar(places);
    let measured = measure(session, store, &mut |cell| {
        bar.inc(1);
        bar.suspend(|| writeln!(out, "{}", line(cell)).and_then(|()| out.flush()))?;
        Ok(())
    });
    bar.finish_and_clear();
    let ended = measured?;
    if matches!(ended, Ended::Interrupted) {
        writeln!(
            out,
            "\ninterrupted: {} places measured, kept in {}; with --resume it goes on",
            store.cells().len(),
            store.file().display()
        )?;
        return Ok(ExitCode::from(interrupt::STATUS));
    }
    let Some(hello) = store.hello().cloned() else {
        anyhow::bail!(
            "nothing was measured in {} s; give it more with --time",
            session.ask.time
        );
    };
    let choices = files::choices(&hello, store.cells());
    let written = files::write(&hello, &choices, folder)?;
    report(&mut out, (&hello, store.cells(), &choices), &written)?;
    let is_wrong = store
        .cells()
        .iter()
        .flat_map(|cell| &cell.times)
        .any(|times| times.failed.is_some());
    Ok(ExitCode::from(u8::from(is_wrong)))
}

/// Measures all that the store lacks, with another start wherever a variant never came back.
fn measure(
    session: &Session<'_>,
    store: &mut Store,
    on_cell: &mut dyn FnMut(&Cell) -> anyhow::Result<()>,
) -> anyhow::Result<Ended> {
    let mut ask = session.ask.clone();
    loop {
        ask.known = store.known();
        ask.time = session.left().as_secs_f64();
        let stopped = ask.without.clone();
        let launch = session.launch(Vec::new());
        let (hello, ended) = launch.run(&ask, &mut |hello, mut cell| {
            starts::blame(&mut cell, &stopped);
            on_cell(&cell)?;
            store.add(hello, cell)
        })?;
        if let Some(hello) = hello.filter(|hello| hello.family == Family::Intel) {
            return starts::measure(session, &hello, store, on_cell);
        }
        match ended {
            Ended::Stuck(trying) if !session.left().is_zero() && trying.variant != DEFAULT => {
                ask.without.push(format!(
                    "{}/{}",
                    store::place(trying.kind, trying.bytes),
                    trying.variant
                ));
            }
            Ended::Stuck(trying) if trying.variant == DEFAULT => anyhow::bail!(
                "{} of {} bytes never came back, by the MPI's own choice",
                trying.kind.name(),
                trying.bytes
            ),
            ended => return Ok(ended),
        }
    }
}

/// What is printed about a cell.
fn line(cell: &Cell) -> String {
    let place = format!("{:<21}{:>6}", cell.kind.name(), say(cell.bytes as usize));
    let median = |variant: &str| {
        let us: Vec<f64> = cell.of(variant).map_or(Vec::new(), |times| {
            times.us.iter().flatten().copied().collect()
        });
        decide::median(&us)
    };
    let rows = cell
        .times
        .iter()
        .filter_map(|times| Some((times, times.failed.as_ref()?)));
    let failed: String = rows
        .map(|(times, why)| format!("\n  {}: {why}", times.variant))
        .collect();
    let default = median(DEFAULT).unwrap_or(f64::NAN);
    match (decide::winner(cell), decide::fastest(cell)) {
        (Some(winner), _) => {
            let ratio = decide::gain(cell, winner);
            let [low, high] = ratio.map_or([f64::NAN; 2], |ratio| ratio.interval);
            format!(
                "{place}  {winner:<38}{:>11.1}{:>8.2}  {low:.2} to {high:.2}{failed}",
                median(winner).unwrap_or(f64::NAN),
                ratio.map_or(f64::NAN, |ratio| ratio.median)
            )
        }
        (None, Some((next, ratio))) => {
            format!(
                "{place}  {DEFAULT:<38}{default:>11.1}{:>8}  ({next} {:.2}){failed}",
                "", ratio.median
            )
        }
        (None, None) => format!("{place}  {DEFAULT:<38}{default:>11.1}{failed}"),
    }
}

/// `1 rank`, `8 ranks`.
fn counted(count: usize, noun: &str) -> String {
    let plural = if count == 1 { "" } else { "s" };
    format!("{count} {noun}{plural}")
}

/// What has come of it, and how it is used.
fn report(
    out: &mut impl Write,
    (hello, cells, choices): (&Hello, &[Cell], &Choices),
    written: &files::Written,
) -> anyhow::Result<()> {
    let changed = |cell: &&Cell| decide::at(choices, cell.kind, cell.bytes).is_some();
    writeln!(
        out,
        "\n{}, {} on {}: {} of {} places have another algorithm than the default",
        hello.version,
        counted(hello.ranks, "rank"),
        counted(hello.hosts, "host"),
        cells.iter().filter(changed).count(),
        cells.len()
    )?;
    if hello.family == Family::OpenMpi && hello.hosts > 1 && hello.ranks > hello.hosts {
        writeln!(
            out,
            "on several ranks of several hosts Open MPI's component `han` chooses, which the rules do not reach: they serve where it is \
             off (OMPI_MCA_coll_han_priority=0)"
        )?;
    }
    for file in &written.files {
        writeln!(out, "wrote {}", file.display())?;
    }
    writeln!(out, "to use them:")?;
    for (name, value) in &written.environment {
        writeln!(out, "  export {name}='{value}'")?;
    }
    writeln!(
        out,
        "(only communicators of {} ranks choose by them, others as ever)",
        hello.ranks
    )?;
    Ok(())
}
