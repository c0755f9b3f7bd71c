//! `allhands mpi run`: an MPI program with the drop-in preloaded, its report, and the same program without it.

use super::doctor;
use super::examine::{Findings, Weight};
use super::proof::{Report, Temporary, preload};
use anyhow::{Context, bail};
use std::ffi::OsStr;
use std::io::{Read, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitCode, ExitStatus, Stdio};
use std::time::{Duration, Instant};

/// Run an MPI program with liballhands_mpi.so preloaded, say what it did, and compare with a run without it
///
/// What stands behind `--` is started with the library in LD_PRELOAD, before what is there already, and with a report, which is
/// told on standard error at the end. The exit status is the program's, 128 and the signal's number if it was killed.
///
/// With --compare it is run by turns with and without the library, --runs times each, without input. Told are the wall times of the
/// whole runs, start and end of the launcher included: the least, the median and the most of each, and the ratio of the medians,
/// where the medians differ by more than the runs of either. Told is also whether the standard outputs are equal, byte for byte:
/// those of all runs of one kind, then those of both kinds. The output itself is that of the first run with the library. It fails
/// where a run fails, or where outputs with the library differ from those without although the latter are all equal.
///
/// Exit status 2 when the arguments are wrong, or the launcher does not start.
///
/// Examples:
///   allhands mpi run -- mpiexec -n 4 ./program
///   allhands mpi run --compare --runs 5 -- mpiexec -n 4 ./program
///   allhands mpi run --report counts.json -- mpiexec -n 4 ./program
#[derive(clap::Args)]
#[command(verbatim_doc_comment)]
pub struct Arguments {
    /// Run it without the library, too, and compare times and outputs
    #[arg(long)]
    compare: bool,
    /// How often each is run, with --compare
    #[arg(long, default_value_t = 3, value_parser = clap::value_parser!(u32).range(1..=1000), requires = "compare")]
    runs: u32,
    /// Where the report goes, as ALLHANDS_REPORT says it (with %r one of each rank); otherwise it is told
    #[arg(long, value_name = "FILE")]
    report: Option<PathBuf>,
    /// The drop-in; otherwise liballhands_mpi.so beside this program, or in ../lib
    #[arg(long, value_name = "FILE")]
    library: Option<PathBuf>,
    /// The launcher, its arguments, the program and its arguments
    #[arg(last = true, required = true, value_name = "LAUNCHER")]
    launch: Vec<String>,
}

/// Runs it.
pub fn run(arguments: &Arguments) -> anyhow::Result<ExitCode> {
    let mut findings = Findings::default();
    let library = doctor::library(arguments.library.as_deref(), &mut findings);
    let Some(library) = library else {
        let obstacles = findings.list.iter();
        let obstacle = obstacles.filter(|finding| finding.weight == Weight::Obstacle);
        let words: Vec<&str> = obstacle.map(|finding| finding.text.as_str()).collect();
        bail!("{}", words.join("; "));
    };
    let with = Way {
        launch: &arguments.launch,
        library: Some(&library),
    };
    match arguments.compare {
        false => alone(arguments, &with),
        true => compared(arguments, &with),
    }
}

/// A way to run the program.
#[derive(Clone, Copy)]
struct Way<'a> {
    launch: &'a [String],
    /// `None`: as it would run without us.
    library: Option<&'a Path>,
}

/// A run that is over.
struct Over {
    status: ExitStatus,
    time: Duration,
    output: Vec<u8>,
}

impl Way<'_> {
    fn command(&self, report: &OsStr) -> Command {
        // clap has seen to it that there is one.
        let (launcher, arguments) = self
            .launch
            .split_first()
            .map_or(("", &[][..]), |(first, rest)| (first.as_str(), rest));
        let mut command = Command::new(launcher);
        command.args(arguments).env_remove("ALLHANDS_REPORT");
        if let Some(library) = self.library {
            command
                .env("LD_PRELOAD", preload(library))
                .env("ALLHANDS_REPORT", report);
        }
        command
    }

    fn start(&self, mut command: Command) -> anyhow::Result<Child> {
        let launcher = self.launch.first().map_or("", String::as_str);
        command
            .spawn()
            .with_context(|| format!("{launcher} does not start"))
    }

    /// Runs it without input, and keeps what it says.
    fn kept(&self, report: &OsStr) -> anyhow::Result<Over> {
        let mut command = self.command(report);
        command.stdin(Stdio::null()).stdout(Stdio::piped());
        let begin = Instant::now();
        let mut child = self.start(command)?;
        let mut output = Vec::new();
        if let Some(mut pipe) = child.stdout.take() {
            pipe.read_to_end(&mut output)
                .context("its output cannot be read")?;
        }
        let status = child.wait().context("it cannot be waited for")?;
        Ok(Over {
            status,
            time: begin.elapsed(),
            output,
        })
    }
}

/// Runs it once, with the library.
fn alone(arguments: &Arguments, with: &Way<'_>) -> anyhow::Result<ExitCode> {
    let file = Temporary::new();
    let report = arguments.report.as_deref().unwrap_or(file.path());
    let mut child = with.start(with.command(report.as_os_str()))?;
    let status = child.wait().context("it cannot be waited for")?;
    if arguments.report.is_none() {
        tell(file.report()?.as_ref());
    }
    Ok(code(status))
}

/// Says what the library did, or that it was not there.
fn tell(report: Option<&Report>) {
    match report {
        Some(report) => eprintln!(
            "allhands {} under {}: {report}",
            report.allhands, report.mpi
        ),
        None => eprintln!(
            "allhands: rank 0 wrote no report: the library was not loaded there, or the program did not reach MPI_Finalize; \
             `allhands mpi doctor` says more"
        ),
    }
}

/// Runs it by turns with and without the library.
fn compared(arguments: &Arguments, with: &Way<'_>) -> anyhow::Result<ExitCode> {
    let file = Temporary::new();
    let report = arguments.report.as_deref().unwrap_or(file.path());
    let without = Way {
        library: None,
        ..*with
    };
    let mut runs: [Vec<Over>; 2] = Default::default();
    for turn in 0..arguments.runs {
        // Who goes first may find the other's files in memory, or the machine warm: each does in every second turn.
        let first = usize::from(turn % 2 == 1);
        for which in [first, 1 - first] {
            let way = if which == 0 { &without } else { with };
            let over = way.kept(report.as_os_str())?;
            if which == 1 && runs[1].is_empty() {
                std::io::stdout().write_all(&over.output)?;
            }
            if !over.status.success() {
                let kind = if which == 0 { "without" } else { "with" };
                eprintln!(
                    "allhands: a run {kind} the library ended with {}",
                    over.status
                );
                return Ok(code(over.status));
            }
            runs[which].push(over);
        }
    }
    if arguments.report.is_none() {
        tell(file.report()?.as_ref());
    }
    let [without, with] = runs;
    let (before, after) = (Spread::of(&without), Spread::of(&with));
    eprintln!(
        "without  {before}\nwith     {after}\n{}",
        ratio(&before, &after)
    );
    let (verdict, is_well) = outputs(&without, &with);
    eprintln!("outputs  {verdict}");
    Ok(if is_well {
        ExitCode::SUCCESS
    } else {
        ExitCode::FAILURE
    })
}

/// The wall times of some runs.
struct Spread {
    runs: usize,
    least: f64,
    median: f64,
    most: f64,
}

impl Spread {
    fn of(runs: &[Over]) -> Spread {
        let mut times: Vec<f64> = runs.iter().map(|run| run.time.as_secs_f64()).collect();
        times.sort_by(f64::total_cmp);
        let half = times.len() / 2;
        let at = |at: usize| times.get(at).copied().unwrap_or(f64::NAN);
        let median = match times.len() % 2 {
            0 => (at(half.wrapping_sub(1)) + at(half)) / 2.0,
            _ => at(half),
        };
        Spread {
            runs: times.len(),
            least: at(0),
            median,
            most: at(times.len().wrapping_sub(1)),
        }
    }
}

impl std::fmt::Display for Spread {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Spread {
            runs,
            least,
            median,
            most,
        } = self;
        write!(
            f,
            "median {median:.3} s of {runs}, from {least:.3} to {most:.3} s"
        )
    }
}

/// The ratio of the medians, as far as the runs show one.
fn ratio(without: &Spread, with: &Spread) -> String {
    let ratio = with.median / without.median;
    let apart = with.most < without.least || without.most < with.least;
    match apart && with.runs > 2 {
        true => format!(
            "ratio    {ratio:.3}: the slowest of the one kind is faster than the fastest of the other"
        ),
        false => format!(
            "ratio    {ratio:.3}, which is within the spread of the runs, or these are too few"
        ),
    }
}

/// Whether outputs are equal, and whether that is well.
fn outputs(without: &[Over], with: &[Over]) -> (&'static str, bool) {
    let same = |runs: &[Over], output: &[u8]| runs.iter().all(|run| run.output == output);
    let first = without.first().map_or(&[][..], |run| &run.output);
    match (same(without, first), same(with, first)) {
        (true, true) => ("equal in all runs", true),
        (true, false) => (
            "DIFFER: all runs without the library are equal, and those with it are not equal to them",
            false,
        ),
        (false, _) => (
            "differ from run to run, also without the library: nothing follows",
            true,
        ),
    }
}

/// The exit status of a program that has ended.
fn code(status: ExitStatus) -> ExitCode {
    use std::os::unix::process::ExitStatusExt;
    let killed = status.signal().map(|signal| 128 + signal);
    let code = status.code().or(killed).unwrap_or(1);
    ExitCode::from(u8::try_from(code).unwrap_or(1))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::process::ExitStatusExt;

    fn over(seconds: f64, output: &str) -> Over {
        Over {
            status: ExitStatus::from_raw(0),
            time: Duration::from_secs_f64(seconds),
            output: output.into(),
        }
    }

    #[test]
    fn a_ratio_is_told_where_runs_show_one() {
        let of = |times: [f64; 3]| Spread::of(&times.map(|time| over(time, "")));
        let (slow, fast) = (of([4.0, 2.0, 3.0]), of([1.0, 1.5, 1.9]));
        assert_eq!((slow.least, slow.median, slow.most), (2.0, 3.0, 4.0));
        assert!(ratio(&slow, &fast).contains("0.500: the slowest"));
        assert!(ratio(&slow, &of([2.0, 2.5, 9.0])).contains("within the spread"));
        let even = Spread::of(&[over(1.0, ""), over(3.0, "")]);
        assert_eq!(even.median, 2.0);
    }

    #[test]
    fn outputs_that_always_differ_prove_nothing() {
        let runs = |texts: [&str; 2]| texts.map(|text| over(1.0, text));
        let same = runs(["a", "a"]);
        assert!(outputs(&same, &runs(["a", "a"])).1);
        assert!(!outputs(&same, &runs(["a", "b"])).1);
        let (said, is_well) = outputs(&runs(["a", "b"]), &same);
        assert!(is_well && said.contains("nothing follows"), "{said}");
    }
}
