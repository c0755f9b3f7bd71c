//! The run: all cells of all numbers of ranks, in rounds in which every group has a turn.

use crate::arguments::Arguments;
use crate::before::{self, Before};
use crate::board::{self, Board};
use crate::cell::{self, Cell};
use crate::error::{Error, at};
use crate::group::{Failure, Group, Name, Turn};
use crate::line::Line;
use crate::quiet::Quiet;
use crate::record::{self, Column, Record};
use crate::{machine, report};
use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};
use xtask::peers::{Installed, Setting};
use xtask::processes;

mod dropin;
mod imb;
mod passing;

/// The least and the most time of a turn.
const BUDGETS: (Duration, Duration) = (Duration::from_millis(2), Duration::from_millis(250));

/// Rounds after which ranks are started anew, beside another checkout.
const ROUNDS_OF_A_START: usize = 3;

/// Our own ranks.
pub(crate) const OWN: Name = Name {
    library: "allhands",
    setting: "default",
};

/// A folder that is removed with everything in it.
struct Folder(PathBuf);

impl Drop for Folder {
    fn drop(&mut self) {
        if let Err(error) = fs::remove_dir_all(&self.0) {
            eprintln!("{}: {error}", self.0.display());
        }
    }
}

/// What stays the same from cell to cell.
pub(crate) struct Run<'a> {
    arguments: &'a Arguments,
    target: PathBuf,
    worker: PathBuf,
    /// Another checkout, in the place of the peers.
    before: Option<Before>,
    installed: Vec<Installed>,
    folder: Folder,
    end: Instant,
    quiet: Quiet,
    line: Line,
    /// Cells that are still to come, over all numbers of ranks.
    cells_left: usize,
    /// Whether every result so far is right.
    is_right: bool,
}

/// Whether all results were right.
pub(crate) fn compare(root: &Path, arguments: &Arguments) -> Result<bool, Error> {
    let target = std::env::var("CARGO_TARGET_DIR").map_or_else(|_| root.join("target"), Into::into);
    let what = match arguments.dropin {
        true => &dropin::OWN_LIBRARY[..],
        false => &OWN_PROGRAMS,
    };
    let worker = build(root, &target, what)?;
    let before = older(root, arguments)?;
    let needs_peers = before.is_none() || arguments.dropin;
    let peers = arguments.peers.iter().filter(|_| needs_peers);
    let installed: Result<Vec<Installed>, _> = peers
        .map(|name| Installed::fetched(name, &target.join("peers")))
        .collect();
    let folder = target.join(format!("compare/run-{}", std::process::id()));
    fs::create_dir_all(&folder).map_err(at(&folder))?;
    let (counts, sides) = (arguments.ranks.iter(), arguments.sides());
    let patience = arguments.patience.unwrap_or(arguments.seconds / 2.0);
    let mut run = Run {
        arguments,
        target,
        worker,
        before,
        installed: installed?,
        folder: Folder(folder),
        end: Instant::now() + Duration::from_secs_f64(arguments.seconds * own_share(arguments)),
        quiet: Quiet::new(Duration::from_secs_f64(patience)),
        line: Line::default(),
        cells_left: counts
            .map(|ranks| sides.len() * run_cells(arguments, *ranks).0.len())
            .sum(),
        is_right: true,
    };
    run.compile_shims(root)?;
    for line in machine::describe(root, &arguments.peers) {
        println!("{line}");
    }
    println!(
        "{} rounds; of a turn's calls the median (start to the last rank's end); of the rounds' ratios the median, \
         with the interval of the sign test",
        arguments.rounds
    );
    let begin = Instant::now();
    let mut all = Vec::new();
    for &ranks in &arguments.ranks {
        for peers in &sides {
            let cells = run.compare_ranks(ranks, peers)?;
            let shown = run.columns(peers);
            println!("{}", report::summary(&shown, ranks, &cells));
            all.extend(cells);
        }
    }
    if run.before.is_some() {
        println!("{}", before::verdict(&all));
        run.is_right &= before::holds(&all);
    } else if arguments.dropin {
        all.extend(run.benchmark_of_intel()?);
        run.time_passing()?;
        println!("{}", report::in_all(&arguments.ranks, &all));
    }
    println!("{}", run.quiet.verdict());
    println!("{}", run.line.verdict());
    let path = root.join(&arguments.json);
    write_json(&path, all.iter().flatten())?;
    println!(
        "{:.0} s, records in {}",
        begin.elapsed().as_secs_f64(),
        path.display()
    );
    Ok(run.is_right)
}

/// What the other checkout has built, if one was named.
fn older(root: &Path, arguments: &Arguments) -> Result<Option<Before>, Error> {
    let path = arguments.before.as_ref();
    path.map(|path| Before::build(&root.join(path), arguments.dropin))
        .transpose()
}

/// The part of the time that our own program has.
fn own_share(arguments: &Arguments) -> f64 {
    let has_imb =
        arguments.dropin && arguments.before.is_none() && arguments.peers.contains(&"intel");
    if has_imb { 1.0 - imb::IMB_SHARE } else { 1.0 }
}

pub(crate) fn run_cells(arguments: &Arguments, ranks: usize) -> (Vec<Cell>, Vec<Cell>) {
    cell::cells(&arguments.collectives, &arguments.bytes, ranks)
}

/// What is built of our own.
pub(crate) const OWN_PROGRAMS: [&str; 8] = [
    "--package",
    "allhands-compare",
    "--bin",
    "compare-worker",
    "--package",
    "allhands-cli",
    "--bin",
    "allhands",
];

/// Builds that as released; gives the path of the worker.
pub(crate) fn build(root: &Path, target: &Path, what: &[&str]) -> Result<PathBuf, Error> {
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let mut words = vec!["build", "--release", "--locked", "--quiet"];
    words.extend(what);
    let status = Command::new(cargo).args(words).current_dir(root).status();
    match status {
        Ok(status) if status.success() => Ok(target.join("release/compare-worker")),
        Ok(status) => Err(Error::Build(format!("cargo ended with {status}"))),
        Err(error) => Err(Error::Build(format!("cargo: {error}"))),
    }
}

fn write_json<'a>(path: &Path, records: impl Iterator<Item = &'a Record>) -> Result<(), Error> {
    if let Some(folder) = path.parent() {
        fs::create_dir_all(folder).map_err(at(folder))?;
    }
    let lines: Result<Vec<String>, _> = records.map(serde_json::to_string).collect();
    let lines = lines.map_err(std::io::Error::other).map_err(at(path))?;
    fs::write(path, format!("[\n{}\n]\n", lines.join(",\n"))).map_err(at(path))
}

impl Run<'_> {
    /// All cells of one number of ranks, beside these peers: the records of each.
    fn compare_ranks(
        &mut self,
        ranks: usize,
        peers: &[&'static str],
    ) -> Result<Vec<Vec<Record>>, Error> {
        let oversubscribed = ranks > machine::cores();
        let settings = self.settings(peers, oversubscribed);
        let name = format!("board-{ranks}-{}", peers.join("-"));
        let path = self.folder.0.join(name);
        let file = File::options()
            .read(true)
            .write(true)
            .create_new(true)
            .open(&path);
        let file = file.map_err(at(&path))?;
        let length = Board::bytes(1 + settings.len().max(1));
        file.set_len(length as u64).map_err(at(&path))?;
        let board = Board::map(&file).map_err(at(&path))?;

        let (ours, launcher) = match peers {
            [peer] if self.arguments.dropin => self.preloaded(peer, ranks, oversubscribed),
            _ => (OWN, self.launcher(&self.worker, ranks, oversubscribed)),
        };
        let place = |number| (&board, path.as_path(), number);
        let mut groups = vec![Group::new(ours, place(0), ranks, launcher, &self.folder.0)];
        for (index, setting) in settings.iter().enumerate() {
            let name = Name {
                library: setting.peer,
                setting: setting.name,
            };
            let launcher = self.under(setting, ranks, oversubscribed);
            groups.push(Group::new(
                name,
                place(1 + index),
                ranks,
                launcher,
                &self.folder.0,
            ));
        }
        if let Some((name, launcher)) = self.older(peers, ranks, oversubscribed) {
            groups.push(Group::new(name, place(1), ranks, launcher, &self.folder.0));
        }
        start(&mut groups)?;

        let (cells, skipped) = run_cells(self.arguments, ranks);
        println!("{}", report::head(&self.columns(peers), ranks));
        let mut all = Vec::new();
        for cell in cells {
            let records = self.compare_cell(cell, ranks, oversubscribed, &mut groups)?;
            println!("{}", report::row(cell, &self.columns(peers), &records));
            all.push(records);
        }
        for cell in skipped {
            println!("{cell} is left out: all ranks together would hold more than 256 MB");
        }
        drop(groups);
        match peers {
            [peer] if self.arguments.dropin => self.were_active(peer, ranks)?,
            _ => {}
        }
        Ok(all)
    }

    /// Whether the library took calls over in the groups that have ended, the other checkout's among them.
    fn were_active(&self, peer: &'static str, ranks: usize) -> Result<(), Error> {
        self.was_active(peer, ranks)?;
        if self.before.is_some() {
            self.was_active(before::NAME, ranks)?;
            // The next peer's shall be its own.
            let report = self.report_path(before::NAME, ranks);
            fs::remove_file(&report).map_err(at(&report))?;
        }
        Ok(())
    }

    /// What the columns of the table are called.
    fn columns(&self, peers: &[&'static str]) -> Vec<&'static str> {
        match self.before {
            Some(_) => vec![before::NAME],
            None => peers.to_vec(),
        }
    }

    /// The other checkout's group: its worker, or the peer with its drop-in preloaded.
    fn older(
        &self,
        peers: &[&'static str],
        ranks: usize,
        oversubscribed: bool,
    ) -> Option<(Name, Command)> {
        let before = self.before.as_ref()?;
        let library = before::NAME;
        match (peers, &before.worker) {
            (_, Some(worker)) => {
                let setting = OWN.setting;
                Some((
                    Name { library, setting },
                    self.launcher(worker, ranks, oversubscribed),
                ))
            }
            ([peer], None) => {
                let (name, mut launcher) = self.preloaded(peer, ranks, oversubscribed);
                let setting = name.setting;
                launcher
                    .env("LD_PRELOAD", &before.library)
                    .env("ALLHANDS_REPORT", self.report_path(before::NAME, ranks));
                Some((Name { library, setting }, launcher))
            }
            (_, None) => None,
        }
    }

    fn installed(&self, peer: &str) -> &Installed {
        let at = self.arguments.peers.iter().position(|name| *name == peer);
        &self.installed[at.unwrap_or(0)]
    }

    /// Compiles what makes the worker's calls under each peer.
    fn compile_shims(&self, root: &Path) -> Result<(), Error> {
        let source = root.join("crates/allhands-compare/c/shim.c");
        for installed in &self.installed {
            installed.compile_shared(&source, &self.shim(installed.peer().name))?;
        }
        Ok(())
    }

    fn shim(&self, peer: &str) -> PathBuf {
        self.folder.0.join(format!("shim-{peer}.so"))
    }

    /// What starts the worker's ranks under a peer with a setting.
    fn under(&self, setting: &Setting, ranks: usize, oversubscribed: bool) -> Command {
        let installed = self.installed(setting.peer);
        let mut command = installed.launch(setting, ranks, oversubscribed, &self.worker);
        command.arg("--mpi").arg(self.shim(setting.peer));
        command
    }

    fn launcher(&self, worker: &Path, ranks: usize, oversubscribed: bool) -> Command {
        let before = self.before.as_ref();
        let before = before.filter(|before| before.worker.as_deref() == Some(worker));
        // Each checkout's ranks are started by its own program.
        let allhands = before.map_or_else(
            || self.worker.with_file_name("allhands"),
            |before| before.allhands.clone(),
        );
        let (worker, allhands) = (worker.to_string_lossy(), allhands.to_string_lossy());
        let bind = if oversubscribed { "" } else { "--bind" };
        let words = self.arguments.launcher.split_whitespace().map(|word| {
            word.replace("{worker}", &worker)
                .replace("{allhands}", &allhands)
                .replace("{ranks}", &ranks.to_string())
                .replace("{bind}", bind)
        });
        let mut words = words.filter(|word| !word.is_empty());
        let mut command = Command::new(words.next().unwrap_or_default());
        command.args(words);
        command
    }

    /// Rounds of one cell: in each every group has one turn.
    fn compare_cell(
        &mut self,
        cell: Cell,
        ranks: usize,
        oversubscribed: bool,
        groups: &mut [Group<'_>],
    ) -> Result<Vec<Record>, Error> {
        let (begin, rounds) = (Instant::now(), self.arguments.rounds);
        // What is left is shared among the cells that are left, so late cells are not starved.
        let left = self.end.saturating_duration_since(begin) / self.cells_left.max(1) as u32;
        self.cells_left -= 1;
        self.line.begin();
        let mut columns: Vec<Column> = groups.iter().map(|group| Column::new(group.name)).collect();
        for round in 0..rounds {
            if self.starts_anew(round) {
                groups.iter_mut().for_each(Group::leave);
            }
            for place in 0..groups.len() {
                let turns_left = ((rounds - round) * groups.len() - place) as u32;
                let time = left.saturating_sub(begin.elapsed()) / turns_left;
                // Some of the time goes into waking, warming up and checking.
                let budget = (time * 3 / 4).clamp(BUDGETS.0, BUDGETS.1);
                let at = (round + place) % groups.len();
                let flags = if self.arguments.same_input {
                    0
                } else {
                    board::FRESH
                } | if oversubscribed {
                    board::OVERSUBSCRIBED
                } else {
                    0
                };
                let turn = Turn {
                    cell,
                    budget,
                    flags,
                };
                if columns[at].failure.is_none() {
                    self.take(&mut groups[at], &mut columns[at], turn)?;
                }
            }
        }
        let (ours, peers) = columns.split_first().ok_or(Error::Interrupted)?;
        let line_ns = self.line.median_ns();
        Ok(record::records((cell, ranks, line_ns), ours, peers))
    }

    /// Whether a round is one of new processes: where two builds of our own ranks are compared, what a short call takes differs more
    /// from start to start, by where the system puts their memory, than from build to build.
    fn starts_anew(&self, round: usize) -> bool {
        let before = self.before.as_ref();
        before.is_some_and(|b| b.worker.is_some()) && round.is_multiple_of(ROUNDS_OF_A_START)
    }

    fn take(
        &mut self,
        group: &mut Group<'_>,
        column: &mut Column,
        turn: Turn,
    ) -> Result<(), Error> {
        self.line.measure();
        let play = || group.turn(turn);
        let (played, lost) = self.quiet.during(play, processes::interrupted);
        self.end += lost;
        match played {
            Ok(times) => column.rounds.push(times),
            Err(Failure::Interrupted) => return Err(Error::Interrupted),
            Err(failure) => {
                let Name { library, setting } = group.name;
                eprintln!("{}: {library} ({setting}): {failure}", turn.cell);
                let is_wrong = matches!(failure, Failure::Wrong { .. });
                self.is_right &= !is_wrong && library != OWN.library;
                column.failure = Some(failure.to_string());
            }
        }
        Ok(())
    }
}

/// Starts all groups at once, then waits for each.
fn start(groups: &mut [Group<'_>]) -> Result<(), Error> {
    let failed = |name: Name| {
        move |failure| match failure {
            Failure::Interrupted => Error::Interrupted,
            failure => Error::Start {
                group: format!("{} ({})", name.library, name.setting),
                failure,
            },
        }
    };
    for group in groups.iter_mut() {
        group.start().map_err(failed(group.name))?;
    }
    for group in groups.iter_mut() {
        group.attached().map_err(failed(group.name))?;
    }
    Ok(())
}
