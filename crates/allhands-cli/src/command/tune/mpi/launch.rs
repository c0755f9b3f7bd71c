//! The launch: the user's launcher with this program behind it, and what rank 0 says.

use super::rank;
use super::record::{self, Cell, Hello, Told, Trying};
use crate::interrupt;
use anyhow::{Context, bail};
use std::io::{BufRead, BufReader};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::time::{Duration, Instant};

/// How long ranks may say nothing: a launcher that starts, or a call of a variant that never ends.
const PATIENCE: Duration = Duration::from_secs(60);
/// How long a launcher may take to end after its ranks.
const TO_END: Duration = Duration::from_secs(10);
/// How often is looked whether the user has asked to end.
const LOOK: Duration = Duration::from_millis(100);

/// A launcher's line, and what is set for it.
#[derive(Clone, Debug)]
pub struct Launch<'a> {
    /// The launcher and its arguments.
    pub words: &'a [String],
    /// Variables of the environment.
    pub environment: Vec<(String, String)>,
}

/// How a launch has ended.
#[derive(Debug)]
pub enum Ended {
    /// All that was asked for was done, or the time was over.
    Done,
    Interrupted,
    /// Nothing came behind this first call, in so many seconds or ever.
    Stuck(Trying),
}

impl Launch<'_> {
    /// Starts ranks that do what is asked; hands each cell on, and gives who they are.
    pub fn run(
        &self,
        asked: &rank::Arguments,
        on_cell: &mut dyn FnMut(&Hello, Cell) -> anyhow::Result<()>,
    ) -> anyhow::Result<(Option<Hello>, Ended)> {
        let mut child = self.start(asked)?;
        let told = listen(&mut child)?;
        let heard = hear(&told, on_cell);
        if interrupt::is_asked() || heard.is_err() || matches!(heard, Ok((_, Ended::Stuck(_)))) {
            end_group(&child);
        }
        let status = end(&mut child)?;
        let (hello, ended) = heard?;
        if interrupt::is_asked() {
            return Ok((hello, Ended::Interrupted));
        }
        if hello.is_none() {
            bail!(
                "`{}` ended ({status}) before its ranks said anything; does it start programs? what it has said is above",
                self.words.join(" ")
            );
        }
        Ok((hello, ended))
    }

    fn start(&self, asked: &rank::Arguments) -> anyhow::Result<Child> {
        let (launcher, arguments) = self.words.split_first().context("there is no launcher")?;
        let own = std::env::current_exe().context("this program's own file is not known")?;
        let mut command = Command::new(launcher);
        command.args(arguments).arg(own).arg("mpi-rank");
        command.args(words(asked));
        command.envs(self.environment.iter().map(|(name, value)| (name, value)));
        // In a group of its own: Ctrl-C asks this program, which ends the launcher when it has taken what there is.
        command
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .process_group(0);
        command.spawn().with_context(|| {
            format!(
                "{launcher} does not start\n    right: a launcher behind `--`, such as mpiexec -n 8"
            )
        })
    }
}

/// What is asked, as the ranks' arguments.
fn words(asked: &rank::Arguments) -> Vec<String> {
    let bytes: Vec<String> = asked.bytes.iter().map(u64::to_string).collect();
    let mut words = vec![format!("--time={}", asked.time)];
    if let Some(library) = &asked.library {
        words.push(format!("--library={library}"));
    }
    let lists = [
        ("kinds", &asked.kinds, ","),
        ("bytes", &bytes, ","),
        ("known", &asked.known, ";"),
        ("without", &asked.without, ";"),
        ("once", &asked.once, ";"),
    ];
    for (name, list, between) in lists {
        if !list.is_empty() {
            words.push(format!("--{name}={}", list.join(between)));
        }
    }
    words
}

/// Reads the launcher's output on a thread of its own; what is no record goes to standard error.
fn listen(child: &mut Child) -> anyhow::Result<Receiver<Result<Told, String>>> {
    let output = child.stdout.take().context("the launcher has no output")?;
    let (teller, told) = channel();
    std::thread::spawn(move || {
        for line in BufReader::new(output).split(b'\n') {
            let Ok(line) = line else { return };
            let line = String::from_utf8_lossy(&line);
            let told = match record::read(&line) {
                None => {
                    eprintln!("{line}");
                    continue;
                }
                Some(told) => told.map_err(|error| format!("{error}: {line}")),
            };
            // Who does not listen any more has ended the launcher.
            if teller.send(told).is_err() {
                return;
            }
        }
    });
    Ok(told)
}

fn hear(
    told: &Receiver<Result<Told, String>>,
    on_cell: &mut dyn FnMut(&Hello, Cell) -> anyhow::Result<()>,
) -> anyhow::Result<(Option<Hello>, Ended)> {
    let (mut hello, mut trying) = (None, None);
    let mut last = Instant::now();
    loop {
        match told.recv_timeout(LOOK) {
            _ if interrupt::is_asked() => return Ok((hello, Ended::Interrupted)),
            Ok(Ok(Told::Hello(who))) => hello = Some(who),
            Ok(Ok(Told::Trying(what))) => trying = Some(what),
            Ok(Ok(Told::Cell(cell))) => {
                let who = hello
                    .as_ref()
                    .context("a rank that is not known has measured")?;
                on_cell(who, cell)?;
                trying = None;
            }
            Ok(Ok(Told::Done {})) => return Ok((hello, Ended::Done)),
            Ok(Ok(Told::Wrong(why))) => bail!("a rank says: {why}"),
            Ok(Err(why)) => bail!("a rank's record cannot be read: {why}"),
            Err(RecvTimeoutError::Timeout) if last.elapsed() < PATIENCE => continue,
            Err(RecvTimeoutError::Timeout | RecvTimeoutError::Disconnected) => {
                return match trying {
                    Some(trying) => Ok((hello, Ended::Stuck(trying))),
                    None if hello.is_none() => Ok((None, Ended::Done)),
                    None => bail!(
                        "the ranks ended, or said nothing for {} s, and no variant was under way",
                        PATIENCE.as_secs()
                    ),
                };
            }
        }
        last = Instant::now();
    }
}

/// Asks a launcher and what it has started here to end.
fn end_group(child: &Child) {
    // SAFETY: a signal to the group that this program has made for a child that was not waited for.
    unsafe { libc::kill(-(child.id().cast_signed()), libc::SIGTERM) };
}

/// Waits for a launcher, and ends it if it does not end by itself.
fn end(child: &mut Child) -> anyhow::Result<std::process::ExitStatus> {
    let begin = Instant::now();
    while begin.elapsed() < TO_END {
        if let Some(status) = child
            .try_wait()
            .context("the launcher cannot be waited for")?
        {
            return Ok(status);
        }
        std::thread::sleep(LOOK / 4);
    }
    // SAFETY: as in `end_group`.
    unsafe { libc::kill(-(child.id().cast_signed()), libc::SIGKILL) };
    child.wait().context("the launcher cannot be waited for")
}

/// The file of the MPI's library near a launcher, if there is one: `lib` beside the folder in which the launcher is.
pub fn library_near(launcher: &str) -> Option<PathBuf> {
    let file = on_path(launcher)?;
    let file = std::fs::canonicalize(&file).unwrap_or(file);
    let prefix = file.parent()?.parent()?;
    let folders = ["lib", "lib64", "lib/release"];
    let names = ["libmpi.so.40", "libmpi.so.12", "libmpich.so.12"];
    let files = folders
        .iter()
        .flat_map(|folder| names.map(|name| prefix.join(folder).join(name)));
    // The system's own folder has libraries of every MPI that is installed.
    let mut files = files.filter(|_| prefix != Path::new("/usr") && prefix != Path::new("/"));
    files.find(|file| file.is_file())
}

fn on_path(program: &str) -> Option<PathBuf> {
    if program.contains('/') {
        return Some(PathBuf::from(program));
    }
    let path = std::env::var_os("PATH")?;
    let files = std::env::split_paths(&path).map(|folder| folder.join(program));
    files.into_iter().find(|file| file.is_file())
}
